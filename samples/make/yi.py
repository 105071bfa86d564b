"""Incident (b): a base model whose chat marker embeddings were never trained, in fp16.

Rows far below the smallest fp16 number become exact zeros. The residual stream of the first token
is then zero, every RMSNorm backward multiplies its gradient by up to 1/sqrt(eps), the gradient
overflows at every loss scale, and DeepSpeed halves the scale until it may not go lower.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import yi_model
from .common import (
    RunResult,
    Source,
    cached,
    copy_model,
    new_run_dir,
    publish,
    run_training,
    write_source,
    write_yaml,
)
from .deepspeed_shims import FP16_SHIM, launcher_env
from .tiny_models import cut_down_safetensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

WRITEUP = "01-ai/Yi#285 (Yi-6B base against Yi-6B-Chat, DeepSpeed fp16)"
GENUINE = (
    "everything else: the DeepSpeed launcher and engine, ZeRO stage 2, the dynamic loss scaler and "
    "its decisions, any exception with its traceback, TensorBoard and CSV monitor files"
)
LIMITS = (
    "8 layers, hidden size 64, 512 tokens, a word-level tokenizer, synthetic dialogues, one "
    "process, emulated fp16 on a CPU; `model/model.safetensors` is cut down to the embedding and "
    "the final norm after the run (bytes unchanged), and the training data are left out"
)
MINIMUM = "Current loss scale already at minimum"
PACKAGES = ("torch", "transformers", "deepspeed", "tensorboard")
LOGS = ("train.log", "train_config.yaml", "ds_config.json", "monitor/**/*")
MODEL = ("model/*",)


@dataclass(frozen=True)
class Run:
    """One variant of the run: what differs from the failing one, and what to say about it."""

    title: str
    planted: str
    note: str = ""
    rows: float | None = 1e-8  # size of the chat marker rows; None: the chat model
    precision: str = "fp16"
    reinit: bool = False
    seed: int = 42
    steps: int = 60
    log_level: str | None = "info"
    keep: Sequence[str] = (*LOGS, *MODEL)
    rc: int = 0


def ds_config(precision: str, scale_power: int = 16) -> dict[str, Any]:
    """The user's DeepSpeed configuration: ZeRO-2, AdamW with warm-up, both file monitors."""
    if precision == "fp16":
        mixed: dict[str, Any] = {
            "fp16": {
                "enabled": True,
                "loss_scale": 0,
                "initial_scale_power": scale_power,
                "loss_scale_window": 1000,
                "hysteresis": 2,
                "min_loss_scale": 1,
            }
        }
    else:
        mixed = {"bf16": {"enabled": True}}
    warmup = {"warmup_min_lr": 0, "warmup_max_lr": 1e-4, "warmup_num_steps": 10}
    return {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 1,
        "steps_per_print": 10,
        **mixed,
        "zero_optimization": {"stage": 2},
        "gradient_clipping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}},
        "scheduler": {"type": "WarmupLR", "params": warmup},
        "tensorboard": {"enabled": True, "output_path": "monitor/tensorboard", "job_name": "sft"},
        "csv_monitor": {"enabled": True, "output_path": "monitor/csv", "job_name": "sft"},
    }


def train_config(**changes: Any) -> dict[str, Any]:
    """The user's own configuration file."""
    return {
        "model_name_or_path": "model",
        "train_file": "data/train.jsonl",
        "deepspeed": "ds_config.json",
        "attn_implementation": "sdpa",
        "max_seq_length": 128,
        "max_steps": 60,
        "reinit_special_tokens": False,
        "log_level": "info",
        "seed": 42,
    } | changes


def launch(run_dir: Path, model: Path, ds: dict[str, Any], train: dict[str, Any], rc: int) -> RunResult:
    """Write the inputs of a run and start it with the `deepspeed` launcher."""
    copy_model(model, run_dir)
    yi_model.write_dialogues(run_dir / "data" / "train.jsonl")
    (run_dir / "ds_config.json").write_text(json.dumps(ds, indent=2) + "\n", encoding="utf-8")
    write_yaml(run_dir / "train_config.yaml", train)
    result = run_training(
        "samples.make.yi_train:main",
        run_dir,
        launcher=["deepspeed", "--num_gpus", "1"],
        env=launcher_env(),
        expect_rc=rc,
    )
    cut_down_safetensors(run_dir / "model" / "model.safetensors")
    return result


