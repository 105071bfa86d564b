"""One curve in a few numbers: where it began, its best, where it ends, and what its scatter alone may move.

Everything here works from two points on; how many points a claim needs is for the claim to say.
"""

from __future__ import annotations

import numpy as np

from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of, row_medians
from analyzer.record import NamedTuple

SCATTER_POINTS = 5
"""Second differences of fewer points measure the bend of a descent, not its scatter."""

SIGMAS = 3.0
"""Standard errors by which two levels must differ: one false alarm in 370 on pure noise."""

UNKNOWN_SCATTER = 0.01
"""Of so few points that their scatter is unknown a hundredth of the level counts as noise."""

SORTED_POINTS, SORTED = 8, 3.5
"""From eight points on the order of all pairs tells a trend; 3.5 deviations are one chance in two thousand."""

MOST_PAIRS = 300
"""Points that are compared pair by pair; a longer curve is read in block medians."""

STEADY_POINTS, ROUND_POINTS = 5, 12
"""Five points of which each is below the one before: one order of 120; twelve show three rounds over the same batches."""

LONG, FIRST_ROWS, STAND_OUT = 500, 3, 6.0
"""Of a long log the whole fall may lie within its first rows: they are the start if they stand out by six standard errors."""

RISING_ROWS, ROSE_BY, BACK = 3, 1.1, 0.95
"""Three rises in a row at the very start, by a tenth together, are no noise; an end within a twentieth of the start gained nothing."""

CLIMB_ROWS, CLIMB, CLIMB_SHARE = 3, 3.0, 1 / 3
"""Three rows that only rise, to three times of the lowest one, are a way, unless a rise before was a third as large: batches differ so."""

LARGEST = 1e150
"""Beyond, squares overflow: such values are huge, whatever else they are."""


class Trend(NamedTuple):
    """A curve for which less is better."""

    values: Values  # the finite points, in order
    smooth: Values  # running medians, which one odd point does not move; as many as there are points
    first: float  # level of the first points
    last: float  # level of the last points
    best: float  # lowest running median
    best_row: int  # its row
    peak: float  # highest running median
    scatter: float  # standard deviation of one point around the course; 0 if too few points tell it
    margin: float  # what the scatter alone may put between two of these levels
    # deviations by which the order of all pairs differs from chance: negative if the curve falls
    order: float

    @property
    def fall(self) -> float:
        """What was gained from the first points to the last."""
        return self.first - self.last

    @property
    def gain(self) -> float:
        """What was gained at best."""
        return self.first - self.best

    @property
    def size(self) -> float:
        """The larger of the first level and of the range: what a change is measured against."""
        return max(abs(self.first), self.peak - self.best, 1e-12)

    def of_few_batches(self) -> bool:
        """Whether a few rows differ by no more than the losses of single batches may: one is ten times another, or the last is far below the highest."""
        highest, first, last = float(self.values.max()), float(self.values[0]), float(self.values[-1])
        return self.values.size < 8 and highest >= 0 and (highest < 10.0 * first or last < 0.5 * highest)

    def falls(self) -> bool:
        """Whether the curve ends lower than it began, beyond its scatter."""
        return self.fall > self.margin or (self.fall > 0 and self.order <= -SORTED) or self.steady

    @property
    def steady(self) -> bool:
        """Whether every point is below the one before, or below that of the same batch in the round before."""
        return steadily_falls(self.values)

    @property
    def climbs(self) -> bool:
        """Whether all rows after the lowest one only rise, far above it: second differences count such a way as scatter.

        >>> falls = [15.5, 13.0, 3.8, 2.4, 1.4]
        >>> [trend(np.array([*falls, *end])).climbs for end in ([5.8, 7.1, 10.0], [5.8, 7.1, 1.5])]
        [True, False]
        """
        low = int(self.values.argmin())
        rises, before = np.diff(self.values[low:]), np.diff(self.values[: low + 1])
        if rises.size < CLIMB_ROWS or rises.min() <= 0 or self.values[-1] < CLIMB * self.values[low]:
            return False
        return float(before.max(initial=0.0)) <= CLIMB_SHARE * float(self.values[-1] - self.values[low])

    @property
    def only_back(self) -> bool:
        """Whether all that fell had risen within the first rows, so that the end is no better than the very first value."""
        start = self.values[: RISING_ROWS + 1]
        if start.size <= RISING_ROWS or start[0] <= 0 or not (np.diff(start) > 0).all():
            return False
        rise = float(start[-1] - start[0])
        return rise >= max((ROSE_BY - 1) * start[0], self.margin) and self.last >= BACK * float(start[0])

    def rises(self) -> bool:
        """Whether the curve ends higher than it began, beyond its scatter."""
        return -self.fall > self.margin or (self.fall < 0 and self.order >= SORTED)


