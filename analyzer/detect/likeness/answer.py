"""The causes that labelled runs with such numbers had: three candidates, each with the bits it may add to a rule.

It sees facts only, so it knows nothing that a rule could not know; what it adds is how often such runs turned out to
be what. Its word is small: it tips a balance, and names candidates where no rule speaks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analyzer.detect.base import FactWriter
from analyzer.detect.likeness.marks import COURSES, marks_of
from analyzer.detect.linear import probabilities, read_linear, weights_of
from analyzer.model.labels import HEALTHY, OUTSIDE
from analyzer.model.signal import Signal
from analyzer.record import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float32]

# The shipped numbers of the model of likeness, scored with NumPy alone.
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


EMITS = ("likeness.",)

PLACES = ("first", "second", "third")

MAX_BITS = 3.0
"""What runs usually turn out to be can tip a balance (8:1) and never overrules what was seen in this one."""

LEAST = 0.03
"""Probability below which a label is no candidate. Many causes share the rest where no rule speaks: on 148 labelled runs that no
rule was written with, one of three is right in 92 % from here on, and in 85 % from a tenth on."""

ENOUGH_MARKS = 12
"""Facts without which the answer is little more than how common the causes are."""

FAMILIAR = 0.9
"""Share of its marks from which a run is one of those that the model was taught: what it does not know it passes over, so
that a run unlike all would look sound. Below it are 6 of 92 held-out runs that look sound to it and have a fault found rightly."""


def likeness(signals: Sequence[Signal], model: LikenessModel | None = None) -> Signal | None:
    """Facts ``likeness.*`` from those of all detectors; None without numbers to judge."""
    found = {name: fact for signal in signals for name, fact in signal.facts.items()}
    marks = marks_of({name: fact.value for name, fact in found.items()})
    known = shipped_likeness() if model is None else model
    known_marks = [mark for mark in marks if mark in known.place]
    if len(known_marks) < ENOUGH_MARKS:
        return None
    shares = known.shares(known_marks)
    refs = next((fact.refs for name, fact in found.items() if name.startswith(COURSES) and fact.refs), ())
    out = FactWriter("likeness", "likeness.")
    causes = [i for i, label in enumerate(known.labels) if label not in {HEALTHY, OUTSIDE}]
    sound = float(shares[known.labels.index(HEALTHY)]) if HEALTHY in known.labels else 0.0
    if len(known_marks) >= FAMILIAR * len(marks):
        out.put("sound", sound, refs)
    ranked = sorted(causes, key=lambda i: -float(shares[i]))
    for place, row in zip(PLACES, ranked, strict=False):
        share = float(shares[row]) / max(1.0 - sound, 1e-6)
        if share < LEAST:
            break
        out.put(place, known.labels[row], refs)
        out.put(f"{place}_probability", share, refs)
        prior = float(known.prior[row]) / max(float(known.prior[causes].sum()), 1e-6)
        out.put(f"{place}_bits", round(min(max(_log_odds(share) - _log_odds(prior), 0.0), MAX_BITS), 1), refs)
    return out.signal() if out.facts else None


def _log_odds(share: float) -> float:
    share = float(np.clip(share, 1e-3, 1 - 1e-3))
    return math.log2(share / (1 - share))
