"""Runs that emit every fact of ``signal.order``, ``.data``, ``.split``, ``.start`` and of reinforcement learning."""

from __future__ import annotations

import numpy as np
from make_run import RunMaker, falling


def shards_in_order() -> RunMaker:
    """Four epochs of 100 steps; each begins with easy records and ends with hard ones."""
    wave = np.tile(np.linspace(0.0, 1.0, 100), 4)
    maker = RunMaker().log({"loss": 2.0 + wave, "learning_rate": [1e-3] * 400, "epoch": np.arange(400) / 100})
    maker.config("model", path="model/config.json", vocab_size=1000, max_position_embeddings=512)
    return maker


def classifier() -> RunMaker:
    """A classifier that names the largest class only, with statistics of its inputs."""
    maker = RunMaker().log(
        {"loss": falling(40), "mask_loss": [0.0] * 40, "loss_cls": [90.0] * 40, "epoch": np.arange(40) / 50}
    )
    rows = {"eval_loss": [2.0, 1.2, 1.0], "eval_accuracy": [0.9] * 3, "eval_f1": [0.3] * 3}
    maker.log(rows, steps=[10, 20, 40], lines=[101, 201, 401])
    maker.event("unknown_tokens", line=2, role="info", percent=62.0)
    maker.event("labelled_objects_none", line=2, role="info", evaluated=True)
    maker.event("padding_share", line=3, role="info", share=0.8)
    maker.event("input_range", line=4, role="info", low=0.0, high=255.0)
    names = "'model.layers.0.mlp.up_proj.weight'"
    maker.event("weights_newly_initialized", line=5, role="info", names=names)
    return maker


def detector_with_nan() -> RunMaker:
    """Box and object losses that are NaN from the first row on, without a total."""
    return RunMaker().log({"box_loss": [float("nan")] * 3, "obj_loss": [float("nan")] * 3})


def detector_with_one_bad_term() -> RunMaker:
    """A box loss that is NaN throughout while objects are learned and found."""
    maker = RunMaker().log({"box_loss": [float("nan")] * 3, "obj_loss": [0.5, 0.4, 0.3]})
    return maker.log({"val/map50": [0.5]})


def detector_that_finds_nothing() -> RunMaker:
    """Epochs 11 to 13 of a detector without one object found."""
    maker = RunMaker("ultralytics").log({"box_loss": [0.5, 0.4, 0.3], "epoch": [11.0, 12.0, 13.0]})
    return maker.log({"val/map50": [0.0] * 3})


def detector_that_is_only_evaluated() -> RunMaker:
    """One evaluation, of which the table of classes holds zeros only."""
    maker = RunMaker().log({"val/map50": [0.0], "val/acc": [0.05], "eval_loss": [9.5]}, steps=[None])
    return maker.event("class_scores", role="info", metric="ap", classes=3, at_zero=3, best=0.0, without_error=0, without_samples=1, names="cup")  # fmt: skip


def test_below_validation() -> RunMaker:
    """A test of which half is right after a validation of which all is, and losses of two players that leap."""
    losses = {"gen_loss": [4.0, 684.0], "adversarial_loss": [0.8, 273.0]}
    maker = RunMaker().log(
        {
            "epoch/train_loss": [0.7, 0.6, 0.5],
            "eval_loss": [0.8, 0.7, 0.6],
            "acc_src": [0.9] * 3,
            "acc_tgt": [0.8, 0.5, 0.4],
        }
    )
    return maker.log({**losses, "val_acc": [0.5, 1.0]}).log({"test_accuracy": [0.25, 0.5]})


def tokens_none_right() -> RunMaker:
    """A perplexity of a good model beside an accuracy of 0."""
    return RunMaker().log({"perplexity": falling(6, 4.0, 3.0), "accuracy": [0.0] * 6})


def policy() -> RunMaker:
    """A policy that leaves its reference while reward, one of its parts and the held-out score part."""
    kl = [0.01] * 10 + [-0.5] * 10 + [50.0] * 20
    maker = RunMaker("trl").log(
        {
            "reward_mean": np.linspace(0.1, 2.0, 40),
            "reward_std": [0.3] * 40,
            "rewards/format/mean": np.linspace(0.1, 1.9, 40),
            "rewards/answer/mean": np.linspace(0.9, 0.1, 40),
            "kl": kl,
            "entropy": np.linspace(2.0, 0.01, 40),
            "clip_fraction": [0.4] * 40,
            "win_rate": np.linspace(0.9, 0.0, 40) ** 2,
            "explained_variance": [0.0] * 40,
            "completion_length_mean": np.linspace(100, 400, 40),
            "completion_clipped_share": [0.6] * 40,
            "sampling/sampling_logp_difference/mean": np.linspace(0.01, 0.9, 40),
        }
    )
    maker.log(
        {"eval_reward": [0.5, 0.6, 0.3, 0.2, 0.1]}, steps=[1, 10, 20, 30, 40], lines=[2, 102, 202, 302, 402]
    )
    maker.config(use_vllm=True, num_iterations=2, rollout__top_p=0.9, rollout__temperature=0.7, kl_coef=0.05)
    return maker


def precision_of_fp8() -> RunMaker:
    """Transformer Engine with an mxfp8 recipe."""
    maker = (
        RunMaker("megatron")
        .log({"loss": falling(30)})
        .config("megatron", bf16=True, fp8_format="hybrid", fp8_recipe="mxfp8", no_half_vae=True)
    )
    return maker.config("versions", path="requirements.txt", transformer_engine="2.4.0")


RUNS = (
    detector_with_nan,
    detector_with_one_bad_term,
    detector_that_finds_nothing,
    detector_that_is_only_evaluated,
    test_below_validation,
    tokens_none_right,
    shards_in_order,
    classifier,
    policy,
    precision_of_fp8,
)
