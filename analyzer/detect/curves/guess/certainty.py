"""Whether every wrong answer costs as much as the loss can cost: the outputs are exactly 0 and 1, and no gradient is left.

Libraries clip a probability before its logarithm. Where each wrong answer costs just that limit and each right one
nothing, the mean loss of a row is the limit times the share of wrong answers, whatever the task.
"""

from __future__ import annotations

import math
from itertools import chain, combinations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, refs_at
from analyzer.detect.curve import align
from analyzer.model.name_words import read_name, word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef

LIMITS = (
    -math.log(1e-7),  # Keras
    -math.log(np.finfo(np.float32).eps),  # Keras on Theano, and loops that add the epsilon of float32
    -math.log(1e-8),
    -math.log(1e-10),
    -math.log(1e-12),
    -math.log(1e-15),  # scikit-learn
    -math.log(np.finfo(np.float32).tiny),  # Caffe
    100.0,  # PyTorch's binary cross-entropy
)

ROWS = 3
"""Rows that must all fit: one may do so by accident."""

FITS = 0.005
"""Relative distance: four digits of an accuracy leave less."""

MOST_PARTS, TO_THE_DIGIT, SMALL_PART = 6, 2e-3, 0.001
"""Parts of a loss whose sums are tried; as printed they agree within a few thousandths, and one of a thousandth is none."""

COSTS = 1.0
"""Below that most answers are right, and a few saturated ones are no fault."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.certain.*``."""
    found = view.once(clipped_cost)
    if found is None:
        return
    limit, refs = found
    out.put("saturated", limit is not None, refs)
    out.put("cost", limit, refs)


def clipped_cost(view: RunView) -> tuple[float | None, list[SourceRef]] | None:
    """What every wrong answer costs, if that is a known limit; None if loss and accuracy are not logged together."""
    loss, shares = view.finite("loss", ROWS), view.finite("accuracy", ROWS)
    if loss is None or shares is None:
        return None
    match = align(loss, shares)
    rows = np.flatnonzero(match >= 0)
    if rows.size < ROWS:
        return None
    tail = rows[-max(rows.size // 2, ROWS) :]
    right = shares.value[match[tail]] / (100.0 if float(shares.value.max()) > 1.0 else 1.0)
    costs = loss.value[tail] / np.maximum(1.0 - right, 1e-9)
    limit = next((limit for limit in LIMITS if float(np.abs(costs / limit - 1).max()) <= FITS), None)
    if float(median_of(loss.value[tail])) < COSTS:
        limit = None
    return limit, refs_at(loss, [int(tail[-1]), int(tail[0])])


def is_error_of_numbers(name: str) -> bool:
    """Whether a name is that of an error of predicted numbers, of which no answer is right or wrong.

    >>> is_error_of_numbers("mean_squared_error"), is_error_of_numbers("train_mse"), is_error_of_numbers("word_error_rate")
    (True, True, False)
    """
    words = set(words_of(name))
    return not _ERRORS.isdisjoint(words) or ("error" in words and not _OF_NUMBERS.isdisjoint(words))


_ERRORS, _OF_NUMBERS = word_set("mse mae rmse mape"), word_set("squared absolute")


def is_total(view: RunView) -> bool:
    """Whether no guess tells the level of the training loss: a sum of losses printed beside it, or of others by far, or an error of numbers."""
    whole = view.curve("loss")
    errors = (view.curve(name) for name in view.run.metrics.names if is_error_of_numbers(name))
    if whole is not None and any(e is not None and np.array_equal(e.value[-ROWS:], whole.value[-ROWS:]) for e in errors):  # fmt: skip
        return True
    names = [name for name in sorted(view.run.metrics.names) if "loss" in name and name != "loss"]
    found = [part for n in names if read_name(n).phase != "eval" and (part := view.curve(n)) is not None]
    if whole is None or not found:
        return False
    parts = {part.metric: part.value[rows] for part in found if ((rows := align(whole, part)) >= 0).all()}
    if (2 * parts.get("output_loss", whole.value) < whole.value).all():
        return True
    large = [part for part in parts.values() if (part > SMALL_PART * whole.value).all()][:MOST_PARTS]
    sums = chain.from_iterable(combinations(large, size) for size in range(2, len(large) + 1))
    return any(np.allclose(np.sum(some, axis=0), whole.value, TO_THE_DIGIT) for some in sums)
