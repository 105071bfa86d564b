"""Loss and accuracy of the same rows: whether the loss is as low as the answers allow, and where outputs that are bounded end.

A model that may be sure of its answers becomes as sure as it is right, for only the scale of its logits must grow. One whose
loss stays far above that either has hardly been trained, or cannot: a sigmoid or softmax stands before the loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curve import align, take
from analyzer.detect.curves.guess.certainty import is_total
from analyzer.detect.curves.guess.chance import LIKE_A_GUESS, LITTLE, NOT_GUESSED, class_count, shares_of
from analyzer.detect.curves.progress import held_out_trend, loss_trend
from analyzer.model.arrays import Values
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.tables import Series
from analyzer.record import replace

ENOUGH = 3
"""Least number of rows from which a level can be judged."""

SURE_OF_ALL, MOST_NAMED = 0.9, 1000
"""With nine of ten answers right, an unknown number of classes may be assumed to be a thousand."""

FLAT = 0.05
"""A twentieth of its whole fall lost in the last third: the loss stands."""

AT_FLOOR, AT_LIMIT = (0.99, 1.3), 0.97
"""Last loss over the floor that outputs between 0 and 1 leave: never below it, and not far above. Where the loss still falls, the
level at which it would end by its thirds stands for it: one of logits that may grow lies far below."""

EXACTLY = 0.004
"""Four thousandths of such a floor, in training and on held-out data alike: no level of a task is there by accident."""

FEWEST = 2
"""Classes where their number is not known: no floor is lower."""

BOUNDED_CLASSES = range(2, 11)
"""Numbers of classes whose floors lie so far apart that a level names one."""

FEW_KNOWN = 0.7
"""Share of right answers up to which the first loss is compared with what a guess with that many right answers costs."""

RIGHT_AT_END, LEARNED, MANY_TIMES, ALIKE = 0.5, 0.2, 5.0, 3.0
"""Half of the answers right at the end and a fifth more than at first: of a mean, the first rows of a poor start cost many times
what their answers do and the last ones do not; of a sum all cost as many times more, within a factor of three, as it has terms."""

LEAST_MEAN = 0.01
"""A perplexity of 1.01 is printed with too few digits for a quotient."""

BELOW_A_GUESS, GUESSES = 0.4, 0.7
"""Of an epoch four tenths of the answers that a guess gets right, while held-out answers of the same epoch have seven tenths of them."""

HARDLY_EVER, MORE_THAN_NONE, HALF_AS_OFTEN = 0.05, 0.05, 0.5
"""Where nobody told the number of classes: a twentieth of the answers that both evaluations around an epoch get right, which are a
twentieth of all at least. Neither dropout nor augmentation costs so much; at the end training is half as often right as well."""


_OTHER_LOSSES = word_set(
    "mse mae rmse l1 l2 focal dice iou miou map bce hinge margin triplet contrastive box psnr"
)
"""What is logged beside a loss that is none of a choice among classes, which costs as little as it likes."""

CHEAP_ERRORS, MANY_WRONG, MOST_WRONG = 0.9, 0.1, 0.7
"""Nine tenths of ln 2 for each wrong answer, of which there is one in ten at least (above seven in ten the count may be
wrong, not the loss): the right one has less than half there, so cross-entropy costs more."""


NEARLY_ALL, ONE_LEVEL, TIMES_ITS_COST, MOST_LEFT = 0.9, 0.02, 3.0, 0.4
"""Nine of ten right at a loss of three times what a sure model pays for that, and two hundredths more at most when six tenths of the
loss are gone: that many samples have the label that everything is called, and surer answers are all that was learned."""

MOVED = 0.1
"""A tenth of all answers: what accuracies of one guess after another differ by on small held-out sets."""

SOME_ROWS, SPARSE = 6, 2
"""Six accuracies, and two rows of the loss and more for each."""


MOVED_FAR, RIGHT_AT_LAST, NO_LESS_THAN, BESIDE_ITS_WRONG = 0.2, 0.8, 1.55, 0.15
"""Where the share of right answers gains a fifth and more, to four of five, outputs between 0 and 1 cost ln(C - 1 + e) - 1 and one for
each wrong answer (1.55 for three classes, with all of them): loss and share together stand within a sixth of what the share gained.
Cross-entropy of logits moves by more, as ln C falls to next to nothing; of two classes it hardly does."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.answers.*``."""
    found = view.once(class_count)
    count = None if found is None else found[0]
    _costs_its_wrong(out, view)
    _summed(out, view, count)
    fact = out.facts.get("signal.answers.summed")
    if fact is not None and fact.value:
        return  # of a sum of unknown length no level tells anything
    _certainty(out, view, count)
    _floors(out, view, count)
    _cheap_errors(out, view)
    _first_answers(out, view)
    _right_before_sure(out, view, count)
    _order(out, view, count)


