"""A log of counters and numbers without names, or of such numbers alone, as people print a loss.

    760 41.249886            Epoch 1/12: 0.7112            0, 120, 16.54, 10.79, 3.78            11.6471710
    761 41.244041            Epoch 2/12: 0.7096            1, 0, 16.41, 10.66, 3.77              9.6641559

It counts only if nothing else of the log was a metric, a counter runs on evenly (or batches within one that never falls), and the
first number does not rise beyond its scatter, nor stands still before others that may be the loss: what falls or stays
beside a counter is most likely what the loop minimises.
Numbers without a counter have to fall, or to end in values that are none. The series is called ``unnamed``, those of further columns ``unnamed_2`` and so on.
Counters with one number below a line such as ``Accuracy of every epoch:`` are rows of what that names, however few and whatever their course.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.ingest.text.rows.learned.field_names import trimmed
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.model.name_words import is_score, read_name
from analyzer.model.ranked import median_of

MIN_ROWS = 10
"""Rows of such a log; a few pairs of numbers may be anything."""

MIN_NAMED = 3
"""Rows below a line that names them, each with a counter that runs on evenly."""

MIN_ALONE = 30
"""Numbers without a counter that make a course."""

MIN_BROKEN = 5
"""Values at the end that are NaN or infinite, where numbers need neither names nor a course to be what broke."""

MAX_DIGITS = 12
MAX_ROWS = 100_000
"""Rows that are kept in mind."""


class UnnamedColumns:
    """Collects counters with the numbers beside them, and numbers alone."""

    def __init__(self) -> None:
        self._rows: list[tuple[tuple[int, ...], list[float], LogLine]] = []
        self._name = ""
        self._alone: list[tuple[float, LogLine]] = []

    def head(self, text: str) -> None:
        """Note a line without a number; it may name the numbers below it."""
        name = trimmed(text.strip()[:-1].rstrip(), most=1) if text.rstrip().endswith(":") else ""
        if name and not self._rows and (is_score(name) or read_name(name).quantity in {"loss", "accuracy"}):
            self._name = name

    def add(self, numbers: list[str], line: LogLine) -> bool:
        """Note a row; it is read when the log is complete."""
        values = [value for n in numbers if not n.isdecimal() and (value := parse_number(n)) is not None]
        first = next((at for at, number in enumerate(numbers) if not number.isdecimal()), len(numbers))
        counters = tuple(int(number) for number in numbers[:first] if len(number) <= MAX_DIGITS)
        if not counters and len(values) == 1 and len(self._alone) < MAX_ROWS:
            self._alone.append((values[0], line.detached()))
        like = not self._rows or [len(part) for part in self._rows[0][:2]] == [len(counters), len(values)]
        if counters and values and like and len(self._rows) < MAX_ROWS:
            self._rows.append((counters, values, line.detached()))
        return False

    def tell(self, log: LogState) -> None:
        """Write the series, if the log is one."""
        if not log.is_empty:
            return
        alone = [value for value, _ in self._alone]
        broken = len(alone) >= MIN_BROKEN and not np.isfinite(alone[-MIN_BROKEN:]).any()
        if not self._rows and (broken or (len(alone) >= MIN_ALONE and self._rise(alone) < 0)):
            for value, line in self._alone:
                log.metric("unnamed", value, line, None)
        first = [values[0] for _, values, _ in self._rows]
        ends_broken = len(first) >= MIN_BROKEN and not np.isfinite(first[-MIN_BROKEN:]).any()
        named = self._name if first and len(self._rows[0][1]) == 1 else ""
        enough = len(first) >= (MIN_NAMED if named else MIN_ROWS) or ends_broken
        steps = self._steps() if enough else None
        is_setting = len(set(first)) == 1 and len(self._rows[0][1]) > 1 if self._rows else False
        if steps is None or is_setting or (not (ends_broken or named) and self._rise(first) > 0):
            return
        for step, (_, values, line) in zip(steps, self._rows, strict=True):
            for at, value in enumerate(values):
                log.metric(f"unnamed_{at + 1}" if at else named or "unnamed", value, line, step)
        if steps[-1] is not None:
            log.saw_step(steps[-1])

    def _steps(self) -> list[int] | list[None] | None:
        """The counter that runs on evenly; none where batches begin anew within a counter that never falls; None if nothing counts."""
        columns = list(zip(*(counters for counters, _, _ in self._rows), strict=True))
        for column in columns:
            if column[1] > column[0] and len({after - before for before, after in pairwise(column)}) == 1:
                return list(column)
        nested = len(columns) > 1 and all(before <= after for before, after in pairwise(columns[0]))
        return [None] * len(self._rows) if nested else None

    @staticmethod
    def _rise(values: list[float]) -> float:
        """By how much the numbers rise from the first fifth to the last; 0 within their scatter."""
        told = np.array([value for value in values if np.isfinite(value)])
        part = max(len(told) // 5, 3)
        if len(told) <= part:
            return 0.0
        rise = float(median_of(told[-part:]) - median_of(told[:part]))
        return rise if abs(rise) > float(median_of(np.abs(np.diff(told)))) else 0.0
