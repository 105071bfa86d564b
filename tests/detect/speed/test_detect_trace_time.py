"""Facts of timing traces: shares of a step, kernels and launches, ranks compared."""

from __future__ import annotations

import pytest
from timelines import Timeline, step

from analyzer.detect import run_detectors
from analyzer.facts.build import build_facts
from analyzer.ingest.discover import load_run

PREFIX = "signal.trace."


def write(directory, rank=0, count=8, world_size=1, **parts):
    timeline, at = Timeline(rank, world_size), 1000.0
    for number in range(count):
        at = step(timeline, at, number=number, **parts)
    (directory / f"rank-{rank}.pt.trace.json").write_bytes(timeline.lines())


def facts_of(directory):
    plain = build_facts(run_detectors(load_run(directory).run)).plain
    return {name.removeprefix(PREFIX): value for name, value in plain.items() if name.startswith(PREFIX)}


def test_shares_add_up(tmp_path):
    write(tmp_path, compute=6000.0, exposed=2000.0, copy=1000.0, gap=1000.0)
    facts = facts_of(tmp_path)
    parts = ("compute_share", "communication_share", "copy_share", "idle_share")

    assert sum(facts[name] for name in parts) == pytest.approx(1.0)
    assert facts["communication_share"] == pytest.approx(0.2, abs=0.01)
    assert facts["communication_overlap"] == pytest.approx(0.0)
    assert facts["pageable_share"] == 1.0
    assert facts["step_s"] == pytest.approx(0.010, rel=0.01)


def test_tiny_kernels_are_shorter_than_their_launch(tmp_path):
    write(tmp_path, count=20, compute=240.0, kernels=80, gap=4000.0)
    facts = facts_of(tmp_path)

    assert facts["shorter_than_launch"] == 1.0
    assert facts["kernel_median_us"] == pytest.approx(3.0)
    assert facts["launch_median_us"] == pytest.approx(5.0)
    assert facts["host_wait_share"] > 0.8


def test_loading_of_data(tmp_path):
    write(tmp_path, data=5000.0, compute=5000.0)

    assert facts_of(tmp_path)["data_share"] == pytest.approx(0.5, abs=0.01)


def test_the_rank_that_others_wait_for(tmp_path):
    for rank in range(4):
        slow = rank == 2
        write(
            tmp_path,
            rank,
            world_size=4,
            compute=9000.0 if slow else 6000.0,
            exposed=500.0 if slow else 3500.0,
        )
    facts = facts_of(tmp_path)

    assert facts["straggler_rank"] == 2
    assert facts["straggler_ratio"] == pytest.approx(1.5)
    assert facts["straggler_waits_least"] is True
    assert facts["ranks_agree"] is False


def test_ranks_of_different_stretches_are_not_compared(tmp_path):
    for rank in range(4):
        write(tmp_path, rank, count=8 + rank, world_size=4)

    assert "straggler_rank" not in facts_of(tmp_path)


@pytest.mark.parametrize("parts", [{"count": 2}, {"count": 8, "kernels": 10}, {"count": 4, "compute": 800.0}])
def test_short_traces_say_nothing_about_shares(tmp_path, parts):
    write(tmp_path, **parts)

    assert "idle_share" not in facts_of(tmp_path)
