"""A log of a counter and a number without a name, or of such numbers alone, as people print a loss.

    760 41.249886            Epoch 1/12: 0.7112            11.6471710
    761 41.244041            Epoch 2/12: 0.7096            9.6641559

It counts only if nothing else of the log was a metric, the counter runs on evenly, and the number does not rise beyond
its scatter: what falls or stays beside a counter is most likely what the loop minimises. Numbers without a counter have to
fall. The series is called ``unnamed``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.model.ranked import median_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyzer.ingest.text.log_line import LogLine, LogState

MIN_ROWS = 10
"""Rows of such a log; a few pairs of numbers may be anything."""

MIN_ALONE = 30
"""Numbers without a counter that make a course."""

MAX_ROWS = 100_000
"""Rows that are kept in mind."""


class UnnamedColumns:
    """Collects pairs of a counter and a number, and numbers alone."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, float, LogLine]] = []
        self._alone: list[tuple[float, LogLine]] = []
        self._even = True

    def add(self, numbers: list[str], line: LogLine) -> bool:
        """Note a row; it is read when the log is complete."""
        value = parse_number(numbers[-1])  # the last of "Epoch 3/12: 0.5"
        if len(numbers) == 1 and value is not None and len(self._alone) < MAX_ROWS:
            self._alone.append((value, line.detached()))
            return False
        if value is None or not numbers[0].isdecimal() or len(numbers[0]) > 12 or len(self._rows) >= MAX_ROWS:
            return False
        step = int(numbers[0])
        if len(self._rows) >= 2:
            self._even = self._even and step - self._rows[-1][0] == self._rows[1][0] - self._rows[0][0]
        self._rows.append((step, value, line.detached()))
        return False

    def tell(self, log: LogState) -> None:
        """Write the series, if the log is one."""
        if not log.is_empty:
            return
        if not self._rows and len(self._alone) >= MIN_ALONE and self._rise(self._alone) < 0:
            for value, line in self._alone:
                log.metric("unnamed", value, line, None)
        if len(self._rows) < MIN_ROWS or not self._even or self._rows[1][0] <= self._rows[0][0]:
            return
        if self._rise([(value, line) for _, value, line in self._rows]) > 0:
            return
        for step, value, line in self._rows:
            log.metric("unnamed", value, line, step)
        log.saw_step(self._rows[-1][0])

    @staticmethod
    def _rise(rows: Sequence[tuple[float, LogLine]]) -> float:
        """By how much the numbers rise from the first fifth to the last; 0 within their scatter."""
        values = np.array([value for value, _ in rows])
        part = max(len(values) // 5, 3)
        rise = float(median_of(values[-part:]) - median_of(values[:part]))
        return rise if abs(rise) > float(median_of(np.abs(np.diff(values)))) else 0.0
