"""Log lines that a rule pack declares for itself: their examples hold, and its rules look at them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from analyzer.errors import RuleCaseError
from analyzer.ingest.text.events.patterns import Pattern, match_pattern
from analyzer.rules.schema import Rule
from analyzer.vocabulary.events import PACK_FILE, event_specs, read_events
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.packs import load_own, pack_of


def _own_file(place: Path) -> MarkedFile | None:
    path = pack_of(place) / PACK_FILE
    return load_own(path)[0] if path.is_file() else None


def example_outcomes(place: Path) -> Iterator[RuleCaseError | None]:
    """For each example of a pattern of a pack None, or that the pattern does not recognise it."""
    file = _own_file(place)
    if file is None:
        return
    patterns = [Pattern(*row) for row in read_events([file])["patterns"]]
    for index, (item, pattern) in enumerate(zip(file.data.get("patterns", []), patterns, strict=True)):
        examples = [item["example"]] if isinstance(item["example"], str) else item["example"]
        where = file.where("patterns", index, "example")
        for text in examples:
            if not any(literal in text for literal in pattern.literals):
                yield RuleCaseError(f"none of the literals stands in {text!r}, so the scan passes it", where)
            else:
                missed = match_pattern(pattern, text) is None
                yield RuleCaseError(f"{pattern.kind} does not recognise {text!r}", where) if missed else None


def unused_events(place: Path, rules: Sequence[Rule]) -> Iterator[str]:
    """Events of a pack that no rule mentions."""
    file = _own_file(place)
    names = {name for rule in rules for _, condition in rule.conditions() for name in condition.names}
    for kind in file.data.get("events", {}) if file is not None else ():
        if kind in event_specs() and not any(name.startswith(f"event.{kind}.") for name in names):
            yield f"{file.where('events', kind) if file else ''} R017 no rule looks at the event {kind!r}"
