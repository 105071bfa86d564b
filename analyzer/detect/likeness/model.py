"""The shipped numbers of the model of likeness, scored with NumPy alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.detect.linear import probabilities, read_linear, weights_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float32]

SHIPPED = Path(__file__).with_name("likeness.linear")


class LikenessModel(NamedTuple):
    """Weights of each label over marks.

    Attributes:
        labels: Causes, ``healthy`` and ``outside``.
        prior: Share of each label among the runs it was trained on.
        place: Column of each mark.
        weights: int8, shape (labels, marks), packed.
        scale: float32, shape (labels,): of each row of weights.
        bias: float32, shape (labels,).
    """

    labels: tuple[str, ...]
    prior: Values
    place: Mapping[str, int]
    weights: npt.NDArray[np.int8]
    scale: Values
    bias: Values

    def shares(self, marks: Iterable[str]) -> Values:
        """Probability of each label for a run with these marks; marks that it was not taught are passed over."""
        known = [self.place[mark] for mark in marks if mark in self.place]
        scores = weights_of(self.weights, self.scale, known).sum(axis=1) + self.bias
        return probabilities(scores)


@lru_cache(maxsize=1)
def shipped_likeness() -> LikenessModel:
    """The model that comes with analyzer."""
    return read_likeness(SHIPPED)


def read_likeness(path: Path) -> LikenessModel:
    """A model from its file: numbers and names only, nothing that is executed."""
    stored = read_linear(path)
    return LikenessModel(
        labels=tuple(stored["labels"]),
        prior=stored["prior"],
        place={mark: column for column, mark in enumerate(stored["marks"])},
        weights=stored["weights"],
        scale=stored["scale"],
        bias=stored["bias"],
    )
