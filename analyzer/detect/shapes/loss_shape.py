"""Levels and trends of the training loss: how far it fell, when, and what it lost again."""

from __future__ import annotations

import numpy as np

from analyzer.detect.shapes.course import Course, middle, relative, row_medians


def measure(loss: Course | None) -> dict[str, float]:
    """Values in their natural units; those that cannot be known are left out."""
    if loss is None or loss.value.size < 3:
        return {}
    start, end, noise = loss.start(), loss.end(), loss.noise
    best, worst = int(loss.smooth.argmin()), int(loss.smooth.argmax())
    low, high = min(float(loss.smooth[best]), end), max(float(loss.smooth[worst]), start, end)
    gain = start - low
    found = {
        "loss_drop": relative(start, end, noise),
        "loss_drop_noise": (start - end) / noise,
        "loss_orders": (abs(end) + noise / 100) / (abs(start) + noise / 100),
        "loss_best_drop": relative(start, low, noise),
        "loss_lost_share": (end - low) / max(gain, 3 * noise),
        "loss_rise_noise": (end - low) / noise,
        "loss_best_at": float(loss.window_at[best]),
        "loss_half_at": _reached(loss, start - 0.5 * gain, gain),
        "loss_most_at": _reached(loss, start - 0.9 * gain, gain),
        "loss_range": (high - low) / (abs(middle(loss.smooth)) + noise),
        "loss_range_noise": (high - low) / noise,
        "loss_peak_over_start": relative(high, start, noise),
        "loss_frozen": float((np.diff(loss.value) == 0).mean()),
    }
    if loss.window.size >= 12:
        sixth = max(loss.window.size // 6, 1)
        trend = middle(loss.window[-sixth:]) - middle(loss.window[-2 * sixth : -sixth])
        found["loss_last_trend"] = trend / noise
        found["loss_last_share"] = trend / (high - low + noise)
    if loss.window.size >= 8:
        found["loss_up_share"] = _up_share(loss)
    return found


def _reached(loss: Course, level: float, gain: float) -> float:
    """Position at which the smoothed loss first lies at or below a level."""
    if gain < 3 * loss.noise:
        return 1.0
    below = loss.smooth <= level
    return float(loss.window_at[int(below.argmax())]) if below.any() else 1.0


def _up_share(loss: Course) -> float:
    blocks = min(20, loss.window.size // 2)
    width = loss.window.size // blocks
    levels = row_medians(loss.window[-blocks * width :].reshape(blocks, width))
    moves = np.diff(np.concatenate(([loss.start()], levels)))
    return float(moves[moves > 0].sum() / (np.abs(moves).sum() + loss.noise))
