"""The training loss: how far it fell and what it lost again, its scatter, spikes and their recovery, shifts, stretches, waves, lost values."""

from __future__ import annotations

import math

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
from analyzer.model.arrays import Mask, Values
from analyzer.record import NamedTuple

EARLY = 0.02
"""The steepest part of a descent lies before two percent of the run; what sticks out there is no spike."""

SPIKE = 8.0
"""Robust deviations; the largest of 10 000 points of pure noise reaches four to five."""

EXCURSION = 6.0
"""Robust deviations above the best level before, from which on a recovery can be spoken of."""


def measure(loss: Course | None, bad: Mask | None) -> dict[str, float]:
    """Values in their natural units; those that cannot be known are left out.

    Args:
        loss: The reduced loss; None if it has no finite point.
        bad: bool, shape (n_logged,): losses that are not finite; None if no loss was logged.
    """
    if bad is None:
        return {}
    found = _lost(loss, bad)
    if loss is not None and loss.value.size >= 3:
        found |= _levels(loss)
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
    """The greatest rise of the loss above the best level before it, measured by the scatter there."""

    point: int  # index of its point
    at: float  # its position
    height: float  # its height above the base, in units of the loss's scale
    base: float  # best running median before it
    noise: float  # scatter there


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


def _levels(loss: Course) -> dict[str, float]:
    """Levels and trends: how far it fell, when, and what it lost again."""
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
