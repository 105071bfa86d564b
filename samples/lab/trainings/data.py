"""Data of the tasks: three splits of inputs and targets, the third of which no log shows."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits, make_friedman1

from .settings import Settings

Pair = tuple[torch.Tensor, torch.Tensor]

LETTERS = "abcdefghijklmnopqrstuvwxyz ."
PAD = 0
LENGTH = 32
"""Characters of a line of text, tokens of a review."""


@dataclass
class Data:
    """Splits of a task; ``test`` is the truth that verdicts rest on."""

    train: Pair
    val: Pair
    test: Pair
    kind: str
    classes: int = 0

    def split(self, name: str) -> Pair:
        """A split by its name."""
        return {"train": self.train, "val": self.val, "test": self.test}[name]


def load(settings: Settings) -> Data:
    """The data of a task; they depend on the task and the seed alone."""
    rng = np.random.default_rng(settings["seed"])
    task = settings["task"]
    if task in {"text", "preference"}:
        x, y = _text(int(settings["seed"]), 900)
        return _cut(x, y, rng, 600, "tokens", len(LETTERS) + 1)
    if task == "reviews":
        x, y = _reviews(rng, 900)
        return _cut(x, y, rng, 600, "classes", 4)
    if task == "prices":
        raw, target = make_friedman1(900, 10, noise=1.0, random_state=int(settings["seed"]))
        x = torch.tensor((raw - 0.5) * 3.46, dtype=torch.float32)
        y = torch.tensor((target - target.mean()) / target.std(), dtype=torch.float32)[:, None]
        return _cut(x, y, rng, 600, "numbers")
    if task == "series":
        x, y = _series(rng, 900)
        return _cut(x, y, rng, 600, "numbers")
    if task == "table":
        x, y = _table(rng, 1000)
        return _cut(x, y, rng, 650, "classes", 3)
    if task == "shapes":
        x, y = _shapes(rng, 900)
        return _cut(x, y, rng, 600, "classes", 4)
    digits = load_digits()
    x = torch.tensor(digits.images / 16.0, dtype=torch.float32)[:, None]
    kind = "classes" if task == "digits" else "numbers"
    y = torch.tensor(digits.target) if task == "digits" else x.flatten(1)
    return _cut(x, y, rng, 1000, kind, 10)


def _cut(
    x: torch.Tensor, y: torch.Tensor, rng: np.random.Generator, train: int, kind: str, classes: int = 0
) -> Data:
    order = torch.tensor(rng.permutation(len(x)))
    x, y = x[order], y[order]
    middle = train + (len(x) - train) // 2
    return Data(
        (x[:train], y[:train]), (x[train:middle], y[train:middle]), (x[middle:], y[middle:]), kind, classes
    )


def _text(seed: int, lines: int) -> Pair:
    """Lines of a small grammar as characters; the target is the next one."""
    rng = random.Random(seed)
    nouns = ("dog", "cat", "house", "river", "child", "bird", "stone")
    verbs = ("sees", "likes", "finds", "leaves", "paints")
    adjectives = ("red", "small", "old", "quiet", "bright")

    def sentence() -> str:
        phrase = [f"the {rng.choice(adjectives)} {rng.choice(nouns)}" for _ in range(2)]
        return f"{phrase[0]} {rng.choice(verbs)} {phrase[1]}. "

    text = "".join(sentence() for _ in range(lines * (LENGTH + 1) // 24))[: lines * (LENGTH + 1)]
    ids = torch.tensor([LETTERS.index(letter) + 1 for letter in text]).view(lines, LENGTH + 1)
    return ids[:, :-1].clone(), ids[:, 1:].clone()


def _reviews(rng: np.random.Generator, count: int) -> Pair:
    """Sequences of 24 words in which words of one of four topics are more frequent."""
    y = rng.integers(0, 4, count)
    x = rng.integers(1, 25, (count, LENGTH))
    topical = rng.random((count, LENGTH)) < 0.3
    x = np.where(topical, 1 + 6 * y[:, None] + rng.integers(0, 6, (count, LENGTH)), x)
    return torch.tensor(x), torch.tensor(y)


def _series(rng: np.random.Generator, count: int) -> Pair:
    """Windows of a noisy sum of two waves, and the next value."""
    t = np.arange(count + 24)
    wave = np.sin(t / 5.0) + 0.5 * np.sin(t / 2.3 + 1.0) + 0.1 * rng.standard_normal(len(t))
    x = np.stack([wave[i : i + 24] for i in range(count)])
    return torch.tensor(x, dtype=torch.float32), torch.tensor(wave[24:, None], dtype=torch.float32)


def _table(rng: np.random.Generator, count: int) -> Pair:
    y = rng.integers(0, 3, count)
    centres = rng.standard_normal((3, 8)) * 1.3
    x = centres[y] + rng.standard_normal((count, 8))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def _shapes(rng: np.random.Generator, count: int) -> Pair:
    """Bars, crosses and squares with noise, 12 by 12."""
    y = rng.integers(0, 4, count)
    x = 0.25 * rng.standard_normal((count, 12, 12))
    for image, label in zip(x, y, strict=True):
        row, column = rng.integers(2, 9, 2)
        if label in {0, 2}:
            image[row, max(column - 4, 0) : column + 4] += 1.0
        if label in {1, 2}:
            image[max(row - 4, 0) : row + 4, column] += 1.0
        if label == 3:
            image[row - 2 : row + 3, column - 2 : column + 3] += 0.8
    return torch.tensor(x, dtype=torch.float32)[:, None], torch.tensor(y)
