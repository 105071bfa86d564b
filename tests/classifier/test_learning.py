"""Calibration and conformal sets: what they promise holds on runs that they were not set on."""

import numpy as np
import pytest

from analyzer.classifier.evaluate import calibration_error, macro_f1
from analyzer.classifier.learning import MISS_FAULT, MISS_HEALTHY, calibrated_on, sets_of, thresholds

CLASSES = np.array(["diverges", "healthy", "oscillates"])


def shares(runs, seed, sharpness=1.5):
    """Shares of an over-confident model and the classes that they were drawn from."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.6, 1.2, 0.6], size=runs)
    truth = np.array([rng.choice(3, p=row) for row in p])
    raw = p**sharpness
    return raw / raw.sum(axis=1, keepdims=True), CLASSES[truth]


def test_calibration_undoes_over_confidence():
    raw, truth = shares(4000, 0, sharpness=2.5)
    calibration = calibrated_on(raw, truth, CLASSES)
    new, new_truth = shares(4000, 1, sharpness=2.5)
    p = calibration.probabilities(new)

    before = calibration_error(new.max(axis=1), CLASSES[new.argmax(axis=1)] == new_truth)
    after = calibration_error(p.max(axis=1), CLASSES[p.argmax(axis=1)] == new_truth)

    assert before > 0.08
    assert after < 0.03


def test_the_true_class_is_in_the_set_as_often_as_promised():
    raw, truth = shares(3000, 2)
    calibration = calibrated_on(raw, truth, CLASSES)
    new, new_truth = shares(6000, 3)
    members = sets_of(calibration.probabilities(new), calibration.threshold_of)

    own = members[np.arange(len(new_truth)), np.searchsorted(CLASSES, new_truth)]
    healthy = new_truth == "healthy"

    assert own[healthy].mean() > 1 - MISS_HEALTHY - 0.015
    assert own[~healthy].mean() > 1 - MISS_FAULT - 0.015


def test_too_few_runs_exclude_nothing():
    p = np.array([[0.9, 0.1, 0.0]] * 5 + [[0.2, 0.8, 0.0]] * 200)
    target = np.array([0] * 5 + [1] * 200)

    found = thresholds(p, target, CLASSES)

    assert found[0] == found[2] == 0.0  # five faulty runs cannot bound a tenth
    assert found[1] == pytest.approx(0.8)


def test_figures_are_those_of_scikit_learn():
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(4)
    truth, answer = CLASSES[rng.integers(0, 3, 200)], CLASSES[rng.integers(0, 3, 200)]

    assert macro_f1(truth, answer) == pytest.approx(f1_score(truth, answer, average="macro"))
