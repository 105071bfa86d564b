"""Look-alike group 11: a flat loss. Rate, gradient, weights, level and start tell the reasons apart."""

from __future__ import annotations

import pytest
from look_alikes import Member, assert_no_confident_error, assert_wins

KINDS = ("plateau",)
FLAT = {
    "run.rl": False,
    "signal.loss.flat": True,
    "signal.loss.constant": False,
    "signal.loss.falls": False,
    "signal.loss.points": 300,
    "signal.loss.last": 2.31,
    "signal.nonfinite_loss.seen": False,
    "signal.nonfinite_loss.persists": False,
    "signal.nonfinite_grad.harmful": False,
    "signal.loss_zero.seen": False,
    "signal.stall.after_explosion": False,
    "signal.stall.constant_end": False,
    "signal.stall.at_float_limit": False,
    "signal.stall.slow_descent": False,
    "config.train.resumed": False,
}
RATE = {
    "signal.learning_rate.seen": True,
    "signal.learning_rate.peak": 0.001,
    "signal.learning_rate.zero_share": 0.0,
    "signal.learning_rate.always_zero": False,
    "config.train.learning_rate": 0.001,
}
GRADIENTS = {
    "signal.grad_norm.seen": True,
    "signal.grad_norm.zero_share": 0.0,
    "signal.grad_norm.median": 0.4,
    "signal.grad_norm.vanishing": False,
    "signal.grad_norm.zero_with_loss": False,
}
STILL = {"signal.weights.still": True, "signal.weights.relative_change": 0.0}

