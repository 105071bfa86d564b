"""Runs that emit every fact of ``signal.flight.*`` and ``signal.trace.*``."""

from __future__ import annotations

from make_run import RunMaker

from analyzer.model.traces import FlightDump, FlightGroup, FlightStatus, OperatorShapes, TimeTrace


def dump(maker, rank, counters, *, members=(0, 1, 2, 3), expected=(), pipeline=False):
    """One rank's counters: group name to (enqueued, completed)."""
    out = maker.file(f"nccl_trace_rank_{rank}", "flight-recorder")
    groups = tuple(
        FlightGroup(name, "TENSOR_GROUP", (*members, *expected), *pair, pipeline)
        for name, pair in counters.items()
    )
    statuses = tuple(FlightStatus(number, *pair) for number, pair in enumerate(counters.values()))
    numbers = tuple((name, number) for number, name in enumerate(counters))
    out.flight(FlightDump(rank, out.source, "2.9", groups, statuses, numbers, 0))
    return out


def standing() -> RunMaker:
    """Rank 3 issues no more; rank 7 left no dump; rank 1 reduces another size."""
    maker = RunMaker()
    for rank in range(4):
        out = dump(maker, rank, {"tp": (40, 40) if rank == 3 else (43, 40)}, expected=(7,))
        elements = 900 if rank == 1 else 1000
        out.collective(
            {"rank": rank, "pg": "tp", "seq": 41, "op": "all_reduce", "in_sizes": [[elements]]}, line=1
        )
    return maker


def receiving() -> RunMaker:
    """Rank 1 receives from rank 0, which has nothing under way."""
    maker = RunMaker()
    dump(maker, 0, {"pp": (0, 0)}, members=(0, 1), pipeline=True)
    out = dump(maker, 1, {"pp": (1, 0)}, members=(0, 1), pipeline=True)
    out.collective({"rank": 1, "pg": "pp", "seq": 1, "op": "recv 1<-0"}, line=1)
    return maker


def profiled() -> RunMaker:
    """Four ranks with traces of the same eight steps, and the shapes of the slowest operator."""
    maker = RunMaker()
    for rank in range(4):
        out = maker.file(f"rank-{rank}.pt.trace.json", "kineto")
        out.timing(
            TimeTrace(
                rank=rank, source=out.source, events=9000, complete=True, span_s=1.0, steps=8, step_median_s=0.12, window_s=0.95,
                compute_s=0.6 + 0.1 * (rank == 2), communication_s=0.2 - 0.1 * (rank == 2), exposed_communication_s=0.1,
                exposed_copy_s=0.01, host_copy_s=0.02, idle_s=0.14, host_wait_s=0.1, kernel_wait_s=0.04, kernels=4000,
                kernel_median_s=2e-5, launch_median_s=6e-6, shorter_than_launch=0.1, sync_s=0.05, data_s=0.1, pageable_share=0.5,
                top_operator="aten::mm", top_operator_s=0.3, top_operator_record=7, top_kernel="gemm",
            )
        )  # fmt: skip
    out = maker.file("et.json", "execution-trace")
    out.operator_shapes(OperatorShapes(out.source, 1, None, {7: ("aten::mm", "[8, 64] float")}))
    return maker


RUNS = (standing, receiving, profiled)
