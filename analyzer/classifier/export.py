"""From a trained forest to the model file, and nothing but numbers in it."""

from __future__ import annotations

import json
from binascii import b2a_base64
from pathlib import Path
from typing import Any

import numpy as np

from analyzer.classifier.labelled import Labelled
from analyzer.classifier.learning import Calibration
from analyzer.detect.shapes.feature_list import FEATURE_VERSION, FEATURES
from analyzer.detect.shapes.forest import PACKED, SCHEMA
from analyzer.model.arrays import Values

LARGEST = 1e300
"""Beyond every feature."""

LEAF_DIGITS = 8
"""Decimals of a leaf's shares: the mean of the trees stays within 1e-8 of scikit-learn's."""


def model_data(
    forest: Any, calibration: Calibration, seen: Labelled, about: dict[str, Any]
) -> dict[str, Any]:
    """The model file's object.

    Args:
        forest: A fitted ``RandomForestClassifier``.
        calibration: See ``learning.calibrated_on``.
        seen: The training runs, for the range of each feature and the frequency of each class.
        about: What it was trained on and how it did.
    """
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "feature_version": FEATURE_VERSION,
        "about": about,
        "classes": [str(name) for name in forest.classes_],
        "features": [feature.name for feature in FEATURES],
        "temperature": calibration.temperature,
        "bias": calibration.bias.tolist(),
        "threshold_of": calibration.threshold_of.tolist(),
        "prior": [float((seen.shapes == name).mean()) for name in forest.classes_],
        **_ranges(seen.values),
        "roots": [],
        "feature": [],
        "threshold": [],
        "left": [],
        "right": [],
        "missing_left": [],
        "leaf_count": 0,
        "leaf_row": [],
        "leaf_class": [],
        "leaf_share": [],
    }
    for estimator in forest.estimators_:
        _add_tree(estimator.tree_, data)
    return data


def write_model(data: dict[str, Any], path: Path) -> None:
    """Write a model file, each entry on a line of its own."""
    packed = {
        name: b2a_base64(np.array(data[name], kind).tobytes(), newline=False) for name, kind in PACKED.items()
    }
    whole = {**data, **{name: column.decode() for name, column in packed.items()}}
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in whole.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _ranges(values: Values) -> dict[str, list[float | None]]:
    """1st and 99th percentile of each feature where known, None for a feature that never is."""
    found: dict[str, list[float | None]] = {"low": [], "high": []}
    for column in values.T:
        known = column[np.isfinite(column)]
        low, high = np.percentile(known, [1, 99]) if known.size else (None, None)
        found["low"].append(None if low is None else float(low))
        found["high"].append(None if high is None else float(high))
    return found


def _add_tree(tree: Any, data: dict[str, Any]) -> None:
    """Append one tree: inner nodes in the order of scikit-learn, in which children stand behind parents."""
    inner = np.flatnonzero(tree.children_left >= 0)
    leaf = np.flatnonzero(tree.children_left < 0)
    index = np.empty(tree.node_count, dtype=np.int64)
    index[inner] = len(data["feature"]) + np.arange(len(inner))
    index[leaf] = -1 - (data["leaf_count"] + np.arange(len(leaf)))
    data["roots"].append(int(index[0]))
    data["feature"] += tree.feature[inner].tolist()
    # scikit-learn parts known from unknown values by an infinite threshold; JSON has none
    data["threshold"] += np.clip(tree.threshold[inner], -LARGEST, LARGEST).tolist()
    data["left"] += index[tree.children_left[inner]].tolist()
    data["right"] += index[tree.children_right[inner]].tolist()
    data["missing_left"] += tree.missing_go_to_left[inner].astype(int).tolist()
    shares = tree.value[leaf, 0] / tree.value[leaf, 0].sum(axis=1, keepdims=True)
    rows, classes = np.nonzero(shares)
    data["leaf_row"] += (data["leaf_count"] + rows).tolist()
    data["leaf_class"] += classes.tolist()
    data["leaf_share"] += [round(float(share), LEAF_DIGITS) for share in shares[rows, classes]]
    data["leaf_count"] += len(leaf)
