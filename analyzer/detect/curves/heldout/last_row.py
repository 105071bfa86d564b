"""What one row of scores tells, where a log holds too few for a course: impossible to reach by scatter, whatever stood before it.

Whole epochs have to lie behind it where an untrained model would score the same.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, refs_at
from analyzer.detect.curves.heldout.scores import MOSTLY, NOTHING, OUTLINE, Score, scores_of
from analyzer.detect.curves.numerics.bad_points import grad_points, loss_points
from analyzer.detect.curves.span import is_late
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name, word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.score_words import OVERLAP, SHARE_OF_ALL, read_score
from analyzer.model.tables import Series

EMPTY = 0.995
"""An error rate between 99.5 % and all: of words that were put out some would be right, and too many would make it exceed 100 %."""

SEVERAL_ROWS = 3
"""Rows that a level is the median of."""

_ERROR_RATES = word_set("wer cer uer ter")
_DECIBELS = word_set("psnr snr sisnr sdr sisdr")
_NOT_REACHED = word_set(
    "best min max loss neg negative input inputs noise noisy mix mixture target improvement"
)
"""Words of decibels that are remembered, turned round, or those of what is put in; a constant is set, too."""

_COUNTED = LazyRegex(r"^(?P<measure>.{0,60}?[A-Za-z]\d{0,2})[_ /.-](?:class[_ ]?)?(?P<index>\d{1,3})$")
"""A score with the number of its class behind it: ``F1_0``, ``iou/class_1``."""


RARELY, LEARNED_WELL, LATE_SHARE, RARE_ROWS = 0.1, 0.8, 10, 10
"""A tenth in the last tenth of the evaluations (three and more of them), where four of five of another class are found: of ten
evaluations and more, since a class that is learned late stands there for a while."""

LOW, STOOD, OTHERS_GAIN = 0.3, 0.05, 0.1
"""Three tenths of one class, a twentieth more at most than in the first rows, while another class, or all together, gained a tenth."""

PAIR = 2
"""Of more classes than two the first may be what nobody labelled."""

_FINDS = OVERLAP - {"precision"}
"""Scores that are 0 where a class is never named; precisions are numbered by the length of phrases, too."""

_TRANSCRIBES = _ERROR_RATES | {"ctc", "blank", "blanks", "rnnt"}
"""Words of a metric or a setting of models that transcribe; of others an empty answer may be the right one."""

_TWICE = LazyRegex(r"(?<![\d.])(\d{1,6})(?:\.0{0,4})?[, ]{1,4}\1(?![\d])")
"""An item twice in turn, as a label of CTC may hold; a set of classes holds none twice."""

FEW_RIGHT = 0.1
"""A tenth of the answers right: of weights that somebody kept, more are."""

CLASSES, OF_A_GUESS = (10, 100, 1000), 0.01
"""Numbers of classes of the data sets that published weights are tested on, and how near to its logarithm the loss of a guess lies."""

ABOVE_A_GUESS = 7.6
"""Nats, a tenth above those of a guess among a thousand classes: the model is certain of wrong answers."""

SHOWN = 5
"""Predictions that a log shows before their being empty says something of the model."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.last.*``."""
    _empty_predictions(out, view)
    every = view.once(scores_of)
    _empty_answers(out, view, every)
    _decibels_apart(out, view)
    _class_never_found(out, view, every)
    _class_stands(out, every)
    _worse_than_mean(out, every)
    _undefined(out, view)
    _only_evaluated(out, view, every)


def _empty_answers(out: FactWriter, view: RunView, every: tuple[Score, ...]) -> None:
    """Whether every error rate of transcripts ends at 100 %, exactly or nearly: nothing is put out."""
    rates = [
        s for s in every if s.reading.kind & _ERROR_RATES and s.reading.whole and s.reading.phase != "train"
    ]
    late = view.once(is_late)
    if not rates or late is None:
        return
    whole = [100.0 if float(score.series.value.max()) > SEVERAL_ROWS else 1.0 for score in rates]
    shares = [float(score.series.value[-1]) / unit for score, unit in zip(rates, whole, strict=True)]
    empty = all(EMPTY <= share <= 1.0 for share in shares)
    out.put("empty_answers", late and empty, [ref for score in rates for ref in end_of(score.series)])


