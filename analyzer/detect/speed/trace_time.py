"""Facts from timing traces: how a step of the device divides, what the host does meanwhile, how ranks compare.

Shares are of the window between the first and the last event of the device, pooled over all ranks whose trace is
long enough. The profiler itself slows the host, so idle time is somewhat larger here than without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.detect.ranks.stragglers import MANY_RANKS
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.traces import TimeTrace

MIN_KERNELS = 200
"""Fewer are a test of an operator, not a step of training."""

MIN_WINDOW_S = 0.05

MIN_STEPS = 3
"""Of marked steps the first ones load kernels and fill caches."""

AGREE = 1.05


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.trace.*``."""
    traces = view.run.timings
    if not traces:
        return
    refs = [SourceRef(trace.source) for trace in traces]
    out.put("traces", len(traces), refs)
    steps = [trace for trace in traces if trace.step_median_s is not None and trace.steps]
    if steps:
        marked = [trace.step_median_s for trace in steps if trace.step_median_s is not None]
        out.put("step_s", float(median_of(marked)), [SourceRef(trace.source) for trace in steps])
    long = [trace for trace in traces if _is_long(trace)]
    if long:
        where = [SourceRef(trace.source) for trace in long]
        _shares(long, where, out)
        _kernels(long, where, out)
        _top(view, long, where, out)
        _stragglers(long, out)
    _data(traces, out)


def _is_long(trace: TimeTrace) -> bool:
    enough = trace.kernels >= MIN_KERNELS and (trace.window_s or 0.0) >= MIN_WINDOW_S
    return enough and (trace.steps == 0 or trace.steps >= MIN_STEPS)


def _sum(traces: Sequence[TimeTrace], part: Callable[[TimeTrace], float | None]) -> float | None:
    """The sum over all traces, None if one does not know it."""
    values = [part(trace) for trace in traces]
    known = [value for value in values if value is not None]
    return float(sum(known)) if len(known) == len(values) else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _shares(traces: Sequence[TimeTrace], refs: list[SourceRef], out: FactWriter) -> None:
    window = _sum(traces, lambda trace: trace.window_s)
    communication = _sum(traces, lambda trace: trace.communication_s)
    exposed = _sum(traces, lambda trace: trace.exposed_communication_s)
    parts = {
        "compute_share": _sum(traces, lambda trace: trace.compute_s),
        "communication_share": exposed,
        "copy_share": _sum(traces, lambda trace: trace.exposed_copy_s),
        "host_copy_share": _sum(traces, lambda trace: trace.host_copy_s),
        "idle_share": _sum(traces, lambda trace: trace.idle_s),
        "host_wait_share": _sum(traces, lambda trace: trace.host_wait_s),
        "kernel_wait_share": _sum(traces, lambda trace: trace.kernel_wait_s),
        "sync_share": _sum(traces, lambda trace: trace.sync_s),
    }
    out.put("window_s", window, refs)
    away = _ratio(
        _sum(traces, lambda trace: trace.host_wait_s), float(sum(trace.kernels for trace in traces))
    )
    out.put("host_wait_per_kernel_us", away * 1e6 if away is not None else None, refs)
    for name, part in parts.items():
        out.put(name, _ratio(part, window), refs)
    hidden = _ratio(exposed, communication)
    out.put("communication_overlap", 1.0 - hidden if hidden is not None else None, refs)
    out.put("pageable_share", _median([trace.pageable_share for trace in traces]), refs)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(median_of(known)) if known else None


def _kernels(traces: Sequence[TimeTrace], refs: list[SourceRef], out: FactWriter) -> None:
    kernel, launch = (
        _median([trace.kernel_median_s for trace in traces]),
        _median([trace.launch_median_s for trace in traces]),
    )
    out.put("kernel_median_us", kernel * 1e6 if kernel is not None else None, refs)
    out.put("launch_median_us", launch * 1e6 if launch is not None else None, refs)
    out.put("shorter_than_launch", _median([trace.shorter_than_launch for trace in traces]), refs)


def _top(view: RunView, traces: Sequence[TimeTrace], refs: list[SourceRef], out: FactWriter) -> None:
    """What takes most time on the rank that computes longest."""
    busiest = max(traces, key=lambda trace: trace.compute_s or 0.0)
    out.put("top_kernel", busiest.top_kernel or None, [SourceRef(busiest.source)])
    if not busiest.top_operator:
        return
    out.put("top_operator", busiest.top_operator, [SourceRef(busiest.source)])
    out.put(
        "top_operator_share", _ratio(busiest.top_operator_s, busiest.window_s), [SourceRef(busiest.source)]
    )
    for shapes in view.run.operator_shapes:
        same_rank = shapes.rank is None or busiest.rank is None or shapes.rank == busiest.rank
        name, words = shapes.inputs.get(busiest.top_operator_record or 0, ("", ""))
        # Record ids begin anew in each process: only an operator of the same name is the same record.
        if same_rank and words and name == busiest.top_operator:
            out.put("top_shapes", words, [SourceRef(shapes.source), *refs[:1]])
            return


def _stragglers(traces: Sequence[TimeTrace], out: FactWriter) -> None:
    """The rank that computes longest in the same window, and whether it is the one that waits least for the others."""
    by_rank = {trace.rank: trace for trace in traces if trace.rank is not None}
    if len(by_rank) < MANY_RANKS:
        return
    ranks = sorted(by_rank)
    steps = {by_rank[rank].steps for rank in ranks}
    if len(steps) > 1:  # not the same stretch of training
        return
    refs = [SourceRef(by_rank[rank].source) for rank in ranks]
    compute = np.array([by_rank[rank].compute_s or 0.0 for rank in ranks])
    waiting = np.array([by_rank[rank].communication_s or 0.0 for rank in ranks])
    worst = int(compute.argmax())
    rest = float(median_of(np.delete(compute, worst)))
    if rest <= 0:
        return
    out.put("ranks", len(ranks), refs)
    out.put("straggler_rank", ranks[worst], [refs[worst], *refs])
    out.put("straggler_ratio", float(compute[worst]) / rest, [refs[worst], *refs])
    out.put("ranks_agree", float(compute.max()) <= AGREE * float(compute.min()), refs)
    if waiting.max() > 0:
        out.put("straggler_waits_least", int(waiting.argmin()) == worst, [refs[worst], *refs])


def _data(traces: Sequence[TimeTrace], out: FactWriter) -> None:
    """Share of the time in which the host asks a loader for the next batch."""
    asked = [
        trace
        for trace in traces
        if trace.data_s is not None and (trace.steps == 0 or trace.steps >= MIN_STEPS)
    ]
    share = _ratio(_sum(asked, lambda trace: trace.data_s), _sum(asked, lambda trace: trace.span_s))
    out.put("data_share", share, [SourceRef(trace.source) for trace in asked])
