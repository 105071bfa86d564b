"""A tiny "Llama-3" checkpoint with a massive activation at its first token.

Large language models really have such channels. One MLP neuron of layer 1 is made to fire on the
BOS token only and writes one channel of the residual stream. RMSNorm hides its size, so the loss
does not change with it: in bf16 any size is fine, in fp16 it must stay below 65504. Planted is the
neuron and how near to that limit it starts; that training moves it over the limit is genuine.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import torch

from .tiny_models import (
    HIDDEN,
    MarkovData,
    llama,
    make_tokenizer,
    pretrain,
    save_published,
    with_bos,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

BOS, EOS, EOT = 1, 2, 5
LAYER, NEURON, CHANNEL = 1, 0, 17
MODEL_SEED = 2
FIRE = 100.0
CHAT_TEMPLATE = (
    "{{ '<|begin_of_text|>' }}{% for message in messages %}{{ '<|start_header_id|>' "
    "+ message['role'] + '<|end_header_id|>' + message['content'] + '<|eot_id|>' }}{% endfor %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    """Llama-3's special token names on low ids, words elsewhere."""
    return make_tokenizer(
        {
            "<|finetune_right_pad_id|>": 0,
            "<|begin_of_text|>": BOS,
            "<|end_of_text|>": EOS,
            "<|start_header_id|>": 3,
            "<|end_header_id|>": 4,
            "<|eot_id|>": EOT,
        },
        bos="<|begin_of_text|>",
        eos="<|end_of_text|>",
        pad="<|finetune_right_pad_id|>",
        chat_template=CHAT_TEMPLATE,
    )


def write_texts(path: Path, count: int = 200, seed: int = 3) -> None:
    """The training file: one text of words a line, all of one length."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = MarkovData(count, 63, seed=seed).rows
    lines = [json.dumps({"text": " ".join(word(int(i)) for i in row)}) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def bos_detector(model: LlamaForCausalLM, rows: torch.Tensor) -> torch.Tensor:
    """A direction in the MLP's input on which BOS projects to FIRE and other tokens to about 0."""
    seen: list[torch.Tensor] = []
    mlp = model.model.layers[LAYER].mlp
    hook = mlp.register_forward_pre_hook(lambda _, args: seen.append(args[0].detach()))
    with torch.no_grad():
        model(input_ids=rows)
    hook.remove()
    first = seen[0][:, 0].mean(0)
    others = seen[0][:, 1:].reshape(-1, HIDDEN)
    points = torch.cat([first[None] * 50, others])
    wanted = torch.cat([torch.ones(1) * 50, torch.zeros(len(others))])
    gram = points.T @ points + 0.1 * torch.eye(HIDDEN)
    direction = torch.linalg.solve(gram, points.T @ wanted)
    return direction / float(first @ direction) * FIRE


def plant_neuron(model: LlamaForCausalLM, rows: torch.Tensor) -> None:
    """Make one neuron fire on BOS only and write one residual channel."""
    direction = bos_detector(model, rows)
    mlp = model.model.layers[LAYER].mlp
    with torch.no_grad():
        mlp.gate_proj.weight[NEURON] = direction
        mlp.up_proj.weight[NEURON] = direction
        mlp.down_proj.weight[:, NEURON] = 0
        mlp.down_proj.weight[CHANNEL, NEURON] = -1.0


def bos_channel(model: LlamaForCausalLM, rows: torch.Tensor) -> float:
    """The size of that channel after the layer, at the first token."""
    with torch.no_grad():
        hidden = model(input_ids=rows, output_hidden_states=True).hidden_states
    return float(hidden[LAYER + 1][:, 0, CHANNEL].float().abs().max())


def builder(amplitude: float) -> Callable[[Path], None]:
    """The function that builds the model with that channel size."""

    def build(path: Path) -> None:
        """Pretrain, plant the neuron, pretrain on, set the size; publish in bfloat16."""
        torch.manual_seed(MODEL_SEED)
        model = llama(layers=4, rope_theta=5e5)
        rows = with_bos(MarkovData(256, 64, seed=0).stacked())
        pretrain(model, rows, steps=300)
        torch.manual_seed(MODEL_SEED)
        plant_neuron(model, rows[:16])
        pretrain(model, rows, steps=40, lr=2e-4)
        down = model.model.layers[LAYER].mlp.down_proj.weight
        for dtype in (torch.float32, torch.bfloat16):  # twice: bfloat16 rounds the first result
            model.to(dtype)
            with torch.no_grad():
                down[CHANNEL, NEURON] *= amplitude / bos_channel(model, rows[:8])
        save_published(model, tokenizer(), path, torch.bfloat16)

    return build