def _empty_predictions(out: FactWriter, view: RunView) -> None:
    """Whether the last predictions that are shown are empty; the first ones of a training are, where blanks are learned first."""
    shown = view.events("empty_prediction", "worded_prediction")[-SHOWN:]
    if len(shown) == SHOWN and view.once(is_late) is not False:
        empty = all(event.kind == "empty_prediction" for event in shown)
        if empty and not _transcribes(view, [str(event.fields.get("label", "")) for event in shown]):
            return
        out.put("empty_predictions", empty, [shown[-1].ref, shown[0].ref])


def _transcribes(view: RunView, labels: list[str]) -> bool:
    """Whether something says that sequences are put out: a metric, a setting, labels that are words, or in which an item comes twice in turn."""
    settings = (f"{entry.key_in_source} {entry.value}" for entry in view.run.config.entries)
    return (
        any(_TWICE.search(label) or any(map(str.isalpha, label)) for label in labels)
        or any(_TRANSCRIBES & set(words_of(name)) for name in view.run.metrics.names)
        or any(_TRANSCRIBES & set(words_of(text)) for text in settings)
    )


def _decibels_apart(out: FactWriter, view: RunView) -> None:
    """By how many decibels the best held-out series ends below the worst of the training, which may be told part by part.

    Only of one measure: how noisy the inputs are says nothing of how clean the outputs get.
    """
    sides: dict[str, dict[bool, list[Series]]] = {}
    for name in sorted(view.run.metrics.names):
        words, phase = set(words_of(name)), read_name(name).phase
        reached = words & _DECIBELS and words.isdisjoint(_NOT_REACHED) and phase != "other"
        series = view.finite(name) if reached else None
        if series is not None and (len(series) == 1 or float(np.ptp(series.value)) > 0.0):
            measure = "si" * ("si" in words) + "".join(sorted(words & _DECIBELS))
            sides.setdefault(measure, {True: [], False: []})[phase == "eval"].append(series)
    pairs = [
        (min(side[False], key=_level), max(side[True], key=_level))
        for side in sides.values()
        if all(side.values())
    ]
    if pairs:
        train, held = min(pairs, key=lambda pair: _level(pair[0]) - _level(pair[1]))
        out.put("decibels_apart", _level(train) - _level(held), [*end_of(held), *end_of(train)])


def _level(series: Series) -> float:
    return float(median_of(series.value[-SEVERAL_ROWS:]))


def _class_never_found(out: FactWriter, view: RunView, every: tuple[Score, ...]) -> None:
    """Whether a class that has scores of its own in a row never is found, beside one that is found mostly.

    Classes are counted from 0 or 1 without a gap; ``recall_1, recall_5`` are ranks.
    """
    groups: dict[str, dict[int, Score]] = {}
    for score in every:
        match = _COUNTED.match(score.series.logged_as)
        if match is not None and score.reading.kind & _FINDS and score.reading.phase != "other":
            groups.setdefault(match["measure"].lower(), {})[int(match["index"])] = score
    classes: dict[int, list[Score]] = {}
    for group in groups.values():
        if len(group) > 1 and _is_counted(group):
            for index, score in group.items():
                classes.setdefault(index, []).append(score)
    if classes:
        _class_hardly_found(out, classes)
    if not classes or view.once(is_late) is not True:
        return
    never = {
        index: min(scores, key=_best)
        for index, scores in classes.items()
        if _best(min(scores, key=_best)) <= NOTHING and (index or len(classes) <= PAIR)
    }
    others = max(_best(score) for scores in classes.values() for score in scores)
    shown = next(iter(never.values()), next(iter(classes.values()))[0])
    out.put("class_never_found", bool(never) and others >= MOSTLY, end_of(shown.series))
    if never:
        out.put("class_never_found_name", shown.series.logged_as, end_of(shown.series))


def _worse_than_mean(out: FactWriter, every: tuple[Score, ...]) -> None:
    """Whether the share of the variance that is explained on held-out data ends below 0: the mean of the targets predicts better."""
    explained = [s for s in every if "r2" in s.reading.kind and s.reading.phase == "eval" and s.reading.whole]
    if explained:
        shown = min(explained, key=_late)
        out.put("worse_than_mean", max(_late(score) for score in explained) < 0, end_of(shown.series))
        out.put("explained", _late(shown), end_of(shown.series))


