"""The ``.wandb`` reader against the real client as writer and the real schema as oracle."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from wandb_writer import (
    assert_same_points,
    ended,
    expected_points,
    history,
    logged_points,
    messages,
    output,
    pb,
    read,
    written,
)

from analyzer.ingest.formats.wandb.wandb_columns import ItemColumns
from analyzer.ingest.formats.wandb.wandb_log import OUTPUT_RAW, console_lines
from analyzer.ingest.text import text_log

PUBLIC = Path(__file__).parents[3] / ".." / "shared" / "data" / "public"
ROWS = 200

PRODUCER = """
import sys, wandb
run = wandb.init(
    project="p", name="n", group="g", tags=["fp16", "first"], config={"learning_rate": 1e-5, "optim": {"betas": [0.9, 0.95]}},
    settings=wandb.Settings(mode="offline", silent=True, x_disable_stats=True, console="wrap_raw"),
)
nan, inf = float("nan"), float("inf")
for i in range(%d):
    row = {"train/loss": nan if i == 7 else 1 / (i + 1), "train/grad_norm": inf if i == 8 else -inf if i == 9 else i * 1e-7,
           "train/global_step": 10 * i, "nested": {"x": i, "deep": {"y": -i}}, "text": "hello", "flag": True, "none": None}
    if i %% 2:
        row["eval/loss"] = 1e300 / (i + 1)
    if i %% 50 == 0:
        row["weights"] = wandb.Histogram([1, 2, i])
    run.log(row)
    print("step", i, flush=True)
    sys.stderr.write(f"\\r{i}/%d |##  |")
