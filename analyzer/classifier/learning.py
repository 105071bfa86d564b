"""Training: the candidates that were compared, cross-fitted probabilities, calibration, conformal thresholds.

Everything that is stated about a model comes from runs of groups that it was not trained on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from analyzer.classifier.labelled import Labelled
from analyzer.detect.shapes.forest import FLOOR, calibrate
from analyzer.model.arrays import Mask, Rows, Texts, Values
from analyzer.model.labels import HEALTHY
from analyzer.record import dataclass

SEED = 0
FOLDS = 6
"""Folds of whole configurations for the cross-fitted probabilities."""

MISS_HEALTHY = 0.02
"""Share of healthy runs whose set may lack ``healthy``: bounds the false alarms."""

ENOUGH_HEALTHY = round(1 / MISS_HEALTHY) - 1
"""With fewer healthy runs nothing bounds their misses, so ``healthy`` stays in every set and no fault is ever answered."""

MISS_FAULT = 0.10
"""The same for faulty runs and their class: a miss leaves a finding out, a false alarm costs trust."""

UNKNOWN = -99.0
"""Below the range of every feature."""

MIN_RUNS = 8
"""A class with fewer runs is left out: six folds cannot learn and judge it."""

PENALTY, SCALE_PENALTY = 0.05, 0.005
"""Ridge on biases and on the log of the temperature: a class of ten runs gets no wild bias, and runs that are all told
apart no certainty."""


def candidates() -> dict[str, Any]:
    """Unfitted estimators by name; ``forest`` is the one that is exported."""
    trees: dict[str, Any] = {"min_samples_leaf": 2, "max_leaf_nodes": 128, "random_state": SEED, "n_jobs": 1}
    return {
        "logistic": make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True),
            StandardScaler(),
            LogisticRegression(C=0.03, max_iter=3000),
        ),
        "forest": RandomForestClassifier(200, max_features=0.2, **trees),
        "extra-trees": ExtraTreesClassifier(200, max_features=0.3, bootstrap=True, **trees),
        "boosting": make_pipeline(
            # it cannot take a column of which nothing is known, so unknown is a number beyond all others
            SimpleImputer(strategy="constant", fill_value=UNKNOWN, keep_empty_features=True),
            HistGradientBoostingClassifier(
                max_iter=150,
                learning_rate=0.08,
                max_leaf_nodes=12,
                min_samples_leaf=8,
                l2_regularization=1.0,
                random_state=SEED,
            ),
        ),
    }


@dataclass(frozen=True, slots=True)
class Calibration:
    """How raw shares become probabilities and sets."""

    temperature: float  # divisor of the log shares
    bias: Values  # float64, shape (n_classes,)
    threshold_of: Values  # float64, shape (n_classes,): least probability with which a class is in the set

    def probabilities(self, raw: Values) -> Values:
        """Calibrated probabilities, shape (n_runs, n_classes)."""
        return calibrate(raw, self.temperature, self.bias)


def usable(labelled: Labelled) -> Labelled:
    """The runs of the classes that have enough of them."""
    names, counts = np.unique(labelled.shapes, return_counts=True)
    enough = set(names[counts >= MIN_RUNS])
    return labelled.take(np.flatnonzero([shape in enough for shape in labelled.shapes]))


def folds(labelled: Labelled, count: int = FOLDS) -> Iterator[tuple[Rows, Rows]]:
    """Training and test rows; all runs of a configuration are on one side."""
    groups = labelled.groups["twin"]
    count = min(count, len(set(groups)))
    yield from GroupKFold(count).split(labelled.values, labelled.shapes, groups)


def cross_fitted(estimator: Any, labelled: Labelled, classes: Texts) -> Values:
    """Raw shares of every run by a model that saw no run of its configuration; shape (n_runs, n_classes)."""
    raw = np.zeros((len(labelled), len(classes)))
    for train, test in folds(labelled):
        raw[test] = shares(fitted(estimator, labelled.take(train)), labelled.values[test], classes)
    return raw


def fitted(estimator: Any, labelled: Labelled) -> Any:
    """A fresh copy of the estimator, trained."""
    model = clone(estimator)
    last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    return model.fit(labelled.values, labelled.shapes, **{f"{last}sample_weight": weights(labelled.shapes)})


def weights(shapes: Texts) -> Values:
    """Weight of each run: one over the square root of its class's frequency.

    Half way between the corpus, in which half of the runs are healthy, and equal classes, with which false alarms
    quadrupled on held-out writers.
    """
    _, index, counts = np.unique(shapes, return_inverse=True, return_counts=True)
    return np.asarray(np.sqrt(len(shapes) / (len(counts) * counts[index])))


def shares(model: Any, values: Values, classes: Texts) -> Values:
    """A model's shares in the order of ``classes``; 0 for a class that it never saw."""
    found = np.zeros((len(values), len(classes)))
    found[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(values)
    return found


def calibrated_on(raw: Values, truth: Texts, classes: Texts) -> Calibration:
    """Temperature and biases by maximum likelihood, then the conformal threshold of each class.

    Args:
        raw: Shares given by models that did not see the run, shape (n_runs, n_classes).
        truth: Class of each run.
        classes: Sorted names of the classes.
    """
    target = np.searchsorted(classes, truth)
    logs = np.log(np.maximum(raw, FLOOR))

    def loss(parameters: Values) -> tuple[float, Values]:
        scale, bias = np.exp(parameters[0]), parameters[1:]
        logits = logs * scale + bias
        logits -= logits.max(axis=1, keepdims=True)
        weights = np.exp(logits)
        p = weights / weights.sum(axis=1, keepdims=True)
        rows = np.arange(len(target))
        value = -np.log(np.maximum(p[rows, target], 1e-300)).mean() + PENALTY * (
            (bias**2).mean() + parameters[0] ** 2
        )
        error = p.copy()
        error[rows, target] -= 1
        error /= len(target)
        slope_scale = float((error * logs).sum() * scale) + 2 * SCALE_PENALTY * parameters[0]
        return float(value), np.concatenate(
            [[slope_scale], error.sum(axis=0) + 2 * PENALTY * bias / len(bias)]
        )

    best = minimize(loss, np.zeros(1 + len(classes)), jac=True, method="L-BFGS-B").x
    temperature, bias = float(np.exp(-best[0])), np.asarray(best[1:])
    p = calibrate(raw, temperature, bias)
    return Calibration(temperature, bias, thresholds(p, target, classes))


def thresholds(p: Values, target: Rows, classes: Texts) -> Values:
    """Split-conformal thresholds, one for healthy runs and one for faulty ones (Vovk 2012, label-conditional).

    For runs exchangeable with the healthy ones of calibration, ``healthy`` is in the set with probability at least
    1 - MISS_HEALTHY; for runs exchangeable with the faulty ones the true fault is, with at least 1 - MISS_FAULT. The
    faults share a threshold, since a class of twenty runs cannot bound a tenth. The threshold is the
    floor(miss (n + 1))-th smallest probability that such runs gave to their class.
    """
    own = p[np.arange(len(target)), target]
    healthy = classes[target] == HEALTHY
    found = np.zeros(len(classes))
    for chosen, columns, miss in (
        (healthy, classes == HEALTHY, MISS_HEALTHY),
        (~healthy, classes != HEALTHY, MISS_FAULT),
    ):
        ordered = np.sort(own[chosen])
        rank = int(np.floor(miss * (len(ordered) + 1)))
        found[columns] = ordered[rank - 1] if rank >= 1 else 0.0
    return found


def sets_of(p: Values, threshold_of: Values) -> Mask:
    """Membership in the conformal set, shape (n_runs, n_classes)."""
    return p >= threshold_of
