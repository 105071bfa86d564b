"""The loss against what a guess costs, where a config file tells the number of classes or tokens."""

from __future__ import annotations

from analyzer.detect.shapes.curve_set import Curves


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
