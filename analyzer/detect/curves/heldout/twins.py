"""Held-out values that are those of training to the last printed digit: of the same data, or one number printed twice.

All rows of a log count, also those of a training before the one that is judged: what was never measured on other data chose
the weights that the later one began with.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, refs_at
from analyzer.detect.curve import align, all_series
from analyzer.model.arrays import Mask, Rows
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.tables import Series

ROWS = 10
"""Rows in turn; two losses of four digits agree by accident in one row of hundreds, and never in two."""

DIGITS = 4
"""Digits of most of the values: of fewer, two losses that are near each other are often printed alike."""

MOVES = 0.5
"""Half of the values differ from one another: losses that stand, or answers that are all right, agree without being one."""

_PAIRS = (("loss", "eval_loss"), ("accuracy", "eval_accuracy"))


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.split.repeats_training`` and how many rows do."""
    for name, held_out_name in _PAIRS:
        for train in all_series(view.run, name)[:1]:
            for held_out in all_series(view.run, held_out_name)[:1]:
                _compare(out, train, held_out)


def _compare(out: FactWriter, train: Series, held_out: Series) -> None:
    match = _beside(held_out, train)
    rows = np.flatnonzero(match >= 0)
    if rows.size < ROWS:
        return
    same = held_out.value[rows] == train.value[match[rows]]
    begin, end = _longest(same)
    values = held_out.value[rows[begin:end]]
    agrees = end - begin >= ROWS and distinct_of(values).size >= MOVES * values.size
    agrees = agrees and float(median_of(np.array([_digits(float(value)) for value in values]))) >= DIGITS
    if agrees or "signal.split.repeats_training" not in out.facts:
        refs = refs_at(held_out, [int(rows[begin]), int(rows[max(end, begin + 1) - 1])])
        out.put("repeats_training", agrees, refs)
        if agrees:
            out.put("repeated_rows", end - begin, refs)


def _beside(held_out: Series, train: Series) -> Rows:
    """For each held-out value the training value of its own line; of logs without such lines, that of its step."""
    _, own, other = np.intersect1d(held_out.line, train.line, return_indices=True)
    one_file = distinct_of(np.concatenate([held_out.source, train.source])).size == 1
    if own.size < ROWS or not one_file:
        return align(held_out, train)
    match = np.full(len(held_out), -1, np.int64)
    match[own] = other
    return match


def _longest(same: Mask) -> tuple[int, int]:
    """First and one past the last row of the longest stretch in which all agree."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], same.astype(np.int8), [0]))))
    begins, ends = edges[::2], edges[1::2]
    if not begins.size:
        return 0, 0
    longest = int((ends - begins).argmax())
    return int(begins[longest]), int(ends[longest])


def _digits(value: float) -> int:
    return len(f"{abs(value):.12g}".partition("e")[0].replace(".", "").strip("0"))
