"""Which points of the loss and of the gradient norm are not finite, said openly or hidden.

Two writers hide it. DeepSpeed reports a non-finite gradient norm as -1. HF Trainer replaces a NaN loss in
its log (``logging_nan_inf_filter``, on by default); per logging window of N steps it does, per micro-batch:

    loss finite:      total += loss
    loss not finite:  total += total / (1 + steps since the last log)
    at the log:       print total / N, then total = 0

``total`` starts every window at 0 and each NaN adds a share of it, so a window in which *every* loss is NaN
prints exactly 0. A window that begins with finite losses and turns NaN prints a plausible number between
about half and the whole of the usual loss (with gradient accumulation even more); a window that begins with
NaN prints less than usual. From this follows what is used here and in ``nonfinite``:

* a loss of exactly 0 whose gradient norm is not finite stands for NaN;
* a persistent NaN loss prints 0 in every later window, so losses that go on varying without zeros are real;
* one plausible loss beside one NaN gradient proves nothing if the window holds several micro-batches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analyzer.detect.base import RunView
from analyzer.detect.curve import (
    align,
    continues,
    has_steps,
    launch_of,
    left_out,
    lineage,
    position,
    spacing,
    take,
)
from analyzer.detect.curves.trend import trend
from analyzer.model.arrays import Mask, Values
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.tables import NULL_INT, Event, Series
from analyzer.record import NamedTuple

SENTINEL = -1.0
"""What DeepSpeed returns for a norm that is NaN or infinite, in every version and ZeRO stage."""

ANOMALIES = ("autograd_anomaly", "autograd_anomaly_warning")
"""Messages of autograd's anomaly mode: a backward function returned NaN."""

GOOD_ROWS = 10
"""Good points in a row after which trouble counts as overcome: a scaler that still searches skips every second step."""

SUDDEN = 0.1
"""A loss that one logged row later is printed as 0.0000 has fallen by a factor of two thousand: no learning does."""

REPEATED = 2
"""Two norms that are equal to the last digit: no two gradients have one length."""

ENDING_BAD = 3
"""Bad points at the end of a file that make it a broken one; a scaler that searches may skip the last two steps."""

_AREA, RANKS_WELL = word_set("auc auroc rocauc"), 0.8
"""Areas under the ROC curve, half of which is a guess whatever the classes; no answers of one value come near four fifths."""

FROZEN_ROWS = 5
"""Equal learning rates in a row that count as frozen: four updates that a moving schedule did not see."""

LENGTH_ROWS = 12
"""Rows in which an order shows; an epoch of a few batches holds no more."""

BOTH = 2.5
"""Deviations of the order of all pairs from chance, of times and of losses: one in eighty for each, and of both at once far fewer."""

LONGER = 1.5
"""Half again the time for one step: a host under load makes no step that much slower in step with the loss."""


class BadPoints(NamedTuple):
    """A series with the points that are not finite."""

    series: Series  # the points in question, in logical order
    bad: Mask  # bool, shape (n_points,): NaN, infinite, a sentinel, or masked
    masked: Mask  # bool, shape (n_points,): a printed 0 that stands for NaN; a subset of ``bad``
    overcome: bool = False  # whether an earlier attempt had bad points that a restart has passed since
    # number of points at the end that belong to an earlier attempt and that no restart has passed yet
    tail: int = 0

    def first_bad(self) -> int | None:
        """Index of the first bad point."""
        found = np.flatnonzero(self.bad)
        return int(found[0]) if found.size else None

    def bad_rows(self) -> list[int]:
        """Indices of the bad points."""
        return [int(row) for row in np.flatnonzero(self.bad)]

    def good(self) -> Series:
        """The points that are genuine finite numbers."""
        return take(self.series, ~self.bad)

    def curve(self) -> Series:
        """The genuine finite numbers of the curve that led to the present state."""
        good = ~self.bad
        good[len(self.series) - self.tail :] = False
        return take(self.series, good)

    def onset(self) -> int | None:
        """Index of the first bad point after the last stretch of good ones; what came before it was overcome."""
        rows = np.flatnonzero(self.bad)
        if not rows.size:
            return None
        gaps = np.flatnonzero(np.diff(rows) > GOOD_ROWS)
        return int(rows[gaps[-1] + 1]) if gaps.size else int(rows[0])

    def healthy_steps(self, row: int) -> int:
        """Steps with a logged good value before a bad point."""
        if row == 0:
            return 0
        start, last = int(self.series.step[0]), int(self.series.step[row - 1])
        if not has_steps(self.series) or NULL_INT in {start, last}:
            return row
        # The first logged point speaks for the steps since the log before it, at most back to step 1.
        reach = min(spacing(self.series) or 1, max(start, 1))
        return max(last - start + reach, row)


