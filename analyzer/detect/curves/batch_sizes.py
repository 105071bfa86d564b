"""Whether batches get longer from row to row, so that each costs more time and, where a loss is a sum over a sample, more loss."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import RunView
from analyzer.detect.curve import align
from analyzer.detect.curves.numerics.bad_points import loss_points
from analyzer.detect.curves.trend import trend
from analyzer.detect.speed.times import unit_times
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of

ROWS = 12
"""Rows in which an order shows; an epoch of a few batches holds no more."""

BOTH = 2.5
"""Deviations of the order of all pairs from chance, of times and of losses: one in eighty for each, and of both at once far fewer."""

LONGER = 1.5
"""Half again the time for one step: a host under load makes no step that much slower in step with the loss."""


def grow_from_row_to_row(view: RunView) -> bool:
    """Whether times of steps and losses rise together: the samples come in the order of their length.

    Updates that leave their range raise a loss as well, and take no more time for it.
    """
    points, times = view.once(loss_points), unit_times(view.curve("step_time_s"), ROWS)
    losses = None if points is None else points.curve()
    if losses is None or times is None or len(losses) < ROWS:
        return False
    match = align(losses, times)
    if not (match >= 0).all():
        return False
    taken = times.value[match]
    third = taken.size // 3
    longer = float(median_of(taken[-third:])) >= LONGER * float(median_of(taken[:third]))
    return longer and _rises(taken) and _rises(losses.value)


def _rises(values: Values) -> bool:
    numbers = trend(values)
    return numbers is not None and numbers.order >= BOTH and bool(np.isfinite(values).all())
