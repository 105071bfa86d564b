"""Medians, quantiles and distinct values: those of NumPy import ``numpy.ma`` at their first use, which costs a tenth of NumPy itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from analyzer.model.arrays import Values

if TYPE_CHECKING:
    import numpy.typing as npt


def median_of(values: npt.ArrayLike) -> np.float64:
    """The median of all values, NaN if one of them is or there is none; equal to ``np.median``.

    >>> float(median_of([3, 1, 2, 10]))
    2.5
    """
    flat: npt.NDArray[Any] = np.asarray(values).reshape(1, -1)
    return np.float64(row_medians(flat)[0] if flat.size else np.nan)


def row_medians(rows: npt.NDArray[Any]) -> Values:
    """float64, shape (n_rows,): the median of each row of a table that has columns; equal to ``np.median(rows, axis=1)``."""
    count = rows.shape[1]
    first, last = (count - 1) // 2, count // 2
    ordered = np.partition(rows, (first, last, count - 1), axis=1)  # NaN goes last
    middle = ordered[:, first : last + 1].mean(axis=1)
    return np.where(np.isnan(ordered[:, -1]), np.nan, middle)


def quantile_of(values: npt.ArrayLike, share: float) -> np.float64:
    """The value below which a share of all lies, between the two that are next to it; NaN if one is or there is none; ``np.quantile``.

    >>> float(quantile_of([4, 1, 3, 2], 0.5))
    2.5
    """
    flat: npt.NDArray[Any] = np.asarray(values).ravel()
    if not flat.size:
        return np.float64(np.nan)
    place = share * (flat.size - 1)
    low = int(place)
    high = min(low + 1, flat.size - 1)
    ordered = np.partition(flat, (low, high, flat.size - 1))
    if np.isnan(ordered[-1]):
        return np.float64(np.nan)
    return np.float64(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def counted_of(values: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """The values in order, each once, and how often each occurs, shapes (n_distinct,); ``np.unique`` of values without NaN.

    >>> [found.tolist() for found in counted_of([2, 1, 2])]
    [[1, 2], [1, 2]]
    """
    ordered = np.sort(np.asarray(values), axis=None)
    starts = (
        np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        if ordered.size
        else np.zeros(0, np.intp)
    )
    return ordered[starts], np.diff(starts, append=ordered.size)


def distinct_of(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Shape (n_distinct,): the values in order, each once; equal to ``np.unique``.

    >>> distinct_of(np.array([2.0, 1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    ordered = np.sort(np.asarray(values), axis=None)
    is_new = np.ones(len(ordered), bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    if ordered.dtype.kind == "f":  # no NaN equals another one, and they stand last
        is_new[int(np.searchsorted(ordered, np.nan)) + 1 :] = False
    return ordered[is_new]