def _pairs(view: RunView) -> Iterator[tuple[Series, Series]]:
    """Loss and accuracy of the same rows: of training, and of held-out data."""
    points = view.once(loss_trend)
    for known, name in ((points, "accuracy"), (view.once(held_out_trend), "eval_accuracy")):
        shares = shares_of(view, name)
        if known is None or shares is None:
            continue
        loss = known[0]
        match = align(loss, shares)
        rows = np.flatnonzero(match >= 0)
        if rows.size:
            yield take(loss, match >= 0), replace(take(loss, match >= 0), value=shares.value[match[rows]])


def most_of_the_sure(right: float, count: int) -> float:
    """The most that a classifier loses which is as often right as it believes: its entropy with the rest spread evenly.

    >>> round(most_of_the_sure(0.1, 10), 4), round(most_of_the_sure(0.99, 10), 3)
    (2.3026, 0.078)
    """
    wrong = min(max(1.0 - right, 1e-6), 1.0 - 1e-6)
    return -(1 - wrong) * math.log(1 - wrong) - wrong * math.log(wrong / max(count - 1, 1))


def _certainty(out: FactWriter, view: RunView, count: int | None) -> None:
    """The loss over what a model loses at most that may be sure of its answers, at the accuracy of the same rows."""
    for loss, shares in _pairs(view):
        if len(loss) < ENOUGH:
            continue
        tail = slice(-max(len(loss) // 5, 2), None)
        right, level = float(median_of(shares.value[tail])), float(median_of(loss.value[tail]))
        if count is None and right < SURE_OF_ALL:
            continue
        most = most_of_the_sure(right, MOST_NAMED if count is None else count)
        refs = end_of(loss)
        guess = count is not None and right <= LIKE_A_GUESS / count
        plain = guess or level < NOT_GUESSED  # of a guess, or of next to nothing, the ratio says nothing
        out.put("loss_over_sure", min(level / most, 1.0) if plain else level / most, refs)
        return


def _summed(out: FactWriter, view: RunView, count: int | None) -> None:
    """Whether the loss is, from the first rows to the last, about the same many times what its answers cost: a sum of them."""
    shown: Series | None = None
    if (points := view.once(loss_trend)) is not None and _times_its_perplexity(view, points[0]) >= MANY_TIMES:
        out.put("summed", value=True, refs=refs_at(points[0], [0, len(points[0]) - 1]))
        return
    for loss, shares in _pairs(view):
        right = shares.value
        third = len(loss) // 3
        shown = loss if third and shown is None else shown
        if third < ENOUGH or float(right[-third:].min()) < RIGHT_AT_END or right[-1] - right[0] < LEARNED:
            continue
        classes = (
            count if count is not None else min(max(round(1 / max(float(right[0]), 1e-3)), 2), MOST_NAMED)
        )
        times = loss.value / [most_of_the_sure(float(share), classes) for share in right]
        first, last = float(median_of(times[:third])), float(median_of(times[-third:]))
        alike = max(first, last) <= ALIKE * min(first, last)
        out.put("summed", bool(min(first, last) >= MANY_TIMES and alike), refs_at(loss, [0, len(loss) - 1]))
        return
    if shown is not None:  # of answers that are mostly wrong nothing shows that it is one
        out.put("summed", value=False, refs=refs_at(shown, [0, len(shown) - 1]))


def _times_its_perplexity(view: RunView, loss: Series) -> float:
    """How many times the loss is what the perplexity of the same row says of a token, in half of the rows and more; 0 without one."""
    perplexity = view.curve("perplexity")
    rows = align(loss, perplexity) if perplexity is not None else np.zeros(0, np.int64)
    if perplexity is None or not (rows >= 0).any():
        return 0.0
    mean = np.log(np.maximum(perplexity.value[rows[rows >= 0]], 1.0))
    known = np.isfinite(mean) & (mean > LEAST_MEAN)
    return float(median_of(loss.value[rows >= 0][known] / mean[known])) if known.any() else 0.0


def floor_of_bounded(count: int) -> float:
    """Least cross-entropy that is possible if each output lies between 0 and 1.

    >>> round(floor_of_bounded(10), 3), round(floor_of_bounded(2), 4)
    (1.461, 0.3133)
    """
    return math.log(1.0 + (count - 1) / math.e)


def _floors(out: FactWriter, view: RunView, count: int | None) -> None:
    """Whether the loss stands just above the floor of outputs between 0 and 1: of the classes known, else exactly at one."""
    points = view.once(loss_trend)
    if points is None or (count is None and len(points[0]) < 2 * ENOUGH):
        return
    series, numbers = points
    values, refs = numbers.values, ends_of(series)
    late = float(median_of(values[2 * values.size // 3 - 1 : 2 * values.size // 3 + 2]))
    stands = late - numbers.last <= max(FLAT * max(numbers.fall, 0.0), numbers.margin / 2)
    learned = numbers.falls() and numbers.fall >= LITTLE * numbers.first
    floor = floor_of_bounded(FEWEST if count is None else count)
    over = numbers.last / floor
    out.put("over_bounded_floor", over, refs)
    if len(series) < 2 * ENOUGH:
        return  # so few rows tell no course, but whether they lie below the floor of the classes known
    if count is not None:
        ends = stands or _limit(values) >= AT_LIMIT * floor
        out.put("at_bounded_floor", bool(ends and learned and AT_FLOOR[0] <= over <= AT_FLOOR[1]), refs)
        return
    held_out = view.once(held_out_trend)
    levels = [numbers.last] if held_out is None else [numbers.last, held_out[1].last]
    exact = any(
        all(abs(level / floor_of_bounded(c) - 1) <= EXACTLY for level in levels) for c in BOUNDED_CLASSES
    )
    out.put("exactly_bounded_floor", bool(exact and stands and learned and len(levels) == 2), refs)


def _limit(values: Values) -> float:
    """Where a curve would level off if it kept slowing down as it did over its thirds; minus infinity if it does not slow down.

    >>> bool(abs(_limit(np.array([1 + 0.5**n for n in range(9)])) - 1) < 0.01)
    True
    """
    parts = np.array_split(values, 3)
    early, middle, late = (float(median_of(part[-max(part.size // 3, 1) :])) for part in parts)
    before, after = early - middle, middle - late
    return late - after * after / (before - after) if before > after > 0 else -math.inf


def _costs_its_wrong(out: FactWriter, view: RunView) -> None:
    """Whether all that the loss fell is what the share of wrong answers did, above a level that no wrong answer explains."""
    learned: list[Series] = []
    told: list[Series] = []
    for loss, shares in _pairs(view):
        gained = float(np.ptp(shares.value))
        if len(loss) < ENOUGH or gained < MOVED_FAR or float(shares.value[-1]) < RIGHT_AT_LAST:
            continue
        learned.append(loss)
        together = loss.value + shares.value
        if float(np.ptp(together)) <= BESIDE_ITS_WRONG * gained and float(together.min()) >= NO_LESS_THAN:
            told.append(loss)
    if learned:
        out.put("costs_its_wrong", bool(told), ends_of((told or learned)[0]))


def _first_answers(out: FactWriter, view: RunView) -> None:
    """First training loss over what a guess costs that is right as often as the first answers are."""
    for loss, shares in () if is_total(view) else _pairs(view):
        right = float(shares.value[0])
        if loss.metric != "eval_loss" and 0 < right <= FEW_KNOWN and float(loss.value[0]) > 0:
            out.put("first_over_answers", float(loss.value[0]) / -math.log(right), refs_at(loss, [0]))
        return


def _right_before_sure(out: FactWriter, view: RunView, count: int | None) -> None:
    """Whether nearly all held-out answers were right before their loss fell, and as many after it."""
    known, shares = view.once(held_out_trend), shares_of(view, "eval_accuracy")
    rows = np.zeros(0, np.int64) if known is None or shares is None else align(known[0], shares)
    paired = np.flatnonzero(rows >= 0)
    if known is None or shares is None or paired.size < ENOUGH:
        return
    right, loss = shares.value[rows[paired]], known[0].value[paired]
    first = float(right[0])
    costly = float(loss[0]) >= TIMES_ITS_COST * most_of_the_sure(
        first, MOST_NAMED if count is None else count
    )
    one_level = (
        first >= NEARLY_ALL and float(right.max()) < 1.0 and abs(float(right[-1]) - first) <= ONE_LEVEL
    )
    fell = float(loss[-1]) <= MOST_LEFT * float(loss[0])
    out.put("right_before_sure", costly and one_level and fell, refs_at(known[0], [int(paired[0])]))


def _cheap_errors(out: FactWriter, view: RunView) -> None:
    """Whether to the end the loss is less than cross-entropy costs at that many wrong answers: it is another loss, or of others.

    Where the first row still fits, the loss fell, and no more answers count as right than before, the count is wrong.
    """
    if any(not _OTHER_LOSSES.isdisjoint(words_of(name)) for name in view.run.metrics.names):
        return
    for loss, shares in _pairs(view):
        third = len(loss) // 3
        if third < 1 or float(loss.value.min()) <= 0:
            continue
        wrong = 1.0 - shares.value
        least = CHEAP_ERRORS * math.log(2) * wrong
        cheap, late = loss.value < least, wrong[-third:]
        refs = end_of(loss)
        below = bool(cheap[-third:].all() and float(late.min()) >= MANY_WRONG)
        out.put("below_its_errors", below and float(late.max()) <= MOST_WRONG, refs)
        out.put("of_evaluations", below and _of_evaluations(view, shares), refs)
        fell = float(loss.value[0]) >= 2 * float(loss.value[-1]) and not cheap[0]
        out.put("learned_uncounted", below and fell and float(wrong[0] - late.min()) < MOVED, refs)
        return


def _of_evaluations(view: RunView, shares: Series) -> bool:
    """Whether an accuracy that says not of which samples it is stands in every second row of the loss or fewer, and gains no more.

    What costs time is done now and then: an evaluation. Such answers do not belong to the samples that the loss is of.
    """
    loss = view.curve("loss")
    held_out = any(view.curve(name) is not None for name in ("eval_accuracy", "eval_loss"))
    if loss is None or held_out or len(shares) < SOME_ROWS:
        return False
    late = shares.value[shares.value.size // 2 :]
    gained = float(late.max()) - float(shares.value[: shares.value.size // 2].max())
    return SPARSE * len(shares) <= len(loss) and "train" not in words_of(shares.logged_as) and gained < MOVED


def _order(out: FactWriter, view: RunView, count: int | None) -> None:
    """Whether training answers of an epoch are far worse than a guess while held-out ones are not.

    Samples that come class by class get the answers of the class before.
    """
    train, held_out = shares_of(view, "accuracy"), shares_of(view, "eval_accuracy")
    if train is None or held_out is None or len(train) != len(held_out):
        return  # rows of single batches: none right of sixteen is no accident of an epoch, but one of a batch
    pairs = [
        (float(train.value[at]), float(held_out.value[row]), row)
        for row, at in enumerate(align(held_out, train))
        if at >= 0
    ]
    if count is None:
        low = _passed_over(pairs)
    else:
        low = [
            row for right, held, row in pairs if right <= BELOW_A_GUESS / count and held >= GUESSES / count
        ]
    if pairs:
        out.put("training_below_guess", bool(low), refs_at(held_out, low or [pairs[0][2]]))


def _passed_over(pairs: list[tuple[float, float, int]]) -> list[int]:
    """Epochs whose training answers are next to never right between two evaluations that are not.

    What is right in both evaluations is right on the way from one to the other, however many classes there are. Where the two
    shares do not come near one another later, they are of different scale, not of different samples.
    """
    if not pairs or pairs[-1][0] < HALF_AS_OFTEN * pairs[-1][1]:
        return []
    return [
        row
        for (_, before, _), (right, after, row) in pairwise(pairs)
        if right <= HARDLY_EVER * min(before, after) and min(before, after) >= MORE_THAN_NONE
    ]
