"""The catalogue of root causes: the vocabulary of ``cause.id``, with kind and parent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from analyzer.errors import RuleError


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
    """

    id: str
    title: str
    family: str
    kind: str
    parent: str | None
    symptom_kind: str
    restart_advice: str
    maturity: str


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


@lru_cache(maxsize=1)
def catalogue() -> dict[str, CauseEntry]:
    """All entries by id."""
    with (rules_root() / "causes.json").open(encoding="utf-8") as stream:
        return {entry["id"]: CauseEntry(**entry) for entry in json.load(stream)}