OFTENER = 2
"""Rows of the loss for each norm: a loop that prints a norm with every row prints as many."""


def loss_points(view: RunView) -> BadPoints | None:
    """The training loss with its bad points; from whichever logger shows them."""
    return _choose(view, "loss", _mark_loss)


def grad_points(view: RunView) -> BadPoints | None:
    """The gradient norm with its bad points; from whichever logger shows them."""
    return _choose(view, "grad_norm", _mark_grad)


def _choose(
    view: RunView, metric: str, mark: Callable[[RunView, Series], tuple[Mask, Mask]]
) -> BadPoints | None:
    """The primary series, or the fullest other one that shows bad points where the primary shows none.

    Of several files with the same steps, the fullest is the primary one; another that ends in bad points counts
    before it.
    """
    states = [
        _state(view, series, mark) for series in view.all_series(metric) if not _placeholder(view, series)
    ]
    if not states:
        return None
    with_bad = [state for state in states if state.bad.any()]
    best = with_bad[0] if with_bad and not states[0].bad.any() else states[0]
    if best.bad[-ENDING_BAD:].all():
        return best
    # No file overrules another one whose own end is bad, unless it clearly came later.
    for series in left_out(view.run, metric):
        if _placeholder(view, series):
            continue
        bad, masked = mark(view, series)
        if bad.size >= ENDING_BAD and bad[-ENDING_BAD:].all() and not continues(best.series, series):
            return BadPoints(series, bad, masked)
    return best


def _placeholder(view: RunView, series: Series) -> bool:
    """Whether a column of nothing but -1 means "not computed": it does unless the framework prints it for a norm that broke.

    A norm that a program prints only where its scaler skips a batch tells of those batches and no other.
    """
    if series.metric == "loss":
        return is_never_computed(view, series)
    if series.metric != "grad_norm":
        return False
    if only_at_skips(view, series):
        return True
    own = view.has_habit("norm-sentinel")
    return not own and bool(np.all(series.value == SENTINEL))


def only_at_skips(view: RunView, series: Series) -> bool:
    """Whether a norm is infinite only where the scaler skips, and finite losses go on without it."""
    if _scale_grew(view):
        return True
    if not np.isinf(series.value).all():
        return False
    skips = np.array([event.ref.line or 0 for event in view.events("loss_scale_overflow")])
    loss = view.curve("loss")
    if skips.size < len(series) or loss is None or len(loss) <= OFTENER * len(series):
        return False
    return bool(np.isfinite(loss.value[-GOOD_ROWS:]).all() and loss.line.max() > series.line.max())


def _scale_grew(view: RunView) -> bool:
    """Whether the loss scale ends above its first value and near its highest, beside finite losses.

    A scaler doubles after thousands of good steps and halves at each bad one, so what was not finite was skipped and rare.
    """
    scale, loss = view.curve("loss_scale"), view.curve("loss")
    if scale is None or loss is None or len(scale) < GOOD_ROWS:
        return False
    first, last = float(scale.value[0]), float(scale.value[-1])
    near = first < last and last >= float(scale.value.max()) / 2
    return near and bool(np.isfinite(loss.value[-GOOD_ROWS:]).all())


def _state(view: RunView, series: Series, mark: Callable[[RunView, Series], tuple[Mask, Mask]]) -> BadPoints:
    bad, masked = mark(view, series)
    current, beyond = lineage(series)
    tail = beyond & ~_passed(series, bad, beyond)
    if not (bad & tail).any():
        overcome = bool((bad & ~current).any())
        return BadPoints(take(series, current), bad[current], masked[current], overcome)
    # A fault that no later launch has passed is still the question; it comes after the curve.
    rows = np.concatenate((np.flatnonzero(current), np.flatnonzero(tail)))
    return BadPoints(take(series, rows), bad[rows], masked[rows], tail=int(tail.sum()))


