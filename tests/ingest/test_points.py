"""The points of a very long log stay bounded, and what matters in them stays whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.points import Points


def filled(values, steps=None, limit=1000):
    points = Points(limit)
    for i, value in enumerate(values):
        points.add(i if steps is None else steps[i], value, i + 1, float("nan"))
    return points


def test_a_log_of_usual_length_is_kept_whole():
    points = filled([1.0] * 1000)

    assert (len(points.values), points.dropped) == (1000, 0)


def test_a_single_nan_the_extremes_and_a_restart_survive_with_their_neighbours():
    values = np.random.default_rng(0).normal(2, 0.1, 50_000)
    values[20_001] = np.nan
    values[30_003] = 99.0
    values[40_005] = -99.0
    steps = list(range(25_000)) + list(range(10_000, 35_000))

    points = filled(values.tolist(), steps)

    lines = set(points.lines)
    assert {20_001, 20_002, 20_003, 30_004, 40_006, 25_000, 25_001} <= lines
    assert len(lines) <= 1001
    assert points.dropped == 50_000 - len(lines)
    assert list(points.lines) == sorted(points.lines)


def test_a_dead_run_is_bounded_too():
    assert len(filled([float("nan"), 1.0] * 20_000).values) <= 1001


@given(st.lists(st.floats(width=32), max_size=400), st.integers(1, 50))
def test_many_at_once_are_kept_as_one_by_one(values, size):
    one = filled(values, limit=100)
    many = Points(100)
    steps, lines = np.arange(len(values)), np.arange(1, len(values) + 1)
    array = np.array(values, np.float64)
    times_s = np.full(len(values), np.nan)
    for i in range(0, len(values), size):
        part = slice(i, i + size)
        many.extend(steps[part], array[part], lines[part], times_s[part])

    assert one.values.tobytes() == many.values.tobytes()
    assert (one.steps, one.lines, one.dropped) == (many.steps, many.lines, many.dropped)


def test_what_is_left_out_is_told():
    builder = RunBuilder("run")
    builder.add_source("train.log", format_name="text-log", ingestor="text-log", size_bytes=0, sha256_head="")
    for i in range(70_000):
        SourceWriter(builder, 0).points("loss").add(i, 2.0, i + 1, float("nan"))

    run = builder.finish()

    assert len(run.metrics) < 70_000
    assert [gap.rows_lost for gap in run.gaps] == [70_000 - len(run.metrics)]
