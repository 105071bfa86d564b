"""A first stage of training that stood at the level of a guess while a later one of the same log learned.

What a log of pretraining and fine-tuning ends with is the loss of the last; it hides that the first taught nothing.
"""

from __future__ import annotations

import math

import numpy as np

from analyzer.detect.base import FactWriter, RunView, number, refs_at
from analyzer.detect.curve import all_series, has_steps

ROWS = 10
"""Rows of a stage from which its standing still tells something."""

STANDS = 0.01
"""Within a hundredth of one level, and of the logarithm of the vocabulary where that is known."""

MANY_TOKENS = 9.0
"""ln of eight thousand: a first loss that high is one of tokens, and a guess among them where it stands."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.stage.*``."""
    found = all_series(view.run, "loss")
    if not found or not has_steps(found[0]):
        return
    series = found[0]
    falls = np.flatnonzero(np.diff(series.step) < 0) + 1
    if not falls.size or falls[0] < ROWS:
        return
    end = int(falls[0])
    values, after = series.value[:end], float(series.value[end])
    first = float(values[0])
    count = number(view.config_value("model.vocab_size"))
    level = math.log(count) if count is not None and count > 1 else first
    guessed = first >= MANY_TOKENS and bool(np.isfinite(values).all())
    stands = guessed and float(np.abs(values - level).max()) <= STANDS * level
    # The same training launched again begins where the first launch did.
    another = not abs(after - level) <= STANDS * level
    refs = refs_at(series, [0, end - 1])
    out.put("at_a_guess", stands and another, refs)
    if stands and another:
        out.put("level", float(values[-1]), refs)
        out.put("rows", end, refs)
