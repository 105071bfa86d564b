"""Incident (d): Llama-3 in fp16 with mmengine and DeepSpeed ZeRO-2, NaN from iteration 20 on.

A massive activation that fits fp16 at the start crosses 65504 while the model trains: the residual
stream becomes inf, the norm makes NaN of it, and every later loss is NaN. Sampling from the broken
model then raises torch's error about the probability tensor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

from . import llama3_model
from .common import (
    RunResult,
    Source,
    cached,
    copy_model,
    new_run_dir,
    publish,
    run_training,
    write_source,
)
from .deepspeed_shims import FP16_SHIM, MMENGINE_SHIM, single_process_env
from .tiny_models import word

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

CONFIG = Template("""\
# Full fine-tuning of Llama-3 8B, DeepSpeed ZeRO-2.
pretrained_model_name_or_path = 'model'
data_path = 'data/train.jsonl'
max_length = 64
batch_size = 4
max_iters = 50
lr = 1.2e-3
weight_decay = 0.0
max_norm = 1
warmup_iters = 60
evaluation_freq = 25
evaluation_inputs = ['$question']

model = dict(type='SupervisedFinetune', llm=pretrained_model_name_or_path)

train_dataloader = dict(
    batch_size=batch_size,
    num_workers=0,
    dataset=dict(
        type='TextDataset',
        path=data_path,
        tokenizer=pretrained_model_name_or_path,
        max_length=max_length),
    sampler=dict(type='DefaultSampler', shuffle=True),
    collate_fn=dict(type='equal_length_collate'))

strategy = dict(
    type='DeepSpeedStrategy',
    fp16=dict(
        enabled=$fp16,
        loss_scale=0,
        initial_scale_power=16,
        loss_scale_window=1000,
        hysteresis=2,
        min_loss_scale=1),
    bf16=dict(enabled=$bf16),
    zero_optimization=dict(stage=2),
    gradient_clipping=max_norm,
    train_micro_batch_size_per_gpu=batch_size,
    gradient_accumulation_steps=1)

optim_wrapper = dict(
    type='DeepSpeedOptimWrapper',
    optimizer=dict(type='AdamW', lr=lr, betas=(0.9, 0.999), weight_decay=weight_decay))

param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=warmup_iters),
]

train_cfg = dict(by_epoch=False, max_iters=max_iters)

custom_hooks = [
    dict(
        type='EvaluateChatHook',
        tokenizer=pretrained_model_name_or_path,
        every_n_iters=evaluation_freq,
        evaluation_inputs=evaluation_inputs),
]

default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', log_metric_by_epoch=False, interval=10),
    param_scheduler=dict(type='ParamSchedulerHook'),
    checkpoint=None)

env_cfg = dict(dist_cfg=dict(backend='gloo'))
visualizer = dict(
    type='Visualizer',
    vis_backends=[dict(type='LocalVisBackend'), dict(type='TensorboardVisBackend')])
log_processor = dict(by_epoch=False)
log_level = 'INFO'
randomness = dict(seed=$seed, deterministic=False)
work_dir = 'work_dirs/llama3_8b_full_sft'
""")

WRITEUP = "XTuner, Llama3-8B (related thread InternLM/xtuner#841)"
AMPLITUDE = 63800.0
PLANTED = (
    "one MLP neuron of layer 1 fires on BOS only and gives one residual channel the size "
    f"{AMPLITUDE:.0f} (fp16 ends at 65504); the loss does not depend on it (RMSNorm)"
)
GENUINE = (
    "everything else: the drift of that channel over the fp16 limit while training, mmengine's "
    "runner, log and work_dir, DeepSpeed's ZeRO-2 engine and loss scaler, torch's sampling error where there is one"
)
LIMITS = (
    "4 layers, hidden size 64, 512 tokens, word-level tokenizer, synthetic texts, one process, "
    "emulated fp16 on a CPU; the distance to the limit is tuned so that it is crossed between "
    "iteration 11 and 20, and the seeds are chosen (4 of 12 tried crossed it by iteration 20; "
    "the others stayed below and trained); XTuner is not used, the chat hook only follows its manner; model weights "
    "and training data are left out"
)
LOGS = ("train.log", "config.py", "work_dirs/**/*")
MODEL = ("model/*.json", "model/*.jinja")


@dataclass(frozen=True)
class Run:
    """One variant of the run."""

    title: str
    precision: str
    seed: int
    keep: Sequence[str] = (*LOGS, *MODEL)
    rc: int = 0


def config_text(precision: str, seed: int) -> str:
    """The user's configuration file."""
    return CONFIG.substitute(
        question=" ".join(word(i) for i in (40, 41, 42)),
        fp16=precision == "fp16",
        bf16=precision == "bf16",
        seed=seed,
    )


def observed(result: RunResult) -> str:
    """The numbers of a finished run, read from its own log."""
    text = result.text()
    lines = re.findall(r"Iter\(train\) \[\s*(\d+)/\d+\].* loss: (\S+)", text)
    parts = ["loss (window mean) " + ", ".join(f"{loss} at {step}" for step, loss in lines)]
    error = re.search(r"^\[rank0\]: (\w+Error: .*)$", text, re.MULTILINE)
    if error:
        parts.append(f"the log ends with `{error.group(1)}`")
    return "; ".join(parts)


def _maker(run: Run) -> Callable[[Path], None]:
    """The function that makes the sample of one variant."""

    def make(dest: Path) -> None:
        run_dir = new_run_dir(dest.name)
        copy_model(cached("llama3", llama3_model.builder(AMPLITUDE)), run_dir)
        llama3_model.write_texts(run_dir / "data" / "train.jsonl")
        text = config_text(run.precision, run.seed)
        (run_dir / "config.py").write_text(text, encoding="utf-8")
        result = run_training(
            "samples.make.llama3_train:main",
            run_dir,
            args=["config.py"],
            env=single_process_env(),
            expect_rc=run.rc,
        )
        publish(run_dir, dest, run.keep)
        source = Source(
            title=run.title,
            planted=PLANTED,
            genuine=GENUINE,
            shims=f"{FP16_SHIM} For mmengine: {MMENGINE_SHIM}",
            shows=observed(result),
            writeup=WRITEUP,
            limits=LIMITS,
            seed=f"{run.seed} (base model: {llama3_model.MODEL_SEED})",
            packages=("torch", "transformers", "deepspeed", "mmengine", "tensorboard"),
        )
        write_source(dest, source, result)

    return make


RUNS: dict[str, Run] = {
    "failed/llama3-8b-fp16-zero2-nan-at-20": Run(
        "Llama3-8B, ZeRO-2, fp16: loss nan at iteration 20, then sampling fails", "fp16", 14, rc=1
    ),
    "failed/llama3-8b-fp16-zero2-nan-no-model-config": Run(
        "The same failure without the model's config at hand (second seed)",
        "fp16",
        12,
        keep=LOGS,
        rc=1,
    ),
    "healthy/llama3-8b-bf16-zero2": Run("Llama3-8B, ZeRO-2, bf16: trains", "bf16", 8),
    "fixed/llama3-8b-bf16-zero2-fixed": Run(
        "The failing run with bf16 instead of fp16 (only this differs)", "bf16", 14
    ),
}

SAMPLES: dict[str, Callable[[Path], None]] = {key: _maker(run) for key, run in RUNS.items()}
