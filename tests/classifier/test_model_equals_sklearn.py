"""The exported forest gives what scikit-learn gives, and a damaged model file is refused with one line."""

import json
from base64 import b64decode

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from analyzer.classifier.labelled import Labelled
from analyzer.classifier.learning import Calibration
from analyzer.classifier.training import model_data, write_model
from analyzer.detect.shapes.feature_list import FEATURES
from analyzer.detect.shapes.forest import PACKED, calibrate, read_model
from analyzer.errors import InputError

COUNT = len(FEATURES)
CLASSES = np.array(["diverges", "healthy", "no-progress"])


def training(seed=0, runs=150):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(runs, COUNT))
    values[rng.random(values.shape) < 0.2] = np.nan
    truth = CLASSES[(np.nan_to_num(values[:, 0]) > 0.3).astype(int) + (np.nan_to_num(values[:, 5]) > 0)]
    return values, truth


def column(data, key):
    return np.frombuffer(b64decode(data[key]), PACKED[key]).tolist()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    values, truth = training()
    forest = RandomForestClassifier(40, min_samples_leaf=2, max_features=0.3, random_state=1).fit(
        values, truth
    )
    calibration = Calibration(1.3, np.array([0.1, -0.2, 0.05]), np.array([0.2, 0.3, 0.1]))
    seen = Labelled((), values, (), truth, {}, {})
    data = model_data(forest, calibration, seen, {}) | {"outside_limit": 0.2}
    path = tmp_path_factory.mktemp("model") / "model.json"
    write_model(data, path)
    return forest, calibration, path


def test_probabilities_equal_scikit_learns(fitted):
    forest, calibration, path = fitted
    model = read_model(path)
    values, _ = training(seed=7, runs=300)
    values[:5] = np.nan
    expected = forest.predict_proba(values)

    raw = np.vstack([model.raw(vector) for vector in values])
    calibrated = np.vstack([model.calibrated(vector) for vector in values])

    assert np.abs(raw - expected).max() < 1e-6
    assert np.abs(calibrated - calibration.probabilities(expected)).max() < 1e-6


def test_values_at_a_threshold_go_the_same_way(fitted):
    forest, _, path = fitted
    model = read_model(path)
    rows = np.tile(training(seed=3, runs=1)[0], (60, 1))
    for row, node in zip(rows, range(60), strict=True):
        row[model.feature[node]] = min(model.threshold[node], 1e30)

    raw = np.vstack([model.raw(row) for row in rows])

    assert np.abs(raw - forest.predict_proba(rows)).max() < 1e-6


def test_contributions_add_up_to_the_move_from_root_to_answer(fitted):
    model = read_model(fitted[2])
    vector = training(seed=5, runs=1)[0][0]

    moved = model.contributions(vector, "healthy")
    start = np.mean(
        [model._means(1)[root] if root >= 0 else model.leaves[-1 - root, 1] for root in model.roots]
    )

    assert np.abs(moved).max() > 0
    assert start + moved.sum() == pytest.approx(model.raw(vector)[1], abs=1e-9)


def test_the_set_holds_the_classes_that_reach_their_threshold(fitted):
    model = read_model(fitted[2])

    assert model.conformal_set(np.array([0.25, 0.7, 0.05])) == ("healthy", "diverges")
    assert model.conformal_set(np.array([0.1, 0.2, 0.05])) == ()


def test_loading_needs_no_scikit_learn(fitted):
    import subprocess
    import sys

    code = (
        "import sys; from pathlib import Path; from analyzer.detect.shapes.forest import read_model;"
        f"read_model(Path({str(fitted[2])!r})); sys.exit('sklearn' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "damage",
    [
        {"left": [10**6]},
        {"roots": []},
        {"schema": 99},
        {"features": ["loss_drop"]},
        {"feature": [-5]},
        {"leaf_share": "import os"},
        {"leaf_count": 10**12},
        {"outside_limit": None},
    ],
)
def test_a_damaged_model_is_refused_in_one_line(fitted, tmp_path, damage):
    data = json.loads(fitted[2].read_text())
    for key, value in damage.items():
        data[key] = value + column(data, key)[1:] if isinstance(value, list) and key in PACKED else value
    path = tmp_path / "model.json"
    path.write_text(json.dumps(data))

    with pytest.raises(InputError) as caught:
        read_model(path)

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tree_that_leads_back_is_refused_instead_of_followed(fitted, tmp_path):
    data = json.loads(fitted[2].read_text())
    data["left"] = [*column(data, "left")[:3], 0, *column(data, "left")[4:]]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(data))

    with pytest.raises(InputError):
        read_model(path)


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=5), st.floats(0.2, 5))
@settings(max_examples=60, deadline=None)
def test_calibrated_shares_are_probabilities(raw, temperature):
    p = calibrate(np.array(raw), temperature, np.array([0.3, -0.1, 0.0]))

    assert np.isfinite(p).all()
    assert p.sum(axis=1) == pytest.approx(np.ones(len(raw)))
