"""The time of a step against its own course: slow-downs, single slow steps, their grid, waiting for data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.detect.shapes.course import Course, factor, middle, rank_correlation
from analyzer.detect.shapes.feature import ASINH, LOG2, Feature

if TYPE_CHECKING:
    from analyzer.detect.shapes.course import Values

SLOW = 1.0
"""Binary logarithm: a step that takes twice its neighbours."""

MOVED = 0.14
"""A tenth, in binary logarithms: below, a smoothed step time has not changed."""

_TIME, _WAIT = ("step_time_s",), ("step_time_s", "data_time_s")

FEATURES = (
    Feature(
        "time_growth", "time", "factor", "median of the last fifth / median of the first fifth, without the first 2 points",
        "throughput change; leaks and fragmentation", "steps became {value:.2f} times as slow|steps became {value:.2f} times as fast",
        -6, 6, LOG2, _TIME,
    ),
    Feature(
        "time_trend", "time", "rank correlation", "of the smoothed step time and its position; 0 if its range is below 10 %", "Mann-Kendall type trend test",
        "steps become slower steadily (rank correlation {value:.2f})|steps become faster steadily (rank correlation -{value:.2f})", -1, 1, needs=_TIME,
    ),
    Feature(
        "time_sudden", "time", "share", "greatest move within 2 % of the run over the range of the smoothed step time; 0 if that is below 10 %",
        "change point: a restart or hardware against a leak", "{value:.0%} of the change of the step time came at once", 0, 1, needs=_TIME, shows="peak",
    ),
    Feature(
        "time_tail", "time", "factor", "99th percentile / median", "StepOutlier (SageMaker Debugger); tail latency",
        "the slowest hundredth of steps takes {value:.1f} times the median", 0, 12, LOG2, _TIME, "peak",
    ),
    Feature(
        "time_slow_share", "time", "share", "share of steps that take more than twice the running median", "StepOutlier",
        "{value:.1%} of the steps take more than twice their neighbours", 0, 1, needs=_TIME, shows="peak",
    ),
    Feature(
        "time_regular", "time", "share", "1 - median deviation of the distances of slow steps / their median; 0 of fewer than 4",
        "renewal process: a grid has equal distances", "the slow steps come at equal distances (regularity {value:.2f})", 0, 1, needs=_TIME, shows="peak",
    ),
    Feature(
        "time_noise", "time", "octaves", "robust standard deviation of the point-to-point scatter of the binary logarithm", "jitter",
        "step times scatter by {value:.2f} octaves", 0, 6, ASINH, _TIME,
    ),
    Feature(
        "time_wait", "time", "share", "median share of the step time spent waiting for data", "IOBottleneck (SageMaker Debugger)",
        "{value:.0%} of the step time is waiting for data", 0, 1, needs=_WAIT,
    ),
    Feature(
        "time_wait_growth", "time", "share", "that share in the last third - in the first third", "the same, its onset",
        "the share of waiting for data grew by {value:.2f}|the share of waiting for data shrank by {value:.2f}", -1, 1, needs=_WAIT,
    ),
    Feature(
        "time_wait_tail", "time", "share", "95th percentile of that share - its median", "periodic stalls",
        "in the slowest steps waiting for data takes {value:.2f} more of the time", 0, 1, needs=_WAIT,
    ),
)  # fmt: skip


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
