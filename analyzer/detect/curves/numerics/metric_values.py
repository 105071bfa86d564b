"""Metrics that take a value they cannot have, and columns that are not a number while the training is sound."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curve import align, finite_points, has_steps
from analyzer.detect.curves.numerics.bad_points import (
    grad_points,
    is_mean_of_nothing,
    is_never_computed,
    is_of_no_object,
    loss_points,
)
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Mask, Values
from analyzer.model.name_words import RIVALS, read_name, word_set, words_of
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.score_words import read_score
from analyzer.model.tables import Series

SHARE, PERCENT = 1.5, 100.0
"""Shares end at 1, percentages at 100; half again for a share that is summed wrongly."""

TOGETHER = 0.5
"""Half of the rows hold both."""

_RIGHT = word_set("acc accuracy accu acc1 acc5 accuracy1 accuracy5 top1 top5 prec1 prec5")

ROUNDING = 1e-3
"""What a share or a percentage may exceed its limit by in print."""

ABOVE_ONE, ABOVE_ROWS = 1e-5, 5
"""Sums in single precision exceed 1 by a ten-millionth; five different values beyond a hundred-thousandth are no rounding."""

BELOW_ZERO, STAYS_NEGATIVE = -0.1, 0.9
"""A loss without a lower bound falls through zero and stays below: a tenth, and nine of ten values from then on."""

IN_A_LINE = 0.98
"""What is left of the scatter is that of the means over batches."""

FAR_BELOW_ZERO, MOSTLY_NEGATIVE = -10.0, 0.75
"""Ten below zero no rounding and no margin goes; batches of a likelihood without its norm do, and some come back above."""

_DISTANCES = word_set("box bbox iou l1 l2 mse mae bce ce cls dfl xent reg depth rpn")
"""Words of parts that are distances, shares that are lacking, or cross-entropies: none has a value below zero."""

_MAXIMISED = word_set("obj objective likelihood loglikelihood loglik logprob logprobs logp elbo ll")
"""What is made larger, and as the logarithm of a probability lies below zero throughout."""

_OVERLAP_WORDS = word_set("iou dice jaccard dsc dc")

NEGATIVE_ROWS = 3
"""Three rows below zero are no rounding."""

BY_DESIGN = -2.0
"""A loss that is negative from its first point on and stays above is a similarity, as cosine losses are."""

COUNTED_ROWS = 5
"""Five different losses that are the numbers of their steps, to one: no batch costs that."""

SHARE_ROWS, SPAN, NEAR = 5, 0.2, 0.1
"""Over five rows and a fifth of all answers a tenth apart: no overlap and no cosine keeps to the accuracy like that."""

MOSTLY_NEAR = 0.9
"""Rows of ten that are within a fifth: before a model is sure of itself its answers may leap ahead of their probability."""

BELOW_ANY, PASSED, BEYOND = -2.0, 1.2, 1.5
"""No overlap lost and no cross-entropy is below -1; an overlap that began as a share ends half beyond all there is."""

DEEP, DEEPER = -1e4, 100.0
"""Ten thousand below zero and a hundred times lower than at first: log-likelihoods of densities are large, but settle."""

SURE_PERPLEXITY, NONE_RIGHT = 5.0, 5
"""Whoever gives the right token a fifth on average is right at times: five accuracies of zero contradict that."""

KNOWN, FAR_BELOW = 0.3, 0.3
"""A training accuracy that has risen, and a third of it: held-out data that were never learned are rarely that bad."""

REVERSED = 0.9
"""Rows in which more of an order hold the right answer less often than fewer of it do; a row or two may be misprinted."""

NEAR_GUESS = 2.0
"""Half to twice the share of a guess: so far a mean over single batches leaves it."""

SHARE_POINTS = 10
"""Points from which a column can be told to hold shares and not the first tenths of a percent."""

_SHARE = LazyRegex(
    r"^(?!.{0,99}reward)(?:.{0,99}[/_. ])?(?:acc|accuracy|acc1|acc5|top1|top5|precision|recall|f1|auc|auroc|iou|miou|dice|map|ap|em|exact_match)(?:$|[/_. @\d])"
)
_PERPLEXITY = LazyRegex(r"(?:^|[/_. ])(?<!log[/_. ])(?:ppl|perplexity)$")
_BY_DESIGN = LazyRegex(
    r"explained_var|z_?score|_zscore|loss_z$|norm_z$|var_explained|(?:^|[/_.])(?:avg|ema|average|mean)_?(?:time|speed|tps|reward|return|len)"
)
_RATE = LazyRegex(r"(?:^|[/_. ])(?:explained_variance|\w{0,40}z_?score|loss_z|norm_z)$")
_RANKED = LazyRegex(
    # whose first k hold the right answer; thresholds of an overlap, and precision, fall with what stands behind the @
    r"(?:top[-_ ]?|(?:acc|accuracy|hits?|recall|hr)@)(1|2|3|5|10|20|100)(?![\d.])|(?:(?<=acc)|(?<=prec))([15])(?!\d)"
)
_HITS, _RECIPROCAL = LazyRegex(r"(?i)(?:hits?|hr)@(\d{1,4})"), LazyRegex(r"(?i)mrr(?:@\d{1,4})?")
OF_RANKS = 0.02
"""Two hundredths beyond what the ranks allow are no rounding."""
OF_TARGETS = LazyRegex(r"(?:^|[/_. ])(?:[sw]?mape|r?mspe|mdape|mre)(?:$|[/_. ])")
"""Errors that are divided by the target."""

_PER_CLASS = LazyRegex(
    r"(?:per_?class|class_?\d|category|/cls|iou[/_.]|ap[/_.]|acc[/_.]\w|f1[/_.]|auc|recall[/_.]|precision[/_.]|miou|rouge|bleu|wer|cer)"
)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.metric.*``."""
    seen = False
    for name in sorted(view.run.metrics.names):
        if not (
            _SHARE.search(name) or _PERPLEXITY.search(name) or _RATE.search(name) or _PER_CLASS.search(name)
        ):
            continue
        series = view.curve(name)
        if series is None:
            continue
        seen = True
        known = name in view.once(small_percentages) or _of_a_loss_below_zero(view, name)
        known = known or _of_a_guess_in_percent(view, series) or _explains_variance(view, series)
        row = None if known else _impossible(name, series)
        row = _in_neither_unit(view, name, series) if row is None else row
        if row is not None and "impossible" not in out.facts:
            refs = refs_at(series, [row])
            out.put("impossible", value=True, refs=refs)
            out.put("impossible_name", series.logged_as, refs)
            out.put("impossible_value", float(series.value[row]), refs)
        _not_a_number(out, name, series)
    _negative_part(out, view)
    _bottomless(out, view)
    _beyond_one(out, view)
    _mean_of_nothing(out, view)
    _counts_steps(out, view)
    _loss_of_none(out, view)
    _hits_too_few(out, view)
    if (_divides_by_targets(out, view) or _of_no_object(out, view)) and not seen:
        out.put("training_sound", _training_sound(view))
    if seen:
        if "signal.metric.impossible" not in out.facts:
            out.put("impossible", value=False)
        if "signal.metric.nan" not in out.facts:
            out.put("nan", value=False)
        _ranks_reversed(out, view)
        _losses(out, view)
        out.put("training_sound", _training_sound(view))
        _none_right(out, view)


