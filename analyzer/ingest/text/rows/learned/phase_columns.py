"""A table of quantities under the names of two phases, row by row.

Metric   | Train  | Val
Loss     | 0.5    | 0.6
"""

from __future__ import annotations

from analyzer.ingest.text.rows.learned.line_spellings import NUMBER
from analyzer.lazy_regex import LazyRegex

_PHASE_COLUMNS = LazyRegex(
    r"(?i)^(?:metrics?|name|quantity)?[\s|]{2,40}(train(?:ing)?)[\s|]{1,40}(val(?:id(?:ation)?)?|test|dev|eval)[\s|]{0,40}$"
)
_UNDER_PHASES = LazyRegex(
    rf"^[\s|]{{0,20}}([A-Za-z][\w@/.-]{{0,30}}(?: [A-Za-z][\w@/.-]{{0,30}}){{0,3}}) ?:?[\s|]{{1,40}}({NUMBER})%?[\s|]{{1,40}}({NUMBER})%?[\s|]{{0,40}}$"
)


def phase_columns(text: str) -> tuple[str, str] | None:
    """The two phases over the columns of a table whose rows are quantities.

    >>> phase_columns("Metric   | Train  | Val"), phase_columns("train val")
    (('Train', 'Val'), None)
    """
    match = _PHASE_COLUMNS.match(text)
    return None if match is None else (match[1], match[2])


def under_phases(text: str, phases: tuple[str, str]) -> str:
    """A row of such a table with the phase beside each number; other lines as they are.

    >>> under_phases("Loss   | 0.5  | 0.6", ("train", "val")), under_phases("Epoch 2/5", ("train", "val"))
    ('train Loss: 0.5, val Loss: 0.6', 'Epoch 2/5')
    """
    return _UNDER_PHASES.sub(rf"{phases[0]} \1: \2, {phases[1]} \1: \3", text)
