"""Runs that emit every fact of ``signal.collective.*``, ``signal.straggler.*`` and their neighbours."""

from __future__ import annotations

from make_run import RunMaker, falling


def waiting(*, rank_3_says: bool = True) -> RunMaker:
    """Ranks 0 to 2 wait for rank 3, which writes a checkpoint for as long as the timeout."""
    maker = RunMaker().log({"loss": falling(30)}, path="rank_0.log")
    maker.event(
        "phase_started",
        path="rank_0.log",
        line=400,
        role="info",
        time_s=10_000.0,
        phase="saving",
        host="node-a",
    )
    for rank in (0, 1, 2):
        maker.event(
            "nccl_timeout", path=f"rank_{rank}.log", line=900, time_s=10_601.0, rank=rank, ran_ms=600_000, timeout_ms=600_000,
            seq=64, op="ALLREDUCE", numel=1, group="5(DP)",
        )  # fmt: skip
    if rank_3_says:
        maker.event("nccl_interface", path="rank_3.log", line=1, role="info", rank=3, host="node-a")
        maker.event(
            "collective_status", path="rank_3.log", line=9, role="info", rank=3, enqueued=63, completed=63
        )
    for rank in (0, 1):
        maker.event(
            "ddp_no_gradient",
            path=f"rank_{rank}.log",
            line=950,
            role="info",
            rank=rank,
            parameters=f"{rank} 4",
        )
    return maker


def uneven() -> RunMaker:
    """Four ranks with step times of their own, growing communication, and norms that differ."""
    maker = RunMaker()
    for rank in range(4):
        out = maker.file(f"rank_{rank}.csv", "csv-metrics")
        out.metrics("step_time_s", steps=range(60), values=[1.3 if rank == 2 else 1.0] * 60, rank=rank)
        out.metrics("grad_norm", steps=range(60), values=[1.0 + rank] * 60, rank=rank)
    times = [0.2 * (1 + i // 100) for i in range(200)]
    return maker.log(
        {"allreduce_time_s": times, "forward_time_s": [0.2] * 200, "backward_time_s": [0.4] * 200}
    )


def standing() -> RunMaker:
    """An exception, then two hours of nothing until the scheduler ends the job."""
    maker = RunMaker()
    out = maker.file("train.log")
    out.metrics(
        "loss",
        steps=range(1, 61),
        values=falling(60),
        times_s=[1000.0 + 10 * i for i in range(60)],
        lines=range(10, 70),
    )
    maker.event(
        "python_traceback", line=80, role="root_candidate", exception="KeyError", time_s=1700.0, rank=1
    )
    return maker.event("slurm_cancelled", line=90, role="root_candidate", time_s=9000.0)


def sampled() -> RunMaker:
    """Stacks of four processes, of which one compiles and the others wait at one line."""
    maker = RunMaker().event("stack_taken", line=1, file="train.py", line_=9, phase="compile")
    for row in (2, 3, 4):
        maker.event("stack_taken", line=row, file="train.py", line_=90, function="main")
    return maker


def elsewhere() -> RunMaker:
    """Ranks 1 to 3 wait for rank 0, which waits in a collective on the CPU."""
    maker = RunMaker()
    for rank in (1, 2, 3):
        maker.event(
            "nccl_timeout", path=f"rank_{rank}.log", line=90, rank=rank, seq=78, op="BROADCAST", numel=80
        )
    maker.event(
        "collective_status", path="rank_0.log", line=8, role="info", rank=0, enqueued=77, completed=77
    )
    return maker.event("gloo_error", path="rank_0.log", line=40, rank=0, message="Connection closed by peer")


RUNS = (waiting, uneven, standing, sampled, elsewhere)
