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
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from analyzer.errors import RuleError, RuleSyntaxError, did_you_mean, nearest
from analyzer.record import NamedTuple
from analyzer.vocabulary.marked import MarkedFile, load_marked, shown_path, text_of
from analyzer.vocabulary.packs import declared_in_packs, load_own, refuse_foreign_names, remembered
from analyzer.vocabulary.sections import check_section, one_of

PACK_FILE = "causes.yaml"
FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"causes": ("map", True)},
    "cause": {
        "title": ("str", True), "family": ("str", True), "kind": ("str", False), "parent": ("str", False),
        "symptom_kind": ("str", True), "restart_advice": ("str", True), "look_alikes": ("list", False),
    },
    "entry": {
        "id": ("str", True), "title": ("str", True), "family": ("str", True), "kind": ("str", True), "parent": ("str", False),
        "symptom_kind": ("str", True), "restart_advice": ("str", True), "maturity": ("str", True), "look_alikes": ("list", True),
    },
}  # fmt: skip
KINDS = ("cause", "symptom-class", "benign", "lifecycle")
FAMILIES = (
    "precision", "optimisation", "data", "evaluation", "rl", "memory", "distributed", "performance", "hardware", "storage",
    "software", "config", "lifecycle",
)  # fmt: skip
SYMPTOM_KINDS = (
    "numerical_breakdown", "divergence", "plateau", "oom", "crash", "hang", "slow", "bad_restart", "data_stall",
    "eval_gap", "ended", "none",
)  # fmt: skip
"""Causes whose rules name the same kind compete for the probability."""
RESTARTS = (
    "restart-as-is",
    "restart-excluding-node",
    "fix-then-restart",
    "resume-from-earlier-checkpoint",
    "no-action",
)


class CauseEntry(NamedTuple):
    """One entry of the catalogue."""

    id: str  # the vocabulary word
    title: str  # the cause as a sentence
    family: str  # precision, optimisation, data, …
    kind: str  # cause, symptom-class, benign or lifecycle
    parent: str | None  # the symptom class that a cause refines, or None
    symptom_kind: str  # what the run shows
    restart_advice: str  # what to do with the job
    maturity: str  # authority (a reference states it) or common
    look_alikes: tuple[str, ...] = ()  # causes that show the same at first sight


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
    path = rules_root() / "causes.json"
    try:
        known = {entry["id"]: _entry(entry) for entry in json.loads(path.read_text(encoding="utf-8"))}
    except json.JSONDecodeError as error:
        where = f"{shown_path(path)}:{error.lineno}:{error.colno}"
        raise RuleSyntaxError(f"not valid JSON: {error.msg}", where) from error
    except (KeyError, TypeError):
        check_catalogue()
        raise
    for path in declared_in_packs(PACK_FILE):
        known |= {entry.id: entry for entry in _of_pack(path, known)}
    return known


def check_catalogue() -> None:
    """The bundled entries are as described above, each once.

    Raises:
        RuleSyntaxError: One is not; with line and column.
    """
    path = rules_root() / "causes.json"
    file = load_marked(text_of(path, shown_path(path)), shown_path(path))
    names = [item.get("id") for item in file.data]
    for index, item in enumerate(file.data):
        given = {key: value for key, value in item.items() if (key, value) != ("parent", None)}
        row = _checked(file, (index,), "entry", given, names)
        if "parent" not in item:
            raise RuleSyntaxError("entry lacks the key 'parent' (a cause, or null)", file.where(index))
        if row["id"] in names[:index]:
            raise RuleSyntaxError(f"cause {row['id']!r} stands there twice", file.where(index, "id"))


def _checked(
    file: MarkedFile, keys: tuple[str | int, ...], section: str, item: Any, names: Collection[str]
) -> dict[str, Any]:
    """An entry whose every word is declared; ``names`` are the causes that it may mention."""
    row = {"kind": "cause", "look_alikes": [], **check_section(file, FIELDS, section, item, keys)}
    for key, words in (
        ("kind", KINDS), ("family", FAMILIES), ("symptom_kind", SYMPTOM_KINDS), ("restart_advice", RESTARTS),
    ):  # fmt: skip
        one_of(file, row[key], words, *keys, key)
    for key, named in (
        ("parent", [row["parent"]] if "parent" in row else []),
        ("look_alikes", row["look_alikes"]),
    ):
        for name in named:
            if name not in names:
                hint = did_you_mean(nearest(str(name), names))
                raise RuleSyntaxError(f"no cause is called {name!r}{hint}", file.where(*keys, key))
    return row


def _of_pack(path: Path, known: Mapping[str, CauseEntry]) -> Iterator[CauseEntry]:
    file, prefix = load_own(path)
    refuse_foreign_names(file, "causes", f"{prefix}-")
    declared = check_section(file, FIELDS, "file", file.data, ())["causes"]
    for name, item in declared.items():
        row = _checked(file, ("causes", name), "cause", item, {*known, *declared})
        yield _entry({"parent": None, **row, "id": name, "maturity": "common"})


def _entry(data: dict[str, Any]) -> CauseEntry:
    return CauseEntry(**{**data, "look_alikes": tuple(data["look_alikes"])})
