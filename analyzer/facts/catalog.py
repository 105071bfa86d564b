"""Every fact that a rule may use: name, type, meaning, and how to get it when it is unknown.

The rows stand in ``tables/``, one file a family, as ``name | type | unit | meaning | how to get it``. How to get a fact may
be a name in braces that a line ``NAME = text`` of the same file, or of ``hows.txt``, explains.
``event.<kind>.*`` facts exist for every declared event (see ``spec_of``). A detector may emit only names that
stand there; a rule may mention only names that stand there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from analyzer.errors import RuleSyntaxError, did_you_mean, nearest
from analyzer.lazy_regex import LazyRegex
from analyzer.model.signal import FactSpec
from analyzer.vocabulary.events import EVENT_FACTS, event_specs
from analyzer.vocabulary.marked import shown_path

FOLDER = Path(__file__).with_name("tables")
TABLES = (
    "configuration", "course", "loss", "gradients", "scale", "evidence", "failures", "collectives", "lifecycle", "hardware",
    "performance", "resume", "data", "rl", "generalisation", "optimisation", "progress", "settings", "classifier", "trace",
    "replay", "baseline",
)  # fmt: skip
"""The files, in the order in which their facts are listed."""

COLUMNS = ("name", "type", "unit", "meaning", "how to get it")
TYPES = ("bool", "int", "float", "str")
_MENTION = LazyRegex(r"\{[A-Z_]+\}")
_EVENT = LazyRegex(r"event\.([a-z0-9_]+)\.([a-z0-9_]+)")


@lru_cache(maxsize=1)
def catalog() -> dict[str, FactSpec]:
    """All facts that are listed by name."""
    specs: dict[str, FactSpec] = {}
    shared = _read("hows", {}, specs)
    for table in TABLES:
        _read(table, shared, specs)
    return specs


def _read(table: str, hows: Mapping[str, str], specs: dict[str, FactSpec]) -> dict[str, str]:
    """Add the rows of a table, and return what its names in capitals stand for, with those of ``hows``."""
    named = dict(hows)
    path = FOLDER / f"{table}.txt"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        name, sign, text = line.partition(" = ")
        if sign and name.isupper():
            named[f"{{{name}}}"] = text
        elif not line.startswith("#"):
            columns = [part.strip() for part in line.split("|")]
            if fault := _fault(columns, named, specs):
                raise RuleSyntaxError(fault, f"{shown_path(path)}:{number}")
            name, dtype, unit, meaning, how = columns
            how = _MENTION.sub(lambda it: named[it[0]], how) if "{" in how else how
            specs[name] = FactSpec(name, dtype, meaning, unit, how)
    return named


def _fault(columns: Sequence[str], named: Mapping[str, str], specs: Mapping[str, FactSpec]) -> str:
    """What is wrong with a row of a table; empty if nothing is."""
    if len(columns) != len(COLUMNS):
        return f"a fact has {len(COLUMNS)} columns ({' | '.join(COLUMNS)}), here are {len(columns)}"
    if columns[1] not in TYPES:
        return f"{columns[1]!r} is not one of {', '.join(TYPES)}{did_you_mean(nearest(columns[1], TYPES))}"
    if columns[0] in specs:
        return f"fact {columns[0]!r} is declared twice"
    for mention in _MENTION.findall(columns[4]) if "{" in columns[4] else ():
        if mention not in named:
            return f"nothing is called {mention}{did_you_mean(nearest(mention, named))}"
    return ""


def spec_of(name: str) -> FactSpec | None:
    """The declaration of a fact, also of an ``event.<kind>.<field>`` fact; None if there is none."""
    found = catalog().get(name)
    if found is not None:
        return found
    match = _EVENT.fullmatch(name)
    event = event_specs().get(match[1]) if match else None
    if match is None or event is None:
        return None
    if match[2] in EVENT_FACTS:
        dtype, meaning = EVENT_FACTS[match[2]]
        return FactSpec(name, dtype, f"{event.says}: {meaning}")
    field_type = event.field_type(match[2])
    if field_type is None:
        return None
    return FactSpec(name, field_type, f"field {match[2]!r} of the first line that says: {event.says}")


def suggest(name: str) -> str:
    """The nearest existing name, for an error message; empty if nothing is near."""
    known: Iterable[str] = catalog()
    if name.startswith("event."):
        _, kind, *rest = name.split(".")
        kind = kind if kind in event_specs() else nearest(kind, event_specs())
        fields = event_specs()[kind].fields if kind else {}
        fact = rest[0] if rest and (rest[0] in EVENT_FACTS or rest[0] in fields) else None
        known = (
            [f"event.{kind}.{fact}"] if fact else [f"event.{kind}.{each}" for each in (*EVENT_FACTS, *fields)]
        )
    return nearest(name, known)


def no_fact(name: str) -> str:
    """The message that refuses a name that is no fact's."""
    return f"no fact is called {name!r}{did_you_mean(suggest(name), '; see `analyzer rules facts`')}"
