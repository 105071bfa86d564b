"""Scores that left their best for good, that stand while the loss falls, that broke down, or that were perfect before anything was learned.

Training may show nothing of it: a score is measured on other data, in another mode of the model, by other code.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curve import has_steps
from analyzer.detect.curves.heldout.scores import (
    ERRORS,
    FROZEN_ROWS,
    HALF,
    HARDLY_ANY,
    HIGH,
    OUTLINE,
    RANKS,
    ROWS,
    Score,
    rows_away,
    scores_of,
)
from analyzer.detect.curves.numerics.metric_values import PERCENT, SHARE
from analyzer.detect.curves.progress import held_out_trend, loss_trend
from analyzer.detect.trainings import FEW_CLASSES
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Rows, Values
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.refs import SourceRef
from analyzer.model.score_words import HALVES, OF_BOXES, SHARE_OF_ALL, read_score
from analyzer.model.tables import NULL_INT, MetricTable

AT_ONCE, NEARLY_ALL = 1500, 0.7
"""Steps within which a log begins early: a score that is perfect there in seven rows of ten was not learned."""

EASY = 0.05
"""Nats that the first epoch costs on average; untrained steps among a hundred that are learned at once cost as much alone."""

_OF_FIVE = LazyRegex(r"(?<!\d)(?:5|10)(?!\d)")
"""How many answers are allowed: with no more classes than that all of them are right, so the score of one answer is asked."""

AWAY_ROWS, AWAY_SHARE = 8, 0.5
"""Eight evaluations to the end, and half of all: a noisy score comes back near its best at times."""

LOSS_WORSE = 1.2
"""A fifth above its best: the held-out loss says as well that the best model is long gone."""

STANDS_ROWS, GAINED, AT_MOST = 6, 0.03, 0.5
"""Six evaluations of which the later two thirds are not three points better, at half of the answers right or less."""

OF_ITS_LEVEL = 0.1
"""Precisions of boxes begin far below what they end at: a tenth of that is no gain either."""

FELL = 0.5
"""Half of the training loss is gone: whoever learned that much answers more samples of the same kind."""

KNEW, WORST_ROWS = 0.5, 3
"""Half right at three evaluations before the last; from there no update leads to none at all but one that broke the model."""

BROKEN_ROWS, LEFT = 6, 0.5
"""Of six rows the last third, at half of the best and less, without a loss beside it that falls."""

LEARNED, GONE = 0.2, 0.05
"""A fifth of all, of which a twentieth and less is left at the last of two evaluations and more."""

SEVERAL = 2
"""Two scores that are 0 in one evaluation are as sure as one that is 0 in two."""

LEAP_ROWS, LEAPT = 4, 2.0
"""Four evaluations, of which those behind a leap cost twice as much and more as any before it: no scatter, and no way of a model that is
fitted too long."""

HARDLY_ROWS, HARDLY, HARDLY_EVER = 3, 0.02, 0.05
"""Two answers of a hundred at the end of three rows and more, and never five."""

DISTANCES = frozenset({"mae", "rmse", "mse", "mape"})
LEFT_OF_FIRST, GOES_ON, FEW_ROWS = 0.5, 0.25, 3
"""Half of the first error of numbers left, and a quarter of all that was gained gained in the last third (of few rows by the last one): the
training was ended where it still learned as before. Noise leaves as much of an error, but then it stands."""

CLIMB_ROWS, CLIMBED = 5, 1.5
"""Five rows to the end, each above the one before: one order of 720, and half again of the best is no drift."""

UNMOVED_ROWS, UNMOVED_GAIN, SEEN_FALL = 4, 0.05, 0.3
"""Four rows, five points gained at most and at most half of the answers right, while three tenths of the training loss go."""

STAGE_LOST, STAGE_KNOWN, STAGE_GAIN, STAGE_ROWS = 0.6, 0.5, 0.1, 3
"""Six tenths or less is left of a score that was a half and more at the end of an earlier training of the log, and it fell by a tenth
within the later one, in which another score gained as much: folds and settings that end worse do not begin better than they end."""

STANDS_GAIN = 0.02
"""Two answers of a hundred: what a mean over so many batches differs by from row to row."""

LOST_ROWS, TARGET_LEFT, SOURCE_KEPT = 2, 0.75, 0.9
"""A quarter of the right answers lost in two evaluations to the end, more than the scatter of a hundred samples, and nine tenths kept."""

GUESS_ROWS, BESIDE_IT = 10, 5
"""Ten rows and more of one number that is 1/k to the last digit, beside a loss or another score of five values and more: what is counted
does not depend on the model."""

RANKED = 0.2
"""Seven of ten pairs are ranked rightly: what was learned carries over."""

_TARGET_OF = {"src": "tgt", "source": "target"}
_OF_SOURCE = frozenset(_TARGET_OF)

_TESTED, _VALIDATED = word_set("test testing"), word_set("val valid validation dev eval evaluation")
_PART = "part/"
_ONE_SPELLING = {"acc": "accuracy"}
"""The short form, which programs mix with the word; whatever else differs is another measure."""

_ERROR_RATES = ERRORS | {"wer", "cer", "ter", "eer"}


def detect(view: RunView, out: FactWriter) -> None:
    """Further facts ``signal.score.*``."""
    _none_yet(out, view)
    _perfect(out, view)
    every = [score for score in view.once(scores_of) if score.reading.whole]
    held = [score for score in every if score.reading.phase == "eval"]
    _never_back(out, view, held)
    _stands(out, view, [*held, *(s for s in every if s.reading.kind & OF_BOXES and not s.reading.phase)])
    _worst_at_end(out, held)
    _broke(out, view, held or every)
    _hardly_right(out, every)
    _ranks_apart(out, [s for s in every if s.reading.phase != "train"])
    _error_left(out, held or every)
    _error_climbs(out, [score for score in every if score.reading.phase != "eval"])
    _test_below(out, view)
    _lost_in_later_training(out, view)
    _target_lost(out, view)
    _one_guess(out, view)
    _training_unmoved(out, view, [score for score in every if score.reading.phase != "eval"])


def _never_back(out: FactWriter, view: RunView, held: list[Score]) -> None:
    """Whether held-out scores left their best for half of the run: all of them, or one and the held-out loss with it."""
    long = [
        score
        for score in held
        if len(score.series) >= AWAY_ROWS + WORST_ROWS
        and score.reading.better > 0
        # of batches of a single evaluation none is the best
        and not (has_steps(score.series) and (score.series.step == score.series.step[0]).all())
    ]
    if not long:
        return
    away = [
        score for score in long if rows_away(score.values) >= max(AWAY_ROWS, AWAY_SHARE * len(score.series))
    ]
    loss = view.once(held_out_trend)
    worse = loss is not None and 0 < LOSS_WORSE * loss[1].best <= loss[1].last
    shown = (away or long)[0]
    gone = bool(away) and (worse or len(away) == len(long))
    out.put("never_back", gone, refs_at(shown.series, [int(shown.values.argmax()), len(shown.series) - 1]))


def _stands(out: FactWriter, view: RunView, held: list[Score]) -> None:
    """Whether held-out answers, or the boxes found, stay as few as they were at first while the training loss halves."""
    loss = view.once(loss_trend)
    counted = SHARE_OF_ALL | OF_BOXES
    shares = [s for s in held if s.reading.kind & counted and len(s.series) >= STANDS_ROWS]
    if loss is None or not shares or loss[1].first <= 0:
        return
    fell = loss[1].falls() and loss[1].fall >= FELL * loss[1].first
    shown = shares[0]
    third = max(shown.values.size // 3, 1)
    gained = float(shown.values[third:].max() - shown.values[:third].max())
    level = float(median_of(shown.values[third:]))
    most = min(GAINED, OF_ITS_LEVEL * level) if shown.reading.kind & OF_BOXES else GAINED
    refs = refs_at(shown.series, [0, len(shown.series) - 1])
    out.put("stands_while_loss_falls", fell and level <= AT_MOST and gained <= most, refs)


def _worst_at_end(out: FactWriter, held: list[Score]) -> None:
    """Whether the last evaluation finds not one right answer after evaluations at which most were right."""
    for score in held:
        if not score.reading.kind & (_ERROR_RATES | SHARE_OF_ALL) or len(score.series) <= WORST_ROWS:
            continue
        right = _right(score)
        broke = right[-1] == 0.0 and float(median_of(right[-1 - WORST_ROWS : -1])) >= KNEW
        out.put(
            "worst_at_end", bool(broke), refs_at(score.series, [len(score.series) - 2, len(score.series) - 1])
        )
        if broke:
            return


def _broke(out: FactWriter, view: RunView, scores: list[Score]) -> None:
    """Whether a score lost what it had for good, in a log without a loss that would tell more, or with a held-out loss that leapt as well."""
    leapt = _held_out_leapt(view)
    if not leapt and any(view.once(known) is not None for known in (loss_trend, held_out_trend)):
        return
    for score in scores:
        right = _right(score)
        best = float(right.max())
        if len(score.series) >= BROKEN_ROWS and score.reading.kind & SHARE_OF_ALL:
            lost = best >= KNEW and float(right[-max(right.size // 3, 2) :].max()) <= LEFT * best
        elif len(score.series) >= 2 and score.reading.better > 0 and (leapt or has_steps(score.series)):
            # What none of many later evaluations comes near was scored of other weights, before this training; of less than half, three are
            # many, as where each row is a sample and the first one was answered in part.
            later = BROKEN_ROWS if right[0] >= KNEW else FEW_ROWS + 1
            before = right.size >= later and float(right[1:].max()) <= GONE * right[0]
            lost = LEARNED <= best <= 1.0 and 0.0 <= right[-1] <= GONE * best and not before
        else:
            continue
        out.put("collapsed", bool(lost), refs_at(score.series, [int(right.argmax()), len(score.series) - 1]))
        if lost:
            out.put("collapsed_from", best, refs_at(score.series, [int(right.argmax())]))
            out.put("collapsed_to", float(right[-1]), end_of(score.series))
            return


def _held_out_leapt(view: RunView) -> bool:
    """Whether the held-out loss ends at twice all that it was before a leap, and the training loss neither fell nor tells of it itself."""
    loss, training = view.once(held_out_trend), view.once(loss_trend)
    if loss is None or len(loss[0]) < LEAP_ROWS:
        return False
    if training is not None and (training[1].falls() or training[1].last >= LEAPT * training[1].first):
        return False
    values = loss[0].value
    row = int(np.argmax(values[1:] / np.maximum(values[:-1], 1e-12))) + 1
    return 0.0 < LEAPT * float(values[:row].max()) <= float(values[row:].min())


def _test_below(out: FactWriter, view: RunView) -> None:
    """How far a test that stands at the end lies below the validation of the same answers, by the names that the program gave."""
    table = view.run.metrics
    by_measure: dict[frozenset[str], dict[bool, Rows]] = {}
    for code, name in enumerate(table.raw_names):
        of_part = name.removeprefix(_PART)
        words, reading = frozenset(words_of(of_part)), read_score(of_part)
        is_test = bool(words & _TESTED)
        if is_test and of_part != name:
            words -= _VALIDATED  # a second held-out set, of which the reader of its row says so
        if is_test == bool(words & _VALIDATED) or not (reading.kind & SHARE_OF_ALL and reading.whole):
            continue
        measure = frozenset(_ONE_SPELLING.get(word, word) for word in words - _TESTED - _VALIDATED)
        rows = np.flatnonzero((table.raw == code) & np.isfinite(table.value))
        if rows.size:
            by_measure.setdefault(measure, {}).setdefault(is_test, rows)
    for pair in by_measure.values():
        if len(pair) > 1 and _ends_behind(table, pair[True], pair[False]):
            below = _last_share(table, pair[False]) - _last_share(table, pair[True])
            out.put("test_below", below, [_last_ref(table, pair[True]), _last_ref(table, pair[False])])
            return


def _lost_in_later_training(out: FactWriter, view: RunView) -> None:
    """Whether a later training of the log (a stage, a task, a domain) lost a score of an earlier one while it gained another.

    Precision that falls where recall rises is the price of it, and so the other way round.
    """
    if not view.trainings.begins:
        return
    rising = [score for score in view.once(scores_of) if score.reading.better > 0]
    long = [score for score in rising if len(score.series) >= STAGE_ROWS]
    gained = [s for s in long if float(median_of(s.values[-STAGE_ROWS:]) - s.values[0]) >= STAGE_GAIN]
    for score in long:
        first, last = float(score.values[0]), float(median_of(score.values[-STAGE_ROWS:]))
        table, line = view.run.metrics, int(score.series.line[0])
        rows = (table.metric == table.names.index(score.name)) & np.isfinite(table.value)
        earlier = table.value[rows & (table.source == score.series.source[0]) & (table.line < line)]
        if earlier.size < STAGE_ROWS:
            continue
        knew = float(median_of(earlier[-STAGE_ROWS:])) / (PERCENT if score.percent else 1.0)
        half = score.reading.kind & HALVES
        traded = half and any(other.reading.kind & HALVES - half for other in gained)
        fell = knew >= STAGE_KNOWN and last <= STAGE_LOST * knew and first - last >= STAGE_GAIN
        lost = fell and bool(gained) and not traded
        out.put("lost_in_later_training", lost, end_of(score.series))
        if lost:
            return


def _ends_behind(table: MetricTable, test: Rows, validation: Rows) -> bool:
    """Whether a test was logged at or behind the last validation, by line or by step; one before training is of other weights."""
    first, last = int(validation[-1]), int(test[-1])
    lines, steps = ((int(column[first]), int(column[last])) for column in (table.line, table.step))
    in_lines = table.source[first] == table.source[last] and 0 < lines[0] <= lines[1]
    return bool(in_lines) or NULL_INT < steps[0] <= steps[1]


def _last_share(table: MetricTable, rows: Rows) -> float:
    values = table.value[rows]
    return float(values[-1]) / (PERCENT if float(values.max()) > SHARE else 1.0)


def _last_ref(table: MetricTable, rows: Rows) -> SourceRef:
    return SourceRef(int(table.source[rows[-1]]), int(table.line[rows[-1]]) or None)


def _none_yet(out: FactWriter, view: RunView) -> None:
    """Whether the only evaluation of a log found nothing: several scores of 0, one where nothing else was logged, or next to no overlap of outlines."""
    scored = [s for s in view.once(scores_of) if s.reading.better > 0 and s.reading.phase != "other"]
    scored = [s for s in scored if s.reading.phase == "eval" or s.reading.kind & OUTLINE]
    if not scored or max(len(score.series) for score in scored) > 1:
        return
    outlines = [score for score in scored if score.reading.kind & OUTLINE]
    several = len(scored) >= SEVERAL or len(view.run.metrics.names) == len(scored)
    none = several and not any(score.series.value.any() for score in scored)
    hardly = any(float(score.values[0]) <= HARDLY_ANY for score in outlines)
    out.put("none_yet", none or hardly, refs_at((outlines or scored)[0].series, [0]))


def _right(score: Score) -> Values:
    """The share of right answers, also of a score that counts the wrong ones (``err-top1``)."""
    return score.values if score.reading.better > 0 else 1.0 - score.values


def _hardly_right(out: FactWriter, every: list[Score]) -> None:
    """Whether next to no answer is right in any score that counts them, to the end."""
    counted = [s for s in every if s.reading.kind & (SHARE_OF_ALL | OF_BOXES) or s.reading.kind == {"recall"}]
    shares = [s for s in counted if len(s.series) >= HARDLY_ROWS]
    if shares:
        few = [
            float(median_of(right[-max(right.size // 3, 1) :])) <= HARDLY
            and float(right.max()) <= HARDLY_EVER
            for right in map(_right, shares)
        ]
        shown = shares[0].series
        out.put("hardly_right", all(few), end_of(shown))


def _ranks_apart(out: FactWriter, scores: list[Score]) -> None:
    """Whether an area under the ROC curve was ever far from one half, or a rate of equal errors."""
    areas = [score for score in scores if score.reading.kind & RANKS]
    if areas:
        apart = [s for s in areas if float(np.abs(s.values - HALF).max()) >= RANKED]
        out.put("ranks_apart", bool(apart), end_of((apart or areas)[0].series))


def _target_lost(out: FactWriter, view: RunView) -> None:
    """Whether answers in the domain that a training adapts to get wrong, while those in the domain of its labels stay right."""
    for name in sorted(view.run.metrics.names):
        words = words_of(name)
        if _OF_SOURCE.isdisjoint(words) or "domain" in words or not read_score(name).kind & SHARE_OF_ALL:
            continue  # of domains themselves a good adaptation tells nothing
        twin = [_TARGET_OF.get(word, word) for word in words]
        other = next((n for n in view.run.metrics.names if words_of(n) == tuple(twin)), "")
        source, target = view.finite(name), view.finite(other) if other else None
        if source is None or target is None or min(len(source), len(target)) < HARDLY_ROWS:
            continue
        lost = float(target.value[-LOST_ROWS:].max()) <= TARGET_LEFT * float(target.value.max())
        kept = float(source.value[-1]) >= SOURCE_KEPT * float(source.value.max())
        out.put("target_lost", lost and kept, [*ends_of(target), *end_of(source)])
        return


def _error_left(out: FactWriter, scores: list[Score]) -> None:
    """Whether the error of predicted numbers kept half of its first value and still falls as it did before."""
    for score in scores:
        values = score.values
        if not score.reading.kind & DISTANCES or values.size < FEW_ROWS or values[0] <= 0:
            continue
        third = 2 * values.size // 3
        before = (
            float(median_of(values[third - 1 : third + 1]))
            if values.size >= 2 * FEW_ROWS
            else float(values[-2])
        )
        first, last = float(values[0]), float(median_of(values[-max(values.size // 10, 1) :]))
        goes_on = first > last and before - last >= GOES_ON * (first - last)
        refs = refs_at(score.series, [0, len(score.series) - 1])
        out.put("error_left", last / first, refs)
        out.put("error_half_left", bool(goes_on and last >= LEFT_OF_FIRST * first), refs)
        return


def _error_climbs(out: FactWriter, scores: list[Score]) -> None:
    """Whether an error of training has only risen since its best, in rows enough and to half again above it."""
    for score in scores:
        low = int(score.values.argmin())
        since = score.values[low:]
        if score.reading.better > 0 or len(score.values) <= CLIMB_ROWS:
            continue
        climbs = (
            since.size > CLIMB_ROWS and bool((np.diff(since) > 0).all()) and since[-1] >= CLIMBED * since[0]
        )
        out.put("error_climbs", bool(climbs), refs_at(score.series, [low, len(score.series) - 1]))
        if climbs:
            out.put("error_climbs_name", score.series.logged_as, end_of(score.series))
            return


def _training_unmoved(out: FactWriter, view: RunView, scores: list[Score]) -> None:
    """Whether training answers, few of them right, got no better while the training loss fell."""
    loss = view.once(loss_trend)
    if loss is None or loss[1].first <= 0:
        return
    fell = loss[1].first - loss[1].best >= SEEN_FALL * loss[1].first
    for score in scores:
        if not score.reading.kind & SHARE_OF_ALL or len(score.series) < UNMOVED_ROWS:
            continue
        right = _right(score)
        early, late = float(right[: max(right.size // 4, 1)].max()), float(right[right.size // 4 :].max())
        unmoved = fell and late <= AT_MOST and late - early <= UNMOVED_GAIN
        refs = refs_at(score.series, [0, len(score.series) - 1])
        out.put("training_unmoved", unmoved, refs)
        quiet = float(np.ptp(right)) <= UNMOVED_GAIN  # single batches differ by more, whatever is learned
        stands = loss[1].falls() and late <= AT_MOST and late - early < STANDS_GAIN
        out.put("training_stands", quiet and stands, refs)
        return


def _one_guess(out: FactWriter, view: RunView) -> None:
    """Whether an accuracy, also one of a part, is the share of a guess in all digits of every row while something beside it moves."""
    long = [
        score
        for score in view.once(scores_of)
        if score.reading.kind & SHARE_OF_ALL and len(score.series) >= GUESS_ROWS
    ]
    if not long:
        return
    stuck = [s for s in long if any(bool((s.values == 1.0 / count).all()) for count in FEW_CLASSES)]
    loss = view.once(loss_trend)
    others = [*([] if loss is None else [loss[0].value]), *(s.values for s in view.once(scores_of))]
    moves = any(distinct_of(values).size >= BESIDE_IT for values in others)
    shown = (stuck or long)[0].series
    out.put("one_guess", bool(stuck) and moves, refs_at(shown, [0, len(shown) - 1]))
    if stuck and moves:
        out.put("one_guess_name", shown.logged_as, refs_at(shown, [0]))


def _perfect(out: FactWriter, view: RunView) -> None:
    """Scores that are at their bound in nearly all rows of a log that begins with the training: nobody learned that."""
    found = [
        score
        for score in view.once(scores_of)
        if len(score.series) >= ROWS and score.reading.phase != "other"
    ]
    from_first = _easy_from_the_first_batch(view)
    names = {score.series.logged_as for score in found}
    early = [
        score
        for score in found
        if score.reading.whole
        and _OF_FIVE.sub("1", score.series.logged_as) not in names - {score.series.logged_as}
        and (score.reading.better > 0 or score.reading.kind & ERRORS)
        and ((score.series.step_at(0) or 0) <= AT_ONCE if has_steps(score.series) else from_first)
    ]
    full = [
        score
        for score in early
        if float((score.series.value == _bound(score)).mean()) >= NEARLY_ALL
        # where the first rows show how it rose, it was learned: one row at the level of a guess is enough
        and float(median_of(score.series.value[:FROZEN_ROWS])) == _bound(score)
        and abs(float(score.values[0]) - (score.reading.better > 0)) <= 1.0 - HIGH
    ]
    if early:
        shown = (full or early)[0].series
        out.put("perfect_at_once", bool(full), refs_at(shown, [0, len(shown) - 1]))
        out.put("perfect_name", shown.logged_as, refs_at(shown, [0]))
        held = [score for score in full if score.reading.phase == "eval"]
        out.put("perfect_held_out", bool(held), refs_at(shown, [0, len(shown) - 1]))


def _easy_from_the_first_batch(view: RunView) -> bool:
    """Whether the first row costs next to nothing: where it is a mean of the first epoch, its first batches were right too."""
    epoch, known = view.finite("epoch"), view.once(loss_trend)
    begins = epoch is None or float(epoch.value[0]) <= 1
    return begins and known is not None and 0 <= known[1].first <= EASY


def _bound(score: Score) -> float:
    """The best that a score can be."""
    if score.reading.better < 0:
        return 0.0
    return PERCENT if score.percent or float(score.series.value.max()) > PERCENT else 1.0
