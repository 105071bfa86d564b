"""What a guess would reach: loss and accuracy against ln(C) and 1/C, and the floor that a second softmax leaves.

The number of classes stands in the configuration or in the first epoch, whose loss and accuracy are those of a guess.
"""

from __future__ import annotations

import math

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curve import align
from analyzer.detect.curves.guess.certainty import clipped_cost, is_total
from analyzer.detect.curves.numerics.metric_values import small_percentages
from analyzer.detect.curves.plateau import USUAL, classes
from analyzer.detect.curves.progress import held_out_trend, loss_trend
from analyzer.detect.curves.span import begins_in_the_middle, long_enough
from analyzer.detect.curves.trend import Trend
from analyzer.model.arrays import Values
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series
from analyzer.record import replace

ENOUGH = 3
"""Epochs or logged windows after which a sound run has left the level of a guess."""

MOST_CLASSES = 1000
"""Numbers of classes that are looked for; of more, neighbours cannot be told apart by their logarithm."""

MOST_LOG = 14.0
"""ln of a million: no number of classes or tokens is larger."""

AGREES = 0.03
"""Relative distance from ln(C): an untrained head is a little worse than a guess."""

EXACT = 0.0005
"""Relative distance from ln(C) of a loss that is one answer for all: a C that it names so closely is no neighbour's."""

USUAL_AGREES = 0.05
"""The same for these: heads of transformers begin at 2.4 where ten classes are, and a mean over a first epoch ends below; eleven are rare."""

EVEN = (0.6, 1.3)
"""Share of right answers times C where the number is unusual, or the loss not so close: half learned answers fit some C by accident."""

NAMED_BY_LOSS = (2, 10, 100, 1000)
"""Numbers of classes that a loss alone may name; any other would fit some loss by accident."""

QUIET = 0.01
"""Scatter of one point below which the level of a loss alone may name a number of classes."""

LIKE_A_GUESS = 1.6
"""Accuracy over 1/C: classes are seldom balanced, and the largest of ten holds up to 16 %."""

CLIMBED, BETWEEN = 0.2, 3
"""A fifth of all answers more than at first, and three evaluations between: no leap from one class to another."""

GAIN_ROWS, GAINS, MOST_RIGHT = 8, 0.02, 0.75
"""Eight evaluations that gain two points, to where three of four are right: ranks of clicks gain no more from best to worst run."""

FEW_OF_A_CLASS, MANY_ROWS = 0.4, 5
"""The rarest of classes that are told still hold two fifths of an even share; five rows, of which most agree."""

WELL_BELOW = 0.85
"""Loss over ln(C) from which something was clearly learned."""

HALF_RIGHT, TIMES_A_GUESS = 0.5, 4.0
"""Half of the answers right, and four times as many as a guess gets: learned, whatever the loss of smoothed or unsure answers is."""

SUMMED = 5.0
"""Times the loss of a guess that a loss of sequences ends at: a sum over their places, not one of them answered so badly."""

NEAR = 0.93
"""A loss that ends above 93 % of ln(C) has learned next to nothing of C classes."""

FEW_RIGHT = 0.2
"""One answer in five after all that training: next to nothing, if there are not hundreds of classes."""

NEARLY_ALL = 0.9
"""Nine answers of ten right in the middle of a training."""

LITTLE, KEPT = 0.1, 0.3
"""Less than a tenth gained, or three tenths of the gain lost again."""

SURE = 0.75
"""Three answers of four are right: of few classes, a loss that was softmaxed once is half of what two softmaxes leave."""

FAR_START = 20.0
"""First over last: what a first epoch that exploded, or inputs out of scale, leave behind in a classifier."""

RAN_AWAY, STANDS, STANDS_ROWS = 1e4, 0.9, 5
"""Ten thousand times what followed, and of the third row nine tenths left at the end, over five rows and more: what the
first rows lost was the explosion, since a start at random costs tens of times what a model learns, not thousands."""

NOT_GUESSED = 0.35
"""Half of ln 2: no guess costs that little, whatever else is wrong."""

AT_IT = 0.975
"""Two and a half percent below ln(C) or less is the level of a guess, however it came about."""