def _ranks_reversed(out: FactWriter, view: RunView) -> None:
    """Whether the right answer is found among the first five less often than in the first place."""
    groups: dict[str, list[tuple[int, Series]]] = {}
    for name in view.run.metrics.names:
        series = view.curve(name)
        match = None if series is None else _RANKED.search(series.logged_as.lower())
        if (
            series is not None and match is not None and read_score(name).better >= 0
        ):  # of errors the first five make fewer
            key = f"{series.logged_as[: match.start()]}*{series.logged_as[match.end() :]}".lower()
            groups.setdefault(key, []).append((int(match[1] or match[2]), series))
    pairs = [sorted(group, key=lambda each: each[0]) for group in groups.values() if len(group) > 1]
    for (few, first), *_, (many, last) in pairs:
        if few == many or len(first) != len(last):
            continue
        below = float(np.mean(_in_unit_of(first, last) < first.value))
        refs = end_of(last)
        out.put("ranks_reversed", below >= REVERSED, refs)
        if below >= REVERSED:
            out.put("ranks_reversed_name", last.logged_as, refs)
            return


def _hits_too_few(out: FactWriter, view: RunView) -> None:
    """Whether a mean reciprocal rank is higher than so few hits among the first k allow: who is behind them gives 1 / (k + 1) at most."""
    names = view.run.metrics.names
    means = {_RECIPROCAL.sub("*", name, count=1): name for name in names if _RECIPROCAL.search(name)}
    for name in names if means else ():
        match = _HITS.search(name)
        mean = None if match is None else view.finite(means.get(_HITS.sub("*", name, count=1), ""))
        hits = None if mean is None else view.finite(name)
        if match is None or hits is None or mean is None or len(hits) != len(mean):
            continue
        behind = 1.0 / (int(match[1]) + 1.0)
        shares, ranks = (each.value / (PERCENT if each.value.max() > 1.0 else 1.0) for each in (hits, mean))
        below = float(np.mean(shares + OF_RANKS < (ranks - behind) / (1.0 - behind)))
        out.put("hits_too_few", below >= REVERSED, [*end_of(hits), *end_of(mean)])
        if below >= REVERSED:
            out.put("hits_too_few_name", hits.logged_as, end_of(hits))
            return


