"""How often a line of evidence was seen in labelled runs: with its cause, and with another one or none.

Counted among the runs whose facts bring the rule into question, so that a line which repeats the gate is seen to tell
nothing. The counts stand beside the hand-set bits in ``analyzer explain``; a reader judges both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from analyzer.casebook.memory import own_records
from analyzer.casebook.record import CaseRecord, good_records
from analyzer.expr import evaluate
from analyzer.record import dataclass
from analyzer.rules.schema import Rule


@dataclass(frozen=True, slots=True)
class LineCount:
    """Runs in which one line of evidence could be decided."""

    hits: int  # runs with the cause in which the line holds
    with_cause: int  # runs with the cause in which it is decided
    false_alarms: int  # runs without the cause in which it holds
    without_cause: int  # runs without the cause in which it is decided

    def sentence(self) -> str:
        """Both rates in words; empty if no labelled run decides the line.

        >>> LineCount(41, 44, 6, 300).sentence()
        'labelled runs: true in 41 of 44 with this cause, in 6 of 300 without it'
        >>> LineCount(0, 0, 0, 0).sentence()
        ''
        """
        if not self.with_cause + self.without_cause:
            return ""
        return (
            f"labelled runs: true in {self.hits} of {self.with_cause} with this cause, "
            f"in {self.false_alarms} of {self.without_cause} without it"
        )


def line_counts(rule: Rule, records: Sequence[CaseRecord]) -> dict[str, LineCount]:
    """Counts of each line of a rule, by its id, over the labelled runs that bring the rule into question."""
    considered = [record for record in records if evaluate(rule.when, record.facts) is True]
    counts: dict[str, LineCount] = {}
    for line in rule.evidence:
        tally = {(right, verdict): 0 for right in (True, False) for verdict in (True, False)}
        for record in considered:
            verdict = evaluate(line.test, record.facts)
            if verdict is not None:
                tally[rule.entry.id in record.right, verdict] += 1
        counts[line.id] = LineCount(
            hits=tally[True, True],
            with_cause=tally[True, True] + tally[True, False],
            false_alarms=tally[False, True],
            without_cause=tally[False, True] + tally[False, False],
        )
    return counts


def records_at_hand() -> tuple[CaseRecord, ...]:
    """The casebook that comes with analyzer, and the user's own."""
    return (*_shipped_records(), *own_records())


@lru_cache(maxsize=1)
def _shipped_records() -> tuple[CaseRecord, ...]:
    package = Path(__file__).resolve().parent.parent
    for place in (package / "_casebook", package.parent / "samples" / "casebook"):
        if place.is_dir():
            return tuple(good_records([place]))
    return ()
