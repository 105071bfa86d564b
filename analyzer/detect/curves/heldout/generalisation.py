"""Evaluation beside training: which evaluation was best, how noisy it is, epochs, and what they show together."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at, truth
from analyzer.detect.curve import has_steps, take
from analyzer.detect.curves.evaluation import evaluations
from analyzer.detect.curves.heldout.gap import beside
from analyzer.detect.curves.heldout.scores import rows_away
from analyzer.detect.curves.numerics.bad_points import loss_points, values_beside
from analyzer.detect.curves.progress import held_out_trend, loss_trend
from analyzer.detect.curves.trend import scatter
from analyzer.detect.robust import PARTS, extreme, noise
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Values
from analyzer.model.name_words import read_name
from analyzer.model.ranked import median_of, quantile_of
from analyzer.model.refs import SourceRef
from analyzer.model.score_words import read_score
from analyzer.model.tables import Series

NOISE_POINTS = 5
"""Evaluations from which their own scatter can be told."""

PLATEAU_SHARE = 0.02
"""Evaluation losses that stay within two percent: nothing was gained that a later reader would notice."""

NEAR_ZERO = 0.01
"""A hundredth of the first loss: the samples are known by heart."""

BOUNDARIES = 2
"""Falls at two epoch starts are a pattern, at one a chance."""

AT_BOUNDARY = 5
"""Points on each side of an epoch start."""

_SCORE = LazyRegex(
    r"^(?:eval_accuracy|(?:eval|val|valid|validation|dev|test|metrics)[/_](?:\w{1,20}[/_])?"
    r"(?P<what>acc(?:uracy)?|map(?:50|50-95)?(?:\(b\))?|f1(?:_score)?|bleu|rouge-?[12l]|wer|cer|dice|miou|auc))$"
)
"""Scores by which a model is chosen, on held-out data."""

KEPT = 0.01
"""A hundredth of the best score: what evaluations of neighbouring checkpoints differ by."""

FEWER_ERRORS = 0.9
"""A tenth of the errors gone: where the first evaluation is right nineteen times in twenty, little more can be gained."""

LOST_SHARE = 0.25
"""A quarter of the evaluations, all clearly below the best: such a score is not coming back."""

FEW_EACH_BETTER, SURER = 3, 1.5
"""Three evaluations, each better than the one before, tell what five tell that scatter, if the loss rose by less than half."""

LEVELS_OF = 12
"""Evaluations whose quarters are three rows and more, so that a median of each is no accident."""

TURNED = 0.2
"""A fifth of the evaluations after the best one: fewer may be the scatter of the last few."""

DROP_SHARE = 0.7
"""Share of the epoch starts that must show the fall."""

ROWS_SINCE_BEST, ROSE, FELL_ON = 2, 1.05, 0.8
"""Evaluations that each were worse than the one before, in all by a twentieth, while training lost a fifth."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.generalisation.*`` and ``signal.epochs.*``."""
    of_losses = out.below("generalisation.")
    losses = view.once(evaluations)
    if losses is not None:
        bad = ~np.isfinite(losses.value)
        of_losses.put("all_nonfinite", bool(bad.all()), refs_at(losses, [0, len(losses) - 1]))
        good = take(losses, ~bad)
        if len(good) >= 2:
            _best(of_losses, good)
        if len(good):
            _against_train(of_losses, view, good)
        if len(good) >= FEW_EACH_BETTER:
            _means_fall(of_losses, view, good)
    _accuracies(of_losses, view)
    _scores(of_losses, view)
    _keeps_best(of_losses, view)
    _parts_in_a_row(of_losses, view)
    _epochs(out.below("epochs."), view)


