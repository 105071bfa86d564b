"""The gradient norm against its own course and against the loss. Its absolute size betrays the model and is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.detect.shapes.course import Course, factor, middle, rank_correlation
from analyzer.detect.shapes.curve_set import TRACE, Curves
from analyzer.detect.shapes.feature import ASINH, LOG2, Feature

if TYPE_CHECKING:
    from analyzer.detect.shapes.course import Mask

_NORM, _BOTH = ("grad_norm",), ("grad_norm", "loss")

FEATURES = (
    Feature(
        "gradient_trend", "gradient", "factor", "median of the last fifth / median of the first fifth",
        "DeepFD flags vanish and explode gradient, as a measure",
        "the gradient norm grew {value:.2g}-fold from the first to the last fifth|the gradient norm shrank {value:.2g}-fold from the first to the last fifth",
        -16, 16, LOG2, _NORM,
    ),
    Feature(
        "gradient_last_trend", "gradient", "factor", "median of the last sixth / median of the sixth before",
        "trend on medians of blocks", "over the last third the gradient norm grew {value:.2g}-fold|over the last third the gradient norm shrank {value:.2g}-fold",
        -16, 16, LOG2, _NORM,
    ),
    Feature(
        "gradient_peak", "gradient", "factor", "greatest norm / median", "exploding gradients (Pascanu et al. 2013)",
        "the greatest gradient norm is {value:.3g} times the median", 0, 24, LOG2, _NORM, "peak",
    ),
    Feature(
        "gradient_low", "gradient", "factor", "least norm above a millionth of the median / median",
        "vanishing gradients (Bengio et al. 1994)", "the least gradient norm is {value:.3g} times the median|the least gradient norm is one {value:.3g}th of the median",
        -20, 0, LOG2, _NORM,
    ),
    Feature(
        "gradient_rise", "gradient", "factor", "greatest running median after the first tenth / median of the first tenth",
        "derivation: slow growth, without single spikes", "the smoothed gradient norm rose to {value:.2g} times its early level|the smoothed gradient norm never came back to more than one {value:.2g}th of its early level",
        -16, 24, LOG2, _NORM, "peak",
    ),
    Feature(
        "gradient_noise", "gradient", "octaves", "robust standard deviation of the point-to-point scatter of the binary logarithm",
        "gradient noise scale (McCandlish et al. 2018); BatchNorm on tiny batches",
        "the gradient norm scatters by {value:.2f} octaves from point to point", 0, 6, needs=_NORM,
    ),
    Feature(
        "gradient_spikes", "gradient", "per 100 points", "norms above 4 times the running median and 6 deviations above it",
        "robust outlier count; clipping statistics", "{value:.1f} of 100 gradient norms are spikes", 0, 4, ASINH, _NORM, "peak",
    ),
    Feature(
        "gradient_zero_share", "gradient", "share", "share of norms that are 0 or below a millionth of the median of the others",
        "AUTOTRAINER's dead units; all labels masked", "{value:.0%} of the gradient norms are zero", 0, 1, needs=_NORM, shows="bad",
    ),
    Feature(
        "gradient_bad_share", "gradient", "share", "share of norms that are NaN, infinite or the sentinel -1",
        "DeepFD flag nan gradient", "{value:.0%} of the gradient norms are not finite", 0, 1, needs=_NORM, shows="bad",
    ),
    Feature(
        "gradient_bad_at", "gradient", "share of the run", "position of the first of them; 1 if there is none",
        "the same, its onset", "the gradient norm is not finite from {value:.0%} of the run on", 0, 1, needs=_NORM, shows="bad",
    ),
    Feature(
        "gradient_growth_before_bad", "gradient", "factor",
        "greatest of the last 3 norms before the first loss or norm that is not finite / median of those before; 1 without one",
        "derivation: divergence is announced by the gradient, a bad sample is not",
        "before the run stopped being finite the gradient norm had grown {value:.2g}-fold|before the run stopped being finite the gradient norm had shrunk {value:.2g}-fold",
        -16, 24, LOG2, _NORM, "bad",
    ),
    Feature(
        "gradient_clipped", "gradient", "share", "share of norms above the configured threshold; unknown without one",
        "clipping statistics (Pascanu et al. 2013)", "{value:.0%} of the gradient norms are clipped", 0, 1, needs=_NORM,
    ),
    Feature(
        "gradient_level_with_loss", "gradient", "rank correlation", "of the smoothed loss and the smoothed norm at the same places",
        "Spearman 1904", "the gradient norm goes with the level of the loss (rank correlation {value:.2f})|the gradient norm goes against the level of the loss (rank correlation -{value:.2f})",
        -1, 1, needs=_BOTH,
    ),
    Feature(
        "gradient_jolt_with_loss", "gradient", "rank correlation", "of the deviations from both running medians at the same places",
        "Spearman 1904; a loss that jumps with its gradient is a matter of optimisation or of one batch",
        "jolts of the gradient norm go with jolts of the loss (rank correlation {value:.2f})|jolts of the gradient norm go against jolts of the loss (rank correlation -{value:.2f})",
        -1, 1, needs=_BOTH,
    ),
    Feature(
        "gradient_at_loss_peak", "gradient", "factor", "greatest norm within 2 % of the run around the highest rise of the loss / median norm; 1 if that rise is below 6 s",
        "derivation: with or without the gradient", "around the highest rise of the loss the gradient norm reached {value:.2g} times its median|around the highest rise of the loss the gradient norm stayed at one {value:.2g}th of its median",
        -10, 24, LOG2, _BOTH, "peak",
    ),
)  # fmt: skip


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
