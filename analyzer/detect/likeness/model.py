"""The shipped numbers of the model of likeness, scored with NumPy alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float32]

SHIPPED = Path(__file__).with_name("likeness.npz")

HEALTHY, OUTSIDE = "healthy", "outside"
"""Labels that are no causes: sound runs, and runs whose cause the catalogue does not hold."""


@dataclass(frozen=True)
class LikenessModel:
    """Weights of each label over marks.

    Attributes:
        labels: Causes, ``healthy`` and ``outside``.
        prior: Share of each label among the runs it was trained on.
        place: Column of each mark.
        weights: float32, shape (labels, marks).
        bias: float32, shape (labels,).
    """

    labels: tuple[str, ...]
    prior: Values
    place: Mapping[str, int]
    weights: Values
    bias: Values

    def shares(self, marks: Iterable[str]) -> Values:
        """Probability of each label for a run with these marks; marks that it was not taught are passed over."""
        known = [self.place[mark] for mark in marks if mark in self.place]
        scores = self.weights[:, known].sum(axis=1) + self.bias
        odds = np.exp(scores - scores.max())
        shares: Values = (odds / odds.sum()).astype(np.float32)
        return shares


@lru_cache(maxsize=1)
def shipped_likeness() -> LikenessModel:
    """The model that comes with analyzer."""
    return read_likeness(SHIPPED)


def read_likeness(path: Path) -> LikenessModel:
    """A model from its file: numbers and names only, nothing that is executed."""
    with np.load(path, allow_pickle=False) as stored:
        scale = stored["scale"].astype(np.float32)
        return LikenessModel(
            labels=tuple(str(name) for name in stored["labels"]),
            prior=stored["prior"].astype(np.float32),
            place={str(mark): column for column, mark in enumerate(stored["marks"])},
            weights=stored["weights"].astype(np.float32) * scale[:, None],
            bias=stored["bias"].astype(np.float32),
        )
