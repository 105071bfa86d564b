"""Values that no sound run prints, in any series and from one point on: NaN and Inf, exact zeros, frozen digits."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curve import align, has_steps, take
from analyzer.detect.curves.loss import ASTRONOMICAL, means_so_far
from analyzer.detect.curves.numerics.bad_points import (
    is_mean_of_nothing,
    is_never_computed,
    is_of_no_object,
    loss_points,
    only_at_skips,
)
from analyzer.detect.curves.numerics.metric_values import OF_TARGETS
from analyzer.detect.robust import digits_of
from analyzer.detect.setup.run_course import reward_metrics
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Mask
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.score_words import read_score
from analyzer.model.tables import Series

ROWS = 2
"""Two exact zeros, or two points that are not finite at the end: one may be a row that was cut."""

FROZEN_ROWS, FROZEN_DIGITS = 3, 4
"""Three equal values of four digits and more: means over thousands of samples, which any update would move."""

PART_ROWS, PART_DIGITS = 5, 6
"""Five rows to the end in which one part of the loss is the same number of six digits: nothing that is trained reaches it. Fewer digits
are those of a running mean."""

UNCOUNTED_ROWS = 6
"""A summary is printed at the start, the end and in a report or two; six times only by a loop."""

NAMELESS_ROWS = 5
"""A series that is NaN in all of five rows and more, in a log without a loss: what a loop prints is its loss."""

MOSTLY_LOST = 0.5
"""Half of the rows: whatever the quantity is, more of it is lost than told."""

IMPROVED = 1.2
"""A fifth more right answers than at the first evaluation: weights that are not finite give one answer to all."""

LOST_ROWS = 3
"""Three rows to the end in which nothing is a number, after one in which all was: no score is undefined that long."""

PARTS_AT_ONCE = 3
"""Three parts of the loss that are NaN in one row: no cut of a line makes them so."""

EXPLODES, EXPLODES_ROWS = 1e6, 4
"""A million times the level of a series is no spike of a batch."""

GREW, GREW_FROM = 1e3, 10.0
"""A loss a thousand times that of its first rows, and no less than ten thousand: what is weighed by nearly nothing may be that large, and
then it is not learned."""

LEAPT, LEAP, LEAP_FROM = 2, 100.0, 0.1
"""Two losses that end a hundred times above all that they were before; one that was hardly there before was switched on."""

FEW_RIGHT = 0.5
"""Half of the answers right is less than a loss of 0 allows, whatever the task."""

CHEAP = 0.3
"""Nats that leave three answers of four right; a token may cost that much, but hardly a class of which no sample is right."""

NOT_ZERO = 0.05
"""A held-out loss of that size has wrong or unsure answers in it: none of the next evaluation costs exactly nothing."""

MOSTLY = 0.9
"""Nine of ten losses are exactly 0: a run that learned its data by heart prints zeros at its end only."""

_LOSS = LazyRegex(r"(?:^|[/_. -])(?:loss|nll|ce|mse|l1|kl|cost|objective)(?:$|[/_. \d-])|loss$")
_SET = LazyRegex(
    r"scale|weight|coef|lambda|(?:^|[/_.])(?:best|min|max|target|eval|val|valid|test|dev|epoch)(?:$|[/_.])"
)
"""Numbers of that kind are set, or remembered from an earlier row."""

_SCALES = word_set("scale scaler scaling lossscale")
"""Words of a factor that doubles as long as nothing overflows, by which it leaves all proportion in a sound run."""

_NORM = LazyRegex(r"grad(?:ient)?s?[_ /.-]{0,2}norm|^gnorm$|grad_?norms?[/_.]|^gradients?[/.]")
_UNDEFINED = LazyRegex(
    r"^system[./]|ratio_to|explained_var|z_?score|per_?class|class_?\d|category|(?:^|[/_.])(?:time|eta|speed|tps|ema(?![_ ]?loss)|lr)"
    r"|(?:ap|ar|ap50|ap75|aps|apm|apl|auc|f1|recall|precision|iou|dice)(?:$|[/_.@\d-])|success|ep_(?:rew|len)|reward|return|std$|length"
)
_GIVEN = LazyRegex(r"^(?:learning_rate|epoch|step_time_s|\w+_per_second)$|mem(?:ory)?(?:_|$)")
"""Columns that no forward pass computes."""

_SPLITS = ("dev", "val", "valid", "validation", "test")
_HELD_OUT = LazyRegex(r"(?:^|[/_.])(?:eval|val|valid|validation|test|dev)(?:$|[/_.])")


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.exact.*``."""
    _nonfinite(out, view)
    _zeros(out, view)
    _zero_but_wrong(out, view)
    _nothing_trained(out, view)
    _layers(out, view)
    _frozen(out, view)
    _leap_together(out, view)
    _explodes(out, view)


