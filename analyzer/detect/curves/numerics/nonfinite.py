"""NaN and infinity in the training loss and in the gradient norm: where, how often, whether it matters."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, event_refs, number, refs_at, truth
from analyzer.detect.curve import spacing
from analyzer.detect.curves.numerics.bad_points import (
    GOOD_ROWS,
    SUDDEN,
    BadPoints,
    anomaly_overcome,
    grad_points,
    is_bad_norm,
    loss_points,
    values_beside,
)
from analyzer.detect.curves.numerics.loss_scale import CALIBRATION_STEPS
from analyzer.detect.curves.numerics.scale_course import scale_course, step_of
from analyzer.detect.failures.following import RowsOfLogs
from analyzer.detect.robust import PARTS, longest_run, trailing_run
from analyzer.detect.setup.precision import precision
from analyzer.model.arrays import Mask, Values
from analyzer.model.name_words import read_name
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import NULL_INT, Event

ISOLATED_RUN = 3
"""Longest run of bad norms that still counts as isolated: an overflow under hysteresis takes two steps, and
the scale may have to be halved once more."""

HARMFUL_SHARE = 0.5
"""From half of the steps on, training makes no use of its data; a growth window costs at most one in a hundred."""

ENDING_RUN = 3
"""Bad norms at the end of a run that count as its end and not as the last skipped step of a scaler."""

MIN_MASKED_CHECK = 3
"""Bad rows needed before the absence of zeros says anything about the loss behind them."""

ROUNDED = 0.01
"""A hundredth: batches of what is known by heart scatter by a factor of a hundred and more, so some of them print 0.0000."""

LASTING_MESSAGES = 5
"""Lines that each say that the loss is not finite; five in one log are no passing spike."""

MASKED_MEAN = 0.02
"""Losses begin at the order of one; a mean a fiftieth of it beside a NaN evaluation is that of a few finite steps."""

EXPECTED_ZEROS = 5.0
"""All-NaN windows that NaN losses would have to show; seeing none of five has probability exp(-5), below 1 %."""

LEVEL_BAND = (0.75, 1.35)
"""A window of finite and NaN losses mixed prints about half to three quarters of the usual loss (or, under
gradient accumulation, more than it); inside this band the level speaks for genuine values."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.nonfinite_loss.*``, ``signal.nonfinite_grad.*`` and ``signal.loss_zero.*``."""
    loss = view.once(loss_points)
    mean = view.curve("train_loss_mean")
    if mean is not None:
        out.put("loss_zero.mean_is_zero", _mean_is_zero(view, float(mean.value[-1])), end_of(mean))
    _loss_facts(view, out.below("nonfinite_loss."), loss)
    if loss is not None:
        _zero_facts(out.below("loss_zero."), view, loss)
    _grad_facts(view, out.below("nonfinite_grad."), view.once(grad_points), loss)


def _mean_is_zero(view: RunView, mean: float) -> bool:
    """Whether the mean of all steps is that of NaN losses, which HF Trainer counts as 0, but for the first ones."""
    if mean == 0.0:
        return True
    evaluated = view.curve("eval_loss")
    broken = evaluated is not None and len(evaluated) > 0 and not np.isfinite(evaluated.value[-1])
    return broken and 0.0 < mean < MASKED_MEAN


def _loss_facts(view: RunView, out: FactWriter, points: BadPoints | None) -> None:
    told = _loss_messages(view)
    # A scalar is not finite: where the losses can be read they tell whether it is the loss. At an overflow it is the
    # gradient norm, which trainers log as well.
    if points is None and not view.events("loss_scale_overflow"):
        told = told or view.events("nonfinite_scalar_message")
    if points is None and not told:
        return
    if points is not None and (points.bad.any() or not told):
        _loss_points_facts(view, out, points)
        return
    refs = event_refs(told)
    out.put("seen", value=True, refs=refs)
    out.put("logged", value=True, refs=refs)
    out.put("count", len(told), refs)
    out.put("first_step", told[0].step, refs)
    if len(told) >= LASTING_MESSAGES:
        out.put("persists", value=True, refs=event_refs(told[-1:]))
    if stops := RowsOfLogs.ends(view, "nan_stop"):
        out.put("persists", value=True, refs=event_refs(stops))


def _of_gradients(event: Event) -> bool:
    """Whether a line speaks of gradients and of no loss."""
    text = event.text.lower()
    return "grad" in text.replace("grad_fn", "") and "loss" not in text


