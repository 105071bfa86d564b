"""The time of a step against its own course: slow-downs, single slow steps, their grid, waiting for data."""

from __future__ import annotations

import numpy as np

from analyzer.detect.shapes.course import Course, factor, middle, rank_correlation
from analyzer.model.arrays import Values

SLOW = 1.0
"""Binary logarithm: a step that takes twice its neighbours."""

MOVED = 0.14
"""A tenth, in binary logarithms: below, a smoothed step time has not changed."""


def measure(pace: Course | None, wait: Values | None) -> dict[str, float]:
    """Values in their natural units; those that cannot be known are left out.

    Args:
        pace: Reduced binary logarithm of the step time.
        wait: float64, shape (n_waits,): share of the step time spent waiting.
    """
    found: dict[str, float] = {}
    if pace is not None and pace.value.size >= 10:
        found |= _course(pace)
    if wait is not None:
        third = max(wait.size // 3, 1)
        found["time_wait"] = middle(wait)
        found["time_wait_growth"] = middle(wait[-third:]) - middle(wait[:third])
        found["time_wait_tail"] = float(np.sort(wait)[int(0.95 * (wait.size - 1))]) - middle(wait)
    return found


def _course(pace: Course) -> dict[str, float]:
    window, smooth = pace.window, pace.smooth
    fifth, lag = max(window.size // 5, 1), max(round(0.02 * window.size), 1)
    span = float(np.ptp(smooth))
    moves = np.abs(smooth[lag:] - smooth[:-lag])
    slow = np.flatnonzero(pace.rest > max(SLOW, 4 * pace.noise))
    return {
        "time_growth": factor(middle(window[-fifth:]) - middle(window[:fifth])),
        "time_trend": rank_correlation(pace.window_at, smooth) if span > MOVED else 0.0,
        "time_sudden": float(moves.max()) / span if span > MOVED else 0.0,
        "time_tail": factor(max(float(np.sort(pace.value)[int(0.99 * (pace.value.size - 1))]), 0.0)),
        "time_slow_share": slow.size / pace.value.size,
        "time_regular": _regular(pace.at[slow]),
        "time_noise": pace.noise,
    }


def _regular(at: Values) -> float:
    if at.size < 4:
        return 0.0
    gaps = np.diff(at)
    usual = middle(gaps)
    return max(1.0 - middle(np.abs(gaps - usual)) / usual, 0.0) if usual > 0 else 0.0
