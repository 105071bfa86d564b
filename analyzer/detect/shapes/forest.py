"""Scoring a feature vector with a trained forest: NumPy only, no scikit-learn, no code in the file that is loaded.

A model file is one JSON object. Trees lie behind one another in flat columns; node ``i`` sends a run to ``left[i]`` if
its feature is at most the threshold (compared as float32, as scikit-learn does), to ``right[i]`` otherwise, and by
``missing_left[i]`` if the feature is unknown. A negative child ``-1 - j`` is leaf ``j``, a distribution over
the classes, of which the shares above zero are listed. The long columns are their bytes in base64: a list of numbers takes
twenty times as long to read.
The mean over the trees is calibrated (``softmax(log(p) / temperature + bias)``) and compared with one threshold per class:
the classes that reach theirs are the split-conformal set.
"""

from __future__ import annotations

import json
import os
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from analyzer.detect.linear import probabilities
from analyzer.detect.shapes.feature_list import FEATURE_VERSION, FEATURES
from analyzer.errors import InputError
from analyzer.model.arrays import Mask, Rows, Values
from analyzer.record import dataclass, field

SCHEMA = 1
VARIABLE = "ANALYZER_CLASSIFIER"
SHIPPED = Path(__file__).with_name("model.json")
MAX_BYTES = 3_000_000
"""A model is small; a larger file is something else."""

PACKED = {
    **dict.fromkeys(("feature", "missing_left", "leaf_class"), "<i2"),
    **dict.fromkeys(("left", "right", "leaf_row"), "<i4"),
    **dict.fromkeys(("threshold", "leaf_share"), "<f8"),
}
"""The long columns, and the numbers that they are made of."""

FLOOR = 1e-4
"""Least raw probability before the logarithm: no tree of a few hundred can tell one in ten thousand from none."""


@dataclass(frozen=True, slots=True)
class Model:
    """A trained classifier."""

    classes: tuple[str, ...]  # names of the classes, n_classes
    roots: Rows  # int64, shape (n_trees,): node or leaf (negative) in which each tree begins
    feature: Rows  # int64, shape (n_nodes,): index into the feature vector
    threshold: Values  # float64, shape (n_nodes,)
    left: Rows  # int64, shape (n_nodes,)
    right: Rows  # int64, shape (n_nodes,)
    missing_left: Mask  # bool, shape (n_nodes,)
    leaves: Values  # float64, shape (n_leaves, n_classes), rows sum to 1
    temperature: float  # divisor of the log probabilities
    bias: Values  # float64, shape (n_classes,), added to them
    prior: Values  # float64, shape (n_classes,): share of each class in training
    # float64, shape (n_classes,): least calibrated probability with which a class is in the set
    threshold_of: Values
    low: Values  # float64, shape (n_features,): 1st percentile in training; NaN if never known
    high: Values  # float64, shape (n_features,): 99th percentile in training
    # share of features outside ``low`` to ``high`` up to which a run is like those of training
    outside_limit: float
    about: Mapping[str, Any]  # what it was trained on and how it did, for people
    _below: dict[int, Values] = field(default_factory=dict, repr=False, compare=False)

    def leaf_of(self, vector: Values) -> Rows:
        """Leaf of each tree that a run falls into, int64, shape (n_trees,)."""
        at = self.roots.copy()
        narrow = vector.astype(np.float32).astype(np.float64)
        while (inner := at >= 0).any():
            node = at[inner]
            value = narrow[self.feature[node]]
            goes_left = np.where(np.isnan(value), self.missing_left[node], value <= self.threshold[node])
            at[inner] = np.where(goes_left, self.left[node], self.right[node])
        return np.asarray(-1 - at)

    def raw(self, vector: Values) -> Values:
        """Mean class distribution of the trees, shape (n_classes,)."""
        return np.asarray(self.leaves[self.leaf_of(vector)].mean(axis=0))

    def calibrated(self, vector: Values) -> Values:
        """Calibrated probabilities, shape (n_classes,)."""
        return np.asarray(calibrate(self.raw(vector)[None, :], self.temperature, self.bias)[0])

    def conformal_set(self, probabilities: Values) -> tuple[str, ...]:
        """Classes that cannot be excluded, the likeliest first."""
        order = np.argsort(-probabilities, kind="stable")
        return tuple(self.classes[k] for k in order if probabilities[k] >= self.threshold_of[k])

    def outside_share(self, vector: Values) -> float:
        """Share of the known features below the 1st or above the 99th percentile of training."""
        known = np.isfinite(vector) & np.isfinite(self.low)
        if not known.any():
            return 1.0
        return float(((vector[known] < self.low[known]) | (vector[known] > self.high[known])).mean())

    def contributions(self, vector: Values, name: str) -> Values:
        """How much each feature moved the class's share on the way from root to leaf, shape (n_features,).

        The change of the class's mean over the leaves below, credited to the feature of the node that was passed
        (Saabas 2014), averaged over the trees.
        """
        k = self.classes.index(name)
        below = self._means(k)
        narrow = vector.astype(np.float32).astype(np.float64)
        moved = np.zeros(len(vector))
        at = self.roots[self.roots >= 0]
        while at.size:
            value = narrow[self.feature[at]]
            goes_left = np.where(np.isnan(value), self.missing_left[at], value <= self.threshold[at])
            child = np.where(goes_left, self.left[at], self.right[at])
            np.add.at(moved, self.feature[at], self._share(child, k, below) - below[at])
            at = child[child >= 0]
        return moved / len(self.roots)

    def _share(self, child: Rows, k: int, below: Values) -> Values:
        """A class's share in a leaf, or its mean over the leaves below a node."""
        return np.where(child < 0, self.leaves[np.maximum(-1 - child, 0), k], below[np.maximum(child, 0)])

    def _means(self, k: int) -> Values:
        """Mean of a class over the leaves below each node, shape (n_nodes,); the same for all runs, so kept."""
        if k in self._below:
            return self._below[k]
        levels: list[Rows] = []
        at = self.roots[self.roots >= 0]
        while at.size:
            levels.append(at)
            children = np.concatenate([self.left[at], self.right[at]])
            at = children[children >= 0]
        total, count = np.zeros(len(self.feature)), np.zeros(len(self.feature))
        for nodes in reversed(levels):  # every child's sum is known before its parent's
            for child in (self.left[nodes], self.right[nodes]):
                leaf, inner = child < 0, np.maximum(child, 0)
                total[nodes] += np.where(leaf, self.leaves[np.maximum(-1 - child, 0), k], total[inner])
                count[nodes] += np.where(leaf, 1.0, count[inner])
        self._below[k] = total / np.maximum(count, 1.0)
        return self._below[k]


