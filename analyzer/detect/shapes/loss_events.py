"""Events in the training loss: its scatter, spikes and their recovery, shifts, stretches, waves, lost values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.detect.shapes.course import (
    Course,
    middle,
    moving_windows,
    noise_between,
    relative,
    row_medians,
    waves,
)
from analyzer.detect.shapes.feature import ASINH, LOG2, LOG10, Feature

if TYPE_CHECKING:
    from analyzer.detect.shapes.course import Mask, Values

EARLY = 0.02
"""The steepest part of a descent lies before two percent of the run; what sticks out there is no spike."""

SPIKE = 8.0
"""Robust deviations; the largest of 10 000 points of pure noise reaches four to five."""

EXCURSION = 6.0
"""Robust deviations above the best level before, from which on a recovery can be spoken of."""

_LOSS = ("loss",)

FEATURES = (
    Feature(
        "loss_noise", "loss", "level", "s / (|median| + s)", "coefficient of variation with a robust scatter",
        "the loss scatters from point to point by {value:.3g} of its level", -6, 0, LOG10, _LOSS,
    ),
    Feature(
        "loss_noise_late", "loss", "level", "s of the last third / (|end| + s of the last third)",
        "the same; a repeated batch has none (gradient noise scale, McCandlish et al. 2018)",
        "at the end the loss scatters by {value:.3g} of its level", -6, 0, LOG10, _LOSS,
    ),
    Feature(
        "loss_noise_growth", "loss", "factor", "s of the last third / s of the first third", "homoscedasticity, robust",
        "the scatter of the loss grew {value:.1f}-fold|the scatter of the loss fell {value:.1f}-fold", -10, 10, LOG2, _LOSS,
    ),
    Feature(
        "loss_spikes", "loss", "per 100 points", "points more than 8 local s above the running median, without the first 2 %; local s: s of the fifth around, never rising",
        "robust outlier count (Hampel 1974); loss spikes (Chowdhery et al. 2022)",
        "{value:.1f} of 100 losses are spikes", 0, 4, ASINH, _LOSS, "peak",
    ),
    Feature(
        "loss_spike_noise", "loss", "s", "greatest distance above the running median / local s, without the first 2 %",
        "Hampel identifier", "the highest single loss lies {value:.1f} robust deviations above its neighbours",
        0, 12, ASINH, _LOSS, "peak",
    ),
    Feature(
        "loss_excursion", "loss", "s", "greatest height above the best running median before it / local s, without the first 2 %",
        "drawdown of a path, turned round", "the loss rose {value:.1f} robust deviations above the best level before",
        0, 12, ASINH, _LOSS, "peak",
    ),
    Feature(
        "loss_excursion_share", "loss", "share", "the same height / (|peak| + |base| + s)", "drawdown, relative",
        "the highest rise is {value:.2f} of the sum of peak and base", 0, 1, needs=_LOSS, shows="peak",
    ),
    Feature(
        "loss_excursion_at", "loss", "share of the run", "its position; 1 if it is below 6 s", "derivation",
        "the highest rise stands at {value:.0%} of the run", 0, 1, needs=_LOSS, shows="peak",
    ),
    Feature(
        "loss_recovery", "loss", "share", "1 - (least running median after the peak - base) / (peak - base); 1 if below 6 s",
        "recovery of loss spikes (Chowdhery et al. 2022; Takase et al. 2023)",
        "{value:.0%} of the highest rise was made good", 0, 1, needs=_LOSS, shows="peak",
    ),
    Feature(
        "loss_recovery_time", "loss", "share of the run",
        "from the peak to a running median within a tenth of the rise or 2 s of the base; to the end if never; 0 if below 6 s",
        "the same", "the recovery from the highest rise took {value:.0%} of the run", 0, 1, needs=_LOSS, shows="peak",
    ),
    Feature(
        "loss_pocket", "loss", "s", "greatest height of the running median above the best levels both before and after it / local s",
        "topographic prominence", "a stretch of the loss stands {value:.1f} robust deviations above what came before and after",
        0, 12, ASINH, _LOSS, "peak",
    ),
    Feature(
        "loss_pocket_share", "loss", "share of the run", "share of running medians that stand more than 2 local s above both sides",
        "the same", "{value:.0%} of the loss stand above what came before and after", 0, 1, needs=_LOSS, shows="peak",
    ),
    Feature(
        "loss_shift", "loss", "s", "greatest difference of the medians of 8 % of the run after and before a place / local s",
        "change point in the median (Pettitt 1979; Killick et al. 2012)",
        "at one place the level of the loss shifts up by {value:.1f} robust deviations", 0, 12, ASINH, _LOSS, "shift",
    ),
    Feature(
        "loss_shift_at", "loss", "share of the run", "that place; 1 if the shift is below 3 s", "change point",
        "the greatest upward shift of the loss lies at {value:.0%} of the run", 0, 1, needs=_LOSS, shows="shift",
    ),
    Feature(
        "loss_shift_sudden", "loss", "share", "greatest difference of the medians of 3 windows after and before a place near it / the shift; 0 if below 3 s",
        "derivation: a jump (restart, data) against a drift (divergence)",
        "{value:.0%} of the greatest upward shift happened at once", 0, 1, needs=_LOSS, shows="shift",
    ),
    Feature(
        "loss_late_fall", "loss", "share of the range", "greatest downward shift after 20 % of the run / (range + s)",
        "change point; steps at epoch starts, late grokking or learning-rate decay",
        "after a fifth of the run the level once fell by {value:.2f} of the whole range", 0, 1, needs=_LOSS,
    ),
    Feature(
        "loss_wave", "loss", "correlation", "autocorrelation of the detrended windows at its best return after a zero crossing",
        "correlogram (Box and Jenkins); class-sorted order, restarts", "the loss swings regularly (autocorrelation {value:.2f})",
        0, 1, needs=_LOSS,
    ),
    Feature(
        "loss_wave_period", "loss", "share of the run", "lag of that return; 0 if the return is below 0.2", "correlogram",
        "one swing of the loss takes {value:.0%} of the run", 0, 1, needs=_LOSS,
    ),
    Feature(
        "loss_memory", "loss", "correlation", "autocorrelation of the detrended windows at 2 % of the run", "correlogram",
        "neighbouring stretches of the loss move together (autocorrelation {value:.2f})|neighbouring stretches of the loss move against one another (autocorrelation -{value:.2f})",
        -1, 1, needs=_LOSS,
    ),
    Feature(
        "loss_bad_share", "loss", "share", "share of losses that are NaN, infinite or a masked NaN", "DeepFD flag nan_loss",
        "{value:.0%} of the losses are not finite", 0, 1, needs=_LOSS, shows="bad",
    ),
    Feature(
        "loss_bad_at", "loss", "share of the run", "position of the first of them; 1 if there is none", "the same, its onset",
        "the loss is not finite from {value:.0%} of the run on", 0, 1, needs=_LOSS, shows="bad",
    ),
    Feature(
        "loss_bad_end", "loss", "share", "share of them in the last tenth", "the same, whether it lasts",
        "{value:.0%} of the last tenth of losses are not finite", 0, 1, needs=_LOSS, shows="bad",
    ),
    Feature(
        "loss_growth_before_bad", "loss", "share",
        "(median of the 3 points before the first bad one - best before) / (sum of magnitudes + s); 0 without a bad one",
        "derivation: divergence grows before it overflows, a bad sample does not",
        "before it stopped being finite the loss had risen by {value:.2f} of the sum of levels|before it stopped being finite the loss lay {value:.2f} below its best median",
        -1, 1, needs=_LOSS, shows="bad",
    ),
)  # fmt: skip


def measure(loss: Course | None, bad: Mask | None) -> dict[str, float]:
    """Values in their natural units; those that cannot be known are left out.

    Args:
        loss: The reduced loss; None if it has no finite point.
        bad: bool, shape (n_logged,): losses that are not finite; None if no loss was logged.
    """
    if bad is None:
        return {}
    found = _lost(loss, bad)
    if loss is None or loss.value.size < 8:
        return found
    found |= _scatter(loss) | _rise(loss) | _pocket(loss)
    if loss.window.size >= 12:
        found |= _shift(loss)
    wave, period, memory = waves(loss.window)
    found |= {"loss_wave": wave, "loss_wave_period": period if wave >= 0.2 else 0.0, "loss_memory": memory}
    if math.isnan(wave):
        del found["loss_wave_period"]
    return found


def _lost(loss: Course | None, bad: Mask) -> dict[str, float]:
    found = {
        "loss_bad_share": float(bad.mean()),
        "loss_bad_at": int(bad.argmax()) / max(bad.size - 1, 1) if bad.any() else 1.0,
        "loss_bad_end": float(bad[-max(bad.size // 10, 1) :].mean()),
    }
    if not bad.any():
        found["loss_growth_before_bad"] = 0.0
    elif loss is not None:
        before = loss.value[loss.row < int(bad.argmax())]
        if before.size >= 4:
            low = min(float(loss.smooth[loss.window_row < int(bad.argmax())].min()), middle(before[:-3]))
            found["loss_growth_before_bad"] = relative(middle(before[-3:]), low, loss.noise)
    return found


def _scatter(loss: Course) -> dict[str, float]:
    late, early = noise_between(loss, 2 / 3, 1.0), noise_between(loss, 0.0, 1 / 3)
    heights = (loss.rest / np.interp(loss.at, loss.window_at, loss.local_noise))[
        loss.at > EARLY * loss.at[-1]
    ]
    return {
        "loss_noise": loss.noise / (abs(middle(loss.value)) + loss.noise),
        "loss_noise_late": late / (abs(loss.end()) + late),
        "loss_noise_growth": late / early,
        "loss_spikes": 100.0 * float((heights > SPIKE).mean()),
        "loss_spike_noise": max(float(heights.max()), 0.0),
    }


class Excursion(NamedTuple):
    """The greatest rise of the loss above the best level before it, measured by the scatter there.

    Attributes:
        point: Index of its point.
        at: Its position.
        height: Its height above the base, in units of the loss's scale.
        base: Best running median before it.
        noise: Scatter there.
    """

    point: int
    at: float
    height: float
    base: float
    noise: float


def excursion(loss: Course) -> Excursion:
    """The greatest rise above the best level before it; the first points, the steepest, are left out."""
    base = np.interp(loss.at, loss.window_at, np.minimum.accumulate(loss.smooth))
    noise = np.interp(loss.at, loss.window_at, loss.local_noise)
    rise = np.where(loss.at > EARLY * loss.at[-1], loss.value - base, -np.inf)
    peak = int((rise / noise).argmax())
    return Excursion(
        peak, float(loss.at[peak]), max(float(rise[peak]), 0.0), float(base[peak]), float(noise[peak])
    )


def _rise(loss: Course) -> dict[str, float]:
    found = excursion(loss)
    peak, height, base = found.point, found.height, found.base
    known = {
        "loss_excursion": height / found.noise,
        "loss_excursion_share": max(relative(float(loss.value[peak]), base, loss.noise), 0.0),
    }
    if height < EXCURSION * found.noise:
        return known | {"loss_excursion_at": 1.0, "loss_recovery": 1.0, "loss_recovery_time": 0.0}
    after = loss.window_at > found.at
    later = np.append(loss.smooth[after], middle(loss.value[max(peak, loss.value.size - 3) :]))
    back = loss.smooth[after] <= base + max(0.1 * height, 2 * found.noise)
    end = float(loss.window_at[after][int(back.argmax())]) if back.any() else 1.0
    return known | {
        "loss_excursion_at": found.at,
        "loss_recovery": 1.0 - (float(later.min()) - base) / height,
        "loss_recovery_time": max(end - found.at, 0.0),
    }


def _pocket(loss: Course) -> dict[str, float]:
    before = np.minimum.accumulate(loss.smooth)
    after = np.minimum.accumulate(loss.smooth[::-1])[::-1]
    height = (loss.smooth - np.maximum(before, after)) / loss.local_noise
    return {"loss_pocket": float(height.max()), "loss_pocket_share": float((height > 2).mean())}


def shifts(loss: Course) -> tuple[Values, int]:
    """Differences of the medians after and before each place, and the width of these medians in windows."""
    width = max(round(0.08 * loss.window.size), 3)
    levels = row_medians(moving_windows(loss.window, width))
    return levels[width:] - levels[:-width], width


def _shift(loss: Course) -> dict[str, float]:
    moves, width = shifts(loss)
    top = int(moves.argmax())
    place, height = top + width, max(float(moves[top]), 0.0)
    late = -moves[round(0.2 * moves.size) :].min()
    noise = float(loss.local_noise[place])
    found = {
        "loss_shift": height / noise,
        "loss_late_fall": max(float(late), 0.0) / (float(np.ptp(loss.smooth)) + loss.noise),
        "loss_shift_at": 1.0,
        "loss_shift_sudden": 0.0,
    }
    if height >= 3 * noise:
        near = range(max(place - width // 2, 3), min(place + width // 2, loss.window.size - 3) + 1)
        jumps = [middle(loss.window[i : i + 3]) - middle(loss.window[i - 3 : i]) for i in near]
        found["loss_shift_at"] = float(loss.window_at[near[int(np.argmax(jumps))]])
        found["loss_shift_sudden"] = max(jumps) / height
    return found
