"""The faults: each a tiny model, its loss, and what is done to them at one step.

They are what people do: a logarithm of a probability that has become 0, a norm of a vector of zeros, a write into a
parameter, a picture with NaN in it. Sizes are as small as the fault allows, so that the traces are.
"""

from __future__ import annotations

import torch
from torch import nn

BAD_STEP = 6
WIDTH = 8


class Net(nn.Module):
    """Linear, norm, any module that keeps the width, and a head."""

    def __init__(self, middle: nn.Module | None = None, classes: int = 4) -> None:
        super().__init__()
        self.enter = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.middle = middle or nn.ReLU()
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits, of shape (batch, classes)."""
        return self.head(self.middle(self.norm(self.enter(x))))


class Faulty(nn.Module):
    """A part of the model that does wrong from the moment at which ``planted`` is set."""

    planted = False


class Logarithm(Faulty):
    """Adds the logarithm of a feature's share: log(0) where the floor below it is forgotten."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of the shape of ``x``."""
        share = torch.relu(x) / 100
        return x + torch.log(share if self.planted else share + 1e-6)


class Unit(Faulty):
    """Scales to length 1; a sample without any feature gives 0/0."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of the shape of ``x``."""
        if self.planted:
            x = torch.cat([x[:-1], torch.zeros_like(x[-1:])])
        return x / x.pow(2).sum(-1, keepdim=True).sqrt()


class Attention(Faulty):
    """One head over the batch as if it were a sequence; the mask may leave a row nothing to attend to."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of the shape of ``x``."""
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        mask = torch.ones(len(x), len(x), dtype=torch.bool, device=x.device).tril()
        if self.planted:
            mask[0] = False
        scores = (q @ k.T / WIDTH**0.5).masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v


class Gain(Faulty):
    """A gain that carries an activation past the largest number of half precision."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of the shape of ``x``."""
        return x * (80_000.0 if self.planted else 1.0)


class Large(Faulty):
    """Passes on activations whose squares no longer fit float32."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of the shape of ``x``."""
        return self.norm(x * 1e21 if self.planted else x)


class Root(Faulty):
    """``where`` hides the square root of 0 from the forward pass, not from the backward pass."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of the shape of ``x``."""
        size = x * (x > 0) if self.planted else x * (x > 0) + 1e-6
        return torch.where(size > 0, size.sqrt(), torch.zeros_like(x))


def plain_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of logits."""
    return nn.functional.cross_entropy(output.float(), target)


def log_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Cross-entropy by hand: the logarithm of a probability, which becomes 0 when the logits lie far apart."""
    share = torch.softmax(output.float() * 40_000, dim=-1)
    return -torch.log(share[torch.arange(len(target)), target]).mean()


def write_into_weight(model: Net, value: float) -> None:
    """Write one element of a weight in place, as a wrong index in a user's code does."""
    with torch.no_grad():
        model.head.weight[0, 0] = value
