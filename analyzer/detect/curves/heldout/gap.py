"""Training against held-out data: whether they agree, and since when they do not.

What was never gained on held-out data is no overfitting: a gap that stands at the first evaluation, answers worse than a
guess, and scores that never moved point at labels, at the preparation of the held-out data, or at the mode of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, number, refs_at
from analyzer.detect.curve import align, has_steps
from analyzer.detect.curves.guess.chance import class_count, shares_of
from analyzer.detect.curves.heldout.scores import scores_of
from analyzer.detect.curves.numerics.bad_points import values_beside
from analyzer.detect.curves.progress import held_out_trend, loss_trend
from analyzer.detect.curves.span import begins_in_the_middle, continues_a_model
from analyzer.detect.curves.trend import Trend
from analyzer.model.arrays import Values
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series

ROWS = 2
"""Evaluations beside a training loss from which their ratio is told."""

EARLY_EPOCHS = 2.0
"""After more passes than that the first evaluation may meet samples that are known by heart."""

APART, SCORES_APART = 1.5, 0.25
"""Held-out over training loss, and difference of accuracies, that no sound first epoch shows."""

STILL_WRONG = 0.2
"""A fifth of the first training loss: held-out data that cost less at their first evaluation are prepared as the others are."""

NEVER = 0.05
"""A twentieth of its first value: what a held-out loss must fall to have gained anything."""

LEARNED = 0.2
"""A fifth of the training loss gone: the training data are being learned."""

ANSWERS_OTHERS = 0.5
"""Half of what a guess gets right, while training is learned: the answers are those to other labels."""

NONE_RIGHT, EARLY_RIGHT = 0.05, 0.8
"""Not one held-out answer in twenty, at any evaluation, while four of five training answers are right early."""

BELOW_START = 0.93
"""Held-out loss at its best over the first training loss: what was not gained even against an untrained model."""

FELL_BACK, BEST_EARLY = 0.15, 3
"""Fifteen points of held-out accuracy lost against one of the first three evaluations: too many passes seldom cost a third of that."""

OF_THE_EPOCH = 1.15
"""Held-out loss over the training mean of the first epoch, which holds its beginning and is higher than its end."""

OPENED = 3.0
"""Held-out over training loss at the end of a run that began with both alike."""

RUNS_ON = 30
"""Evaluations of which no two scatter: a score of a held-out set that is learned falls back by a sample now and then."""

SCORE_GAINED = 0.05
"""A twentieth of the first score: more than evaluations of one model differ by."""

CHASM = 20.0
"""Held-out over training loss of which one evaluation is enough: no scatter of a few batches makes that."""

OUTWEIGHS, NEARLY_ALL = 5.0, 0.8
"""Training over held-out loss, at every evaluation, which no dropout and no augmentation makes. A sum that is printed beside a
mean is as large, but falls as the mean does."""

BEHIND_EPOCH = 0.08
"""Held-out answers after the first epoch behind the mean of its training answers, which were given while it learned."""

LEAPT, ROSE, LEAP_ROWS = 3.0, 1.05, 3
"""Held-out loss at three times its level within three evaluations, while the training loss of the same rows rose by a twentieth: both
were thrown off by updates, where samples that are known by heart go on to cost less."""

ABOVE_UNTRAINED, GAINS = 1.1, 0.8
"""Training loss a tenth above that of its first rows, where held-out loss falls by a fifth: what throws weights off costs both."""

WHOLE, STAYS, WHOLE_ROWS, MOST_STEPS = 0.02, 0.1, 3, 64
"""First training over first held-out loss within two percent of a whole number, and within a tenth of it at the next evaluations
too, over half of them, while both fall: accumulation steps that are added and not averaged. The mean of a first epoch is twice what follows as
well, but not again; of more than 64 a sum over batches or samples is as likely."""

SAME_SCORE = 0.01
"""Held-out answers that are right a point more often than those of training: as often, within their scatter."""

EASIER, EASIER_SCORE, EASIER_ROWS = 1.3, 0.12, 3
"""Training loss over held-out loss, or accuracy below it, to the end: training is made harder than it need be."""


FEW_PASSES, SURELY, FAR_BEHIND, MANY_RIGHT = 3.0, 0.9, 0.35, 0.7
"""Nine of ten training answers right within three passes, as they were given while it learned: what is known by heart, sample by
sample, takes more, so it is what holds for all samples; of held-out ones a third fewer are right then, and seven of ten never."""

MOST_RIGHT, TAUGHT = 0.75, 0.5
"""Three of four held-out answers right, and half of all more than at first: mixed, cut or blurred samples may be that hard."""

AGAIN, GAINED_BEFORE, ROSE_BESIDE = 0.95, 0.2, 1.3
"""Held-out loss within a twentieth of its first value or above it, after a fifth of that had been gained, where the training rows
since the evaluation before cost three tenths more than those before it: a hard evaluation leaves the training loss alone."""

STOOD, STOOD_ROWS = 0.9, 3
"""Nine tenths of the training loss beside the evaluation after the best, over three evaluations and more: it stands."""

_THE_LOSS_ITSELF = word_set("ppl perplexity best")


def _first_epoch(view: RunView, held_out: Series) -> bool | None:
    """Whether the first evaluation was made within two epochs; None if nothing counts epochs."""
    epochs = view.curve("epoch")
    if epochs is None or not len(epochs) or not np.isfinite(epochs.value).all():
        return None
    if not (has_steps(epochs) and has_steps(held_out)):
        beside = values_beside(view, held_out, "epoch")
        return None if beside is None or not beside[0][0] else float(beside[1][0]) <= EARLY_EPOCHS
    before = epochs.value[epochs.step <= held_out.step[0]]
    return None if not before.size else float(before[-1] - min(epochs.value[0], 1.0)) <= EARLY_EPOCHS


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.gap.*``."""
    train, held_out = view.once(loss_trend), view.once(held_out_trend)
    middle = train is not None and begins_in_the_middle(view, train[0])
    if train is not None and held_out is not None:
        _back_at_first(out, train[0], held_out[0])
        early = _first_epoch(view, held_out[0]) is not False and not middle
        _losses(out, train, held_out, early=early)
        if middle:
            _in_the_middle(out, train, held_out)
        elif early and not continues_a_model(view) and not _knows_at_first(view):
            _against_the_start(out, train, held_out)
    _chasm(out, view)
    _score_gained(out, view)
    _scores(out, view, train, early=not middle)
    if out.facts:
        shares = shares_of(view, "eval_accuracy")
        if shares is None:
            out.put("right", 0.0, next(iter(out.facts.values())).refs)
        else:
            best = int(shares.value.argmax())
            out.put("right", float(shares.value[best]), refs_at(shares, [best]))