def steadily_falls(values: Values) -> bool:
    """Whether every point is below the one before, or as many rows before as a round over the data has.

    >>> steadily_falls(np.array([9.0, 8.0, 7.0, 6.5, 6.4])), steadily_falls(np.array([9.0, 8.0, 7.0, 6.5, 6.5]))
    (True, False)
    >>> steadily_falls(np.array([1.0, 90.0, 5.0, 0.9, 80.0, 4.0, 0.8, 70.0, 3.0, 0.7, 60.0, 2.0]))
    True
    """
    rounds = range(2, min(values.size // 3, MOST_PAIRS) + 1) if values.size >= ROUND_POINTS else ()
    lags = (lag for lag in (1, *rounds) if values.size >= STEADY_POINTS and values[-1] < values[-1 - lag])
    return any(bool((values[lag:] < values[:-lag]).all()) for lag in lags)


MEDIAN_CELLS = 1 << 20
"""Numbers of all windows that are looked at together: 8 MB."""


def running_medians(values: Values, width: int) -> Values:
    """Medians of windows of an odd width, as many as values; the ends are those of the last whole window."""
    if width <= 1 or values.size < width:
        return values
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    rows = max(1, MEDIAN_CELLS // width)  # all at once would take the square of a long curve
    inner = np.concatenate([row_medians(windows[at : at + rows]) for at in range(0, len(windows), rows)])
    side = width // 2
    return np.concatenate((np.full(side, inner[0]), inner, np.full(side, inner[-1])))


def scatter(values: Values) -> float:
    """Standard deviation of a point around a smooth course, from second differences.

    >>> scatter(np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0]))
    0.0
    """
    if values.size < SCATTER_POINTS:
        return 0.0
    bends = np.abs(np.diff(values, 2))
    middle = float(median_of(bends)) or float(np.mean(bends)) / 2.0
    return 1.4826 * middle / float(np.sqrt(6.0))  # variances of a second difference: 1 + 4 + 1


def trend(values: Values) -> Trend | None:
    """The numbers of a curve; None below two points.

    >>> found = trend(np.array([2.3, 1.1, 0.7, 0.5, 0.4]))
    >>> found.falls(), found.rises(), found.best
    (True, False, 0.4)
    """
    values = values[np.isfinite(values)]
    if values.size < 2:
        return None
    values = np.clip(values, -LARGEST, LARGEST)
    smooth = running_medians(values, _width(values.size))
    ends = 1 if values.size < 8 else min(max(values.size // 10, 2), 50)
    starts = 1 if values.size < 20 else min(max(values.size // 50, 3), 20)
    level = float(median_of(values[-ends:]))
    spread = scatter(values)
    margin = SIGMAS * spread * float(np.sqrt(1.0 / starts + 1.0 / ends))
    if values.size < SCATTER_POINTS:
        margin = UNKNOWN_SCATTER * abs(float(values[0]))
    return Trend(
        values=values,
        smooth=smooth,
        first=_first(values, starts, spread),
        last=level,
        best=min(float(smooth.min()), level),
        best_row=int(smooth.argmin()),
        peak=float(smooth.max()),
        scatter=spread,
        margin=margin,
        order=_order(values),
    )


def _first(values: Values, starts: int, spread: float) -> float:
    """Level of the first points; of a long curve that of the first three where all that fell fell right after them."""
    level = float(median_of(values[:starts]))
    if values.size < LONG:
        return level
    early = values[:FIRST_ROWS]
    falls = bool((np.diff(early) <= 0).all())
    stands_out = float(early.min()) - level > STAND_OUT * spread * float(
        np.sqrt(1.0 / FIRST_ROWS + 1.0 / starts)
    )
    return float(median_of(early)) if falls and stands_out else level


def _width(points: int) -> int:
    """Points of a running median: one of so few that each counts, then three, five, and a fortieth."""
    if points < 8:
        return 1
    if points < 30:
        return 3
    return max(5, points // 40 | 1)


def _order(values: Values) -> float:
    """Deviations of the Mann-Kendall statistic from that of points without a trend; 0 for few points."""
    if values.size < SORTED_POINTS:
        return 0.0
    if values.size > MOST_PAIRS:
        values = np.array([median_of(part) for part in np.array_split(values, MOST_PAIRS)])
    count = values.size
    upper = np.triu(np.sign(values[None, :] - values[:, None]), 1)
    variance = count * (count - 1) * (2 * count + 5) / 18.0
    return float(upper.sum() / np.sqrt(variance))


ONCE, STOOD, LEFT = 0.05, 0.02, 0.5
"""A twentieth lost from the first row to the second, all further rows within a fiftieth, and half of the first value left."""


def fell_once(values: Values) -> bool:
    """Whether all that a loss lost it lost from its first row to its second, and most of it is left.

    >>> [fell_once(np.array([first, 9.4, 9.38, 9.41, 9.4])) for first in (12.0, 19.5, 9.5)]
    [True, False, False]
    >>> fell_once(np.array([12.0, 9.4, 8.9, 8.6, 8.4]))
    False
    """
    if values.size < SCATTER_POINTS or values[0] <= 0:
        return False
    first, rest = float(values[0]), values[1:]
    stood = float(np.ptp(rest)) <= STOOD * float(rest[0])
    return stood and first - float(rest[0]) >= ONCE * first and float(rest[-1]) >= LEFT * first


TENFOLD = 10.0
"""From one row to the next: no training that goes somewhere makes its loss ten times as large and then ten times as small."""


def rises_and_falls(values: Values) -> bool:
    """Whether a loss rose tenfold from one row to the next and fell as far later on: such a rise is its scatter."""
    if float(values.min()) <= 0:
        return False
    ratios = values[1:] / values[:-1]
    rises = np.flatnonzero(ratios >= TENFOLD)
    return bool(rises.size and (ratios[rises[0] :] <= 1.0 / TENFOLD).any())
