"""Statistics that a single spike or a noisy curve cannot mislead."""

from __future__ import annotations

import numpy as np

from analyzer.model.arrays import Mask, Values
from analyzer.model.ranked import median_of, quantile_of

PARTS = 5
"""A curve is compared fifth by fifth: enough points for a median in each, fine enough to see its ends."""

_MAD_TO_SIGMA = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
_MEDIAN_ERROR = 1.2533  # standard error of a median over that of a mean, sqrt(pi / 2)
SIGMAS = 3.0
"""Standard errors by which two medians must differ: one false alarm in 370 on pure noise."""


def noise(values: Values) -> float:
    """Standard deviation of the point-to-point scatter, from the median absolute first difference.

    A slow trend drops out of the differences; the factor sqrt(2) undoes their doubled variance.
    """
    if values.size < 3:
        return 0.0
    steps = np.abs(np.diff(values))
    # Differences of many identical values have median 0 although others scatter; fall back to their mean.
    spread = float(median_of(steps)) or float(np.mean(steps)) / 2.0
    return _MAD_TO_SIGMA * spread / float(np.sqrt(2.0))


def extreme(values: Values) -> float:
    """How far the lowest of a hundred noisy values and more lies below their level: sqrt(2 ln n) of their scatter."""
    return noise(values) * float(np.sqrt(2.0 * np.log(values.size))) if values.size >= 100 else 0.0


def part_medians(values: Values) -> Values:
    """Median of each fifth of a curve of at least five points; float64, shape (5,)."""
    return np.array([float(median_of(part)) for part in np.array_split(values, PARTS)])


def uncertainty(values: Values) -> float:
    """How far medians of two fifths may differ by noise alone."""
    per_part = max(values.size // PARTS, 1)
    return SIGMAS * noise(values) * _MEDIAN_ERROR * float(np.sqrt(2.0 / per_part))


def slower_at_best(times: Values) -> bool:
    """Whether even the fastest tenth of the last fifth takes longer than the first fifth usually did.

    A busy host slows most steps and leaves some as fast as ever; a leak, a throttled clock or another node slows all.
    """
    part = max(times.size // PARTS, 1)
    return bool(quantile_of(times[-part:], 0.1) > median_of(times[:part]))


def longest_run(mask: Mask) -> int:
    """Length of the longest stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max()) if edges.size else 0


def trailing_run(mask: Mask) -> int:
    """Number of True values at the end."""
    good = np.flatnonzero(~mask)
    return int(mask.size - 1 - good[-1]) if good.size else int(mask.size)


def digits_of(value: float) -> int:
    """Digits of a number as it was printed, zeros at either end left out."""
    return len(f"{value:.8g}".partition("e")[0].replace(".", "").strip("-0"))
