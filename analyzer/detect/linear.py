"""Linear models in one byte a weight: how they are packed, read and scored; nothing in a file is executed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

LARGEST = 127
"""Of a weight in one byte with a sign."""


def pack_linear(weights: npt.NDArray[np.float64], bias: npt.NDArray[np.float64]) -> dict[str, Any]:
    """The arrays of a model file for a row of weights and a bias per class.

    >>> pack_linear(np.array([[0.5, -1.0]]), np.zeros(1))["weights"].tolist()
    [[64, -127]]
    """
    scale = np.maximum(np.abs(weights).max(axis=1), 1e-9) / LARGEST
    return {
        "weights": np.round(weights / scale[:, None]).astype(np.int8),
        "scale": scale.astype(np.float32),
        "bias": bias.astype(np.float32),
    }


def write_linear(arrays: Mapping[str, Any], path: Path) -> None:
    """Write a model file of exactly this name."""
    with path.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def read_linear(path: Path) -> dict[str, Any]:
    """The arrays of a model file with the weights as numbers again."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = dict(stored)
    arrays["weights"] = arrays["weights"].astype(np.float32) * arrays.pop("scale")[:, None]
    return arrays


def probabilities(scores: npt.NDArray[np.floating[Any]]) -> npt.NDArray[Any]:
    """Scores along the last axis as shares that add up to one.

    >>> probabilities(np.log([[1.0, 3.0]])).round(3).tolist()
    [[0.25, 0.75]]
    """
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))
