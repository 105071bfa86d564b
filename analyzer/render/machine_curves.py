"""Curves of the machine beside those of the training: use, memory, temperature and power of the GPUs, CPU, memory of the host.

Trackers sample them by the clock and without steps. Where the training has clocks too, a sample stands at the step
that was running then; else at its seconds since the first sample.
"""

from __future__ import annotations

import re

import numpy as np

from analyzer.detect.base import RunView
from analyzer.detect.curve import has_steps
from analyzer.model.arrays import Values
from analyzer.model.run import Run
from analyzer.model.tables import NULL_INT, Series
from analyzer.render.curves import FEW, Line, Panel, line_of

_QUANTITIES: tuple[tuple[str, str, str, str], ...] = (
    ("gpu_use", "GPU use", "percent", r"system\.gpu\.(\d{1,4})\.gpu"),
    ("gpu_memory_used", "GPU memory in use", "percent", r"system\.gpu\.(\d{1,4})\.memoryallocated"),
    ("gpu_temperature", "GPU temperature", "°C", r"system\.gpu\.(\d{1,4})\.temp"),
    ("gpu_power", "GPU power", "W", r"system\.gpu\.(\d{1,4})\.powerwatts"),
    ("cpu_use", "CPU of the process", "percent", r"system\.cpu()"),
    ("host_memory", "Memory of the host in use", "percent", r"system\.memory(?:_percent)?()"),
    ("process_memory", "Memory of the process", "MB", r"system\.proc\.memory\.rssmb()"),
)
"""Key, heading, unit, and the canonical names with the device in them."""

_CLOCKS = ("loss", "learning_rate", "grad_norm", "eval_loss")
"""Curves that say which step ran when."""

FAR_S = 120.0
"""Seconds before the first or behind the last known step up to which a sample still stands at it."""


def machine_panels(run: Run) -> tuple[Panel, ...]:
    """A panel for each quantity of the machine that was sampled; of many GPUs the least and the most busy one."""
    view = RunView(run)
    clock = _clock(view)
    found = (_panel(run, clock, *quantity) for quantity in _QUANTITIES)
    return tuple(panel for panel in found if panel is not None)


def _panel(run: Run, clock: Series | None, key: str, title: str, unit: str, pattern: str) -> Panel | None:
    devices: list[tuple[int, Series]] = []
    for name in sorted(run.metrics.names):
        match = re.fullmatch(pattern, name)
        series = run.metrics.series(name) if match else None
        if match and series is not None and np.isfinite(series.value).sum() >= FEW:
            devices.append((int(match[1] or -1), series))
    if not devices:
        return None
    by_mean = sorted(
        devices, key=lambda item: (float(np.nanmean(item[1].value[np.isfinite(item[1].value)])), item[0])
    )
    ends = devices if len(devices) <= FEW else [by_mean[-1], by_mean[0]]
    labels = (
        [title.lower() if number < 0 else f"GPU {number}" for number, _ in ends]
        if len(by_mean) <= FEW
        else [f"GPU {ends[0][0]}, highest of {len(by_mean)}", f"GPU {ends[1][0]}, lowest"]
    )
    placed = [_placed(series, clock) for _, series in ends]
    by_step = all(steps is not None for steps, _ in placed)
    lines = tuple(
        _line(run, label, series, steps if by_step and steps is not None else seconds)
        for label, (_, series), (steps, seconds) in zip(labels, ends, placed, strict=True)
    )
    if any(line.x.size < FEW for line in lines):
        return None
    return Panel(key, title, unit, log=False, by_step=by_step, lines=lines, axis="second")


def _clock(view: RunView) -> Series | None:
    """The curve that has both steps and times, and in which both go forward."""
    for name in _CLOCKS:
        series = view.curve(name)
        if series is None or len(series) < FEW or not has_steps(series):
            continue
        known = np.isfinite(series.time_s) & (series.step != NULL_INT)
        if known.all() and (np.diff(series.time_s) >= 0).all() and (np.diff(series.step) >= 0).all():
            return series
    return None


def _placed(series: Series, clock: Series | None) -> tuple[Values | None, Values]:
    """Step of each sample, None if nothing tells it, and its seconds (or number) since the first."""
    times = series.time_s
    if not np.isfinite(times).all():
        return None, np.arange(1, len(series) + 1, dtype=np.float64)
    seconds = times - times[0]
    if clock is None:
        return None, seconds
    steps = np.interp(times, clock.time_s, clock.step.astype(np.float64))
    far = (times < clock.time_s[0] - FAR_S) | (times > clock.time_s[-1] + FAR_S)
    return (None if far.mean() > 0.5 else np.where(far, np.nan, steps)), seconds


def _line(run: Run, label: str, series: Series, x: Values) -> Line:
    known = np.flatnonzero(np.isfinite(x))
    return line_of(run, label, series, x, known[np.argsort(x[known], kind="stable")])
