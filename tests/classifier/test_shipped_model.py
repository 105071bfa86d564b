"""The shipped model is what training on the committed excerpt gives, and does on the held-out part what it states."""

import json
from pathlib import Path

import numpy as np
import pytest

from analyzer.classifier.evaluate import figures
from analyzer.classifier.labelled import HELD_OUT, load_labelled
from analyzer.classifier.training import judge, train
from analyzer.detect.shapes.classes import SHAPES, UNDECIDABLE, shape_named
from analyzer.detect.shapes.forest import MAX_BYTES, SHIPPED, read_model
from analyzer.model.labels import HEALTHY
from analyzer.rules.causes import catalogue
from analyzer.rules.load import load_rules

EXCERPT = Path(__file__).parents[2] / "samples" / "lab" / "excerpt.parquet"


@pytest.fixture(scope="module")
def labelled():
    return load_labelled(EXCERPT)


@pytest.fixture(scope="module")
def shipped():
    return read_model(SHIPPED)


def test_the_excerpt_and_the_model_are_small():
    assert EXCERPT.stat().st_size < 5_000_000
    assert SHIPPED.stat().st_size < MAX_BYTES


def test_training_on_the_excerpt_gives_the_shipped_model(labelled, shipped):
    forest, calibration, data = train(labelled)
    values = labelled.values[:: max(1, len(labelled) // 200)]

    trained = calibration.probabilities(forest.predict_proba(values))
    ours = np.vstack([shipped.calibrated(vector) for vector in values])

    assert data["classes"] == list(shipped.classes)
    assert np.abs(trained - ours).max() < 1e-6
    assert np.array(data["threshold_of"]) == pytest.approx(shipped.threshold_of, abs=1e-9)


def test_the_shipped_model_does_on_the_held_out_part_what_it_states(labelled, shipped):
    held_out = labelled.take(np.flatnonzero(labelled.groups["part"] == HELD_OUT))
    found = figures(judge(shipped, held_out))
    stated = json.loads(SHIPPED.read_text())["about"]["held_out"]

    for name, value in stated.items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-3), name
    assert found.false_alarms <= 0.03
    assert found.calibration_error <= 0.08  # a few hundred runs: half of it is chance


def test_no_run_of_a_held_out_configuration_was_trained_on(labelled):
    part, twin = labelled.groups["part"], labelled.groups["twin"]

    assert set(twin[part == "held-out"]).isdisjoint(twin[part != "held-out"])


def test_every_class_names_causes_of_the_catalogue_and_a_rule_for_its_own():
    known = {*catalogue()}
    rules = load_rules()

    for shape in SHAPES:
        assert {shape.cause, *shape.causes, *shape.late_causes} <= known
        assert shape.name == HEALTHY or rules.by_id(shape.cause) is not None, shape.cause
    assert set(UNDECIDABLE) <= known


def test_the_shipped_classes_exist(shipped):
    assert [shape_named(name).name for name in shipped.classes] == list(shipped.classes)
    assert HEALTHY in shipped.classes
