"""Where trouble began: the earliest non-finite value or overflow from which the run did not recover."""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView, end_of
from analyzer.detect.curve import has_steps, spacing
from analyzer.detect.curves.numerics.bad_points import BadPoints, anomaly_overcome, grad_points, loss_points
from analyzer.detect.curves.numerics.nonfinite import earliest_step, finite_loss_beside, harmful
from analyzer.detect.curves.numerics.scale_course import Overflow, scale_course, step_of
from analyzer.detect.robust import PARTS
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series
from analyzer.record import NamedTuple

FIRST_STEPS = 5
"""A standing fault shows at once; five steps leave room for hysteresis and for a first batch without it."""

HEALTHY_STEPS = 10
"""Ten good steps rule out a fault that every batch meets."""

LATE_STEPS = 200
"""Two hundred good steps rule out a fault of set-up; what comes then is training, data or chance."""


class Onset(NamedTuple):
    """The first bad step."""

    step: int | None  # optimizer step, None if nothing tells it
    healthy_steps: int | None  # good steps before it, None if unknown
    from_first_point: bool  # whether already the first point of its series is bad
    ref: SourceRef  # where it shows
    lasting: bool  # whether the run did not recover from it


def find_onset(view: RunView) -> Onset | None:
    """The earliest trouble that lasted; without one, the first non-finite loss, then the first bad norm.

    Overflows and bad norms that ended are a scaler's daily work and no onset.
    """
    loss, grad = view.once(loss_points), view.once(grad_points)
    found: list[Onset] = []
    if loss is not None and (onset := _of_points(loss, lasting=_lasts(loss))) is not None:
        found.append(onset)
    if grad is not None and (grad_onset := _of_points(grad, lasting=bool(harmful(view, grad)))) is not None:
        found.append(grad_onset)
    if (scale_onset := _of_overflows(view)) is not None:
        found.append(scale_onset)
    if (reported := _of_anomaly(view)) is not None:
        found.append(reported)
    lasting = [onset for onset in found if onset.lasting]
    candidates = lasting or [onset for onset in found if loss is not None and loss.bad.any()][:1]
    if not candidates:
        return None
    known = [onset for onset in candidates if onset.step is not None]
    return min(known, key=lambda onset: onset.step or 0) if known else candidates[0]


