"""Canonical metric names: many spellings, one name; the original is kept beside the points."""

from __future__ import annotations

import re
from functools import lru_cache

_ALIASES: dict[str, tuple[str, ...]] = {
    "loss": (
        "loss",
        "train_loss",
        "train/loss",
        "lm_loss",
        "lm loss",
        "train_loss_step",
        "training_loss",
        "batch_loss",
        "train_batch_loss",
        "loss/train",
        "losses/train",
        "total_loss",
        "epoch_loss",
        "step_loss",
        "nll_loss_step",
        "loss_step",
        "avg_loss",
        "mean_loss",
        "running_loss",
        "reduced_train_loss",
        "global_avg_loss",
        "loss_metrics/global_avg_loss",
        "learning/loss",
        "model_loss",
        "ce_loss",
        "cross_entropy",
        "lm_loss_value",
    ),
    "train_loss_mean": ("train/train_loss", "train_loss_mean"),
    "eval_loss": (
        "eval_loss",
        "val_loss",
        "valid_loss",
        "validation_loss",
        "eval/loss",
        "val/loss",
        "valid/loss",
        "validation/loss",
        "val_loss_epoch",
        "validation_loss_epoch",
        "test_loss",
        "test/loss",
        "loss/val",
        "loss/eval",
        "loss/valid",
        "eval_lm_loss",
        "lm loss validation",
        "dev_loss",
    ),
    "grad_norm": (
        "grad_norm",
        "gradient_norm",
        "grad-norm",
        "grad norm",
        "gnorm",
        "total_norm",
        "global_grad_norm",
        "gradnorm",
        "grad_norm_total",
        "grad_2.0_norm_total",
        "norm",
        "gradient norm",
        "grad_l2_norm",
        "global_norm",
        "total_grad_norm",
        "learning/grad_norm",
        "grad_norm/total",
    ),
    "learning_rate": (
        "learning_rate",
        "lr",
        "learning-rate",
        "learning rate",
        "lr_group_0",
        "lr-adamw",
        "lr/pg1",
        "lr-0",
        "lr_0",
        "learning/current_learning_rate",
        "base_lr",
        "optim/lr",
        "lr/group0",
        "current_lr",
    ),
    "loss_scale": (
        "loss_scale",
        "loss-scale",
        "loss scale",
        "loss_scaler",
        "scale",
        "grad_scale",
        "amp_scale",
        "scaler/scale",
        "cur_scale",
        "loss_scaler_scale",
        "fp16_scale",
    ),
    "skipped_steps": ("skipped_steps", "skipped", "skipped_iters", "number of skipped iterations"),
    "nan_iterations": ("number of nan iterations",),
    "accuracy": ("accuracy", "acc", "train_accuracy", "train/acc"),
    "eval_accuracy": ("eval_accuracy", "val_accuracy", "val_acc", "valid_acc", "eval/accuracy"),
    "step_time_s": ("step_time", "iteration-time", "iter_time", "time_per_step", "step_time_s"),
    "step_time_ms": ("elapsed time per iteration (ms)", "iteration_time_ms"),
    "epoch": ("epoch",),
    "perplexity": ("perplexity", "ppl"),
    "weight_norm": ("params-norm", "params norm", "weight_norm", "param_norm"),
    "num_zeros": ("num zeros", "num-zeros"),
}

_EXACT = {alias: name for name, aliases in _ALIASES.items() for alias in aliases}

# Prefixes that trackers add in front of a trainer's own name; stripped until nothing changes.
_PREFIX = re.compile(
    r"^(?:train/samples|train|training|trainer|train_metrics|global|scalars|metrics|optim|opt|misc|debug)[/.]"
)
_EVAL_PREFIX = re.compile(
    r"^(?:train/samples|train|training|trainer|train_metrics|global|scalars|metrics|optim|opt|misc|debug)[/.]"
)


@lru_cache(maxsize=4096)
def canonical_metric(name: str) -> str:
    """Canonical name of a logged metric; the lower-cased name itself if it has no canonical one.

    ``train/train_loss`` is the mean that HF Trainer logs once at its end, not a point of the loss curve.

    >>> canonical_metric("train/grad_norm"), canonical_metric("Train/Samples/train_loss")
    ('grad_norm', 'loss')
    >>> canonical_metric("eval/loss"), canonical_metric("rewards/chosen")
    ('eval_loss', 'rewards/chosen')
    """
    text = name.strip()
    lowered = text.lower()
    if lowered in _EXACT:
        return _EXACT[lowered]
    stripped = lowered
    while (shorter := _PREFIX.sub("", stripped, count=1)) != stripped:
        stripped = shorter
    if stripped in _EXACT:
        return _EXACT[stripped]
    bare = _EVAL_PREFIX.sub("", lowered, count=1)
    if bare != lowered and _EXACT.get(bare) in {"loss", "accuracy"}:
        return f"eval_{_EXACT[bare]}"
    return lowered