FALLEN = 0.3
"""Of the first loss: once that much is lost, a loss on its way meets ln(C) of some C wherever the log ends."""

BEYOND = 14.0
"""ln of a million: what a guess among a million classes costs, and far more than any classifier that works."""

WORSE = 1.03
"""Clearly worse than a guess: confident in wrong answers."""

TWICE, ON_ITS_WAY = 0.12, 0.18
"""Distance from the loss that a second softmax gives at the accuracy of the same row, while it is not yet saturated: answers are
right before their probability is near 1, which half of the distance more allows to one that is followed over a wide range."""

LESS = 0.08
"""What such a loss may lie below that line: near a guess ln(C) + 1/C - ln(e + C - 1), 0.06 for ten classes, and
samples of a batch. Answers that are right before they are sure lie above it."""

WIDE, CLOSE, FEW_CLASSES = 0.3, 5, 8
"""At one accuracy some number of classes always fits; over a range of them only the true one does. A sound loss falls two
to three times as fast as its accuracy rises, and is lower: over any range it leaves the line by as much as the range, so
that a third of the range is enough for one that keeps to it within a fifth."""


def class_count(view: RunView) -> tuple[int, list[SourceRef]] | None:
    """Classes or tokens to choose from: as configured, else as the first loss and accuracy tell."""
    stated = classes(view)
    if stated is not None:
        return round(stated[0]), [] if stated[1] is None else [stated[1]]
    loss = view.once(loss_trend)
    if loss is None or loss[1].first <= 0:
        return None
    series, numbers = loss
    for name in ("accuracy", "eval_accuracy"):
        shares = shares_of(view, name)
        if shares is not None:
            found = _by_accuracy(view, series, shares)
            by_accident = found is not None and _passes_by(numbers, math.log(found[0]))
            return None if by_accident else found
    refs = refs_at(series, [0])
    if numbers.scatter > QUIET * numbers.first:
        return None
    # Language models begin anywhere, and 2.30 is as good a loss of one as any.
    speaks = view.has_habit("mostly-language") or "language" in view.framework_words("subject")
    named = NAMED_BY_LOSS[:1] if speaks else NAMED_BY_LOSS
    usual = [c for c in named if abs(numbers.first - math.log(c)) <= 0.01 * math.log(c)]
    return (usual[0], refs) if usual else None


def _by_accuracy(view: RunView, series: Series, shares: Series) -> tuple[int, list[SourceRef]] | None:
    """The C whose ln(C) is a loss and whose 1/C is the accuracy beside it; the worst row tells."""
    match = align(shares, series)
    pairs = [
        (float(series.value[row]), float(share))
        for row, share in zip(match, shares.value, strict=True)
        if row >= 0
    ]
    if not pairs:
        pairs = [(float(series.value[0]), float(shares.value[0]))]
    held_out = view.once(held_out_trend)
    if held_out is not None:
        own = shares_of(view, "eval_accuracy")
        pairs.append((held_out[1].first, float((shares if own is None else own).value[0])))
    refs = [*refs_at(series, [0]), *refs_at(shares, [0])]
    if (usual := _in_most_rows(pairs)) is not None:
        return usual, refs
    worst = sorted(pairs, key=lambda pair: pair[1])[:3]
    if held_out is not None:
        # An evaluation at ln(C) to two digits tells more than a first epoch, which holds what came before it got there.
        worst.sort(key=lambda pair: min(abs(pair[0] / math.log(c) - 1) for c in USUAL) > EXACT)
        worst = [*([pairs[-1]] if any(_is_usual_guess(c, *pairs[-1], QUIET) for c in USUAL) else []), *worst]
    for loss, share in worst:
        count = round(math.exp(loss)) if 0 < loss < math.log(MOST_CLASSES) else 0
        options = [c for c in (count - 1, count, count + 1, *USUAL) if c >= 2]
        for fits in (_is_usual_guess, _is_even_guess):
            if close := [c for c in options if fits(c, loss, share)]:
                return min(close, key=lambda c: (c not in USUAL, abs(loss - math.log(c)))), refs
    return None


def _is_usual_guess(count: int, loss: float, share: float, agrees: float = AGREES) -> bool:
    """Whether loss and share of right answers are those of a guess among a usual number."""
    close = abs(loss / math.log(count) - 1.0) <= agrees
    return count in USUAL and close and FEW_OF_A_CLASS <= share * count <= LIKE_A_GUESS


