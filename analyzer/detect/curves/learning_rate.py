"""The learning rate as it was applied, and the counter of skipped steps beside it."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, number, refs_at
from analyzer.detect.curve import align, has_steps, take
from analyzer.detect.curves.numerics.bad_points import (
    FROZEN_ROWS,
    grad_points,
    is_bad_norm,
    loss_points,
    schedule_moves,
    values_beside,
)
from analyzer.detect.curves.numerics.onset import find_onset, finite_before
from analyzer.detect.curves.trend import running_medians
from analyzer.detect.robust import PARTS
from analyzer.model.arrays import Mask
from analyzer.model.ranked import median_of
from analyzer.model.tables import Series

FIRST_STEPS = 10
"""A peak that is logged within the first ten steps was reached at once; later, a short warm-up may lie before it."""

FROZEN_SHARE = 0.9
"""Share of equal neighbours that counts as frozen: now and then a step goes through."""

DECIMALS = 3
"""Rates of large models have three zeros behind the point and more, so a log that prints three digits shows none of them."""

SMOOTHED_FROM = 20
"""Points from which a best is one of running medians, a tenth of all wide: single batches scatter."""

AT_PEAK = 0.999
"""Rounding in logs costs up to the fourth digit."""


WARM_SHARE, ROWS_SINCE = 0.85, 5
"""A best loss at no more than .85 of the peak rate was reached in the warm-up; five rows since tell more than a batch."""

LOST_LEVEL, LOST_LEAST = 1.1, 1.01
"""The rows since stand a tenth above that best in the middle, and each by a hundredth: no schedule asks for that."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.learning_rate.*`` and ``signal.skipped_steps.*``."""
    _skipped(out.below("skipped_steps."), view)
    rates = view.curve("learning_rate")
    rates = None if rates is None else take(rates, np.isfinite(rates.value) & (rates.value >= 0))
    if rates is None or not len(rates):
        return
    out = out.below("learning_rate.")
    values, top = rates.value, int(rates.value.argmax())
    zero = values == 0.0
    out.put("seen", value=True, refs=refs_at(rates, [0]))
    out.put("peak", float(values[top]), refs_at(rates, [top]))
    if not (zero.all() and _all_rounded(view)):
        out.put("zero_share", float(zero.mean()), refs_at(rates, np.flatnonzero(zero)) or refs_at(rates, [0]))
        out.put("always_zero", bool(zero.all()), end_of(rates))
    frozen = _frozen(view, rates)
    if frozen is not None:
        out.put("frozen", frozen, end_of(rates))
    if values[top] > 0:
        _against_peak(out, view, rates)
        _best_in_warm_up(out, view, rates)


def _all_rounded(view: RunView) -> bool:
    """Whether no number of the log has a fourth digit behind its point, so that a zero may be any small number."""
    names = [name for name in view.run.metrics.names if name != "learning_rate"]
    columns = [
        series.value[np.isfinite(series.value)] for name in names if (series := view.curve(name)) is not None
    ]
    fractions = [values for values in columns if values.size and bool((values % 1.0 != 0).any())]
    scale = 10.0**DECIMALS
    return bool(fractions) and all(
        bool(
            (
                np.abs(values * scale - np.round(values * scale))
                < 1e-6 * np.maximum(np.abs(values * scale), 1.0)
            ).all()
        )
        for values in fractions
    )


def _frozen(view: RunView, rates: Series) -> bool | None:
    """Whether the rate stands still while steps are bad; None if nothing tells.

    The schedule moves after a step that was taken, so a skipped step shows in the row that follows it.
    """
    bad = _bad_rows(view, rates)
    if bad is None:
        return None
    between = bad[:-1] & bad[1:]
    equal = rates.value[:-1] == rates.value[1:]
    if int(between.sum()) < FROZEN_ROWS - 1:
        return None
    share = float(equal[between].mean())
    if share < FROZEN_SHARE:
        return False if share <= 1.0 - FROZEN_SHARE else None
    still = float(rates.value[:-1][between][0])
    moved_elsewhere = bool((~equal[~between]).any())
    return True if moved_elsewhere or schedule_moves(view, still) else None