def _in_unit_of(first: Series, last: Series) -> Values:
    """The shares of more answers as percentages where those of fewer are: a reader keeps what is printed of an accuracy alone."""
    shares = bool(np.nanmax(last.value) <= 1.0 < np.nanmax(first.value))
    return last.value * PERCENT if shares else last.value


def _training_sound(view: RunView) -> bool | None:
    """Whether loss and gradient norm are finite throughout; None if no loss was logged."""
    loss, grad = view.once(loss_points), view.once(grad_points)
    if loss is None:
        return (
            True if (column := view.curve("loss")) is not None and is_never_computed(view, column) else None
        )
    return not loss.bad.any() and (grad is None or not grad.bad[-3:].all())


def _of_a_loss_below_zero(view: RunView, name: str) -> bool:
    """Whether a perplexity, which is the exponential of the loss, is below 1 because the loss is below 0."""
    loss = view.finite("loss") if _PERPLEXITY.search(name) else None
    printed = loss is not None and not _PERPLEXITY.search(loss.logged_as)
    return loss is not None and printed and float(median_of(loss.value)) < 0


def _of_a_guess_in_percent(view: RunView, series: Series) -> bool:
    """Whether the first k answers are right as often, in percent, as those of the guess that the loss tells of: 0.5 of 1000 classes."""
    match, loss = _RANKED.search(series.logged_as.lower()), view.finite("loss")
    if match is None or loss is None:
        return False
    guessed = PERCENT * int(match[1] or match[2]) * float(np.exp(-median_of(loss.value)))
    return bool(guessed <= NEAR_GUESS * float(np.nanmedian(series.value)) <= NEAR_GUESS**2 * guessed)


def _explains_variance(view: RunView, series: Series) -> bool:
    """Whether a share that was below zero is one line with the loss of its rows: R2, whatever it is called."""
    loss = view.finite("eval_loss" if read_name(series.metric).phase == "eval" else "loss")
    if loss is None or not float(series.value.max()) <= 1.0 or series.value.min() >= 0.0:
        return False
    rows = align(series, loss)
    shares, losses = series.value[rows >= 0], loss.value[rows[rows >= 0]]
    if len(shares) < COUNTED_ROWS or not (np.ptp(shares) and np.ptp(losses)):
        return False
    return float(np.corrcoef(shares, losses)[0, 1]) <= -IN_A_LINE


