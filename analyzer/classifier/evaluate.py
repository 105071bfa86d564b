"""How good a classifier is on groups it has never seen: one writer, one architecture, or one configuration at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score

from analyzer.classifier.labelled import Labelled
from analyzer.classifier.learning import (
    SEED,
    calibrated_on,
    cross_fitted,
    fitted,
    folds,
    sets_of,
    shares,
)
from analyzer.model.arrays import Integers, Mask, Texts, Values
from analyzer.model.labels import HEALTHY
from analyzer.record import dataclass

BINS = 10
"""Bins of equal count for the calibration error."""

MIN_GROUP = 20
"""A group with fewer runs is judged together with the others of its kind, not alone."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Answers on runs of held-out groups."""

    truth: Texts  # class of each run
    # calibrated, shape (n_runs, n_classes), by a model and a calibration that saw no run of the group
    probabilities: Values
    members: Mask  # conformal set of each run, bool, shape (n_runs, n_classes)
    classes: Texts  # sorted names
    group: Texts  # name of the held-out group of each run
    rows: Integers  # row of each run in the corpus

    @property
    def best(self) -> Texts:
        """The likeliest class of each run."""
        return np.asarray(self.classes[self.probabilities.argmax(axis=1)])

    @property
    def answered(self) -> Mask:
        """Runs whose set is one class, and that class the likeliest."""
        top = self.probabilities.argmax(axis=1)
        return np.asarray((self.members.sum(axis=1) == 1) & self.members[np.arange(len(top)), top])


@dataclass(frozen=True, slots=True)
class Figures:
    """What is stated about a set of answers; shares are of 1."""

    runs: int  # number of runs
    answered: float  # share with one class in the set
    accuracy: float  # of the answered
    macro_f1: float  # of the answered
    macro_f1_all: float  # of the likeliest class of all runs
    false_alarms: float  # healthy runs that were answered with a fault, of all healthy runs
    false_alarms_all: float  # healthy runs whose likeliest class is a fault
    missed: float  # faulty runs that were answered ``healthy``, of all faulty runs
    covered: float  # runs whose true class is in the set
    several: float  # share of runs with more than one class in the set
    empty: float  # share of runs whose set is empty: unlike anything seen
    calibration_error: float  # expected difference of confidence and accuracy, bins of equal count


def held_out(estimator: Any, labelled: Labelled, by: str) -> Judged:
    """Answers on each group of a column, by models and calibrations that saw no run of it.

    Args:
        estimator: Unfitted.
        labelled: The corpus.
        by: ``writer``, ``architecture``, or ``configuration`` for folds of configurations.
    """
    classes = np.unique(labelled.shapes)
    parts: list[tuple[Integers, Values, Mask, str]] = []
    for name, train, test in _splits(labelled, by):
        seen = labelled.take(train)
        calibration = calibrated_on(cross_fitted(estimator, seen, classes), seen.shapes, classes)
        p = calibration.probabilities(shares(fitted(estimator, seen), labelled.values[test], classes))
        parts.append((test, p, sets_of(p, calibration.threshold_of), name))
    rows = np.concatenate([part[0] for part in parts])
    return Judged(
        truth=labelled.shapes[rows],
        probabilities=np.vstack([part[1] for part in parts]),
        members=np.vstack([part[2] for part in parts]),
        classes=classes,
        group=np.concatenate([np.full(len(part[0]), part[3]) for part in parts]),
        rows=rows,
    )


def _splits(labelled: Labelled, by: str) -> Iterator[tuple[str, Integers, Integers]]:
    if by == "configuration":
        for number, (train, test) in enumerate(folds(labelled)):
            yield f"fold {number + 1}", train, test
        return
    column = labelled.groups[by].copy()
    names, counts = np.unique(column, return_counts=True)
    column[np.isin(column, names[counts < MIN_GROUP])] = "others"
    for name in np.unique(column):
        yield str(name), np.flatnonzero(column != name), np.flatnonzero(column == name)


