"""Where a further part of the loss begins: from there on another loss is minimised, and its level is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.detect.curves.numerics.bad_points import values_beside
from analyzer.model.name_words import words_of

if TYPE_CHECKING:
    from analyzer.detect.base import RunView
    from analyzer.model.tables import Series

ROWS = 10
"""Rows in which a part is exactly 0 before it begins; fewer may be rows that print as 0.000."""

MOST = 0.5
"""More than half of the rows behind its beginning have the part: one that flickers is no stage of the training."""


def begins(view: RunView, curve: Series) -> tuple[int, ...]:
    """Rows of a loss curve at which a part of the loss that was exactly 0 until then begins."""
    found: set[int] = set()
    for name in view.run.metrics.names:
        beside = values_beside(view, curve, name) if "loss" in words_of(name) and name != "loss" else None
        if beside is None:
            continue
        known = beside[0] & np.isfinite(beside[1])
        there = np.flatnonzero(known & (beside[1] != 0))
        if not there.size or np.count_nonzero(known[: there[0]]) < ROWS:
            continue
        if there.size > MOST * np.count_nonzero(known[there[0] :]):
            found.add(int(there[0]))
    return tuple(sorted(found))