def _lasts(points: BadPoints) -> bool:
    """Whether the last fifth of the losses holds bad points still."""
    return bool(points.bad[-max(len(points.series) // PARTS, 1) :].any())


def _of_points(points: BadPoints, *, lasting: bool) -> Onset | None:
    """Where lasting trouble began; of trouble that passed, the very first point."""
    row = points.onset() if lasting else points.first_bad()
    if row is None:
        return None
    series = points.series
    return Onset(series.step_at(row), points.healthy_steps(row), row == 0, series.ref(row), lasting)


def _of_anomaly(view: RunView) -> Onset | None:
    """First report of anomaly mode, if the run did not go on well after the last."""
    reports = view.events("autograd_anomaly")
    if not reports or anomaly_overcome(view) is not False:
        return None
    step = step_of(view, reports[0])
    if step is None or view.span is None:
        return Onset(step, None, from_first_point=False, ref=reports[0].ref, lasting=True)
    healthy = max(step - max(view.span[0], 1), 0)
    return Onset(step, healthy, healthy == 0, reports[0].ref, lasting=True)


def _of_overflows(view: RunView) -> Onset | None:
    """First overflow of the chain that never ended."""
    course = view.once(scale_course)
    if (
        course is None
        or not course.overflows
        or (course.ended is None and not _still_overflowing(view, course.overflows))
    ):
        return None
    first = _chain_start(course.overflows)
    if view.span is None or first.step is None:
        return Onset(first.step, None, first is course.overflows[0], first.ref, lasting=True)
    loss = view.curve("loss")
    interval = (spacing(loss) if loss is not None and has_steps(loss) else None) or 1
    start = 1 if view.span[0] <= interval else view.span[0]
    healthy = max(first.step - start, 0)
    return Onset(first.step, healthy, healthy == 0, first.ref, lasting=True)


def _still_overflowing(view: RunView, overflows: tuple[Overflow, ...]) -> bool:
    """Whether a chain of three or more overflows reaches the end of the run."""
    last = overflows[-1].step
    if last is None or view.span is None or view.span[1] - last >= HEALTHY_STEPS:
        return False
    start = _chain_start(overflows)
    return overflows[::-1].index(start) >= 2


def _chain_start(overflows: tuple[Overflow, ...]) -> Overflow:
    """First overflow of the last chain, whose members lie less than ten steps apart."""
    start = overflows[-1]
    for overflow in reversed(overflows[:-1]):
        if (
            overflow.step is not None
            and start.step is not None
            and start.step - overflow.step >= HEALTHY_STEPS
        ):
            break
        start = overflow
    return start


def finite_before(series: Series, onset: Onset) -> int | None:
    """How many points of a series lie before the onset; None if the two cannot be compared."""
    if onset.step is not None and has_steps(series):
        return int((series.step < onset.step).sum())
    mine = series.source == onset.ref.source
    if onset.ref.line is None or not mine.all():
        return None
    return int((series.line < onset.ref.line).sum())


def in_words(view: RunView, onset: Onset) -> str:
    """When trouble began, as the end of a sentence; a printed window mean gives an interval, not a step."""
    loss = view.once(loss_points)
    first = None if loss is None else loss.first_bad()
    if onset.step is None:
        started_bad = first == 0 and loss is not None and finite_before(loss.series, onset) == 0
        return (
            "from the first printed value on" if started_bad else "from a step on that the log does not name"
        )
    if loss is not None and first is not None and loss.series.step_at(first) == onset.step:
        earliest = earliest_step(view, loss)
        if earliest is not None and earliest < onset.step:
            return f"from a step between {earliest} and {onset.step} on (the printed loss is a mean over a window)"
    return f"from step {onset.step} on"


def what_is_seen(view: RunView) -> str:
    """What is not finite, as a clause."""
    loss, grad = view.once(loss_points), view.once(grad_points)
    bad_loss = loss is not None and bool(loss.bad.any())
    bad_norm = grad is not None and bool(grad.bad.any())
    # A loss that was bad for a moment is not what the run shows if its norms stay bad for many steps.
    passing = loss is not None and grad is not None and int(grad.bad.sum()) > 2 * int(loss.bad.sum())
    passing = passing and loss is not None and not bool(loss.bad[-1])
    if loss is not None and bad_loss and not passing:
        masked = loss.masked.sum() * 2 > loss.bad.sum()
        return "the loss prints 0, which stands for NaN," if masked else "the loss is not finite"
    if grad is not None and bad_norm and bool(harmful(view, grad)):
        finite = loss is not None and finite_loss_beside(view, grad, loss) is True
        return (
            "the gradient norm is NaN or infinite, although the loss is finite,"
            if finite
            else "the gradient norm is not finite"
        )
    return "the gradients overflow step after step"


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.onset.*``."""
    onset = view.once(find_onset)
    if onset is None:
        mean = view.curve("train_loss_mean")
        if mean is not None and float(mean.value[-1]) == 0.0:
            shown = end_of(mean)
            out.put("what", "the mean loss of the whole run is exactly 0,", shown)
            out.put("when", "so every loss was 0 or NaN", shown)
        return
    refs = [onset.ref]
    out.put("step", onset.step, refs)
    out.put("when", in_words(view, onset), refs)
    out.put("what", what_is_seen(view), refs)
    out.put("lasting", onset.lasting, refs)
    early = onset.step is not None and onset.step <= FIRST_STEPS
    if onset.step is not None or onset.from_first_point:
        out.put("in_first_steps", early or onset.from_first_point, refs)
    if onset.healthy_steps is not None:
        out.put("healthy_steps", onset.healthy_steps, refs)
        # A row that names no step may stand for any number of them, so few rows do not say that it was early.
        known = onset.step is not None or onset.from_first_point
        for name, steps in (("after_healthy_stretch", HEALTHY_STEPS), ("late", LATE_STEPS)):
            enough = onset.healthy_steps >= steps
            out.put(name, enough if enough or known else None, refs)