def _nonfinite(out: FactWriter, view: RunView) -> None:
    """The series with most points that are not finite; scores that are undefined by design do not count.

    A norm of gradients comes after every other series: a loss scaler makes a norm infinite now and then and skips
    that step, and nothing makes any other value good.
    """
    worst: tuple[bool, int, str, Series] | None = None
    for name in sorted(view.run.metrics.names):
        series = view.curve(name)
        if series is None or (_UNDEFINED.search(name) and not _reward_is_lost(view, name, series)):
            continue
        if OF_TARGETS.search(name) and np.isinf(series.value).any():
            continue  # one target of 0 makes it so
        if is_of_no_object(view, series) or is_never_computed(view, series):
            continue
        bad = ~np.isfinite(series.value)
        if (_NORM.search(name) and _only_at_skips(view, name, series)) or _is_an_empty_split(view, name, bad):
            continue
        if not bad.any() or (bad[0] and not bad[int(np.argmin(bad)) :].any() and not bad.all()):
            continue  # not a number until there is something to count
        if bad.all() and read_score(name).better and _answers_improve(view):
            continue  # a score that nobody computed while the model learned
        if _has_no_sample(view, name, series):
            continue
        rank = not _NORM.search(name), int(bad.sum())
        if worst is None or rank > worst[:2]:
            worst = *rank, name, series
    if worst is None:
        out.put("all_finite", value=bool(view.run.metrics.names) or None)
        out.put("nonfinite_beside_loss", value=False if view.run.metrics.names else None)
        return
    beside_norms, count, name, series = worst
    bad = ~np.isfinite(series.value)
    refs = refs_at(series, np.flatnonzero(bad))
    out.put("all_finite", value=False, refs=refs)
    out.put("nonfinite_name", series.logged_as, refs)
    out.put("nonfinite_count", count, refs)
    out.put("nonfinite_points", len(series), refs)
    out.put("nonfinite_norm_only", not beside_norms, refs)
    told = bool((_LOSS.search(name) or _NORM.search(name)) and not _HELD_OUT.search(name))
    lasting = bool(bad[-min(ROWS, len(bad)) :].all()) and bool(bad.mean() >= 0.5 or bad[-3:].all())
    # What was not computed is NaN; an infinity was computed.
    mostly = bool(bad.all()) or (bool(bad.mean() >= MOSTLY_LOST) and bool(np.isinf(series.value).any()))
    nameless = len(bad) >= NAMELESS_ROWS and mostly and not _stands_beside_a_loss(view, name)
    if read_score(name).better and _answers_improve(view):
        return  # a score that nobody computed while the model learned
    all_lost = view.curve("loss") is None and lasting and _nothing_is_finite(view)
    of_training = (told and (lasting or _ends_at_once(view))) or nameless or all_lost
    of_training = of_training or (name == "reward_mean" and _both_rewards_end(view))
    out.put("nonfinite_training", of_training, refs)
    out.put("nonfinite_beside_loss", bool(of_training and lasting and beside_norms), refs)


def _only_at_skips(view: RunView, name: str, series: Series) -> bool:
    """Whether a norm is not finite only at steps that a loss scaler skips, or is the mean of an epoch of which the norm of a step is finite."""
    current = view.curve("grad_norm") if name.startswith("epoch/") else None
    return only_at_skips(view, series) or (current is not None and bool(np.isfinite(current.value).all()))


def _reward_is_lost(view: RunView, name: str, series: Series) -> bool:
    """Whether a reward was a number once and none in the rows to the end, in a log without a loss that would tell more.

    Before the first episode ends its mean is undefined, and between episodes single rows are; nor does a mean over no
    episode tell of the weights. Of a step's and an episode's mean that are lost together one row is enough.
    """
    if name != "reward_mean" or is_mean_of_nothing(view, series):
        return False
    good = np.isfinite(series.value)
    ends = len(good) > LOST_ROWS and bool(good[0]) and not good[-LOST_ROWS:].any()
    return (ends and view.curve("loss") is None) or _both_rewards_end(view)


def _both_rewards_end(view: RunView) -> bool:
    """Whether two means of rewards under names of their own were numbers in each row and are none from one row to the end."""
    table = view.run.metrics
    of_rewards = table.metric == table.names.index("reward_mean")
    ends: list[bool] = []
    for spelling in distinct_of(table.raw[of_rewards]):
        good = np.isfinite(table.value[of_rewards & (table.raw == spelling)])
        ends.append(
            good.size > LOST_ROWS and bool(good[:LOST_ROWS].all()) and not good[int(good.argmin()) :].any()
        )
    return len(ends) > 1 and all(ends)


