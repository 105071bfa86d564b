"""Whether training went on after a line: rows well beyond the step that it had reached, and not the last flush of a writer."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import RunView
from analyzer.model.tables import NULL_INT

SURVIVED_ROWS = 3
"""Metric rows after an error that show that training went on: one or two may be buffered output, or what a trainer's
writer prints when an exception takes it down (detectron2)."""


class RowsOfLogs:
    """Lines with metrics and their steps, by source, in order of lines."""

    def __init__(self, view: RunView) -> None:
        table = view.run.metrics
        self._rows: dict[
            int, tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]
        ] = {}
        if not len(table):
            return
        order = np.lexsort((table.line, table.source))
        sources, starts = np.unique(table.source[order], return_index=True)
        lines, steps = np.split(table.line[order], starts[1:]), np.split(table.step[order], starts[1:])
        for source, line, step in zip(sources.tolist(), lines, steps, strict=True):
            self._rows[int(source)] = (line, step)

    def went_on(self, source: int, line: int) -> bool:
        """Whether enough rows follow a line of a file, at later steps or in a launch that began again."""
        if source not in self._rows:
            return False
        lines, steps = self._rows[source]
        at = int(np.searchsorted(lines, line, side="right"))
        window = slice(at, at + SURVIVED_ROWS * 200)
        # a bar redraws itself within one line of the file: its steps tell the rows apart
        if max(np.unique(lines[window]).size, np.unique(steps[window]).size) < SURVIVED_ROWS:
            return False
        before, after = steps[:at][steps[:at] != NULL_INT], steps[at:][steps[at:] != NULL_INT]
        if not before.size or not after.size or int(after.min()) < int(before[-1]):
            return True
        return int(np.unique(after[after > before[-1]]).size) >= SURVIVED_ROWS
