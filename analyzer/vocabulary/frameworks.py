"""Frameworks: who wrote a log, a configuration or an event; see ``frameworks.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from analyzer.errors import RuleSyntaxError
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_section, json_schema, one_of

FAMILIES = ("own-loop", "library", "own-words", "place")
"""What a framework can belong to; ``frameworks.yaml`` says what each means."""

HABITS = (
    "adaptive-optimizer",
    "assumes-classes",
    "fused-kernels",
    "given-model",
    "masks-nan",
    "mostly-language",
    "mostly-vision",
    "norm-sentinel",
    "row-per-epoch",
)
WORDS = ("library", "subject")
NUMBERS = ("scale_hysteresis", "scale_minimum", "rate_per_image")
"""What else a framework may state; ``frameworks.yaml`` says what each means, as of habits."""

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"frameworks": ("map", True)},
    "framework": {
        "families": ("list", False),
        "built_on": ("str", False),
        "aliases": ("list", False),
        "habits": ("list", False),
        **dict.fromkeys(WORDS, ("str", False)),
        **dict.fromkeys(NUMBERS, ("number", False)),
    },
}
_FILE = Path(__file__).parent / "frameworks.yaml"


def framework_schema() -> dict[str, Any]:
    """JSON Schema of ``frameworks.yaml``."""
    schema = json_schema(FIELDS, "analyzer.frameworks/1", "file", {})
    one = json_schema(FIELDS, "", "framework", {})
    schema["properties"]["frameworks"]["additionalProperties"] = {
        "type": "object",
        "properties": one["properties"],
    }
    return schema


@lru_cache(maxsize=1)
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = cache.checked_file("frameworks", _FILE, read_frameworks, str(FIELDS))
    return data


def read_frameworks(file: MarkedFile) -> dict[str, Any]:
    """Check a loaded file of frameworks: families, what is built on what, and names.

    Raises:
        RuleSyntaxError: It is not as declared, or a name stands for two; with line and column.
    """
    declared = check_section(file, FIELDS, "file", file.data, ())["frameworks"]
    families: dict[str, list[str]] = {name: [] for name in FAMILIES}
    habits: dict[str, list[str]] = {name: [] for name in HABITS}
    bases: dict[str, list[str]] = {}
    traits: dict[str, dict[str, Any]] = {name: {} for name in (*WORDS, *NUMBERS)}
    names: dict[str, str] = {name: name for name in declared}
    for name, item in declared.items():
        keys = ("frameworks", name)
        row = check_section(file, FIELDS, "framework", item, keys)
        for family in row.get("families", []):
            families[one_of(file, family, FAMILIES, *keys)].append(name)
        for habit in row.get("habits", []):
            habits[one_of(file, habit, HABITS, *keys)].append(name)
        for trait, known in traits.items():
            if trait in row:
                known[name] = row[trait]
        if "built_on" in row:
            if row["built_on"] not in declared:
                raise RuleSyntaxError(
                    f"no framework is called {row['built_on']!r}", file.where(*keys, "built_on")
                )
            bases.setdefault(row["built_on"], []).append(name)
        for alias in row.get("aliases", []):
            if names.setdefault(alias, name) != name:
                raise RuleSyntaxError(f"{alias!r} stands for two frameworks", file.where(*keys))
    inherited = {
        habit: [*owners, *(heir for owner in owners for heir in bases.get(owner, ()))]
        for habit, owners in habits.items()
    }
    return {"families": families, "habits": inherited, "built_on": bases, "names": names, "traits": traits}


def frameworks() -> frozenset[str]:
    """All declared frameworks."""
    return frozenset(_data()["names"].values())


def framework_of(name: str) -> str:
    """The framework that a name or an alias stands for; the name itself if nobody declared it.

    >>> framework_of("lightning")
    'pytorch-lightning'
    """
    return str(_data()["names"].get(name, name))


@lru_cache(maxsize=len(FAMILIES))
def family(name: str) -> frozenset[str]:
    """The frameworks of a family, see ``FAMILIES``.

    >>> "keras" in family("own-loop")
    True
    """
    return frozenset(_data()["families"][name])


@lru_cache(maxsize=64)
def built_on(name: str) -> frozenset[str]:
    """A framework and those that are built on it, so that they take its keys and behave as it does.

    >>> "llamafactory" in built_on("hf-trainer")
    True
    """
    return frozenset([name, *_data()["built_on"].get(name, ())])


@lru_cache(maxsize=len(HABITS))
def with_habit(name: str) -> frozenset[str]:
    """The frameworks that have a habit, see ``HABITS``.

    >>> "axolotl" in with_habit("masks-nan")
    True
    """
    return frozenset(_data()["habits"][name])


def word_of(framework: str, trait: str) -> str | None:
    """What a framework states of itself in a word, see ``WORDS``; None if it does not, or nobody declared it.

    >>> word_of("keras", "library"), word_of("ultralytics", "subject"), word_of("ray", "library")
    ('tensorflow', 'vision', None)
    """
    found: str | None = _data()["traits"][trait].get(framework)
    return found


def number_of(framework: str, trait: str) -> float | None:
    """What a framework states of itself as a number, see ``NUMBERS``; None if it does not.

    >>> number_of("deepspeed", "scale_hysteresis")
    2
    """
    found: float | None = _data()["traits"][trait].get(framework)
    return found
