"""The catalogue of root causes: the vocabulary of ``cause.id``, with kind and parent.

A rule pack may add causes of its own in ``causes.yaml``, under its prefix::

    causes:
      acme-scratch-full:
        title: The scratch disk of the cluster is full
        family: storage
        symptom_kind: crash               # what the run shows
        restart_advice: fix-then-restart
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyzer.errors import RuleError, RuleSyntaxError
from analyzer.vocabulary.packs import declared_in_packs, load_own, refuse_foreign_names, remembered
from analyzer.vocabulary.sections import check_section

PACK_FILE = "causes.yaml"
FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"causes": ("map", True)},
    "cause": {
        "title": ("str", True), "family": ("str", True), "kind": ("str", False), "parent": ("str", False),
        "symptom_kind": ("str", True), "restart_advice": ("str", True), "look_alikes": ("list", False),
    },
}  # fmt: skip
KINDS = ("cause", "symptom-class", "benign", "lifecycle")


@dataclass(frozen=True, slots=True)
class CauseEntry:
    """One entry of the catalogue.

    Attributes:
        id: The vocabulary word.
        title: The cause as a sentence.
        family: precision, optimisation, data, …
        kind: cause, symptom-class, benign or lifecycle.
        parent: The symptom class that a cause refines, or None.
        symptom_kind: What the run shows.
        restart_advice: What to do with the job.
        maturity: authority (a reference states it) or common.
        look_alikes: Causes that show the same at first sight.
    """

    id: str
    title: str
    family: str
    kind: str
    parent: str | None
    symptom_kind: str
    restart_advice: str
    maturity: str
    look_alikes: tuple[str, ...] = ()


def rules_root() -> Path:
    """Directory of the rule packs: inside the wheel, or the repository's ``rules/`` when run from a checkout.

    Raises:
        RuleError: Neither is there; the installation is damaged.
    """
    package = Path(__file__).resolve().parent.parent
    for place in (package / "_rules", package.parent / "rules"):
        if (place / "causes.json").is_file():
            return place
    raise RuleError("the rule packs are missing from this installation; reinstall analyzer")


@remembered
def catalogue() -> dict[str, CauseEntry]:
    """All entries by id: the bundled ones and those of the packs in use.

    Raises:
        RuleSyntaxError: What a pack declares is not as described above.
    """
    with (rules_root() / "causes.json").open(encoding="utf-8") as stream:
        known = {entry["id"]: _entry(entry) for entry in json.load(stream)}
    for path in declared_in_packs(PACK_FILE):
        known |= {entry.id: entry for entry in _of_pack(path, known)}
    return known


def _of_pack(path: Path, known: Mapping[str, CauseEntry]) -> Iterator[CauseEntry]:
    file, prefix = load_own(path)
    refuse_foreign_names(file, "causes", f"{prefix}-")
    declared = check_section(file, FIELDS, "file", file.data, ())["causes"]
    for name, item in declared.items():
        keys = ("causes", name)
        row = {"kind": "cause", "look_alikes": [], **check_section(file, FIELDS, "cause", item, keys)}
        if row["kind"] not in KINDS:
            raise RuleSyntaxError(
                f"{row['kind']!r} is not one of {', '.join(KINDS)}", file.where(*keys, "kind")
            )
        for key, named in (
            ("parent", [row["parent"]] if "parent" in row else []),
            ("look_alikes", row["look_alikes"]),
        ):
            if unknown := [one for one in named if one not in known and one not in declared]:
                raise RuleSyntaxError(f"no cause is called {unknown[0]!r}", file.where(*keys, key))
        yield _entry({"parent": None, **row, "id": name, "maturity": "common"})


def _entry(data: dict[str, Any]) -> CauseEntry:
    return CauseEntry(**{**data, "look_alikes": tuple(data["look_alikes"])})
