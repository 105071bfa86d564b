"""Speed over a run: outliers and their grid, falls, waiting for data; and silence on ordinary noise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_run import RunMaker, falling

from analyzer.detect import run_detectors
from analyzer.facts.build import build_facts
from analyzer.ingest.discover import load_run


def steady(count=200, *, noise=0.05, seed=0):
    return (1.0 + noise * np.random.default_rng(seed).standard_normal(count)).clip(0.5).tolist()


def slowed(times, every, factor=10.0, offset=0):
    return [t * factor if i >= 5 and (i - offset) % every == 0 else t for i, t in enumerate(times)]


def plain_of(maker):
    return maker.facts().plain


def test_slow_steps_at_every_save_lie_on_a_grid_and_at_the_saves():
    maker = RunMaker().log({"step_time_s": slowed(steady(), 25), "loss": falling(200)})
    for step in range(25, 200, 25):
        maker.event("checkpoint_saved", line=10 * step + 5, role="info", step=step)

    plain = plain_of(maker)

    assert plain["signal.step_time.outliers_on_grid"] is True
    assert plain["signal.step_time.outlier_period"] == 25
    assert plain["signal.step_time.outliers_at_saves"] is True


def test_irregular_slow_steps_lie_on_no_grid():
    times = steady()
    for step in (11, 37, 52, 90, 101, 133, 160, 171):
        times[step] *= 6

    plain = plain_of(RunMaker().log({"step_time_s": times}))

    assert plain["signal.step_time.outliers"] == 8
    assert plain["signal.step_time.outliers_on_grid"] is False


def test_one_slow_stretch_is_no_grid():
    times = [t * (5 if 100 <= i < 130 else 1) for i, t in enumerate(steady())]

    assert plain_of(RunMaker().log({"step_time_s": times}))["signal.step_time.outliers_on_grid"] is False


def test_sudden_loss_of_speed_is_placed():
    times = [t * (1.6 if i >= 120 else 1.0) for i, t in enumerate(steady())]

    plain = plain_of(RunMaker().log({"step_time_s": times}))

    assert plain["signal.throughput.dropped"] is True
    assert plain["signal.throughput.drop_sudden"] is True
    assert plain["signal.throughput.drop_step"] == pytest.approx(121, abs=4)
    assert plain["signal.throughput.drop_at_restart"] is False


def test_gradual_loss_of_speed_is_not_sudden():
    times = [t * (1 + i / 150) for i, t in enumerate(steady(300))]

    plain = plain_of(RunMaker().log({"step_time_s": times}))

    assert plain["signal.throughput.dropped"] is True
    assert plain["signal.throughput.drop_sudden"] is False


def test_a_busy_host_slows_most_steps_and_leaves_some_as_fast_as_ever():
    late = np.random.default_rng(1)
    times = [t * (late.choice([1.0, 2.0], p=[0.4, 0.6]) if i >= 120 else 1.0) for i, t in enumerate(steady())]

    plain = plain_of(RunMaker().log({"step_time_s": times}))

    assert plain["signal.throughput.dropped"] is False
    assert plain["signal.pace.slower"] is False


def test_no_speed_is_told_by_a_run_of_less_than_a_minute():
    brief = [0.05 * t * (1.6 if i >= 120 else 1.0) for i, t in enumerate(steady())]
    longer = [10 * t for t in brief]

    in_seconds, in_minutes = (plain_of(RunMaker().log({"step_time_s": times})) for times in (brief, longer))

    assert (in_seconds["signal.throughput.dropped"], in_seconds["signal.pace.slower"]) == (False, False)
    assert (in_minutes["signal.throughput.dropped"], in_minutes["signal.pace.slower"]) == (True, True)
    assert {"signal.pace.change", "signal.throughput.change_ratio"}.isdisjoint(in_seconds)
    assert in_minutes["signal.pace.change"] == pytest.approx(1.6, abs=0.1)


def test_throughput_counts_the_other_way_round():
    speeds = [1000.0 / t for t in steady()]

    assert plain_of(RunMaker().log({"tokens_per_second": speeds}))["signal.throughput.dropped"] is False
    assert plain_of(RunMaker().log({"tokens_per_second": [s * (0.5 if i > 90 else 1) for i, s in enumerate(speeds)]}))[
        "signal.throughput.dropped"
    ]  # fmt: skip


def test_share_of_waiting_for_data():
    plain = plain_of(RunMaker().log({"step_time_s": [2.0] * 60, "data_time_s": [0.9] * 60}))

    assert plain["signal.data_wait.share"] == pytest.approx(0.45)


def test_every_other_step_waits():
    plain = plain_of(RunMaker().log({"step_time_s": [0.1, 2.1] * 4, "data_time_s": [0.0, 2.0] * 4}))

    assert plain["signal.data_wait.share"] > 0.8
    assert plain["signal.data_wait.by_turns"]


@pytest.mark.parametrize(("begins_at", "share"), [(312, 0.25), (3, 0.0)])
def test_a_log_that_begins_with_a_later_row_holds_no_warm_up(begins_at, share):
    columns = {"step_time_s": [0.9, 5.4, 0.9, 5.3, 1.0], "data_time_s": [0.01, 2.0, 0.01, 2.3, 0.01]}

    plain = plain_of(RunMaker().log(columns, first=begins_at, every=3))

    assert plain["signal.data_wait.share"] == pytest.approx(share, abs=0.02)
    assert plain["signal.data_wait.by_turns"] is (share > 0)


def test_the_first_steps_of_epochs_wait_in_sound_runs():
    columns = {"step_time_s": ([4.0] + [0.5] * 24) * 3, "data_time_s": ([3.5] + [0.01] * 24) * 3}

    assert plain_of(RunMaker().log(columns))["signal.data_wait.by_turns"] is False


def test_the_first_wait_of_an_epoch_beside_the_mean_of_its_steps_is_no_starvation():
    """Every fourth row is the first of an epoch: its wait is longer than the step that is printed with it."""
    plain = plain_of(
        RunMaker().log({"step_time_s": [0.3] * 60, "data_time_s": [1.6, 0.0003, 0.0003, 0.0002] * 15})
    )

    assert plain["signal.data_wait.share"] < 0.3


def test_a_wait_that_only_belongs_to_the_start():
    waits = [30.0, 15.0, 10.0, 7.5, 6.0, 5.0]

    plain = plain_of(
        RunMaker().log({"step_time_s": [w + 1.0 + i for i, w in enumerate(waits)], "data_time_s": waits})
    )

    assert "signal.data_wait.share" not in plain


def test_one_long_wait_is_no_share():
    plain = plain_of(RunMaker().log({"step_time_s": [1.0] * 9 + [9.0], "data_time_s": [0.01] * 9 + [8.0]}))

    assert plain["signal.data_wait.share"] == pytest.approx(0.01)


def test_nothing_printed_is_unknown():
    plain = plain_of(RunMaker().log({"loss": falling(100)}))

    assert not [name for name in plain if name.startswith(("signal.throughput.", "signal.step_time."))]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 0.25), st.integers(25, 400))
def test_noise_alone_is_no_fall_and_no_outlier(seed, noise, count):
    plain = plain_of(RunMaker().log({"step_time_s": steady(count, noise=noise, seed=seed)}))

    assert plain["signal.step_time.outliers"] == 0
    assert plain.get("signal.throughput.dropped") is not True


def test_an_unused_second_gpu_says_nothing_about_the_first():
    maker = RunMaker().log(
        {"system.gpu.0.gpu": [97.0] * 40, "system.gpu.1.gpu": [0.0] * 40}, path="x.wandb", ingestor="wandb"
    )

    plain = plain_of(maker)

    assert plain["signal.gpu.utilization_mean"] == pytest.approx(97.0)
    assert plain["signal.gpu.idle_share"] == 0


@pytest.mark.parametrize(("growth", "expected"), [(0.0, False), (0.01, True)])
def test_memory_that_rises_throughout_is_a_leak(growth, expected):
    memory = [20.0 * (1 + growth * i) + 0.01 * (i % 3) for i in range(60)]

    plain = plain_of(RunMaker().log({"gpu_memory_allocated_gib": memory}))

    assert plain["signal.gpu_memory.grows"] is expected


def test_memory_that_steps_to_a_new_level_is_none():
    memory = [20.0] * 30 + [30.0] * 30

    assert plain_of(RunMaker().log({"gpu_memory_allocated_gib": memory}))["signal.gpu_memory.grows"] is False


def test_a_clock_that_counts_from_the_beginning_is_no_step_that_gets_slower():
    run = RunMaker().log(
        {"loss": [2.0 - 0.1 * i for i in range(12)], "time": [100.0 + 11.0 * i + i % 2 for i in range(12)]}
    )

    assert "signal.pace.slower" not in run.facts()


def test_the_jitter_of_steps_of_milliseconds_is_no_fault():
    times = [t * 0.003 for t in slowed(steady(), 7)]  # 30 ms now and then: the time slices of a busy host

    assert plain_of(RunMaker().log({"step_time_s": times}))["signal.step_time.outliers"] == 0
    rising = np.linspace(0.002, 0.005, 200).tolist()
    assert plain_of(RunMaker().log({"step_time_s": rising}))["signal.throughput.dropped"] is False


SLOW = (12, 20, 33)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Saving checkpoint to /out/step_{}", 0),
        ("***** Running Evaluation *****", 0),
        ("the loader was opened anew", 3),
    ],
)
@pytest.mark.parametrize("behind", [False, True])
def test_slow_rows_beside_a_save_or_an_evaluation_are_planned(tmp_path, said, expected, behind):
    lines = []
    for step in range(1, 45):
        row = f"step {step} loss {2.1 * 0.97**step:.4f} steps_per_second {0.1 if step in SLOW else 10 + step % 3 / 4}"
        beside = [said.format(step)] if step in SLOW else []
        lines += [row, *beside] if behind else [*beside, row]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")

    facts = build_facts(run_detectors(load_run(tmp_path).run)).plain

    assert facts["signal.pace.deep_drops"] == expected


@pytest.mark.parametrize("every", [1, 10, 250])
def test_the_steps_of_the_first_row_are_no_wait(tmp_path, every):
    """Five seconds a step, and the first of them begins ten minutes after the first line, however rarely rows are printed."""
    first = datetime(2026, 11, 22, tzinfo=UTC)
    rows = [
        (600 + 5 * step, f"step {step} loss {3 - step / 9999:.4f}") for step in range(every, 9 * every, every)
    ]
    lines = [(0, "loading checkpoint shards failed once, retrying: CUDA out of memory"), *rows]
    text = "".join(
        f"{(first + timedelta(seconds=at)).isoformat(sep=' ')[:19]} INFO {said}\n" for at, said in lines
    )
    (tmp_path / "train.log").write_text(text, encoding="utf-8")

    facts = build_facts(run_detectors(load_run(tmp_path).run)).plain

    assert facts["signal.startup.wait_s"] == pytest.approx(600, abs=6)


@pytest.mark.parametrize("said", ["Start evaluation on the held-out set (5000 images).", ""])
def test_an_evaluation_before_training_is_no_slow_start(tmp_path, said):
    first = datetime(2026, 11, 22, tzinfo=UTC)
    rows = [(3600 + 5 * step, f"step {step} loss {3 - step / 999:.4f}") for step in range(1, 9)]
    lines = [(0, "loading checkpoint shards failed once, retrying: CUDA out of memory"), (3, said), *rows]
    text = "".join(
        f"{(first + timedelta(seconds=at)).isoformat(sep=' ')[:19]} INFO {words}\n"
        for at, words in lines
        if words
    )
    (tmp_path / "train.log").write_text(text, encoding="utf-8")

    facts = build_facts(run_detectors(load_run(tmp_path).run)).plain

    assert ("signal.startup.wait_s" in facts) is not bool(said)


@pytest.mark.parametrize(
    ("times", "slower"),
    [
        ([10.0 * n for n in range(1, 120)], None),  # a clock: of a hundred rows each adds one percent
        ([3.0 * n + 30.0 * (n // 13) for n in range(1, 51)], None),  # a clock of epochs, some of which waited
        ([11.0 + 0.7 * n for n in range(400)], None),  # a clock whose first row holds the start
        (
            [100.0 * n - 140.0 * (n > 60) for n in range(1, 101)],
            None,
        ),  # a clock that goes on from a checkpoint
        ([10.0 + 0.2 * n - (n % 7 == 0) for n in range(119)], True),
        ([10.0 + 0.2 * n for n in range(119)], True),
    ],
)
def test_a_clock_that_counts_from_the_beginning_is_no_epoch_that_gets_slower(times, slower):
    maker = RunMaker().log({"loss": [2.0 * 0.98**n for n in range(119)], "time": times})

    assert maker.plain().get("signal.pace.slower") is slower


@pytest.mark.parametrize(
    ("waits", "grows"),
    [
        ([0.03, 0.021, 0.024, 0.026, 0.03, 0.033, 0.04, 0.044, 0.05, 0.056], True),
        ([0.2, 0.021, 0.024, 0.023, 0.02, 0.022, 0.024, 0.021, 0.023, 0.022], False),  # only the first waits
        ([0.02, 0.021, 0.09, 0.023, 0.02, 0.15, 0.024, 0.14, 0.02, 0.022], False),  # a busy host
        (
            [0.01, 0.02, 0.01, 0.03, 0.015, 0.04, 0.02, 0.045, 0.03, 0.05, 0.032, 0.055],
            False,
        ),  # load that rises
        ([1e-5 * row for row in range(2, 12)], False),  # a wait that nobody notices
    ],
)
def test_a_wait_for_data_that_grows_from_row_to_row(waits, grows):
    assert plain_of(RunMaker().log({"data_time_s": waits}))["signal.pace.wait_grows"] is grows


@pytest.mark.parametrize(
    ("name", "values", "share"),
    [
        ("data_wait_share", [91.0] * 12, 0.91),
        ("dataloader_fraction", [0.04] * 12, 0.04),
        ("data_wait_share", [3.0, 3.0, 95.0] + [3.0] * 9, 0.03),  # a moment
        ("expert_load_ratio", [0.9] * 12, None),
        ("data_share", [0.9] * 12, None),  # of a mixture
    ],
)
def test_a_share_of_waiting_that_the_program_prints_itself(name, values, share):
    found = plain_of(RunMaker().log({"loss": falling(12, 3.0, 0.5), name: values})).get(
        "signal.pace.wait_share"
    )

    assert found == (None if share is None else pytest.approx(share))