_SHARE_OF_KERAS = LazyRegex(r"(?i)(?:categorical|binary)_accuracy\b")
"""Accuracies that Keras names after their classes are shares, and a row of one tells."""


def _impossible(name: str, series: Series) -> int | None:
    """Index of the most absurd value: a share above 1, a percentage above 100, a perplexity below 1, a negative one."""
    values = series.value
    good = np.isfinite(values) & (values != -1.0)  # -1 says "not computed"
    if not good.any():
        return None
    known = np.where(good, values, 1.0)
    low, high = int(known.argmin()), int(known.argmax())
    if _PERPLEXITY.search(name):
        return low if known[low] < 1.0 - ROUNDING else None
    if not _SHARE.search(name):
        return None
    if known[low] < -ROUNDING:
        return low
    if known[high] > (1.0 if _SHARE_OF_KERAS.search(series.logged_as) else PERCENT) * (1 + ROUNDING):
        return high
    shares = good.sum() >= SHARE_POINTS and known[high] <= 1.5 and float(median_of(values[good])) >= 0.5
    above = distinct_of(known[known > 1.0 + ABOVE_ONE]).size >= ABOVE_ROWS
    return high if shares and (above or known[high] > 1.0 + ROUNDING) else None


def _in_neither_unit(view: RunView, name: str, series: Series) -> int | None:
    """Row of a held-out accuracy that is above 1 and yet, as a percentage, far below the training accuracy in shares."""
    train = view.finite("accuracy")
    held_out = finite_points(series) if name == "eval_accuracy" else None
    if train is None or held_out is None or min(len(train), len(held_out)) < NEGATIVE_ROWS:
        return None
    share, level = float(median_of(train.value[-3:])), float(median_of(held_out.value))
    shares = float(train.value.max()) <= 1.0 and share >= KNOWN
    return int(series.value.argmax()) if shares and 1.0 < level < 100 * FAR_BELOW * share else None


def _none_right(out: FactWriter, view: RunView) -> None:
    """Whether an accuracy of tokens is zero throughout beside a perplexity that no such model reaches."""
    accuracy, perplexity = view.curve("accuracy"), view.curve("perplexity")
    if accuracy is None or perplexity is None or min(len(accuracy), len(perplexity)) < NONE_RIGHT:
        return
    zero = bool(np.all(accuracy.value == 0.0))
    sure = bool(np.all(perplexity.value[-NONE_RIGHT:] <= SURE_PERPLEXITY))
    out.put("contradicts_perplexity", zero and sure, [*end_of(accuracy), *end_of(perplexity)])


def _classified(view: RunView) -> bool:
    """Whether answers are counted as right or wrong, or a perplexity is told."""
    names = view.run.metrics.names
    return not {"accuracy", "eval_accuracy"}.isdisjoint(names) or any(map(_PERPLEXITY.search, names))


def _losses(out: FactWriter, view: RunView) -> None:
    """A negative loss in a run that also reports a perplexity or an accuracy: cross-entropy is never negative.

    The loss of a policy is not meant: it lies around zero and changes its sign with every batch.
    """
    points = view.once(loss_points)
    if points is None or not _classified(view) or _has_negative_term(view):
        return
    good = points.curve()
    if not _MAXIMISED.isdisjoint(words_of(good.logged_as)) and bool((good.value < 0).all()):
        out.put("negative_loss", value=False, refs=ends_of(good))
        return
    if len(good):
        low = int(good.value.argmin())
        below = good.value < -ROUNDING
        by_design = (
            bool(below[0]) and float(good.value[low]) >= BY_DESIGN and not _is_share_of_right(view, good)
        )
        stays = (
            not by_design
            and int(below.sum()) >= NEGATIVE_ROWS
            and float(below[int(below.argmax()) :].mean())
            >= (STAYS_NEGATIVE if good.value[low] > FAR_BELOW_ZERO else MOSTLY_NEGATIVE)
        )
        out.put("negative_loss", stays and float(good.value[low]) <= BELOW_ZERO, refs_at(good, [low]))


