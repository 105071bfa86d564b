"""Whether the loss leapt back to its first value and fell again: untrained weights, not an update gone wrong.

An explosion goes beyond the first loss or stays up, and a spike is made good at once. What begins anew falls again, and where
the schedule lets it, row by row as it fell at first.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import RunView, ends_of, refs_at
from analyzer.detect.curve import has_steps
from analyzer.detect.curves.numerics.bad_points import values_beside
from analyzer.detect.curves.trend import Trend
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series

ROWS = 3
"""Rows before the leap and after it."""

EARLY = 0.02
"""A leap within the first fiftieth of the rows is a stroke of the first updates: nobody lost a model that was hardly trained."""

GAINED = 0.2
"""A fifth of the first loss had been gained: before, a leap to the first loss is scatter."""

LEVEL, NEAR_LEVEL = (0.7, 1.6), (0.75, 1.35)
"""The leap ends near the first loss; nearer, where the way back is told by its likeness to the first one."""

LOST = 1.5
"""Half again the level before the leap: less is a swing."""

TWICE, ABOVE_OTHERS = 2.0, 1.5
"""No other rise is half as high; where the way back repeats the first one, none is two thirds as high."""

WAY = 0.1
"""The row that follows has still a tenth of the leap to go, as a spike is made good at once, and the next rows take a tenth of
it back: three rows of a loss that stays up fall by chance once in six times, by its scatter."""

NEAR_LOW, AS_LONG = 1.05, 0.5
"""Untrained weights need about the rows for their way down that the first ones needed; what is back at the former level in
half of them and sooner was a spike that took its time."""

ALIKE, ALIKE_ROWS = 0.3, 8
"""Rows that are compared with those at the start, and the median size of the logarithm of their ratio: batches of one state of
a model differ by a fifth to a third."""

OF_THE_FIRST_WAY = 0.3
"""Share of what the first rows gained that the same number of rows after the leap gains: a lower rate learns more slowly, and a
model that broke stands at the level of a guess, which is near the first loss as well."""

HALF = 0.5
"""Half of the loss at which a counter began again is more than batches differ by, and what has run away gives back nothing."""

ABOVE = 2.0
"""The rows after the leap are twice what stood before it, or else nothing was lost."""


PUSHED = 3.0
"""Three times the largest gradient norm of the first rows, at the leap: new weights have the gradients of the first ones."""


def began_anew(
    view: RunView, series: Series, numbers: Trend, held_out: Series | None = None
) -> tuple[bool | None, list[SourceRef]]:
    """Whether training began again within the log; None if it is too short or no positive loss.

    Args:
        view: The run, for the gradient norm beside the loss.
        series: The finite points of the training loss.
        numbers: Their numbers.
        held_out: Held-out loss beside them: weights that were lost answer held-out data as badly as at first.
    """
    values = numbers.values
    first = float(values[0])
    if values.size < 2 * ROWS or first <= 0 or float(values.min()) <= 0:
        return None, []
    rises = np.diff(values)
    row = int(rises.argmax()) + 1
    if not max(ROWS, EARLY * values.size) <= row <= values.size - ROWS:
        return False, ends_of(series)
    low = float(median_of(values[row - ROWS : row]))
    reached = values <= NEAR_LOW * low
    first_way, way_back = int(reached.argmax()), int(reached[row:].argmax()) or values.size - row
    gained = first - low >= GAINED * first and values[row] >= LOST * low and way_back > AS_LONG * first_way
    anew = bool(gained) and (_falls_again(values, row, low, rises) or _as_at_first(values, row, low, rises))
    if anew and _pushed(view, series, row):
        return False, refs_at(series, [row - 1, row])
    if anew and held_out is not None and _answers_as_before(held_out, series, row):
        return False, refs_at(series, [row - 1, row])
    again, times_s = values[row:], series.time_s
    if anew and np.array_equal(again, values[: again.size]) and not times_s[0] < times_s[row]:
        return None, []  # to the last digit as at first: the same log twice, for all that is known
    return anew, refs_at(series, [row - 1, row] if anew else [len(series) - 1, 0])


def epochs_began_anew(view: RunView, leap: SourceRef) -> bool:
    """Whether the epochs are counted from their first number again in the very row of the leap: the rows are of another launch.

    Args:
        view: The run, for the epochs beside the loss.
        leap: Where the loss leapt back.
    """
    epochs = view.curve("epoch")
    if epochs is None:
        return False
    at = np.flatnonzero(epochs.line == leap.line)
    return bool(at.size and at[0] > 0 and epochs.value[at[0]] <= epochs.value[0] < epochs.value[at[0] - 1])


def learns_since_counter_began(series: Series) -> bool:
    """Whether the steps count from their first number again, at the highest loss since, half of which is gone: a job that learns."""
    if not has_steps(series):
        return False
    falls = np.flatnonzero((np.diff(series.step) < 0) & (series.step[1:] == series.step.min())) + 1
    since = series.value[falls[-1] :] if falls.size else series.value[:0]
    if since.size <= 2 * ROWS:
        return False
    return bool(since[0] == since.max() and 0 < float(median_of(since[-ROWS:])) <= HALF * since[0])


def _pushed(view: RunView, series: Series, row: int) -> bool:
    """Whether the gradient at the leap is one that the first rows never had, so that an update threw the weights away."""
    beside = values_beside(view, series, "grad_norm")
    if beside is None or not beside[0][:ROWS].any() or not beside[0][row - 1 : row + 2].any():
        return False
    return float(np.nanmax(beside[1][row - 1 : row + 2])) >= PUSHED * float(np.nanmax(beside[1][:ROWS]))


def _answers_as_before(held_out: Series, loss: Series, row: int) -> bool:
    """Whether the evaluation at the leap keeps half of what held-out loss had gained: then only the training rows were bad.

    An evaluation that lies further from the leap than the first one from the start had time to learn anew. Rows by epochs
    have no steps; their lines tell the order as well.
    """
    stepped = has_steps(held_out) and has_steps(loss)
    at, rows = (held_out.step, loss.step) if stepped else (held_out.line, loss.line)
    before, after = at < rows[row], at >= rows[row]
    if not before.any() or not after.any():
        return False
    first, best = float(held_out.value[before][0]), float(held_out.value[before].min())
    in_time = at[after][0] - rows[row] <= at[before][0] - rows[0]
    return bool(in_time and first - best >= GAINED * first and held_out.value[after][0] < (first + best) / 2)


def _falls_again(values: Values, row: int, low: float, rises: Values) -> bool:
    """One leap to the first level, of which each of the next rows takes a part back."""
    leap, after = float(rises[row - 1]), values[row : row + ROWS]
    return (
        LEVEL[0] * values[0] <= values[row] <= LEVEL[1] * values[0]
        and leap >= TWICE * float(np.partition(rises, -2)[-2])
        and bool((np.diff(after) < 0).all())
        and float(after[0] - after[-1]) >= WAY * leap
        and float(after[1]) - low >= WAY * leap
    )


def _as_at_first(values: Values, row: int, low: float, rises: Values) -> bool:
    """The rows after the leap repeat those at the start of the log."""
    if rises[row - 1] < ABOVE_OTHERS * float(np.partition(rises, -2)[-2]):
        return False
    count = min(row, values.size - row, ALIKE_ROWS)
    start, after = values[:count], values[row : row + count]
    near = NEAR_LEVEL[0] * start[0] <= after[0] <= NEAR_LEVEL[1] * start[0]
    apart = np.abs(np.log(after / start))
    return bool(
        near
        and _learns_again(values, row)
        and median_of(after[:ROWS]) >= ABOVE * low
        and median_of(apart) <= ALIKE
        and apart[:2].max() <= 2 * ALIKE
    )


def _learns_again(values: Values, row: int) -> bool:
    """Whether the rows after the leap come down as the same number of first rows did."""
    count = min(row, values.size - row)
    first = float(values[0] - median_of(values[count - ROWS : count]))
    again = float(values[row] - median_of(values[row + count - ROWS : row + count]))
    return again >= OF_THE_FIRST_WAY * first
