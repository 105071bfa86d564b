"""One curve reduced for measuring its shape: a few hundred medians, its scatter, its scale.

Nothing here depends on how long a run was, how often it logged, or in which unit: positions are shares of the
logged points, levels are multiples of the curve's own median, and the scatter is that of single points. A long
curve is thinned to single points first (so that the scatter stays that of a point) and then read in medians.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.curve import has_steps
from analyzer.model.arrays import Mask, Rows, Values
from analyzer.model.tables import NULL_INT, Series
from analyzer.record import NamedTuple

WINDOWS = 200
"""Medians of half a percent of the run each: fine enough for a spike's recovery, coarse enough to cost nothing."""

POINTS = 5 * WINDOWS
"""Single points kept: five a window give its median to about half of the scatter, and 1000 a scatter to 3 %."""

MANY = 10 * POINTS
"""The median of more values than these is read from evenly spaced ones."""

SMOOTH_SHARE = 0.045
"""Nine of two hundred windows: wide enough to outvote a spike of four, narrow enough to follow a descent."""

LIMIT = 1e12
"""Levels beyond a trillion times the median tell no more than that, and their squares would overflow."""

FLOOR = 1e-5
"""Scatter below this share of the median level is rounding of the log (five printed digits)."""

_SIGMA = 1.4826  # standard deviation of a normal distribution over its median absolute deviation


class Course(NamedTuple):
    """A reduced curve."""

    series: Series  # all points as logged
    bad: Mask  # bool, shape (n_logged,): which of them are no number
    row: Rows  # int64, shape (n_points,): rows in ``series`` of the finite points kept
    # float64, shape (n_points,): their positions, 0 at the first logged point of the run and 1 at the last
    at: Values
    value: Values  # float64, shape (n_points,): their values in units of ``scale``
    window_at: Values  # float64, shape (n_windows,): positions of the windows
    window_row: Rows  # int64, shape (n_windows,): a row in ``series`` in the middle of each window
    window: Values  # float64, shape (n_windows,): medians
    smooth: Values  # float64, shape (n_windows,): running medians of ``window``
    rest: Values  # float64, shape (n_points,): values minus the running median at their places
    scatter: Values  # float64, shape (n_points,): absolute second differences, the scatter without any trend
    scale: float  # what one unit of ``value`` is in the log
    noise: float  # robust standard deviation of the scatter, in units of ``scale``
    # float64, shape (n_windows,): the same around each window where that is more than ``noise``
    local_noise: Values

    def start(self) -> float:
        """Level in the first two percent of the windows."""
        return middle(self.window[: max(round(0.02 * self.window.size), 1)])

    def end(self) -> float:
        """Level in the last twentieth of the windows, of three at least if there are ten."""
        return middle(self.window[-max(round(0.05 * self.window.size), 3 if self.window.size >= 10 else 1) :])

    def first_bad(self) -> int | None:
        """Row of the first point that is no number."""
        return int(self.bad.argmax()) if self.bad.any() else None

    def place(self, row: int) -> float:
        """Position of a row of the series."""
        return row / max(self.bad.size - 1, 1)