def _has_no_sample(view: RunView, name: str, series: Series) -> bool:
    """Whether a column of a name that means neither loss, norm nor score, as of one class, never was a number, while losses and a score are."""
    known = _LOSS.search(name) or _NORM.search(name) or _HELD_OUT.search(name) or read_score(name).better
    losses = view.curve("loss")
    if known or losses is None or not (np.isnan(series.value).all() and np.isfinite(losses.value).all()):
        return False
    scores = (view.curve(other) for other in view.run.metrics.names if read_score(other).better)
    return any(score is not None and bool(np.isfinite(score.value).all()) for score in scores)


def _answers_improve(view: RunView) -> bool:
    """Whether a score or an error ends a fifth better than it began, as with weights that are not finite, or without a loss, it could not."""
    known = ((read_score(name).better, view.curve(name)) for name in view.run.metrics.names)
    ends = [
        series.value[[0, -1]][::better]
        for better, series in known
        if better and series is not None and len(series)
    ]
    return any(better >= IMPROVED * worse > 0.0 for worse, better in ends)


def _stands_beside_a_loss(view: RunView, name: str) -> bool:
    """Whether the log has a loss, or a column is a score that nobody computed beside losses, as of players, that end in numbers."""
    if view.curve("loss") is not None:
        return True
    names = view.run.metrics.names if read_score(name).better else ()
    losses = (view.curve(other) for other in names if _LOSS.search(other))
    return any(series is not None and bool(np.isfinite(series.value[-LOST_ROWS:]).all()) for series in losses)


def _nothing_is_finite(view: RunView) -> bool:
    """Whether every quantity of the rows that a step changes was finite once and ends in three rows of NaN."""
    ends = [
        np.isfinite(series.value)
        for name in view.run.metrics.names
        if not _GIVEN.search(name)
        and (series := view.curve(name)) is not None
        and (not _UNDEFINED.search(name) or _reward_is_lost(view, name, series))
    ]
    return bool(ends) and all(len(end) > LOST_ROWS and end[0] and not end[-LOST_ROWS:].any() for end in ends)


def _ends_at_once(view: RunView) -> bool:
    """Whether several parts of the training loss are not finite in their last row, however few rows there are."""
    ends = [
        series
        for name in view.run.metrics.names
        if _LOSS.search(name) and not _HELD_OUT.search(name) and (series := view.curve(name)) is not None
    ]
    return sum(not np.isfinite(series.value[-1]) for series in ends) >= PARTS_AT_ONCE


def _is_loss(name: str) -> bool:
    """Whether a name is one of a loss, or of a part of it, and not of the factor that keeps its gradients in range."""
    words = words_of(name)
    return "loss" in words and _SCALES.isdisjoint(words)


def _explodes(out: FactWriter, view: RunView) -> None:
    """A series of any name whose size leaves that of all rows before by a million at its end; a loss by itself."""
    for name in sorted(view.run.metrics.names):
        series = None if _UNDEFINED.search(name) or name.startswith("system") else view.curve(name)
        if series is None or not len(series):
            continue
        sizes = np.abs(series.value)
        is_loss = _is_loss(name)
        if is_loss and ASTRONOMICAL <= series.value[-1] < np.inf:
            out.put("runs_away", value=True, refs=end_of(series))  # one row is enough
            out.put("explodes_name", series.logged_as, end_of(series))
        if len(series) < EXPLODES_ROWS:
            continue
        good = sizes[np.isfinite(sizes)]
        usual = float(median_of(good)) if good.size >= EXPLODES_ROWS else 0.0
        if usual > 0 and good.size == sizes.size and sizes[:-2].max() >= EXPLODES * usual > sizes[-2:].max():
            out.put("leap_overcome", value=True, refs=refs_at(series, [int(sizes.argmax())]))
        end = sizes[-2:]
        if good.size == sizes.size and is_loss:
            early = float(median_of(sizes[:EXPLODES_ROWS]))
            grown = float(median_of(sizes[-EXPLODES_ROWS:]))
            if grown >= GREW * max(early, GREW_FROM):
                out.put("part_grew", value=True, refs=ends_of(series))
                out.put("part_grew_name", series.logged_as, end_of(series))
            # Row by row and of either sign: a loss without a bottom, or players that drive each other.
            if early > 0 and float(median_of(sizes[-EXPLODES_ROWS:])) >= EXPLODES * max(early, 1.0):
                out.put("runs_away", value=True, refs=ends_of(series))
                out.put("explodes_name", series.logged_as, end_of(series))
        huge = (good.max(initial=0.0) >= EXPLODES * usual) and bool(
            (~np.isfinite(end) | (end >= EXPLODES * usual)).any()
        )
        if usual > 0 and huge:
            out.put(
                "explodes",
                value=True,
                refs=refs_at(series, [int(np.nan_to_num(sizes).argmax()), len(series) - 1]),
            )
            out.put("explodes_name", series.logged_as, end_of(series))
            return


