"""The gradient norm against its own course and against the loss. Its absolute size betrays the model and is left out."""

from __future__ import annotations

import numpy as np

from analyzer.detect.shapes.course import Course, factor, middle, rank_correlation
from analyzer.detect.shapes.curve_set import TRACE, Curves
from analyzer.model.arrays import Mask


def measure(seen: Curves, peak_at: float | None) -> dict[str, float]:
    """Values in their natural units; those that cannot be known are left out.

    Args:
        seen: The curves.
        peak_at: Position of the highest rise of the loss; None without one.
    """
    if seen.gradient_norm is None:
        return {}
    norms = seen.gradient_norm
    bad = ~np.isfinite(norms)
    positive = norms[norms > 0]
    trace = TRACE * middle(positive) if positive.size else 0.0
    found = {
        "gradient_bad_share": float(bad.mean()),
        "gradient_bad_at": int(bad.argmax()) / max(bad.size - 1, 1) if bad.any() else 1.0,
        "gradient_zero_share": float(((norms >= 0) & (norms <= trace)).sum() / max(int((~bad).sum()), 1)),
    }
    if seen.clip is not None and seen.clip > 0 and not bad.all():
        found["gradient_clipped"] = float((norms[~bad] > seen.clip).mean())
    if seen.gradient is None or seen.gradient.value.size < 5:
        return found
    found |= _course(seen.gradient)
    found["gradient_growth_before_bad"] = _before_bad(seen, seen.gradient, bad)
    if seen.loss is not None and seen.loss.value.size >= 8:
        found |= _beside(seen.gradient, seen.loss, peak_at)
    return found


def _course(norm: Course) -> dict[str, float]:
    """All of it is in binary logarithms above the median, and is given as factors."""
    window = norm.window
    fifth, tenth = max(window.size // 5, 1), max(window.size // 10, 1)
    early = middle(window[:tenth])
    spike = (norm.rest > 2.0) & (norm.rest > 6 * norm.noise)
    found = {
        "gradient_trend": factor(middle(window[-fifth:]) - middle(window[:fifth])),
        "gradient_peak": factor(float(norm.value.max())),
        "gradient_low": factor(float(norm.value.min())),
        "gradient_rise": factor(float(norm.smooth[tenth:].max()) - early),
        "gradient_noise": norm.noise,
        "gradient_spikes": 100.0 * float(spike.mean()),
    }
    if window.size >= 12:
        sixth = window.size // 6
        found["gradient_last_trend"] = factor(middle(window[-sixth:]) - middle(window[-2 * sixth : -sixth]))
    return found


def _before_bad(seen: Curves, norm: Course, bad: Mask) -> float:
    row = None if seen.loss is None else seen.loss.first_bad()
    if row is None and not bad.any():
        return 1.0
    usable = norm.row < int(bad.argmax()) if bad.any() else np.ones(norm.row.size, np.bool_)
    if seen.loss is not None and row is not None:
        usable &= norm.at < seen.loss.place(row)
    before = norm.value[usable]
    if before.size < 5:
        return float("nan")
    return factor(float(before[-3:].max()) - middle(before[:-3]))


def _beside(norm: Course, loss: Course, peak_at: float | None) -> dict[str, float]:
    places = loss.window_at
    inside = (places >= norm.window_at[0]) & (places <= norm.window_at[-1])
    found: dict[str, float] = {}
    if inside.sum() >= 8:
        level = np.interp(places[inside], norm.window_at, norm.smooth)
        jolt = np.interp(places[inside], norm.window_at, norm.window - norm.smooth)
        own = loss.window[inside] - loss.smooth[inside]
        found["gradient_level_with_loss"] = rank_correlation(loss.smooth[inside], level)
        found["gradient_jolt_with_loss"] = rank_correlation(own, jolt)
    near = norm.value[np.abs(norm.at - peak_at) <= 0.02] if peak_at is not None else np.zeros(1)
    if near.size:
        found["gradient_at_loss_peak"] = factor(float(near.max()))
    return found
