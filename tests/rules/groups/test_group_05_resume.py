"""Look-alike group 5: the loss jumps at a restart."""

from __future__ import annotations

import pytest
from look_alikes import Member, assert_no_confident_error, assert_wins

KINDS = ("bad_restart",)
RESUMED = {
    "signal.resume.count": 1, "signal.resume.step": 1000, "signal.resume.from_zero": False,
    "signal.resume.loss_back_at_start": False, "signal.resume.learning_rate_restarts": False,
    "signal.resume.learning_rate_ratio": 0.999,
}  # fmt: skip
UP = {
    "signal.resume.jumps_up": True,
    "signal.resume.jumps_down": False,
    "signal.resume.loss_ratio": 1.4,
    "signal.resume.jump_is_large": True,
}

MEMBERS = (
    Member("optimizer-state-not-restored", {**RESUMED, **UP, "signal.resume.decays_slowly": True, "signal.resume.grad_norm_ratio": 3.0},
           ("signal.resume.decays_slowly", "signal.resume.grad_norm_ratio")),
    Member("scheduler-state-not-restored",
           {**RESUMED, "signal.resume.learning_rate_restarts": True, "signal.resume.learning_rate_ratio": 0.01,
            "signal.resume.jumps_up": False, "signal.resume.jumps_down": False},
           ("signal.resume.learning_rate_restarts", "signal.resume.learning_rate_ratio")),
    Member("data-repeated-after-resume",
           {**RESUMED, "signal.resume.jumps_down": True, "signal.resume.jumps_up": False, "signal.resume.loss_ratio": 0.9,
            "signal.resume.down_then_up": True},
           ("signal.resume.down_then_up",)),
    Member("sampler-state-lost-on-resume",
           {**RESUMED, "signal.resume.count": 3, "signal.resume.small_spike_each_time": True, "signal.resume.jump_is_large": False,
            "signal.resume.jumps_up": False, "signal.resume.jumps_down": False, "signal.resume.decays_slowly": False},
           ("signal.resume.small_spike_each_time",)),
    Member("resume-not-configured",
           {**RESUMED, **UP, "signal.resume.step": 1, "signal.resume.from_zero": True, "signal.resume.loss_back_at_start": True,
            "signal.resume.checkpoint_seen": True, "signal.resume.learning_rate_restarts": True, "signal.resume.learning_rate_ratio": 0.01},
           ("signal.resume.from_zero",), allowed=("scheduler-state-not-restored",)),
)  # fmt: skip
GROUP = tuple(member.cause for member in MEMBERS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_a_member_wins_on_its_own_evidence(member):
    assert_wins(member, KINDS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_nobody_is_confidently_wrong_without_the_deciding_fact(member):
    assert_no_confident_error(member, GROUP, KINDS)
