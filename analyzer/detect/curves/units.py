"""Whether an accuracy that never leaves 0 to 1 is a percentage all the same, because its neighbour in the same rows is one."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import RunView
from analyzer.model.name_words import word_set, words_of

SHARE, PERCENT = 1.5, 100.0
"""Shares end at 1, percentages at 100; half again for a share that is summed wrongly."""

TOGETHER = 0.5
"""Half of the rows hold both."""

_RIGHT = word_set("acc accuracy accu acc1 acc5 accuracy1 accuracy5 top1 top5 prec1 prec5")


def small_percentages(view: RunView) -> frozenset[str]:
    """Names of accuracies below 1.5 whose rows hold another accuracy in percent: ``Acc@1 1.000 Acc@5 5.000`` of 100 classes."""
    lines = {}
    for name in view.run.metrics.names:
        series = None if _RIGHT.isdisjoint(words_of(name)) else view.curve(name)
        if series is not None and np.isfinite(series.value).any():
            places = set(zip(series.source.tolist(), series.line.tolist(), strict=True))
            lines[name] = (float(np.nanmax(series.value)), places)
    in_percent = [places for top, places in lines.values() if SHARE < top <= PERCENT]
    return frozenset(
        name
        for name, (top, places) in lines.items()
        if top <= SHARE and any(len(places & beside) >= TOGETHER * len(places) for beside in in_percent)
    )
