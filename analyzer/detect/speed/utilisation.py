"""How busy GPU and CPU were, and how GPU memory went over the run: from trackers' system metrics."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, refs_at
from analyzer.detect.robust import part_medians
from analyzer.model.arrays import Values
from analyzer.model.machine_words import read_machine
from analyzer.model.ranked import distinct_of, quantile_of
from analyzer.model.refs import SourceRef

MIN_SAMPLES = 20
"""Five minutes of a sampler that looks every 15 seconds."""

IDLE = 10.0
"""Percent of utilisation below which a device does nothing of the training."""

GROWS_BY = 1.1
RANK_CORRELATION = 0.8


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.gpu.*``, ``signal.cpu.*`` and ``signal.gpu_memory.*``."""
    busy, refs = _pooled(view, "gpu_busy")
    if busy.size >= MIN_SAMPLES:
        out.put("gpu.utilization_p95", float(quantile_of(busy, 0.95)), refs)
        out.put("gpu.utilization_mean", float(busy.mean()), refs)
        out.put("gpu.idle_share", float((busy < IDLE).mean()), refs)
    for name, kind in (("gpu.memory_p95", "gpu_memory"), ("cpu.utilization_p95", "cpu_busy")):
        values, refs = _pooled(view, kind)
        if values.size >= MIN_SAMPLES:
            out.put(name, float(quantile_of(values, 0.95)), refs)
    _memory(view, out)


def _pooled(view: RunView, kind: str) -> tuple[Values, list[SourceRef]]:
    """Samples of one kind of reading from all devices, in percent, and where the first stands."""
    parts: list[Values] = []
    refs: list[SourceRef] = []
    for name in view.run.metrics.names:
        if read_machine(name).kind == kind and (series := view.curve(name)) is not None:
            good = series.value[np.isfinite(series.value)]
            # a percentage, not bytes; and of a device that works: an unused second GPU says nothing about the first
            if good.size and good.min() >= 0 and good.max() <= 100 and quantile_of(good, 0.95) >= IDLE:
                parts.append(good)
                refs += refs_at(series, [0])
    return (np.concatenate(parts) if parts else np.zeros(0)), refs


def _memory(view: RunView, out: FactWriter) -> None:
    series = view.curve("gpu_memory_allocated_gib")
    if series is not None:
        good = series.value[np.isfinite(series.value)][2:]  # caches fill in the first steps
        if good.size >= MIN_SAMPLES and good.min() > 0:
            parts = part_medians(good)
            ratio = float(parts[-1] / parts[0])
            refs = refs_at(series, [2, len(series) - 1])
            out.put("gpu_memory.growth_ratio", ratio, refs)
            rises = ratio >= GROWS_BY and _spearman(good) >= RANK_CORRELATION
            # A step to a new level is another batch shape; a leak rises from fifth to fifth.
            out.put("gpu_memory.grows", bool(rises and (np.diff(parts) > 0).all()), refs)
    peaks = [
        float(np.nanmax(each.value))
        for each in view.all_series("gpu_memory_peak_gib")
        if np.isfinite(each.value).any()
    ]
    ranks = {int(rank) for rank in distinct_of(view.run.metrics.rank) if rank >= 0}
    if len(peaks) >= 2 and len(ranks) >= 2 and min(peaks) > 0:
        out.put("gpu_memory.rank_spread", max(peaks) / min(peaks))


def _spearman(values: Values) -> float:
    """Rank correlation of a curve with its position."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(float)
    return float(np.corrcoef(ranks, np.arange(values.size))[0, 1])
