"""What tells the reasons of a loss that does not move apart: weights, layers, constants, accuracy, error rates."""

from __future__ import annotations

import math

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, number, refs_at
from analyzer.detect.curves.numerics.bad_points import loss_points
from analyzer.detect.curves.progress import scored_best_at_end
from analyzer.detect.curves.span import begins_in_the_middle
from analyzer.detect.curves.spikes import find_spikes
from analyzer.detect.robust import PARTS, digits_of, noise, part_medians, uncertainty
from analyzer.lazy_regex import LazyRegex
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series

STILL = 1e-6
"""Relative change of a weight norm below what seven printed digits show; any update of use is far above."""

STILL_POINTS = 5
"""Five equal weight norms: not two rows of one print."""

EVEN_GUESS = 0.005
"""Relative distance of an accuracy from 1/C at which C classes of one size explain it: test sets are cut to equal classes,
and three digits are printed."""

USUAL = (2, 3, 4, 5, 10, 20, 100, 1000)
"""Numbers of classes that are tried first where a level, or loss and accuracy together, name one."""

EVEN_CLASSES = (*range(3, 11), 20, 50, 100, 200, 1000)
"""Numbers of classes that test sets of equal classes have. Of two classes one half is not the share of a majority."""

GUESS_SCATTER = 0.02
"""Distance of a training accuracy from that of a guess: a thousand samples and more scatter by a percent."""

ROWS_THAT_FALL = 6
"""Rows of training and of held-out data, each below the one before: what falls so steadily moves, however little of it that is."""

STUCK_POINTS = 4
"""Four equal accuracies in a row: a model that still changes gets at least one sample more or less right."""

FROZEN_POINTS, FROZEN_DIGITS, FROZEN_SHARE = 3, 4, 0.6
"""Three epochs whose mean loss and accuracy agree in four digits or more: means over thousands of samples that any
update would move. They must be most of the log, for its head may show the fall into that state."""

FROZEN_LOSS, FROZEN_ACCURACY = 0.1, 0.98
"""Below and above these a loss and an accuracy may stand still because nothing is left to learn."""

PRINTED_STEPS = 2.5
"""Two printed digits and the error of their difference."""

TAIL_POINTS = 20
"""Twenty equal losses in a row: batch noise alone would move one of them."""

HELD_OUT_POINTS = 8
"""Evaluations of one level after which nobody waits for a warm-up to end any more."""

AGREES = 0.01
"""Relative distance from ln(C) that still counts: 2.30 and 2.33 are ten classes, 2.20 is nine."""

LIMITS = (87.3365, 16.1181)
"""-ln of the smallest normal float32, and of the 1e-7 to which Keras clips a probability: the true class got none."""

EXPLODED, WORSE = 3.0, 1.05
"""Three times the level is no noise of a batch; five percent above it is no scatter of two medians."""

QUIET = 0.005
"""A constant answer leaves only the noise of which labels are in a batch."""

LIMIT_POINTS = 3
"""Three equal numbers of six digits at such a limit are no accident."""

LIMIT_DIGIT = 1e-3
"""One loss that is 87.336 is no accident either, whatever a mean over batches did to its last digit; losses about 16
are ordinary."""

ERROR_STUCK = 0.985
"""An error rate that prints as 98.5 % or more is that of empty or random output."""

LAYERS = 3
"""Layers whose gradient norms show a profile."""

_LAYER = LazyRegex(
    r"^(?:train[/.])?grad(?:ient)?s?(?:_2(?:\.0)?)?(?:_norm)?s?[/._](?P<layer>.{0,80}?\d{1,3}.{0,80})$"
)
_INDEX = LazyRegex(r"\d{1,3}")
_ERROR = LazyRegex(
    # a phoneme error rate, but not samples_per_second
    r"(?:^|[/_.-])(?:wer|cer|ter|per(?!_[a-z])|(?:word|token|phone(?:me)?|char(?:acter)?|letter)_error_rate)(?:$|[/_.])"
)
_DEAD = LazyRegex(r"(?:^|[/_.])dead_?(?:frac|fraction|share|ratio|neurons|units|relu)\w{0,20}$")
_CTC = LazyRegex(r"(?:^|[/_.])(?:ctc_?loss|loss_?ctc)(?:$|[/_.])")


