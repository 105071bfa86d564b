"""Data and models: learnable problems that need no download, small enough that a run takes a second."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .spec import Spec

SEQUENCE_TOKENS = 24
EVAL_SAMPLES = {"markov": 48}
INPUT_FEATURES = {"clusters": 64, "digits": 64, "regression": 20}
IMAGE_SIDE = 8
"""Both image tasks are 8 x 8: `digits` are the scans of scikit-learn, `clusters` are noisy class patterns."""


@dataclass
class Data:
    """Training and evaluation samples.

    Attributes:
        inputs: shape (n, features) float32, or (n, tokens) int64 for language.
        targets: shape (n,) int64 class, (n, 1) float32 for regression, (n, tokens) int64 for language.
        eval_inputs: Clean held-out inputs, the ground truth of every outcome test.
        eval_targets: Their targets.
        shown_inputs: The evaluation set that the run itself uses; a fault may spoil it.
        shown_targets: Its targets.
    """

    inputs: torch.Tensor
    targets: torch.Tensor
    eval_inputs: torch.Tensor
    eval_targets: torch.Tensor
    shown_inputs: torch.Tensor
    shown_targets: torch.Tensor


def make_data(spec: Spec, *, shift: bool) -> Data:
    """The samples of a run.

    Args:
        spec: The run.
        shift: The variant of the task that is learned from pre-trained weights, or on which they were trained.
    """
    samples = torch.Generator().manual_seed(spec.seed * 2 + int(shift))
    maker = {"markov": _markov, "digits": _digits, "clusters": _clusters, "regression": _regression}[
        spec.task
    ]
    inputs, targets = maker(spec, samples, shift)
    held_out = EVAL_SAMPLES.get(spec.task, 384)
    evaluation = inputs[:held_out], targets[:held_out]
    return Data(
        inputs=inputs[held_out:],
        targets=targets[held_out:],
        eval_inputs=evaluation[0],
        eval_targets=evaluation[1],
        shown_inputs=evaluation[0],
        shown_targets=evaluation[1],
    )


def _clusters(spec: Spec, generator: torch.Generator, shift: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Class patterns under noise."""
    count = spec.train_size + 384
    shapes = torch.Generator().manual_seed(spec.seed)
    patterns = torch.randn(spec.classes, 64, generator=shapes)
    if shift:
        patterns = patterns + spec.option("shift") * torch.randn(spec.classes, 64, generator=shapes)
    targets = torch.randint(spec.classes, (count,), generator=generator)
    inputs = patterns[targets] + (1.5 + 3 * spec.noise) * torch.randn(count, 64, generator=generator)
    return inputs / inputs.std(), targets


def _digits(spec: Spec, generator: torch.Generator, shift: bool) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = _digit_scans()
    order = torch.randperm(len(images), generator=generator)[: spec.train_size + 384]
    inputs = images[order]
    if shift:  # another scanner: moved by one pixel, less contrast
        inputs = (1 - 0.3 * spec.option("shift")) * inputs.view(-1, IMAGE_SIDE, IMAGE_SIDE).roll(
            1, 2
        ).flatten(1)
    inputs = inputs + spec.noise * torch.randn(inputs.shape, generator=generator)
    return inputs, labels[order]


@functools.cache
def _digit_scans() -> tuple[torch.Tensor, torch.Tensor]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32)
    return (images - images.mean()) / images.std(), torch.tensor(digits.target, dtype=torch.int64)


def _regression(spec: Spec, generator: torch.Generator, shift: bool) -> tuple[torch.Tensor, torch.Tensor]:
    count = spec.train_size + 384
    teacher = torch.Generator().manual_seed(spec.seed)
    inputs = torch.randn(count, 20, generator=generator)
    hidden, out = torch.randn(20, 16, generator=teacher), torch.randn(16, 1, generator=teacher)
    values = torch.tanh(inputs @ hidden / (4.0 - 2 * spec.option("shift") * shift)) @ out
    return inputs, values / values.std() + spec.noise * torch.randn(count, 1, generator=generator)


DIALECTS = 3


