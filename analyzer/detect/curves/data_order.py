"""The order of the data as the loss shows it: a pattern that comes back with the length of a shard or an epoch."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of
from analyzer.detect.curve import has_steps
from analyzer.detect.curves.numerics.bad_points import grow_from_row_to_row, loss_points
from analyzer.detect.robust import noise
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of
from analyzer.model.tables import Series

MIN_POINTS, MAX_POINTS = 120, 4096
"""Fewer points hold no three cycles of any length; more cost time and show no further pattern."""

MIN_PERIOD = 16
"""Points a cycle: shorter ones are the scatter of batches, not the order of shards."""

CYCLES = 3
"""Three cycles alike: two may be chance."""

ALIKE, ALIKE_IN_FEW, FEW = 0.7, 0.85, 5
"""Mean correlation between cycles; wandering losses reach 0.7 over three or four cycles, not over five."""

NOISE_MULTIPLE = 2.0
"""The pattern must stand out of the scatter between neighbouring points."""

MIN_AMPLITUDE = 0.1
"""A tenth of the loss: smaller waves cost nothing."""

SMOOTH_PART = 8
"""Cycles are compared after smoothing over an eighth, so that a fixed order of single batches does not count."""

RESTARTS = 2
"""Rises of the learning rate after its warm-up that make a schedule with restarts."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.order.*``."""
    points = view.once(loss_points)
    if points is None:
        return
    good = points.curve()
    if len(good) and view.curve("step_time_s") is not None:
        out.put("by_length", view.once(grow_from_row_to_row), ends_of(good))
    if len(good) < MIN_POINTS:
        return
    values = good.value[good.value.size // 20 :]  # the descent of the first steps belongs to no cycle
    stride = max(values.size // MAX_POINTS, 1)
    values = values[::stride][:MAX_POINTS]
    found = find_cycle(values)
    out.put("periodic", found is not None, ends_of(good))
    if found is not None:
        period, amplitude = found
        steps = period * stride * (_spacing(good) or 1)
        out.put("period_steps", steps, end_of(good))
        out.put("amplitude", amplitude, end_of(good))
        epoch = _epoch_steps(view)
        if epoch is not None:
            out.put("period_is_epoch", abs(steps - epoch) <= 0.1 * epoch)
        out.put("follows_learning_rate", _rate_restarts(view))


def find_cycle(values: Values) -> tuple[int, float] | None:
    """Length of the repeated pattern in points, and its height as a share of the level; None if there is none."""
    if values.size < MIN_POINTS or float(np.abs(values).max()) > 1e150:
        return None
    flat = _detrended(values)
    spread = float(flat.std())
    level = float(median_of(np.abs(values)))
    if spread <= 0 or level <= 0:
        return None
    period = _likely_period(flat)
    if period is None:
        return None
    smooth = _smoothed(flat, period)
    count = min(values.size // period, 16)
    cycles = smooth[-count * period :].reshape(count, period)
    alike = np.corrcoef(cycles)
    mean_alike = float((alike.sum() - count) / (count * (count - 1)))
    height = _rise_per_cycle(_smoothed(values, period), period, count)
    needed = ALIKE if count >= FEW else ALIKE_IN_FEW
    if not mean_alike >= needed or height < NOISE_MULTIPLE * noise(values) or height < MIN_AMPLITUDE * level:
        return None
    return period, height / level


def _smoothed(values: Values, period: int) -> Values:
    """Mean over an eighth of a cycle, shortened at the ends so that no zero is mixed in."""
    width = max(period // SMOOTH_PART, 1)
    ones = np.ones(width)
    return np.convolve(values, ones, mode="same") / np.convolve(np.ones(values.size), ones, mode="same")


def _rise_per_cycle(smooth: Values, period: int, count: int) -> float:
    """Median over the cycles of the largest rise within each.

    A loss that falls in steps at the start of each epoch (samples seen again) has cycles too, but never rises.
    """
    start = smooth.size - count * period
    rises = [
        float((part - np.minimum.accumulate(part)).max())
        for part in (
            smooth[start + i * period : start + (i + 1) * period + period // 4] for i in range(count)
        )
    ]
    return float(median_of(rises))


def _detrended(values: Values) -> Values:
    """What is left of a curve after its slow course, a parabola in the logarithm of the step."""
    time = np.log1p(np.arange(values.size, dtype=np.float64))
    return values - np.polyval(np.polyfit(time, values, 2), time)


def _likely_period(flat: Values) -> int | None:
    """Lag of the highest peak of the autocorrelation beyond its first fall below zero."""
    size = 1 << (2 * flat.size - 1).bit_length()
    spectrum = np.fft.rfft(flat, size)
    raw = np.fft.irfft(spectrum * np.conj(spectrum), size)[: flat.size // CYCLES + 1]
    correlation = raw / np.arange(flat.size, flat.size - raw.size, -1)
    correlation = correlation / correlation[0]
    below = np.flatnonzero(correlation < 0)
    begin = max(int(below[0]) if below.size else raw.size, MIN_PERIOD)
    if begin >= raw.size - 1:
        return None
    peak = begin + int(correlation[begin:].argmax())
    inner = begin < peak < raw.size - 1
    return peak if inner and correlation[peak] >= ALIKE / 2 else None


def _spacing(series: Series) -> int | None:
    if not has_steps(series) or len(series) < 2:
        return None
    return max(int(median_of(np.diff(series.step))), 1)


def _epoch_steps(view: RunView) -> float | None:
    """Steps of one epoch, by the epoch column; None if it was not logged."""
    epochs = view.curve("epoch")
    if epochs is None or not has_steps(epochs) or len(epochs) < 2:
        return None
    done = float(epochs.value[-1] - epochs.value[0])
    return float(epochs.step[-1] - epochs.step[0]) / done if done > 0 else None


def _rate_restarts(view: RunView) -> bool | None:
    rates = view.curve("learning_rate")
    if rates is None or len(rates) < 3:
        return None
    rises = np.diff(rates.value) > 0.5 * float(rates.value.max())
    return int(rises.sum()) >= RESTARTS
