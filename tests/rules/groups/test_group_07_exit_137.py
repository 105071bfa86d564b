"""Look-alikes of a process that ends with -9 or 137: who sent the signal, or that nobody knows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.rules.load import load_rules
from analyzer.rules.score import rank

RULES = load_rules()

KILLED = {"event.sigkill.seen": True, "run.exit_code": -9, "run.completed": False}
GROUP = {
    "launcher-kills-siblings", "host-oom-kill", "host-memory-leak", "scheduler-time-limit", "scheduler-preemption", "user-cancelled",
    "dataloader-worker-killed", "dataloader-teardown-noise", "shm-too-small", "process-sigkilled",
}  # fmt: skip

# cause: facts that the run shows anyway, and the facts that decide
MEMBERS = {
    "process-sigkilled": (
        {**KILLED, "event.torchrun_worker_failed.seen": True, "event.torchrun_worker_failed.exitcode": -9},
        {"event.sigkill.is_first_failure": True, "event.sigkill.is_consequence": False},
    ),
    "host-oom-kill": (
        KILLED,
        {
            "event.host_oom_kill.seen": True,
            "event.host_oom_kill.process": "python",
            "failure.root_seen": True,
        },
    ),
    "host-memory-leak": (
        KILLED,
        {
            "hardware.host_memory_grows": True,
            "hardware.host_memory_ratio": 2.2,
            "hardware.host_memory_peak_percent": 97.0,
        },
    ),
    "scheduler-time-limit": (
        {**KILLED, "event.sigterm.seen": True},
        {
            "event.slurm_cancelled.seen": True,
            "event.slurm_cancelled.reason": "TIME LIMIT",
            "failure.first.family": "host",
        },
    ),
    "scheduler-preemption": (
        {**KILLED, "event.sigterm.seen": True},
        {
            "event.slurm_cancelled.seen": True,
            "event.slurm_cancelled.reason": "PREEMPTION",
            "failure.first.family": "host",
        },
    ),
    "user-cancelled": (KILLED, {"event.job_cancelled.seen": True, "failure.first.family": "host"}),
    "dataloader-worker-killed": (
        {"run.exit_code": 1, "run.completed": False, "event.python_traceback.exception": "RuntimeError"},
        {"event.dataloader_worker_killed.seen": True, "event.dataloader_worker_killed.signal": "Killed"},
    ),
    "shm-too-small": (
        {"run.exit_code": 135, "run.completed": False},
        {
            "event.bus_error.seen": True,
            "event.shm_too_small.seen": True,
            "event.dataloader_worker_killed.seen": True,
            "event.dataloader_worker_killed.signal": "Bus error",
        },
    ),
    "dataloader-teardown-noise": (
        {"run.completed": True, "failure.root_seen": False},
        {"event.dataloader_teardown.seen": True},
    ),
    "launcher-kills-siblings": (
        {"run.completed": False, "run.exit_code": 1},
        {
            "event.launcher_kill.seen": True,
            "event.sigterm.seen": True,
            "event.launcher_exit_code.seen": True,
            "failure.root_seen": False,
        },
    ),
}

NEUTRAL = {
    "signal.loss.points": 400,
    "signal.loss.falls": True,
    "config.precision": "bf16",
    "run.world_size": 16,
    "run.last_step": 4000,
    "event.nccl_warn.seen": True,
    "config.train.max_steps": 9000,
}


def shares(facts):
    """Cause to share, and the causes that lead their kind of symptom."""
    kinds = rank(RULES.in_question(facts), facts).kinds.values()
    first = {items[0].rule.entry.id for items in kinds}
    return {item.rule.entry.id: item.probability for items in kinds for item in items}, first


@pytest.mark.parametrize("cause", MEMBERS)
@given(extra=st.sets(st.sampled_from(sorted(NEUTRAL))))
def test_each_member_wins_on_its_own_evidence(cause, extra):
    common, deciding = MEMBERS[cause]
    found, first = shares({**common, **deciding, **{name: NEUTRAL[name] for name in extra}})

    assert cause in first
    assert found[cause] >= 0.5
    assert not [rival for rival in GROUP - {cause} if found.get(rival, 0.0) >= 0.5]


@pytest.mark.parametrize("cause", sorted(set(MEMBERS) - {"process-sigkilled"}))
@given(extra=st.sets(st.sampled_from(sorted(NEUTRAL))))
def test_without_the_deciding_fact_no_member_is_confidently_wrong(cause, extra):
    common, _ = MEMBERS[cause]
    found, _first = shares({**common, **{name: NEUTRAL[name] for name in extra}})

    assert not [rival for rival in GROUP - {"process-sigkilled"} if found.get(rival, 0.0) >= 0.6]


def test_a_kill_without_a_sender_is_called_so():
    found, first = shares(KILLED)

    assert "process-sigkilled" in first
    assert found.get("host-oom-kill", 0.0) < 0.1
    assert "sender unknown" in next(rule.says for rule in RULES.rules if rule.entry.id == "process-sigkilled")
