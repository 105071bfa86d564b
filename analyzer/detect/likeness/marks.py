"""Facts as the marks that the model of likeness knows: true, false, or a number by its order of magnitude."""

from __future__ import annotations

import math
from collections.abc import Mapping

from analyzer.model.tables import Scalar

ROOMS = ("signal.", "config.", "run.", "classifier.", "event.")
"""Facts that say what a run did and how it was set up; comparisons with another run and answers of models do not."""

COURSES = ("signal.loss.", "signal.progress.", "signal.score.", "signal.metric.")
"""A run of which one of these is known has numbers to judge; crashes without any are for the messages."""

PER_DECADE = 2
"""Numbers are told apart by half a decade: rates, ratios and lengths of runs differ by that much at least."""


def marks_of(facts: Mapping[str, Scalar]) -> list[str]:
    """The marks of a run, sorted; empty if it has no numbers to judge.

    >>> marks_of({"signal.loss.points": 40, "signal.progress.kept": True, "event.oom.message": "text"})
    ['signal.loss.points@3', 'signal.progress.kept=T']
    """
    if not any(name.startswith(COURSES) for name in facts):
        return []
    marks: list[str] = []
    for name, value in facts.items():
        if not name.startswith(ROOMS):
            continue
        if isinstance(value, bool):
            marks.append(f"{name}={'T' if value else 'F'}")
        elif isinstance(value, int | float) and math.isfinite(value):
            marks.append(f"{name}@{_magnitude(value)}")
    return sorted(marks)


def _magnitude(value: float) -> str:
    """Half-decades with the sign of the value; 0 for zero itself."""
    if value == 0:
        return "zero"
    return ("-" if value < 0 else "") + str(round(math.log10(abs(value)) * PER_DECADE))
