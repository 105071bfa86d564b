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
from analyzer.detect.linear import PackedRidge, read_linear, ridge_of, shares_of
from analyzer.model.labels import HEALTHY
from analyzer.model.signal import Signal
from analyzer.record import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float32]

# The shipped numbers of the model of likeness, scored with NumPy alone.
SHIPPED = Path(__file__).with_name("likeness.linear")


class LikenessModel(NamedTuple):
    """A ridge over marks.

    Attributes:
        labels: Causes, ``healthy`` and ``outside``.
        place: Column of each mark.
        ridge: Its weights.
    """

    labels: tuple[str, ...]
    place: Mapping[str, int]
    ridge: PackedRidge

    def scores(self, marks: Iterable[str]) -> Values:
        """About 1 for what such runs were, shape (labels,); marks that it was not taught are passed over."""
        return self.ridge.scores([self.place[mark] for mark in marks if mark in self.place])


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
        ridge=ridge_of(stored),
    )


EMITS = ("likeness.",)

SOUND_SHARPNESS = 1.5
"""Power that tells sound runs from all faulty ones together: log loss .366 on 5,300 runs held out, of powers of 1 and 2 .54 and .39."""

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
    scores = known.scores(marks)
    refs = next((fact.refs for name, fact in found.items() if name.startswith(COURSES) and fact.refs), ())
    out = FactWriter("likeness.")
    if sum(told) >= FAMILIAR * len(told):
        sound = dict(zip(known.labels, shares_of(scores, SOUND_SHARPNESS).tolist(), strict=True))
        out.put("sound", sound.get(HEALTHY, 0.0), refs)
    put_places(out, known.labels, scores, shares_of(scores), LEAST, refs)
    return Signal("likeness", out.facts) if out.facts else None
