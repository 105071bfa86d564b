"""Tiny but real language models, a tokenizer and learnable data: no download is needed.

The models are the stock Hugging Face classes at hidden size 64 and 512 tokens, so that a run
takes seconds while every layer, kernel and library message is the real one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

VOCAB = 512
FIRST_WORD = 8  # ids below are special tokens
HIDDEN = 64

# ChatML with spaces for line ends, as the word tokenizer below knows no line end.
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }} {{ message['content'] }}"
    "<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant{% endif %}"
)
ROLES = {509: "system", 510: "user", 511: "assistant"}


def _shape(hidden: int, layers: int, heads: int) -> dict[str, Any]:
    """The configuration keys that all three families share."""
    return {
        "vocab_size": VOCAB,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads // 2 or 1,
        "max_position_embeddings": 512,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }


def llama(layers: int = 2, hidden: int = HIDDEN, heads: int = 4, **keys: Any) -> LlamaForCausalLM:
    """A tiny Llama; `keys` go to its configuration (attn_implementation, rms_norm_eps, ...)."""
    shape = _shape(hidden, layers, heads) | {"intermediate_size": hidden * 11 // 4 // 2 * 2}
    return LlamaForCausalLM(LlamaConfig(**(shape | keys)))


def qwen2(layers: int = 2, hidden: int = HIDDEN, heads: int = 4, **keys: Any) -> Qwen2ForCausalLM:
    """A tiny Qwen2."""
    shape = _shape(hidden, layers, heads) | {"intermediate_size": hidden * 3}
    return Qwen2ForCausalLM(Qwen2Config(**(shape | keys)))


def gemma3(layers: int = 2, hidden: int = HIDDEN, heads: int = 4, **keys: Any) -> Gemma3ForCausalLM:
    """A tiny text-only Gemma 3."""
    shape = _shape(hidden, layers, heads) | {
        "intermediate_size": hidden * 3,
        "head_dim": hidden // heads,
        "sliding_window": 64,
    }
    return Gemma3ForCausalLM(Gemma3TextConfig(**(shape | keys)))


class MarkovData(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Token sequences of a sparse random Markov chain: a language that a tiny model can learn.

    The chain itself is fixed; `seed` chooses the sequences. `varlen` draws lengths from
    [length/4, length), which is what makes padding necessary.
    """

    def __init__(self, count: int = 512, length: int = 64, seed: int = 0, varlen: bool = False) -> None:
        """Draw `count` sequences of `length` tokens."""
        branch = 4
        chain = torch.Generator().manual_seed(1234)
        following = torch.randint(FIRST_WORD, VOCAB, (VOCAB, branch), generator=chain)
        draw = torch.Generator().manual_seed(seed)
        self.rows: list[torch.Tensor] = []
        for _ in range(count):
            size = length
            if varlen:
                size = int(torch.randint(length // 4, length, (1,), generator=draw))
            row = [int(torch.randint(FIRST_WORD, VOCAB, (1,), generator=draw))]
            for choice in torch.randint(0, branch, (size,), generator=draw).tolist()[: size - 1]:
                row.append(int(following[row[-1], choice]))
            self.rows.append(torch.tensor(row))

    def __len__(self) -> int:
        """How many sequences there are."""
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        """One training example: predict every next token."""
        row = self.rows[index]
        return {"input_ids": row, "labels": row.clone()}

    def stacked(self) -> torch.Tensor:
        """All sequences as one matrix (equal lengths only)."""
        return torch.stack(self.rows)


def with_bos(rows: torch.Tensor, bos: int = 1) -> torch.Tensor:
    """The sequences with a BOS token in front, at the same length."""
    return torch.cat([torch.full((len(rows), 1), bos), rows[:, :-1]], dim=1)


def pretrain(
    model: torch.nn.Module,
    rows: torch.Tensor,
    *,
    steps: int = 300,
    lr: float = 3e-3,
    weight_decay: float = 0.01,
    before_step: Callable[[int], None] | None = None,
) -> float:
    """Give the model a genuine short fp32 pretraining; returns the last loss.

    `before_step` may change weights on the way (that is where a cause is planted).
    """
    torch.set_num_threads(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
    loss = torch.tensor(0.0)
    for step in range(steps):
        if before_step is not None:
            before_step(step)
        batch = rows[torch.randint(0, len(rows), (8,))]
        loss = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return loss.item()


def word(index: int) -> str:
    """A pronounceable word for one token id (the last three are the chat roles)."""
    if index in ROLES:
        return ROLES[index]
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    first, rest = index % 70, index // 70
    second = (rest * 9 + index) % 70
    syllables = [consonants[n // 5] + vowels[n % 5] for n in (first, second)]
    return "".join(syllables) + consonants[rest % 14]


def make_tokenizer(
    special: Mapping[str, int],
    *,
    bos: str | None,
    eos: str,
    pad: str,
    chat_template: str | None = None,
    plain: Mapping[str, int] | None = None,
) -> PreTrainedTokenizerFast:
    """A word tokenizer of 512 entries.

    `special` names the special tokens by id; `plain` gives ordinary text to low ids (Qwen2's id 0
    is "!"). Every other id is a made-up word.
    """
    named = {**special, **(plain or {})}
    taken = set(named.values())
    vocab = {**named, **{f"▁{word(i)}": i for i in range(VOCAB) if i not in taken}}
    if len(vocab) != VOCAB:
        raise ValueError(f"tokenizer has {len(vocab)} entries, not {VOCAB}: words collide")
    core = Tokenizer(models.WordLevel(vocab, unk_token=pad))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=bos,
        eos_token=eos,
        pad_token=pad,
        additional_special_tokens=[t for t in special if t not in (bos, eos, pad)],
    )
    if chat_template:
        tokenizer.chat_template = chat_template
    return tokenizer


def save_published(
    model: Any, tokenizer: PreTrainedTokenizerFast | None, path: Path, dtype: torch.dtype
) -> None:
    """Save a base model the way a hub publishes it: weights and config in its native dtype."""
    model.to(dtype).save_pretrained(path)
    config_file = path / "config.json"
    config = json.loads(config_file.read_text(encoding="utf-8"))
    config["dtype"] = str(dtype).removeprefix("torch.")
    config_file.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    if tokenizer is not None:
        tokenizer.save_pretrained(path)


def cut_down_safetensors(
    path: Path, keep: Sequence[str] = ("model.embed_tokens.weight", "model.norm.weight")
) -> None:
    """Keep only the named tensors of a model file (bytes unchanged), to keep a sample small."""
    tensors = {name: value for name, value in load_file(path).items() if name in keep}
    if missing := set(keep) - set(tensors):
        raise KeyError(f"{path}: no tensor {sorted(missing)}")
    save_file(tensors, path, metadata={"format": "pt"})