def _loss_messages(view: RunView) -> tuple[Event, ...]:
    """Lines that say in words that the loss is not finite; others of these kinds speak of gradients.

    A few of them before rows of finite losses tell of batches that a guard left out; beside finite losses of training
    those of a metric of an evaluation tell of that.
    """
    stops = {e.ref for e in RowsOfLogs.ends(view, "nan_stop")}  # a log may hold thousands
    events = view.events("nan_stop", "nonfinite_loss_message")
    told = [e for e in events if (e.kind != "nan_stop" or e.ref in stops) and not _of_gradients(e)]
    loss = view.curve("loss")
    if loss is not None and len(loss) and np.isfinite(loss.value).all():
        told = [e for e in told if read_name(str(e.fields.get("metric", ""))).phase in {"", "train"}]
    if loss is not None and 0 < len(told) < LASTING_MESSAGES and not stops:
        last = told[-1].ref
        later = loss.value[(loss.source == last.source) & (loss.line > (last.line or 0))]
        if len(later) >= GOOD_ROWS and np.isfinite(later).all():
            return ()
    return tuple(told)


def _loss_points_facts(view: RunView, out: FactWriter, points: BadPoints) -> None:
    rows, series = points.bad_rows(), points.series
    refs = refs_at(series, rows) or end_of(series)
    openly = points.bad & ~points.masked
    out.put("logged", value=bool(openly.any()), refs=refs_at(series, np.flatnonzero(openly)) or refs)
    if not rows and _zeros_may_hide_nan(view, points):
        return
    out.put("seen", value=bool(rows), refs=refs)
    out.put(
        "masked", value=bool(points.masked.any()), refs=refs_at(series, np.flatnonzero(points.masked)) or refs
    )
    out.put("count", len(rows), refs)
    out.put("share", float(points.bad.mean()), refs)
    out.put("overcome_by_restart", points.overcome, refs)
    first = points.first_bad()
    if first is None:
        return
    if openly.any():
        out.put("infinite", bool(np.isinf(series.value[openly]).all()), refs)
    out.put("first_step", series.step_at(first), refs)
    out.put("earliest_step", earliest_step(view, points), refs)
    out.put("share_after_onset", float(points.bad[first:].mean()), refs)
    out.put("from_first_log", first == 0, refs)
    out.put("persists", value=bool(points.bad[first:].all()), refs=refs)
    out.put(
        "healthy_steps_before",
        points.healthy_steps(first),
        refs_at(series, range(max(first - 1, 0), first + 1)),
    )


def _zeros_may_hide_nan(view: RunView, points: BadPoints) -> bool:
    """Whether printed zeros may be NaN: the mean over no labels is 0/0 and has a gradient of exactly 0."""
    if not _filter_possible(view):
        return False
    zero = points.series.value == 0.0
    norm = values_beside(view, points.series, "grad_norm")
    return bool(zero.any()) and (norm is None or bool((norm[1][norm[0] & zero] == 0.0).any()))


def earliest_step(view: RunView, points: BadPoints) -> int | None:
    """First step that can have been bad: a printed value may be the mean of a window of steps."""
    first = points.first_bad()
    step = None if first is None else points.series.step_at(first)
    if first is None or step is None:
        return None
    window = view.run.step_window.get(int(points.series.source[first]), 1)
    known = points.series.step[:first][points.series.step[:first] != NULL_INT]
    after_last_good = int(known[-1]) + 1 if known.size else min(step, 1)
    return min(step, max(step - window + 1, after_last_good))


def _ends_in_sudden_zeros(values: Values) -> bool:
    """Whether the last losses are 0, and none before, right after one that no step brings below the rounding of a log.

    >>> _ends_in_sudden_zeros(np.array([2.5, 2.7, 0.0])), _ends_in_sudden_zeros(np.array([2.5, 0.0001, 0.0]))
    (True, False)
    >>> _ends_in_sudden_zeros(np.array([9e4, 0.0, 4e4, 0.0]))  # losses of single samples
    False
    """
    good = np.flatnonzero(values != 0.0)
    return bool(good.size and good[-1] + 1 == good.size < values.size and values[good[-1]] >= SUDDEN)


def _rounded_away(values: Values) -> Mask:
    """Which zeros stand between losses so small that four digits of a log round some of them to 0.

    >>> _rounded_away(np.array([2.0, 0.004, 0.0, 0.0001, 0.0, 0.002])), _rounded_away(np.array([2.0, 0.0, 1.9]))
    (array([False, False,  True, False,  True, False]), array([False, False, False]))
    """
    zero, good = values == 0.0, np.flatnonzero(np.isfinite(values) & (values != 0.0))
    if not good.size or not zero.any():
        return np.zeros(values.size, bool)
    at = np.searchsorted(good, np.arange(values.size))
    before, after = good[np.maximum(at - 1, 0)], good[np.minimum(at, good.size - 1)]
    near = (np.abs(values[before]) <= ROUNDED) & (np.abs(values[after]) <= ROUNDED)
    return np.asarray(zero & near & (at > 0), bool)