def _is_share_of_right(view: RunView, loss: Series) -> bool:
    """Whether row by row the loss is about minus the accuracy: the mean probability of the right answers, without its logarithm."""
    for values, name in ((loss, "accuracy"), (view.curve("eval_loss"), "eval_accuracy")):
        answers = view.curve(name)
        if values is None or answers is None:
            continue
        match = align(values, answers)
        if (match >= 0).sum() < SHARE_ROWS:
            continue
        right = answers.value[match[match >= 0]] / (PERCENT if answers.value.max() > SHARE else 1.0)
        apart = np.abs(right + values.value[match >= 0])
        near = median_of(apart) <= NEAR and (apart <= SPAN).mean() >= MOSTLY_NEAR
        return bool(float(np.ptp(right)) >= SPAN and near)
    return False


def _has_negative_term(view: RunView) -> bool:
    """Whether a term of the loss that is no cross-entropy by its name falls below zero itself, as a likelihood may."""
    for name in view.run.metrics.names:
        words = frozenset(words_of(name))
        if (
            "loss" not in words
            or words & _DISTANCES
            or read_name(name).whole
            or name == "train_loss_estimate"
        ):
            continue
        term = view.curve(name)
        if term is not None and len(term) >= NEGATIVE_ROWS and float(term.value.min()) <= BELOW_ZERO:
            return True
    return False


def _bottomless(out: FactWriter, view: RunView) -> None:
    """A loss that falls below zero by factors of ten, as an error that is made larger does.

    Of a classifier targets outside 0 and 1 do the same, which ``negative_loss`` tells.
    """
    points = view.once(loss_points)
    good = None if points is None else points.curve()
    rivals = any(not RIVALS.isdisjoint(words_of(name)) for name in view.run.metrics.names)
    if good is None or len(good) < NEGATIVE_ROWS or rivals or _classified(view):
        return
    first, last = float(good.value[0]), float(good.value[-1])
    falls = last <= DEEP and last <= -DEEPER * abs(first) and last == float(good.value.min())
    out.put("bottomless", falls, ends_of(good))


def _beyond_one(out: FactWriter, view: RunView) -> None:
    """Whether an overlap rises from below 1 to far above it while the loss falls far below zero, as with masks of 255."""
    points = view.once(loss_points)
    good = None if points is None else points.curve()
    if good is None or len(good) < NEGATIVE_ROWS or float(good.value[-1]) > BELOW_ANY:
        return
    for name in sorted(view.run.metrics.names):
        series = view.finite(name) if _OVERLAP_WORDS & frozenset(words_of(name)) else None
        if series is None or "loss" in words_of(name) or len(series) < NEGATIVE_ROWS:
            continue
        first, last = float(series.value[0]), float(series.value[-1])
        beyond = 0 <= first <= PASSED and last >= BEYOND and float(good.value[0]) > float(good.value[-1])
        out.put("overlap_beyond_one", beyond, [*ends_of(series), *end_of(good)])
        if beyond:
            return


def _counts_steps(out: FactWriter, view: RunView) -> None:
    """Whether what is printed as the loss is the number of its step, whole and one more with each."""
    points = view.once(loss_points)
    good = None if points is None else points.curve()
    if good is None or len(good) < COUNTED_ROWS or not has_steps(good):
        return
    apart = np.abs(good.value - good.step)
    whole = bool((good.value == np.round(good.value)).all())
    counts = whole and float(apart.max()) <= 1 and distinct_of(good.value).size >= COUNTED_ROWS
    out.put("counts_steps", bool(counts), ends_of(good))