def _passed(series: Series, bad: Mask, beyond: Mask) -> Mask:
    """Points that restarts left behind and whose launch had its first fault where a later launch has been since."""
    passed = np.zeros(len(series), np.bool_)
    if not beyond.any():
        return passed
    where, launch = position(series), launch_of(series)
    for number in distinct_of(launch[beyond]):
        faults, later = where[bad & (launch == number)], where[launch > number]
        if faults.size and later.size and later.max() > faults.min():
            passed |= launch == number
    return passed


def is_bad_norm(view: RunView, values: Values) -> Mask:
    """Which gradient norms are not finite: NaN, infinite, or the sentinel -1.

    A norm cannot be negative. If the only negative value is -1 it is the sentinel whoever wrote it; other
    negative values of a framework that prints none mean that the column is not a norm at all.
    """
    bad: Mask = ~np.isfinite(values)
    negative = values[values < 0]
    if view.has_habit("norm-sentinel") or bool(np.all(negative == SENTINEL)):
        bad = bad | (values == SENTINEL)
    return bad


def _mark_grad(view: RunView, series: Series) -> tuple[Mask, Mask]:
    masked = _written_as_zero(view, series)
    return is_bad_norm(view, series.value) | masked, masked


def _written_as_zero(view: RunView, series: Series) -> Mask:
    """Zeros of a tracker that says once that it writes 0 for NaN."""
    if not view.events("nan_reported_as_zero"):
        return np.zeros(len(series), np.bool_)
    return np.equal(series.value, 0.0)


def _mark_loss(view: RunView, series: Series) -> tuple[Mask, Mask]:
    zero = series.value == 0.0
    masked = _written_as_zero(view, series)
    if zero.any() and not masked.any():
        known, bad_norm = norms_beside(view, series)
        masked = zero & (bad_norm | known & _norm_stands_in(view, series, zero))
        unexplained = zero & ~known
        if masked.sum() > (zero & known & ~bad_norm).sum() or (
            not (zero & known).any() and _frozen_at(view, series, zero)
        ):
            masked = masked | unexplained
    return ~np.isfinite(series.value) | masked, masked


def _norm_stands_in(view: RunView, series: Series, zero: Mask) -> bool:
    """Whether the norms beside zeros that follow a loss at once are one number: roots of the -1 that DeepSpeed counts for each group."""
    first = int(np.flatnonzero(zero)[0])
    beside = values_beside(view, series, "grad_norm")
    if beside is None or first == 0 or series.value[first - 1] < SUDDEN:
        return False
    norms = beside[1][beside[0] & zero]
    return norms.size >= REPEATED and bool(norms[0] > 0 and (norms == norms[0]).all())


def norms_beside(view: RunView, series: Series) -> tuple[Mask, Mask]:
    """For each point: whether a gradient norm of the same step is known, and whether it is not finite."""
    norm = values_beside(view, series, "grad_norm")
    if norm is None:
        nothing = np.zeros(len(series), np.bool_)
        return nothing, nothing
    known, values = norm
    return known, known & is_bad_norm(view, values)


def values_beside(view: RunView, series: Series, metric: str) -> tuple[Mask, Values] | None:
    """Another metric at the steps of a series: known, shape (n_points,), and its values, NaN where unknown.

    Taken from the series of that metric that shares most points.
    """
    best: tuple[int, Mask, Values] | None = None
    for other in view.all_series(metric):
        rows = align(series, other)
        known = rows >= 0
        shared = int(known.sum())
        if shared and (best is None or shared > best[0]):
            best = (shared, known, np.where(known, other.value[rows], np.nan))
    return None if best is None else (best[1], best[2])


def _frozen_at(view: RunView, series: Series, zero: Mask) -> bool:
    """Whether the learning rate stood still at the zero losses although it is meant to move.

    HF Trainer advances the schedule only after a step that was taken; a GradScaler that skips every step
    freezes it. A constant schedule shows nothing.
    """
    beside = values_beside(view, series, "learning_rate")
    if beside is None:
        return False
    known, rate = beside
    at_zero, elsewhere = rate[known & zero], rate[known & ~zero]
    if at_zero.size < FROZEN_ROWS or not np.all(at_zero == at_zero[0]):
        return False
    return bool(elsewhere.size and np.any(elsewhere != at_zero[0])) or schedule_moves(view, float(at_zero[0]))