def figures(judged: Judged, chosen: Mask | None = None) -> Figures:
    """The figures of all answers, or of the chosen ones."""
    keep = np.ones(len(judged.truth), np.bool_) if chosen is None else chosen
    truth, best, answered = judged.truth[keep], judged.best[keep], judged.answered[keep]
    size = judged.members[keep].sum(axis=1)
    healthy = truth == HEALTHY
    target = np.searchsorted(judged.classes, truth)
    confidence = judged.probabilities[keep].max(axis=1)
    return Figures(
        runs=int(keep.sum()),
        answered=float(answered.mean()),
        accuracy=float((best == truth)[answered].mean()) if answered.any() else 0.0,
        macro_f1=macro_f1(truth[answered], best[answered]),
        macro_f1_all=macro_f1(truth, best),
        false_alarms=_share((best != HEALTHY) & answered, healthy),
        false_alarms_all=_share(best != HEALTHY, healthy),
        missed=_share((best == HEALTHY) & answered, ~healthy),
        covered=float(judged.members[keep][np.arange(len(target)), target].mean()),
        several=float((size > 1).mean()),
        empty=float((size == 0).mean()),
        calibration_error=calibration_error(confidence, best == truth),
    )


def _share(hit: Mask, among: Mask) -> float:
    return float(hit[among].mean()) if among.any() else 0.0


def macro_f1(truth: Texts, answer: Texts) -> float:
    """Mean F1 over the classes that occur in the truth."""
    found: list[float] = []
    for name in np.unique(truth):
        right = int(((answer == name) & (truth == name)).sum())
        found.append(2 * right / (int((answer == name).sum()) + int((truth == name).sum())))
    return float(np.mean(found)) if found else 0.0


def calibration_error(confidence: Values, right: Mask) -> float:
    """Expected calibration error with bins of equal count (Naeini et al. 2015)."""
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, BINS) if len(part)]
    return float(
        sum(abs(confidence[p].mean() - right[p].mean()) * len(p) for p in parts) / max(len(order), 1)
    )


def unseen_classes(estimator: Any, labelled: Labelled) -> dict[str, dict[str, float]]:
    """How runs of a class that training never saw are answered, class by class.

    Three scores are compared by the area under the ROC curve of unseen against seen runs: the likeliest calibrated
    probability, the share by which the closest class misses its conformal threshold, and an isolation forest.
    """
    found: dict[str, dict[str, float]] = {}
    for name in sorted(set(labelled.shapes) - {HEALTHY}):
        new = labelled.shapes == name
        seen, unseen = labelled.take(np.flatnonzero(~new)), labelled.values[new]
        train, test = next(folds(seen))
        part, rest = seen.take(train), seen.values[test]
        classes = np.unique(part.shapes)
        calibration = calibrated_on(cross_fitted(estimator, part, classes), part.shapes, classes)
        model = fitted(estimator, part)
        p_new = calibration.probabilities(shares(model, unseen, classes))
        p_seen = calibration.probabilities(shares(model, rest, classes))
        imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(part.values)
        isolation = IsolationForest(n_estimators=200, random_state=SEED).fit(imputer.transform(part.values))
        label = np.r_[np.ones(len(p_new)), np.zeros(len(p_seen))]
        members = sets_of(p_new, calibration.threshold_of)
        found[str(name)] = {
            "runs": float(len(p_new)),
            "answered": float((members.sum(axis=1) == 1).mean()),
            "empty": float((members.sum(axis=1) == 0).mean()),
            "auc probability": float(roc_auc_score(label, np.r_[-p_new.max(1), -p_seen.max(1)])),
            "auc conformal": float(
                roc_auc_score(
                    label,
                    np.r_[
                        _strange(p_new, calibration.threshold_of), _strange(p_seen, calibration.threshold_of)
                    ],
                )
            ),
            "auc isolation": float(
                roc_auc_score(
                    label,
                    -np.r_[
                        isolation.score_samples(imputer.transform(unseen)),
                        isolation.score_samples(imputer.transform(rest)),
                    ],
                )
            ),
        }
    return found


def _strange(p: Values, threshold_of: Values) -> Values:
    """How far even the best class is from its threshold; positive if the set is empty."""
    return np.asarray((np.maximum(threshold_of, 1e-6) / np.maximum(p, 1e-9)).min(axis=1))
