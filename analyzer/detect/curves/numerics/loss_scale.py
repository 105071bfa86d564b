"""The dynamic loss scale: calibration that ends, or a fall that does not."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from analyzer.detect.base import FactWriter, RunView, event_refs
from analyzer.detect.curve import has_steps, spacing
from analyzer.detect.curves.numerics.bad_points import grad_points
from analyzer.detect.curves.numerics.scale_course import (
    LEAST_SCALE,
    MAX_HALVINGS,
    Overflow,
    ScaleCourse,
    hysteresis,
    scale_course,
)
from analyzer.model.arrays import Values
from analyzer.model.refs import SourceRef
from analyzer.model.tables import NULL_INT

GOOD_STEPS = 10
"""Steps without overflow after which the search for a scale counts as over. Calibration halves at every step
(or every second one under hysteresis), so ten good ones in a row do not happen while it goes on."""

CALIBRATION_STEPS = 20
"""Calibration from 2**16 ends within some ten steps, from 2**32 within some twenty."""

LOW_SCALE = 128.0
"""Healthy fp16 runs settle between 2**10 and 2**20; below 2**7 small gradients begin to round to zero."""

FALLING_RUN = 3
"""Halvings in a row that count as a fall; one or two happen in every growth window."""

LOST_SCALE = 2.0**-6
"""Below it the gradient itself leaves fp16, a summed one of fairseq too; no window of good steps brings that back."""

NEXT_LINES, LATER_ROWS = 4, 1
"""Each of two or four ranks prints its line, and nothing else stands between the overflows of two steps in a row; one
row below the last of them may be the evaluation that followed."""

LEAST_POWER = 4
"""No scaler starts below 2**4 times its minimum: a log whose first scale is lower does not show the start."""

PINNED_SCALE, PINNED_STEPS = 8.0, 1000
"""A scale of 8 over a thousand steps is no search: half of its growth window (1000) has passed without effect."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.loss_scale.*``."""
    course = view.once(scale_course)
    if course is None:
        return
    refs = _refs(course)
    out.put("seen", value=True, refs=refs)
    _levels(out, course, refs)
    _counts(out, view, course, refs)
    if course.dynamic:
        _verdicts(out, view, course, refs)
    elif course.series is not None:
        for name in ("at_floor", "collapsing", "pinned_low", "below_one", "full_ladder"):
            out.put(name, value=False, refs=refs)


def _refs(course: ScaleCourse) -> list[SourceRef]:
    """The end, then the last and the first overflows, then the series."""
    refs = [] if course.ended is None else event_refs([course.ended])
    refs += [overflow.ref for overflow in (*course.overflows[-2:][::-1], *course.overflows[:2])]
    if course.series is not None:
        refs += [course.series.ref(len(course.series) - 1), course.series.ref(0)]
    return refs


def _levels(out: FactWriter, course: ScaleCourse, refs: list[SourceRef]) -> None:
    scales = course.scales
    if not scales.size:
        return
    series = course.series
    out.put("first", float(scales[0]), refs if series is None else [series.ref(0)])
    out.put("last", _last(course), refs if series is None else [series.ref(len(series) - 1)])
    lowest = min(float(scales.min()), _last(course))
    row = int(np.argmin(scales))
    out.put("min", lowest, refs if series is None or row >= len(series) else [series.ref(row)])


def _last(course: ScaleCourse) -> float:
    """Last scale; messages may go on after the last flush of a monitor."""
    told = [
        float(value)
        for overflow in course.overflows[-1:]
        if overflow.event is not None
        and isinstance(value := overflow.event.fields.get("reducing_to"), int | float)
    ]
    last = float(course.scales[-1])
    return min([last, *told]) if course.ended is not None else last


def _counts(out: FactWriter, view: RunView, course: ScaleCourse, refs: list[SourceRef]) -> None:
    out.put("overflows", course.count, refs)
    if course.overflows:
        out.put("first_overflow_step", course.overflows[0].step, [course.overflows[0].ref])
        last = course.overflows[-1]
        last_step = course.ended_step if course.ended is not None else last.step
        out.put("last_overflow_step", last_step, refs)
    lowered = _halvings(course)
    if lowered is not None:
        out.put("halvings", lowered[0], refs)
        out.put("last_halvings_run", lowered[1], refs)
    span = view.span
    if span is not None and span[1] > span[0]:
        steps = span[1] - max(span[0], 1) + 1  # a row of step 0 is printed before the first step
        out.put("overflow_share", min(course.count / steps, 1.0), refs)


