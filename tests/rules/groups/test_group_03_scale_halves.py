"""Look-alike group 3: the loss scale keeps halving."""

from __future__ import annotations

import pytest
from look_alikes import Member, assert_no_confident_error, assert_wins, leaders

KINDS = ("numerical_breakdown",)
FALLING = {
    "config.precision": "fp16", "config.uses_loss_scaler": True, "signal.loss_scale.seen": True, "signal.loss_scale.at_floor": True,
    "signal.loss_scale.collapsing": True, "signal.loss_scale.min": 1.0, "signal.loss_scale.recovers": False, "signal.loss_scale.below_one": False,
    "signal.loss.points": 40, "run.rl": False,
}  # fmt: skip
LADDER = {
    "signal.loss_scale.full_ladder": True, "signal.loss_scale.overflows": 18, "signal.loss_scale.overflow_share": 1.0,
    "signal.nonfinite_loss.seen": False, "signal.onset.in_first_steps": True, "signal.onset.after_healthy_stretch": False, "signal.onset.late": False,
    "signal.onset.lasting": True,
}  # fmt: skip
CLASSES = ("fp16-loss-scale-collapse", "nonfinite-gradients", "nonfinite-forward", "loss-divergence")

MEMBERS = (
    Member("learning-rate-too-high",
           {**FALLING, "signal.grad_norm.growth_before_onset": 12.0, "signal.loss.growth_before_onset": 2.1, "signal.loss_scale.full_ladder": False,
            "signal.loss_scale.overflow_share": 0.3, "signal.onset.after_healthy_stretch": True, "signal.onset.in_first_steps": False,
            "signal.onset.late": False, "signal.learning_rate.rising_at_onset": True, "signal.learning_rate.at_onset_share": 0.9,
            "config.train.learning_rate": 0.01, "signal.nonfinite_loss.seen": False},
           ("signal.grad_norm.growth_before_onset", "signal.loss.growth_before_onset", "signal.learning_rate.rising_at_onset",
            "signal.learning_rate.at_onset_share", "config.train.learning_rate"), allowed=CLASSES),
    Member("untrained-special-token-embedding",
           {**FALLING, **LADDER, "config.tokenizer.added_tokens": 2, "config.data.uses_chat_template": True, "signal.embedding.seen": True,
            "signal.embedding.special_rows_tiny": True, "signal.embedding.ordinary_rows_tiny": False, "signal.embedding.median_row_rms": 0.4,
            "signal.embedding.special_row_rms_min": 1e-6, "config.model.is_base": True},
           ("signal.embedding.seen", "signal.embedding.special_rows_tiny", "signal.embedding.ordinary_rows_tiny",
            "signal.embedding.median_row_rms", "signal.embedding.special_row_rms_min", "config.tokenizer.added_tokens",
            "config.data.uses_chat_template", "config.model.is_base"), allowed=CLASSES),
    Member("half-precision-norm-layer",
           {**FALLING, **LADDER, "signal.embedding.seen": True, "signal.embedding.special_rows_tiny": False,
            "signal.embedding.ordinary_rows_tiny": True, "signal.embedding.median_row_rms": 0.01, "config.precision_fp16_pure": True},
           ("signal.embedding.seen", "signal.embedding.special_rows_tiny", "signal.embedding.ordinary_rows_tiny",
            "signal.embedding.median_row_rms"), allowed=CLASSES),
    Member("bf16-pretrained-model-in-fp16",
           {**FALLING, "signal.loss_scale.full_ladder": True, "signal.nonfinite_loss.seen": True, "signal.nonfinite_loss.persists": True,
            "signal.nonfinite_loss.from_first_log": True, "config.model.bf16_born": True, "config.model.bf16_born_by_config": True,
            "signal.onset.in_first_steps": True, "signal.onset.lasting": True, "signal.onset.late": False},
           ("config.model.bf16_born", "config.model.bf16_born_by_config"), allowed=CLASSES),
    Member("nonfinite-forward",
           {**FALLING, "signal.loss_scale.below_one": True, "config.model.bf16_born": False, "signal.loss_scale.min": 1e-4, "signal.nonfinite_loss.seen": True,
            "signal.nonfinite_loss.persists": True, "signal.onset.lasting": True, "signal.onset.in_first_steps": True, "signal.onset.late": False},
           ("signal.loss_scale.below_one",), allowed=CLASSES),
    Member("fp16-loss-scale-collapse", {**FALLING, "signal.loss_scale.overflow_share": 0.4, "signal.nonfinite_loss.seen": False},
           ("signal.nonfinite_loss.seen",), allowed=CLASSES),
)  # fmt: skip
GROUP = (
    *(member.cause for member in MEMBERS),
    "batch-too-large-for-fp16-sum",
    "fp16-activation-overflow",
    "fp16-numerical-instability",
)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_a_member_wins_on_its_own_evidence(member):
    assert_wins(member, KINDS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_nobody_is_confidently_wrong_without_the_deciding_fact(member):
    assert_no_confident_error(member, GROUP, KINDS)


def test_a_scale_that_settles_in_its_first_window_is_calibration():
    facts = {
        "config.precision": "fp16", "signal.loss_scale.seen": True, "signal.loss_scale.at_floor": False, "signal.loss_scale.collapsing": False,
        "signal.loss_scale.recovers": True, "signal.loss_scale.overflows": 6, "signal.loss_scale.halvings": 6, "signal.loss_scale.first": 65536.0,
        "signal.loss_scale.last": 1024.0, "signal.loss_scale.min": 1024.0, "signal.loss_scale.first_overflow_step": 1,
        "signal.loss_scale.last_overflow_step": 7, "signal.loss_scale.good_steps_after_last_overflow": 300, "signal.loss.falls": True,
        "signal.loss_scale.overflow_share": 0.02, "signal.nonfinite_loss.seen": False, "signal.nonfinite_grad.harmful": False, "run.rl": False,
    }  # fmt: skip

    ranked = leaders(facts, KINDS)

    assert ranked[0][0] == "fp16-scale-calibration"
    assert all(share < 0.3 for cause, share in ranked[1:])