def middle(values: Values) -> float:
    """Median of one-dimensional values; NaN of none. Without the checks of ``np.median``, so five times as fast.

    >>> middle(np.array([3.0, 1.0, 2.0, 10.0]))
    2.5
    """
    if not values.size:
        return float("nan")
    if values.size > MANY:
        values = values[:: values.size // POINTS]
    ordered, half = np.sort(values), values.size // 2
    return float(ordered[half]) if values.size % 2 else float(0.5 * ordered[half - 1] + 0.5 * ordered[half])


def factor(octaves: float) -> float:
    """Two to a power, kept within what a float and every range hold.

    >>> factor(3.0), factor(5000.0) == factor(100.0)
    (8.0, True)
    """
    return float(2.0 ** min(max(octaves, -100.0), 100.0))


def row_medians(table: Values) -> Values:
    """Median of each row; float64, shape (n_rows, n_columns) to (n_rows,).

    >>> row_medians(np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 8.0]])).tolist()
    [2.0, 5.0]
    """
    ordered, half = np.sort(table, axis=1), table.shape[1] // 2
    if table.shape[1] % 2:
        return np.asarray(ordered[:, half])
    return np.asarray(0.5 * ordered[:, half - 1] + 0.5 * ordered[:, half])


def reduce_curve(
    series: Series, bad: Mask, values: Values | None = None, *, scaled: bool = True, at: Values | None = None
) -> Course | None:
    """Reduce a curve; None if it has no finite point.

    Args:
        series: The points.
        bad: Which of them are no numbers; those that are not finite are added.
        values: What to measure instead of the logged values, for example their logarithms.
        scaled: Whether to divide by the median magnitude; otherwise the median is subtracted.
        at: Positions of the points; their share of the logged points if None.
    """
    raw = series.value if values is None else values
    bad = bad | ~np.isfinite(raw)
    good = np.flatnonzero(~bad)
    if not good.size:
        return None
    if good.size > POINTS:
        found = raw[good]
        thin = np.linspace(0, good.size - 1, POINTS).astype(np.int64)
        chosen = np.sort(np.concatenate((thin, [found.argmax(), found.argmin()])))
        good = good[chosen[np.diff(chosen, prepend=-1) > 0]]
    kept = raw[good]
    scale = (middle(np.abs(kept)) or float(np.abs(kept).max()) or 1.0) if scaled else 1.0
    value = np.clip(kept / scale if scaled else kept - middle(kept), -LIMIT, LIMIT)
    where = good / max(bad.size - 1, 1) if at is None else at[good]
    window, centre = _medians(value)
    smooth = running_median(window, SMOOTH_SHARE)
    rest = value - np.interp(np.arange(value.size), centre, smooth)
    scatter = np.abs(np.diff(value, 2)) / np.sqrt(6.0) if value.size >= 4 else np.zeros(0)
    middle_row = centre.astype(np.int64)
    noise = _noise(scatter, rest, value)
    return Course(
        series, bad, good, where, value, where[middle_row], good[middle_row], window, smooth, rest, scatter,
        scale, noise, _local_noise(scatter, noise, centre),
    )  # fmt: skip


def _medians(value: Values) -> tuple[Values, Values]:
    """Medians of windows of equal length, and the index of each window's centre."""
    width = -(-value.size // WINDOWS)
    if width == 1:
        return value, np.arange(value.size, dtype=np.float64)
    count = value.size // width
    found = row_medians(value[: count * width].reshape(count, width))
    centre: Values = np.arange(count, dtype=np.float64) * width + (width - 1) / 2
    rest = value[count * width :]
    if not rest.size:
        return found, centre
    return np.append(found, middle(rest)), np.append(centre, count * width + (rest.size - 1) / 2)


def running_median(values: Values, share: float) -> Values:
    """Running median over a share of the points, of three at least.

    At the start the curve is mirrored at its first point, so that a steep descent is followed; at the end the
    window shrinks, so that the last point alone does not make the level.
    """
    if values.size < 5:
        return values
    half = min(max(round(share * values.size / 2), 1), (values.size - 1) // 2)
    before = 2.0 * values[0] - values[half:0:-1]
    after = np.where(np.arange(half) % 2 == 0, LIMIT, -LIMIT)  # as many above as below leave a median alone
    padded = np.concatenate((before, values, after))
    return row_medians(moving_windows(padded, 2 * half + 1))


def moving_windows(values: Values, width: int) -> Values:
    """All windows of a width, one per row; shape (n_values - width + 1, width)."""
    return np.asarray(values[np.arange(values.size - width + 1)[:, None] + np.arange(width)])


def _noise(scatter: Values, rest: Values, value: Values) -> float:
    floor = FLOOR * middle(np.abs(value)) if value.size else FLOOR
    if not scatter.size:
        return max(floor, FLOOR)
    return max(_SIGMA * middle(scatter), _SIGMA * middle(np.abs(rest)), floor, 1e-12)


def _local_noise(scatter: Values, noise: float, centre: Values) -> Values:
    """Scatter of each fifth of the points, joined by straight lines, never rising, nowhere below the whole curve's.

    A young run scatters more than a settled one, and a rise there must be measured against the scatter there. A
    scatter that grows later is trouble itself and no excuse.
    """
    width = scatter.size // 5
    if width < 6:
        return np.full(centre.size, noise)
    fifths = _SIGMA * row_medians(scatter[: 5 * width].reshape(5, width))
    falling = np.minimum.accumulate(fifths)
    return np.asarray(np.maximum(np.interp(centre, (np.arange(5) + 0.5) * width, falling), noise))


def noise_between(course: Course, begin: float, end: float) -> float:
    """Scatter of a part of the curve, given as shares of its points; NaN of fewer than six points."""
    first, last = round(begin * course.value.size), round(end * course.value.size)
    if last - first < 6 or course.scatter.size < last - 2:
        return float("nan")
    rest = np.abs(course.rest[first:last])
    level = middle(np.abs(course.value[first:last]))
    scatter = middle(course.scatter[first : last - 2])
    return max(_SIGMA * scatter, _SIGMA * middle(rest), FLOOR * level, 1e-12)


def relative(first: float, second: float, guard: float) -> float:
    """Difference over the sum of the magnitudes, in -1..1 and also of negative levels; the guard is a scatter."""
    whole = abs(first) + abs(second) + guard
    return (first - second) / whole if whole > 0 else 0.0


def rank_correlation(first: Values, second: Values) -> float:
    """Spearman's correlation; NaN of fewer than five pairs, 0 if one of them is constant.

    >>> round(rank_correlation(np.arange(9.0), np.arange(9.0) ** 3), 6)
    1.0
    """
    if first.size < 5:
        return float("nan")
    if first.min() == first.max() or second.min() == second.max():
        return 0.0
    ranks = [_ranks(values) for values in (first, second)]
    left, right = (part - part.mean() for part in ranks)
    return float((left * right).sum() / np.sqrt((left * left).sum() * (right * right).sum()))


def _ranks(values: Values) -> Values:
    """Ranks, equal values sharing the mean of theirs."""
    order = np.argsort(values)
    ordered = values[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    size = np.diff(np.append(first, values.size))
    ranks = np.empty(values.size)
    ranks[order] = np.repeat(first + (size - 1) / 2.0, size)
    return ranks


def waves(values: Values, skip: float = 0.2) -> tuple[float, float, float]:
    """Periodicity: the highest autocorrelation, its lag as a share of the run, and the autocorrelation at a lag of 2 %.

    The trend (a running mean over a quarter) and the first part are left out, and outliers are cut, so that one
    spike is no wave. NaN of fewer than 24 windows.
    """
    unknown = float("nan")
    if values.size < 24:
        return unknown, unknown, unknown
    part = values[round(skip * values.size) :]
    half = max(part.size // 8, 2)
    padded = np.concatenate((2 * part[0] - part[half:0:-1], part, 2 * part[-1] - part[-2 : -half - 2 : -1]))
    sums = np.cumsum(np.concatenate(([0.0], padded)))
    width = 2 * half + 1
    rest = part - (sums[width:] - sums[:-width]) / width
    spread = _SIGMA * middle(np.abs(rest))
    if spread <= FLOOR * middle(np.abs(part)):
        return 0.0, 0.0, 0.0
    rest = np.clip(rest, -4 * spread, 4 * spread)
    rest = rest - rest.mean()
    chain = np.correlate(rest, rest, "full")[rest.size - 1 :] / float((rest * rest).sum())
    near = float(chain[max(round(0.02 * values.size), 1)])
    negative = np.flatnonzero(chain[: part.size // 2] < 0)
    if not negative.size:
        return 0.0, 0.0, near
    low = int(negative[0])
    lag = low + int(chain[low : part.size // 2 + 1].argmax())
    return max(float(chain[lag]), 0.0), lag / values.size, near


def positions(series: Series, reference: Series | None) -> Values:
    """Where points of one curve stand among those of another, as shares; by their own count if steps do not tell."""
    own = np.arange(len(series)) / max(len(series) - 1, 1)
    if reference is None or not (has_steps(series) and has_steps(reference)) or len(reference) < 2:
        return own
    steps, known = reference.step, series.step
    if (known == NULL_INT).any() or (steps == NULL_INT).any() or (np.diff(steps) < 0).any():
        return own
    span = float(steps[-1] - steps[0])
    inside = (known >= steps[0] - 0.1 * span) & (known <= steps[-1] + 0.1 * span)
    # Steps of another unit (epochs, samples) lie elsewhere or crowd at one end.
    if span <= 0 or not inside.all() or (len(series) > 2 and float(np.ptp(known)) < 0.2 * span):
        return own
    return np.interp(known.astype(np.float64), steps.astype(np.float64), np.linspace(0, 1, len(reference)))
