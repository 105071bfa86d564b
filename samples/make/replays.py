"""The five incidents and the false alarm once more, with a replay trace beside their logs.

Each run is made as its namesake, by the same maker and seed, with the recorder on (four more lines at the top of
train.py). The recorder saves the first bad step as a capsule; the capsule is run again right afterwards, with
one thing changed at a time. The false alarm keeps what the recorder itself has written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

from . import gemma3, llama3, qwen2, tinyllama, yi
from .common import Addon, with_addon
from .recording import PRELUDE, PRELUDE_BEFORE_COMPILING, make_trace, pack_trace

if TYPE_CHECKING:
    from collections.abc import Callable


def _causal(run_dir: Path, attention: str = "sdpa") -> Any:
    """The run's model with random weights (the capsule brings its own)."""
    config = AutoConfig.from_pretrained(run_dir / "model")
    return AutoModelForCausalLM.from_config(config, attn_implementation=attention, dtype=torch.float32)


def _with_lora(run_dir: Path, model: Any, adapter: Path) -> Any:
    """The model with the run's LoRA layers."""
    keys = json.loads((run_dir / adapter).read_text(encoding="utf-8"))
    return get_peft_model(
        model,
        LoraConfig(
            r=keys["r"],
            lora_alpha=keys["lora_alpha"],
            target_modules=keys["target_modules"],
            task_type="CAUSAL_LM",
        ),
    )


class _Finetune(torch.nn.Module):
    """The model as the mmengine script wraps it."""

    def __init__(self, llm: Any) -> None:
        super().__init__()
        self.llm = llm

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor, **_: str) -> dict[str, torch.Tensor]:
        """The loss of one batch."""
        return {"loss": self.llm(input_ids=input_ids, labels=labels).loss}


def _gemma_decoder(run_dir: Path) -> Any:
    """The decoder that the Gemma script calls, with LoRA; not compiled."""
    base = _causal(run_dir)
    _with_lora(run_dir, base, Path("out/adapter_config.json"))
    return base.model


BUILDERS: dict[str, Callable[[Path], Any]] = {
    "failed/yi-6b-base-loss-scale-floor": _causal,
    "failed/yi-6b-base-loss-scale-floor-logs-only": _causal,
    "failed/qwen2-fp16-sft-loss-zero": _causal,
    "failed/llama3-8b-fp16-zero2-nan-at-20": lambda run_dir: _Finetune(_causal(run_dir)),
    "failed/llama3-8b-fp16-zero2-nan-no-model-config": lambda run_dir: _Finetune(_causal(run_dir)),
    "failed/tinyllama-fp16-unpacked-grad-nan": lambda run_dir: _with_lora(
        run_dir, _causal(run_dir, "eager"), Path("outputs/adapter_config.json")
    ),
    "failed/gemma3-fp16-compiled-backward-nan": _gemma_decoder,
}
RECORDED_ONLY = ("healthy/gemma3-fp16-anomaly-false-alarm",)
MAKERS = yi.SAMPLES | qwen2.SAMPLES | llama3.SAMPLES | tinyllama.SAMPLES | gemma3.SAMPLES


def _maker(key: str) -> Callable[[Path], None]:
    """The maker of one sample with its trace."""

    def after(run_dir: Path) -> str:
        said = f"the recorder was on for the whole run. {pack_trace(run_dir)} "
        if key in RECORDED_ONLY:
            (run_dir / "recorded.parquet").rename(run_dir / "replay.parquet")
            return said + "`replay.parquet` is what the recorder wrote."
        replay = make_trace(run_dir, lambda: BUILDERS[key](run_dir))
        return said + f"`replay.parquet` is the captured step run again on the same CPU: {replay}."

    def make(dest: Path) -> None:
        prelude = PRELUDE_BEFORE_COMPILING if "/gemma3" in key else PRELUDE
        with with_addon(Addon(prelude, after, ("replay.parquet",), "Replay")):
            MAKERS[key](dest)

    return make


SAMPLES: dict[str, Callable[[Path], None]] = {
    f"{key}-with-replay": _maker(key) for key in (*BUILDERS, *RECORDED_ONLY)
}