def _markov(spec: Spec, generator: torch.Generator, shift: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences of sparse random Markov chains, three dialects that share half of their grammar.

    A share ``noise`` of the tokens is random. The first token tells the dialect (``dialect_of``).
    """
    count, branches = spec.train_size + EVAL_SAMPLES["markov"], 3
    grammar = torch.Generator().manual_seed(
        1234
    )  # one language for all runs; the shifted one changes a part of it

    def chain() -> torch.Tensor:
        return torch.randint(DIALECTS, spec.classes, (spec.classes, branches), generator=grammar)

    def mixed(old: torch.Tensor, share: float) -> torch.Tensor:
        return torch.where(torch.rand(spec.classes, 1, generator=grammar) < share, chain(), old)

    base = chain()
    if shift:
        base = mixed(base, 0.6 * spec.option("shift"))
    following = torch.stack([mixed(base, 0.5) for _ in range(DIALECTS)])
    dialect = torch.randint(DIALECTS, (count,), generator=generator)
    tokens = torch.empty(count, SEQUENCE_TOKENS, dtype=torch.int64)
    tokens[:, 0] = dialect
    tokens[:, 1] = torch.randint(DIALECTS, spec.classes, (count,), generator=generator)
    for position in range(2, SEQUENCE_TOKENS):
        choice = torch.randint(branches, (count,), generator=generator)
        step = following[dialect, tokens[:, position - 1], choice]
        random_tokens = torch.randint(DIALECTS, spec.classes, (count,), generator=generator)
        noisy = torch.rand(count, generator=generator) < spec.noise
        tokens[:, position] = torch.where(noisy, random_tokens, step)
    return tokens, tokens.clone()


def group_of(data: Data) -> torch.Tensor:
    """What a data set that was never shuffled is sorted by: class, value or dialect, shape (n,)."""
    return data.targets[:, 0] if data.targets.dim() == 2 else data.targets


class Network(nn.Module):
    """Any of the architectures behind one call: ``network(inputs, labels)`` gives a loss and outputs."""

    def __init__(self, spec: Spec, body: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.language = spec.language
        self.regression = spec.task == "regression"
        self.loss_of = nn.functional.mse_loss if self.regression else nn.functional.cross_entropy

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Loss (a scalar) and outputs of a batch."""
        if self.language:
            done = self.body(input_ids=inputs, labels=labels, use_cache=False)
            return {"loss": done.loss, "logits": done.logits}
        outputs = self.body(inputs).float()
        return {"loss": self.loss_of(outputs, labels), "logits": outputs}


def activation_of(spec: Spec) -> type[nn.Module]:
    """The activation of mlp and cnn: option `activation` 0 ReLU, 1 sigmoid, 2 tanh."""
    return (nn.ReLU, nn.Sigmoid, nn.Tanh)[int(spec.option("activation"))]


def make_network(spec: Spec) -> Network:
    """Fresh weights of the run's architecture."""
    if spec.architecture == "mlp":
        return Network(spec, _mlp(spec))
    if spec.architecture == "cnn":
        return Network(spec, _cnn(spec))
    return Network(spec, _language_model(spec))


def _mlp(spec: Spec) -> nn.Module:
    layers: list[nn.Module] = []
    features = INPUT_FEATURES[spec.task]
    for _ in range(spec.depth):
        layers += [nn.Linear(features, spec.width), activation_of(spec)(), nn.Dropout(spec.dropout)]
        features = spec.width
    return nn.Sequential(*layers, nn.Linear(features, 1 if spec.task == "regression" else spec.classes))


def _cnn(spec: Spec) -> nn.Module:
    channels = max(8, spec.width // 8)
    layers: list[nn.Module] = [nn.Unflatten(1, (1, IMAGE_SIDE, IMAGE_SIDE))]
    previous = 1
    for layer in range(min(spec.depth, 4)):
        layers += [nn.Conv2d(previous, channels, 3, padding=1), activation_of(spec)()]
        if layer == 1:
            layers.append(nn.MaxPool2d(2))
        previous = channels
    side = IMAGE_SIDE // 2 if spec.depth >= 2 else IMAGE_SIDE
    layers += [nn.Flatten(), nn.Dropout(spec.dropout), nn.Linear(channels * side * side, spec.classes)]
    return nn.Sequential(*layers)


def _language_model(spec: Spec) -> nn.Module:
    from transformers import (
        Gemma3ForCausalLM,
        Gemma3TextConfig,
        LlamaConfig,
        LlamaForCausalLM,
        Qwen2Config,
        Qwen2ForCausalLM,
    )

    common: dict[str, Any] = {
        "vocab_size": spec.classes,
        "hidden_size": spec.width,
        "intermediate_size": spec.width * 2,
        "num_hidden_layers": spec.depth,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 128,
        "attention_dropout": spec.dropout,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    if spec.architecture == "llama":
        return LlamaForCausalLM(LlamaConfig(**common))
    if spec.architecture == "qwen2":
        return Qwen2ForCausalLM(Qwen2Config(**common))
    return Gemma3ForCausalLM(Gemma3TextConfig(**common, head_dim=spec.width // 2, sliding_window=16))


def order_of(spec: Spec, samples: int) -> Iterator[torch.Tensor]:
    """Indices of one micro-batch after the other, reshuffled every epoch."""
    generator = random.Random(spec.random_state)
    size = min(spec.batch_size, samples)
    while True:
        order = list(range(samples))
        generator.shuffle(order)
        for first in range(0, samples - size + 1, size):
            yield torch.tensor(order[first : first + size])


@functools.lru_cache(maxsize=64)
def _pretrained(key: Spec) -> dict[str, torch.Tensor]:
    torch.manual_seed(key.seed)
    network = make_network(key)
    data = make_data(key, shift=False)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    network.train()
    for _, rows in zip(range(200), order_of(key, len(data.inputs)), strict=False):
        loss = network(data.inputs[rows], data.targets[rows])["loss"]
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    return {name: value.clone() for name, value in network.state_dict().items()}


def pretrained(spec: Spec) -> dict[str, torch.Tensor]:
    """Weights after 200 steps on the unshifted task, the start of a tuned run; kept for the runs of one shape."""
    return _pretrained(
        spec.changed(
            run_id="", engine="", writer="", start="scratch", optimizer="adamw", learning_rate=0.0, schedule="", warmup_share=0.0,
            weight_decay=0.0, steps=0, batch_size=16, accumulation=1, clip=None, precision="", log_every=1, eval_every=1,
            style="", dropped=(), stop_at=None, fault="none", severity=0.0, onset=0.0, twin="", options=(),
        )
    )  # fmt: skip
