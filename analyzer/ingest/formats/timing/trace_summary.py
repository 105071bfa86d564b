"""Sum up the events of a timing trace: where the time of the device went, and what the host did meanwhile.

The parts of the window are unions over all streams: computation first, then communication beside which nothing
computes, then copies beside which neither runs, the rest is idle. A gap of idle time ends with the next event of
the device; the call that launched it tells whether the host was late (``host_wait``) or the launch itself took time
(``kernel_wait``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.formats.timing.kineto_lines import NONE, TraceColumns
from analyzer.ingest.masking import clean_text
from analyzer.model.arrays import Integers, Mask, ShortIntegers
from analyzer.model.ranked import median_of
from analyzer.model.traces import TimeTrace

if TYPE_CHECKING:
    Ints = ShortIntegers


# Unions of time intervals, on arrays.
def union(starts: Integers, ends: Integers) -> tuple[Integers, Integers]:
    """Disjoint intervals, sorted, that cover the same time.

    Args:
        starts: int64, shape (n,).
        ends: int64, shape (n,), each not before its start.

    Returns:
        Starts and ends of the merged intervals, int64, shape (m,), m <= n.

    >>> [part.tolist() for part in union(np.array([5, 0, 1]), np.array([7, 2, 3]))]
    [[0, 5], [3, 7]]
    """
    if not starts.size:
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    opens = np.concatenate([[True], starts[1:] > reach[:-1]])
    return starts[opens], reach[np.concatenate([np.flatnonzero(opens)[1:] - 1, [starts.size - 1]])]


def covered(starts: Integers, ends: Integers) -> int:
    """Time that the intervals cover.

    >>> covered(np.array([5, 0, 1]), np.array([7, 2, 3]))
    5
    """
    starts, ends = union(starts, ends)
    return int((ends - starts).sum())


NS = 1e-9

MAX_NAME = 200
"""Characters kept of a kernel's or operator's name; templates of C++ run to thousands."""

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime")
_COMMUNICATION = ("nccl", "rccl", "hccl", "oneccl", "mscclpp")
"""How kernels of communication libraries begin, in lower case."""

_SYNCS = ("synchronize",)
_DATA = ("enumerate(dataloader)", "dataloader.__next__", "[pl][profile][_trainingepochloop].train_dataloader_next",
         "get_batch", "next_batch", "dataloaderiter.__next__")  # fmt: skip
_STEP = "profilerstep#"


def summarise(columns: TraceColumns, source: int, rank: int | None, *, complete: bool) -> TimeTrace:
    """The summary of one trace.

    Args:
        columns: Its events.
        source: Index into ``Run.sources``.
        rank: Global rank, None if unknown.
        complete: Whether the whole file was read.
    """
    starts, ends = columns.start_ns, columns.end_ns
    span_ns = int(ends.max() - starts.min()) if len(columns) else 0
    trace = TimeTrace(rank, source, len(columns), complete, span_ns * NS)
    trace = _host(columns, trace)
    on_device = columns.of(*DEVICE)
    return _device(columns, np.flatnonzero(on_device), trace) if on_device.any() else trace


def _named(columns: TraceColumns, *beginnings: str, anywhere: bool = False) -> Mask:
    """Events whose name, in lower case, begins with (or holds) one of the texts."""
    found = [
        any(text in name if anywhere else name.startswith(text) for text in beginnings)
        for name in map(str.lower, columns.names)
    ]
    return np.array([*found, False], bool)[columns.name]


def _host(columns: TraceColumns, trace: TimeTrace) -> TimeTrace:
    """Steps, loading of data, and waiting for the device."""
    starts, ends = columns.start_ns, columns.end_ns
    annotated = columns.of("user_annotation", "cpu_op", "python_function", "")
    steps = columns.of("user_annotation", "cpu_op") & _named(columns, _STEP)
    data = annotated & _named(columns, *_DATA, anywhere=True)
    has_steps = bool(steps.any())
    syncs = columns.of(*LAUNCHES) & _named(columns, *_SYNCS, anywhere=True)
    return trace._replace(
        steps=int(steps.sum()),
        step_median_s=float(median_of(columns.duration_ns[steps])) * NS if has_steps else None,
        data_s=covered(starts[data], ends[data]) * NS if data.any() else None,
        sync_s=covered(starts[syncs], ends[syncs]) * NS if columns.of(*LAUNCHES).any() else None,
    )


def _device(columns: TraceColumns, rows: Integers, trace: TimeTrace) -> TimeTrace:
    starts, ends = columns.start_ns[rows], columns.end_ns[rows]
    is_kernel = columns.of("kernel")[rows]
    is_communication = is_kernel & _named(columns, *_COMMUNICATION)[rows]
    is_compute = is_kernel & ~is_communication
    is_copy = ~is_kernel
    from_host = is_copy & _named(columns, "memcpy htod")[rows]
    pageable = from_host & _named(columns, "memcpy htod (pageable")[rows]

    def time_of(chosen: Mask) -> float:
        return covered(starts[chosen], ends[chosen]) * NS

    window_s = int(ends.max() - starts.min()) * NS
    compute_s, working_s, busy_s = time_of(is_compute), time_of(is_kernel), time_of(np.ones(rows.size, bool))
    host_copies_ns = float(columns.duration_ns[rows][from_host].sum())
    trace = trace._replace(
        window_s=window_s,
        compute_s=compute_s,
        communication_s=time_of(is_communication),
        exposed_communication_s=working_s - compute_s,
        exposed_copy_s=busy_s - working_s,
        host_copy_s=time_of(from_host),
        idle_s=window_s - busy_s,
        pageable_share=float(columns.duration_ns[rows][pageable].sum()) / host_copies_ns
        if host_copies_ns
        else None,
        kernels=int(is_compute.sum()),
        kernel_median_s=float(median_of((ends - starts)[is_compute])) * NS if is_compute.any() else None,
        top_kernel=_top_kernel(columns, rows[is_compute]),
    )
    return _operators(columns, rows, _launched(columns, rows, is_compute, trace))


def _top_kernel(columns: TraceColumns, kernels: Integers) -> str:
    if not kernels.size:
        return ""
    totals = np.bincount(
        columns.name[kernels], weights=columns.duration_ns[kernels], minlength=len(columns.names)
    )
    return clean_text(columns.names[int(totals.argmax())][:MAX_NAME], MAX_NAME)


def _partners(ids: Ints, candidates: Integers, rows: Integers) -> tuple[Integers, Mask]:
    """For each row the first candidate with the same id, and whether there is one; ids of 0 and below join nothing."""
    candidates = candidates[np.argsort(ids[candidates], kind="stable")]
    keys, wanted = ids[candidates], ids[rows]
    at = np.clip(np.searchsorted(keys, wanted), 0, keys.size - 1)
    return candidates[at], (wanted > 0) & (keys[at] == wanted)


def _launched(columns: TraceColumns, rows: Integers, is_compute: Mask, trace: TimeTrace) -> TimeTrace:
    """What the launch calls say: late hosts, and kernels shorter than their launch."""
    calls = np.flatnonzero(columns.of(*LAUNCHES) & (columns.correlation > 0))
    if not calls.size:
        return trace
    call, known = _partners(columns.correlation, calls, rows)
    call = np.where(known, call, NONE)
    host_ns, kernel_ns = _gaps(columns, rows, call)
    measured = known & is_compute
    trace = trace._replace(host_wait_s=host_ns * NS, kernel_wait_s=kernel_ns * NS)
    if not measured.any():
        return trace
    launches = columns.duration_ns[call[measured]]
    shorter = columns.duration_ns[rows[measured]] < launches
    return trace._replace(
        launch_median_s=float(median_of(launches)) * NS, shorter_than_launch=float(shorter.mean())
    )


def _gaps(columns: TraceColumns, rows: Integers, call: Integers) -> tuple[int, int]:
    """Idle time before and after the launch of what ends each gap, over gaps whose next event has a known launch."""
    starts, ends = union(columns.start_ns[rows], columns.end_ns[rows])
    if starts.size < 2:
        return 0, 0
    order = np.argsort(columns.start_ns[rows], kind="stable")
    next_rows = order[np.searchsorted(columns.start_ns[rows][order], starts[1:], side="left")]
    launches = call[next_rows]
    known = launches != NONE
    begins, stops = ends[:-1][known], starts[1:][known]
    issued = np.clip(columns.start_ns[launches[known]], begins, stops)
    return int((issued - begins).sum()), int((stops - issued).sum())


def _operators(columns: TraceColumns, rows: Integers, trace: TimeTrace) -> TimeTrace:
    """The operator of the host whose kernels take most time, joined by ``External id``."""
    operators = np.flatnonzero(columns.of("cpu_op") & (columns.external > 0))
    if not operators.size:
        return trace
    owner, known = _partners(columns.external, operators, rows)
    if not known.any():
        return trace
    owner = owner[known]
    time_ns = columns.duration_ns[rows[known]]
    totals = np.bincount(columns.name[owner], weights=time_ns, minlength=len(columns.names))
    top = int(totals.argmax())
    own = columns.name[owner] == top
    longest = owner[own][int(time_ns[own].argmax())]
    record = int(columns.record[longest])
    return trace._replace(
        top_operator=clean_text(columns.names[top][:MAX_NAME], MAX_NAME),
        top_operator_s=float(totals[top]) * NS,
        top_operator_record=record if record > 0 else None,
    )
