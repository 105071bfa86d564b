import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_reading import PUBLIC, claimed_by, read_every_prefix, read_files

from analyzer.ingest.discover import load_run
from analyzer.ingest.formats.metrics.json_lines import JsonLines
from analyzer.ingest.source_text import MAX_LINE_BYTES

LLAMAFACTORY_OLD = """\
{"current_steps": 5, "total_steps": 20, "loss": 2.19, "eval_loss": null, "predict_loss": null, "reward": null, \
"learning_rate": 2.9e-05, "epoch": 0.28, "percentage": 25.0, "elapsed_time": "0:00:09", "remaining_time": "0:00:27"}
{"current_steps": 10, "total_steps": 20, "loss": NaN, "eval_loss": null, "predict_loss": null, "reward": null, \
"learning_rate": 1.9e-05, "epoch": 0.56, "percentage": 50.0, "elapsed_time": "1 day, 0:00:18", "remaining_time": "0:00:18"}
"""
LLAMAFACTORY_NEW = """\
{"current_steps": 10, "total_steps": 20, "loss": 1.5, "lr": 1e-05, "epoch": 0.5, "percentage": 50.0, "throughput": 100.5}
{"current_steps": 20, "total_steps": 20, "epoch": 1.0, "percentage": 100.0, "elapsed_time": "0:01:00"}
"""
MMENGINE = """\
{"lr": 0.005, "data_time": 0.1, "loss": 2.6, "loss_cls": 1.8, "time": 0.9, "epoch": 1, "memory": 5037, "iter": 10, "step": 10}
{"lr": 0.005, "data_time": 0.1, "loss": NaN, "loss_cls": NaN, "time": 0.9, "epoch": 1, "memory": 5037, "step": 20}
{"bbox_mAP": 0.1, "data_time": 0.1, "time": 0.2, "step": 1}
"""
MMCV = """\
{"env_info": "sys.platform: linux", "config": "optimizer = dict(lr=0.1)", "seed": 0, "exp_name": "r50.py"}
{"mode": "train", "epoch": 1, "iter": 50, "lr": 0.001, "memory": 3000, "data_time": 0.1, "loss": 1.1, "time": 0.3}
{"mode": "train", "epoch": 1, "iter": 100, "lr": 0.001, "memory": 3000, "data_time": 0.1, "loss": 1.0, "time": 0.3}
{"mode": "val", "epoch": 1, "iter": 20, "lr": 0.001, "mAP": 0.2}
"""


def points(run, name):
    series = run.metrics.series(name)
    return [(series.step_at(i), series.value[i]) for i in range(len(series))]


PHASED = [
    {"split": phase, "epoch": epoch, "loss": loss / epoch, "acc": 0.1 * epoch, "lr": 0.1}
    for epoch in range(1, 5)
    for phase, loss in (("train", 2.0), ("val", 3.0))
]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.jsonl", "".join(json.dumps(row) + "\n" for row in PHASED)),
        ("metrics.csv", "split,epoch,loss,acc,lr\n" + "".join(",".join(map(str, row.values())) + "\n" for row in PHASED)),
        ("run.log", "loading data\nmodel built\n" + "".join(json.dumps(row) + "\n" for row in PHASED)),
    ],
)  # fmt: skip
def test_a_value_that_says_the_phase_tells_held_out_rows_from_training(name, text):
    run = read_files({name: text})

    assert list(run.metrics.series("loss").value) == [2.0, 1.0, 2.0 / 3, 0.5]
    assert list(run.metrics.series("eval_loss").value) == [3.0, 1.5, 1.0, 0.75]
    assert len(run.metrics.series("eval_accuracy")) == len(run.metrics.series("accuracy")) == 4
    assert len(run.metrics.series("learning_rate")) == 8


def test_a_mode_that_is_a_setting_and_a_number_called_type_change_no_name():
    rows = [{"mode": "online", "type": 2, "step": n, "loss": 2.0 / n} for n in range(1, 5)]
    run = read_files({"log.jsonl": "".join(json.dumps(row) + "\n" for row in rows)})

    assert len(run.metrics.series("loss")) == 4
    assert "eval_loss" not in run.metrics.names


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["training_log.json", "result/log"])
def test_rows_in_one_list_are_read_like_rows_on_lines(indent, name):
    rows = [{"step": 10 * n, "loss": 2.5 / n, "val": {"loss": 3.0 / n}} for n in range(1, 5)]
    text = json.dumps(rows, indent=indent)
    run = read_files({name: text})

    assert claimed_by(name, text) == "json-lines"
    assert points(run, "loss") == [(10, 2.5), (20, 1.25), (30, 2.5 / 3), (40, 0.625)]
    assert points(run, "eval_loss")[0] == (10, 3.0)
    assert run.metrics.series("loss").line[1] == (1 if indent is None else 9)


