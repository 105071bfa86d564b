"""Runs that emit every fact of ``failure.*``."""

from __future__ import annotations

from make_run import RunMaker, falling

from analyzer.model.run import LogEnd


def one_rank_died() -> RunMaker:
    """Rank 3 fails after a caught error; rank 0 and 1 wait; rank 2 says nothing; the launcher blames rank 0."""
    maker = RunMaker().log({"loss": falling(30)}, path="rank_0.log")
    maker.event("python_traceback", path="rank_0.log", line=1, role="root_candidate", exception="KeyError")
    maker.event(
        "cuda_oom", path="rank_3.log", line=50, role="root_candidate", time_s=1000.0, rank=3, host="node-a"
    )
    for rank in (0, 1):
        maker.event(
            "nccl_timeout", path=f"rank_{rank}.log", line=900, time_s=1700.0, rank=rank, ran_ms=600_000
        )
    maker.event("torchrun_failure", path="rank_0.log", line=950, time_s=1701.0, exitcode=-6, rank=0)
    maker.file("rank_2.log").layout(world_size=4)
    return maker


def two_ranks_fail_alike() -> RunMaker:
    maker = RunMaker().event("disk_full", path="rank_0.log", role="root_candidate", rank=0)
    return maker.event("disk_full", path="rank_1.log", role="root_candidate", rank=1)


def a_name_is_missing() -> RunMaker:
    """An installed package asks another one for a name that it does not have."""
    package = "/opt/lib/python3.11/site-packages/pkg/__init__.py"
    return RunMaker().event(
        "python_traceback",
        role="root_candidate",
        exception="ImportError",
        message=f"cannot import name 'x' from 'pkg' ({package})",
        file="train.py",
        raised_in=package,
    )


def ends_with_a_known_message() -> RunMaker:
    maker = RunMaker().event("disk_full", line=12, role="root_candidate")
    text = "OSError: [Errno 28] No space left on device"
    maker.file().log_end(LogEnd(0, 12, text, torn=False, errors=((12, text),)))
    return maker


def ends_with_words_of_several_causes() -> RunMaker:
    maker = RunMaker()
    text = "the disk is full or the memory of the host, or a worker was killed"
    maker.file().log_end(LogEnd(0, 12, text, torn=False, errors=((12, text),)))
    return maker


RUNS = (
    ends_with_a_known_message,
    ends_with_words_of_several_causes,
    one_rank_died,
    two_ranks_fail_alike,
    a_name_is_missing,
)
