"""How many steps a printed loss is a mean over: the distance between the rows of a log."""

from __future__ import annotations

from collections import Counter

from analyzer.ingest.text.log_line import LogState

MAX_GAPS = 1_000
"""Different distances that are counted; regular logs have one, and of others none is usual."""


class StepGaps:
    """Counts the distances between neighbouring steps."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._last: int | None = None
        self._gaps: Counter[int] = Counter()

    def add(self, step: int) -> None:
        """Note a row's step; the first one and a restart have no distance from the row before."""
        last, self._last = self._last, step
        self._first = step if self._first is None else self._first
        if last is not None and step > last and (len(self._gaps) < MAX_GAPS or step - last in self._gaps):
            self._gaps[step - last] += 1

    def usual(self) -> int | None:
        """The distance that most rows have; None if there is no such majority.

        Of two rows the one distance counts only if the first row stands that far from the start.
        """
        if not self._gaps:
            return None
        gap, count = self._gaps.most_common(1)[0]
        if sum(self._gaps.values()) == 1 and gap != self._first:
            return None
        return gap if 2 * count > sum(self._gaps.values()) else None

    def state_window(self, log: LogState) -> None:
        """Tell the source's writer that each loss is a mean over the usual distance."""
        usual = self.usual()
        if usual is not None and usual > 1:
            log.out.loss_window(usual)
