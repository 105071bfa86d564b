"""Look-alike group 1: the gradient norm is NaN at the first logged step."""

from __future__ import annotations

import pytest
from look_alikes import Member, assert_no_confident_error, assert_wins

KINDS = ("numerical_breakdown",)
NORM_NAN = {
    "signal.nonfinite_grad.seen": True, "signal.nonfinite_grad.from_first_log": True, "signal.nonfinite_grad.harmful": True,
    "signal.nonfinite_grad.share": 1.0, "signal.nonfinite_grad.share_after_onset": 1.0, "signal.onset.in_first_steps": True,
    "signal.onset.lasting": True, "signal.onset.step": 1, "signal.onset.after_healthy_stretch": False, "signal.onset.late": False,
    "signal.loss.points": 60, "run.rl": False,
}  # fmt: skip
LOSS_SOUND = {"signal.nonfinite_grad.with_finite_loss": True, "signal.nonfinite_loss.seen": False}
LOSS_NAN = {
    "signal.nonfinite_grad.with_finite_loss": False, "signal.nonfinite_loss.seen": True, "signal.nonfinite_loss.persists": True,
    "signal.nonfinite_loss.share": 1.0, "signal.nonfinite_loss.from_first_log": True,
}  # fmt: skip
BASELINE = {"compare.baseline.given": True, "compare.baseline.healthy": True}
CLASSES = ("nonfinite-gradients", "nonfinite-forward")

MEMBERS = (
    Member("poisoned-checkpoint",
           {**NORM_NAN, **LOSS_NAN, "config.train.resumed": True, "signal.checkpoint.nonfinite_elements": 4096, "config.precision": "bf16"},
           ("signal.checkpoint.nonfinite_elements", "config.train.resumed"), allowed=CLASSES),
    Member("bf16-pretrained-model-in-fp16",
           {**NORM_NAN, **LOSS_NAN, "config.precision": "fp16", "config.model.bf16_born": True, "config.model.bf16_born_by_config": True,
            "config.uses_loss_scaler": True},
           ("config.model.bf16_born", "config.model.bf16_born_by_config", "config.precision"), allowed=CLASSES),
    Member("packing-without-block-mask",
           {**NORM_NAN, **LOSS_SOUND, "config.precision": "bf16", "config.data.packing": True, "config.model.attention": "flash",
            **BASELINE, "compare.baseline.differs_in_packing": True, "compare.baseline.only_difference": "data.packing"},
           ("compare.baseline.given", "compare.baseline.healthy", "compare.baseline.differs_in_packing", "compare.baseline.only_difference",
            "config.data.packing"), allowed=CLASSES),
    Member("attention-kernel-bug",
           {**NORM_NAN, **LOSS_SOUND, "config.precision": "bf16", "config.model.attention": "sdpa",
            **BASELINE, "compare.baseline.differs_in_attention": True, "compare.baseline.only_difference": "model.attention"},
           ("compare.baseline.given", "compare.baseline.healthy", "compare.baseline.differs_in_attention", "compare.baseline.only_difference"),
           allowed=CLASSES),
    Member("unsafe-math-gradient",
           {**NORM_NAN, **LOSS_SOUND, "config.precision": "fp32", "signal.anomaly.seen": True, "signal.anomaly.false_alarm": False,
            "signal.anomaly.unsafe_math": True, "signal.anomaly.compiled": False, "signal.anomaly.function": "SqrtBackward0"},
           ("signal.anomaly.seen", "signal.anomaly.unsafe_math", "signal.anomaly.function"), allowed=CLASSES),
    Member("zero-stage-bug",
           {**NORM_NAN, **LOSS_SOUND, "config.precision": "bf16", "config.zero.stage": 2, "config.zero.overlap_comm": True, "run.deepspeed": True,
            **BASELINE, "compare.baseline.differs_in_zero_stage": True, "compare.baseline.only_difference": "zero.stage"},
           ("compare.baseline.given", "compare.baseline.healthy", "compare.baseline.differs_in_zero_stage", "compare.baseline.only_difference"),
           allowed=CLASSES),
    Member("context-parallel-empty-rank",
           {**NORM_NAN, **LOSS_SOUND, "config.precision": "bf16", "config.parallel.context": 4, "config.data.packing": False,
            "config.data.masks_prompt": True, **BASELINE, "compare.baseline.only_difference": "parallel.context"},
           ("config.parallel.context", "compare.baseline.given", "compare.baseline.healthy", "compare.baseline.only_difference"), allowed=CLASSES),
    Member("nonfinite-gradients", {**NORM_NAN, **LOSS_SOUND, "config.precision": "bf16"},
           ("signal.nonfinite_grad.with_finite_loss", "signal.nonfinite_loss.seen"), allowed=CLASSES),
    Member("nonfinite-forward", {**NORM_NAN, **LOSS_NAN, "config.precision": "bf16"},
           ("signal.nonfinite_grad.with_finite_loss",), allowed=CLASSES),
)  # fmt: skip
GROUP = (*(member.cause for member in MEMBERS), "labels-all-ignored", "learning-rate-too-high")


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_a_member_wins_on_its_own_evidence(member):
    assert_wins(member, KINDS)


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.cause)
def test_nobody_is_confidently_wrong_without_the_deciding_fact(member):
    assert_no_confident_error(member, GROUP, KINDS)


def test_a_bf16_model_whose_precision_nobody_stated_is_not_accused():
    facts = {**NORM_NAN, **LOSS_NAN, "config.model.bf16_born": True, "config.model.bf16_born_by_config": True}

    assert_no_confident_error(Member("nonfinite-forward", facts), GROUP, KINDS)