def is_even_guess(share: float) -> bool:
    """Whether an accuracy is that of one answer among classes of equal size, so that none is the largest."""
    # of two classes the guess scatters by a percent, and no share is beyond it
    halves = abs(share - 0.5) <= 2 * EVEN_GUESS
    return halves or any(abs(share * count - 1) <= EVEN_GUESS for count in EVEN_CLASSES)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.weights.*``, ``signal.stall.*``, ``signal.layers.*``."""
    _weights(out.below("weights."), view)
    stall = out.below("stall.")
    points = view.once(loss_points)
    if points is not None and len(points.curve()):
        _at_limit(stall, view, points.curve())
        _frozen(stall, view, points.curve())
    if points is not None and len(points.curve()) >= PARTS:
        _tail(stall, view, points.curve())
        _lower_each_row(stall, view, points.curve())
        _level(stall, view, points.curve())
    _accuracy(stall, view)
    _one_answer(stall, view)
    _errors(stall, view)
    _dead(stall, view)
    _layers(out.below("layers."), view)


def _weights(out: FactWriter, view: RunView) -> None:
    series = view.finite("weight_norm")
    if series is None or len(series) < STILL_POINTS or series.value[0] <= 0:
        return
    values = series.value
    change = float(np.abs(values - values[0]).max()) / float(values[0])
    refs = refs_at(series, [0, len(series) - 1])
    out.put("relative_change", change, refs)
    out.put("still", change <= STILL, refs)


def _frozen(out: FactWriter, view: RunView, curve: Series) -> None:
    """Whether most epochs end in one loss and one accuracy, to all digits.

    Only where each row is an epoch: elsewhere ranks, or the bars of a later epoch, may repeat one.
    """
    if len(curve) < FROZEN_POINTS or not view.has_habit("row-per-epoch"):
        return
    values, last = curve.value, len(curve) - 1
    same = values[::-1] == values[-1]
    count = len(curve) if same.all() else int(np.argmin(same))
    enough = count >= max(FROZEN_POINTS, FROZEN_SHARE * len(curve)) and float(values[-1]) >= FROZEN_LOSS
    beside = view.finite("accuracy")
    if (
        not enough
        or digits_of(float(values[-1])) < FROZEN_DIGITS
        or beside is None
        or len(beside) != len(curve)
    ):
        out.put("frozen", False if beside is not None else None, refs_at(curve, [last]))
        return
    shares = beside.value / (100.0 if float(beside.value.max()) > 1.0 else 1.0)
    still = bool(np.all(shares[-count:] == shares[-1])) and float(shares[-1]) < FROZEN_ACCURACY
    out.put("frozen", still, [*refs_at(curve, [last, last - count + 1]), *refs_at(beside, [last])])


def _at_limit(out: FactWriter, view: RunView, curve: Series) -> None:
    """Whether the loss ends at such a limit, or one of its parts does, whose weight makes another number of the whole."""
    tail = curve.value[-LIMIT_POINTS:]
    lasting = len(tail) == LIMIT_POINTS and any(bool(np.all(np.abs(tail - limit) < 1e-2)) for limit in LIMITS)
    ends = [float(series.value[-1]) for series in (curve, *view.all_series("loss")) if len(series)]
    exact = any(abs(end - LIMITS[0]) < LIMIT_DIGIT for end in ends)
    out.put("at_float_limit", lasting or exact, end_of(curve))


def _tail(out: FactWriter, view: RunView, curve: Series) -> None:
    """Whether the loss ends in one number, to all its digits, and whether an explosion came before."""
    values, last = curve.value, len(curve) - 1
    same = values[::-1] == values[-1]
    count = int(np.argmin(same)) if not same.all() else len(curve)
    out.put("equal_points_at_end", count, refs_at(curve, [last, max(last - count + 1, 0)]))
    before = values[max(last - 2 * count + 1, 0) : last - count + 1]
    # What moved by two printed digits while it still fell may stand for as many rows and be no less alive.
    steps = np.diff(distinct_of(values))
    coarse = bool(before.size and np.ptp(before) <= PRINTED_STEPS * float(steps.min(initial=np.inf)))
    out.put(
        "constant_end",
        TAIL_POINTS <= count < len(curve) and float(values[-1]) > 0.0 and not coarse,
        refs_at(curve, [last, max(last - count + 1, 0)]),
    )
    out.put("after_explosion", *_after_explosion(view, curve))


def _lower_each_row(out: FactWriter, view: RunView, curve: Series) -> None:
    """Whether training and held-out loss are lower in every row than in the one before, as one in half a million pairs of random rows is."""
    held_out = view.finite("eval_loss")
    if held_out is None or min(len(curve), len(held_out)) < ROWS_THAT_FALL:
        return
    lower = all(bool((np.diff(series.value) < 0).all()) for series in (curve, held_out))
    out.put("lower_each_row", lower, [*ends_of(curve), *ends_of(held_out)])


def _after_explosion(view: RunView, curve: Series) -> tuple[bool | None, list[SourceRef]]:
    """Whether the loss, after a rise to a multiple of its level, is flat and clearly above its former level."""
    values, last = curve.value, len(curve) - 1
    spikes = view.once(find_spikes)
    exploded = (
        [s for s in spikes.found if float(values[s.peak]) >= EXPLODED * s.base] if spikes is not None else []
    )
    early = values[: max(len(curve) // PARTS, 2)]
    peak, base = int(early.argmax()), float(values[0])
    if exploded:
        peak, base = exploded[-1].peak, exploded[0].base  # of many spikes some begin at a lucky level
    elif float(early.max()) < EXPLODED * base:
        return (False if len(values) >= 2 * PARTS else None), refs_at(curve, [last])
    refs = refs_at(curve, [peak, last])
    tail = values[peak + 1 :]
    tail = tail[tail.size // PARTS :]  # the way down from the peak
    if tail.size < 2 * PARTS:
        return None, refs
    medians, margin = part_medians(tail), uncertainty(tail)
    level = float(median_of(tail))
    flat = float(np.abs(medians - medians[0]).max()) <= max(margin, 0.02 * level)
    if (
        not exploded
    ):  # nothing is known of the level before an explosive start, so the end must be all but constant
        return bool(flat and noise(tail) <= QUIET * level), refs
    worse = max(WORSE * base, base + margin) < level < EXPLODED * base  # higher is an explosion that goes on
    return bool(flat and worse), refs


def _level(out: FactWriter, view: RunView, curve: Series) -> None:
    """The level against ln(C), and how much of the curve's fall is real although small."""
    values = curve.value
    medians, margin = part_medians(values), uncertainty(values)
    first, final = float(medians[0]), float(medians[-1])
    refs = refs_at(curve, [0, len(curve) - 1])
    if first > 0:
        fall = first - final
        out.put("slow_descent", margin < fall <= 0.02 * first and len(curve) >= 20, refs)
    count = classes(view)
    if count is not None and count[0] > 1:
        uniform = math.log(count[0])
        out.put("first_over_uniform", float(values[0]) / uniform, [*refs, count[1]])
        out.put("last_over_uniform", final / uniform, [*refs, count[1]])
    held_out = view.finite("eval_loss")
    if held_out is not None and len(held_out) >= 3 and held_out.value.any():  # a loss of 0 was not computed
        steady = float(np.ptp(held_out.value)) <= AGREES * abs(float(median_of(held_out.value)))
        near = abs(float(median_of(held_out.value)) - float(median_of(values))) <= 2 * AGREES * abs(first)
        level = float(median_of(held_out.value))
        usual = any(abs(level - math.log(c)) <= AGREES * math.log(c) for c in USUAL)
        shown = refs_at(held_out, [0, len(held_out) - 1])
        out.put("eval_still", steady, shown)
        out.put("eval_constant", _all_equal(held_out), shown)
        if len(held_out) >= HELD_OUT_POINTS:
            falls = final < first - max(margin, 0.01 * abs(first))
            gained = falls or begins_in_the_middle(view, curve) or scored_best_at_end(view, clearly=False)
            out.put("no_progress", steady and not gained, shown)
        out.put("eval_at_chance", steady and near and usual, shown)


