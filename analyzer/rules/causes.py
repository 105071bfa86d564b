"""The catalogue of root causes: the vocabulary of ``cause.id``, with kind and parent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

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


@lru_cache(maxsize=1)
def catalogue() -> dict[str, CauseEntry]:
    """All entries by id."""
    with (rules_root() / "causes.json").open(encoding="utf-8") as stream:
        return {entry["id"]: _entry(entry) for entry in json.load(stream)}


def _entry(data: dict[str, Any]) -> CauseEntry:
    return CauseEntry(**{**data, "look_alikes": tuple(data["look_alikes"])})