def _bad_rows(view: RunView, rates: Series) -> Mask | None:
    """Rows whose gradient norm is not finite; without a norm, those from the lasting onset on."""
    beside = values_beside(view, rates, "grad_norm")
    points = view.once(grad_points)
    if beside is not None and points is not None:
        return is_bad_norm(view, np.where(beside[0], beside[1], 0.0)) if points.bad.any() else None
    onset = view.once(find_onset)
    count = finite_before(rates, onset) if onset is not None and onset.lasting else None
    return None if count is None else np.arange(len(rates)) >= count


def _against_peak(out: FactWriter, view: RunView, rates: Series) -> None:
    values = rates.value
    asked = number(view.config_value("train.learning_rate")) or 0.0
    peak = max(float(values.max()), asked)  # a run that dies in its warm-up never logs the peak
    first_step = rates.step_at(0)
    if values[0] < AT_PEAK * peak:
        out.put("full_at_once", value=False, refs=refs_at(rates, [0]))
    elif first_step is not None and first_step <= FIRST_STEPS:
        out.put("full_at_once", value=True, refs=refs_at(rates, [0]))
    onset = view.once(find_onset)
    count = None if onset is None else finite_before(rates, onset)
    if onset is None or count is None:
        return
    row = min(count, len(rates) - 1)
    refs = [*refs_at(rates, [row]), onset.ref]
    out.put("at_onset_share", float(values[row]) / peak, refs)
    if row > 0:
        out.put("rising_at_onset", bool(values[row] > values[row - 1]), refs)


def _best_in_warm_up(out: FactWriter, view: RunView, rates: Series) -> None:
    """Whether the loss was at its best while the rate still rose and has stood above it since, at a rate no lower than there."""
    points = view.once(loss_points)
    losses = None if points is None else points.curve()
    if losses is None or len(losses) < 2 * ROWS_SINCE - 1:
        return
    match = align(losses, rates)
    if not (match >= 0).all() or float(losses.value.min()) <= 0:
        return
    applied = rates.value[match]
    width = 1 if len(losses) < SMOOTHED_FROM else len(losses) // SMOOTHED_FROM * 2 + 1
    smooth = running_medians(losses.value, width)
    best = int(smooth.argmin())
    since, lowest = smooth[best + 1 :], float(smooth[best])
    rises = (
        best > 0
        and applied[best] <= WARM_SHARE * applied.max()
        and bool((np.diff(applied[: best + 1]) >= 0).all())
    )
    lasts = since.size >= max(ROWS_SINCE, best) and bool((applied[best + 1 :] >= applied[best]).all())
    lost = (
        lasts
        and float(median_of(since)) >= LOST_LEVEL * lowest
        and float(median_of(since[-3:])) >= LOST_LEVEL * lowest
    )
    out.put(
        "best_in_warm_up",
        rises and lost and float(since.min()) >= LOST_LEAST * lowest,
        refs_at(losses, [best, len(losses) - 1]),
    )


def _skipped(out: FactWriter, view: RunView) -> None:
    """Slope of the counter over the last fifth of the run.

    DeepSpeed's counter is cumulative; Megatron's "number of skipped iterations" begins anew at each print.
    """
    counter = view.curve("skipped_steps")
    if counter is None or not has_steps(counter) or len(counter) < 2:
        return
    count = max(len(counter) // PARTS, 2)
    tail = take(counter, np.arange(len(counter) - count, len(counter)))
    steps = int(tail.step[-1] - tail.step[0])
    if steps <= 0 or not np.isfinite(tail.value).all():
        return
    per_print = "number of skipped" in counter.logged_as.lower()
    skipped = float(tail.value[1:].sum()) if per_print else float(tail.value[-1] - tail.value[0])
    refs = ends_of(tail)
    out.put("share", min(max(skipped / steps, 0.0), 1.0), refs)
    out.put("total", round(float(np.nansum(counter.value) if per_print else counter.value[-1])), refs)
