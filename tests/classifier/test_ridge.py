"""The learner of the likeness and of the reader of messages, against scikit-learn, and what is read back from a file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import Ridge

from analyzer.classifier.ridge import FURTHER, fit_ridge, pack_ridge
from analyzer.detect.linear import read_linear, ridge_of, shares_of, write_linear

CAUSES = (("a",), ("b", "a"), ("c",), ("b",))


def runs(count=80, marks=12):
    rng = np.random.default_rng(0)
    rows = rng.random((count, marks)) < 0.4
    rows[np.arange(count), np.arange(count) % len(CAUSES)] = True
    return rows, [CAUSES[n % len(CAUSES)] for n in range(count)]


def as_sets(rows):
    return [set(np.flatnonzero(row).tolist()) for row in rows]


def test_scores_are_those_of_scikit_learn():
    rows, right = runs()
    trust = np.where(np.arange(len(rows)) % 3, 1.0, 0.3)
    model = fit_ridge(as_sets(rows), right, range(rows.shape[1]), 0.5, trust)

    transformed = TfidfTransformer().fit_transform(rows.astype(float)).toarray()
    wanted = np.array(
        [[1.0 if label == causes[0] else FURTHER * (label in causes) for label in "abc"] for causes in right]
    )
    bias = np.average(wanted, axis=0, weights=trust)
    fitted = Ridge(alpha=0.5, fit_intercept=False).fit(transformed, wanted - bias, trust)

    assert model.labels.tolist() == ["a", "b", "c"]
    assert model.scores(as_sets(rows)) == pytest.approx(fitted.predict(transformed) + bias, abs=1e-8)


def test_a_file_keeps_scores_to_a_hundredth(tmp_path):
    rows, right = runs()
    model = fit_ridge(as_sets(rows), right, range(rows.shape[1]), 0.5)
    write_linear(pack_ridge(model), tmp_path / "model.linear")
    packed = ridge_of(read_linear(tmp_path / "model.linear"))

    for run, scores in zip(as_sets(rows), model.scores(as_sets(rows)), strict=True):
        assert packed.scores(sorted(run)) == pytest.approx(scores, abs=0.01)
    assert packed.scores([]) == pytest.approx(model.bias, abs=1e-6)


def test_a_run_that_is_trusted_less_moves_scores_less():
    marks = [{"x"}] * 6 + [{"y"}] * 6
    right = [("a",)] * 5 + [("b",)] + [("b",)] * 6
    wholly, hardly = (
        fit_ridge(marks, right, ["x", "y"], 0.5, np.array([1.0] * 5 + [trust] + [1.0] * 6))
        for trust in (1.0, 0.01)
    )

    assert hardly.scores([{"x"}])[0, 0] > wholly.scores([{"x"}])[0, 0]


@given(st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=8), st.sampled_from((1.0, 1.5, 3.0)))
def test_shares_add_up_keep_the_order_and_none_is_nothing(scores, sharpness):
    shares = shares_of(np.array(scores, np.float32), sharpness)

    assert float(shares.sum()) == pytest.approx(1.0, abs=1e-5)
    assert (shares > 0).all()
    assert shares[int(np.argmax(scores))] == shares.max()
