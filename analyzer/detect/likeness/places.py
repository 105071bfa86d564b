"""The causes that labelled runs had, the likeliest six, as facts: of runs with such numbers, and of runs that ended in such words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyzer.detect.base import FactWriter
from analyzer.model.labels import HEALTHY, OUTSIDE
from analyzer.model.refs import SourceRef

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")
"""A seventh cause holds less than 2 % wherever the first six are told."""


def put_places(
    out: FactWriter,
    labels: Sequence[str],
    scores: npt.NDArray[np.float32],
    shares: npt.NDArray[np.float32],
    least: float,
    refs: Sequence[SourceRef],
) -> None:
    """Facts ``first`` to ``sixth``, each with its score and its probability among the causes.

    Args:
        out: Takes the facts.
        labels: Causes, ``healthy`` and ``outside``.
        scores: About 1 for the cause of a run and 0 for the others, shape (labels,).
        shares: Probability of each label, shape (labels,).
        least: Probability below which a cause is left out.
        refs: Where what was judged stands.
    """
    causes = [i for i, label in enumerate(labels) if label not in {HEALTHY, OUTSIDE}]
    whole = max(float(shares[causes].sum()), 1e-6)
    ranked = sorted(causes, key=lambda i: -float(shares[i]))
    for place, row in zip(PLACES, ranked, strict=False):
        share = float(shares[row]) / whole
        if share < least:
            break
        out.put(place, labels[row], refs)
        out.put(f"{place}_probability", share, refs)
        out.put(f"{place}_score", float(scores[row]), refs)