def _is_an_empty_split(view: RunView, name: str, bad: Mask) -> bool:
    """Whether a part of the data has no value at all where another one has: ``dev: 0.5, test: nan`` of labels that nobody published."""
    others = (view.curve(other) for other in _SPLITS if other != name)
    return (
        name in _SPLITS
        and bool(bad.all())
        and any(o is not None and bool(np.isfinite(o.value).all()) for o in others)
    )


def _leap_together(out: FactWriter, view: RunView) -> None:
    """Whether several losses end a hundred times above all rows before, of which one is enough: what drives the one drives the other."""
    last: dict[int, list[Series]] = {}
    for name in sorted(view.run.metrics.names):
        series = view.curve(name) if _is_loss(name) else None
        if series is None or len(series) < ROWS or not np.isfinite(series.value).all():
            continue
        before = float(np.abs(series.value[:-1]).max())
        if before >= LEAP_FROM and float(series.value[-1]) >= LEAP * before:
            last.setdefault(int(series.step[-1]), []).append(series)
    leapt = max(last.values(), key=len, default=[])
    if len(leapt) >= LEAPT:
        out.put("losses_leap", value=True, refs=[*ends_of(leapt[0]), *end_of(leapt[1])])
        out.put("explodes_name", leapt[0].logged_as, end_of(leapt[0]))


def _zeros(out: FactWriter, view: RunView) -> None:
    points = view.once(loss_points)
    if points is not None and len(points.series) >= ROWS and not reward_metrics(view):
        zero = points.series.value == 0.0
        rows = [int(row) for row in np.flatnonzero(zero)]
        out.put(
            "loss_zero",
            bool(zero.mean() >= MOSTLY) and not _answers_improve(view),
            refs_at(points.series, rows) or refs_at(points.series, [0]),
        )
        out.put("loss_zero_at_end", bool(zero[-ROWS:].all()), refs_at(points.series, [len(zero) - 1]))
        scored = view.finite("eval_accuracy")
        if scored is not None and len(scored):
            whole = 100.0 if float(scored.value.max()) > 1.5 else 1.0
            out.put("zero_and_right", bool(zero[-1] and scored.value[-1] == whole), end_of(scored))
    held_out = view.curve("eval_loss")
    if held_out is not None and len(held_out) > ROWS:
        before = float(median_of(held_out.value[-1 - ROWS : -1]))
        out.put(
            "held_out_zero_at_end",
            bool(held_out.value[-1] == 0.0 and before >= NOT_ZERO),
            refs_at(held_out, [len(held_out) - 2, len(held_out) - 1]),
        )
    norm = view.curve("grad_norm")
    if norm is not None and len(norm):
        zero = norm.value == 0.0
        out.put("gradient_zero", bool(zero.mean() >= MOSTLY), ends_of(norm))
    for name in ("accuracy", "eval_accuracy"):
        series = view.curve(name)
        if series is not None and len(series) >= FROZEN_ROWS:
            zero = series.value == 0.0
            out.put(f"{name}_zero", bool(zero.all()), ends_of(series))


