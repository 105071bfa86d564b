"""What defines one training: the task, the model, and what people set on a command line.

Settings that begin with an underscore are the planted fault's: no log shows them.
"""

from __future__ import annotations

import random
from typing import Any

Settings = dict[str, Any]

TASKS: dict[str, tuple[str, ...]] = {
    "digits": ("mlp", "cnn"),
    "shapes": ("cnn", "mlp"),
    "table": ("mlp", "linear"),
    "text": ("gru", "lstm", "transformer"),
    "reviews": ("gru", "transformer"),
    "prices": ("mlp", "linear"),
    "series": ("gru", "mlp"),
    "autoencode": ("autoencoder",),
    "vae": ("vae",),
    "gan": ("gan",),
    "contrast": ("encoder",),
    "bandit": ("policy",),
    "preference": ("gru",),
}
"""Tasks and the architectures that learn them."""

ORDINARY = ("digits", "shapes", "table", "text", "reviews", "prices", "series", "autoencode")
CLASSES = {"digits": 10, "shapes": 4, "table": 3, "reviews": 4}
"""Tasks that are classifications, with the number of their classes."""

RATES: dict[str, dict[str, tuple[float, float]]] = {
    "adam": {"": (1e-3, 4e-3), "linear": (5e-3, 1e-2), "bandit": (3e-3, 6e-3), "preference": (2e-4, 4e-4),
             "gan": (1e-3, 2e-3)},
    "sgd": {"": (0.02, 0.08), "gru": (0.1, 0.3), "lstm": (0.2, 0.5), "transformer": (0.02, 0.05)},
}  # fmt: skip
"""Rates at which the twins train well, by optimizer, then by architecture or task."""


def draw(rng: random.Random, task: str, architecture: str) -> Settings:
    """A sound configuration."""
    adaptive = (
        task in {"vae", "gan", "contrast", "bandit", "preference", "autoencode", "text"} or rng.random() < 0.6
    )
    optimizer = rng.choice(("adam", "adamw")) if adaptive else "sgd"
    rates = RATES["adam" if adaptive else "sgd"]
    low, high = rates.get(task) or rates.get(architecture) or rates[""]
    epochs = (
        rng.choice((5, 8, 10, 12, 15, 20, 30))
        if task not in {"text", "reviews"}
        else rng.choice((6, 8, 10, 12))
    )
    special = {"gan": (40, 32), "bandit": (12, 64), "preference": (5, 64)}
    epochs, batch = special.get(
        task,
        (
            epochs,
            32
            if task in {"prices", "series"}
            else (64 if task == "text" else rng.choice((16, 32, 32, 64, 64))),
        ),
    )
    return {
        "task": task,
        "architecture": architecture,
        "optimizer": optimizer,
        "lr": float(f"{low * (high / low) ** rng.random():.1g}"),
        "momentum": 0.0 if adaptive else 0.9,
        "weight_decay": rng.choice((0.0, 0.0, 1e-4)) if optimizer != "adamw" else 0.01,
        "batch_size": batch,
        "epochs": epochs,
        "scheduler": rng.choice(("constant", "constant", "cosine", "step")),
        "warmup_steps": 0,
        "dropout": rng.choice((0.0, 0.0, 0.1)),
        "clip": rng.choice((None, None, 1.0)) if task not in {"text", "reviews"} else 1.0,
        "hidden": rng.choice((32, 64)),
        "layers": 2,
        "activation": rng.choice(("relu", "relu", "gelu")),
        "batch_norm": architecture == "cnn" and rng.random() < 0.6,
        "seed": rng.randrange(10_000),
        "log_every": rng.choice((5, 10, 20)),
    }  # fmt: skip


def shown(settings: Settings) -> dict[str, Any]:
    """The settings that a script would print."""
    hidden = {"log_every"} if settings["task"] in CLASSES else {"log_every", "layers"}
    return {
        name: value
        for name, value in settings.items()
        if not name.startswith("_") and name not in hidden and not (name == "clip" and value is None)
    }