def _class_hardly_found(out: FactWriter, classes: dict[int, list[Score]]) -> None:
    """Whether a class is found in one of ten at most to the end, beside one that is found nearly always."""
    long = [min(scores, key=_late) for scores in classes.values() if len(scores[0].series) >= RARE_ROWS]
    if len(long) > 1:
        least, best = min(long, key=_late), max(long, key=_late)
        hardly = _late(least) < RARELY and _late(best) >= LEARNED_WELL
        out.put("class_hardly_found", hardly, end_of(least.series))
        if hardly:
            out.put("class_hardly_found_name", least.series.logged_as, end_of(least.series))


def _class_stands(out: FactWriter, every: tuple[Score, ...]) -> None:
    """Whether the overlap of one class that has a name stands low to the end while another is found nearly always and others gain."""
    named = [
        s
        for s in every
        if s.reading.kind & OUTLINE and s.reading.phase != "train" and len(s.series) >= RARE_ROWS
    ]
    parts = [score for score in named if not score.reading.whole]
    if not parts:
        return
    least, best = min(parts, key=_late), max(named, key=_late)
    gains = [_late(score) - _early(score) for score in named if score is not least]
    low = _late(least) <= LOW and _late(least) - _early(least) <= STOOD
    stands = low and _late(best) >= LEARNED_WELL and max(gains, default=0.0) >= OTHERS_GAIN
    out.put("class_stands", stands, end_of(least.series))
    if stands:
        out.put("class_stands_name", least.series.logged_as, end_of(least.series))


def _early(score: Score) -> float:
    return float(median_of(score.values[:SEVERAL_ROWS]))


def _late(score: Score) -> float:
    return float(median_of(score.values[-max(len(score.series) // LATE_SHARE, SEVERAL_ROWS) :]))


def _best(score: Score) -> float:
    return float(score.values.max())


def _is_counted(group: dict[int, Score]) -> bool:
    first = min(group)
    return first <= 1 and sorted(group) == list(range(first, first + len(group)))


def _only_evaluated(out: FactWriter, view: RunView, every: tuple[Score, ...]) -> None:
    """Whether weights that are only evaluated answer like untrained ones, or are certain of wrong answers."""
    shares = [s for s in every if s.reading.kind & SHARE_OF_ALL and s.reading.better > 0 and s.reading.whole]
    held, losses = [s for s in shares if s.reading.phase == "eval"], view.finite("eval_loss")
    names = (name for name in view.run.metrics.names if read_name(name).phase != "eval")
    trained = view.once(loss_points) is not None or any(
        "loss" in words_of(name) for name in names
    )  # also of players
    if not held or losses is None or trained:
        return
    right = min(float(score.values[-1]) for score in held)
    loss, refs = float(losses.value[-1]), [*end_of(losses), *end_of(held[0].series)]
    like_a_guess = [
        c for c in CLASSES if abs(loss / np.log(c) - 1) <= OF_A_GUESS and right <= max(FEW_RIGHT, 2 / c)
    ]
    out.put("all_guessed", bool(like_a_guess), refs)
    out.put("all_wrong", right <= FEW_RIGHT and loss >= ABOVE_A_GUESS, refs)


def _undefined(out: FactWriter, view: RunView) -> None:
    """Whether a score or an error that nothing learns is no number in any row, although every loss and norm is one."""
    points = [found for found in (view.once(loss_points), view.once(grad_points)) if found is not None]
    errors = {"loss_like"} if points else set[str]()
    scored = [
        series
        for name in sorted(view.run.metrics.names)
        if (
            read_score(name).better
            or (read_name(name).quantity in errors and name not in {"loss", "eval_loss"})
        )
        and (series := view.curve(name)) is not None
        and len(series)
    ]
    if not scored or any(found.bad.any() for found in points):
        return
    never = [series for series in scored if np.isnan(series.value).all()]
    shown = (never or scored)[0]
    out.put("undefined", bool(never), refs_at(shown, [0]))
    out.put(
        "undefined_error",
        any(read_name(series.metric).quantity in errors for series in never),
        refs_at(shown, [0]),
    )
