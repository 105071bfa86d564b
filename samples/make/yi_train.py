"""The training script of the Yi samples: supervised fine-tuning on dialogues with DeepSpeed.

It reads `train_config.yaml` and the `ds_config.json` named there, and does what such scripts do:
chat template, loss on the answer only, one line with the loss for each step.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deepspeed
import torch
from deepspeed.utils.logging import set_log_level_from_string
from transformers import AutoModelForCausalLM, AutoTokenizer

from samples.make.common import read_yaml
from samples.make.deepspeed_shims import allow_fp16

if TYPE_CHECKING:
    from collections.abc import Sequence

IGNORED = -100
SPECIAL = ["<|im_start|>", "<|im_end|>"]
Sample = tuple[list[int], list[int]]


def load_samples(path: str, tokenizer: Any, max_length: int) -> list[Sample]:
    """Apply the chat template to every dialogue; only the last answer is learned."""
    samples: list[Sample] = []
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            messages = json.loads(line)["messages"]
            full = tokenizer.apply_chat_template(messages, tokenize=False)
            prompt = tokenizer.apply_chat_template(messages[:-1], tokenize=False, add_generation_prompt=True)
            ids = tokenizer(full, add_special_tokens=False)["input_ids"][:max_length]
            asked = len(tokenizer(prompt, add_special_tokens=False)["input_ids"])
            samples.append((ids, [IGNORED] * asked + ids[asked:]))
    return samples


def make_batch(samples: Sequence[Sample], pad: int) -> dict[str, torch.Tensor]:
    """Pad the samples on the right to the longest one."""
    longest = max(len(ids) for ids, _ in samples)
    gaps = [longest - len(ids) for ids, _ in samples]
    return {
        "input_ids": torch.tensor([i + [pad] * g for (i, _), g in zip(samples, gaps, strict=True)]),
        "attention_mask": torch.tensor([[1] * (longest - g) + [0] * g for g in gaps]),
        "labels": torch.tensor([lab + [IGNORED] * g for (_, lab), g in zip(samples, gaps, strict=True)]),
    }


def reinit_special_tokens(model: Any, tokenizer: Any) -> None:
    """Give the chat markers the mean embedding of all other tokens."""
    rows = tokenizer.convert_tokens_to_ids(SPECIAL)
    weight = model.get_input_embeddings().weight
    others = [i for i in range(len(weight)) if i not in rows]
    with torch.no_grad():
        weight[rows] = weight[others].float().mean(0).to(weight.dtype)
    print(f"re-initialised the embedding rows {rows} of {SPECIAL}")


def fit(engine: Any, samples: Sequence[Sample], pad: int, batch_size: int, steps: int) -> None:
    """Train for `steps` optimizer steps and print the loss of each."""
    for step in range(1, steps + 1):
        picked = torch.randint(0, len(samples), (batch_size,)).tolist()
        batch = make_batch([samples[i] for i in picked], pad)
        loss = engine(**batch).loss
        print(f"step {step}/{steps} loss: {loss.item():.4f}")
        engine.backward(loss)
        engine.step()


def main() -> None:
    """Read the configuration files in the working directory and train."""
    allow_fp16()
    config = read_yaml("train_config.yaml")
    if config["log_level"] is not None:
        set_log_level_from_string(config["log_level"])
    ds_config = json.loads(Path(config["deepspeed"]).read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    torch.manual_seed(config["seed"])
    tokenizer = AutoTokenizer.from_pretrained(config["model_name_or_path"])
    model = AutoModelForCausalLM.from_pretrained(
        config["model_name_or_path"], attn_implementation=config["attn_implementation"]
    )
    if config["reinit_special_tokens"]:
        reinit_special_tokens(model, tokenizer)
    samples = load_samples(config["train_file"], tokenizer, config["max_seq_length"])
    print(f"{len(samples)} dialogues, {model.num_parameters()} parameters")
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=ds_config)
    batch_size = ds_config["train_micro_batch_size_per_gpu"]
    fit(engine, samples, tokenizer.pad_token_id, batch_size, config["max_steps"])
    print("training finished")
