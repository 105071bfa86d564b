"""The learning rate against its peak and against the loss. Its absolute size betrays the recipe and is left out."""

from __future__ import annotations

import numpy as np

from analyzer.detect.shapes.course import Course, middle, rank_correlation, row_medians
from analyzer.model.arrays import Mask, Values

ENDED = 1e-3
"""A thousandth of the peak: no step of it is seen in a loss."""

SAME = 0.01
"""Rates within one percent of each other."""

_NEVER = {
    "rate_end": 0.0, "rate_zero_share": 1.0, "rate_zero_at": 0.0, "rate_peak_at": 0.0,
    "rate_steady": 1.0, "rate_restarts": 0.0, "rate_jump": 1.0,
}  # fmt: skip
"""What is known of a learning rate that is always zero."""


def measure(rate: Course | None, loss: Course | None) -> dict[str, float]:
    """Values in their natural units; those that cannot be known are left out."""
    if rate is None or rate.value.size < 3:
        return {}
    value, top = rate.value, float(rate.value.max())
    if top <= 0:
        return _NEVER
    peak = int((value >= 0.999 * top).argmax())
    low = value < ENDED * top
    stays = _zero_from(low)
    zero_at = 1.0 if stays is None else float(rate.at[stays])
    window = rate.window
    after = window[rate.window_at > 0.1 + rate.window_at[0]]
    steps = np.diff(window)
    found = {
        "rate_end": float(value[-1]) / top,
        "rate_zero_share": float(low[peak:].mean()),
        "rate_zero_at": zero_at,
        "rate_peak_at": float(rate.at[peak]),
        "rate_steady": float((np.abs(steps) < ENDED * top).mean()),
        "rate_restarts": float(_restarts(window / top)),
        "rate_jump": 1.0,
    }
    if after.size >= 2:
        found["rate_jump"] = max(float((after[1:] / np.maximum(after[:-1], ENDED * top)).max()), 1.0)
    if loss is not None and loss.window.size >= 8:
        found |= _beside(rate, loss, top)
        found["rate_unfinished"] = _unfinished(loss, zero_at)
    return found


def _zero_from(low: Mask) -> int | None:
    """Index from which on all points are low."""
    high = np.flatnonzero(~low)
    last = int(high[-1]) + 1 if high.size else 0
    return last if last < low.size else None


def _restarts(share: Values) -> int:
    """Rises by a tenth of the peak after a fall of a tenth, as turning points of the path."""
    count, falling, extreme = 0, False, float(share[0])
    turns = share[np.concatenate(([True], np.diff(share) != 0))]
    for level in turns.tolist():
        if falling:
            if level > extreme + 0.1:
                count, falling, extreme = count + 1, False, level
            extreme = min(extreme, level)
        else:
            if level < extreme - 0.1:
                falling, extreme = True, level
            extreme = max(extreme, level)
    return count


def _beside(rate: Course, loss: Course, top: float) -> dict[str, float]:
    at_windows = np.interp(loss.window_at, rate.window_at, rate.window)
    best = int(loss.smooth.argmin())
    rise = max(loss.end() - float(loss.smooth[best]), 0.0) / loss.noise
    then = float(at_windows[best])
    same = np.abs(at_windows[best:] - then) <= SAME * top
    found = {
        "rate_while_rising": rise * float(same.mean()),
        "rate_after_best": (float(at_windows[-1]) - then) / top,
    }
    blocks = min(20, loss.window.size // 2)
    width = loss.window.size // blocks
    if blocks >= 6:
        levels = row_medians(loss.window[-blocks * width :].reshape(blocks, width))
        rates = at_windows[-blocks * width :].reshape(blocks, width).mean(axis=1)
        found["rate_with_slope"] = rank_correlation(0.5 * (rates[1:] + rates[:-1]), np.diff(levels))
    return found


def _unfinished(loss: Course, zero_at: float) -> float:
    if zero_at >= 0.95:
        return 0.0
    near = (loss.window_at > zero_at - 0.05) & (loss.window_at <= zero_at)
    before = (loss.window_at > zero_at - 0.15) & (loss.window_at <= zero_at - 0.05)
    if not (near.any() and before.any()):
        return float("nan")
    gain = loss.start() - float(loss.smooth.min())
    fall = middle(loss.window[before]) - middle(loss.window[near])
    return max(fall, 0.0) / (max(gain, 0.0) + loss.noise)