def test_a_list_that_was_cut_off_loses_one_row_and_a_list_of_samples_is_no_log():
    run = read_files({"log.json": '[{"step": 1, "loss": 2.5}, {"step": 2, "loss": 2.25}, {"step": 3, "lo'})

    assert points(run, "loss") == [(1, 2.5), (2, 2.25)]
    assert [gap.rows_lost for gap in run.gaps] == [1]
    assert claimed_by("samples.json", '[{"text": "a", "label": 1}, {"text": "b", "label": 0}]') is None
    assert claimed_by("boxes.json", '[{"id": 3, "area": 2.5}, {"id": 4, "area": 1.5}]') is None


def test_llamafactory_null_is_not_logged_and_an_early_last_row_is_not_finished():
    run = read_files({"trainer_log.jsonl": LLAMAFACTORY_OLD})

    assert points(run, "learning_rate") == [(5, 2.9e-05), (10, 1.9e-05)]
    assert math.isnan(points(run, "loss")[1][1])
    assert not run.metrics.has("eval_loss")
    assert not run.metrics.has("percentage")
    (event,) = run.events.of("not_finished")
    assert dict(event.fields) == {"current_steps": 10, "total_steps": 20}
    assert (event.ref.line, event.step) == (2, 10)
    assert run.config.value("train.max_steps") == 20
    assert run.step_window == {0: 5}
    assert run.frameworks == {"llamafactory", "hf-trainer"}


def test_llamafactory_last_row_at_the_last_step_is_completed():
    run = read_files({"trainer_log.jsonl": LLAMAFACTORY_NEW})

    assert points(run, "learning_rate") == [(10, 1e-05)]
    assert run.events.kinds() == ("training_completed",)


def test_mmengine_validation_rows_count_epochs_and_stand_at_the_last_training_step():
    run = read_files({"20260101_000000/vis_data/20260101_000000.json": MMENGINE})

    assert [step for step, _ in points(run, "loss")] == [10, 20]
    assert points(run, "bbox_mAP".lower()) == [(20, 0.1)]
    assert run.frameworks == {"mmengine"}
    assert not run.metrics.has("iter")
    assert run.step_window == {0: 10}


def test_mmengine_writes_the_same_rows_twice_and_they_count_once():
    twins = {"a/vis_data/20260101_000000.json": MMENGINE, "a/vis_data/scalars.json": MMENGINE}

    assert len(points(read_files(twins), "loss")) == 2
    assert len(points(read_files({"scalars.json": MMENGINE}), "loss")) == 2


def test_mmcv_skips_its_description_row_and_does_not_take_validation_batches_for_steps():
    run = read_files({"20260101_000000.log.json": MMCV})

    assert [step for step, _ in points(run, "loss")] == [50, 100]
    assert points(run, "val/map") == [(100, 0.2)]
    assert not run.metrics.has("seed")


def test_mmcv_by_epoch_has_no_global_step_and_says_so():
    again = '{"mode": "train", "epoch": 2, "iter": 50, "lr": 0.001, "loss": 0.9}\n'
    run = read_files({"x.log.json": MMCV + again})

    assert [step for step, _ in points(run, "loss")] == [None, None, None]
    assert any("every epoch" in gap.reason for gap in run.gaps)


