"""Every fact that a rule may use: name, type, meaning, and how to get it when it is unknown.

The rows stand in ``tables/``, one file a family, as ``name | type | unit | meaning | how to get it``.
``event.<kind>.*`` facts exist for every log pattern (see ``spec_of``). A detector may emit only names that
stand there; a rule may mention only names that stand there.
"""

from __future__ import annotations

import re
from functools import lru_cache

from analyzer.facts.tables import TABLES
from analyzer.model.signal import FactSpec

EVENT_FACTS = {
    "seen": ("bool", "such a line was found"),
    "count": ("int", "number of such lines"),
    "first_step": ("int", "first step of such a line"),
    "last_step": ("int", "last step of such a line"),
    "is_last_error": ("bool", "it is the last error line of the log"),
    "ranks": ("int", "number of ranks that print such a line"),
    "is_first_failure": ("bool", "it is the failure that came first"),
    "is_consequence": ("bool", "another failure came first and explains it"),
    "survived": ("bool", "training went on after every such line"),
}
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
    if match is None:
        return None
    kind, fact = match.groups()
    if fact in EVENT_FACTS:
        dtype, meaning = EVENT_FACTS[fact]
        return FactSpec(name, dtype, f"{kind.replace('_', ' ')}: {meaning}")
    return FactSpec(name, "str", f"field {fact!r} of the first {kind.replace('_', ' ')} line")


def suggest(name: str) -> str:
    """The nearest existing name, for an error message; empty if nothing is near."""
    import difflib  # noqa: PLC0415  (only error messages need it)

    near = difflib.get_close_matches(name, catalog(), n=1, cutoff=0.6)
    return near[0] if near else ""
