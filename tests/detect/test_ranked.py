"""Medians and distinct values are those of NumPy, also of what broken runs log."""

import numpy as np
import pytest

from analyzer.model.ranked import distinct_of, median_of, row_medians

ODD = (0.0, 1.0, 2.5, -3.0, np.nan, np.inf, -np.inf, 1e308)


@pytest.mark.parametrize("seed", range(50))
def test_they_equal_numpy(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    with np.errstate(all="ignore"):
        for values in (rng.choice(ODD, count), rng.normal(size=count), rng.integers(-5, 5, count)):
            assert np.array_equal(median_of(values), np.median(values), equal_nan=True)
            assert np.array_equal(distinct_of(values), np.unique(values), equal_nan=True)
        rows = rng.choice(ODD, (int(rng.integers(1, 5)), count))
        assert np.array_equal(row_medians(rows), np.median(rows, axis=1), equal_nan=True)


def test_of_nothing_there_is_no_median_and_no_value():
    assert np.isnan(median_of([]))
    assert distinct_of(np.zeros(0)).size == 0


def test_words_are_distinct_too():
    assert distinct_of(np.array(["b", "a", "b"])).tolist() == ["a", "b"]
