"""Rows that begin with their epoch and a colon, as a launcher that labels lines begins them with a rank.

0: loss = 0.51          Ranks take turns; what rises evenly from one line to the next, far beyond what stands
1: loss = 0.48          around the first of them, counts epochs or steps.
2: loss = 0.46
"""

from __future__ import annotations

from itertools import pairwise

from analyzer.ingest.text.log_line import LogLine
from analyzer.lazy_regex import LazyRegex
from analyzer.record import replace

LEAST_LINES = 5
"""Numbers that rise evenly before they are counters; a launcher's first lines come in any order."""

_NUMBER = LazyRegex(r"(?m)^ {0,5}(\d{1,5}): (?=\S)")


class NumberedLines:
    """Tells numbers that count rows from ranks, once for a log."""

    def __init__(self) -> None:
        self._counts: bool | None = None

    def plain(self, line: LogLine) -> LogLine:
        """A line with its number as part of the message, if such numbers count here."""
        if line.rank is None or self._counts is False or _NUMBER.match(line.raw) is None:
            return line
        if self._counts is None:
            around = f"{line.before()}\n{line.raw}\n{line.after()}"
            numbers = [int(match[1]) for match in _NUMBER.finditer(around)]
            steps = {after - before for before, after in pairwise(numbers)}
            self._counts = len(numbers) >= LEAST_LINES and len(steps) == 1 and min(steps) > 0
        if not self._counts:
            return line
        return replace(line, peeled=replace(line.peeled, text=line.raw.strip(), rank=None))