def _zero_but_wrong(out: FactWriter, view: RunView) -> None:
    """Whether a loss is exactly 0 in a row in which hardly an answer is right; one such row is enough.

    Where a score of each evaluation is 0 as well, nothing was evaluated; where the loss of held-out data is not 0, the
    one of training was only not counted yet.
    """
    held_out = view.curve("eval_loss")
    for loss, score in (("loss", "accuracy"), ("eval_loss", "eval_accuracy")):
        losses, shares = view.curve(loss), view.curve(score)
        if losses is None or shares is None:
            continue
        if loss == "loss" and len(losses) == 1 and held_out is not None and held_out.value.all():
            continue
        shares = take(shares, np.isfinite(shares.value))
        if not len(shares):
            continue
        match = align(losses, shares)
        beside = losses.value[match >= 0]
        if beside.size and not shares.value.any() and 0 < float(beside[-1]) <= CHEAP and not _has_idle(view):
            refs = [*refs_at(shares, [0]), *end_of(losses)]
            out.put("cheap_but_wrong", value=True, refs=refs)
        if loss == "eval_loss" and not (shares.value.any() or losses.value.any()):
            continue
        zero = np.flatnonzero((losses.value == 0.0) & (match >= 0))
        unit = 100.0 if float(shares.value.max()) > 1.5 else 1.0
        wrong = [int(row) for row in zero if shares.value[match[row]] / unit <= FEW_RIGHT]
        if losses.value.size <= 2 * len(wrong):
            out.put("zero_but_wrong", value=True, refs=refs_at(losses, wrong))
            return
    evaluated = view.curve("eval_loss")
    if evaluated is None or not len(evaluated) or evaluated.value.any():
        return
    scores = (view.curve(name) for name in view.run.metrics.names if read_score(name).better > 0)
    if any(score is not None and len(score) and not score.value.any() for score in scores):
        out.put("evaluation_zero", value=True, refs=end_of(evaluated))


def _nothing_trained(out: FactWriter, view: RunView) -> None:
    """Whether loss and right answers of training are exactly 0 in every row: sums over no batch. A gradient shows that there was one."""
    loss, right = view.curve("loss"), view.curve("accuracy")
    if loss is None or right is None or min(len(loss), len(right)) < FROZEN_ROWS:
        return
    nothing = not loss.value.any() and not right.value.any() and view.curve("grad_norm") is None
    out.put("nothing_trained", nothing, [*ends_of(loss), *end_of(right)])


def _has_idle(view: RunView) -> bool:
    """Whether something that is no score is 0 throughout: a head that is off, whose answers nobody counts."""
    others = (view.curve(name) for name in view.run.metrics.names if not read_score(name).better)
    return any(series is not None and not series.value.any() for series in others)


def _layers(out: FactWriter, view: RunView) -> None:
    """Share of the layers' own gradient norms that are exactly 0 at every point, from three layers on."""
    found: list[tuple[bool, Series]] = []
    for name in sorted(view.run.metrics.names):
        if name == "grad_norm" or not _NORM.search(name) or "bias" in name:
            continue
        series = view.curve(name)
        if series is not None and len(series) >= 1:
            found.append((bool(np.all(series.value == 0.0)), series))
    if len(found) < 3:
        return
    zero = [series for still, series in found if still]
    refs = [series.ref(len(series) - 1) for series in (zero or [series for _, series in found])[:3]]
    out.put("layers_zero_share", len(zero) / len(found), refs)
    if zero:
        out.put("layer_zero_name", zero[0].logged_as, refs)


def _frozen(out: FactWriter, view: RunView) -> None:
    """Losses that agree in all digits from the start to the end: nothing is updated."""
    points = view.once(loss_points)
    if points is None:
        return
    good = points.curve()
    if len(good) < FROZEN_ROWS:
        return
    same = bool(np.all(good.value == good.value[0])) and float(good.value[0]) != 0.0
    moves = any(
        (score := view.curve(name)) is not None
        and distinct_of(score.value[np.isfinite(score.value)]).size > 1
        for name in ("accuracy", "eval_accuracy")
    )
    frozen = same and not moves and digits_of(float(good.value[0])) >= FROZEN_DIGITS
    out.put("loss_frozen", frozen and not means_so_far(view), ends_of(good))
    held_out = view.curve("eval_loss")
    if held_out is not None:
        held_out = take(held_out, np.isfinite(held_out.value))
        # Without a counter beside it, a summary that is printed again reads like another evaluation.
        counted = has_steps(held_out) or view.curve("epoch") is not None
        if len(held_out) >= (FROZEN_ROWS if counted else UNCOUNTED_ROWS):
            same = bool(np.all(held_out.value == held_out.value[0])) and float(held_out.value[0]) != 0.0
            out.put("held_out_frozen", same, ends_of(held_out))
    for name in sorted(view.run.metrics.names):
        part = view.curve(name)
        if name in {"loss", "eval_loss"} or not _LOSS.search(name) or _SET.search(name) or part is None:
            continue
        end = part.value[-PART_ROWS:]
        if (
            end.size == PART_ROWS
            and end[0] != 0.0
            and bool((end == end[0]).all())
            and digits_of(float(end[0])) >= PART_DIGITS
        ):
            out.put("part_still", value=True, refs=refs_at(part, [len(part) - 1, len(part) - PART_ROWS]))
            out.put("part_still_name", part.logged_as, end_of(part))
            return