def _all_equal(series: Series) -> bool | None:
    """Whether every point is the same number; None below five points."""
    return bool(np.all(series.value == series.value[0])) if len(series) >= STILL_POINTS else None


_CLASSES = (2, 1e9)
"""A choice needs two; the largest vocabularies have a million tokens, and what is larger is damage."""


def classes(view: RunView) -> tuple[float, SourceRef | None] | None:
    """Number of classes or tokens to choose from, as the configuration states it, with its place."""
    for entry in view.run.config.entries:
        if view.has_habit("assumes-classes") and entry.key_in_source == "num_classes":
            continue  # Megatron's vision models have 1000 by default, and its dump of arguments prints that for language models too
        if entry.key_in_source.rpartition(".")[2] in {"num_classes", "num_labels", "n_classes", "nb_classes"}:
            value = number(entry.value)
            if value is not None and _CLASSES[0] <= value <= _CLASSES[1]:
                return value, entry.ref
    for key in ("model.vocab_size", "tokenizer.vocab_size"):
        found = view.config(key)
        value = None if found is None else number(found.value)
        if found is not None and value is not None and _CLASSES[0] <= value <= _CLASSES[1]:
            return value, found.ref
    return None


def _accuracy(out: FactWriter, view: RunView) -> None:
    for name in ("eval_accuracy", "accuracy"):
        series = view.finite(name)
        if series is not None and len(series) >= STILL_POINTS:
            refs = refs_at(series, [0, len(series) - 1])
            out.put("accuracy_constant", _all_equal(series), refs)
            end = series.value[-max(len(series) // 3, STUCK_POINTS) :]
            shown = refs_at(series, [len(series) - 1, len(series) - end.size])
            out.put("accuracy_stuck", end.size >= STUCK_POINTS and bool(np.all(end == end[0])), shown)
            return


def _one_answer(out: FactWriter, view: RunView) -> None:
    """Whether training and held-out accuracy are one number each, through rows whose loss moves.

    Where that number is a guess among equal classes, the training accuracy, which is taken while the answer changes, may
    scatter about it. Without a loss that moves the rows could be one epoch that several ranks print.
    """
    train, held_out = view.finite("accuracy"), view.finite("eval_accuracy")
    points = view.once(loss_points)
    if train is None or held_out is None or points is None:
        return
    if min(len(train), len(held_out)) < STILL_POINTS or distinct_of(points.good().value).size < STILL_POINTS:
        return
    scale = 100.0 if float(train.value[-1]) > 1.0 else 1.0
    level, share = float(train.value[-1]) / scale, float(held_out.value[0]) / scale
    guess = is_even_guess(share) and bool(np.all(abs(train.value / scale - share) <= GUESS_SCATTER))
    still = bool(_all_equal(held_out)) and (guess or bool(_all_equal(train)))
    refs = [*refs_at(train, [0, len(train) - 1]), *end_of(held_out)]
    out.put("one_answer", still and level < FROZEN_ACCURACY, refs)


def _errors(out: FactWriter, view: RunView) -> None:
    """Error rates of words, characters or tokens that never leave 100 %, and whether CTC is trained."""
    names = view.run.metrics.names
    words = [
        entry
        for entry in view.run.config.entries
        if "ctc" in entry.key_in_source.lower() or "ctc" in str(entry.value).lower()
    ]
    ctc = [name for name in names if _CTC.search(name)]
    if ctc or words:
        series = view.curve(ctc[0]) if ctc else None
        out.put("ctc", value=True, refs=refs_at(series, [0]) if series is not None else [words[0].ref])
    for name in sorted(names):
        series = view.finite(name) if _ERROR.search(name) else None
        if series is not None and len(series) >= 3:
            scale = 100.0 if float(series.value.max()) > 3.0 else 1.0
            stuck = bool(np.all(series.value[len(series) // 2 :] >= ERROR_STUCK * scale))
            out.put("error_rate_stuck", stuck, ends_of(series))
            return


def _dead(out: FactWriter, view: RunView) -> None:
    for name in sorted(view.run.metrics.names):
        series = view.finite(name) if _DEAD.search(name) else None
        if series is not None and float(series.value.min()) >= 0.0 and float(series.value.max()) <= 1.0:
            out.put("dead_share", float(series.value[-1]), end_of(series))
            return


def _layers(out: FactWriter, view: RunView) -> None:
    """Gradient norm of the first layer over that of the last, from columns that carry a layer number."""
    found: list[tuple[int, float, Series]] = []
    for name in sorted(view.run.metrics.names):
        match = _LAYER.match(name)
        series = view.finite(name) if match is not None else None
        if match is None or series is None or "bias" in name:
            continue
        index = _INDEX.search(match["layer"])
        if index is not None:
            found.append((int(index[0]), float(median_of(series.value)), series))
    by_layer = {number_: (value, series) for number_, value, series in reversed(found)}
    if len(by_layer) < LAYERS:
        return
    first, last = by_layer[min(by_layer)], by_layer[max(by_layer)]
    refs = [*end_of(first[1]), *end_of(last[1])]
    out.put("first_gradient", first[0], refs)
    if last[0] > 0 and math.isfinite(first[0] / last[0]):
        out.put("first_over_last", first[0] / last[0], refs)
