"""Train a model on labelled runs, judge one, and evaluate the method: what the commands do."""

from __future__ import annotations

from typing import Any

import numpy as np

from analyzer.classifier.evaluate import Figures, Judged, figures, held_out, unseen_classes
from analyzer.classifier.export import model_data
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
from analyzer.detect.shapes.forest import Model, model_of
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