def _halvings(course: ScaleCourse) -> tuple[int, int] | None:
    """Times that the scale was lowered, and how many of them came after its last rise."""
    if course.scales.size < 2:
        return None
    moves = np.diff(course.scales)
    factors = np.clip(np.round(-np.diff(np.log2(np.maximum(course.scales, LEAST_SCALE)))), 1.0, MAX_HALVINGS)
    counts = np.where(moves < 0, factors, 0.0)
    rises = np.flatnonzero(moves > 0)
    start = int(rises[-1]) + 1 if rises.size else 0
    return int(counts.sum()), int(counts[start:].sum())


def _verdicts(out: FactWriter, view: RunView, course: ScaleCourse, refs: list[SourceRef]) -> None:
    good = _good_steps(view, course)
    recovers = _recovers(view, course, good)
    at_floor = _at_floor(course, recovers)
    if course.overflows or course.ended is not None:
        out.put("good_steps_after_last_overflow", good, refs)
        out.put("recovers", recovers, refs)
        out.put("full_ladder", _full_ladder(view, course, recovers), refs)
    out.put("at_floor", at_floor, refs)
    if at_floor:
        out.put("floor_step", _floor_step(course), refs)
    out.put("collapsing", _collapsing(course, recovers, at_floor), refs)
    if course.scales.size:
        out.put("below_one", _below_one(course.scales), refs)
    out.put("pinned_low", _pinned(course), refs)


def _below_one(scales: Values) -> bool:
    """Whether a scale fell below one; icefall's begins there, is halved and doubled, and goes on far below it.

    >>> _below_one(np.array([4.0, 0.5])), _below_one(np.array([0.125, 0.125])), _below_one(np.array([0.001])), _below_one(np.array([0.57]))
    (True, False, True, True)
    """
    least = float(scales.min())
    may_begin_there = scales.max() < 1.0 and least >= LOST_SCALE and math.log2(least).is_integer()
    return least < 1.0 and not may_begin_there


def _good_steps(view: RunView, course: ScaleCourse) -> int | None:
    """Steps after the last overflow, None if that cannot be told."""
    if course.ended is not None:
        return 0
    if not course.overflows or view.span is None:
        return None
    last = course.overflows[-1]
    if last.step is None:
        return None
    steps = max(view.span[1] - last.step, 0)
    if (
        steps >= GOOD_STEPS
        and course.inferred
        and course.scales[-1] <= max(course.floor or 1.0, 1.0)
        and not _norms_finite_after(view, last.step)
    ):
        return None  # a scale at its floor no longer falls, so its silence does not say that steps are good
    return steps


def _norms_finite_after(view: RunView, step: int) -> bool:
    points = view.once(grad_points)
    if points is None:
        return False
    after = (points.series.step > step) & (points.series.step != NULL_INT)
    return bool(after.any()) and not bool((points.bad & after).any())


def _recovers(view: RunView, course: ScaleCourse, good: int | None) -> bool | None:
    if course.ended is not None:
        return False
    series = course.series
    if series is not None:
        drops = np.flatnonzero(np.diff(series.value) < 0)
        if drops.size and float(series.value[drops[-1] + 1 :].max()) > float(series.value[drops[-1] + 1]):
            return True
    if good is None:
        return False if _ends_in_a_row(view, course) else None
    if good >= GOOD_STEPS:
        return True
    lost = course.scales.size > 0 and course.scales[-1] < LOST_SCALE
    return None if _isolated(course.overflows) and not lost else False


def _ends_in_a_row(view: RunView, course: ScaleCourse) -> bool:
    """Whether the log ends in overflows of which one stands below the other, so no good step lies between them."""
    last = course.overflows[-FALLING_RUN - 1 :]
    if len(last) <= FALLING_RUN or any(overflow.step is not None for overflow in last):
        return False
    places = [(overflow.ref.source, overflow.ref.line or 0) for overflow in last]
    gaps = [after[1] - before[1] if after[0] == before[0] else NULL_INT for before, after in pairwise(places)]
    if not all(0 < gap <= NEXT_LINES for gap in gaps) or _further_apart(last):
        return False
    source, line = places[-1]
    later = {
        int(row)
        for name in view.run.metrics.names
        for series in view.all_series(name)
        for row in series.line[(series.source == source) & (series.line > line)]
    }
    return len(later) <= LATER_ROWS


