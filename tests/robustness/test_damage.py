"""A slice of the damage matrix (``damage.py`` makes the whole one): no accusation, no other cause, no health made up."""

import random
from functools import lru_cache

import pytest
from damage import CUTS, SAMPLES, WAYS, answer, cell, damaged

RUNS = (
    SAMPLES / "failed" / "qwen2-fp16-sft-loss-zero",
    SAMPLES / "healthy" / "yi-6b-rows-1e-6-recovers",
)


@lru_cache(maxsize=4)
def before(run):
    return answer(run)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_damaged_log_gets_no_wrong_answer(tmp_path, run, way):
    copy = damaged(run, way, tmp_path, random.Random(way))
    if copy is None:
        pytest.skip("this way changes nothing here")
    after = answer(copy)
    found = cell(before(run), after)

    assert found not in {"accused", "wrong"}, (before(run), after)
    assert found != "healthy" or way in CUTS, (before(run), after)


@pytest.mark.parametrize(
    "way", ["prefix: kubernetes", "prefix: time in brackets", "prefix: rank", "ranks interleaved"]
)
def test_the_report_of_a_launcher_is_read_behind_any_prefix(tmp_path, way):
    """Its entries are indented by two spaces: without them the signal that it sent leads."""
    run = SAMPLES / "failed" / "ddp-4-ranks-rank-stalls"
    copy = damaged(run, way, tmp_path, random.Random(0))
    assert cell(before(run), answer(copy)) == "same"


def test_rows_in_the_wrong_order_are_no_restarts(tmp_path):
    run, way = SAMPLES / "failed" / "ddp-resume-optimizer-lost", "neighbours shuffled"
    copy = damaged(run, way, tmp_path, random.Random(f"0 {run.name} {way}"))
    assert cell(before(run), answer(copy)) == "same"


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (("healthy", []), ("healthy", []), "same"),
        (("healthy", []), ("failed", [("x", 0.7)]), "accused"),
        (("healthy", []), ("insufficient", []), "silent"),
        (("failed", [("a", 0.9)]), ("failed", [("a", 0.6), ("b", 0.2)]), "same"),
        (("failed", [("a", 0.9)]), ("failed", [("a", 0.3)]), "unsure"),
        (("failed", [("a", 0.9)]), ("failed", [("b", 0.7)]), "wrong"),
        (("failed", [("oom-capacity", 0.9)]), ("failed", [("gpu-out-of-memory", 0.7)]), "unsure"),
        (("failed", [("a", 0.9)]), ("healthy", []), "healthy"),
        (("failed", [("a", 0.9)]), ("interrupted", []), "silent"),
    ],
)
def test_cells_are_named_for_what_became_of_the_answer(was, now, expected):
    assert cell(was, now) == expected
