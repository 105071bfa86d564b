"""A test of health: a condition over facts, with the words for both outcomes."""

from __future__ import annotations

from typing import NamedTuple


class HealthTest(NamedTuple):
    """One test of health.

    Attributes:
        id: A short word.
        sound: Condition that holds for a sound run.
        passed: What to say if it holds.
        doubt: What to say if it does not, with facts in braces.
        decides: What would tell whether the run is sound all the same.
        required: Whether a run of which this is unknown is not called healthy.
        leads: Whether it is told before the others where there is room for a few.
    """

    id: str
    sound: str
    passed: str
    doubt: str
    decides: str
    required: bool = False
    leads: bool = False
