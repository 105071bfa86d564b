"""Names that the user chose: which logged series is the loss, whatever the words say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from analyzer.errors import InputError
from analyzer.ingest.names import METRICS
from analyzer.model.ranked import distinct_of
from analyzer.model.run import Run
from analyzer.record import replace


def parse_choices(texts: Iterable[str]) -> dict[str, str]:
    """Choices such as ``loss=train_mse``, the canonical name first.

    >>> parse_choices(["loss=train_mse"])
    {'loss': 'train_mse'}

    Raises:
        InputError: One is no such pair, or its first name is none that is known here.
    """
    chosen: dict[str, str] = {}
    for text in texts:
        metric, sign, logged = (part.strip() for part in text.partition("="))
        if not sign or not logged:
            raise InputError(f"--metric {text}: give it as loss=NAME, with the name that the log uses")
        if metric not in METRICS:
            raise InputError(
                f"--metric {text}: {metric} is no metric here; usual ones: loss, eval_loss, grad_norm"
            )
        chosen[metric] = logged
    return chosen


def with_names(run: Run, chosen: Mapping[str, str]) -> Run:
    """The run with the chosen series under their canonical names; what stood under them keeps its logged name.

    Raises:
        InputError: The run logged nothing under a chosen name.
    """
    table = run.metrics
    for metric, logged in chosen.items():
        codes = [code for code, name in enumerate(table.raw_names) if name.lower() == logged.lower()]
        if not codes:
            some = ", ".join(sorted(table.raw_names)[:MAX_SHOWN]) or "no metric at all"
            raise InputError(f"--metric {metric}={logged}: the run logged no such metric; it logged {some}")
        names = list(table.names)
        column = table.metric.copy()
        picked = np.isin(table.raw, codes)
        if metric in names:
            others = column == names.index(metric)
            for raw in distinct_of(table.raw[others & ~picked]):
                names.append(f"logged as {table.raw_names[int(raw)]}")
                column[others & (table.raw == raw)] = len(names) - 1
        else:
            names.append(metric)
        column[picked] = names.index(metric)
        table = replace(table, names=tuple(names), metric=column)
    return replace(run, metrics=table)


MAX_SHOWN = 20
"""Names that the message lists when the chosen one is missing."""
