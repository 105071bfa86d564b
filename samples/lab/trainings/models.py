"""The models: all of them small, all of them as a tutorial would write them."""

from __future__ import annotations

import torch
from torch import nn

from .data import LENGTH, Data
from .settings import Settings

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "none": nn.Identity}


def _mlp(width: int, out: int, s: Settings) -> nn.Sequential:
    parts: list[nn.Module] = [nn.Flatten()]
    for _ in range(s["layers"]):
        parts.append(nn.Linear(width, s["hidden"]))
        if s["batch_norm"]:
            parts.append(nn.BatchNorm1d(s["hidden"]))
        parts += [ACTIVATIONS[s["activation"]](), nn.Dropout(s["dropout"])]
        width = s["hidden"]
    return nn.Sequential(*parts, nn.Linear(width, out))


def _cnn(image: torch.Tensor, out: int, s: Settings) -> nn.Sequential:
    parts: list[nn.Module] = []
    channels = image.shape[1]
    for width in (12, 24):
        parts.append(nn.Conv2d(channels, width, 3, padding=1))
        if s["batch_norm"]:
            parts.append(nn.BatchNorm2d(width))
        parts += [ACTIVATIONS[s["activation"]](), nn.MaxPool2d(2)]
        channels = width
    size = 24 * (image.shape[-1] // 4) ** 2
    return nn.Sequential(*parts, nn.Flatten(), nn.Dropout(s["dropout"]), nn.Linear(size, out))


class Recurrent(nn.Module):
    """GRU or LSTM over tokens or numbers, read at every place or at the last."""

    def __init__(self, data: Data, s: Settings) -> None:
        super().__init__()
        self.tokens = not data.train[0].is_floating_point()
        self.every = data.kind == "tokens"
        width = s["hidden"]
        self.embedding = nn.Embedding(40, width) if self.tokens else nn.Linear(1, width)
        kind = {"lstm": nn.LSTM, "rnn": nn.RNN}.get(s["architecture"], nn.GRU)
        self.body = kind(width, width, batch_first=True)
        self.dropout = nn.Dropout(s["dropout"])
        self.head = nn.Linear(width, data.classes or 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits or numbers."""
        states, _ = self.body(self.embedding(x if self.tokens else x.unsqueeze(-1)))
        states = self.dropout(states)
        return self.head(states if self.every else states[:, -1])


class Transformer(nn.Module):
    """Two layers with a causal mask, read at every place or on the mean."""

    def __init__(self, data: Data, s: Settings) -> None:
        super().__init__()
        self.every = data.kind == "tokens"
        self.embedding = nn.Embedding(40, 32)
        self.places = nn.Parameter(torch.randn(LENGTH, 32) * 0.1)
        layer = nn.TransformerEncoderLayer(
            32, 2, 64, dropout=s["dropout"], batch_first=True, norm_first=not s.get("_post_norm")
        )
        self.body = nn.TransformerEncoder(layer, s["layers"], enable_nested_tensor=False)
        self.head = nn.Linear(32, data.classes)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits."""
        states = self.body(self.embedding(x) + self.places, mask=self.mask if self.every else None)
        return self.head(states if self.every else states.mean(1))


class Coder(nn.Module):
    """Autoencoder of images, with a Gaussian code where it is variational."""

    def __init__(self, data: Data, s: Settings) -> None:
        super().__init__()
        self.variational = s["architecture"] == "vae"
        code = 8
        self.encode = _mlp(data.train[0][0].numel(), code * (2 if self.variational else 1), s)
        self.decode = nn.Sequential(
            nn.Linear(code, s["hidden"]), nn.ReLU(), nn.Linear(s["hidden"], data.train[1].shape[1])
        )
        self.divergence = torch.zeros(())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The image again; what the code costs is kept beside."""
        code = self.encode(x)
        if self.variational:
            mean, log_variance = code.chunk(2, dim=1)
            self.divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1).mean()
            code = mean + torch.randn_like(mean) * (log_variance / 2).exp() if self.training else mean
        return self.decode(code)


def build(data: Data, s: Settings) -> nn.Module:
    """The model of some settings."""
    architecture = s["architecture"]
    if architecture in {"gru", "lstm", "rnn"}:
        return Recurrent(data, s)
    if architecture == "transformer":
        return Transformer(data, s)
    if architecture in {"autoencoder", "vae"}:
        return Coder(data, s)
    x, y = data.train
    out = data.classes if data.kind == "classes" else y.shape[1]
    if architecture == "cnn":
        return _cnn(x, out, s)
    if architecture == "linear":
        return nn.Sequential(nn.Flatten(), nn.Linear(x[0].numel(), out))
    return _mlp(x[0].numel(), out, s)
