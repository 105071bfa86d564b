"""Rows that cannot be read when they are met: of names that change in every line, and of no kind that is known.

trainer_1_main loss: 0.5        A name that never comes again is that of no series: the number in it is an index,
trainer_2_main loss: 0.25       and the rest the name. What is not read in the end is told, with its first line.
"""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name

MAX_ROWS = 20_000
"""Rows that are kept in mind."""

LEAST_INDEXED = 10
"""Names that differ by a number alone and come once each, before the number is an index; layers and folds are fewer, or come again."""

LEAST_UNREAD, LEAST_SHARE = 5, 0.2
"""Unread rows that are told, and their share of all rows: a summary or two stand in any log."""

_INDEX = LazyRegex(r"(?<=[A-Za-z])[_-]?(\d{1,9})(?=[_/-]|$)")


class UnreadRows:
    """Keeps rows in mind until the log is complete.

    Attributes:
        read: Rows that were read where they were met.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[str, ...], dict[tuple[str, ...], tuple[LogLine, Mapping[str, float]]]] = {}
        self._come_again: set[tuple[str, ...]] = set()
        self.read = self._kept = self._unread = 0
        self._first: int | None = None

    def note(self, line: LogLine, *, read: bool) -> None:
        """A row was read, or left."""
        self.read += read
        self._unread += not read
        self._first = line.number if self._first is None and not read else self._first

    def keep(self, kind: tuple[str, ...], line: LogLine, values: Mapping[str, float]) -> None:
        """A row of names of which nothing is known."""
        rest = tuple(_INDEX.sub("", name) for name in kind)
        if rest == kind or self._kept >= MAX_ROWS or not any(read_name(n).quantity == "loss" for n in rest):
            return
        rows = self._rows.setdefault(rest, {})
        if kind in rows:
            self._come_again.add(rest)
        self._kept += 1
        rows[kind] = (line.detached(), values)

    def tell(self, log: LogState, rows: int) -> set[tuple[str, ...]]:
        """Write the rows whose names hold an index, and say how many are left beside all rows that were read; gives the names."""
        written = [
            (kind, *row)
            for rest, rows in self._rows.items()
            if rest not in self._come_again and len(rows) >= LEAST_INDEXED
            for kind, row in rows.items()
        ]
        for _, line, values in written:
            for name, value in values.items():
                index = _INDEX.search(name)
                log.metric(_INDEX.sub("", name), value, line, int(index[1]) if index else None)
        left = self._unread - len(written) - (rows - self.read)  # some waited until more of their kind came
        if left >= LEAST_UNREAD and left >= LEAST_SHARE * (rows + len(written)) and self._first is not None:
            log.out.gap(
                f"{left} lines that look like rows of numbers were not read", line=self._first, evidence=True
            )
        return {kind for kind, _, _ in written}
