"""Every fact that a rule may use: name, type, meaning, and how to get it when it is unknown.

The rows stand in ``tables/``, one file a family, as ``name | type | unit | meaning | how to get it``.
``event.<kind>.*`` facts exist for every declared event (see ``spec_of``). A detector may emit only names that
stand there; a rule may mention only names that stand there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from analyzer.facts.tables import TABLES
from analyzer.model.signal import FactSpec
from analyzer.vocabulary.events import EVENT_FACTS, event_specs, nearest_event

_EVENT = re.compile(r"event\.([a-z0-9_]+)\.([a-z0-9_]+)")


def _parse(line: str) -> FactSpec:
    name, dtype, unit, meaning, how = (part.strip() for part in line.split("|"))
    return FactSpec(name, dtype, meaning, unit, how)


@lru_cache(maxsize=1)
def catalog() -> dict[str, FactSpec]:
    """All facts that are listed by name."""
    specs = (_parse(line) for table in TABLES for line in table.strip().splitlines())
    return {spec.name: spec for spec in specs}


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
    import difflib  # noqa: PLC0415  (only error messages need it)

    known: Iterable[str] = catalog()
    if name.startswith("event."):
        _, kind, *rest = name.split(".")
        kind = kind if kind in event_specs() else nearest_event(kind)
        fields = event_specs()[kind].fields if kind else {}
        fact = rest[0] if rest and (rest[0] in EVENT_FACTS or rest[0] in fields) else None
        known = (
            [f"event.{kind}.{fact}"] if fact else [f"event.{kind}.{each}" for each in (*EVENT_FACTS, *fields)]
        )
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.6)), "")
