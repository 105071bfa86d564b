"""What the error lines of a log are like, by their words alone: a hint for messages that no pattern knows.

A linear model compares them with messages whose causes are known. It answers only where it is sure enough, by messages held
out and by those of causes that it was not taught. What a launcher reports of a process that ended, and what stands below
such a report, says nothing of why and is not asked.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.detect.failures.message_features import pieces
from analyzer.detect.linear import probabilities, read_linear, weights_of
from analyzer.model.refs import SourceRef
from analyzer.model.signal import Signal

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float32]

# The shipped numbers of the reader of unknown messages: a linear model, scored with NumPy alone.
SHIPPED = Path(__file__).with_name("messages.linear")


class MessageModel(NamedTuple):
    """Weights of each cause over the pieces of a message.

    Attributes:
        causes: Identifiers of the causes.
        weights: One row per cause, packed.
        scale: Of each row.
        bias: One number per cause.
        rarity: Inverse document frequency of each piece; 0 for pieces that no message of training has.
        temperature: Divides the scores, so that the probabilities are those of messages held out.
        least: Probability from which an answer is given.
    """

    causes: tuple[str, ...]
    weights: npt.NDArray[np.int8]
    scale: Values
    bias: Values
    rarity: Values
    temperature: float
    least: float

    def probabilities(self, lines: Iterable[str]) -> Values:
        """Calibrated probability of each cause for a message."""
        places = np.fromiter(sorted(pieces(lines)), dtype=np.int64)
        vector = self.rarity[places]
        length = float(np.linalg.norm(vector)) or 1.0
        weights = weights_of(self.weights, self.scale, places)
        scores = (weights @ vector / length + self.bias) / self.temperature
        return probabilities(scores)


@lru_cache(maxsize=1)
def shipped_messages() -> MessageModel:
    """The model that comes with analyzer."""
    return read_messages(SHIPPED)


def read_messages(path: Path) -> MessageModel:
    """A model from its file: numbers and names only, nothing that is executed."""
    stored = read_linear(path)
    return MessageModel(
        causes=tuple(stored["causes"]),
        weights=stored["weights"],
        scale=stored["scale"],
        bias=stored["bias"],
        rarity=stored["rarity"].astype(np.float32),
        temperature=float(stored["temperature"]),
        least=float(stored["least"]),
    )


MAX_BITS = 3.0
"""Words alone can tip a balance (8:1) and never overrule what was recognised."""

LINES_SHOWN = 2

_AFTERWARDS = frozenset({"cascade", "teardown"})

_REPORTS = frozenset({"torchrun_worker_failed"})
"""Reports of launchers that are no consequence of something in the log, but the first that is known."""


def detect(view: RunView) -> Iterator[Signal]:
    """Facts ``message.*``."""
    found = list(_errors(view))
    if not found:
        return
    answer = answer_of([text for *_, text in found], shipped_messages())
    if answer is None:
        return
    cause, probability, prior = answer
    out = FactWriter("unknown_message", "message.")
    refs = [SourceRef(source, line) for source, line, _ in found[-LINES_SHOWN:]]
    out.put("cause", cause, refs)
    out.put("probability", probability, refs)
    bits = math.log2(probability / (1 - probability)) - math.log2(prior / (1 - prior))
    out.put("bits", round(min(bits, MAX_BITS), 1), refs)
    yield out.signal()


def _errors(view: RunView) -> Iterator[tuple[int, int, str]]:
    """Source, number and text of the error lines up to what only follows: reports of launchers, the end of other processes."""
    after: defaultdict[int, set[int]] = defaultdict(set)
    roots: defaultdict[int, int] = defaultdict(int)
    for event in view.run.events.rows:
        source, line = event.ref.source, event.ref.line
        if line is None:
            continue
        if event.role in _AFTERWARDS or event.kind in _REPORTS:
            after[source].add(line)
        elif event.role == "root_candidate":
            roots[source] = max(roots[source], line)
    for end in view.run.log_ends:
        if not end.errors:
            continue
        least = max(end.errors[0][0], roots[end.source])
        until = min((line for line in after[end.source] if line > least), default=math.inf)
        for number, text in end.errors:
            if number < until and number not in after[end.source]:
                yield end.source, number, text


def answer_of(lines: list[str], model: MessageModel) -> tuple[str, float, float] | None:
    """The likeliest cause of some lines, its probability and what it would be for any message; None if unsure."""
    shares = model.probabilities(lines)
    best = int(shares.argmax())
    probability = float(np.clip(shares[best], 1e-6, 1 - 1e-6))
    if probability < model.least:
        return None
    return model.causes[best], probability, 1 / len(model.causes)
