"""Look-alike group 2: NaN after a short healthy stretch. What grew, what repeats, and what passes on a rerun."""

from __future__ import annotations

import pytest
from look_alikes import Member, assert_no_confident_error, assert_wins

KINDS = ("numerical_breakdown",)
BROKE = {
    "run.rl": False,
    "signal.loss.points": 60,
    "signal.nonfinite_loss.seen": True,
    "signal.nonfinite_loss.persists": True,
    "signal.nonfinite_loss.from_first_log": False,
    "signal.nonfinite_loss.first_step": 22,
    "signal.loss_zero.seen": False,
    "signal.onset.step": 22,
    "signal.onset.in_first_steps": False,
    "signal.onset.after_healthy_stretch": True,
    "signal.onset.late": False,
    "config.precision": "bf16",
    "config.uses_loss_scaler": False,
}
GREW = {
    "signal.grad_norm.growth_before_onset": 30.0,
    "signal.loss.growth_before_onset": 2.4,
    "signal.nonfinite_grad.seen": True,
    "signal.nonfinite_grad.harmful": True,
    "signal.nonfinite_grad.with_finite_loss": False,
}
QUIET = {
    "signal.grad_norm.growth_before_onset": 1.1,
    "signal.loss.growth_before_onset": 1.0,
    "signal.loss.diverged": False,
}
LATE = {"signal.onset.step": 3000, "signal.nonfinite_loss.first_step": 3000, "signal.onset.late": True}

MEMBERS = (
    Member(
        "learning-rate-too-high",
        {**BROKE, **GREW, "signal.learning_rate.rising_at_onset": True, "signal.learning_rate.at_onset_share": 1.0,
         "signal.learning_rate.full_at_once": False, "config.train.has_warmup": True, "config.train.learning_rate": 0.003},
        ("signal.learning_rate.rising_at_onset", "signal.learning_rate.at_onset_share", "config.train.learning_rate"),
        allowed=("loss-divergence",),
    ),
    Member(
        "no-warmup",
        {**BROKE, **GREW, "signal.learning_rate.rising_at_onset": False, "signal.learning_rate.at_onset_share": 1.0,
         "signal.learning_rate.full_at_once": True, "config.train.has_warmup": False, "config.train.learning_rate": 0.0005},
        ("signal.learning_rate.full_at_once", "config.train.has_warmup"),
        at_least=0.4,
        allowed=("loss-divergence", "learning-rate-too-high"),  # the rate is at its peak, which is what remains to be seen
    ),
    Member(
        "init-std-too-large",
        {**BROKE, **GREW, "signal.loss.first_above_uniform": True, "config.design.init_std_over_limit": 2.4,
         "config.train.resumed": False, "signal.learning_rate.at_onset_share": 0.4, "signal.learning_rate.rising_at_onset": False},
        ("signal.loss.first_above_uniform", "config.design.init_std_over_limit"),
        allowed=("loss-divergence",),
    ),
    Member(
        "loss-spike-deterministic",
        {**BROKE, **QUIET, **LATE, "signal.repeat.launches": 3, "signal.repeat.same_step": True, "signal.repeat.passed": False},
        ("signal.repeat.same_step", "signal.repeat.passed"),
        allowed=("nonfinite-forward",),
    ),
    Member(
        "bad-data-pocket",
        {**BROKE, **QUIET, **LATE, "signal.loss.spike_ratio": 6.0, "compare.baseline.given": True, "compare.baseline.healthy": True,
         "compare.baseline.only_difference": "train.seed", "compare.baseline.differences": 1},
        ("compare.baseline.only_difference",),
        allowed=("nonfinite-forward", "loss-divergence"),
    ),
    Member(
        "silent-data-corruption",
        {**BROKE, **QUIET, **LATE, "signal.repeat.launches": 2, "signal.repeat.same_step": False, "signal.repeat.passed": True,
         "run.world_size": 512, "compare.baseline.given": True, "compare.baseline.healthy": True, "compare.baseline.differences": 0},
        ("signal.repeat.passed", "signal.repeat.same_step", "compare.baseline.differences"),
        allowed=("nonfinite-forward",),
    ),
    Member(
        "labels-all-ignored",
        {**BROKE, **QUIET, "signal.nonfinite_loss.persists": False, "signal.nonfinite_loss.share": 0.1, "signal.nonfinite_grad.isolated": True,
         "signal.nonfinite_grad.harmful": False, "event.tokenization_mismatch.seen": True, "event.tokenization_mismatch.count": 40},
        ("event.tokenization_mismatch.seen", "event.tokenization_mismatch.count"),
    ),
    Member(
        "zero-stage-bug",
        {**BROKE, **QUIET, "signal.nonfinite_grad.seen": True, "signal.nonfinite_grad.harmful": True,
         "signal.nonfinite_grad.with_finite_loss": True, "signal.nonfinite_loss.seen": False, "signal.nonfinite_loss.persists": False,
         "config.zero.stage": 2, "config.zero.overlap_comm": True, "run.world_size": 8, "compare.baseline.given": True,
         "compare.baseline.healthy": True, "compare.baseline.differs_in_zero_stage": True, "compare.baseline.only_difference": "zero.stage",
         "run.deepspeed": True},
        ("compare.baseline.differs_in_zero_stage", "compare.baseline.only_difference", "config.zero.overlap_comm"),
        allowed=("nonfinite-gradients",),
    ),
)  # fmt: skip
GROUP = tuple(member.cause for member in MEMBERS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_a_member_wins_on_its_own_evidence(member):
    assert_wins(member, KINDS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_nobody_is_confidently_wrong_without_the_deciding_fact(member):
    assert_no_confident_error(member, GROUP, KINDS)
