"""Look-alike group 4: the loss is exactly 0.0."""

from __future__ import annotations

import pytest
from look_alikes import Member, assert_no_confident_error, assert_wins, leaders

ZERO = {"signal.loss_zero.seen": True, "signal.loss_zero.share": 0.9, "signal.loss.points": 60}
NO_GRADIENT = {
    "signal.loss_zero.with_zero_grad": True, "signal.loss_zero.with_finite_grad": False, "signal.loss_zero.masks_nan": False,
    "signal.grad_norm.zero_share": 0.9, "signal.nonfinite_loss.seen": False, "signal.nonfinite_grad.seen": False,
}  # fmt: skip
GRADIENT = {
    "signal.loss_zero.with_zero_grad": False, "signal.loss_zero.with_finite_grad": True, "signal.loss_zero.masks_nan": False,
    "signal.nonfinite_loss.seen": False, "signal.grad_norm.zero_share": 0.0,
}  # fmt: skip
MASKED = {
    "signal.loss_zero.with_zero_grad": False, "signal.loss_zero.with_finite_grad": False, "signal.loss_zero.masks_nan": True,
    "signal.nonfinite_loss.seen": True, "signal.nonfinite_loss.masked": True, "signal.nonfinite_loss.persists": True,
    "signal.nonfinite_grad.seen": True, "signal.nonfinite_grad.harmful": True, "signal.nonfinite_grad.with_finite_loss": False,
    "signal.onset.in_first_steps": True, "signal.onset.lasting": True, "run.rl": False,
}  # fmt: skip
TEMPLATE = {"event.tokenization_mismatch.seen": True, "event.tokenization_mismatch.count": 40}

MEMBERS = (
    (("numerical_breakdown",), Member("labels-all-ignored", {**ZERO, **NO_GRADIENT, "run.rl": False, "run.hf_trainer": True},
                                      ("signal.loss_zero.with_zero_grad", "signal.loss_zero.with_finite_grad", "signal.grad_norm.zero_share"))),
    (("plateau",), Member("chat-template-mismatch",
                          {**ZERO, **NO_GRADIENT, **TEMPLATE, "event.tokenization_mismatch.counted": 205,
                           "event.tokenization_mismatch.total": 212, "config.tokenizer.pad_token_missing": False, "run.rl": False},
                          ("event.tokenization_mismatch.counted", "event.tokenization_mismatch.total"))),
    (("plateau",), Member("pad-token-missing",
                          {**ZERO, **NO_GRADIENT, **TEMPLATE, "event.tokenization_mismatch.counted": 211,
                           "event.tokenization_mismatch.total": 212, "config.tokenizer.pad_token_missing": True, "run.rl": False},
                          ("event.tokenization_mismatch.counted", "event.tokenization_mismatch.total"), allowed=("chat-template-mismatch",))),
    (("numerical_breakdown",), Member("nonfinite-forward", {**ZERO, **MASKED, "config.precision": "bf16", "run.hf_trainer": True},
                                      ("config.precision",))),
    (("numerical_breakdown",), Member("bf16-pretrained-model-in-fp16",
                                      {**ZERO, **MASKED, "config.precision": "fp16", "config.model.bf16_born": True,
                                       "config.model.bf16_born_by_config": True, "run.hf_trainer": True},
                                      ("config.model.bf16_born", "config.model.bf16_born_by_config"), allowed=("nonfinite-forward",))),
    (("numerical_breakdown",), Member("grpo-zero-loss", {**ZERO, **GRADIENT, "run.rl": True, "signal.rl.no_reward_signal": False},
                                      ("signal.loss_zero.with_finite_grad",))),
    (("plateau", "numerical_breakdown"), Member("rl-bad-reward-model",
                                                {**ZERO, **NO_GRADIENT, "run.rl": True, "signal.rl.no_reward_signal": True,
                                                 "signal.rl.reward_last": 0.0},
                                                ("signal.rl.no_reward_signal",))),
)  # fmt: skip
GROUP = tuple(member.cause for _, member in MEMBERS)
IDS = list(GROUP)


@pytest.mark.parametrize(("kinds", "member"), MEMBERS, ids=IDS)
def test_a_member_wins_on_its_own_evidence(kinds, member):
    assert_wins(member, kinds)


@pytest.mark.parametrize(("kinds", "member"), MEMBERS, ids=IDS)
def test_nobody_is_confidently_wrong_without_the_deciding_fact(kinds, member):
    assert_no_confident_error(member, GROUP, kinds)


def test_a_policy_with_positive_gradients_raises_no_alarm():
    ranked = leaders(
        {
            **ZERO,
            **GRADIENT,
            "run.rl": True,
            "signal.rl.no_reward_signal": False,
            "signal.rl.reward_rises": True,
        }
    )

    assert [cause for cause, share in ranked if share >= 0.3] == ["grpo-zero-loss"]
