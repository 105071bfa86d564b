"""Devices and host memory by their metrics: a slow clock, counted errors, steps that change with the hosts, memory that grows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from analyzer.detect.base import FactWriter, RunView, refs_at
from analyzer.model.machine_words import MachineReading, read_machine
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series

SLOW_CLOCK = 0.9
"""A clock a tenth below that of its neighbours: boost clocks of healthy GPUs under one load lie within 5 %."""

GROWN = 1.3
"""Host memory of the end against that of the start: caches fill early, a leak goes on."""

IDLE_PERCENT = 10.0
"""A GPU that computes a tenth of the time or less belongs to nobody or to somebody else: its clock rests, and nobody waits."""

NEARLY_FULL = 90.0
"""Percent of the host's memory from which a single print tells of a shortage; below it the next second may differ."""

ENOUGH_POINTS = 20
MIN_GPUS = 3
"""Devices that must be known before one of them can be told from the others."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``hardware.*``."""
    _devices(view, out)
    _restart(view, out)
    _host_memory(view, out)


def _readings(view: RunView, *kinds: str) -> list[tuple[MachineReading, Series]]:
    """The series of some kinds of readings, those of the first kind first."""
    names = [(read_machine(name), name) for name in view.run.metrics.names]
    return [
        (reading, series)
        for kind in kinds
        for reading, name in names
        if reading.kind == kind and (series := view.run.metrics.series(name)) is not None
    ]


def _by_device(view: RunView, kind: str) -> dict[int, Series]:
    """The series of a kind of reading, by the number of its GPU."""
    return {
        reading.gpu: series
        for reading, series in _readings(view, kind)
        if reading.gpu is not None and np.isfinite(series.value).any()
    }


def _devices(view: RunView, out: FactWriter) -> None:
    errors = {gpu: float(np.nanmax(s.value)) for gpu, s in _by_device(view, "gpu_errors").items()}
    if errors:
        out.put("uncorrected_errors", int(max(errors.values())))
    temperatures = {
        gpu: float(np.nanmedian(s.value)) for gpu, s in _by_device(view, "gpu_temperature").items()
    }
    if temperatures:
        out.put("hot_gpu_c", max(temperatures.values()))
    idle = {
        gpu for gpu, s in _by_device(view, "gpu_busy").items() if float(np.nanmedian(s.value)) <= IDLE_PERCENT
    }
    clocks = {
        gpu: s
        for gpu, s in _by_device(view, "gpu_clock").items()
        if len(s) >= ENOUGH_POINTS and gpu not in idle
    }
    medians = {gpu: float(np.nanmedian(s.value)) for gpu, s in clocks.items()}
    slowest = _slowest(medians)
    if slowest is None:
        return
    gpu, ratio = slowest
    out.put("slow_clock_ratio", ratio, refs_at(clocks[gpu], [0]))
    if ratio <= SLOW_CLOCK:
        out.put("slow_clock_gpu", gpu, refs_at(clocks[gpu], [0]))


def _slowest(medians: Mapping[int, float]) -> tuple[int, float] | None:
    """The member with the smallest value, and that value divided by the median of the others."""
    if len(medians) < MIN_GPUS:
        return None
    member = min(sorted(medians), key=lambda key: medians[key])
    rest = float(median_of([value for key, value in medians.items() if key != member]))
    return (member, medians[member] / rest) if rest > 0 else None


def _restart(view: RunView, out: FactWriter) -> None:
    """Whether steps take another time since the last restart, and whether the hosts are others."""
    hosts: dict[int, set[str]] = {}
    for event in view.run.events:
        host = event.fields.get("host")
        if isinstance(host, str) and host:
            hosts.setdefault(event.attempt, set()).add(host)
    if len(hosts) >= 2:
        before, last = sorted(hosts)[-2:]
        out.put("host_changed_at_restart", hosts[last] != hosts[before])
    found = view.all_series("step_time_s")
    if not found:
        return
    series = found[0]
    attempts = sorted(set(series.attempt.tolist()))
    if len(attempts) < 2:
        return
    parts = [
        np.flatnonzero((series.attempt == attempt) & np.isfinite(series.value)) for attempt in attempts[-2:]
    ]
    if min(part.size for part in parts) >= ENOUGH_POINTS:
        before_s, after_s = (float(median_of(series.value[part])) for part in parts)
        if before_s > 0:
            out.put("step_time_ratio_at_restart", after_s / before_s, refs_at(series, [int(parts[1][0])]))


def _host_memory(view: RunView, out: FactWriter) -> None:
    """Whether host memory rises from fifth to fifth; the first fifth loads data and is left out."""
    percent = [series for _, series in _readings(view, "host_memory_percent")]
    printed = _printed_shares(view)
    peaks = [(float(np.nanmax(s.value)), None) for s in percent] + printed
    if peaks:
        peak, ref = max(peaks, key=lambda found: found[0])
        out.put("host_memory_peak_percent", peak, [ref] if ref else ())
    for _, series in _readings(view, "host_memory", "host_memory_percent"):
        good = np.flatnonzero(np.isfinite(series.value))
        if good.size < 5 * ENOUGH_POINTS:
            continue
        levels = [float(median_of(series.value[part])) for part in np.array_split(good, 5)][1:]
        if levels[0] <= 0:
            continue
        ratio = levels[-1] / levels[0]
        rises = all(later > earlier * 1.02 for earlier, later in pairwise(levels))
        out.put("host_memory_ratio", ratio, refs_at(series, [0, int(good[-1])]))
        out.put("host_memory_grows", rises and ratio >= GROWN, refs_at(series, [0, int(good[-1])]))
        return


def _printed_shares(view: RunView) -> list[tuple[float, SourceRef | None]]:
    """Percent of the host's memory in use wherever something printed it, with its place.

    Only what is nearly full counts: a table of a quiet moment says nothing of the peak.
    """
    found: list[tuple[float, SourceRef | None]] = []
    for event in view.events("host_memory_use"):
        total, available = event.fields.get("total_gib"), event.fields.get("available_gib")
        share = event.fields.get("percent")
        if isinstance(total, float) and isinstance(available, float) and total > 0 and available <= total:
            share = 100 * (1 - available / total)
        if isinstance(share, float) and NEARLY_FULL <= share <= 100:
            found.append((share, event.ref))
    return found