def _is_even_guess(count: int, loss: float, share: float) -> bool:
    """The same of an unusual number, or of a usual one further away: the answers must fit it closely."""
    close = abs(loss / math.log(count) - 1.0) <= (USUAL_AGREES if count in USUAL else AGREES)
    return close and EVEN[0] <= share * count <= EVEN[1]


def _in_most_rows(pairs: list[tuple[float, float]]) -> int | None:
    """The usual number of classes whose guess most rows are: of a run that stays there the first row may be far above."""
    for count in USUAL:
        uniform = math.log(count)
        rows = sum(
            abs(loss - uniform) <= QUIET * uniform and FEW_OF_A_CLASS / count <= share <= LIKE_A_GUESS / count
            for loss, share in pairs
        )
        if len(pairs) >= MANY_ROWS and rows > len(pairs) / 2:
            return count
    return None


def shares_of(view: RunView, name: str) -> Series | None:
    """An accuracy as shares of one, its finite points only; what lies below zero, but for the -1 of no value, counts no answers."""
    series = view.finite(name)
    if series is None or bool(((series.value < 0) & (series.value != -1.0)).any()):
        return None
    top = float(series.value.max())
    in_percent = top > 1.0 or name in view.once(small_percentages)
    return replace(series, value=series.value / 100.0) if in_percent else series


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.chance.*``."""
    _second_softmax(out, view)
    found = view.once(class_count)
    if found is not None and not _summed_over_places(view, found[0]):
        count, refs = found
        out.put("classes", count, refs)
        _training(out, view, count)
        _held_out(out, view, count)
    _poor(out, view)


def _poor(out: FactWriter, view: RunView) -> None:
    """Combined signs for gates: whether the end is poor, and whether the first epoch exploded and training never recovered."""
    loss = view.once(loss_trend)
    if loss is None:
        return
    numbers, refs = loss[1], ends_of(loss[0])
    right = [accuracy_at_end(view, name) for name in ("accuracy", "eval_accuracy")]
    few = [share[0] <= FEW_RIGHT for share in right if share is not None]
    guess = any(
        out.facts[f"signal.chance.{name}"].value is True
        for name in ("training", "held_out")
        if f"signal.chance.{name}" in out.facts
    )
    if numbers.last > 0:
        held_out = view.once(held_out_trend)
        early = [numbers.values[:2], *([] if held_out is None else [held_out[1].values[:1]])]
        far = float(np.concatenate(early).max()) >= FAR_START * numbers.last
        untaught = out.facts.get("signal.chance.training")
        at_guess = bool(few) and few[0] if few else untaught is not None and untaught.value is True
        at_guess = at_guess and numbers.last >= NOT_GUESSED
        out.put(
            "exploded_at_once", (far and at_guess) or (not few and _came_down_and_stands(loss[0].value)), refs
        )
    if few and not is_total(view):
        # what has lost half of its start and falls has only begun (CTC starts with the length of a line)
        begun = numbers.falls() and numbers.last <= numbers.values[0] / 2 and not _stands(numbers.values)
        beyond = numbers.last >= BEYOND and not begun
        clipped = view.once(
            clipped_cost
        )  # saturated outputs cost that much from the first row on; nothing ran away
        beyond = beyond and (clipped is None or clipped[0] is None)
        of_one = not _of_sequences(view)  # a whole sequence costs the sum of its places
        out.put("far_beyond", beyond and all(few) and of_one, refs)
        high = beyond or float(numbers.values[0]) >= 2 * BEYOND
        # whose weights know nearly all answers by now has logits in scale: such a loss is a sum over samples
        known = max(share[0] for share in right if share is not None) >= NEARLY_ALL
        summed = known and begins_in_the_middle(view, loss[0])
        out.put("out_of_scale", high and not all(few) and of_one and not summed, refs)
    worse = not begins_in_the_middle(view, loss[0]) and (
        not numbers.falls()
        or numbers.fall < LITTLE * numbers.size
        or numbers.last - numbers.best > KEPT * numbers.gain
    )
    out.put("poor", bool(guess or (few and all(few)) or (worse and not _answers_gain(view))), refs)


def _stands(values: Values) -> bool:
    """Whether the later half of five rows and more lies within a tenth."""
    late = values[values.size // 2 :]
    return values.size >= STANDS_ROWS and bool(STANDS * late.max() <= late.min())


def _passes_by(numbers: Trend, uniform: float) -> bool:
    """Whether a loss that began far above a guess still falls in its later half: near the guess it is by accident."""
    late = numbers.smooth[numbers.smooth.size // 2 :]
    far = numbers.first * (1 - FALLEN) >= uniform
    return far and numbers.falls() and bool(late[-1] < STANDS * late[0])


def _came_down_and_stands(values: Values) -> bool:
    """Whether a loss fell from a height that no start explains within two rows, and then no further."""
    if values.size < STANDS_ROWS or not bool((values > 0).all()):
        return False
    last = float(median_of(values[-3:]))
    return float(values[0]) >= RAN_AWAY * last and last >= STANDS * float(values[2])


def _answers_gain(view: RunView) -> bool:
    """Whether three of four held-out answers are right, most of all at the end, while the loss has little left to lose."""
    held_out = shares_of(view, "eval_accuracy")
    if held_out is None or len(held_out) < GAIN_ROWS:
        return False
    values = held_out.value
    last = float(median_of(values[-3:]))
    return last >= MOST_RIGHT and last >= float(values.max()) - GAINS / 2 and last - float(values[0]) >= GAINS


_SEQUENCE = word_set("edit ned wer cer per ter ctc bleu rouge rec sar")


def _of_sequences(view: RunView) -> bool:
    """Whether whole sequences are right or wrong: their loss is a sum over places, and few are right for long."""
    return any(not _SEQUENCE.isdisjoint(words_of(name)) for name in view.run.metrics.names)


def _summed_over_places(view: RunView, count: int) -> bool:
    """Whether the loss is one of whole sequences, such as CTC's, of which the number of letters tells no guess."""
    loss = view.once(loss_trend)
    return loss is not None and _of_sequences(view) and loss[1].last >= SUMMED * math.log(count)


