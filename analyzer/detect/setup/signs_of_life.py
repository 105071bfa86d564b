"""When a run last gave a sign of life, by the clocks in its logs and trackers and the age of its files.

A stamp in a log carries no zone as a rule, and a copied file is as young as one that is being written: each is held
against the other.
"""

from __future__ import annotations

import time

import numpy as np

from analyzer.detect.base import RunView
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.refs import SourceRef

PATIENCE = 20
"""Usual distances between lines for which a run may be silent: an evaluation or a checkpoint takes as long as many steps."""

SHORTEST_SILENCE_S = 300.0
"""A run may be silent that long in any case: saving a large checkpoint takes minutes."""

FAR_ZONE_S = 14 * 3600.0
"""Stamps without a zone may be of any zone."""

ZONE_S = 900.0
"""Zones differ by multiples of a quarter of an hour."""

SAME_S = 90.0
"""A file's age and the age of its last line agree within that: buffers are flushed later, clocks differ."""

YOUNG_S = 1800.0
"""Age of a file up to which a run that prints no times may still write it."""


def span(seconds: float) -> str:
    """A duration in its largest unit.

    >>> span(0.4), span(90), span(7200), span(400000)
    ('0.4 s', '2 min', '2 h', '5 days')
    """
    for limit, unit, size in ((90, "s", 1), (5400, "min", 60), (172_800, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 else f"{round(seconds / size)} {unit}"
    return f"{round(seconds / 86_400)} days"


class Life:
    """When the run last gave a sign, and whether it gave it just now.

    Attributes:
        silent_s: Time since then, None if nothing certain is known; never more than is certain.
        interval_s: Usual distance of its signs.
        file_age_s: Age of the newest file, which may be a copy.
        goes_on: Whether the run is known to go on.
        because: Why.
        ref: The file that shows it.
    """

    def __init__(self, view: RunView) -> None:
        now = time.time()
        self.silent_s: float | None = None
        self.interval_s: float | None = None
        self.goes_on = False
        self.because = ""
        sources = [source for source in view.run.sources if source.age_s is not None]
        newest = min(sources, key=lambda source: source.age_s or 0.0, default=None)
        self.file_age_s = None if newest is None else newest.age_s
        self.ref = None if newest is None else SourceRef(newest.index)
        growing = next((source for source in sources if source.grows), None)
        self._by_clocks(view, now)
        if growing is not None:
            self.ref = SourceRef(growing.index)
            self.goes_on, self.because = True, "a file of the run grew while it was read"
        elif self._speaks():
            self.goes_on, self.because = True, "its last line is of just now"
        if self.silent_s is None and self.file_age_s is not None and self.file_age_s > YOUNG_S:
            self.silent_s = self.file_age_s  # nobody has written since, whoever made the file

    def _speaks(self) -> bool:
        """Whether the last sign is no older than a pause of the run may be; an old file disproves a young line."""
        if self.silent_s is None or self.file_age_s is None:
            return False
        patience = max(SHORTEST_SILENCE_S, PATIENCE * (self.interval_s or 0.0))
        return self.silent_s <= patience and self.file_age_s <= max(YOUNG_S, self.silent_s + SAME_S)

    def _by_clocks(self, view: RunView, now: float) -> None:
        """Take the newest time in logs and trackers."""
        table = view.run.metrics
        by_tracker = np.array([source.by_tracker for source in view.run.sources], np.bool_)
        exact = table.time_s[np.isfinite(table.time_s) & by_tracker[table.source]]
        if exact.size and 0 < exact.max() <= now + 60.0:  # trackers keep the time in UTC
            self.silent_s = max(0.0, now - float(exact.max()))
            self.interval_s = _usual_gap(exact)
        for end in view.run.log_ends:
            if end.last_time_s is None:
                continue
            age = self._age(end.last_time_s, view.run.sources[end.source].age_s, now)
            if age is not None and (self.silent_s is None or age < self.silent_s):
                rows = table.time_s[np.isfinite(table.time_s) & (table.source == end.source)]
                self.silent_s, self.interval_s = age, _usual_gap(rows) or end.interval_s or self.interval_s

    @staticmethod
    def _age(stamp_s: float, file_age_s: float | None, now: float) -> float | None:
        """Age of a stamp without a zone; None if it may be of now as well as of hours ago."""
        apparent = now - stamp_s
        if apparent > FAR_ZONE_S:
            return apparent - FAR_ZONE_S if apparent < 2 * FAR_ZONE_S else apparent
        if file_age_s is not None:
            # The file's own age and the stamp agree but for a zone: the file is no copy, and its age is the truth.
            off = (apparent - file_age_s) % ZONE_S
            if min(off, ZONE_S - off) <= SAME_S and abs(apparent - file_age_s) <= FAR_ZONE_S:
                return file_age_s
            if file_age_s > YOUNG_S:
                return file_age_s
        here = apparent + time.localtime(now).tm_gmtoff
        plausible = [age for age in (apparent, here) if age >= 0]
        return min(plausible, default=None)


def _usual_gap(times_s: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    """Median distance of the last rows; None for a single one."""
    times = distinct_of(times_s)[-60:]
    return float(median_of(np.diff(times))) if times.size > 1 else None