def _best(out: FactWriter, good: Series) -> None:
    values, last = good.value, len(good) - 1
    best = int(values.argmin())
    refs = refs_at(good, [best, last])
    out.put("best_step", good.step_at(best), refs[:1])
    out.put("last_step", good.step_at(last), refs[1:])
    out.put("evaluations_since_best", last - best, refs)
    lowest, final = float(values[best]), float(values[last])
    if lowest > 0:
        out.put("worse_than_best", final / lowest, refs)
        if len(good) >= NOISE_POINTS:
            out.put("turned", last - best > TURNED * len(good) and final > (1 + KEPT) * lowest, refs)
    if len(good) >= LEVELS_OF and lowest > 0:
        _levels(out, values, refs)
    if len(good) >= NOISE_POINTS:
        spread = min(noise(values), scatter(values))
        near = max(2.0 * spread, extreme(values) + spread)
        level = min(final, float(median_of(values[-NOISE_POINTS:]))) if extreme(values) else final
        out.put("within_noise", level - lowest <= near, refs)
        if lowest > 0:
            spread = float(np.ptp(values[len(good) // 2 :]))
            out.put("flat", bool(spread <= PLATEAU_SHARE * lowest), refs)
            out.put("never_fell", bool(median_of(values[-3:]) >= (1 - PLATEAU_SHARE) * values[0]), refs)


def _levels(out: FactWriter, values: Values, refs: list[SourceRef]) -> None:
    """Where held-out loss stands over its last third beside its best, how far it swings there, and what it gained since its second quarter."""
    late, half = values[-(values.size // 3) :], values[values.size // 2 :]
    out.put("level_over_best", float(median_of(late)) / float(values.min()), refs)
    _, then, _, now = (float(median_of(part)) for part in np.array_split(values, 4))
    low, high = quantile_of(half, 0.1), quantile_of(half, 0.9)
    out.put("swing", float(high - low) / float(median_of(half)), refs)
    out.put("gained_late", 1 - now / then, refs)


def _against_train(out: FactWriter, view: RunView, good: Series) -> None:
    """Training loss over evaluation loss at the first evaluations; a factor there is a matter of counting."""
    points = view.once(loss_points)
    if points is None or not has_steps(good) or not has_steps(points.series):
        return
    train = points.curve()
    if not len(train) or float(good.value[0]) <= 0:
        return
    interval = max(int(good.step[-1] - good.step[0]) // max(len(good) - 1, 1), 1)
    ratios = []
    for row in range(min(len(good), PARTS)):
        near = np.abs(train.step - good.step[row]) <= max(interval // 4, 1)
        if near.any() and good.value[row] > 0:
            ratios.append(float(median_of(train.value[near])) / float(good.value[row]))
    # One ratio may be an accident of a steep descent; a matter of counting is the same every time.
    if len(ratios) >= 2 and max(ratios) <= 1.3 * min(ratios):
        out.put("train_over_eval", float(median_of(ratios)), [*refs_at(good, [0]), *refs_at(train, [0])])


def _keeps_best(out: FactWriter, view: RunView) -> None:
    """Whether the best evaluation, and not the last step, is what the run hands over."""
    for entry in view.run.config.entries:
        tail = entry.key_in_source.rpartition(".")[2]
        if (
            tail in {"load_best_model_at_end", "save_best", "restore_best_weights"}
            and entry.value is not None
        ):
            known = truth(entry.value)
            out.put("keeps_best", True if known is None else known, [entry.ref])
            return


def _share(series: Series | None) -> Series | None:
    """An accuracy as shares, only its finite points."""
    if series is None:
        return None
    series = take(series, np.isfinite(series.value))
    return series if len(series) else None


def _accuracies(out: FactWriter, view: RunView) -> None:
    logged = view.curve("eval_accuracy")
    if logged is not None:
        none = bool(np.isnan(logged.value).all())
        out.put("accuracy_nonfinite", none, refs_at(logged, [0, len(logged) - 1]))
    held_out, train = _share(logged), _share(view.curve("accuracy"))
    if held_out is None:
        return
    scale = 100.0 if float(held_out.value.max()) > 1.5 else 1.0
    best, last = int(held_out.value.argmax()), len(held_out) - 1
    refs = refs_at(held_out, [best, last])
    out.put("accuracy_points", len(held_out), refs)
    if len(held_out) >= 2:
        out.put("accuracy_best", float(held_out.value[best]) / scale, refs)
        out.put("accuracy_last", float(held_out.value[last]) / scale, refs)
        out.put("accuracy_lost", float(held_out.value[best] - held_out.value[last]) / scale, refs)
    if len(held_out) >= 2 * NOISE_POINTS:
        gained = float(median_of(held_out.value[-NOISE_POINTS:]) - median_of(held_out.value[:3]))
        out.put("accuracy_gained", gained / scale, refs_at(held_out, [0, last]))
    if (zero_shot := view.events("zero_shot_score")) and best == last:
        before = float(str(zero_shot[-1].fields["score"]))
        gained = float(held_out.value[last]) - before if (before > 1.5) == (scale > 1.5) else 0.0
        out.put("above_zero_shot", gained >= KEPT * scale, [zero_shot[-1].ref, *refs])
    if train is not None:
        train_scale = 100.0 if float(train.value.max()) > 1.5 else 1.0
        count = max(len(train) // 20, 1)
        level = float(median_of(train.value[-count:])) / train_scale
        gap = level - float(held_out.value[last]) / scale
        out.put("accuracy_gap", gap, [*refs, *end_of(train)])
    _error_of_accuracy(out, view, held_out, scale)


def _parts_in_a_row(out: FactWriter, view: RunView) -> None:
    """Whether held-out loss has risen from its best on, evaluation by evaluation, while training loss fell on.

    Not where a score is at its best at the end: then the loss is not what the model is chosen by.
    """
    train, held_out = view.once(loss_trend), view.once(held_out_trend)
    pairs = [] if train is None or held_out is None else beside(held_out[0], train[0])
    if held_out is None or len(pairs) < ROWS_SINCE_BEST + 2 or min(min(pair) for pair in pairs) <= 0:
        return
    losses, trained = (np.array(column) for column in zip(*pairs, strict=True))
    best = int(losses.argmin())
    since = losses.size - 1 - best
    rises = since >= max(ROWS_SINCE_BEST, TURNED * losses.size) and bool((np.diff(losses[best:]) > 0).all())
    falls = bool((np.diff(trained[best:]) < 0).all()) and trained[-1] <= FELL_ON * trained[best]
    told = {name: fact.value for name, fact in out.facts.items()}
    excused = any(told.get(f"signal.generalisation.{name}") for name in ("score_kept", "within_noise"))
    verdict = rises and bool(falls) and bool(losses[-1] >= ROSE * losses[best]) and not excused
    out.put("parted_in_a_row", verdict, refs_at(held_out[0], [len(held_out[0]) - 1, best]))


def _scores(out: FactWriter, view: RunView) -> None:
    """Whether a score on held-out data still is at its best at the end, if it gained anything at all.

    Not where another one was lost for good: then it is a matter of taste by which of them the model is chosen.
    """
    kept: list[tuple[bool, Series]] = []
    few: list[tuple[Values, Series]] = []
    lost = False
    named = [name for name in sorted(view.run.metrics.names) if _SCORE.match(name)]
    # Beside the score of all classes that of one is no matter of which model is chosen.
    for name in [name for name in named if read_score(name).whole] or named:
        if (match := _SCORE.match(name)) is None or (score := _share(view.curve(name))) is None:
            continue
        falls = match["what"] in {"wer", "cer"}
        values = -score.value if falls else score.value
        if len(values) < NOISE_POINTS:
            rose = out.facts.get("signal.generalisation.worse_than_best")
            if rose is None or (isinstance(rose.value, float) and rose.value <= SURER):
                few.append((values, score))
            continue
        lost = lost or rows_away(values) >= max(LOST_SHARE * len(values), NOISE_POINTS)
        last, margin = float(max(median_of(values[-3:]), values[-1])), KEPT * abs(float(values.max()))
        share = not falls and float(values.min()) >= 0 and float(values.max()) <= 1
        if last > float(values[0]) + margin or (share and 1 - last <= FEWER_ERRORS * (1 - float(values[0]))):
            kept.append((last >= float(values.max()) - margin, score))
    kept += [(True, score) for values, score in few if not lost and _each_better(values)]
    lost = lost or any(values[-1] < values.max() - KEPT * abs(values.max()) for values, _ in few)
    if kept:
        score = next((series for good, series in kept if good), kept[0][1])
        out.put("score_kept", not lost and any(good for good, _ in kept), ends_of(score))
        _gained_since_best(out, view, [series for good, series in kept if good and not lost])


def _gained_since_best(out: FactWriter, view: RunView, kept: list[Series]) -> None:
    """The most that a score gained since the evaluation whose loss was the lowest."""
    losses = view.once(evaluations)
    if losses is None or not np.isfinite(losses.value).any():
        return
    best = int(np.nanargmin(losses.value))
    gains: list[tuple[float, int, Series]] = []
    for score in kept:
        rows = np.flatnonzero(score.step == losses.step[best])
        if rows.size == 1 or len(score) == len(losses):
            at = int(rows[0]) if rows.size == 1 else best
            unit = 100.0 if float(score.value.max()) > SURER else 1.0
            gains.append((abs(float(median_of(score.value[-2:]) - score.value[at])) / unit, at, score))
    if gains:
        most, at, score = max(gains, key=lambda entry: entry[0])
        out.put("score_gained_since_best", most, refs_at(score, [at, len(score) - 1]))


def _each_better(values: Values) -> bool:
    """Whether each of a few evaluations is better than the one before, and the last by more than neighbours differ."""
    ordered = values.size >= FEW_EACH_BETTER and bool((np.diff(values) > 0).all())
    return ordered and bool(values[-1] > values[0] + KEPT * abs(float(values.max())))


def _means_fall(out: FactWriter, view: RunView, good: Series) -> None:
    """Whether the means of epochs fall from each to the next in training and on held-out data, whatever single batches cost."""
    for name in sorted(view.run.metrics.names):
        means = (
            view.finite(name) if name.startswith("epoch/") and read_name(name).quantity == "loss" else None
        )
        if means is not None and len(means) >= FEW_EACH_BETTER:
            both = all(bool((np.diff(series.value) < 0).all()) for series in (means, good))
            out.put("means_fall", both, [*ends_of(means), *ends_of(good)])
            return


def _error_of_accuracy(out: FactWriter, view: RunView, held_out: Series, scale: float) -> None:
    """Difference of best and last accuracy in standard errors of a share, if the number of samples is known."""
    samples = view.curve("eval_samples")
    if samples is None or len(held_out) < 2 or not samples.value[-1] >= 1:
        return
    shares = held_out.value / scale
    best, last = float(shares.max()), float(shares[-1])
    middle = min(max((best + last) / 2, 1e-6), 1 - 1e-6)
    error = float(np.sqrt(2.0 * middle * (1 - middle) / samples.value[-1]))
    refs = [*refs_at(held_out, [int(shares.argmax()), len(held_out) - 1]), *end_of(samples)]
    out.put("samples", round(float(samples.value[-1])), end_of(samples))
    out.put("lost_in_errors", (best - last) / error, refs)


def _epochs(out: FactWriter, view: RunView) -> None:
    """How many epochs were run, and whether the loss falls in a step at their starts."""
    epochs = view.curve("epoch")
    points = view.once(loss_points)
    if epochs is not None and np.isfinite(epochs.value).any():
        row = int(np.nanargmax(np.where(np.isfinite(epochs.value), epochs.value, np.nan)))
        out.put("done", float(epochs.value[row]), refs_at(epochs, [row]))
    curve = None if points is None else points.curve()
    if curve is not None and len(curve) >= 2 * PARTS and float(curve.value[0]) > 0:
        count = max(len(curve) // PARTS, 1)
        level = float(median_of(curve.value[-count:]))
        out.put("loss_near_zero", level <= NEAR_ZERO * float(curve.value[:3].max()), ends_of(curve))
        _boundaries(out, view, curve)


def _boundaries(out: FactWriter, view: RunView, curve: Series) -> None:
    beside = values_beside(view, curve, "epoch")
    if beside is None or not beside[0].all() or not np.isfinite(beside[1]).all():
        return
    rows = np.flatnonzero(np.diff(np.floor(beside[1] + 1e-9)) >= 1) + 1
    rows = rows[(rows >= AT_BOUNDARY) & (rows <= len(curve) - AT_BOUNDARY)]
    if rows.size < BOUNDARIES or int(np.diff(rows).min()) < 2 * AT_BOUNDARY:
        return
    drops = np.array([_drop(curve.value, int(row)) for row in rows])
    middles = np.array([_drop(curve.value, int(row)) for row in (rows[:-1] + rows[1:]) // 2])
    scatter = 3.0 * noise(curve.value) * 1.2533 * float(np.sqrt(2.0 / AT_BOUNDARY))
    falls = (drops > scatter) & (drops > 2.0 * max(float(median_of(middles)), 0.0))
    steps = bool(falls.sum() >= BOUNDARIES and falls.mean() >= DROP_SHARE)
    out.put("falls_at_starts", steps, refs_at(curve, [int(row) for row in rows]))


def _drop(values: Values, row: int) -> float:
    return float(median_of(values[row - AT_BOUNDARY : row]) - median_of(values[row : row + AT_BOUNDARY]))
