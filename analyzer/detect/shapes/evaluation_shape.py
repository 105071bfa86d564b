"""The evaluation loss against its own course and against the training loss at the same places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.detect.shapes.course import Course, middle, rank_correlation, relative
from analyzer.detect.shapes.feature import ASINH, LOG2, Feature

if TYPE_CHECKING:
    from analyzer.detect.shapes.course import Mask, Values

_EVAL, _BOTH = ("eval_loss",), ("eval_loss", "loss")

FEATURES = (
    Feature(
        "eval_drop", "evaluation", "share", "(first - best) / (|first| + |best|)", "AUTOTRAINER; relative change",
        "the evaluation loss fell from first to best by {value:.2f} of their sum", 0, 1, needs=_EVAL, shows="best",
    ),
    Feature(
        "eval_rise", "evaluation", "share", "(end - best) / (|end| + |best|); end: median of the last tenth, at most 5",
        "overfitting (Prechelt 1998: generalisation loss)", "the evaluation loss rose from its best to its end by {value:.2f} of their sum",
        0, 1, needs=_EVAL, shows="best",
    ),
    Feature(
        "eval_rise_of_drop", "evaluation", "share of the gain", "(end - best) / (first - best + scatter)", "Prechelt 1998",
        "the evaluation loss lost {value:.2f} times what it had gained", 0, 6, ASINH, _EVAL, "best",
    ),
    Feature(
        "eval_best_at", "evaluation", "share of the run", "position of the least evaluation loss", "early stopping",
        "the evaluation loss was lowest at {value:.0%} of the run", 0, 1, needs=_EVAL, shows="best",
    ),
    Feature(
        "eval_up_share", "evaluation", "share", "rises over all movements", "up-down ratio of a path",
        "{value:.0%} of the movement of the evaluation loss went upward", 0, 1, needs=_EVAL,
    ),
    Feature(
        "eval_bad_share", "evaluation", "share", "share of evaluation losses that are not finite", "DeepFD flag nan_loss",
        "{value:.0%} of the evaluation losses are not finite", 0, 1, needs=_EVAL, shows="bad",
    ),
    Feature(
        "eval_bad_alone", "evaluation", "share", "the same, only where the training loss nearby is finite",
        "derivation: a fault of the evaluation data or code", "{value:.0%} of the evaluation losses are not finite while the training loss is",
        0, 1, needs=_BOTH, shows="bad",
    ),
    Feature(
        "eval_gap_start", "evaluation", "share", "(eval - train) / (|eval| + |train| + s) at the first evaluation", "generalisation gap",
        "at first the evaluation loss lay above the training loss by {value:.2f} of their sum|at first the evaluation loss lay below the training loss by {value:.2f} of their sum",
        -1, 1, needs=_BOTH, shows="first",
    ),
    Feature(
        "eval_gap_end", "evaluation", "share", "the same at the end", "generalisation gap (DeepFD flag test_not_well)",
        "at the end the evaluation loss lay above the training loss by {value:.2f} of their sum|at the end the evaluation loss lay below the training loss by {value:.2f} of their sum",
        -1, 1, needs=_BOTH,
    ),
    Feature(
        "eval_gap_of_drop", "evaluation", "share of the gain", "(eval - train at the end) / (training loss start - best + s)",
        "generalisation gap in units of what was learned",
        "the gap at the end is {value:.2f} of what training gained|at the end evaluation lies below training by {value:.2f} of what training gained",
        -6, 6, ASINH, _BOTH,
    ),
    Feature(
        "eval_gap_noise", "evaluation", "s", "median of (eval - train) over all evaluations / s of the training loss",
        "derivation: evaluation on training data has none",
        "evaluation lies {value:.1f} robust deviations above training|evaluation lies {value:.1f} robust deviations below training",
        -10, 10, ASINH, _BOTH,
    ),
    Feature(
        "eval_gap_scatter", "evaluation", "s", "median distance of (eval - train) from its median / s of the training loss",
        "derivation: curves that follow each other exactly", "the gap scatters by {value:.2f} robust deviations of the training loss",
        0, 8, ASINH, _BOTH,
    ),
    Feature(
        "eval_parting", "evaluation", "share", "least of the relative rise of evaluation and the relative fall of training since the best evaluation, and 0",
        "definition of overfitting", "since the best evaluation both the rise there and the fall of the training loss are at least {value:.2f} of their sums",
        0, 1, needs=_BOTH, shows="best",
    ),
    Feature(
        "eval_with_train", "evaluation", "rank correlation", "of the evaluation loss and the smoothed training loss at the same places",
        "Spearman 1904", "evaluation goes with training (rank correlation {value:.2f})|evaluation goes against training (rank correlation -{value:.2f})",
        -1, 1, needs=_BOTH,
    ),
    Feature(
        "eval_scatter", "evaluation", "factor", "point-to-point scatter of the evaluation loss / s of the training loss",
        "derivation: statistics of a tiny batch make evaluation jump", "the evaluation loss scatters {value:.2g} times as much as the training loss|the evaluation loss scatters one {value:.2g}th as much as the training loss",
        -10, 10, LOG2, _BOTH,
    ),
)  # fmt: skip


def measure(evaluation: Course | None, bad: Mask | None, loss: Course | None) -> dict[str, float]:
    """Values in their natural units; those that cannot be known are left out.

    Args:
        evaluation: The reduced evaluation loss, in units of the training loss.
        bad: bool, shape (n_logged,): evaluation losses that are not finite; None if none was logged.
        loss: The reduced training loss.
    """
    if bad is None:
        return {}
    found = {"eval_bad_share": float(bad.mean())}
    if evaluation is None:
        if loss is not None:
            found["eval_bad_alone"] = float((~loss.bad).mean())
        return found
    if loss is not None:
        found["eval_bad_alone"] = _bad_alone(evaluation, loss)
    if evaluation.value.size < 2:
        return found
    value = evaluation.window
    first, end, best = float(value[0]), _end(value), int(value.argmin())
    low = min(float(value[best]), end)
    scatter = _scatter(value)
    moves = np.diff(value)
    found |= {
        "eval_drop": relative(first, low, 0.0),
        "eval_rise": relative(end, low, 0.0),
        "eval_rise_of_drop": (end - low) / max(first - low + scatter, 1e-5 * abs(first), 1e-12),
        "eval_best_at": float(evaluation.window_at[best]),
    }
    if value.size >= 4:
        found["eval_up_share"] = float(moves[moves > 0].sum() / max(float(np.abs(moves).sum()), 1e-12))
    if loss is not None and loss.value.size >= 8:
        found |= _beside(evaluation, loss, scatter)
    return found


def _end(value: Values) -> float:
    return middle(value[-min(max(value.size // 10, 1), 5) :])


def _scatter(value: Values) -> float:
    """Scatter from second differences; 0 of fewer than five evaluations."""
    return 1.4826 * middle(np.abs(np.diff(value, 2))) / np.sqrt(6.0) if value.size >= 5 else 0.0


def _bad_alone(evaluation: Course, loss: Course) -> float:
    rows = np.flatnonzero(evaluation.bad)
    if not rows.size:
        return 0.0
    near = np.round(rows / max(evaluation.bad.size - 1, 1) * (loss.bad.size - 1)).astype(np.int64)
    return float((~loss.bad[near]).sum() / evaluation.bad.size)


def _beside(evaluation: Course, loss: Course, scatter: float) -> dict[str, float]:
    value, noise = evaluation.window, loss.noise
    train = np.interp(evaluation.window_at, loss.window_at, loss.smooth)
    end, level = _end(value), _end(train)
    gap = value - train
    best = int(value.argmin())
    gain = max(loss.start() - float(loss.smooth.min()), 0.0)
    start, last = relative(float(value[0]), float(train[0]), noise), relative(end, level, noise)
    found = {
        "eval_gap_start": start,
        "eval_gap_end": last,
        "eval_gap_of_drop": (end - level) / (gain + noise),
        "eval_gap_noise": middle(gap) / noise,
        "eval_gap_scatter": middle(np.abs(gap - middle(gap))) / noise,
        "eval_parting": max(
            min(relative(end, float(value[best]), noise), relative(float(train[best]), level, noise)), 0.0
        ),
    }
    if value.size >= 5:
        found["eval_with_train"] = rank_correlation(value, train)
        found["eval_scatter"] = max(scatter, 1e-3 * noise) / noise
    return found
