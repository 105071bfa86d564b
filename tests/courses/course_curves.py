"""Courses that a training can take, per epoch: loss, validation loss, accuracy, and what a right answer may say."""

import math
import random
from dataclasses import dataclass

CLASSES = 10
CHANCE = math.log(CLASSES)


@dataclass(frozen=True)
class Course:
    """One course.

    Attributes:
        train: Training loss by epoch.
        valid: Validation loss by epoch.
        accuracy: Validation accuracy by epoch, 0 to 1.
        causes: Causes of which one may stand first; empty for a sound run.
    """

    train: list[float]
    valid: list[float]
    accuracy: list[float]
    causes: frozenset[str] = frozenset()


NOT_LEARNING = frozenset(
    {
        "loss-plateau", "dead-network", "gradients-disabled", "lr-zero", "learning-rate-too-low", "learning-rate-too-high",
        "vanishing-gradient", "optimizer-holds-stale-params", "data-pipeline-bug", "underfitting", "loss-head-mismatch",
        "class-imbalance", "labels-shuffled",
    }
)  # fmt: skip
DIVERGING = frozenset(
    {
        "loss-divergence",
        "learning-rate-too-high",
        "exploding-gradient",
        "loss-spike-slow-recovery",
        "bad-data-pocket",
    }
)
NOT_FINITE = DIVERGING | {
    "nonfinite-forward", "nonfinite-gradients", "bad-input-data", "loss-implementation-bug", "labels-all-ignored"
}  # fmt: skip


def courses(epochs: int, seed: int) -> dict[str, Course]:
    """Every course, with scatter of a given seed."""
    dice = random.Random(seed)

    def noisy(values: list[float], scatter: float = 0.02) -> list[float]:
        return [value * (1 + dice.gauss(0, scatter)) for value in values]

    def falling(start: float, end: float, rate: float) -> list[float]:
        # the same part of the way in few epochs as in many
        return [end + (start - end) * math.exp(-rate * 14 * i / epochs) for i in range(epochs)]

    turn = max(2, epochs * 2 // 5)
    rest = epochs - turn
    train, valid = noisy(falling(2.25, 0.35, 0.35)), noisy(falling(2.2, 0.55, 0.33))
    accuracy = [1 - 0.9 * math.exp(-0.25 * 14 * i / epochs) for i in range(epochs)]
    chance = noisy([1 / CLASSES] * epochs)
    climbing = [1.9 ** (i + 1) for i in range(rest)]
    return {
        "sound": Course(train, valid, accuracy),
        "nan": Course(
            [*train[:turn], *[math.nan] * rest], [*valid[:turn], *[math.nan] * rest], [*accuracy[:turn], *[0.1] * rest], NOT_FINITE
        ),
        "nan-from-the-start": Course([math.nan] * epochs, [math.nan] * epochs, [0.1] * epochs, NOT_FINITE),
        "diverges": Course(
            [*train[:turn], *[train[turn - 1] * up for up in climbing]],
            [*valid[:turn], *[valid[turn - 1] * up for up in climbing]],
            [*accuracy[:turn], *chance[turn:]],
            DIVERGING,
        ),
        "explodes-at-once": Course(
            [2.3, 9.5, *noisy([7.4] * (epochs - 2))], noisy([7.6] * epochs), chance, DIVERGING | NOT_LEARNING
        ),
        "chance": Course(noisy([CHANCE] * epochs, 0.001), noisy([CHANCE] * epochs, 0.001), chance, NOT_LEARNING),
        "frozen": Course([0.6931] * epochs, [0.6931] * epochs, [0.5] * epochs, NOT_LEARNING),
        "overfits": Course(
            falling(2.2, 0.01, 0.5),
            [*falling(2.2, 0.7, 0.8)[:turn], *[0.85 + 2.2 * (i + 1) / epochs for i in range(rest)]],
            [*accuracy[:turn], *[accuracy[turn - 1]] * rest],
            frozenset({"overfitting", "too-many-epochs", "train-eval-format-mismatch"}),
        ),
        "rises-and-stays": Course(
            [*train[:turn], *noisy([1.9] * rest)],
            [*valid[:turn], *noisy([1.95] * rest)],
            [*accuracy[:turn], *noisy([0.3] * rest)],
            DIVERGING,
        ),
        "validation-at-chance": Course(
            train,
            noisy([CHANCE + 0.05] * epochs, 0.01),
            chance,
            frozenset(
                {
                    "overfitting", "train-eval-format-mismatch", "data-pipeline-bug", "train-eval-mode", "label-map-mismatch",
                    "batchnorm-statistics-mismatch",
                }
            ),
        ),
        "hardly-learns": Course(
            [CHANCE - 0.15 * i / epochs for i in range(epochs)],
            [CHANCE - 0.13 * i / epochs for i in range(epochs)],
            [0.11 + 0.04 * i / epochs for i in range(epochs)],
            NOT_LEARNING,
        ),
    }  # fmt: skip
