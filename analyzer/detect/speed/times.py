"""Printed times of steps, epochs and their parts, told from clocks that count from the beginning of the run."""

from __future__ import annotations

import numpy as np

from analyzer.detect.curve import has_steps, positive_points
from analyzer.model.ranked import median_of
from analyzer.model.tables import Series

TOTAL_POINTS, TOTAL_STEP, TOTAL_SCATTER = 5, 0.03, 0.6
"""Five rows that each add three percent and more of their value, and much the same each time: no step gets slower so evenly."""

LONG, SUMMED, RESUMED = 20, 10.0, 0.02
"""Twenty rows and more that only rise, to ten times the first: a sum, whose first row may hold the start of everything. One row
of fifty may fall: a run that is resumed counts on from its checkpoint."""

FROM_NOUGHT = 3.0
"""First value over the mean addition up to which a sum began with the log: of hundreds of rows each adds less than a percent."""

SHORT_S = 60.0
"""Within a minute caches fill, kernels are tuned and other programs start and end; no speed of a run is told by it."""

_CLOCKS = frozenset({"time", "time_s", "seconds", "secs", "Time", "elapsed", "step_time_s"})
"""Names that may mean the time since the beginning ("time" is kept as the step time by some rows); "epoch_time" does not."""


def unit_times(series: Series | None, least: int = 1) -> Series | None:
    """The positive points of a series of times; None where there are fewer than ``least``, or it is such a clock."""
    series = positive_points(series, least)
    return None if series is None or _is_running_total(series) else series


def within_a_minute(series: Series) -> bool:
    """Whether the rows of a speed or time cover less than a minute, by their stamps, or by their steps and the time of each."""
    stamps = series.time_s[np.isfinite(series.time_s)]
    if stamps.size > 1:
        return float(stamps[-1] - stamps[0]) < SHORT_S
    if series.metric != "step_time_s" or not has_steps(series):
        return False
    return float(series.step[-1] - series.step[0]) * float(median_of(series.value)) < SHORT_S


def _is_running_total(series: Series) -> bool:
    """Whether times count from the beginning of the run on instead of from the row before."""
    values = series.value
    if series.logged_as not in _CLOCKS or values.size < TOTAL_POINTS:
        return False
    added = np.diff(values)
    even = float(added.std()) <= TOTAL_SCATTER * float(added.mean())
    grows = float(median_of(added / values[1:])) >= TOTAL_STEP or float(values[0]) <= FROM_NOUGHT * float(
        added.mean()
    )
    falls = np.count_nonzero(added <= 0)
    if values.size >= LONG and float(values[-1]) >= SUMMED * float(values[0]):
        return bool(falls <= RESUMED * values.size)
    return bool(not falls and even and grows)
