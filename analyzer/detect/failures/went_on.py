"""Whether training went on after a line: rows well beyond the step that it had reached, and not the last flush of a writer."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import RunView
from analyzer.model.arrays import Integers
from analyzer.model.ranked import distinct_of
from analyzer.model.tables import NULL_INT, Event
from analyzer.record import NamedTuple

SURVIVED_ROWS = 3
"""Metric rows after an error that show that training went on: one or two may be buffered output, or what a trainer's
writer prints when an exception takes it down (detectron2)."""


WINDOW = SURVIVED_ROWS * 200
"""Metrics after an error among which those rows are looked for; a row holds a hundred at most."""


FIRST_LINES = 60
"""Lines of a traceback and of a few warnings: where nothing else stands above it, all that a program printed may stand below."""


class _Rows(NamedTuple):
    """Rows of one log in order of lines, and what follows each of them: a log may hold as many errors as rows.

    ``known`` are the steps that are known, ``known_before`` how many of them stand before a row; ``least`` is the least
    of a known step and all behind it, ``kinds`` how many different ones these are.
    """

    lines: Integers
    steps: Integers
    known: Integers
    known_before: Integers
    least: Integers
    kinds: Integers


def _rows(lines: Integers, steps: Integers) -> _Rows:
    is_known = steps != NULL_INT
    known = steps[is_known]
    is_last = np.zeros(known.size, dtype=np.int64)
    is_last[known.size - 1 - np.unique(known[::-1], return_index=True)[1]] = 1
    return _Rows(
        lines=lines,
        steps=steps,
        known=known,
        known_before=np.concatenate(([0], np.cumsum(is_known))),
        least=np.minimum.accumulate(known[::-1])[::-1],
        kinds=np.cumsum(is_last[::-1])[::-1],
    )


def _are_several(rows: _Rows, at: int) -> bool:
    """Whether enough different rows stand from a place on."""
    end = at
    for _ in range(SURVIVED_ROWS - 1):
        if end < rows.lines.size:
            end = int(np.searchsorted(rows.lines, rows.lines[end], side="right"))
    if end < min(rows.lines.size, at + WINDOW):
        return True
    # a bar redraws itself within one line of the file: its steps tell the rows apart
    return distinct_of(rows.steps[at : at + WINDOW]).size >= SURVIVED_ROWS


class RowsOfLogs:
    """Lines with metrics and their steps, by source, in order of lines."""

    def __init__(self, view: RunView) -> None:
        table = view.run.metrics
        self._rows: dict[int, _Rows] = {}
        self._flushed = {end.source: end.flushed for end in view.run.log_ends if end.flushed is not None}
        for done in view.events("training_completed"):
            self._flushed.pop(done.ref.source, None)
        if not len(table):
            return
        order = np.lexsort((table.line, table.source))
        sources, starts = np.unique(table.source[order], return_index=True)
        lines, steps = np.split(table.line[order], starts[1:]), np.split(table.step[order], starts[1:])
        for source, line, step in zip(sources.tolist(), lines, steps, strict=True):
            self._rows[int(source)] = _rows(line, step)

    def went_on(self, source: int, line: int, *, uncaught: bool = False) -> bool:
        """Whether enough rows follow a line of a file, at later steps or in a launch that began again.

        Behind an exception that nobody caught they may have been printed before it, and kept back until the process ended.
        """
        if source not in self._rows or (uncaught and self._may_be_flushed(source, line)):
            return False
        rows = self._rows[source]
        at = int(np.searchsorted(rows.lines, line, side="right"))
        if not _are_several(rows, at):
            return False
        after = int(rows.known_before[at])
        if after in {0, rows.known.size}:
            return True
        before = int(rows.known[after - 1])
        if int(rows.least[after]) < before:
            return True
        # nothing behind is less, so all of it is beyond but the step itself
        return int(rows.kinds[after]) - (int(rows.least[after]) == before) >= SURVIVED_ROWS

    def _may_be_flushed(self, source: int, line: int) -> bool:
        """Whether the rows below a line may have been printed before it: they fill no more than a buffer, and count on.

        So it is not in a log that says that the training completed, nor where training began below the line.
        """
        if line < self._flushed.get(source, line + 1):
            return False
        rows = self._rows[source]
        at = int(np.searchsorted(rows.lines, line, side="right"))
        after = int(rows.known_before[at])
        if not at:
            return line <= FIRST_LINES
        if after in {0, rows.known.size}:
            return not after
        return int(rows.least[after]) >= int(rows.known[after - 1])

    @staticmethod
    def ends(view: RunView, *kinds: str) -> tuple[Event, ...]:
        """Events of some kinds after which training did not go on."""
        rows = view.once(RowsOfLogs)
        return tuple(e for e in view.events(*kinds) if not rows.went_on(e.ref.source, e.ref.line or 0))

    def began_below(self, source: int, line: int) -> bool:
        """Whether training began below a line, for the first time or anew: what ended there was another launch, or no training."""
        if not self.went_on(source, line):
            return False
        rows = self._rows[source]
        at = int(np.searchsorted(rows.lines, line, side="right"))
        after = int(rows.known_before[at])
        if after in {0, rows.known.size}:
            return not at or (after == 0 and rows.known.size > 0)
        return int(rows.least[after]) < int(rows.known[after - 1])
