"""The shipped numbers of the reader of unknown messages: a linear model, scored with NumPy alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.detect.failures.message_features import pieces
from analyzer.detect.linear import probabilities, read_linear, weights_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float32]

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
