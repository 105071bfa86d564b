"""Incident: TinyLlama LoRA in fp16, fine with packing, grad_norm nan without it.

The cause: an attention row in which every key is masked (a padded query on the left). In eager
attention the additive fp16 mask is -65504; a score of -16 or less on top of it rounds to -inf,
the softmax of an all -inf row is NaN. Such rows carry no label, so the loss stays finite, but the
backward pass multiplies 0 by NaN, and GradScaler skips the step. Packing leaves no padded row.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .common import (
    Source,
    cached,
    copy_model,
    new_run_dir,
    publish,
    run_training,
    trainer_summary,
    write_source,
    write_yaml,
)
from .tiny_models import FIRST_WORD, MarkovData, llama, make_tokenizer, pretrain, save_published

if TYPE_CHECKING:
    from collections.abc import Callable

    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

SCRIPT = Path(__file__).with_name("tinyllama_train.py")
GAIN = 16.0  # sets the planted head's score between two padded positions: -128 to -155
PAD = 0
STYLE_WORDS = 8  # every fifth word of an answer is one of these: what there is to learn
PROMPT_WORDS = 4  # words of each example that are prompt, not completion

CONFIG: dict[str, Any] = {
    "model_name_or_path": "model",
    "attn_implementation": "eager",
    "padding_side": "left",
    "dataset": "train.jsonl",
    "lora_r": 8,
    "lora_alpha": 16,
    "lora_target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "output_dir": "outputs",
    "fp16": True,
    "bf16": False,
    "packing": False,
    "packing_strategy": "wrapped",
    "max_length": 64,
    "completion_only_loss": True,
    "gradient_checkpointing": False,
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 1,
    "learning_rate": 2.0e-3,
    "lr_scheduler_type": "linear",
    "warmup_steps": 5,
    "max_steps": 100,
    "max_grad_norm": 1.0,
    "optim": "adamw_torch",
    "weight_decay": 0.01,
    "logging_steps": 1,
    "save_strategy": "no",
    "report_to": ["tensorboard"],
    "use_cpu": True,
    "seed": 3407,
}

KEEP = (
    "train.log",
    "train.py",
    "train_config.yaml",
    "outputs/trainer_state.json",
    "outputs/adapter_config.json",
    "outputs/runs/*/events.out.tfevents.*",
    "model/config.json",
    "model/tokenizer*.json",
)


def _tokenizer() -> PreTrainedTokenizerFast:
    """TinyLlama's special tokens; padding uses <unk>, as Unsloth sets it."""
    special = {"<unk>": PAD, "<s>": 1, "</s>": 2}
    return make_tokenizer(special, bos="<s>", eos="</s>", pad="<unk>")


