"""Train a model on labelled runs, judge one, and evaluate the method: what the commands do."""

from __future__ import annotations

import json
from binascii import b2a_base64
from pathlib import Path
from typing import Any

import numpy as np

from analyzer.classifier.evaluate import Figures, Judged, figures, held_out, unseen_classes
from analyzer.classifier.labelled import HELD_OUT, Labelled
from analyzer.classifier.learning import (
    Calibration,
    calibrated_on,
    candidates,
    cross_fitted,
    fitted,
    folds,
    sets_of,
    usable,
)
from analyzer.classifier.report import Evaluation, confusions
from analyzer.detect.shapes.feature_list import FEATURE_VERSION, FEATURES
from analyzer.detect.shapes.forest import PACKED, SCHEMA, Model, model_of
from analyzer.errors import InputError
from analyzer.model.arrays import Values

CHOSEN = "forest"
"""Name of the candidate that is exported; the report compares it with the others."""

OUTSIDE_PERCENTILE = 99
"""A run is unlike training if more of its features are out of range than in 99 % of the runs held out there."""

MIN_CLASSES = 2


def train(labelled: Labelled) -> tuple[Any, Calibration, dict[str, Any]]:
    """Train on the runs of the training part; what is stated of the held-out part stands in ``about``.

    Returns:
        The fitted forest, its calibration from cross-fitted answers, and the model file's object.

    Raises:
        InputError: Fewer than two classes have enough runs.
    """
    seen = usable(labelled.take(np.flatnonzero(labelled.groups["part"] != HELD_OUT)))
    classes = np.unique(seen.shapes)
    if len(classes) < MIN_CLASSES or len(set(seen.groups["twin"])) < MIN_CLASSES:
        raise InputError(
            "too few labelled runs: two classes with eight runs each, of several configurations, are needed"
        )
    estimator = candidates()[CHOSEN]
    raw = cross_fitted(estimator, seen, classes)
    calibration = calibrated_on(raw, seen.shapes, classes)
    forest = fitted(estimator, seen)
    p = calibration.probabilities(raw)
    every = np.arange(len(seen))
    judged = Judged(
        seen.shapes, p, sets_of(p, calibration.threshold_of), classes, np.full(len(seen), "all"), every
    )
    names, counts = np.unique(seen.shapes, return_counts=True)
    about = {
        "runs": len(seen),
        "runs_by_class": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "cross_fitted": _rounded(figures(judged)),
    }
    data = model_data(forest, calibration, seen, about)
    data["outside_limit"] = _outside_limit(seen)
    kept_out = labelled.take(np.flatnonzero(labelled.groups["part"] == HELD_OUT))
    if len(kept_out):
        about["held_out"] = _rounded(figures(judge(model_of(data), kept_out)))
    return forest, calibration, data


def _outside_limit(seen: Labelled) -> float:
    """Share of features out of the training range that only 1 % of held-out configurations exceed."""
    found: list[Values] = []
    for train_rows, test_rows in folds(seen):
        with np.errstate(all="ignore"):
            low, high = np.nanpercentile(_known(seen.values[train_rows]), [1, 99], axis=0)
        values = seen.values[test_rows]
        known = np.isfinite(values) & np.isfinite(low)
        out = known & ((values < low) | (values > high))
        found.append(out.sum(axis=1) / np.maximum(known.sum(axis=1), 1))
    return float(np.percentile(np.concatenate(found), OUTSIDE_PERCENTILE))


def _known(values: Values) -> Values:
    """The values with columns that are never known set to 0, so that a percentile exists."""
    never = ~np.isfinite(values).any(axis=0)
    return np.where(never, 0.0, values)


def _rounded(found: Figures) -> dict[str, float]:
    return {name: round(float(getattr(found, name)), 4) for name in Figures.__slots__}


def judge(model: Model, labelled: Labelled) -> Judged:
    """The answers of an exported model on runs whose class it knows."""
    known = labelled.take(np.flatnonzero(np.isin(labelled.shapes, model.classes)))
    p = np.vstack([model.calibrated(vector) for vector in known.values])
    inside = np.array([model.outside_share(vector) <= model.outside_limit for vector in known.values])
    classes = np.array(model.classes)
    members = sets_of(p, model.threshold_of) & inside[:, None]
    return Judged(known.shapes, p, members, classes, np.full(len(known), "all"), np.arange(len(known)))


def evaluate(labelled: Labelled, *, compare: bool = True) -> Evaluation:
    """Judge the method on held-out groups.

    Args:
        labelled: The corpus; both parts are used, since every answer comes from a model that saw no run of the group.
        compare: Also the candidates that are not used, and classes that training never saw (minutes).
    """
    runs = usable(labelled)
    estimators = candidates()
    names = list(estimators) if compare else [CHOSEN]
    ways = [by for by in ("writer", "architecture") if len(set(runs.groups[by])) > 1]
    judged = {by: held_out(estimators[CHOSEN], runs, by) for by in (*ways, "configuration")}
    compared = {name: figures(_cross_judged(estimators[name], runs)) for name in names}
    return Evaluation(
        labelled=runs,
        compared=compared,
        chosen=CHOSEN,
        judged=judged,
        unseen=unseen_classes(estimators[CHOSEN], runs) if compare else {},
        single_causes=_cause_confusions(estimators[CHOSEN], runs),
    )


def _cross_judged(estimator: Any, runs: Labelled) -> Judged:
    """Cross-fitted answers, calibrated on themselves: cheap, and alike for all candidates."""
    classes = np.unique(runs.shapes)
    raw = cross_fitted(estimator, runs, classes)
    calibration = calibrated_on(raw, runs.shapes, classes)
    p = calibration.probabilities(raw)
    every = np.arange(len(runs))
    return Judged(
        runs.shapes, p, sets_of(p, calibration.threshold_of), classes, np.full(len(runs), "all"), every
    )


def _cause_confusions(estimator: Any, runs: Labelled) -> list[tuple[str, str, int]]:
    """What a model of single causes confuses."""
    by_cause = Labelled(
        runs.run_ids, runs.values, runs.causes, np.array(runs.causes), runs.groups, runs.left_out
    )
    classes = np.unique(by_cause.shapes)
    raw = cross_fitted(estimator, by_cause, classes)
    return confusions(by_cause.shapes, classes[raw.argmax(axis=1)])


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
