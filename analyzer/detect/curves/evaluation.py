"""Evaluation loss: finite or not, and whether it parts from the training loss."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, refs_at
from analyzer.detect.curve import align, has_steps, take
from analyzer.detect.curves.numerics.bad_points import loss_points
from analyzer.detect.robust import extreme
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of
from analyzer.model.tables import Series

WORSE = 1.05
"""Evaluation loss five percent above its best: beyond the scatter between two evaluations of one model."""

STILL_FALLING = 0.97
"""Training loss at least three percent below its level at the best evaluation: it goes on being fitted."""


AGAIN = 3.0
"""Between two epochs of one run the loss does not triple: without steps that is where another run begins."""

RARE_DIGITS = 5
"""Digits from which two equal losses are one evaluation made twice; of fewer digits they may be an accident."""


LITTLE_LEFT = 0.1
"""A held-out loss of a tenth of the first training loss: the task is solved, and a twentieth more or less is scatter."""


def evaluations(view: RunView) -> Series | None:
    """Evaluation losses in the order of training, without a last one that was made of the best checkpoint again.

    A trainer that loads the best checkpoint at its end evaluates it once more, and repeats that loss to the last
    digit. The point stands at the last step but tells nothing about it.
    """
    series = view.curve("eval_loss")
    if series is None or len(series) < 3:
        return series
    last, before = float(series.value[-1]), series.value[:-1]
    repeats = np.isfinite(before).all() and last == before.min() and before[-1] > last
    digits = len(repr(last).replace(".", "").strip("0"))
    return (
        take(series, np.arange(len(series)) < len(series) - 1)
        if repeats and digits >= RARE_DIGITS
        else series
    )


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.eval.*``."""
    series = view.once(evaluations)
    if series is None:
        return
    bad = ~np.isfinite(series.value)
    out.put(
        "nonfinite", value=bool(bad.any()), refs=refs_at(series, np.flatnonzero(bad)) or refs_at(series, [0])
    )
    good = take(series, ~bad)
    if len(good):
        best = int(good.value.argmin())
        out.put("points", len(good), refs_at(good, [0, len(good) - 1]))
        out.put("loss_first", float(good.value[0]), refs_at(good, [0]))
        out.put("loss_last", float(good.value[-1]), end_of(good))
        out.put("loss_best", float(good.value[best]), refs_at(good, [best]))
        parted = _parts(view, good, best)
        if parted is not None:
            out.put("rises_while_train_falls", parted, refs_at(good, [len(good) - 1, best]))


def _ends_worse(values: Values, best: int) -> bool:
    """Whether the level after the best evaluation, not one noisy value, is worse than the best of so many by chance."""
    after = values[best + 1 :][-5:]  # of five, two outliers do not move the median
    return bool(after.size and median_of(after) >= max(WORSE * values[best], values[best] + extreme(values)))


def _solved(good: Series, first: float) -> bool:
    """Whether little is left of the first loss and the rise is less still: a matter of few samples, not of the model."""
    best, after = float(good.value.min()), good.value[int(good.value.argmin()) :]
    return 0 <= best <= LITTLE_LEFT * first and float(median_of(after[-5:])) - best <= LITTLE_LEFT / 2 * first


def _parts(view: RunView, good: Series, best: int) -> bool | None:
    """Whether evaluation worsens while training improves; None without three evaluations or comparable steps."""
    points = view.once(loss_points)
    if len(good) < 3 or points is None:
        return None
    stepped = has_steps(good) and has_steps(points.series)
    if stepped and (good.value[best] <= 0 or not _ends_worse(good.value, best)):
        return False
    train = points.good()
    if _solved(good, float(train.value[0]) if len(train) else 0.0):
        return False
    if not stepped:  # a line of each epoch holds both
        match = align(good, train)
        if (match < 0).any() or good.value[best] <= 0 or (train.value[1:] > AGAIN * train.value[:-1]).any():
            return None
        falls = train.value[match[-1]] <= STILL_FALLING * train.value[match[best]]
        return bool(falls) and _ends_worse(good.value, best)
    interval = max(int(good.step[-1] - good.step[0]) // (len(good) - 1), 1)
    # Training losses of one evaluation interval before the best and before the last evaluation.
    then = train.value[(train.step <= good.step[best]) & (train.step > good.step[best] - interval)]
    now = train.value[train.step > good.step[-1] - interval]
    if not then.size or not now.size:
        return None
    return bool(median_of(now) <= STILL_FALLING * median_of(then))