run.config.update({"learning_rate": 3e-4, "late": None}, allow_val_change=True)
run.mark_preempting()
raise ValueError("the end")
"""


@pytest.fixture(scope="module")
def offline_file(tmp_path_factory):
    """What the installed client writes of a run of 200 steps that ends with an exception."""
    home = tmp_path_factory.mktemp("wandb")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WANDB_", "PYTHON")) and name != "HOME"
    }
    environment |= {
        "HOME": str(home),
        "WANDB_DIR": str(home),
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_API_KEY": "0" * 40,
    }
    done = subprocess.run(
        [sys.executable, "-c", PRODUCER % (ROWS, ROWS)], env=environment, cwd=home, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    files = list(home.glob("wandb/offline-run-*/run-*.wandb"))
    assert len(files) == 1, done.stderr

    return files[0]


@pytest.fixture(scope="module")
def offline_run(offline_file):
    return read(offline_file)


def test_every_logged_value_is_read_with_the_optimizers_step(offline_run):
    steps = list(range(0, 10 * ROWS, 10))
    loss = [math.nan if i == 7 else 1 / (i + 1) for i in range(ROWS)]
    norm = [math.inf if i == 8 else -math.inf if i == 9 else i * 1e-7 for i in range(ROWS)]
    points = logged_points(offline_run)

    assert [p[0] for p in points["train/loss"]] == steps
    np.testing.assert_array_equal([p[2] for p in points["train/loss"]], loss)
    np.testing.assert_array_equal([p[2] for p in points["train/grad_norm"]], norm)
    assert [p[2] for p in points["nested.deep.y"]] == [-i for i in range(ROWS)]
    assert [(p[0], p[2]) for p in points["eval/loss"]] == [
        (10 * i, 1e300 / (i + 1)) for i in range(1, ROWS, 2)
    ]


def test_pictures_texts_booleans_and_nulls_are_no_metrics(offline_run):
    names = {"train/loss", "train/grad_norm", "train/global_step", "nested.x", "nested.deep.y", "eval/loss"}

    assert set(logged_points(offline_run)) == names


def test_real_histories_are_read_by_array_operations_alone(offline_file, monkeypatch):
    monkeypatch.setattr(
        ItemColumns, "_row_points", lambda *_: pytest.fail("a record was decoded field by field")
    )

    assert len(read(offline_file).metrics.series("loss")) == ROWS


def test_rows_carry_their_time_and_record_number(offline_run, offline_file):
    loss = offline_run.metrics.series("loss")

    assert np.all(np.diff(loss.time_s) >= 0)
    assert abs(loss.time_s[0] - offline_file.stat().st_mtime) < 3600
    assert_same_points(logged_points(offline_run), expected_points(offline_file.read_bytes()))


def test_the_last_state_of_the_configuration_counts(offline_run):
    entries = {entry.key_in_source: entry for entry in offline_run.config.entries}

    assert offline_run.config.value("train.learning_rate") == 3e-4
    assert offline_run.config["train.learning_rate"].conflicts == ()
    assert entries["optim.betas[1]"].value == 0.95
    assert entries["late"].value is None
    assert entries["wandb.tags"].value == "fp16, first"
    assert entries["wandb.group"].value == "g"
    assert entries["python"].framework == "versions"


def test_the_exit_code_and_the_times_of_the_launch_are_read(offline_run, offline_file):
    (attempt,) = offline_run.attempts

    assert attempt.label == offline_file.parent.name
    assert attempt.exit_code == 1
    assert attempt.end_s >= attempt.start_s
    assert offline_run.events.of("wandb_preempting")
    assert not offline_run.events.of("tracker_no_exit_record")
    assert offline_run.layout.host
    assert offline_run.gaps == ()


def test_the_consoles_pieces_become_lines_with_their_records(offline_file, monkeypatch):
    taken = []
    monkeypatch.setattr(text_log, "read_lines", lambda lines, _: taken.extend(lines))
    read(offline_file)
    texts = [text for _, text, _ in taken]

    assert [text for text in texts if text.startswith("step")] == [f"step {i}" for i in range(ROWS)]
    assert f"7/{ROWS} |##  |" in texts
    assert any(text.startswith("ValueError: the end") for text in texts)
    assert all(number > 1 and time_s > 1e9 for number, _, time_s in taken)


def test_a_traceback_on_the_console_is_an_event_of_the_run(offline_run):
    assert any("the end" in event.text for event in offline_run.events.of("python_traceback"))


def test_console_values_of_a_metric_in_the_history_are_left_out(tmp_path):
    line = "{'loss': 9.5, 'grad_norm': 1.25, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
    both = read(written(tmp_path, [history(1, **{"train/loss": 2.0}), output(line), ended(0)]))
    console_only = read(written(tmp_path, [output(line), ended(0)], name="run-y.wandb"))

    assert [p[2] for p in logged_points(both)["train/loss"]] == [2.0]
    assert both.metrics.series("loss").value.tolist() == [2.0]
    assert both.metrics.series("grad_norm").value.tolist() == [1.25]
    assert console_only.metrics.series("loss").value.tolist() == [9.5]


def test_streams_do_not_mix_and_bars_are_split_at_each_state():
    pieces = [
        output("a"),
        output("\r 1%", stdout=False),
        output("b\nc"),
        output("\r 2%\n", stdout=False),
        output("\n"),
    ]
    payloads = [
        (i, OUTPUT_RAW, memoryview(p.output_raw.SerializeToString())) for i, p in enumerate(pieces, 1)
    ]
    lines = [(number, text) for number, text, _ in console_lines(payloads, pytest.fail)]

    assert lines == [(1, "ab"), (2, " 1%"), (4, " 2%"), (3, "c")]


def test_a_file_without_exit_record_says_so(tmp_path):
    run = read(written(tmp_path, [pb.Record(run=pb.RunRecord(run_id="abc")), history(0, loss=1.0)]))

    assert [event.ref.line for event in run.events.of("tracker_no_exit_record")] == [2]
    assert run.attempts[0].label == "abc"
    assert run.attempts[0].exit_code is None
    assert run.gaps == ()


def test_empty_records_are_no_damage(tmp_path):
    empty = pb.Record(num=5)
    empty.history.SetInParent()
    run = read(
        written(tmp_path, [pb.Record(), pb.Record(num=1), empty, history(3), history(4, loss=1.0), ended(0)])
    )

    assert logged_points(run)["loss"] == [(4, 5, 1.0)]
    assert run.gaps == ()


def test_step_records_stand_for_missing_step_items(tmp_path):
    rows = [history(s, loss=1.0) for s in (0, 5, 300, 2**40)] + [
        history(None, loss=1.0),
        history(7, loss=1.0, _step=9),
    ]
    run = read(written(tmp_path, rows))

    assert [p[0] for p in logged_points(run)["loss"]] == [0, 5, 300, 2**40, None, 9]


def test_two_counters_never_mix_on_one_metric(tmp_path):
    rows = [
        history(0, loss=3.0, other=1.0),
        history(1, loss=2.0, global_step=50),
        history(2, other=1.5),
    ]
    points = logged_points(read(written(tmp_path, rows)))

    assert [p[0] for p in points["loss"]] == [None, 50]
    assert [p[0] for p in points["other"]] == [0, 2]


def test_quoted_nan_counts_and_other_texts_do_not(tmp_path):
    texts = ['"NaN"', '"Infinity"', '"-Infinity"', '"3"', '"x"', '"inf"']
    points = logged_points(read(written(tmp_path, [history(i, loss=text) for i, text in enumerate(texts)])))

    assert [p[0] for p in points["loss"]] == [0, 1, 2, 5]
    np.testing.assert_array_equal([p[2] for p in points["loss"]], [math.nan, math.inf, -math.inf, math.inf])


def test_points_keep_their_order_however_they_were_decoded(tmp_path):
    rows = [
        history(i, loss='"NaN"' if i % 3 == 1 else float(i), **({"a__b__c__d__e__f": 1} if i % 2 else {}))
        for i in range(9)
    ]
    points = logged_points(read(written(tmp_path, rows)))

    assert [p[0] for p in points["loss"]] == list(range(9))


def test_older_writers_use_a_flat_key_and_nest_in_json(tmp_path):
    record = pb.Record()
    record.history.item.add(key="loss", value_json="0.5")
    record.history.item.add(key="n", value_json='{"x": 1, "y": {"z": NaN}, "l": [1]}')
    record.history.item.add(key="h", value_json='{"_type": "histogram", "size": 3}')
    record.history.item.add(key="_step", value_json="4")
    points = logged_points(read(written(tmp_path, [record])))

    assert_same_points(points, {"loss": [(4, 1, 0.5)], "n.x": [(4, 1, 1.0)], "n.y.z": [(4, 1, math.nan)]})


def test_typed_values_are_read(tmp_path):
    record = pb.Record()
    record.history.item.add(key="a", number=0.25)
    record.history.item.add(key="b", integer=-7)
    record.history.item.add(key="c", json="2.5")
    record.history.item.add(key="d", text="no")
    points = logged_points(read(written(tmp_path, [record])))

    assert {name: rows[0][2] for name, rows in points.items()} == {"a": 0.25, "b": -7.0, "c": 2.5}


def test_a_summary_counts_only_without_a_history(tmp_path):
    record = pb.Record()
    record.summary.update.add(nested_key=["loss"], value_json="NaN")
    record.summary.update.add(nested_key=["global_step"], value_json="70")
    alone = logged_points(read(written(tmp_path, [record])))
    beside = logged_points(read(written(tmp_path, [record, history(3, loss=1.5)], name="b.wandb")))

    assert_same_points(alone, {"loss": [(None, 1, math.nan)], "global_step": [(70, 1, 70.0)]})
    assert_same_points(beside, {"loss": [(3, 2, 1.5)]})


def test_system_metrics_have_a_time_and_no_step(tmp_path):
    record = pb.Record()
    record.stats.timestamp.seconds = 1_700_000_000
    record.stats.timestamp.nanos = 500_000_000
    record.stats.item.add(key="gpu.0.temp", value_json="61.5")
    run = read(written(tmp_path, [record, record]))
    series = run.metrics.series("system.gpu.0.temp")

    assert series.value.tolist() == [61.5, 61.5]
    assert series.time_s.tolist() == [1_700_000_000.5] * 2
    assert series.step_at(0) is None


def test_the_environment_gives_hardware_versions_and_arguments_but_no_personal_data(tmp_path):
    record = pb.Record()
    found = record.environment
    found.host, found.gpu_type, found.gpu_count, found.cuda_version = "node1", "NVIDIA H100", 8, "12.4"
    found.email, found.username, found.root = "jane@example.org", "jane", "/home/jane/work"
    found.args.extend(
        ["--bf16", "--lr=2e-5", "--model_name_or_path", "google/gemma-2b", "--out", "/home/jane/x"]
    )
    run = read(written(tmp_path, [record]))

    assert (run.layout.gpus, run.layout.gpu_name, run.layout.host) == (8, "NVIDIA H100", "node1")
    assert run.config.value("bf16.enabled") is True
    assert run.config.value("train.learning_rate") == 2e-5
    assert run.config["train.learning_rate"].layer == "cli"
    assert run.config.value("model.name") == "google/gemma-2b"
    assert "jane" not in repr(run)


def test_a_trainers_config_is_told_from_the_models_inside_it(tmp_path):
    record = pb.Record()
    values = {
        "model_type": "gemma", "vocab_size": 256000, "hidden_size": 2048, "torch_dtype": "float16", "max_length": 20,
        "per_device_train_batch_size": 4, "fp16": True, "logging_steps": 10.0, "logging_strategy": "steps",
        "deepspeed": {"zero_optimization": {"stage": 3}, "fp16": {"hysteresis": "auto"}},
        "peft_config": {"default": {"r": 8, "peft_type": "LORA"}},
    }  # fmt: skip
    for key, value in values.items():
        record.config.update.add(key=key, value_json=json.dumps(value))
    run = read(written(tmp_path, [record]))

    assert run.config.value("model.type") == "gemma"
    assert run.config.value("zero.stage") == 3
    assert run.config["zero.stage"].framework == "deepspeed"
    assert run.config.value("lora.r") == 8
    assert run.config["fp16.enabled"].framework == "hf-trainer"
    assert run.config.value("data.max_length") is None
    assert run.config.value("model.native_dtype") is None
    assert run.config.value("weights.dtype") is None
    assert run.frameworks == {"hf-trainer", "deepspeed"}
    assert run.step_window == {0: 10}


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the collection of public runs is not beside this checkout")
def test_public_files_give_what_the_schema_gives():
    files = sorted(PUBLIC.glob("wandb/**/*.wandb"))
    assert files

    for path in files:
        run = read(path)
        points = {name: rows for name, rows in logged_points(run).items() if not name.startswith("system.")}
        wanted = expected_points(path.read_bytes())

        assert_same_points({name: points[name] for name in wanted}, wanted)
        has_exit = any(record.HasField("exit") for record in messages(path.read_bytes()))
        assert bool(run.events.of("tracker_no_exit_record")) != has_exit