MEMBERS = (
    Member(
        "lr-zero",
        {**FLAT, **RATE, **GRADIENTS, "signal.learning_rate.peak": 0.0, "signal.learning_rate.zero_share": 1.0,
         "signal.learning_rate.always_zero": True, "signal.learning_rate.frozen": False},
        ("signal.learning_rate.zero_share", "signal.learning_rate.always_zero", "signal.learning_rate.peak"),
        allowed=("loss-plateau",),
    ),
    Member(
        "gradients-disabled",
        {**FLAT, **RATE, **STILL, "signal.grad_norm.seen": True, "signal.grad_norm.points": 300, "signal.grad_norm.zero_share": 1.0, "signal.grad_norm.zero_with_loss": True},
        ("signal.grad_norm.zero_share", "signal.grad_norm.zero_with_loss"),
        allowed=("loss-plateau", "optimizer-holds-stale-params"),
    ),
    Member(
        "optimizer-holds-stale-params",
        {**FLAT, **RATE, **GRADIENTS, **STILL, "config.weights_dtype": "float32", "config.precision": "fp32"},
        ("signal.weights.still", "signal.weights.relative_change"),
        allowed=("loss-plateau",),
    ),
    Member(
        "bf16-update-rounding",
        {**FLAT, **RATE, **GRADIENTS, **STILL, "config.weights_dtype": "bfloat16", "config.precision": "bf16", "run.deepspeed": False,
         "signal.learning_rate.peak": 0.00001, "config.train.learning_rate": 0.00001, "config.uses_loss_scaler": False},
        ("config.weights_dtype", "signal.weights.still", "signal.weights.relative_change"),
        at_least=0.4,
        allowed=("loss-plateau",),
    ),
    Member(
        "dead-network",
        {**FLAT, **RATE, **GRADIENTS, "signal.loss.flat": False, "signal.stall.after_explosion": True, "signal.stall.constant_end": True,
         "signal.spike.seen": True, "signal.spike.ratio": 60.0, "signal.stall.accuracy_constant": True},
        ("signal.stall.after_explosion", "signal.stall.constant_end"),
        allowed=("loss-plateau",),
    ),
    Member(
        "ctc-blank-collapse",
        {**FLAT, **RATE, **GRADIENTS, "signal.loss.last": 2.92, "signal.stall.ctc": True, "signal.stall.error_rate_stuck": True},
        ("signal.stall.ctc", "signal.stall.error_rate_stuck"),
        allowed=("loss-plateau",),
    ),
    Member(
        "loss-plateau",
        {**FLAT, **RATE, **GRADIENTS, "signal.loss.at_chance": True, "signal.stall.eval_at_chance": True,
         "signal.generalisation.never_fell": True, "signal.weights.still": False, "signal.weights.relative_change": 0.2},
    ),
    Member(
        "loss-head-mismatch",
        {**FLAT, **RATE, **GRADIENTS, "signal.stall.first_over_uniform": 1.5, "signal.stall.last_over_uniform": 1.4,
         "signal.weights.still": False, "signal.weights.relative_change": 0.2},
        ("signal.stall.first_over_uniform", "signal.stall.last_over_uniform"),
        allowed=("loss-plateau",),
    ),
    Member(
        "learning-rate-too-low",
        {**FLAT, **RATE, **GRADIENTS, "signal.learning_rate.peak": 2e-7, "config.train.learning_rate": 2e-7,
         "signal.stall.slow_descent": True, "signal.weights.still": False, "signal.weights.relative_change": 0.00003},
        ("signal.learning_rate.peak", "config.train.learning_rate", "signal.stall.slow_descent"),
        allowed=("loss-plateau",),
    ),
    Member(
        "fp16-gradient-underflow",
        {**FLAT, **RATE, **GRADIENTS, "config.precision": "fp16", "config.uses_loss_scaler": True, "signal.loss_scale.seen": True,
         "signal.loss_scale.pinned_low": True, "signal.loss_scale.last": 2.0, "signal.grad_norm.vanishing": True,
         "signal.loss_scale.collapsing": False, "signal.loss_scale.at_floor": False},
        ("signal.loss_scale.pinned_low", "signal.grad_norm.vanishing"),
        allowed=("loss-plateau",),
    ),
    Member(
        "poor-weight-initialization",
        {**FLAT, **RATE, **GRADIENTS, "signal.loss.last": 52.0, "signal.stall.first_over_uniform": 23.0,
         "signal.weights.still": False, "signal.weights.relative_change": 0.001, "signal.loss.diverged": False},
        ("signal.stall.first_over_uniform",),
        allowed=("loss-plateau",),
    ),
    Member(
        "vanishing-gradient",
        {**FLAT, **RATE, **GRADIENTS, "signal.layers.first_gradient": 1e-9, "signal.layers.first_over_last": 0.00001},
        ("signal.layers.first_over_last", "signal.layers.first_gradient"),
        allowed=("loss-plateau",),
    ),
    Member(
        "clipping-always-active",
        {**FLAT, **RATE, **GRADIENTS, "signal.grad_norm.clipped_share": 1.0, "signal.grad_norm.over_clip": 200.0,
         "config.train.max_grad_norm": 0.002, "config.train.optimizer": "sgd"},
        ("signal.grad_norm.clipped_share", "signal.grad_norm.over_clip"),
        allowed=("loss-plateau",),
    ),
    Member(
        "lr-schedule-horizon-wrong",
        {**FLAT, **RATE, **GRADIENTS, "signal.schedule.ended_early": True, "signal.schedule.ended_step": 40,
         "signal.schedule.end_share": 0.0, "signal.learning_rate.zero_share": 0.8},
        ("signal.schedule.ended_early", "signal.schedule.ended_step", "signal.schedule.end_share", "signal.learning_rate.zero_share"),
        allowed=("loss-plateau",),
    ),
)  # fmt: skip
GROUP = tuple(member.cause for member in MEMBERS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_a_member_wins_on_its_own_evidence(member):
    assert_wins(member, KINDS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_nobody_is_confidently_wrong_without_the_deciding_fact(member):
    assert_no_confident_error(member, GROUP, KINDS)


def test_a_flat_loss_alone_accuses_nobody():
    assert_no_confident_error(Member("loss-plateau", {**FLAT, **RATE, **GRADIENTS}), GROUP, KINDS)