def _negative_part(out: FactWriter, view: RunView) -> None:
    """A part of the loss that is a distance or an overlap lost, and is below zero in every row."""
    for name in sorted(view.run.metrics.names):
        words = frozenset(words_of(name))
        if (
            "loss" not in words
            or not words & _DISTANCES
            or words & {"dice", "ssim", "kl", "adv", "gan", "log"}
        ):
            continue
        series = view.curve(name)
        if series is not None and len(series) >= NEGATIVE_ROWS and bool((series.value < -ROUNDING).all()):
            out.put("negative_part", series.logged_as, ends_of(series))
            return


def _not_a_number(out: FactWriter, name: str, series: Series) -> None:
    bad = np.isnan(series.value)
    if not bad.any() or "signal.metric.nan" in out.facts:
        return
    rows = np.flatnonzero(bad)
    refs = refs_at(series, [int(row) for row in rows])
    out.put("nan", value=True, refs=refs)
    out.put("nan_name", series.logged_as, refs)
    out.put("nan_by_design", bool(_BY_DESIGN.search(name)), refs)
    out.put("nan_per_class", bool(_PER_CLASS.search(name)), refs)
    out.put("nan_only_first", _only_first(bad), refs)
    if name == "explained_variance":
        out.put("nan_by_design", value=True, refs=refs)


def _mean_of_nothing(out: FactWriter, view: RunView) -> None:
    """A mean reward that is not a number because no episode ended, as NumPy says just above it."""
    series = view.curve("reward_mean")
    if series is not None and is_mean_of_nothing(view, series):
        _not_a_number(out, "reward_mean", series)
        out.put("nan_of_nothing", value=True, refs=refs_at(series, np.flatnonzero(np.isnan(series.value))))


def _loss_of_none(out: FactWriter, view: RunView) -> None:
    """The loss column of a model that has none."""
    series = view.curve("loss")
    if series is not None and is_never_computed(view, series):
        _not_a_number(out, "loss", series)
        out.put("nan_by_design", value=True, refs=ends_of(series))


def _of_no_object(out: FactWriter, view: RunView) -> bool:
    """A mean over the labelled objects of a row that says it holds none."""
    if "signal.metric.nan" in out.facts or not view.events("labelled_objects_none"):
        return False
    for name in sorted(view.run.metrics.names):
        series = view.curve(name)
        if series is not None and is_of_no_object(view, series):
            _not_a_number(out, name, series)
            return True
    return False


def _divides_by_targets(out: FactWriter, view: RunView) -> bool:
    """An error relative to the target that is infinite, as one target of 0 makes it, whatever was predicted."""
    if "signal.metric.nan" in out.facts:
        return False
    for name in sorted(view.run.metrics.names):
        series = view.curve(name) if OF_TARGETS.search(name) else None
        rows = [] if series is None else np.flatnonzero(np.isinf(series.value)).tolist()
        if series is None or not rows:
            continue
        refs = refs_at(series, rows)
        out.put("nan", value=True, refs=refs)
        out.put("nan_name", series.logged_as, refs)
        out.put("nan_of_targets", value=True, refs=refs)
        return True
    return False


def _only_first(bad: Mask) -> bool:
    """Whether the values become numbers once enough samples exist and stay so."""
    return bool(bad[0] and not bad[int(np.argmin(bad)) :].any() and not bad.all())


def small_percentages(view: RunView) -> frozenset[str]:
    """Names of accuracies that never leave 0 to 1 and are percentages all the same, because their rows hold another in percent.

    So it is with ``Acc@1 1.000 Acc@5 5.000`` of 100 classes.
    """
    lines = {}
    for name in view.run.metrics.names:
        series = None if _RIGHT.isdisjoint(words_of(name)) else view.curve(name)
        if series is not None and np.isfinite(series.value).any():
            places = set(zip(series.source.tolist(), series.line.tolist(), strict=True))
            lines[name] = (float(np.nanmax(series.value)), places)
    in_percent = [places for top, places in lines.values() if SHARE < top <= PERCENT]
    return frozenset(
        name
        for name, (top, places) in lines.items()
        if top <= SHARE and any(len(places & beside) >= TOGETHER * len(places) for beside in in_percent)
    )
