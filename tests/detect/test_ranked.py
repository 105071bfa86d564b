"""Medians, quantiles and distinct values are those of NumPy, also of what broken runs log."""

import numpy as np
import pytest

from analyzer.model.ranked import counted_of, distinct_of, median_of, quantile_of, row_medians

ODD = (0.0, 1.0, 2.5, -3.0, np.nan, np.inf, -np.inf, 1e308)


@pytest.mark.parametrize("seed", range(50))
def test_they_equal_numpy(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    with np.errstate(all="ignore"):
        for values in (rng.choice(ODD, count), rng.normal(size=count), rng.integers(-5, 5, count)):
            assert np.array_equal(median_of(values), np.median(values), equal_nan=True)
            assert np.array_equal(distinct_of(values), np.unique(values), equal_nan=True)
            known = values[~np.isnan(values)]
            for found, of_numpy in zip(counted_of(known), np.unique(known, return_counts=True), strict=True):
                assert np.array_equal(found, of_numpy)
            finite = values[np.isfinite(values)] if values.max() < 1e308 else rng.normal(size=count)
            for share in (0.0, 0.1, 0.5, 0.95, 1.0):
                assert quantile_of(finite, share) == pytest.approx(
                    np.quantile(finite, share) if finite.size else np.nan, nan_ok=True
                )
        rows = rng.choice(ODD, (int(rng.integers(1, 5)), count))
        assert np.array_equal(row_medians(rows), np.median(rows, axis=1), equal_nan=True)


def test_of_nothing_there_is_no_median_and_no_value():
    assert np.isnan(median_of([]))
    assert np.isnan(quantile_of([], 0.5))
    assert np.isnan(quantile_of([1.0, np.nan, 2.0], 0.0))
    assert distinct_of(np.zeros(0)).size == 0
    assert [found.size for found in counted_of(np.zeros(0))] == [0, 0]


def test_words_are_distinct_too():
    assert distinct_of(np.array(["b", "a", "b"])).tolist() == ["a", "b"]
