"""Runs as SwanLab, ClearML and Trackio's export wrote them: ``tracker_files/README.md`` says how they were made."""

import json
import shutil
import struct
from pathlib import Path

import pytest
from fuzz_seeds import resealed

import analyzer
from analyzer.ingest.discover import load_run
from analyzer.triage.plan import make_plan

FILES = Path(__file__).parent / "tracker_files"
NAMES = ("swanlab", "clearml", "trackio")


def course(run, name):
    series = run.metrics.series(name)
    return dict(zip(series.step.tolist(), series.value.tolist(), strict=True))


@pytest.mark.parametrize("tracker", NAMES)
def test_every_value_and_setting_is_read(tracker):
    run = load_run(FILES / tracker).run
    loss, norm = course(run, "loss"), course(run, "grad_norm")

    assert list(loss) == list(range(30)) == list(norm)
    assert loss[0] == pytest.approx(0.693147, abs=1e-6)
    assert loss[25] == 7.754444818553388e196
    assert run.config.value("train.learning_rate") == 0.5
    assert run.config.value("train.micro_batch_size") == 80


@pytest.mark.parametrize("tracker", NAMES)
def test_the_three_are_told_alike(tracker):
    dx = analyzer.diagnose(FILES / tracker)

    assert dx.status == "failed"
    assert dx.onset is not None
    assert dx.onset.step == 26
    assert dx.findings[0].cause.id in {"loss-divergence", "learning-rate-too-high", "nonfinite-forward"}


def test_swanlab_says_how_the_run_ended():
    run = load_run(FILES / "swanlab").run

    assert [event.fields["exception"] for event in run.events.of("python_traceback")] == [
        "FloatingPointError"
    ]
    assert run.attempts[-1].exit_code == 1
    assert run.attempts[-1].start_s < run.attempts[-1].end_s


def test_a_swanlab_run_that_was_killed_has_no_end(tmp_path):
    data = (FILES / "swanlab" / "run-obmw0r90.swanlab").read_bytes()
    (tmp_path / "run-killed.swanlab").write_bytes(data[: len(data) - 700])
    run = load_run(tmp_path).run

    assert run.events.of("tracker_no_exit_record")[0].fields["tracker"] == "SwanLab"
    assert run.attempts[-1].exit_code is None
    assert any("the file was cut there" in gap.reason for gap in run.gaps)
    assert course(run, "loss")[20] == course(load_run(FILES / "swanlab").run, "loss")[20]


def test_a_flipped_bit_costs_one_record_of_swanlab(tmp_path):
    data = bytearray((FILES / "swanlab" / "run-obmw0r90.swanlab").read_bytes())
    place = data.index(struct.pack("<d", 7.754444818553388e196))
    data[place] ^= 1
    (tmp_path / "run-x.swanlab").write_bytes(data)
    run = load_run(tmp_path).run

    assert len(course(run, "loss")) == 29
    assert any("hold no intact record" in gap.reason for gap in run.gaps)


def test_a_number_of_another_length_costs_its_record(tmp_path):
    value = struct.pack("<d", 7.754444818553388e196)
    data = (FILES / "swanlab" / "run-obmw0r90.swanlab").read_bytes()
    place = data.index(value) - 1
    assert data[place] == 0x09  # field 1, eight bytes
    changed = (
        data[:place] + b"\x0a\x07" + data[place + 2 :]
    )  # field 1, seven bytes that follow: the same length in all
    (tmp_path / "run-x.swanlab").write_bytes(resealed("swanlab", changed))
    run = load_run(tmp_path).run

    assert len(course(run, "loss")) == 29
    assert any("whose contents are not" in gap.reason for gap in run.gaps)


def test_zeros_that_clearml_writes_for_nan_are_told_from_zeros(tmp_path):
    shutil.copytree(FILES / "clearml", tmp_path / "run")
    log = tmp_path / "run" / "log.jsonl"
    log.write_text(log.read_text().replace("NaN value encountered", "value written"))
    told, untold = analyzer.diagnose(FILES / "clearml"), analyzer.diagnose(tmp_path / "run")

    assert load_run(FILES / "clearml").run.events.of("nan_reported_as_zero")
    assert told.findings[0].symptom_kind == "numerical_breakdown"
    assert untold.findings[0].symptom_kind != "numerical_breakdown"


def test_a_cut_line_of_clearml_is_a_gap_and_the_rest_is_read(tmp_path):
    events = [
        {"timestamp": 1772618400000 + s, "type": "training_stats_scalar", "task": "t", "iter": s, "metric": m,
         "variant": v, "value": 2.0 - s / 50}
        for s in range(40) for m, v in (("loss", "train"), (":monitor:machine", "cpu_usage"))
    ]  # fmt: skip
    whole = json.dumps(events[:60])
    (tmp_path / "metrics.jsonl").write_text(f"{whole}\n{json.dumps(events[60:])[:-20]}")
    run = load_run(tmp_path).run

    assert list(course(run, "loss")) == list(range(30))
    assert any("damaged or cut" in gap.reason for gap in run.gaps)


def test_the_run_that_wrote_last_is_read_of_a_trackio_export():
    run = load_run(FILES / "trackio").run

    assert [gap.reason for gap in run.gaps] == [
        "the table holds 2 runs; only the one that wrote last is read: second"
    ]


def test_a_table_of_metrics_without_a_run_is_read_and_one_of_data_is_not(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    steps = list(range(40))
    table = {
        "epoch": steps,
        "val_loss": [2 - s / 30 for s in steps],
        "train_loss": [2 - s / 25 for s in steps],
    }
    (tmp_path / "run").mkdir()
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table(table), tmp_path / "run" / "history.parquet")
    pq.write_table(pa.table({"text": ["a"] * 4, "step": [1, 2, 3, 4]}), tmp_path / "data" / "train.parquet")

    run = load_run(tmp_path / "run").run
    assert run.metrics.series("eval_loss").value.tolist() == pytest.approx(table["val_loss"])
    with pytest.raises(analyzer.errors.InputError, match="no file of a known format"):
        load_run(tmp_path / "data")


def test_a_damaged_parquet_table_is_a_gap_or_refused(tmp_path):
    good = (FILES / "trackio" / "clouds.parquet").read_bytes()
    for place in range(4, len(good) - 8, 211):
        data = bytearray(good)
        data[place] ^= 0x10
        (tmp_path / "clouds.parquet").write_bytes(data)
        try:
            load_run(tmp_path)
        except analyzer.errors.InputError:
            continue


def test_a_triage_finds_the_runs_of_all_three():
    plan = make_plan([str(FILES)])

    assert {Path(run.location).name for run in plan.runs} == set(NAMES)
    assert len(plan.skipped) == 1  # README.md