def calibrate(raw: Values, temperature: float, bias: Values) -> Values:
    """Probabilities from raw shares; both of shape (n_runs, n_classes)."""
    logits = np.log(np.maximum(raw, FLOOR)) / temperature + bias
    return probabilities(logits)


@lru_cache(maxsize=1)
def model_in_use() -> Model:
    """The model of the file that the environment variable ``ANALYZER_CLASSIFIER`` names, else the shipped one.

    Raises:
        InputError: The named file is missing or is no model.
    """
    return read_model(Path(os.environ.get(VARIABLE) or SHIPPED))


def read_model(path: Path) -> Model:
    """Load a model file; it holds numbers only.

    Raises:
        InputError: The file is missing, is no model, or was trained on another feature list.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: larger than a model can be ({MAX_BYTES} bytes)")
        data = json.loads(path.read_text(encoding="utf-8"))
        names = tuple(data["features"])
        if data["schema"] != SCHEMA or data["feature_version"] != FEATURE_VERSION:
            raise InputError(f"{path}: made for another version of analyzer; train it again")
        if names != tuple(feature.name for feature in FEATURES):
            raise InputError(f"{path}: was trained on other features; train it again")
        return _checked(model_of(data), path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"{path}: is no classifier model ({error})") from error


def model_of(data: Mapping[str, Any]) -> Model:
    """The model that a file's object describes, its trees unchecked."""

    def column(name: str) -> Any:
        value = data[name]
        return (
            np.frombuffer(a2b_base64(value, strict_mode=True), PACKED[name])
            if isinstance(value, str)
            else value
        )

    def numbers(name: str) -> Values:
        return np.array([np.nan if value is None else value for value in data[name]], dtype=np.float64)

    def whole(name: str) -> Rows:
        return np.array(column(name), dtype=np.int64)

    rows = whole("leaf_row")
    if not 0 < data["leaf_count"] <= len(rows):
        raise ValueError("a leaf without a share")
    leaves = np.zeros((int(data["leaf_count"]), len(data["classes"])))
    leaves[rows, whole("leaf_class")] = column("leaf_share")

    return Model(
        classes=tuple(data["classes"]),
        roots=whole("roots"),
        feature=whole("feature"),
        threshold=np.array(column("threshold"), dtype=np.float64),
        left=whole("left"),
        right=whole("right"),
        missing_left=whole("missing_left").astype(np.bool_),
        leaves=leaves / np.maximum(leaves.sum(axis=1, keepdims=True), 1e-12),
        temperature=float(data["temperature"]),
        bias=numbers("bias"),
        prior=numbers("prior"),
        threshold_of=numbers("threshold_of"),
        low=numbers("low"),
        high=numbers("high"),
        outside_limit=float(data["outside_limit"]),
        about=data["about"],
    )


def _checked(model: Model, path: Path) -> Model:
    """The model if every index lies within its columns and every child behind its parent."""
    nodes, leaves = len(model.feature), len(model.leaves)
    columns: Sequence[Rows] = (model.roots, model.left, model.right)
    sound = all(column.size and column.max() < nodes and column.min() >= -leaves for column in columns)
    sound = sound and all(
        len(c) == nodes for c in (model.threshold, model.left, model.right, model.missing_left)
    )
    at = np.arange(nodes)
    # Children behind their parents: no path can be endless.
    sound = sound and bool(
        ((model.left < 0) | (model.left > at)).all() and ((model.right < 0) | (model.right > at)).all()
    )
    sound = sound and model.feature.min() >= 0 and model.feature.max() < len(FEATURES)
    if not sound or len(model.low) != len(FEATURES) or len(model.threshold_of) != len(model.classes):
        raise InputError(f"{path}: is no classifier model (its trees do not fit together)")
    return model
