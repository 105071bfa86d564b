"""The size of the gradient: its level, its growth before trouble, its vanishing."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, number, refs_at
from analyzer.detect.curves.numerics.bad_points import grad_points, loss_points, values_beside
from analyzer.detect.curves.numerics.onset import find_onset, finite_before
from analyzer.detect.robust import PARTS, part_medians, uncertainty
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.tables import Series

FAR_AWAY = 100.0
"""A hundredfold growth to the end is none of a loss that becomes small, whatever clipping still saves of the training."""

VANISHED = 0.01
"""A hundredth of the first level: learning-rate schedules and convergence rarely take a norm below a tenth."""

ONSET_POINTS = 3
"""Last norms before an onset whose median is compared; one alone would measure batch noise."""


AWAY = 10.0
"""Tenfold: convergence, schedules and batch noise move a norm by less; see the note on ``VANISHED``."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.grad_norm.*``."""
    points = view.once(grad_points)
    if points is None:
        if view.run.metrics.has("loss"):
            out.put("seen", value=False)
        return
    out.put("seen", value=True, refs=refs_at(points.series, [0]))
    out.put("points", len(points.series), end_of(points.series))
    good = points.good()
    if len(good):
        _levels(out, good)
        _against_clip(out, view, good)
        _runs_away(out, view, good)
    zero = points.series.value == 0.0
    shown = refs_at(points.series, np.flatnonzero(zero)) or refs_at(points.series, [0])
    out.put("zero_share", float(zero.mean()), shown)
    beside = values_beside(view, points.series, "loss")
    if beside is not None and zero.any():
        with_loss = np.flatnonzero(zero & beside[0] & np.isfinite(beside[1]) & (beside[1] > 0.0))
        # two: one such row may be the rounding of a printed norm; of the only one, which may be shown twice, nobody can tell
        lone = distinct_of(points.series.line).size == 1 and bool(zero.all())
        told = None if lone else with_loss.size >= 2
        out.put("zero_with_loss", told, refs_at(points.series, with_loss) or shown)
    if len(good):
        _before_onset(out, view, good)


def _levels(out: FactWriter, good: Series) -> None:
    values = good.value
    median, largest = float(median_of(values)), int(values.argmax())
    out.put("median", median, end_of(good))
    out.put("max", float(values[largest]), refs_at(good, [largest]))
    if median > 0 and values.size >= PARTS:
        out.put("spike_ratio", float(values[largest]) / median, refs_at(good, [largest]))
    if values.size >= 2 * PARTS:
        medians = part_medians(values)
        vanishing = 0.0 < float(medians[-1]) <= VANISHED * float(medians[0])
        out.put("vanishing", vanishing, ends_of(good))


def _against_clip(out: FactWriter, view: RunView, good: Series) -> None:
    """The norm is logged before clipping, so its size against the threshold shows how often clipping acts."""
    entry = view.config("train.max_grad_norm")
    threshold = None if entry is None else number(entry.value)
    if entry is None or threshold is None or threshold <= 0 or len(good) < PARTS:
        return
    refs = [*end_of(good), entry.ref]
    out.put("clipped_share", float((good.value > threshold).mean()), refs)
    out.put("over_clip", float(median_of(good.value)) / threshold, refs)


def _runs_away(out: FactWriter, view: RunView, good: Series) -> None:
    points = view.once(loss_points)
    losses = None if points is None else points.curve().value
    if len(good) < 4 * PARTS or losses is None or losses.size < PARTS:
        return
    count = max(len(good) // 20, ONSET_POINTS)
    base, end = float(median_of(good.value[:-count])), float(median_of(good.value[-count:]))
    medians = part_medians(losses)
    falling = float(medians[-1]) < float(medians[0]) - uncertainty(losses)
    if base > 0:
        away = end >= FAR_AWAY * base or (end >= AWAY * base and not falling)
        out.put("runs_away", away, end_of(good))


def _before_onset(out: FactWriter, view: RunView, good: Series) -> None:
    """Growth of the last finite norms over those before them: divergence grows first, a standing fault does not."""
    onset = view.once(find_onset)
    count = None if onset is None else finite_before(good, onset)
    if onset is None or count is None or count < 2:
        return
    if (
        count < 2 * ONSET_POINTS
    ):  # so few points show a growth only if the last of them is far above all others
        highest = float(good.value[: count - 1].max())
        if 0 < highest * AWAY <= float(good.value[count - 1]):
            shown = [*refs_at(good, [count - 1]), onset.ref]
            out.put("growth_before_onset", float(good.value[count - 1]) / highest, shown)
        return
    before, last = good.value[: count - ONSET_POINTS], good.value[count - ONSET_POINTS : count]
    base = float(median_of(before))
    if base > 0:
        out.put(
            "growth_before_onset", float(median_of(last)) / base, [*refs_at(good, [count - 1]), onset.ref]
        )
