"""Levels and trends of the training loss: how far it fell, when, and what it lost again."""

from __future__ import annotations

import numpy as np

from analyzer.detect.shapes.course import Course, middle, relative, row_medians
from analyzer.detect.shapes.feature import ASINH, LOG10, Feature

_LOSS = ("loss",)

FEATURES = (
    Feature(
        "loss_drop", "loss", "share", "(start - end) / (|start| + |end| + s); start: first 2 %, end: last 5 %",
        "derivation: relative change that is defined for losses at or below zero",
        "the loss fell from start to end by {value:.2f} of their sum|the loss rose from start to end by {value:.2f} of their sum",
        -1, 1, needs=_LOSS,
    ),
    Feature(
        "loss_drop_noise", "loss", "s", "(start - end) / s", "effect size (Cohen 1988) with a robust scatter",
        "the loss ended {value:.1f} robust deviations below its start|the loss ended {value:.1f} robust deviations above its start",
        -10, 10, ASINH, _LOSS,
    ),
    Feature(
        "loss_orders", "loss", "factor", "log10((|end| + s/100) / (|start| + s/100))",
        "derivation: an overfitted or repeated batch falls by orders of magnitude (Zhang et al. 2017)",
        "the loss ended at {value:.3g} times its start", -6, 6, LOG10, _LOSS,
    ),
    Feature(
        "loss_best_drop", "loss", "share", "(start - best) / (|start| + |best| + s); best: least running median",
        "DeepFD flag not_converge (Cao et al. 2022), as a measure",
        "at its best the loss had fallen by {value:.2f} of the sum of start and best", 0, 1, needs=_LOSS, shows="best",
    ),
    Feature(
        "loss_lost_share", "loss", "share of the gain", "(end - best) / max(start - best, 3 s)",
        "DeepFD flag increase_loss; AUTOTRAINER's gamma, as a measure",
        "at the end {value:.2f} of what the loss had gained was lost again", 0, 6, ASINH, _LOSS, "best",
    ),
    Feature(
        "loss_rise_noise", "loss", "s", "(end - best) / s", "effect size with a robust scatter",
        "the loss after its lowest point rose by {value:.1f} robust deviations", 0, 10, ASINH, _LOSS, "best",
    ),
    Feature(
        "loss_best_at", "loss", "share of the run", "position of the least running median", "early stopping (Prechelt 1998)",
        "the loss was lowest at {value:.0%} of the run", 0, 1, needs=_LOSS, shows="best",
    ),
    Feature(
        "loss_half_at", "loss", "share of the run", "first position at which half of start - best is gained; 1 if that is below 3 s",
        "learning curve theory: half-life of the descent", "half of the fall was done at {value:.0%} of the run",
        0, 1, needs=_LOSS, shows="best",
    ),
    Feature(
        "loss_most_at", "loss", "share of the run", "the same for nine tenths",
        "learning curve theory", "nine tenths of the fall were done at {value:.0%} of the run", 0, 1, needs=_LOSS, shows="best",
    ),
    Feature(
        "loss_last_trend", "loss", "s", "(median of the last sixth - median of the sixth before) / s",
        "trend test on medians of blocks (Theil 1950)",
        "over the last third the loss rose by {value:.2f} robust deviations|over the last third the loss fell by {value:.2f} robust deviations",
        -8, 8, ASINH, _LOSS,
    ),
    Feature(
        "loss_last_share", "loss", "share of the range", "the same over the range of the running median + s",
        "derivation: whether the run stopped while it still learned",
        "the last third holds a rise of {value:.2f} of the whole range|the last third holds a fall of {value:.2f} of the whole range",
        -1, 1, needs=_LOSS,
    ),
    Feature(
        "loss_range", "loss", "levels", "(greatest - least running median) / (|median| + s)",
        "AUTOTRAINER's not-converging symptom, as a measure", "the smoothed loss moved within {value:.2f} times its level",
        0, 6, ASINH, _LOSS,
    ),
    Feature(
        "loss_range_noise", "loss", "s", "(greatest - least running median) / s", "signal-to-noise ratio",
        "the smoothed loss moved within {value:.1f} robust deviations", 0, 12, ASINH, _LOSS,
    ),
    Feature(
        "loss_peak_over_start", "loss", "share", "(greatest running median - start) / (|greatest| + |start| + s)",
        "catapult phase and early instability (Lewkowycz et al. 2020)",
        "the smoothed loss rose above its start by {value:.2f} of their sum", 0, 1, needs=_LOSS, shows="peak",
    ),
    Feature(
        "loss_up_share", "loss", "share", "rises over all movements of the medians of 20 blocks, movements + s",
        "up-down ratio of a path; 0 falls only, 0.5 goes nowhere",
        "{value:.0%} of the movement of the loss went upward", 0, 1, needs=_LOSS,
    ),
    Feature(
        "loss_frozen", "loss", "share", "share of neighbouring points of exactly one value",
        "AUTOTRAINER's symptom of dead units: an equal loss", "{value:.0%} of neighbouring losses are exactly equal",
        0, 1, needs=_LOSS,
    ),
)  # fmt: skip


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
