"""Faults under the Hugging Face Trainer: tokens, arguments, precision, data, resumption."""

from __future__ import annotations

import numpy as np

from .data import RESUME_AT, write_tokenizer
from .outcomes import breaks_after_good_steps, ends_with, jumps_at, norms_break
from .plan import Plan, ProcessFault

REJECTED: tuple[dict[str, object], ...] = (
    {"evaluation_strategy": "steps"},
    {"save_strategy": "step"},
    {"fp16": True, "bf16": True},
    {"load_best_model_at_end": True, "save_strategy": "steps"},
    {"per_gpu_train_batchsize": 8},
)
"""Arguments that TrainingArguments refuses: a name of an older version, a misspelt value or name, a contradiction."""


def _added_tokens(plan: Plan) -> None:
    added = plan.rng.choice((2, 10, 40))
    plan.settings["model"] = plan.settings["model"] | {
        "vocab_size": plan.settings["model"]["vocab_size"] - added
    }
    write_tokenizer(plan.run_dir / "tokenizer", added=added)
    plan.severity = round(added / 40, 2)
    plan.planted = f"{added} tokens were added to the tokenizer, the embedding was not resized"


def _no_pad_token(plan: Plan) -> None:
    write_tokenizer(plan.run_dir / "tokenizer", pad=False)
    plan.planted = "the tokenizer names no pad token"


def _rejected_argument(plan: Plan) -> None:
    change = plan.rng.choice(REJECTED)
    plan.settings["training"] = plan.settings["training"] | change
    plan.planted = f"training arguments {change}"


def _pure_fp16(plan: Plan) -> None:
    plan.settings["torch_dtype"] = "float16"
    plan.planted = "weights, gradients and Adam's state in float16, epsilon 1e-8"


def _nan_rows(plan: Plan) -> None:
    path = plan.run_dir / "data" / "table.npz"
    with np.load(path) as table:
        values, target = table["values"].copy(), table["target"]
    count = plan.rng.choice((1, 2, 4))
    for _ in range(count):
        values[plan.rng.randrange(len(values)), plan.rng.randrange(values.shape[1])] = np.nan
    np.savez(path, values=values, target=target)
    plan.severity = count / 4
    plan.planted = f"{count} of {len(values)} rows hold a NaN"


def resumed(plan: Plan) -> None:
    """The run goes on from a checkpoint of an earlier launch, with a high constant learning rate."""
    training = plan.settings["training"] | {
        "lr_scheduler_type": "constant",
        "learning_rate": plan.rng.choice((0.02, 0.025, 0.03)),
        "per_device_train_batch_size": 16,
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": RESUME_AT,
    }
    checkpoint = f"output/checkpoint-{RESUME_AT}"
    plan.earlier = plan.settings | {"training": training | {"max_steps": RESUME_AT}}
    plan.settings |= {
        "training": training | {"max_steps": RESUME_AT + 60},
        "resume_from_checkpoint": checkpoint,
    }


def _lose_optimizer(plan: Plan) -> None:
    plan.between = lambda run_dir: (run_dir / "output" / f"checkpoint-{RESUME_AT}" / "optimizer.pt").unlink()
    plan.onset_step = RESUME_AT
    plan.planted = f"optimizer.pt of checkpoint-{RESUME_AT} was deleted before the run was resumed"


TRAINER_FAULTS = (
    ProcessFault(
        "token_beyond_embedding", "vocab-embedding-mismatch", "finetune", _added_tokens,
        ends_with(r"IndexError: index out of range in self"), ("embedding-index-out-of-range",), seconds=9,
    ),
    ProcessFault(
        "pad_token_missing", "pad-token-missing", "finetune", _no_pad_token,
        ends_with(r"Asking to pad but the tokenizer does not have a padding token"), seconds=9,
    ),
    ProcessFault(
        "argument_rejected", "invalid-config-argument", "finetune", _rejected_argument,
        ends_with(r"^(?:TypeError|ValueError): .*"), seconds=7,
    ),
    ProcessFault(
        "pure_fp16_adam", "low-precision-master-weights", "finetune", _pure_fp16, norms_break,
        ("nonfinite-gradients",), seconds=12,
    ),
    ProcessFault(
        "nan_in_data", "bad-input-data", "tabular", _nan_rows, breaks_after_good_steps,
        ("nonfinite-forward", "bad-data-pocket"), seconds=9,
    ),
    ProcessFault(
        "optimizer_state_lost", "optimizer-state-not-restored", "finetune", _lose_optimizer, jumps_at(RESUME_AT),
        ("scheduler-state-not-restored",), setup=resumed, seconds=16,
    ),
)  # fmt: skip
