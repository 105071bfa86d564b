"""What the launcher says of its processes: whose end it reports, when, and which ends it brought about itself."""

from __future__ import annotations

import pytest
from make_run import RunMaker, falling

LOG = "train.log"


def lost_peer(maker: RunMaker, rank: int, *, kind: str, time_s: float | None = None) -> RunMaker:
    path = f"rank_{rank}.log"
    maker.event(
        "python_traceback",
        role="symptom",
        path=path,
        line=9,
        rank=rank,
        time_s=time_s,
        exception="RuntimeError",
    )
    return maker.event(kind, role="symptom", path=path, line=9, rank=rank, time_s=time_s)


def killed(maker: RunMaker, kind: str, rank: int, *, line: int, time_s: float) -> RunMaker:
    """The launcher's report of a process that SIGKILL ended."""
    maker.event("sigkill", role="root_candidate", path=LOG, line=line)
    return maker.event(
        kind,
        role="cascade",
        path=LOG,
        line=line,
        rank=rank,
        time_s=time_s,
        host="node-a",
        exitcode=-9,
        local_rank=rank,
        pid=100 + rank,
    )


def test_a_process_killed_from_outside_comes_before_peers_whose_error_files_are_older_than_the_report():
    maker = RunMaker()
    for rank in (0, 1, 2):
        lost_peer(maker, rank, kind="gloo_error", time_s=1000.0 + rank)
    killed(maker, "torchrun_peer_failure", 3, line=20, time_s=1010.0)
    maker.event("torchrun_failure", path=LOG, line=30, rank=1, time_s=1001.0, exitcode=1, attempt=0, pid=101)

    plain = maker.facts().plain

    assert plain["failure.first.where"] == "rank 3 on node-a"
    assert plain["failure.followers"] == 3
    assert plain["failure.launcher.misreported"] is True
    assert plain["event.gloo_error.is_consequence"] is True
    assert plain["exception.own"] is False


def test_both_lines_about_one_process_name_its_rank():
    maker = RunMaker().event("torchrun_worker_failed", path=LOG, line=8, exitcode=-9, local_rank=3, pid=103)
    killed(maker, "torchrun_failure", 3, line=20, time_s=1010.0)

    plain = maker.facts().plain

    assert plain["failure.first.rank"] == 3
    assert plain["event.torchrun_worker_failed.is_first_failure"] is True
    assert plain["event.sigkill.is_first_failure"] is True


@pytest.mark.parametrize("forced", [True, False])
def test_a_process_that_the_launcher_had_to_kill_is_no_first_failure(forced):
    maker = RunMaker().log({"loss": falling(20)}, path="rank_0.log")
    for rank in (0, 1, 3):
        lost_peer(maker, rank, kind="gloo_timeout")
    if forced:
        maker.event("launcher_kill", role="teardown", path=LOG, line=10, pid=102, forced_by="9")
    killed(maker, "torchrun_peer_failure", 2, line=20, time_s=1045.0)
    maker.event("nccl_version", role="info", path="rank_2.log", line=1, rank=2)

    plain = maker.facts().plain

    assert plain["failure.root_seen"] is not forced
    assert plain["event.sigkill.is_consequence"] is forced
    assert plain["signal.collective.missing_rank"] == 2
    assert plain["signal.collective.missing_rank_silent"] is forced


def test_gloo_peers_that_lost_the_one_that_timed_out_first_are_not_the_missing_rank():
    maker = RunMaker().event("nccl_version", role="info", path="rank_3.log", line=1, rank=3)
    lost_peer(maker, 0, kind="gloo_timeout")
    for rank in (1, 2):
        lost_peer(maker, rank, kind="connection_lost")

    assert maker.facts().plain["signal.collective.missing_where"] == "rank 3"


@pytest.mark.parametrize(("call", "is_first"), [("MPI_Bcast", False), (None, True)])
def test_what_the_scheduler_kills_when_a_call_of_mpi_failed_is_no_first_failure(call, is_first):
    maker = RunMaker().event("infiniband_error", role="symptom", path=LOG, line=3)
    maker.event("mpi_abort", role="teardown", path=LOG, line=4, **({"call": call} if call else {"rank": 0}))
    maker.event("sigkill", path=LOG, line=9)

    assert (maker.facts().plain["failure.first.kind"] == "sigkill") is is_first
