"""A benign look-alike of incident (b): fp16 loss scale calibration at the start of a healthy run.

The configured first loss scale is far too high, so the first steps overflow and are skipped while
the scale falls to where it belongs. Then the run trains, and the loss falls. An analyzer that
counts OVERFLOW lines alone would call this a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import yi
from .common import Source, cached, new_run_dir, publish, write_source
from .deepspeed_shims import FP16_SHIM
from .tiny_models import llama, save_published
from .yi_model import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEED = 13
SCALE_POWER = 28
STEPS = 120


def build(path: Path) -> None:
    """A freshly initialised model: all of its embedding rows are of one size."""
    torch.manual_seed(2)
    save_published(llama(layers=4, rms_norm_eps=1e-5), tokenizer(), path, torch.bfloat16)


def make(dest: Path) -> None:
    """Train a fresh model in fp16 from a loss scale of 2**SCALE_POWER."""
    run_dir = new_run_dir(dest.name)
    config = yi.ds_config("fp16", SCALE_POWER)
    config["train_micro_batch_size_per_gpu"] = 8
    config["optimizer"]["params"]["lr"] = 2e-3
    config["scheduler"]["params"] |= {"warmup_max_lr": 2e-3, "warmup_num_steps": 20}
    train = yi.train_config(max_steps=STEPS, seed=SEED)
    result = yi.launch(run_dir, cached("fresh-llama", build), config, train, rc=0)
    publish(run_dir, dest, (*yi.LOGS, *yi.MODEL))
    source = Source(
        title="DeepSpeed fp16 with a first loss scale that is too high: calibration, then training",
        planted=f"nothing but the setting `initial_scale_power: {SCALE_POWER}`",
        genuine=yi.GENUINE,
        shims=FP16_SHIM,
        shows=yi.observed(result),
        writeup="none: the benign look-alike of 01-ai/Yi#285",
        limits=yi.LIMITS.replace("8 layers", "4 layers"),
        seed=f"{SEED} (model: 2)",
        packages=yi.PACKAGES,
    )
    write_source(dest, source, result)


SAMPLES: dict[str, Callable[[Path], None]] = {"healthy/deepspeed-fp16-warmup-overflows": make}
