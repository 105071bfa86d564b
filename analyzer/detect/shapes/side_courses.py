"""Courses beside that of the training loss, each against itself and against the loss.

Gradient norm, learning rate, evaluation loss, and the time of a step: slow-downs, single slow steps, their grid, waiting
for data. The absolute size of norm and rate betrays the model and the recipe and is left out.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.shapes.course import Course, factor, middle, rank_correlation, relative, row_medians
from analyzer.detect.shapes.curve_set import TRACE, Curves
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


def rate_features(rate: Course | None, loss: Course | None) -> dict[str, float]:
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
        found |= _rate_beside(rate, loss, top)
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


def _rate_beside(rate: Course, loss: Course, top: float) -> dict[str, float]:
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


def gradient_features(seen: Curves, peak_at: float | None) -> dict[str, float]:
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
        found |= _gradient_beside(seen.gradient, seen.loss, peak_at)
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


def _gradient_beside(norm: Course, loss: Course, peak_at: float | None) -> dict[str, float]:
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


def evaluation_features(evaluation: Course | None, bad: Mask | None, loss: Course | None) -> dict[str, float]:
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
        found |= _evaluation_beside(evaluation, loss, scatter)
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


def _evaluation_beside(evaluation: Course, loss: Course, scatter: float) -> dict[str, float]:
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


SLOW = 1.0
"""Binary logarithm: a step that takes twice its neighbours."""

MOVED = 0.14
"""A tenth, in binary logarithms: below, a smoothed step time has not changed."""


def time_features(pace: Course | None, wait: Values | None) -> dict[str, float]:
    """Values in their natural units; those that cannot be known are left out.

    Args:
        pace: Reduced binary logarithm of the step time.
        wait: float64, shape (n_waits,): share of the step time spent waiting.
    """
    found: dict[str, float] = {}
    if pace is not None and pace.value.size >= 10:
        found |= _pace_course(pace)
    if wait is not None:
        third = max(wait.size // 3, 1)
        found["time_wait"] = middle(wait)
        found["time_wait_growth"] = middle(wait[-third:]) - middle(wait[:third])
        found["time_wait_tail"] = float(np.sort(wait)[int(0.95 * (wait.size - 1))]) - middle(wait)
    return found


def _pace_course(pace: Course) -> dict[str, float]:
    window, smooth = pace.window, pace.smooth
    fifth, lag = max(window.size // 5, 1), max(round(0.02 * window.size), 1)
    span = float(np.ptp(smooth))
    moves = np.abs(smooth[lag:] - smooth[:-lag])
    slow = np.flatnonzero(pace.rest > max(SLOW, 4 * pace.noise))
    return {
        "time_growth": factor(middle(window[-fifth:]) - middle(window[:fifth])),
        "time_trend": rank_correlation(pace.window_at, smooth) if span > MOVED else 0.0,
        "time_sudden": float(moves.max()) / span if span > MOVED else 0.0,
        "time_tail": factor(max(float(np.sort(pace.value)[int(0.99 * (pace.value.size - 1))]), 0.0)),
        "time_slow_share": slow.size / pace.value.size,
        "time_regular": _regular(pace.at[slow]),
        "time_noise": pace.noise,
    }


def _regular(at: Values) -> float:
    if at.size < 4:
        return 0.0
    gaps = np.diff(at)
    usual = middle(gaps)
    return max(1.0 - middle(np.abs(gaps - usual)) / usual, 0.0) if usual > 0 else 0.0
