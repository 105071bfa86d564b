"""Collectives compared over ranks, the phase before a timeout, stragglers and silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_run import RunMaker, falling, norms

TIMEOUT_MS = 600_000


def waits(maker: RunMaker, ranks: range, **fields: Any) -> RunMaker:
    values: dict[str, Any] = {
        "seq": 64,
        "op": "ALLREDUCE",
        "numel": 1024,
        "timeout_ms": TIMEOUT_MS,
        "ran_ms": TIMEOUT_MS,
        **fields,
    }
    for rank in ranks:
        maker.event("nccl_timeout", path=f"rank_{rank}.log", line=900, rank=rank, **values)
    return maker


def test_ranks_that_wait_for_the_same_thing_agree() -> None:
    plain = waits(RunMaker(), range(4)).plain()
    assert plain["signal.collective.same_everywhere"] is True
    assert plain["signal.collective.ranks_timed_out"] == 4
    assert plain["signal.collective.timeout_s"] == 600.0
    assert "signal.collective.missing_rank" not in plain


def test_numbers_operations_and_sizes_are_told_apart() -> None:
    for fields, fact in (
        ({"seq": 62}, "different_count"),
        ({"op": "ALLGATHER"}, "different_op"),
        ({"numel": 8}, "different_size"),
    ):
        maker = waits(waits(RunMaker(), range(3)), range(3, 4), **fields)
        plain = maker.plain()
        assert plain[f"signal.collective.{fact}"] is True
        assert plain["signal.collective.same_everywhere"] is False


def test_groups_are_not_compared_with_each_other() -> None:
    maker = waits(
        waits(RunMaker(), range(3), group="3(TP)"), range(3, 5), group="4(TP)", seq=9, op="ALLGATHER"
    )
    plain = maker.plain()
    assert plain["signal.collective.same_everywhere"] is True
    assert plain["signal.collective.different_count"] is False


def test_a_second_line_names_the_group_of_newer_watchdogs() -> None:
    maker = waits(RunMaker(), range(2))
    waits(maker, range(2, 3), seq=9)
    for rank, group, seq in ((0, "3(TP)", 64), (1, "3(TP)", 64), (2, "4(TP)", 9)):
        maker.event(
            "collective_status",
            path=f"rank_{rank}.log",
            line=901,
            role="info",
            rank=rank,
            group=group,
            seq=seq,
            enqueued=seq,
        )
    assert maker.plain()["signal.collective.different_count"] is False


def test_ranks_that_did_not_come_to_name_the_group_of_all_ranks_are_in_it() -> None:
    def differing(group: str) -> dict[str, Any]:
        maker = waits(waits(RunMaker(), range(2)), range(2, 3), op="BROADCAST")
        status = {"rank": 2, "group": group, "seq": 64, "enqueued": 64}
        return maker.event("collective_status", path="rank_2.log", line=901, role="info", **status).plain()

    for group in ("0", "0(default_pg)"):
        assert differing(group)["signal.collective.different_op"] is True
    assert differing("3(TP)").get("signal.collective.different_op") is not True


def test_send_and_receive_are_two_ends_of_one_operation() -> None:
    plain = waits(waits(RunMaker(), range(1), op="SEND"), range(1, 2), op="RECV").plain()
    assert plain["signal.collective.is_p2p"] is True
    assert plain["signal.collective.different_op"] is False


def test_uneven_operations_may_differ_in_size() -> None:
    plain = waits(
        waits(RunMaker(), range(1), op="ALLTOALL_BASE"), range(1, 2), op="ALLTOALL_BASE", numel=7
    ).plain()
    assert "signal.collective.different_size" not in plain


def test_the_rank_that_prints_no_watchdog_line_is_missing() -> None:
    maker = waits(RunMaker(), range(3))
    maker.event("nccl_interface", path="rank_3.log", line=1, role="info", rank=3, host="node-b")
    plain = maker.plain()
    assert plain["signal.collective.missing_rank"] == 3
    assert plain["signal.collective.missing_where"] == "rank 3 on node-b"
    assert plain["signal.collective.missing_rank_silent"] is True


def test_a_missing_rank_with_an_error_is_not_silent() -> None:
    maker = waits(RunMaker(), range(3))
    maker.event("illegal_memory_access", path="rank_3.log", line=1, rank=3)
    assert maker.plain()["signal.collective.missing_rank_silent"] is False


def test_several_silent_ranks_are_only_lost_lines() -> None:
    maker = waits(RunMaker(), range(2))
    maker.file().layout(world_size=8)
    assert "signal.collective.missing_rank" not in maker.plain()


def test_a_rank_that_had_not_enqueued_the_operation_lags() -> None:
    maker = waits(RunMaker(), range(3))
    maker.event(
        "collective_status", path="rank_3.log", line=9, role="info", rank=3, enqueued=63, completed=63
    )
    plain = maker.plain()
    assert plain["signal.collective.lagging_rank"] == 3
    assert plain["signal.collective.different_count"] is False
    maker.event(
        "collective_status", path="rank_3.log", line=9, role="info", rank=3, enqueued=60, completed=60
    )
    assert maker.plain()["signal.collective.different_count"] is True


def test_what_torch_reports_counts_first() -> None:
    maker = waits(RunMaker(), range(3)).event("recorder_missing_ranks", line=950, missing="5")
    assert maker.plain()["signal.collective.missing_rank"] == 5


def test_an_open_save_and_its_gap() -> None:
    def with_save(began_s: float) -> dict[str, Any]:
        maker = RunMaker().log({"loss": falling(30)}, path="rank_0.log")
        maker.event("phase_started", path="rank_0.log", line=400, role="info", time_s=began_s, phase="saving")
        return waits(maker, range(3), time_s=10_605.0).plain()

    plain = with_save(10_000.0)
    assert plain["signal.collective.during_phase"] == "saving"
    assert plain["signal.collective.gap_equals_timeout"] is True
    assert with_save(2_000.0)["signal.collective.gap_equals_timeout"] is False
    assert "signal.collective.gap_s" not in with_save(20_000.0)  # another time zone


def test_a_phase_is_over_when_metrics_follow_or_its_end_is_said() -> None:
    maker = RunMaker().log({"loss": falling(30)}, path="rank_0.log")
    maker.event("phase_started", path="rank_0.log", line=45, role="info", phase="evaluation")
    assert waits(maker, range(3)).plain()["signal.collective.during_phase"] == "steps"
    maker = RunMaker().log({"loss": falling(30)}, path="rank_0.log")
    maker.event("phase_started", path="rank_0.log", line=400, role="info", phase="saving")
    maker.event(
        "checkpoint_saved", path="rank_0.log", line=401, role="info", text="successfully saved checkpoint"
    )
    assert waits(maker, range(3)).plain()["signal.collective.during_phase"] == "steps"
    assert waits(RunMaker(), range(3)).plain()["signal.collective.during_phase"] == "startup"


def test_glog_stamps_take_the_year_of_the_run() -> None:
    began_s = 1_759_516_000.0  # 2025-10-03 18:26:40
    maker = RunMaker().event("phase_started", line=4, role="info", time_s=began_s, phase="saving")
    text = "[rank1]:[E1003 18:36:42.832146912 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught"
    plain = waits(maker, range(2), text=text).plain()
    assert plain["signal.collective.gap_s"] == 602.0


def per_rank(times: dict[int, list[float]], metric: str = "step_time_s") -> dict[str, Any]:
    maker = RunMaker()
    for rank, values in times.items():
        out = maker.file(f"rank_{rank}.csv", "csv-metrics")
        out.metrics(metric, steps=range(len(values)), values=np.asarray(values), rank=rank)
    return maker.plain()


def test_one_slow_rank_explains_the_waiting() -> None:
    plain = per_rank({rank: [1.4 if rank == 2 else 1.0 + 0.001 * rank] * 60 for rank in range(4)})
    assert plain["signal.straggler.rank"] == 2
    assert plain["signal.straggler.persistent"] is True
    assert plain["signal.straggler.ratio"] > 1.3
    assert plain["signal.straggler.wait_share"] > 0.9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 16))
def test_healthy_ranks_are_no_stragglers(seed: int, ranks: int) -> None:
    random = np.random.default_rng(seed)
    plain = per_rank({rank: list(1.0 + 0.02 * random.standard_normal(80)) for rank in range(ranks)})
    assert plain["signal.straggler.ratio"] < 1.05
    assert plain["signal.straggler.ranks_agree"] is True
    assert plain["signal.straggler.persistent"] is False


def test_replicas_that_share_gradients_have_equal_norms() -> None:
    shared = norms(60)
    assert per_rank({0: shared, 1: shared}, "grad_norm")["signal.replicas.grad_norm_differs"] is False
    assert (
        per_rank({0: shared, 1: norms(60, seed=9)}, "grad_norm")["signal.replicas.grad_norm_differs"] is True
    )


def test_silence_is_measured_within_one_file() -> None:
    maker = RunMaker()
    out = maker.file("train.log")
    out.metrics(
        "loss",
        steps=range(1, 61),
        values=falling(60),
        times_s=[1000.0 + 10 * i for i in range(60)],
        lines=range(10, 70),
    )
    maker.event("slurm_cancelled", line=5, role="root_candidate", time_s=99_000.0, path="other.log")
    assert "signal.silence.before_end_s" not in maker.plain()
    maker.event("slurm_cancelled", line=90, role="root_candidate", time_s=5590.0)
    plain = maker.plain()
    assert plain["signal.silence.before_end_s"] == 4000.0
    assert plain["signal.silence.median_steps"] == 400.0


@pytest.mark.parametrize("kind", ["training_begins_again", "resume_from_checkpoint"])
def test_silence_ends_where_the_program_is_started_once_more_or_weights_are_read_back(kind: str) -> None:
    maker = RunMaker()
    out = maker.file("train.log")
    times = [1000.0 + 10 * i for i in range(60)]
    out.metrics("loss", steps=range(1, 61), values=falling(60), times_s=times, lines=range(10, 70))
    maker.event(kind, line=95, role="info", time_s=50_000.0)
    assert "signal.silence.before_end_s" not in maker.plain()
    maker.event("keyboard_interrupt", line=90, role="root_candidate", time_s=5590.0)
    assert maker.plain()["signal.silence.before_end_s"] == 4000.0


def test_a_log_in_which_nothing_was_recognised_is_silent_too() -> None:
    maker = waits(RunMaker(), range(3))
    maker.file("logs/rank_3.log")
    maker.file().layout(world_size=4)
    assert maker.plain()["signal.collective.missing_rank_silent"] is True
