"""Look-alike group 9: do the arithmetic of the message, then read the stack.

A card that is full by its own figures is ``oom-capacity`` unless a stack, a trend or a rank says more: that
holds whatever had asked for the last piece, so it may lead where the stack is missing.
"""

from __future__ import annotations

import pytest
from look_alikes import Member, assert_no_confident_error, assert_wins

CARD = {"event.cuda_oom.seen": True, "event.cuda_oom.count": 1, "event.cuda_oom.total_gib": 80.0}
KINDS = ("oom",)


def figures(allocated, free, tried, idle=0.5, **more):
    return {
        **CARD,
        "event.cuda_oom.allocated_gib": allocated,
        "event.cuda_oom.free_gib": free,
        "event.cuda_oom.tried_gib": tried,
        "event.cuda_oom.unallocated_gib": idle,
        **more,
    }


def stack(phase):
    return {"event.python_traceback.seen": True, "event.python_traceback.phase": phase}


PHASE = ("event.python_traceback.phase",)
MEMBERS = (
    Member("gpu-out-of-memory", {"event.cuda_oom.seen": True, "event.cuda_oom.count": 1}),
    Member("oom-other-process", figures(10.0, 1.0, 2.0), ("event.cuda_oom.allocated_gib",), allowed=("gpu-out-of-memory",)),
    Member(
        "oom-fragmentation", figures(50.0, 1.0, 4.0, idle=25.0), ("event.cuda_oom.unallocated_gib",),
        allowed=("gpu-out-of-memory",),
    ),
    Member("oom-input-size-outlier", {**figures(20.0, 50.0, 75.0), "run.last_step": 700}, ("event.cuda_oom.tried_gib",), allowed=("gpu-out-of-memory",)),
    Member("oom-optimizer-state", {**figures(76.0, 1.0, 2.0), **stack("optimizer"), "run.last_step": 0}, PHASE, allowed=("oom-capacity",)),
    Member("oom-eval-accumulation", {**figures(70.0, 1.0, 8.0), **stack("evaluation_gather")}, PHASE, allowed=("oom-capacity",)),
    Member("oom-eval-batch", {**figures(76.0, 1.0, 2.0), **stack("evaluation"), "config.train.eval_batch_size": 16, "config.train.micro_batch_size": 2}, PHASE, allowed=("oom-capacity",)),
    Member("oom-checkpoint-gather", {**figures(70.0, 1.0, 8.0), **stack("saving")}, PHASE, allowed=("oom-capacity",)),
    Member(
        "oom-load-on-one-gpu",
        {**figures(10.0, 0.5, 2.0), **stack("loading"), "event.cuda_oom.gpu": 0, "event.cuda_oom.other_process_gib": 9.0,
         "event.cuda_oom.ranks": 1, "run.world_size": 8},
        PHASE,
        at_least=0.4,
        allowed=("oom-other-process",),
    ),
    Member(
        "oom-memory-growth",
        {**figures(76.0, 1.0, 0.5), **stack("forward"), "run.last_step": 5000, "signal.gpu_memory.grows": True,
         "signal.gpu_memory.growth_ratio": 1.8},
        ("signal.gpu_memory.grows", "signal.gpu_memory.growth_ratio"),
        allowed=("oom-activations", "oom-capacity"),
    ),
    Member(
        "oom-rank-imbalance",
        {**figures(76.0, 1.0, 1.0), "run.world_size": 8, "run.last_step": 300, "event.cuda_oom.ranks": 1, "signal.gpu_memory.rank_spread": 1.4},
        ("signal.gpu_memory.rank_spread",),
        allowed=("oom-capacity",),
    ),
    Member("oom-activations", {**figures(76.0, 1.0, 2.0), **stack("forward"), "run.last_step": 30}, PHASE, allowed=("oom-capacity",)),
)  # fmt: skip
GROUP = (*(member.cause for member in MEMBERS), "oom-capacity")


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_a_member_wins_on_its_own_evidence(member):
    assert_wins(member, KINDS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_nobody_is_confidently_wrong_without_the_deciding_fact(member):
    assert_no_confident_error(member, GROUP, KINDS)