def _attention_inputs(model: LlamaForCausalLM, ids: torch.Tensor) -> torch.Tensor:
    """The hidden states that the last layer's attention reads, one row per token."""
    seen: list[torch.Tensor] = []

    def keep(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.append(kwargs["hidden_states"] if "hidden_states" in kwargs else args[0])

    attention = model.model.layers[-1].self_attn
    hook = attention.register_forward_pre_hook(keep, with_kwargs=True)
    with torch.no_grad():
        model(input_ids=ids)
    hook.remove()
    return seen[0].detach().reshape(-1, seen[0].shape[-1])


def _plant_head(model: LlamaForCausalLM) -> None:
    """Make head 0 of the last layer score padded queries strongly negative.

    Its query reads the direction that only the pad token has; its key reads channel 0, the
    large component that all tokens share. Real text is left alone (its query reads zero).
    """
    pad = _attention_inputs(model, torch.full((1, 16), PAD))
    text = _attention_inputs(model, MarkovData(16, 64, seed=4).stacked())
    rows = torch.cat([pad, text])
    wanted = torch.cat([torch.ones(len(pad)), torch.zeros(len(text))])
    ridge = rows.T @ rows + 0.5 * torch.eye(rows.shape[1])
    direction = torch.linalg.solve(ridge, rows.T @ wanted)
    attention = model.model.layers[-1].self_attn
    slowest = attention.head_dim // 2 - 1  # the rotary pair that position hardly turns
    with torch.no_grad():
        attention.q_proj.weight[slowest] = direction / (pad @ direction).mean() * GAIN
        attention.k_proj.weight[slowest] = 0
        attention.k_proj.weight[slowest, 0] = -GAIN / text[:, 0].mean()


def _build_base(path: Path) -> None:
    """Pretrain the tiny Llama, then plant the head and an ordinary (not zero) pad row."""
    torch.manual_seed(0)
    model = llama(layers=3, attn_implementation="eager")
    embedding = model.get_input_embeddings().weight
    with torch.no_grad():
        embedding[:, 0] = 0.4  # a channel that all tokens share, as real models have
    pretrain(model, MarkovData(256, 64).stacked())
    with torch.no_grad():
        embedding[PAD] = embedding[3:60].mean(0) * 4
    _plant_head(model)
    save_published(model, _tokenizer(), path, torch.float32)


def _examples() -> list[torch.Tensor]:
    """1000 examples of uneven length that fill the packed blocks exactly.

    The last packed block would otherwise be a short one, padded in its batch, and so give the
    packed run the very fault that packing hides (seen: one step with loss 0, grad_norm nan).
    """
    rows = MarkovData(1000, 63, seed=4, varlen=True).rows
    spare = sum(len(row) + 1 for row in rows) % CONFIG["max_length"]  # 1: the end token
    for index in range(1, len(rows)):
        cut = min(spare, len(rows[-index]) - 2 * PROMPT_WORDS)
        rows[-index] = rows[-index][: len(rows[-index]) - cut]
        spare -= cut
    return rows


def _write_data(path: Path, whole_text: bool) -> None:
    """Instruction data of uneven length: prompt and completion, or one text without a prompt."""
    tokenizer = _tokenizer()
    with path.open("w", encoding="utf-8") as out:
        for row in _examples():
            asked, answered = row[:PROMPT_WORDS], row[PROMPT_WORDS:].clone()
            answered[3::5] = FIRST_WORD + answered[3::5] % STYLE_WORDS
            prompt, completion = tokenizer.decode(asked), " " + tokenizer.decode(answered)
            example = {"prompt": prompt, "completion": completion}
            if whole_text:
                example = {"text": prompt + completion}
            out.write(json.dumps(example) + "\n")


def _make(dest: Path, title: str, point: str, changes: dict[str, Any], whole_text: bool = False) -> None:
    """Train with the failed run's configuration plus `changes`, and publish the run."""
    run_dir = new_run_dir(dest.name)
    copy_model(cached("tinyllama", _build_base), run_dir)
    config = CONFIG | changes
    write_yaml(run_dir / "train_config.yaml", config)
    _write_data(run_dir / "train.jsonl", whole_text)
    result = run_training(SCRIPT, run_dir)
    publish(run_dir, dest, KEEP)
    summary = trainer_summary(dest / "outputs" / "trainer_state.json")
    write_source(dest, _source(title, f"{point} {summary}", config["seed"]), result)


def _source(title: str, shows: str, seed: int) -> Source:
    """The facts common to the samples of this incident."""
    return Source(
        title=title,
        shows=shows,
        planted="the weights of the tiny base model: an embedding channel shared by all tokens, an "
        "ordinary (not zero) embedding of the pad token, and one attention head of the last layer "
        "whose score between two padded positions is -128 to -155 (-16 is enough). The "
        "model is otherwise pretrained for 300 steps in fp32.",
        genuine="TRL's SFTTrainer, PEFT LoRA, the fp16 (or bf16) forward and backward pass, the "
        "attention mask, GradScaler's decisions, every line of the log and every file here.",
        shims="two lines before trainer.train() in train.py switch fp16 autocast and GradScaler "
        "on, which accelerate leaves off on a CPU. The data file (train.jsonl) and the weights "
        "are left out of the sample.",
        writeup="unslothai/unsloth#911 (TinyLlama, fp16: grad_norm nan without packing).",
        limits="runs on a CPU with emulated fp16 matrix products, on stock Hugging Face code: "
        "Unsloth's own kernels are not involved. The thread states no root cause; this is the "
        "closest mechanism that reproduces all that it reports. use_cpu is in the configuration "
        "because bf16 on a CPU requires it. The data "
        "fills the packed blocks exactly: a short last block would be padded, and give the packed "
        "run one such step.",
        seed=f"{seed} (training), 0 (base model)",
        packages=("torch", "transformers", "trl", "peft", "accelerate", "datasets", "tensorboard"),
    )


UNPACKED = "TinyLlama, LoRA in fp16 without packing"
SAMPLES: dict[str, Callable[[Path], None]] = {
    "failed/tinyllama-fp16-unpacked-grad-nan": partial(
        _make,
        title=f"{UNPACKED}: grad_norm nan, finite loss",
        point="The loss is finite but does not fall; GradScaler skips nearly every step.",
        changes={},
    ),
    "failed/tinyllama-fp16-unpacked-loss-masked": partial(
        _make,
        title=f"{UNPACKED}, whole text learned: loss printed as 0",
        point="As the grad-nan sample, but the data has no prompt, so the last padded position "
        "carries a label and the loss is NaN as well; Trainer prints a NaN loss as 0.",
        changes={},
        whole_text=True,
    ),
    "healthy/tinyllama-fp16-packed": partial(
        _make,
        title="TinyLlama, LoRA in fp16 with packing: trains",
        point="The same configuration with packing on: no padded rows, the loss falls; the few "
        "skipped steps are the usual calibration of the scale.",
        changes={"packing": True},
    ),
    "healthy/tinyllama-bf16-unpacked": partial(
        _make,
        title="TinyLlama, LoRA in bf16 without packing: trains",
        point="bf16 has the range of fp32: the same padded rows do no harm.",
        changes={"fp16": False, "bf16": True, "seed": 11},
    ),
    "fixed/tinyllama-fp16-unpacked-sdpa": partial(
        _make,
        title=f"{UNPACKED}, fixed by attn_implementation: sdpa",
        point="One key changed against the failed run; a skipped step at the start is the usual "
        "calibration of the scale.",
        changes={"attn_implementation": "sdpa"},
    ),
    "fixed/tinyllama-fp16-right-padding": partial(
        _make,
        title=f"{UNPACKED}, fixed by padding_side: right",
        point="One key changed against the failed run; a skipped step at the start is the usual "
        "calibration of the scale.",
        changes={"padding_side": "right"},
    ),
}
