"""A curve in a few lines of text, drawn with Braille dots: two columns and four rows of dots a character."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyzer.model.arrays import Integers, Mask, Values
from analyzer.model.wording import format_scalar
from analyzer.record import NamedTuple
from analyzer.render.curves import Line, Panel, part, thinned

_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bit of a dot by its row and column within a Braille character."""

BAD = chr(0xD7)
"""Mark of a non-finite point: a multiplication sign, which no one takes for a letter of a label."""

EMPTY = chr(0x2800)
"""A Braille character without a dot."""

LABEL = 16
"""Columns to the left of the axis."""

MOST_COLUMNS = 72
"""A wider plot tells no more."""

FEWEST_COLUMNS = 30
"""A narrower one tells too little."""

FEWEST_POINTS = 4


def plot_rows(
    panel: Panel, width: int, rows: int, onset: float | None = None, *, both: bool = False
) -> list[str]:
    """The first series of a panel as text; nothing if the width or the number of points does not allow it.

    Args:
        panel: What to draw.
        width: Columns to use, the labels included.
        rows: Lines of the curve itself; a line for non-finite points, if there are any, and the axis come beside.
        onset: Step to mark.
        both: Mark the points of the second series (validation) with ``o``.
    """
    line = panel.lines[0]
    columns = min(width - LABEL - 4, MOST_COLUMNS)
    finite = np.isfinite(line.y)
    if columns < FEWEST_COLUMNS or line.y.size < FEWEST_POINTS or not finite.any() or rows < 2:
        return []
    axis = _Axis.of(panel, columns, rows, panel.lines[: 1 + both])
    if axis is None:
        return []
    drawn = [list(row) for row in _canvas(axis, line)]
    for other in panel.lines[1:] if both else ():
        for x, y in zip(*axis.dots(other), strict=True):
            drawn[axis.rows - 1 - int(y) // 4][int(x) // 2] = "o"
    labels = [""] * axis.rows
    labels[-1], labels[0] = _ends(axis.low, axis.high)
    name = panel.key.replace("_", " ")[: LABEL - len(labels[0]) - 1]
    labels[0] = f"{name}{labels[0]:>{LABEL - len(name)}}"
    text = [
        f"  {label:>{LABEL}} │{''.join(row).rstrip(EMPTY)}" for label, row in zip(labels, drawn, strict=True)
    ]
    if not finite.all():
        text.append(f"  {'not finite':>{LABEL}} │{_crosses(axis.column(line.x[~finite]), columns)}")
    note = "o validation" if both and len(panel.lines) > 1 else "(log)" if panel.log else ""
    return [*text, f"  {note:>{LABEL}} └{_ruler(panel, axis, onset)}"]


def _ends(low: float, high: float) -> tuple[str, str]:
    """Both ends of an axis, in as many digits as tell them apart."""
    ends = (format_scalar(low), format_scalar(high))
    return ends if low == high or ends[0] != ends[1] else (f"{low:.7g}", f"{high:.7g}")


class _Axis(NamedTuple):
    """Where a point stands among the dots."""

    first: float  # smallest x
    last: float  # largest x
    low: float  # smallest value
    high: float  # largest value
    columns: int  # characters across
    rows: int  # characters down: one if all values are equal
    log: bool  # whether the heights are logarithms

    @classmethod
    def of(cls, panel: Panel, columns: int, rows: int, lines: Sequence[Line]) -> _Axis | None:
        """The axis on which some series fit; None where they stand at one point."""
        y = np.concatenate([line.y for line in lines])
        y = y[np.isfinite(y)]
        x = np.concatenate([line.x for line in lines])
        first, last = float(x.min()), float(x.max())
        if last <= first:
            return None
        low, high = float(y.min()), float(y.max())
        return cls(first, last, low, high, columns, rows if high > low else 1, panel.log)

    def column(self, x: Values) -> Integers:
        """Column of dots of each x."""
        return ((x - self.first) / (self.last - self.first) * (2 * self.columns - 1)).astype(np.int64)

    def dots(self, line: Line) -> tuple[Integers, Integers]:
        """Column and height in dots of each finite point."""
        finite = np.isfinite(line.y)
        y, low, high = line.y[finite], self.low, self.high
        if self.log:
            y, low, high = np.log(y), float(np.log(low)), float(np.log(high))
        height = np.round((y - low) / ((high - low) or 1.0) * (4 * self.rows - 1)).astype(np.int64)
        return self.column(line.x[finite]), height


def _canvas(axis: _Axis, line: Line) -> list[str]:
    """The curve: the extremes of each column, joined where no non-finite point stands between."""
    dots = np.zeros((4 * axis.rows, 2 * axis.columns), dtype=bool)
    line = part(line, thinned(line, 2 * axis.columns))
    place, height = axis.dots(line)
    whole = np.cumsum(~np.isfinite(line.y))[np.isfinite(line.y)]
    for i in range(place.size):
        dots[height[i], place[i]] = True
        if i and whole[i] == whole[i - 1] and place[i] > place[i - 1]:
            x = np.arange(place[i - 1], place[i] + 1)
            y = np.round(np.interp(x, place[i - 1 : i + 1], height[i - 1 : i + 1])).astype(np.int64)
            for at, low, high in zip(
                x[1:], np.minimum(y[:-1], y[1:]), np.maximum(y[:-1], y[1:]), strict=True
            ):
                dots[low : high + 1, at] = True
        elif i and whole[i] == whole[i - 1]:
            dots[min(height[i - 1], height[i]) : max(height[i - 1], height[i]) + 1, place[i]] = True
    flipped = dots[::-1]
    return [
        "".join(_character(flipped, row, column) for column in range(axis.columns))
        for row in range(axis.rows)
    ]


def _character(dots: Mask, row: int, column: int) -> str:
    bits = sum(_BITS[y][x] for y in range(4) for x in range(2) if dots[4 * row + y, 2 * column + x])
    return chr(0x2800 + bits)


def _crosses(place: Integers, columns: int) -> str:
    marked = {int(x) // 2 for x in place}
    return "".join(BAD if x in marked else " " for x in range(columns)).rstrip()


def _ruler(panel: Panel, axis: _Axis, onset: float | None) -> str:
    begin = f"{panel.word} {axis.first:.0f}"
    end = f"{axis.last:.0f}"
    row = list(begin.ljust(axis.columns))
    row[axis.columns - len(end) :] = end
    if onset is not None and axis.first < onset < axis.last and panel.by_step:
        mark = f"▲ {onset:.0f}"
        at = int((onset - axis.first) / (axis.last - axis.first) * (axis.columns - 1))
        at = min(at, axis.columns - len(end) - len(mark) - 1)
        if at > len(begin):
            row[at : at + len(mark)] = mark
    return "".join(row)