def test_home_made_rows_with_quoted_numbers_sections_and_times():
    rows = [
        {
            "global_step": 3,
            "train": {"loss": "nan", "lr": "1e-05"},
            "_timestamp": 1.75e9,
            "note": "x",
            "ok": True,
        },
        {"global_step": 4.0, "train": {"loss": "2.5"}, "_timestamp": 1.75e12},
    ]
    run = read_files({"metrics.jsonl": "\n".join(map(json.dumps, rows))})
    series = run.metrics.series("loss")

    assert series.step.tolist() == [3, 4]
    assert math.isnan(series.value[0])
    assert series.value[1] == 2.5
    assert series.time_s.tolist() == [1.75e9, 1.75e9]
    assert set(run.metrics.names) == {"loss", "learning_rate"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.jsonl", '{"messages": [{"role": "user", "content": "hi"}], "step": 1}\n' * 3),
        ("train.jsonl", '{"text": "the loss was 3", "id": 1}\n' * 3),
        ("app.log", '{"level": "info", "msg": "started", "time": 1.0}\n' * 3),
        ("wandb/run-20260101_000000-abc/files/wandb-summary.json", '{"_step": 5, "loss": 1.0}'),
        ("run-20190101_000000-abc/wandb-events.jsonl", '{"_runtime": 5, "system.cpu": 1.0, "step": 1}\n' * 3),
        ("ds_config.json", '{"zero_optimization": {"stage": 2}, "steps_per_print": 1}'),
        ("package.json", '{\n "name": "x"\n}'),
    ],
    ids=[
        "dataset",
        "text dataset",
        "structured log",
        "wandb summary",
        "wandb events",
        "config",
        "pretty object",
    ],
)
def test_other_files_of_json_objects_are_not_metrics(name, content):
    assert claimed_by(name, content) != "json-lines"


def test_the_history_of_old_versions_of_wandb_is_read():
    rows = '{"epoch": 0, "loss": 2.5, "val_loss": 2.25, "_runtime": 7.5, "_timestamp": 1560000000.5, "_step": 0}\n'

    assert claimed_by("wandb/run-20190101_000000-abc/wandb-history.jsonl", rows * 3) == "json-lines"


def test_damaged_and_endless_lines_cost_only_themselves():
    text = (
        LLAMAFACTORY_NEW.replace("\n", '\n{"current_steps": 11, broken\n', 1)
        + '{"x": "'
        + "y" * MAX_LINE_BYTES
        + '"}\n'
    )
    text += '{"current_steps": 20, "total_steps": 20, "loss": 0.5}\n' + '{"current_steps": 2'
    run = read_files({"trainer_log.jsonl": text})

    assert points(run, "loss") == [(10, 1.5), (20, 0.5)]
    assert [(gap.ref.line, gap.rows_lost) for gap in run.gaps] == [(2, 1), (4, 1), (6, 1)]


@pytest.mark.parametrize(
    ("name", "text"),
    [("trainer_log.jsonl", LLAMAFACTORY_OLD), ("vis_data/scalars.json", MMENGINE), ("a.log.json", MMCV)],
)
def test_a_log_cut_at_any_byte_never_raises_and_keeps_whole_rows(name, text):
    full = read_files({name: text}, JsonLines())
    total = len(full.metrics)
    for run in read_every_prefix(name, text.encode(), JsonLines(), step=3):
        assert len(run.metrics) <= total
        assert all(gap.ref is not None for gap in run.gaps)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(
                ["step", "iter", "mode", "epoch", "loss", "lr", "current_steps", "total_steps", "time", "x"]
            ),
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.text(max_size=5)
            | st.just({"a": [1]}),
            max_size=6,
        ),
        max_size=5,
    )
)
@settings(max_examples=80, deadline=None)
def test_rows_of_any_values_are_survived(rows):
    text = "\n".join(json.dumps(row) for row in rows)
    read_files({"a.log.json": text + "\n[[[[", "trainer_log.jsonl": text or "{}"}, JsonLines())


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public corpus is not beside this repository")
def test_real_logs_agree_with_the_standard_json_reader():
    paths = sorted((PUBLIC / "llamafactory-trainer_log").rglob("*.jsonl"))
    for path in paths:
        text = path.read_text()
        rows = [json.loads(line) for line in text.splitlines()]
        run = read_files({"trainer_log.jsonl": text})
        for name in ("loss", "eval_loss", "accuracy"):
            wanted = [(r["current_steps"], r[name]) for r in rows if r.get(name) is not None]
            assert (points(run, name) if run.metrics.has(name) else []) == wanted
        rates = [r.get("lr", r.get("learning_rate")) for r in rows]
        assert [value for _, value in points(run, "learning_rate")] == [
            rate for rate in rates if rate is not None
        ]
    (path,) = (PUBLIC / "mmengine-log").rglob("vis_data/*.json")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    run = read_files({f"vis_data/{path.name}": path.read_text()})

    assert paths
    assert points(run, "loss") == [(r["step"], r["loss"]) for r in rows if "loss" in r]
    assert len(points(run, "bbox_map_50")) == sum("bbox_mAP_50" in key for r in rows for key in r)


