"""The evaluation loss against its own course and against the training loss at the same places."""

from __future__ import annotations

import numpy as np

from analyzer.detect.shapes.course import Course, middle, rank_correlation, relative
from analyzer.model.arrays import Mask, Values


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