def accuracy_at_end(view: RunView, name: str) -> tuple[float, list[SourceRef]] | None:
    """Level of an accuracy at the end, as a share of one, with its place; that of an untrained model is none."""
    shares, loss = shares_of(view, name), view.curve("loss")
    if shares is None or (
        loss is not None
        and len(loss) >= ENOUGH
        and shares.step_at(-1) == 0
        and shares.line.max() < loss.line.min()
    ):
        return None
    tail = shares.value[-max(len(shares) // 10, 1) :]
    return float(median_of(tail)), end_of(shares)


def _training(out: FactWriter, view: RunView, count: int) -> None:
    loss = view.once(loss_trend)
    if loss is None:
        return
    series, numbers = loss
    uniform = math.log(count)
    refs = ends_of(series)
    known = accuracy_at_end(view, "accuracy")
    guess = None if known is None else known[0] <= max(LIKE_A_GUESS / count, 1 / count + 0.02)
    refs = refs if known is None else [*refs, *known[1]]
    out.put("loss_over_uniform", numbers.last / uniform, refs)
    out.put("first_over_uniform", float(numbers.values[0]) / uniform, refs)
    right = max(
        (found[0] for found in (known, accuracy_at_end(view, "eval_accuracy")) if found is not None),
        default=0.0,
    )
    out.put("many_right", right >= max(HALF_RIGHT, TIMES_A_GUESS / count), refs)
    if len(series) < ENOUGH:
        return
    near = numbers.last >= NEAR * uniform and (
        numbers.last >= AT_IT * uniform or numbers.fall <= LITTLE / 2 * numbers.first
    )
    # Divided by a number of samples too many, a loss says nothing of its level; answers and its standing still do.
    near = near or (bool(guess) and abs(numbers.fall) <= LITTLE / 2 * numbers.first)
    near = near and long_enough(view, series) and not _passes_by(numbers, uniform)
    # An accuracy beside it decides: a loss near ln(C) with most answers right is another matter.
    out.put("training", near and guess is not False, refs)
    out.put("worse_than_guess", numbers.last >= WORSE * uniform and guess is not False, refs)
    out.put("training_learned", numbers.last <= WELL_BELOW * uniform if guess is None else not guess, refs)


def _held_out(out: FactWriter, view: RunView, count: int) -> None:
    uniform = math.log(count)
    known, held_out = accuracy_at_end(view, "eval_accuracy"), view.once(held_out_trend)
    guess = None if known is None else known[0] <= max(LIKE_A_GUESS / count, 1 / count + 0.02)
    costs = view.curve("eval_loss")
    if guess and known is not None and costs is not None and 0.5 <= known[0] < 1.0:
        # One answer for all costs at least the entropy of the share that it gets right.
        alike = -known[0] * math.log(known[0]) - (1 - known[0]) * math.log(1 - known[0])
        guess = not float(costs.value[-1]) < NEAR * alike
    guess = guess and not _climbs(view)
    if held_out is None and guess is None:
        return
    refs = [] if known is None else known[1]
    bad = None
    if held_out is not None:
        refs = [*refs, *end_of(held_out[0])]
        bad = held_out[1].last >= NEAR * uniform
        out.put("held_out_over_uniform", held_out[1].last / uniform, refs)
        never = float(held_out[1].smooth.min()) >= NEAR * uniform
        out.put("held_out_never_better", never and guess is not False, refs)
    out.put("held_out", bool(guess) if guess is not None else bad, refs)


def _climbs(view: RunView) -> bool:
    """Whether held-out answers rose by a fifth of all step by step: one answer for all samples is as often right each time, or leaps."""
    shares = shares_of(view, "eval_accuracy")
    if shares is None or len(shares) < GAIN_ROWS:
        return False
    first, last = float(shares.value[0]), float(median_of(shares.value[-3:]))
    between = (shares.value > first + GAINS) & (shares.value < last - GAINS)
    return last - first >= CLIMBED and int(between.sum()) >= BETWEEN


def _second_softmax(out: FactWriter, view: RunView) -> None:
    """Whether loss and accuracy of each row fit a softmax of a softmax: ln(e + C - 1) minus the accuracy, nearly.

    Probabilities near 0 and 1 taken for logits give log(e + C - 1) - 1 for a right answer and one more for a wrong.
    """
    points = view.once(loss_trend)
    if points is None:
        return
    for loss, name in ((points[0], "accuracy"), (_eval(view), "eval_accuracy")):
        shares = shares_of(view, name)
        if loss is None or shares is None:
            continue
        match = align(loss, shares)
        rows = np.flatnonzero(match >= 0)
        if rows.size < ENOUGH:
            continue
        losses, right = loss.value[rows], shares.value[match[rows]]
        stated = view.once(class_count)
        told_by_rows = float(
            np.exp(min(float(median_of((losses + right)[-max(rows.size // 4, 2) :])), MOST_LOG)) - math.e + 1
        )
        count = told_by_rows if stated is None else stated[0]
        beyond = losses + right - math.log(math.e + max(count, 2) - 1)
        fits = np.abs(beyond)
        learned = right >= max(LIKE_A_GUESS / max(count, 2), 0.25)
        range_ = float(np.ptp(right[learned])) if learned.any() else 0.0
        # Of few classes a loss that has only begun to fall fits as well: what decides is an accuracy that a second softmax
        # alone puts beside so high a loss.
        enough = range_ >= WIDE or (range_ >= WIDE / 3 and float(fits[learned].max()) <= range_ / CLOSE)
        wide = enough and float(right[-1]) >= SURE if count < FEW_CLASSES else range_ >= WIDE / 2
        told = stated is not None or (count >= 2.8 and wide)
        most = ON_ITS_WAY if range_ >= WIDE else TWICE
        fitting = learned.sum() >= ENOUGH and float(fits[learned].max()) <= most and bool(learned[-1])
        fitting = fitting and float(median_of(fits[-max(rows.size // 2, 2) :])) <= TWICE / 3
        fitting = fitting and float(beyond[learned].min()) >= -LESS
        out.put("second_softmax", bool(told and fitting), refs_at(loss, [int(rows[-1])]))
        return


def _eval(view: RunView) -> Series | None:
    found = view.once(held_out_trend)
    return None if found is None else found[0]