def test_rllib_nests_its_losses_and_repeats_its_configuration():
    stats = {"total_loss": 8.5, "grad_gnorm": 1.5}
    row = {
        "training_iteration": 1,
        "timesteps_total": 4000,
        "info": {"learner": {"default_policy": {"learner_stats": stats}}},
        "config": {"lr": 5e-05},
    }
    run = read_files(
        {"result.json": json.dumps(row) + "\n" + json.dumps(row | {"training_iteration": 2}) + "\n"}
    )

    assert run.metrics.series("loss").step.tolist() == [1, 2]
    assert run.metrics.series("grad_norm").value.tolist() == [1.5, 1.5]
    assert [(entry.key_in_source, entry.value) for entry in run.config.entries] == [("lr", 5e-05)]


@pytest.mark.parametrize("in_part", [False, True], ids=["beside", "in a part"])
def test_a_value_beside_its_name_is_a_point_of_that_name(in_part):
    told = [("training_loss", 2.5, 1), ("validation_loss", 3.5, 1), ("training_loss", 1.5, 2)]
    rows = [{"value": value, "step": step} for _, value, step in told]
    named = [
        {"data": row, "name": name} if in_part else {"name": name, **row}
        for row, (name, *_) in zip(rows, told, strict=True)
    ]
    run = read_files({"metrics.jsonl": "".join(json.dumps(row) + "\n" for row in named)})

    assert points(run, "loss") == [(1, 2.5), (2, 1.5)]
    assert points(run, "eval_loss") == [(1, 3.5)]


def test_unknown_rows_are_read_by_the_column_that_counts_if_the_name_of_the_file_says_metrics():
    text = '{"objective": 3.5, "tick": 1}\n{"objective": 3.5, "tick": 2}\n{"objective": 3.25, "tick": 3}\n'

    assert read_files({"metrics.jsonl": text}).metrics.series("objective").step.tolist() == [1, 2, 3]
    assert claimed_by("rows.jsonl", text) is None


@pytest.mark.parametrize("key", ["FID", "val_mIoU", "success_rate"])
def test_rows_of_a_score_and_a_step_are_a_course_though_no_loss_is_logged(key):
    run = read_files({"eval.jsonl": "".join(f'{{"itr": {n}00, "{key}": 0.{n}}}\n' for n in range(1, 5))})

    (name,) = run.metrics.names
    assert points(run, name) == [(100, 0.1), (200, 0.2), (300, 0.3), (400, 0.4)]


@pytest.mark.parametrize("row", ['{"FID": 9.5, "model": "a"}', '{"itr": 100, "prompt": 3}'])
def test_a_score_without_a_step_and_a_step_without_a_quantity_are_no_course(row):
    assert claimed_by("eval.jsonl", f"{row}\n" * 4) is None


def test_statistics_of_a_value_are_read_as_their_mean_at_the_tick(tmp_path):
    def row(tick):
        spread = {"num": 10, "std": 0.5}
        return json.dumps(
            {"Loss/G/loss": {**spread, "mean": tick / 4}, "Progress/tick": {**spread, "mean": float(tick)}}
        )

    path = tmp_path / "stats.jsonl"
    path.write_text("\n".join(row(tick) for tick in range(1, 5)) + "\n")
    metrics = load_run(path, []).run.metrics

    assert set(metrics.raw_names) == {"Loss/G/loss"}
    assert metrics.value.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert metrics.step.tolist() == [1, 2, 3, 4]


def test_a_counter_that_stays_while_the_epoch_moves_is_no_step(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(f'{{"epoch": {n}, "iteration": 21, "loss": {1 / n}}}\n' for n in range(1, 5)))
    metrics = load_run(path, []).run.metrics

    assert 21 not in metrics.step.tolist()


def test_rows_that_measure_the_same_are_read_without_a_counter_if_the_file_is_named_for_them():
    rows = [{"stage": "3/40", "train_L": 2.5 - n / 4, "left": "01:00"} for n in range(4)]
    text = "".join(json.dumps(row) + "\n" for row in rows)

    run = read_files({"log.jsonl": text})

    assert [value for _, value in points(run, "loss")] == [2.5, 2.25, 2.0, 1.75]
    assert claimed_by("samples.jsonl", text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"loss": [2.5, 1.5, 1.25, 1.12',
        '{"loss": [2.5, 1.5, 1.25], "val_loss": [',
    ],
)
def test_a_history_that_was_cut_at_its_end_gives_what_stands_in_it(tmp_path, text):
    (tmp_path / "history.json").write_text(text)
    run = load_run(tmp_path).run

    assert points(run, "loss") == [(1, 2.5), (2, 1.5), (3, 1.25)]
    assert any("not a whole JSON object" in gap.reason for gap in run.gaps)


