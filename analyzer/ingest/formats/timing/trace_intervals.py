"""Unions of time intervals, on arrays."""

from __future__ import annotations

import numpy as np

from analyzer.model.arrays import Integers


def union(starts: Integers, ends: Integers) -> tuple[Integers, Integers]:
    """Disjoint intervals, sorted, that cover the same time.

    Args:
        starts: int64, shape (n,).
        ends: int64, shape (n,), each not before its start.

    Returns:
        Starts and ends of the merged intervals, int64, shape (m,), m <= n.

    >>> [part.tolist() for part in union(np.array([5, 0, 1]), np.array([7, 2, 3]))]
    [[0, 5], [3, 7]]
    """
    if not starts.size:
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    opens = np.concatenate([[True], starts[1:] > reach[:-1]])
    return starts[opens], reach[np.concatenate([np.flatnonzero(opens)[1:] - 1, [starts.size - 1]])]


def covered(starts: Integers, ends: Integers) -> int:
    """Time that the intervals cover.

    >>> covered(np.array([5, 0, 1]), np.array([7, 2, 3]))
    5
    """
    starts, ends = union(starts, ends)
    return int((ends - starts).sum())
