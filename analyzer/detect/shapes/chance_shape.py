"""The loss against what a guess costs, where a config file tells the number of classes or tokens."""

from __future__ import annotations

from analyzer.detect.shapes.curve_set import Curves
from analyzer.detect.shapes.feature import LOG2, Feature

_LOSS, _EVAL = ("loss", "classes"), ("eval_loss", "classes")

FEATURES = (
    Feature(
        "chance_start", "chance", "factor", "loss in the first 2 % / ln(classes or tokens)",
        "cross-entropy of a uniform guess; initial-loss check (Karpathy 2019)",
        "the loss began at {value:.2f} times what a guess costs|the loss began at one {value:.2f}th of what a guess costs", -8, 8, LOG2, _LOSS, "first",
    ),
    Feature(
        "chance_best", "chance", "factor", "least running median of the loss / ln(classes or tokens)", "the same",
        "at its best the loss was {value:.2f} times what a guess costs|at its best the loss was one {value:.2f}th of what a guess costs", -8, 8, LOG2, _LOSS, "best",
    ),
    Feature(
        "chance_end", "chance", "factor", "loss in the last 5 % / ln(classes or tokens)", "the same",
        "the loss ended at {value:.2f} times what a guess costs|the loss ended at one {value:.2f}th of what a guess costs", -8, 8, LOG2, _LOSS,
    ),
    Feature(
        "chance_eval_end", "chance", "factor", "last evaluation loss / ln(classes or tokens)", "the same",
        "the evaluation loss ended at {value:.2f} times what a guess costs|the evaluation loss ended at one {value:.2f}th of what a guess costs", -8, 8, LOG2, _EVAL,
    ),
)  # fmt: skip


def measure(seen: Curves) -> dict[str, float]:
    """Values in their natural units; a loss at or below zero is no cross-entropy and gives none."""
    found: dict[str, float] = {}
    if seen.chance is None:
        return found
    if seen.loss is not None:
        unit = seen.loss.scale / seen.chance
        found["chance_start"] = seen.loss.start() * unit
        found["chance_best"] = float(seen.loss.smooth.min()) * unit
        found["chance_end"] = seen.loss.end() * unit
    if seen.evaluation is not None:
        found["chance_eval_end"] = float(seen.evaluation.value[-1]) * seen.evaluation.scale / seen.chance
    return {name: value for name, value in found.items() if value > 0}
