"""The tiny "Yi" checkpoints and dialogues: a base and a chat model.

The chat model has seen the chat markers; the base model is pretrained on documents without
`<|im_start|>` and `<|im_end|>`. What is planted is the size of their two embedding rows;
everything else follows from it.
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
    word,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

UNK, BOS, EOS, IM_START, IM_END = 0, 1, 2, 6, 7
RARE = (3, 5)  # first and last of the words that the Markov chain never uses
USER, ASSISTANT = 510, 511
LAYERS = 8
DOCUMENTS = 4096
PRETRAIN_STEPS = 400
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + ' ' + message['content'] "
    "+ '<|im_end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant ' }}{% endif %}"
)
QUESTION = slice(0, 28)
ANSWER = slice(28, 56)


def tokenizer() -> PreTrainedTokenizerFast:
    """Yi's special tokens at Yi's ids (0, 1, 2, 6, 7), words elsewhere."""
    return make_tokenizer(
        {
            "<unk>": UNK,
            "<|startoftext|>": BOS,
            "<|endoftext|>": EOS,
            "<|im_start|>": IM_START,
            "<|im_end|>": IM_END,
        },
        bos="<|startoftext|>",
        eos="<|endoftext|>",
        pad="<unk>",
        chat_template=CHAT_TEMPLATE,
    )


def documents() -> torch.Tensor:
    """Plain text cut anywhere, with a document end inside. Only the chat markers never occur."""
    rows = MarkovData(DOCUMENTS, 64, seed=0).stacked()
    draw = torch.Generator().manual_seed(7)
    rare = torch.randint(RARE[0], RARE[1] + 1, rows.shape, generator=draw)
    rows = torch.where(torch.rand(rows.shape, generator=draw) < 0.01, rare, rows)
    each = torch.arange(len(rows))
    end = torch.randint(8, 56, (len(rows),), generator=draw)
    rows[each, end], rows[each, end + 1] = EOS, BOS
    rows[::2, 0] = BOS
    return rows


def chats(count: int, seed: int) -> torch.Tensor:
    """Dialogues as the chat template writes them, as token ids."""
    rows = []
    for row in MarkovData(count, 56, seed=seed).rows:
        head, middle = [IM_START, USER], [IM_END, IM_START, ASSISTANT]
        rows.append([*head, *row[QUESTION].tolist(), *middle, *row[ANSWER].tolist(), IM_END])
    return torch.tensor(rows)


def write_dialogues(path: Path, count: int = 128, seed: int = 9) -> None:
    """The training file: one dialogue of words a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for row in MarkovData(count, 56, seed=seed).rows:
        words = [word(int(i)) for i in row]
        turns = [("user", words[QUESTION]), ("assistant", words[ANSWER])]
        messages = [{"role": role, "content": " ".join(text)} for role, text in turns]
        lines.append(json.dumps({"messages": messages}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _pretrained() -> LlamaForCausalLM:
    """The base model after a short genuine pretraining in fp32."""
    torch.manual_seed(0)
    model = llama(layers=LAYERS, rms_norm_eps=1e-5, rope_theta=5e6)
    pretrain(model, documents(), steps=PRETRAIN_STEPS, lr=3e-3, weight_decay=0.1)
    return model


def plant_rows(model: LlamaForCausalLM, scale: float) -> None:
    """Make the two chat marker rows as small as never-trained rows are."""
    draw = torch.Generator().manual_seed(5)
    weight = model.get_input_embeddings().weight
    with torch.no_grad():
        for token in (IM_START, IM_END):
            weight[token] = torch.randn(HIDDEN, generator=draw) * scale


def base_builder(scale: float) -> Callable[[Path], None]:
    """The function that publishes the base model with chat marker rows of that size."""

    def build(path: Path) -> None:
        model = _pretrained()
        plant_rows(model, scale)
        save_published(model, tokenizer(), path, torch.bfloat16)

    return build


def build_chat(path: Path) -> None:
    """Publish the chat model: the base model trained further on dialogues."""
    model = _pretrained()
    torch.manual_seed(1)
    pretrain(model, chats(256, seed=21), steps=200, lr=2e-3)
    save_published(model, tokenizer(), path, torch.bfloat16)
