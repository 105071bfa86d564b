"""The causes that labelled runs with such numbers had, the likeliest six, and whether such runs were sound.

It sees facts only, so it knows nothing that a rule could not know; what it adds is how often such runs turned out to be what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analyzer.detect.base import FactWriter
from analyzer.detect.likeness.marks import COURSES, KNOWN, marks_of
from analyzer.detect.likeness.places import put_places
from analyzer.detect.likeness.trees import Trees, trees_of
from analyzer.detect.linear import probabilities, read_linear, weights_of
from analyzer.model.labels import HEALTHY
from analyzer.model.signal import Signal
from analyzer.record import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float32]

# The shipped numbers of the model of likeness, scored with NumPy alone.
SHIPPED = Path(__file__).with_name("likeness.linear")


class LikenessModel(NamedTuple):
    """A penalised multinomial and randomised trees over the same marks.

    Attributes:
        labels: Causes, ``healthy`` and ``outside``.
        place: Column of each mark.
        weights: int8, shape (labels, marks), packed.
        scale: float32, shape (labels,): of each row of weights.
        bias: float32, shape (labels,).
        trees: The trees.
    """

    labels: tuple[str, ...]
    place: Mapping[str, int]
    weights: npt.NDArray[np.int8]
    scale: Values
    bias: Values
    trees: Trees

    def shares(self, marks: Iterable[str]) -> Values:
        """Probability of each label for a run with these marks; marks that it was not taught are passed over."""
        known = [self.place[mark] for mark in marks if mark in self.place]
        scores = weights_of(self.weights, self.scale, known).sum(axis=1) + self.bias
        present = np.zeros(len(self.place), np.bool_)
        present[known] = True
        by_trees = self.trees.shares(present, len(self.labels))
        return np.asarray((1.0 - OF_TREES) * probabilities(scores) + OF_TREES * by_trees, np.float32)


@lru_cache(maxsize=1)
def shipped_likeness() -> LikenessModel:
    """The model that comes with analyzer."""
    return read_likeness(SHIPPED)


def read_likeness(path: Path) -> LikenessModel:
    """A model from its file: numbers and names only, nothing that is executed."""
    stored = read_linear(path)
    return LikenessModel(
        labels=tuple(stored["labels"]),
        place={mark: column for column, mark in enumerate(stored["marks"])},
        weights=stored["weights"],
        scale=stored["scale"],
        bias=stored["bias"],
        trees=trees_of(stored),
    )


EMITS = ("likeness.",)

OF_TREES = 0.3
"""Weight of the trees. Of 301 faulty runs that no rule was written with the multinomial named 76 % first, trees 74, both by these
weights 78 (one of three 91 %); sound runs are told from faulty ones better too (area .88 against .86)."""

LEAST = 0.01
"""Probability below which a label is no candidate: less than rules give what they weighed and did not find."""

ENOUGH_FACTS = 8
"""Facts without which the answer is little more than how common the causes are: of 4, 8, 12 and 16 the best on 606 faulty runs."""

FAMILIAR = 0.9
"""Share of its facts from which a run is one of those that the model was taught: what it does not know it passes over, so
that a run unlike all would look sound. Below it are 6 of 92 held-out runs that look sound to it and have a fault found rightly."""


def likeness(signals: Sequence[Signal], model: LikenessModel | None = None) -> Signal | None:
    """Facts ``likeness.*`` from those of all detectors; None without numbers to judge."""
    found = {name: fact for signal in signals for name, fact in signal.facts.items()}
    marks = marks_of({name: fact.value for name, fact in found.items()})
    known = shipped_likeness() if model is None else model
    told = [mark in known.place for mark in marks if mark.endswith(KNOWN)]
    if sum(told) < ENOUGH_FACTS:
        return None
    shares = known.shares(marks)
    refs = next((fact.refs for name, fact in found.items() if name.startswith(COURSES) and fact.refs), ())
    out = FactWriter("likeness.")
    sound = float(shares[known.labels.index(HEALTHY)]) if HEALTHY in known.labels else 0.0
    if sum(told) >= FAMILIAR * len(told):
        out.put("sound", sound, refs)
    put_places(out, known.labels, shares, LEAST, refs)
    return Signal("likeness", out.facts) if out.facts else None