def _zero_facts(out: FactWriter, view: RunView, points: BadPoints) -> None:
    series = points.series
    zero = (series.value == 0.0) & ~_rounded_away(series.value)
    rows = [int(row) for row in np.flatnonzero(zero)]
    refs = refs_at(series, rows) or end_of(series)
    out.put("share", float(zero.mean()), refs)
    # Three: a loss that is rounded to four digits may print 0 once or twice at the end of an overfit.
    sudden = _ends_in_sudden_zeros(series.value)
    out.put("seen", len(rows) >= 3 or sudden, refs)
    out.put("sudden", sudden, refs)
    if not rows:
        return
    out.put("first_step", series.step_at(rows[0]), refs)
    masked = int(points.masked.sum())
    norm = values_beside(view, series, "grad_norm")
    values = np.zeros(0) if norm is None else norm[1][norm[0] & zero & ~points.masked]
    positive, vanished = int((values > 0).sum()), int((values == 0).sum())
    if masked or positive or vanished:
        out.put("masks_nan", masked > positive + vanished, refs)
    if masked + positive + vanished and (norm is not None):
        out.put("with_zero_grad", vanished > masked + positive, refs)
        out.put("with_finite_grad", positive > masked + vanished, refs)


def _grad_facts(view: RunView, out: FactWriter, points: BadPoints | None, loss: BadPoints | None) -> None:
    if points is None:
        _grad_message_facts(view, out, loss)
        return
    rows, series = points.bad_rows(), points.series
    refs = refs_at(series, rows) or end_of(series)
    out.put("seen", value=bool(rows), refs=refs)
    out.put("count", len(rows), refs)
    out.put("share", float(points.bad.mean()), refs)
    out.put("overcome_by_restart", points.overcome, refs)
    first = points.first_bad()
    if first is None:
        out.put("harmful", value=False, refs=refs)
        return
    after = points.bad[first:]
    out.put("first_step", series.step_at(first), refs)
    out.put("share_after_onset", float(after.mean()), refs)
    out.put("from_first_log", first == 0, refs)
    out.put("healthy_steps_before", points.healthy_steps(first), refs)
    out.put("isolated", not points.bad[[0, -1]].any() and longest_run(points.bad) <= ISOLATED_RUN, refs)
    if len(series) >= PARTS:
        tail = points.bad[-max(len(series) // PARTS, 1) :]
        out.put("recovers", not tail.any(), [*end_of(series), *refs])
    out.put("harmful", does_harm := harmful(view, points), refs)
    out.put("undecided", does_harm is None, refs)
    if loss is not None:
        out.put(
            "with_finite_loss", finite_loss_beside(view, points, loss), [*refs[:2], *_loss_refs(points, loss)]
        )


def _grad_message_facts(view: RunView, out: FactWriter, loss: BadPoints | None) -> None:
    """Without a logged norm, messages may still say that gradients were not finite."""
    told = _grad_messages(view)
    if not told:
        return
    refs, step = event_refs(told), step_of(view, told[0])
    out.put("seen", value=True, refs=refs)
    out.put("first_step", step, refs)
    out.put("count", len(told), refs)
    overcome = anomaly_overcome(view)
    if overcome is not None:
        out.put("harmful", not overcome, refs[-2:] + refs[:2])
        out.put("recovers", overcome, refs[-2:] + refs[:2])
    at_steps = _losses_at(view, told, loss)
    if at_steps is not None and not (_filter_possible(view) and at_steps[1] < MIN_MASKED_CHECK):
        out.put("with_finite_loss", at_steps[0], refs)


def _grad_messages(view: RunView) -> tuple[Event, ...]:
    """Lines that say in words that gradients are not finite."""
    skipped = view.events("gradient_skipped")
    skips = [e for e in skipped if str(e.fields.get("value")).lower() in {"nan", "inf", "-inf"}]
    words = [e for e in view.events("nan_stop", "nonfinite_loss_message") if _of_gradients(e)]
    return (*view.events("autograd_anomaly"), *skips, *words, *view.events("nonfinite_gradient_stop"))


def _losses_at(view: RunView, told: tuple[Event, ...], loss: BadPoints | None) -> tuple[bool, int] | None:
    """Whether the losses of the steps of some messages are all finite, and how many there are."""
    steps = {step_of(view, event) for event in told} - {None}
    if loss is None or not steps:
        return None
    at = np.isin(loss.series.step, [step for step in steps if step is not None])
    return (not bool(loss.bad[at].any()), int(at.sum())) if at.any() else None


def _loss_refs(points: BadPoints, loss: BadPoints) -> list[SourceRef]:
    steps = set(points.series.step[points.bad].tolist()) - {NULL_INT}
    return refs_at(loss.series, (i for i, step in enumerate(loss.series.step.tolist()) if step in steps))


def harmful(view: RunView, points: BadPoints) -> bool | None:
    """Whether bad norms cost the run its training; None while a scaler may still be calibrating."""
    first = points.first_bad()
    if first is None:
        return False
    if points.bad[-1] and _may_calibrate(view, points):
        return None
    share = float(points.bad[first:].mean())
    # One bad norm out of one or two seen after it is a share without weight.
    often = share >= HARMFUL_SHARE and int(points.bad.sum()) >= ENDING_RUN
    last_step = points.series.step_at(len(points.series) - 1)
    few_points = share == 1.0 and len(points.series) < 2 * ENDING_RUN and (last_step or 0) > CALIBRATION_STEPS
    return often or few_points or trailing_run(points.bad) >= ENDING_RUN


def _may_calibrate(view: RunView, points: BadPoints) -> bool:
    """Whether the log ends so early that a scaler's search and a standing fault look the same.

    A NaN loss is no matter of the scale, and without fp16 there is no scaler.
    """
    last_step = points.series.step_at(len(points.series) - 1)
    steps = len(points.series) if last_step is None else last_step
    loss = view.once(loss_points)
    course = view.once(scale_course)
    known = view.once(precision)
    return (
        steps <= CALIBRATION_STEPS
        and not (loss is not None and loss.bad.any())
        and not (course is not None and (course.ended is not None or not course.dynamic))
        and (known is None or known.name == "fp16")
    )


def finite_loss_beside(view: RunView, points: BadPoints, loss: BadPoints) -> bool | None:
    """Whether the loss of the steps with a bad norm is a genuine finite number.

    Args:
        view: The run.
        points: Gradient norms with at least one bad point.
        loss: Losses.

    Returns:
        None if the trainer's mask can explain the printed values as well.
    """
    beside = values_beside(view, loss.series, "grad_norm")
    if beside is None:
        return None
    known, norms = beside
    at_bad = known & is_bad_norm(view, norms)
    total = int(at_bad.sum())
    if not total:
        return None
    lost = int((at_bad & loss.bad).sum())
    if lost:
        return False if lost >= total / 2 else None
    values = loss.series.value[at_bad]
    if not _filter_possible(view):
        return True
    return _unlike_mask(view, points, loss, values, at_bad)


def _filter_possible(view: RunView) -> bool:
    """Whether a NaN loss may have been replaced before it was printed."""
    if truth(view.config_value("train.logging_nan_inf_filter")) is False:
        return False
    return view.has_habit("masks-nan") or not view.run.frameworks


def _unlike_mask(
    view: RunView, points: BadPoints, loss: BadPoints, values: Values, at_bad: Mask
) -> bool | None:
    """Whether non-zero losses beside bad norms cannot be what HF's mask prints (see ``bad_points``)."""
    accumulation = number(view.config_value("train.gradient_accumulation_steps"))
    window = spacing(loss.series) or None
    ranks = view.run.layout.world_size or 1
    if window == 1 and accumulation == 1 and ranks == 1:
        return True  # one micro-batch a window: a NaN prints exactly 0
    if values.size < MIN_MASKED_CHECK or distinct_of(values).size <= values.size // 2:
        return None
    reference = loss.series.value[~at_bad & ~loss.bad]
    if reference.size >= MIN_MASKED_CHECK:
        ratio = float(median_of(values)) / (float(median_of(reference)) or 1.0)
        if LEVEL_BAND[0] <= ratio <= LEVEL_BAND[1]:
            return True
    return True if _zeros_missing(points, window, accumulation) else None


def _zeros_missing(points: BadPoints, window: int | None, accumulation: float | None) -> bool:
    """Whether NaN losses as frequent as the bad norms would have printed zeros that are not there.

    The norm in a row is that of one step. If each of its m micro-batches is NaN with probability p, then
    1 - (1 - p)**m is the share of bad norms, and a whole window of N steps is NaN with p**(m * N).
    """
    if window is None:
        return False
    micro = max(accumulation or 1.0, 1.0)
    first = points.first_bad() or 0
    after = points.bad[first:]
    share = (float(after.sum()) + 0.5) / (after.size + 1.0)
    per_micro = 1.0 - (1.0 - share) ** (1.0 / micro)
    return bool(float(after.size) * per_micro ** (micro * window) >= EXPECTED_ZEROS)