def beside(held_out: Series, train: Series) -> list[tuple[float, float]]:
    """Held-out loss and the training loss of the time before it, evaluation by evaluation."""
    if not (has_steps(held_out) and has_steps(train)):
        match = align(held_out, train)
        if (match >= 0).any():
            return [
                (float(held_out.value[row]), float(train.value[at]))
                for row, at in enumerate(match)
                if at >= 0
            ]
        if len(held_out) == len(train):  # a line of its own for each, epoch by epoch
            return list(zip(held_out.value.tolist(), train.value.tolist(), strict=True))
        if not _in_one_file(held_out, train):
            return []
    pairs: list[tuple[float, float]] = []
    for row, near in since_the_last(held_out, train):
        # The last third of the interval: at its start the model was another one. Its mean, as an evaluation is one of
        # all samples: where rare samples cost most, the usual batch costs less.
        pairs.append((float(held_out.value[row]), float(np.mean(near[-max(near.size // 3, 1) :]))))
    return pairs


def _in_one_file(first: Series, second: Series) -> bool:
    """Whether lines of one file tell which of two points came first."""
    sources = np.concatenate([first.source, second.source])
    return bool((sources == sources[0]).all() and (first.line > 0).all() and (second.line > 0).all())


def since_the_last(held_out: Series, train: Series) -> Iterator[tuple[int, Values]]:
    """Row of each evaluation, and the training values since the one before, by step or else by line; rows without any are left out."""
    steps = has_steps(held_out) and has_steps(train)
    at, evaluated = (train.step, held_out.step) if steps else (train.line, held_out.line)
    order = np.argsort(at, kind="stable")
    values = train.value[order]
    ends = np.searchsorted(at[order], evaluated, side="right")
    begins = np.concatenate(([0], ends[:-1]))
    for row, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        if begin < end:
            yield row, values[begin:end]


def _learned_by_then(train: Series, held_out: Series, first: float) -> bool:
    """Whether the training had learned when it was evaluated last: of what it learned since then no evaluation tells."""
    steps = has_steps(held_out) and has_steps(train)
    if not (steps or _in_one_file(held_out, train)):
        return True
    at, last = (train.step, held_out.step.max()) if steps else (train.line, held_out.line.max())
    before = train.value[at <= last]
    latest = before[-max(before.size // 5, 1) :]
    return bool(
        before.size and (before.size == len(train) or float(np.mean(latest)) <= (1 - LEARNED) * first)
    )


def _back_at_first(out: FactWriter, train: Series, held_out: Series) -> None:
    """Whether held-out and training loss leapt back to their first level together, and held-out loss fell below its old best after that."""
    means = {row: float(np.mean(near)) for row, near in since_the_last(held_out, train)}
    values = held_out.value
    if len(values) < 2 * ROWS or float(values[0]) <= 0:
        return
    first = float(values[0])
    for row in range(ROWS, len(values) - 1):
        best, before, beside_it = float(values[:row].min()), means.get(row - 1), means.get(row)
        if before is None or beside_it is None or first - best < GAINED_BEFORE * first:
            continue
        held_out_lost = values[row - 1] <= (first + best) / 2 and values[row] >= AGAIN * first
        if held_out_lost and beside_it >= ROSE_BESIDE * before > 0 and values[row + 1 :].min() < best:
            out.put("back_at_first", value=True, refs=refs_at(held_out, [row - 1, row]))
            return
    out.put("back_at_first", value=False, refs=ends_of(held_out))


def _losses(
    out: FactWriter, train: tuple[Series, Trend], held_out: tuple[Series, Trend], *, early: bool
) -> None:
    pairs = beside(held_out[0], train[0])
    refs = [*ends_of(held_out[0]), *end_of(train[0])]
    learned = train[1].first > 0 and train[1].fall >= LEARNED * train[1].first
    if len(held_out[0]) >= ROWS and held_out[1].first > 0:
        # The first evaluation stands at the end of an epoch; what the training lost since then counts.
        out.put("held_out_gained", held_out[1].gain / held_out[1].first, refs)
        never = held_out[1].gain <= NEVER * held_out[1].first
        by_then = learned and _learned_by_then(train[0], held_out[0], train[1].first)
        out.put("never_generalised", by_then and never, refs)
    if len(pairs) < ROWS or min(min(pair) for pair in pairs) <= 0:
        return
    first, last = pairs[0][0] / pairs[0][1], pairs[-1][0] / pairs[-1][1]
    out.put("first_ratio", first, refs)
    out.put("last_ratio", last, refs)
    if early:
        apart = first >= APART and pairs[1][0] / pairs[1][1] >= APART
        out.put("from_start", apart and pairs[0][0] >= STILL_WRONG * float(train[0].value[0]), refs)
        factor = round(1.0 / first) if first * MOST_STEPS >= 0.5 else 0
        whole = 2 <= factor <= MOST_STEPS and abs(1.0 / first / factor - 1.0) <= WHOLE
        ratios = [loss / value / max(factor, 1) for value, loss in pairs[: max(WHOLE_ROWS, len(pairs) // 2)]]
        if whole and len(pairs) >= WHOLE_ROWS and max(abs(ratio - 1.0) for ratio in ratios) <= STAYS:
            out.put("whole_multiple", factor, refs)
    out.put("leapt_together", _leapt_together(pairs), refs)
    out.put("training_stood", _training_stood(pairs, float(train[0].value[0])), refs)
    out.put("samples_changed", _samples_changed(train[0], held_out[0], pairs), refs)
    tail = pairs[-EASIER_ROWS:]
    # An epoch whose last, smaller batch is dropped may miss the few samples that outweigh the others.
    share = sum(value >= OUTWEIGHS * loss for loss, value in pairs) / len(pairs)
    heavy = share >= NEARLY_ALL and held_out[1].gain >= LEARNED * held_out[1].first
    late = float(median_of(train[1].values[train[1].values.size // 2 :]))
    out.put("outweighed", heavy and late > (1 - 2 * NEVER) * train[1].first, refs)
    out.put("opened", first < APART and last >= OPENED, refs)
    if len(pairs) >= EASIER_ROWS:
        out.put("training_harder", all(loss >= EASIER * value for value, loss in tail), refs)


def _training_stood(pairs: list[tuple[float, float]], first: float) -> bool:
    """Whether held-out loss rose far above its best while the training loss, of which much was left, stood: nothing was learned by heart.

    >>> _training_stood([(0.7, 1.1), (0.8, 0.83), (3.1, 0.82), (1.9, 0.84), (7.0, 0.83)], 3.0)
    True
    >>> _training_stood([(0.7, 0.9), (0.8, 0.7), (1.1, 0.5), (1.4, 0.3), (1.7, 0.2)], 3.0)
    False
    """
    best = min(range(len(pairs)), key=lambda row: pairs[row][0])
    since = pairs[best + 1 :]
    if len(since) < STOOD_ROWS:
        return False
    value = sorted(value for value, _ in since)[len(since) // 2]
    late = sorted(loss for _, loss in since[len(since) // 2 :])[len(since) // 4]
    return value >= APART * pairs[best][0] and late >= max(STOOD * since[0][1], STILL_WRONG * first)


def _samples_changed(train: Series, held_out: Series, pairs: list[tuple[float, float]]) -> bool:
    """Whether training loss leapt above that of the untrained model while held-out loss gained: the weights hold, other samples came."""
    if len(train) == len(held_out) == len(pairs):  # rows of epochs
        peaks = [loss for _, loss in pairs]
    else:
        peaks = [float(near.max()) for _, near in since_the_last(held_out, train)]
    return len(peaks) == len(pairs) and any(
        peak >= max(ABOVE_UNTRAINED * peaks[0], LEAPT * before) and value <= GAINS * held
        for (held, before), (value, _), peak in zip(pairs[1:], pairs[2:], peaks[2:], strict=False)
    )


def _leapt_together(pairs: list[tuple[float, float]]) -> bool:
    """Whether held-out loss left its level for good by a leap in which training loss rose with it.

    >>> _leapt_together([(11.6, 151.0), (210.0, 177.0), (190.0, 217.0), (60.0, 70.0)]), _leapt_together([(0.4, 0.3), (1.3, 0.1), (1.4, 0.05)])
    (True, False)
    >>> _leapt_together([(0.4, 0.5), (0.41, 0.4), (0.42, 0.4), (0.43, 0.4), (0.42, 0.4), (2.1, 0.5), (1.9, 0.4)])
    True
    """
    losses = [loss for loss, _ in pairs]
    lowest_left = list(accumulate(reversed(losses), min))[::-1]
    for row in range(1, len(losses)):
        near = slice(max(row - LEAP_ROWS, 0), row)
        level = sorted(losses[near])[len(losses[near]) // 2]
        if losses[row] >= LEAPT * level and lowest_left[row] >= LEAPT / 2 * level:
            before = min(value for _, value in pairs[near])
            if max(value for _, value in pairs[row : row + LEAP_ROWS]) >= ROSE * before:
                return True
    return False


def _score_gained(out: FactWriter, view: RunView) -> None:
    """Whether a score on held-out data ends at its best, a twentieth and more better than at the first evaluation."""
    held = [score for score in view.once(scores_of) if score.reading.phase == "eval" and score.reading.whole]
    # A perplexity is the held-out loss once more, and a running best never ends below itself.
    held = [score for score in held if _THE_LOSS_ITSELF.isdisjoint(words_of(score.name))]
    held = [score for score in held if not _runs_on(score.reading.better * score.values)]
    long = [score for score in held if len(score.series) >= ROWS]
    better = [score for score in long if _ends_at_best(score.reading.better * score.values)]
    found = [score.series for score in better or long] + [
        s for s in [view.curve("eval_loss")] if s is not None
    ]
    if found:
        out.put("score_gained", bool(better), ends_of(found[0]))


def _runs_on(values: Values) -> bool:
    """Whether a score rises in every one of many rows: a mean over all batches so far, which Keras prints of an overlap, and no score of an evaluation."""
    return values.size >= RUNS_ON and bool((np.diff(values) > 0).all())


def _ends_at_best(values: Values) -> bool:
    """Whether the last value is a twentieth better than the first, and what is missing to the best no more than that, or than a twentieth of all gained."""
    least = SCORE_GAINED * abs(float(values[0]))
    missing, gained = float(values.max() - values[-1]), float(values.max() - values[0])
    return float(values[-1] - values[0]) >= least and missing <= max(least, SCORE_GAINED * gained)


def _knows_at_first(view: RunView) -> bool:
    """Whether the first evaluation gets nine answers of ten right: its model had learned them before the first row."""
    shares = shares_of(view, "eval_accuracy")
    return shares is not None and float(shares.value[0]) >= SURELY


def _against_the_start(out: FactWriter, train: tuple[Series, Trend], held_out: tuple[Series, Trend]) -> None:
    """Whether held-out data gained anything against the first training loss, that of a model that knew nothing yet.

    In the first pass every training sample is as new as a held-out one, so both cost the same if they are measured alike.
    """
    if len(held_out[0]) < ROWS:
        return
    refs = [*ends_of(held_out[0]), *ends_of(train[0])]
    start, low = float(train[0].value[0]), held_out[1].best
    if start <= 0 or low <= 0:
        return
    parted = train[1].falls() and train[1].last <= BELOW_START * low
    # The first row may be the mean of an epoch that was learned in: what fell from its own first evaluation was gained.
    gained = low < BELOW_START * float(held_out[0].value[0])
    out.put("never_below_start", low >= BELOW_START * start and parted and not gained, refs)
    first = float(held_out[0].value[0])
    if len(train[0]) == len(held_out[0]):  # rows of epochs
        out.put("above_epoch_mean", first >= OF_THE_EPOCH * start and parted, refs)


def _chasm(out: FactWriter, view: RunView) -> None:
    """Whether the last evaluation costs many times what training does, even if it is the only one."""
    train, held_out = view.finite("loss", 1), view.finite("eval_loss", 1)
    if train is None or held_out is None or not len(held_out):
        return
    level, last = float(median_of(train.value[-EASIER_ROWS:])), float(held_out.value[-1])
    if level > 0 and last > 0:
        refs = [*end_of(held_out), *end_of(train)]
        times = CHASM if len(train) >= EASIER_ROWS else CHASM**2  # of a lone pair the one may be a sum
        out.put("chasm", last >= times * level and last >= 1.0, refs)


def _in_the_middle(out: FactWriter, train: tuple[Series, Trend], held_out: tuple[Series, Trend]) -> None:
    """Of a log that lacks its beginning: whether the losses are far apart, and the held-out one rises all the same."""
    pairs = beside(held_out[0], train[0])
    if len(pairs) < EASIER_ROWS or min(min(pair) for pair in pairs) <= 0:
        return
    apart = min(held / loss for held, loss in pairs) >= APART
    refs = [*ends_of(held_out[0]), *end_of(train[0])]
    out.put("stands_open", apart and held_out[1].rises() and not train[1].rises(), refs)


def _scores(out: FactWriter, view: RunView, train: tuple[Series, Trend] | None, *, early: bool) -> None:
    known = {name: view.finite(name) for name in ("accuracy", "eval_accuracy")}
    right, held_out = known["accuracy"], known["eval_accuracy"]
    if held_out is None or len(held_out) < ROWS:
        return
    top = max(float(series.value.max()) for series in (right, held_out) if series is not None)
    unit = 100.0 if top > 1.0 else 1.0
    refs = ends_of(held_out)
    count = view.once(class_count)
    learned = right is not None and float(median_of(right.value[-2:])) / unit >= 0.5
    if train is not None and right is None:
        learned = train[1].first > 0 and train[1].fall >= 0.5 * train[1].first
    # That the loss halved says little of answers: a tagger or detector gives none at all for long.
    wrong = float(np.max(held_out.value)) / unit <= NONE_RIGHT
    none = wrong and learned and right is not None and _learned_early(right, unit)
    if count is not None or none:
        low = count is not None and float(np.max(held_out.value[-3:])) / unit <= ANSWERS_OTHERS / count[0]
        out.put("answers_other_labels", bool(none or (low and learned)), refs)
    if right is None:
        return
    best = int(held_out.value.argmax())
    lost = float(held_out.value[best] - median_of(held_out.value[-2:])) / unit
    knows = float(median_of(right.value[-2:])) >= float(right.value.max()) - SCORES_APART / 5 * unit
    after = held_out.value[best + 1 :]
    # to the last digit the same at each evaluation: one answer for every sample, of which training says why
    one_answer = after.size >= ROWS and bool((after == after[0]).all())
    out.put(
        "score_fell_back",
        best < BEST_EARLY and lost >= FELL_BACK and knows and not one_answer,
        [*refs, *refs_at(held_out, [best])],
    )
    # Of a log per step the rows since the evaluation before: one batch answers by chance.
    since = max(2, len(right) // len(held_out))
    last = float(median_of(right.value[-since:]) - median_of(held_out.value[-2:])) / unit
    refs = [*refs, *end_of(right)]
    out.put("score_last", last, refs)
    # Beside its evaluation: the first rows of a log per step are answers of a model that knew nothing yet.
    pairs = beside(held_out, right)
    if pairs:
        first = (pairs[0][1] - pairs[0][0]) / unit
        out.put("score_first", first, refs)
        if early:
            _apart_at_once(out, right, held_out, first, refs)
            if not continues_a_model(view):
                out.put("learned_in_few_passes", _learned_in_few_passes(view, held_out, pairs, unit), refs)
        if max(abs(first), abs(last)) <= 2 * SAME_SCORE:  # other data would be answered otherwise
            for name in ("from_start", "chasm"):
                out.put(name, value=False, refs=refs)
    if min(len(right), len(held_out)) >= EASIER_ROWS:
        _harder(out, held_out, unit, last, refs)


def _apart_at_once(
    out: FactWriter, right: Series, held_out: Series, first: float, refs: list[SourceRef]
) -> None:
    """Whether training answers are ahead at the first evaluation: of rows of epochs their means hold an untrained model's."""
    out.put("score_from_start", first >= SCORES_APART, refs)
    if len(right) == len(held_out):
        out.put("score_behind_epoch_mean", first >= BEHIND_EPOCH, refs)


def _learned_in_few_passes(
    view: RunView, held_out: Series, pairs: list[tuple[float, float]], unit: float
) -> bool | None:
    """Whether training answers are nearly all right after so few passes that held-out ones of the same kind would be.

    None where evaluations and training answers do not stand beside one another.
    """
    if len(pairs) != len(held_out):
        return None
    few = sum(passes <= FEW_PASSES for passes in _passes(view, held_out))
    taught = any(
        right >= SURELY * unit and right - value >= FAR_BEHIND * unit for value, right in pairs[:few]
    )
    return taught and float(held_out.value.max()) < MANY_RIGHT * unit


def _passes(view: RunView, held_out: Series) -> list[float]:
    """Passes over the data up to each evaluation: as they are counted, else one for each, or what was planned shared among them."""
    epochs = values_beside(view, held_out, "epoch")
    if epochs is not None and epochs[0].all():
        return [float(at) for at in epochs[1] - min(float(epochs[1][0]), 1.0) + 1.0]
    planned = view.config("train.epochs")
    whole = None if planned is None else number(planned.value)
    each = max(1.0, (whole or 0.0) / len(held_out))
    return [each * (place + 1) for place in range(len(held_out))]


def _harder(out: FactWriter, held_out: Series, unit: float, ahead: float, refs: list[SourceRef]) -> None:
    """Whether training answers stay behind held-out ones, which they may if those were learned from them all the same."""
    taught = _taught(held_out, unit)
    out.put("score_training_harder", ahead <= -EASIER_SCORE and not taught, refs)
    # Samples that are harder are right less often: else the two losses are not summed alike.
    if ahead >= -SAME_SCORE or taught:
        out.put("training_harder", value=False, refs=refs)


def _taught(held_out: Series, unit: float) -> bool:
    """Whether held-out answers rose by half of all, most are right and they stand at their best: hard samples taught them."""
    values = held_out.value / unit
    level = float(median_of(values[-2:]))
    gained, missing = level - float(values[0]), float(values.max()) - level
    return level >= MOST_RIGHT and gained >= TAUGHT and missing <= SAME_SCORE


def _learned_early(right: Series, unit: float) -> bool:
    """Whether training data were answered within the first half of the rows: what is learned by heart takes longer."""
    return float(median_of(right.value[: len(right) // 2 + 1])) / unit >= EARLY_RIGHT