def test_values_below_their_steps_stand_there(tmp_path):
    (tmp_path / "train.log").write_text(
        '{"val_loss_history":{"0":2.5,"1000":1.25,"500":1.5},"opt":{"batch_size":16,"learning_rate":0.1,"seed":3}}'
    )

    assert points(load_run(tmp_path).run, "eval_loss") == [(0, 2.5), (500, 1.5), (1000, 1.25)]


def test_what_an_epoch_ended_with_in_a_file_that_was_cut(tmp_path):
    (tmp_path / "metrics.json").write_text(
        '{\n  "best_epoch": 8,\n  "epoch": 9,\n  "training_loss": 0.5,\n  "training_f1": 0.75,\n  "validation_loss": 0.625,\n  "validation_accu'
    )
    run = load_run(tmp_path).run

    assert points(run, "loss") == [(9, 0.5)]
    assert points(run, "eval_loss") == [(9, 0.625)]
    assert points(run, "training_f1") == [(9, 0.75)]


def test_rows_that_are_empty_in_every_list_were_not_run(tmp_path):
    (tmp_path / "history.json").write_text(
        '{"loss": [2.5, 1.5, 1.25, null, null], "val_loss": [2.5, 1.75, 1.5, null, null]}'
    )
    run = load_run(tmp_path).run

    assert points(run, "loss") == [(1, 2.5), (2, 1.5), (3, 1.25)]
    assert any("the last 2 rows are empty in every list" in gap.reason for gap in run.gaps)


def test_a_loss_that_is_empty_beside_a_finite_accuracy_was_nan(tmp_path):
    (tmp_path / "history.json").write_text('{"loss": [2.5, 1.5, null], "accuracy": [0.25, 0.5, 0.125]}')

    assert math.isnan(points(load_run(tmp_path).run, "loss")[-1][1])


def test_a_metric_that_only_some_rows_have_stands_at_these(tmp_path):
    rows = [{"epoch": n, "loss": 1 / n} | ({"val_loss": 2 / n} if n % 2 == 0 else {}) for n in range(1, 6)]
    (tmp_path / "history.json").write_text(json.dumps({"history": rows}))
    run = load_run(tmp_path).run

    assert points(run, "eval_loss") == [(2, 1.0), (4, 0.5)]


def test_scores_without_a_counter_are_read_from_a_file_that_is_named_for_them():
    row = {"results": {"fid50k_full": 64.0}, "metric": "fid50k_full", "total_time": 9.5}
    text = "".join(
        json.dumps({**row, "snapshot_pkl": f"network-snapshot-{n:06d}.pkl"}) + "\n" for n in range(3)
    )

    assert len(points(read_files({"metric-fid50k_full.jsonl": text}), "results/fid50k_full")) == 3
    assert claimed_by("answers.jsonl", text) is None


def test_a_history_that_was_saved_as_one_string_is_read(tmp_path):
    history = {"loss": [2.5, 1.5, math.nan], "val_loss": [2.5, 1.75, 1.5]}
    (tmp_path / "training_history.json").write_text(json.dumps(str(history)))
    run = load_run(tmp_path).run

    assert points(run, "eval_loss") == [(1, 2.5), (2, 1.75), (3, 1.5)]
    assert math.isnan(points(run, "loss")[-1][1])


def test_the_averages_over_objects_of_any_size_are_read_from_the_list_of_an_evaluation():
    scores = [0.25, 0.5, 0.125, *[0.1] * 9]
    rows = [{"train_loss": 9.0 / n, "test_coco_eval_bbox": scores, "epoch": n} for n in range(1, 4)]
    run = read_files({"log.txt": "".join(json.dumps({**row, "boxes": scores[:4]}) + "\n" for row in rows)})

    assert {name for name in run.metrics.names if "bbox" in name} == {
        "test_bbox_ap",
        "test_bbox_ap50",
        "test_bbox_ap75",
    }
    assert [value for _, value in points(run, "test_bbox_ap")] == [0.25] * 3