def _further_apart(overflows: tuple[Overflow, ...]) -> bool:
    """Whether ten times as much time lies before the last of some overflows as between others: good steps that print nothing."""
    times = np.array(
        [math.nan if found.event is None else found.event.time_s for found in overflows], np.float64
    )
    waits = np.diff(times)
    return bool(np.isfinite(waits).all() and 0 < waits.min() * GOOD_STEPS <= waits[-1])


def _isolated(overflows: tuple[Overflow, ...]) -> bool:
    """Whether the last overflow is one that every growth window brings: alone, and after the calibration."""
    steps = [overflow.step for overflow in overflows[-2:]]
    last = steps[-1]
    if last is None or last <= CALIBRATION_STEPS:
        return False
    return len(steps) == 1 or (steps[0] is not None and last - steps[0] >= GOOD_STEPS)


def _at_floor(course: ScaleCourse, recovers: bool | None) -> bool | None:
    """Whether the scale ends at its configured minimum; None if no minimum is known and it ends at 1 or below."""
    if course.ended is not None:
        return True
    if not course.scales.size:
        return None
    last = float(course.scales[-1])
    if course.floor is not None:
        return last <= course.floor and recovers is not True
    if last <= 1.0 and recovers is not True and _stays(course):
        return True
    return False if last > 1.0 else None


def _stays(course: ScaleCourse) -> bool:
    """Whether the last overflows left the scale as it was: "Attempted loss scale: 1, reducing to 1"."""
    told = [overflow.event for overflow in course.overflows[-FALLING_RUN:] if overflow.event is not None]
    return len(told) == FALLING_RUN and all(
        (scale := event.fields.get("attempted")) is not None and event.fields.get("reducing_to") == scale
        for event in told
    )


def _floor_step(course: ScaleCourse) -> int | None:
    if course.ended is not None:
        return course.ended_step
    series = course.series
    if series is None:
        return course.overflows[-1].step if course.overflows else None
    above = np.flatnonzero(series.value > series.value[-1])
    return series.step_at(int(above[-1]) + 1 if above.size else 0)


def _collapsing(course: ScaleCourse, recovers: bool | None, at_floor: bool | None) -> bool | None:
    if course.ended is not None:
        return True
    if recovers or not course.scales.size:
        return False if recovers else None
    low = float(course.scales[-1]) < LOW_SCALE or at_floor is True
    if not low:
        return False
    lowered = _halvings(course)
    if recovers is None or lowered is None:
        return None
    return lowered[1] >= FALLING_RUN or float(course.scales[-1]) < LOST_SCALE


def _pinned(course: ScaleCourse) -> bool | None:
    series = course.series
    if series is None or not has_steps(series):
        return None
    low = series.value <= PINNED_SCALE
    edges = np.flatnonzero(np.diff(np.concatenate(([0], low.astype(np.int8), [0]))))
    spans = [
        int(series.step[end - 1] - series.step[start])
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]
    return max(spans, default=0) >= PINNED_STEPS


def _full_ladder(view: RunView, course: ScaleCourse, recovers: bool | None) -> bool | None:
    """Whether every step overflowed from the first on, down to the floor.

    From 2**power the scaler needs ``hysteresis - 1`` overflows that do not lower the scale, ``power`` that
    halve it to 1, and one more to give up: power + hysteresis in all (18 by DeepSpeed's defaults).
    """
    if recovers:
        return False
    power = _power(view, course)
    if power is None or power < LEAST_POWER or not course.overflows:
        return None
    # One overflow of slack: a monitor may miss the last one before the process dies.
    if course.count < power + hysteresis(view) - 1:
        return False if course.ended is not None else None
    return _gapless(view, course)


def _power(view: RunView, course: ScaleCourse) -> int | None:
    """log2 of the first scale over the floor."""
    start = view.config_value("fp16.initial_scale_power")
    if isinstance(start, int) and not isinstance(start, bool):
        return round(start - math.log2(course.floor or 1.0))
    if not course.scales.size or not course.scales[0] > 0:
        return None
    return round(math.log2(float(course.scales[0])) - math.log2(course.floor or 1.0))


def _gapless(view: RunView, course: ScaleCourse) -> bool | None:
    """Whether the overflows fill the steps from the first step of the run to the last overflow.

    Nine tenths are enough: the step of a message is that of the next printed row.
    """
    last = course.ended_step if course.ended_step is not None else course.overflows[-1].step
    if view.span is None or last is None:
        return None
    loss = view.curve("loss")
    interval = (spacing(loss) if loss is not None else None) or 1
    # A first row at or before one logging interval belongs to a run that began at its first step.
    first = 1 if view.span[0] <= interval else view.span[0]
    return course.count + 2 >= 0.9 * (last - first + 1)