def schedule_moves(view: RunView, rate: float) -> bool:
    """Whether a learning rate that stays at ``rate`` contradicts the configured schedule.

    A rate of 0 does if a positive one was asked for; any other rate does under a schedule that always moves.
    """
    asked = view.config_value("train.learning_rate")
    if rate == 0.0:
        return isinstance(asked, int | float | str) and str(asked) not in {"0", "0.0"}
    scheduler = view.config_value("train.scheduler")
    moving = ("linear", "cosine", "polynomial", "inverse_sqrt", "warmupdecaylr", "warmupcosinelr", "onecycle")
    return isinstance(scheduler, str) and scheduler.strip().lower().rpartition(".")[2].startswith(moving)


def anomaly_overcome(view: RunView) -> bool | None:
    """Whether the run went on well after the last anomaly report; None without a report or rows to compare.

    Under a loss scaler anomaly mode reports every overflow, those of an ordinary calibration too.
    """
    return went_on_well(view, view.events(*ANOMALIES))


def went_on_well(view: RunView, reports: tuple[Event, ...]) -> bool | None:
    """Whether at least ten good rows and no lasting trouble follow the last of some reports."""
    if not reports or reports[-1].ref.line is None:
        return None
    last = reports[-1].ref
    rows: set[int] = set()
    for points in (view.once(loss_points), view.once(grad_points)):
        if points is None:
            continue
        after = (points.series.source == last.source) & (points.series.line > (last.line or 0))
        bad = points.bad & after
        # A later overflow is skipped and passes; a NaN loss, or an end in bad steps, does not.
        if bad.any() and (points.series.metric == "loss" or points.bad[after][-1]):
            return False
        rows |= set(points.series.line[after & ~points.bad].tolist())
    return len(rows) >= GOOD_ROWS


def is_mean_of_nothing(view: RunView, series: Series) -> bool:
    """Whether NumPy warned, between the last finite row of a series and its first NaN, that a mean was taken of nothing.

    Such a NaN counts samples or episodes and says nothing of the weights.
    """
    nan = np.isnan(series.value)
    if not nan.any():
        return False
    first = int(nan.argmax())
    source, until = int(series.source[first]), int(series.line[first])
    above = series.line[:first][series.source[:first] == source]
    since = int(above[-1]) if above.size else 0
    return any(
        event.ref.source == source and since <= (event.ref.line or 0) <= until
        for event in view.events("mean_of_nothing")
    )


def is_of_no_object(view: RunView, series: Series) -> bool:
    """Whether a series is not a number only in rows of a detector that say they hold no labelled object, and no loss."""
    nan, none = np.isnan(series.value), view.events("labelled_objects_none")
    if not none or not nan.any() or "loss" in words_of(series.logged_as):
        return False
    empty = {(event.ref.source, event.ref.line) for event in none}
    places = zip(series.source[nan].tolist(), series.line[nan].tolist(), strict=True)
    return all(place in empty for place in places)


def is_never_computed(view: RunView, series: Series) -> bool:
    """Whether a loss is not a number in any row while answers at the end rank far better than a guess.

    Weights that are not numbers rank as a guess does, so the model has no such loss: it remembers its training samples.
    """
    if not np.isnan(series.value).all():
        return False
    scores = (view.finite(name) for name in view.run.metrics.names if not _AREA.isdisjoint(words_of(name)))
    return any(
        score is not None
        and score.source[-1] == series.source[-1]
        and score.line[-1] >= series.line[-1]
        and RANKS_WELL <= float(score.value[-1]) <= 1.0
        for score in scores
    )


def grow_from_row_to_row(view: RunView) -> bool:
    """Whether times of steps and losses rise together: the samples come in the order of their length.

    Updates that leave their range raise a loss as well, and take no more time for it.
    """
    if view.curve("step_time_s") is None:
        return False
    from analyzer.detect.speed.times import unit_times  # noqa: PLC0415  (few logs print the time of a step)

    points, times = view.once(loss_points), unit_times(view.curve("step_time_s"), LENGTH_ROWS)
    losses = None if points is None else points.curve()
    if losses is None or times is None or len(losses) < LENGTH_ROWS:
        return False
    match = align(losses, times)
    if not (match >= 0).all():
        return False
    taken = times.value[match]
    third = taken.size // 3
    longer = float(median_of(taken[-third:])) >= LONGER * float(median_of(taken[:third]))
    return longer and _rises(taken) and _rises(losses.value)


def _rises(values: Values) -> bool:
    numbers = trend(values)
    return numbers is not None and numbers.order >= BOTH and bool(np.isfinite(values).all())