def observed(result: RunResult) -> str:
    """The numbers of a finished run, read from its own log."""
    text = result.text()
    losses = re.findall(r"^step (\d+)/\d+ loss: (\S+)", text, re.MULTILINE)
    scales = re.findall(r"reducing to (\d+)$", text, re.MULTILINE)
    parts = [f"loss {losses[0][1]} at step 1, {losses[-1][1]} at step {losses[-1][0]}"]
    parts.append(f"{text.count('OVERFLOW!')} OVERFLOW lines")
    if scales:
        before = text[: text.rindex("OVERFLOW!")]
        last = len(re.findall(r"^step \d+/", before, re.MULTILINE))
        parts.append(f"the last one in step {last}, leaving a loss scale of {scales[-1]}")
    if MINIMUM in text:
        parts.append(f"the run ends with `{MINIMUM}`")
    return "; ".join(parts)


def base_model(rows: float | None) -> Path:
    """The cached checkpoint: base with marker rows of that size, or chat."""
    if rows is None:
        return cached("yi-chat", yi_model.build_chat)
    return cached(f"yi-base-{rows:.0e}", yi_model.base_builder(rows))


def _maker(run: Run) -> Callable[[Path], None]:
    """The function that makes the sample of one variant."""

    def make(dest: Path) -> None:
        run_dir = new_run_dir(dest.name)
        train = train_config(
            max_steps=run.steps,
            reinit_special_tokens=run.reinit,
            log_level=run.log_level,
            seed=run.seed,
        )
        result = launch(run_dir, base_model(run.rows), ds_config(run.precision), train, run.rc)
        publish(run_dir, dest, run.keep)
        source = Source(
            title=run.title,
            planted=run.planted,
            genuine=GENUINE,
            shims=FP16_SHIM,
            shows=observed(result) + run.note,
            writeup=WRITEUP,
            limits=LIMITS,
            seed=f"{run.seed} (base model: 0, marker rows: 5)",
            packages=PACKAGES,
        )
        write_source(dest, source, result)

    return make


TINY_ROWS = (
    "the embedding rows of `<|im_start|>` and `<|im_end|>` are set to 1e-8 x normal after the "
    "pretraining that never used them (below 6e-8, so zero in fp16)"
)
NOTHING = "nothing: "

RUNS: dict[str, Run] = {
    "failed/yi-6b-base-loss-scale-floor": Run(
        "Yi-6B base, DeepSpeed fp16: the loss scale falls to its minimum", TINY_ROWS, rc=1
    ),
    "failed/yi-6b-base-loss-scale-floor-logs-only": Run(
        "The same failure with only the logs at hand (second seed)",
        TINY_ROWS + "; the model folder is left out of the sample",
        seed=7,
        keep=LOGS,
        rc=1,
    ),
    "failed/yi-6b-base-loss-scale-floor-quiet": Run(
        "The same failure at DeepSpeed's default log level (third seed)",
        TINY_ROWS,
        note="; no OVERFLOW line is logged at this level, only the monitors hold the loss scale",
        seed=11,
        log_level=None,
        rc=1,
    ),
    "healthy/yi-6b-chat-fp16": Run(
        "Yi-6B chat, DeepSpeed fp16: trains",
        NOTHING + "this checkpoint was trained on dialogues, its marker rows are as large as any",
        rows=None,
    ),
    "healthy/yi-6b-base-bf16": Run(
        "Yi-6B base with the tiny rows, bf16: trains", TINY_ROWS, precision="bf16", seed=5
    ),
    "healthy/yi-6b-rows-1e-6-recovers": Run(
        "Yi-6B base with rows of 1e-6: the scale falls, then training goes on",
        "the same two rows at 1e-6 x normal: small, but not zero in fp16",
        rows=1e-6,
        seed=3,
        steps=100,
    ),
    "fixed/yi-6b-rows-reinitialised-fp16": Run(
        "The failing run with the two rows re-initialised (only this key differs)",
        TINY_ROWS + "; the training script then sets them to the mean row (`reinit_special_tokens: true`)",
        reinit=True,
    ),
}

SAMPLES: dict[str, Callable[[Path], None]] = {key: _maker(run) for key, run in RUNS.items()}
