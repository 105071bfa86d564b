"""Look-alike group 10: was it ever faster? If not, what is the step made of; if so, what changed."""

from __future__ import annotations

import pytest
from look_alikes import Member, assert_no_confident_error, assert_wins

KINDS = ("slow",)
IDLE = {
    "signal.gpu.utilization_p95": 55.0,
    "signal.gpu.utilization_mean": 35.0,
    "signal.gpu.idle_share": 0.4,
    "run.last_step": 5000,
}
FELL = {
    "signal.throughput.seen": True,
    "signal.throughput.dropped": True,
    "signal.throughput.change_ratio": 0.6,
    "signal.throughput.drop_step": 900,
}
OUTLIERS = {
    "signal.step_time.seen": True,
    "signal.step_time.outliers": 20,
    "signal.step_time.outlier_share": 0.3,
}

MEMBERS = (
    Member("slow-throughput", IDLE),
    Member("data-loading-bottleneck", {**IDLE, "signal.data_wait.share": 0.5}, ("signal.data_wait.share",), allowed=("slow-throughput",)),
    Member(
        "batch-too-small-for-gpu",
        {**IDLE, "signal.gpu.memory_p95": 20.0, "signal.cpu.utilization_p95": 30.0, "config.train.micro_batch_size": 1,
         "config.train.gradient_accumulation_steps": 8},
        ("signal.gpu.memory_p95",),
        at_least=0.4,
        allowed=("slow-throughput",),
    ),
    Member("throughput-drop", {**FELL, "signal.throughput.drop_sudden": True}),
    Member("allocator-thrash", {**FELL, "event.cache_flush.seen": True, "event.cache_flush.count": 60}, ("event.cache_flush.count",), allowed=("throughput-drop",)),
    Member("step-time-outliers", {**OUTLIERS, "signal.step_time.outliers_on_grid": False}, ("signal.step_time.outliers_on_grid",)),
    Member(
        "blocking-checkpoint-save",
        {**OUTLIERS, "signal.step_time.outliers_on_grid": True, "signal.step_time.outliers_at_saves": True, "signal.step_time.outlier_period": 500},
        ("signal.step_time.outliers_at_saves", "signal.step_time.outliers_on_grid"),
        allowed=("step-time-outliers",),
    ),
    Member(
        "validation-too-frequent",
        {**OUTLIERS, "signal.step_time.outliers_on_grid": True, "signal.step_time.outliers_at_saves": False,
         "signal.step_time.outliers_at_evals": True, "signal.eval_time.share": 0.4, "run.last_step": 5000},
        ("signal.step_time.outliers_at_evals", "signal.eval_time.share"),
        allowed=("step-time-outliers",),
    ),
)  # fmt: skip
GROUP = tuple(member.cause for member in MEMBERS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_a_member_wins_on_its_own_evidence(member):
    assert_wins(member, KINDS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_nobody_is_confidently_wrong_without_the_deciding_fact(member):
    assert_no_confident_error(member, GROUP, KINDS)
