"""A log of two columns, a counter and a number without a name, such as people paste when they ask about a loss.

    760 41.249886            Epoch 1/12: 0.7112
    761 41.244041            Epoch 2/12: 0.7096

It counts only if nothing else of the log was a metric, the counter runs on evenly, and the number does not rise beyond
its scatter: what falls or stays beside a counter is most likely what the loop minimises. The series is called ``unnamed``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.text.rows.printed_numbers import parse_number

if TYPE_CHECKING:
    from analyzer.ingest.text.log_line import LogLine, LogState

MIN_ROWS = 10
"""Rows of such a log; a few pairs of numbers may be anything."""

MAX_ROWS = 100_000
"""Rows that are kept in mind."""


class UnnamedColumns:
    """Collects pairs of a counter and a number."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, float, LogLine]] = []
        self._even = True

    def add(self, numbers: list[str], line: LogLine) -> bool:
        """Note a row; it is read when the log is complete."""
        value = parse_number(numbers[-1])  # the last of "Epoch 3/12: 0.5"
        if value is None or not numbers[0].isdecimal() or len(numbers[0]) > 12 or len(self._rows) >= MAX_ROWS:
            return False
        step = int(numbers[0])
        if len(self._rows) >= 2:
            self._even = self._even and step - self._rows[-1][0] == self._rows[1][0] - self._rows[0][0]
        self._rows.append((step, value, line.detached()))
        return False

    def tell(self, log: LogState) -> None:
        """Write the series, if the log is one."""
        if (
            len(self._rows) < MIN_ROWS
            or not self._even
            or not log.is_empty
            or self._rows[1][0] <= self._rows[0][0]
        ):
            return
        values = np.array([value for _, value, _ in self._rows])
        part = max(len(values) // 5, 3)
        scatter = float(np.median(np.abs(np.diff(values))))
        if np.median(values[-part:]) - np.median(values[:part]) > scatter:
            return
        for step, value, line in self._rows:
            log.metric("unnamed", value, line, step)
        log.saw_step(self._rows[-1][0])
