"""The curves of a run that its features describe, each reduced once."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from analyzer.detect.base import RunView, number
from analyzer.detect.curve import align, has_steps, launch_of, positive_points, take
from analyzer.detect.curves.evaluation import evaluations
from analyzer.detect.curves.numerics.bad_points import grad_points, loss_points
from analyzer.detect.shapes.course import Course, middle, positions, reduce_curve
from analyzer.model.arrays import Mask, Values
from analyzer.model.tables import NULL_INT, Series
from analyzer.record import NamedTuple, replace

WARM_UP = 2
"""First step times hold compilation and caching."""

MIN_TIMES = 10
"""Fewer step times show neither a trend nor a grid."""

MIN_STAMP_S = 5.0
"""Rows stamped in whole seconds measure an interval to a fifth at best only from five seconds on."""

TRACE = 1e-6
"""A gradient norm below a millionth of its median is no gradient: what float32 loses against the others."""

_SPEEDS = ("tokens_per_second", "tokens_per_second_per_gpu", "samples_per_second", "steps_per_second")
_CLASSES = frozenset({"vocab_size", "num_labels", "num_classes", "n_classes", "num_class"})


class Curves(NamedTuple):
    """What the features see."""

    logged: Mapping[str, Series]  # the series behind each block, also those without any finite point
    loss: Course | None  # training loss
    loss_bad: Mask | None  # bool, shape (n_losses,): losses that are not finite; None if no loss was logged
    gradient: Course | None  # binary logarithm of the gradient norm over its median, without zeros
    gradient_norm: Values | None  # the norms as logged, with zeros, beside ``gradient.series``
    rate: Course | None  # learning rate
    # evaluation loss in units of the training loss's scale, at positions of the training loss
    evaluation: Course | None
    # bool, shape (n_evaluations,): those that are not finite; None if none was logged
    evaluation_bad: Mask | None
    pace: Course | None  # binary logarithm of the time of a step over its median
    # float64, shape (n_waits,): share of the step time spent waiting for data, in order; None if not logged
    wait: Values | None
    chance: float | None  # what a guess costs, ln of the number of classes or tokens; None if no config tells
    clip: float | None  # configured threshold of the gradient norm; None if unknown


def curves(view: RunView) -> Curves:
    """The reduced curves of a run."""
    with np.errstate(all="ignore"):
        points = view.once(loss_points)
        reference = None if points is None else points.series
        loss = None if points is None else reduce_curve(points.series, points.bad)
        gradient, norms = _gradient(view, reference)
        series = view.once(evaluations)
        pace = _pace(view)
        logged = {
            "loss": reference,
            "gradient": None if (norm_points := view.once(grad_points)) is None else norm_points.series,
            "rate": view.curve("learning_rate"),
            "evaluation": series,
            "time": None if pace is None else pace.series,
            "chance": reference,
        }
        return Curves(
            logged={name: found for name, found in logged.items() if found is not None},
            loss=loss,
            loss_bad=None if points is None else points.bad,
            gradient=gradient,
            gradient_norm=norms,
            rate=_rate(view, reference),
            evaluation=_evaluation(view, loss, reference),
            evaluation_bad=None if series is None else ~np.isfinite(series.value),
            pace=pace,
            wait=_wait(view),
            chance=_chance(view),
            clip=number(view.config_value("train.max_grad_norm")),
        )


def curves_seen(view: RunView) -> Mapping[str, Series]:
    """The logged series behind each block of features, for citing their points."""
    return view.once(curves).logged


def _gradient(view: RunView, reference: Series | None) -> tuple[Course | None, Values | None]:
    points = view.once(grad_points)
    if points is None:
        return None, None
    norms = np.where(points.bad, np.nan, points.series.value)
    positive = norms[norms > 0]
    known = positive > TRACE * middle(positive) if positive.size else positive > 0
    logarithm = np.log2(np.where(norms > 0, norms, np.nan))
    if positive.size:
        logarithm[norms <= TRACE * middle(positive)] = np.nan
    if not known.any():
        return None, norms
    at = positions(points.series, reference)
    return reduce_curve(points.series, points.bad, logarithm, scaled=False, at=at), norms


def _rate(view: RunView, reference: Series | None) -> Course | None:
    series = view.curve("learning_rate")
    if series is None:
        return None
    return reduce_curve(series, ~(series.value >= 0), at=positions(series, reference))


def _evaluation(view: RunView, loss: Course | None, reference: Series | None) -> Course | None:
    series = view.once(evaluations)
    if series is None:
        return None
    at = positions(series, reference)
    course = reduce_curve(series, ~np.isfinite(series.value), at=at)
    if course is None or loss is None:
        return course
    factor = course.scale / loss.scale  # in units of the training loss, so that the two can be compared
    if not (math.isfinite(factor) and 1e-9 < factor < 1e9):
        return course
    scaled = {
        name: getattr(course, name) * factor for name in ("value", "window", "smooth", "rest", "scatter")
    }
    return course._replace(scale=loss.scale, noise=course.noise * factor, **scaled)


def _pace(view: RunView) -> Course | None:
    """Step times: as printed, else from a printed throughput, else from the stamps of the rows."""
    series = positive_points(view.curve("step_time_s"), MIN_TIMES + WARM_UP)
    if series is None:
        for name in _SPEEDS:
            speed = positive_points(view.curve(name), MIN_TIMES + WARM_UP)
            if speed is not None:
                series = replace(speed, value=1.0 / speed.value)
                break
        else:
            series = _stamped(view)
    if series is None:
        return None
    late = take(series, np.arange(len(series)) >= WARM_UP)
    return reduce_curve(late, np.zeros(len(late), np.bool_), np.log2(late.value), scaled=False)


def _stamped(view: RunView) -> Series | None:
    """Seconds a step between rows of one launch that no evaluation parts; None if the clock is too coarse."""
    series = view.curve("loss")
    if series is None or not has_steps(series) or len(series) < MIN_TIMES + WARM_UP:
        return None
    steps, times = np.diff(series.step), np.diff(series.time_s)
    usable = (np.diff(launch_of(series)) == 0) & (steps > 0) & np.isfinite(times) & (times > 0)
    evals = view.curve("eval_loss")
    if evals is not None and has_steps(evals):
        marks = np.sort(evals.step[evals.step != NULL_INT])
        before = np.searchsorted(marks, series.step[:-1], side="left")
        free = usable & (before == np.searchsorted(marks, series.step[1:], side="left"))
        usable = free if free.sum() >= MIN_TIMES + WARM_UP else usable
    if usable.sum() < MIN_TIMES + WARM_UP:
        return None
    stamps = series.time_s[np.isfinite(series.time_s)]
    if bool((stamps % 1 == 0).all()) and middle(times[usable]) < MIN_STAMP_S:
        return None
    later = take(series, np.flatnonzero(usable) + 1)
    return replace(later, value=times[usable] / steps[usable])


def _wait(view: RunView) -> Values | None:
    waits, step_time = view.curve("data_time_s"), view.curve("step_time_s")
    if waits is None or step_time is None:
        return None
    match = align(step_time, waits)
    share = np.where(match >= 0, waits.value[np.maximum(match, 0)], np.nan) / step_time.value
    share = share[WARM_UP:]
    share = share[np.isfinite(share) & (share >= 0)]
    return np.clip(share, 0.0, 1.0) if share.size >= 3 else None


def _chance(view: RunView) -> float | None:
    """Natural logarithm of the number of classes or tokens that a config file states."""
    for key in ("model.vocab_size", "tokenizer.vocab_size"):
        size = number(view.config_value(key))
        if size is not None and 1 < size < 1e9:
            return math.log(size)
    for entry in view.run.config.entries:
        if entry.key_in_source.rpartition(".")[2].lower() in _CLASSES:
            size = number(entry.value)
            if size is not None and 1 < size < 1e9:
                return math.log(size)
    return None
