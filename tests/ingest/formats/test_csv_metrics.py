import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_reading import PUBLIC, claimed_by, read_every_prefix, read_files

from analyzer.ingest.formats.metrics.csv_metrics import CsvMetrics

MONITOR = "step,loss_scale\n4,65536\n8,32768.0\nstep,loss_scale\n8,32768.0\n12,16384.0\n"
LIGHTNING = "epoch,train_loss,step,val_loss\n0,0.5,4,\n0,,6,nan\n1,inf,9,\n"


def points(run, name):
    series = run.metrics.series(name)
    return [(series.step_at(i), float(series.value[i]), int(series.line[i])) for i in range(len(series))]


def test_deepspeed_monitor_counts_samples_and_repeats_its_header_after_a_restart():
    run = read_files({"csv/Train_Samples_loss_scale.csv": MONITOR})

    assert points(run, "loss_scale") == [(1, 65536.0, 2), (2, 32768.0, 3), (2, 32768.0, 5), (3, 16384.0, 6)]
    assert run.metrics.series("loss_scale").logged_as == "Train/Samples/loss_scale"
    (event,) = run.events.of("log_restarted")
    assert event.ref.line == 4
    assert run.frameworks == {"deepspeed"}


def test_samples_become_steps_by_the_batch_size_of_the_configuration():
    files = {"ds_config.json": '{"train_batch_size": 4, "zero_optimization": {"stage": 2}}'}
    files["Train_Samples_lr.csv"] = "step,lr\n40,0.1\n80,0.2\n"

    assert [step for step, _, _ in points(read_files(files), "learning_rate")] == [10, 20]


def test_signs_around_the_name_of_a_counter_are_no_part_of_it():
    run = read_files({"train.csv": "~iteration~,total_loss,lr\n0,0.75,0.1\n50,0.5,0.1\n"})

    assert run.metrics.series("loss").step.tolist() == [0, 50]


def test_a_row_of_empty_cells_below_the_header_is_passed_over():
    text = "epoch,loss,f1,recall\n,,,\n0.0,0.69,0.44,0.59\n1.0,0.51,0.84,0.80\n"

    assert claimed_by("history.csv", text) == "csv-metrics"
    assert [value for _, value, _ in points(read_files({"history.csv": text}), "loss")] == [0.69, 0.51]


def test_a_table_with_the_marks_of_a_merge_is_read():
    rows = "0,2.5,2.6\n1,2.0,2.2\n"
    text = f"epoch,loss,val_loss\n<<<<<<< HEAD\n{rows}=======\n{rows}>>>>>>> other\n"

    assert claimed_by("log.csv", text) == "csv-metrics"
    assert [value for _, value, _ in points(read_files({"log.csv": text}), "loss")] == [2.5, 2.0, 2.5, 2.0]


def test_an_empty_cell_was_not_logged_but_nan_was():
    run = read_files({"version_0/metrics.csv": LIGHTNING})

    assert points(run, "loss") == [(4, 0.5, 2), (9, math.inf, 4)]
    ((step, value, line),) = points(run, "eval_loss")
    assert (step, line) == (6, 3)
    assert math.isnan(value)
    assert [value for _, value, _ in points(run, "epoch")] == [0, 0, 1]


def test_keras_writes_na_for_what_it_did_not_compute_and_counts_epochs_not_steps():
    run = read_files({"log.csv": "epoch,accuracy,loss,val_loss\n0,0.5,nan,NA\n1,0.5,0.25,1.5\n"})

    assert [(step, line) for step, _, line in points(run, "loss")] == [(None, 2), (None, 3)]
    assert points(run, "eval_loss") == [(None, 1.5, 3)]


def test_a_wandb_export_takes_the_training_step_its_clock_and_cells_of_several_lines():
    text = '_step,iter,_timestamp,train/loss,Sample\n0,0.0,1779703035.5,4.25,\n1,10.0,1779703036.5,nan,"two\nlines"\n'
    run = read_files({"history.csv": text + "2,20.0,1779703037.5,1.5,\n"})
    series = run.metrics.series("loss")

    assert series.step.tolist() == [0, 10, 20]
    assert series.line.tolist() == [2, 3, 5]
    assert series.time_s[0] == 1779703035.5


def test_a_wandb_chart_keeps_the_curve_and_drops_its_envelope():
    text = '"Step","run-1 - train/loss","run-1 - train/loss__MIN","run-1 - train/loss__MAX"\n"1","2.5","2.5","2.5"\n'
    run = read_files({"chart.csv": text})

    assert run.metrics.names == ("loss",)
    assert points(run, "loss") == [(1, 2.5, 2)]


def test_a_tensorboard_download_is_named_by_its_file():
    run = read_files({"grad_norm.csv": "Wall time,Step,Value\n1779703035.5,7,0.25\n"})

    assert points(run, "grad_norm") == [(7, 0.25, 2)]


def test_yolo_pads_its_columns_and_counts_parameter_groups_from_zero():
    text = "      epoch,   train/box_loss,   lr/pg0,   lr/pg1\n          1,            1.5,    0.1,    0.2\n          2,            nan,    0.1,    0.2\n"
    run = read_files({"results.csv": text})

    assert math.isnan(points(run, "train/box_loss")[1][1])
    assert [value for _, value, _ in points(run, "learning_rate")] == [0.1, 0.1]


@pytest.mark.parametrize(
    ("row", "evaluated"),
    [
        ("1,1.5,0,0,0,0", [3]),  # no validation in this epoch
        ("1,1.5,0,0,1.7,0", [2, 3]),  # nothing was found yet, at a loss
        ("1,1.5,0,0,nan,nan", [2, 3]),
    ],
)
def test_yolo_writes_zeros_for_the_validation_of_an_epoch_that_had_none(row, evaluated):
    header = "epoch,train/box_loss,metrics/precision(B),metrics/mAP50(B),val/box_loss,val/cls_loss"
    run = read_files({"results.csv": f"{header}\n{row}\n2,1.2,0.9,0.8,1.1,0.6\n"})

    assert run.metrics.series("train/box_loss").line.tolist() == [2, 3]
    for name in ("val/box_loss", "metrics/map50(b)"):
        assert run.metrics.series(name).line.tolist() == evaluated


def test_zeros_of_other_tables_are_values():
    run = read_files({"metrics.csv": "step,loss,val/score,metrics/f1\n1,0.5,0,0\n2,0.4,0.5,0.6\n"})

    assert run.metrics.series("val/score").value.tolist() == [0.0, 0.5]


def test_reinforcement_learning_counts_steps_of_the_environment():
    run = read_files(
        {
            "progress.csv": "rollout/ep_rew_mean,time/total_timesteps,train/loss\n-120.5,2048,\n-110.5,4096,0.5\n"
        }
    )

    assert points(run, "loss") == [(4096, 0.5, 3)]


def test_the_mean_beside_a_median_of_episodes_is_their_return():
    head = "steps\tepisodes\telapsed\tmean\tmedian\tstdev\tmax\tmin\taverage_loss\n"
    run = read_files({"scores.txt": head + "100\t5\t3.5\t-20.5\t-21\t2\t-17\t-23\t0.5\n"})
    other = read_files({"metrics.csv": "step,loss,mean,median\n1,0.5,3.25,3\n2,0.25,3.5,3\n"})

    assert points(run, "reward_mean") == [(100, -20.5, 2)]
    assert "reward_mean" not in other.metrics.names


def test_a_wider_header_after_a_restart_names_the_columns_that_follow():
    run = read_files(
        {"metrics.csv": "epoch,step,train_loss\n0,9,2.5\nepoch,step,train_loss,val_loss\n0,19,2.25,2.0\n"}
    )

    assert points(run, "eval_loss") == [(19, 2.0, 4)]
    assert [value for _, value, _ in points(run, "loss")] == [2.5, 2.25]


def test_an_unknown_table_is_read_by_the_column_that_counts_if_its_name_says_history():
    text = "run,tick,objective\na,1,3.5\na,2,3.5\na,3,3.25\n"

    assert points(read_files({"history.csv": text}), "objective") == [(1, 3.5, 2), (2, 3.5, 3), (3, 3.25, 4)]
    assert claimed_by("table.csv", text) is None
    assert claimed_by("metrics.csv", "name,score\nmap,0.5\nauc,0.75\n") is None


def test_rows_shorter_than_the_header_were_not_logged_in_full_and_longer_ones_are_a_gap():
    run = read_files({"log.csv": "step,train/loss,act\n0,4.1\n1,3.5,0.25\n2,3.0,0.5,9\n"})

    assert points(run, "act") == [(1, 0.25, 3), (2, 0.5, 4)]
    assert [(gap.ref.line, gap.rows_lost) for gap in run.gaps] == [(4, 1)]


def test_a_number_that_may_be_cut_off_is_not_read():
    run = read_files({"Train_Samples_loss_scale.csv": "step,loss_scale\n4,65536\n8,65"})

    assert points(run, "loss_scale") == [(4, 65536.0, 2)]
    assert run.gaps[0].ref.line == 3
    assert len(points(read_files({"metrics.csv": "step,loss\n4,1.0\n8,nan"}), "loss")) == 2


def test_only_a_header_says_that_the_run_ended_before_its_first_row():
    run = read_files({"metrics.csv": "step,loss\n"})

    assert "before the first row" in run.gaps[0].reason


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gpu.csv", 'timestamp,raw_output\n2025-03-25T09:12:43,"Tue\n| GPU |"\n'),
        ("jobs.csv", "id,job_num,gpu_num\n1,2,3\n"),
        ("data.csv", "text,label\nhello,1\n"),
        ("train.log", "Loading model, please wait\nstep 1, loss 2.0\n"),
        ("notes.txt", "loss, step\nare words, of a sentence\n"),
    ],
)
def test_other_tables_and_texts_are_not_metrics(name, content):
    assert claimed_by(name, content) is None


def test_a_table_of_a_row_for_each_metric_names_them_in_a_column():
    run = read_files(
        {"metrics.csv": "tag,step,value\ntrain/loss,0,0.5\nval/loss,0,0.75\ntrain/loss,1,0.25\n"}
    )

    assert points(run, "loss") == [(0, 0.5, 2), (1, 0.25, 4)]
    assert points(run, "eval_loss") == [(0, 0.75, 3)]


@pytest.mark.parametrize("mark", ["#", "# "])
def test_a_head_that_is_marked_as_a_comment_names_the_columns(mark):
    run = read_files({"loss.csv": f"{mark}step,loss,acc\n0,0.5,0.1\n1,0.25,0.2\n"})

    assert points(run, "loss") == [(0, 0.5, 2), (1, 0.25, 3)]


def test_tabs_semicolons_a_byte_order_mark_and_microsoft_line_ends():
    for delimiter in "\t;":
        text = "\ufeff" + LIGHTNING.replace(",", delimiter).replace("\n", "\r\n")
        assert points(read_files({"metrics.csv": text}), "loss") == [(4, 0.5, 2), (9, math.inf, 4)]


@pytest.mark.parametrize(
    ("name", "text"), [("Train_Samples_loss_scale.csv", MONITOR), ("metrics.csv", LIGHTNING)]
)
def test_a_table_cut_at_any_byte_never_raises_and_never_invents_a_value(name, text):
    known = set(read_files({name: text}).metrics.value.tolist()) | {math.inf}
    for run in read_every_prefix(name, text.encode(), CsvMetrics()):
        assert {value for value in run.metrics.value.tolist() if not math.isnan(value)} <= known


@given(st.text(alphabet='stepiloscrn,0123456789."\n\r\0; -eE', max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_text_behind_a_header_is_survived(text):
    read_files({"metrics.csv": "step,loss\n" + text, "x.csv": text or "a"}, CsvMetrics())


def test_an_unclosed_quote_costs_rows_and_becomes_a_gap():
    run = read_files({"metrics.csv": 'step,loss\n1,2.0\n2,"' + "x,1\n" * 50_000})

    assert points(run, "loss")[0] == (1, 2.0, 2)
    assert any("not CSV" in gap.reason for gap in run.gaps)


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public corpus is not beside this repository")
def test_real_tables_agree_with_pandas_reading_text_cells():
    pd = pytest.importorskip("pandas")
    folders = ("lightning-metrics-csv", "wandb-history-csv", "autotrainer-log-csv", "mup-coord-check-csv")
    paths = [path for folder in folders for path in (PUBLIC / folder).rglob("*.csv")]
    for path in paths:
        text = path.read_text()
        frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
        run = read_files({path.name: text})
        for raw in run.metrics.raw_names:
            cells = pd.to_numeric(frame[raw].replace("", None), errors="coerce").dropna()
            code = run.metrics.raw_names.index(raw)
            assert np.array_equal(
                run.metrics.value[run.metrics.raw == code], cells.to_numpy(), equal_nan=True
            )
        header = next(csv.reader([text.splitlines()[0]]))
        step = next((name for name in ("step", "iter") if name in header), None)
        loss = run.metrics.series("eval_loss")
        if step and loss is not None:
            wanted = frame[frame[loss.logged_as] != ""][step].astype(float)
            assert loss.step.tolist() == wanted.tolist()

    assert len(paths) >= 10


def test_steps_beside_episodes_are_the_length_of_each_and_those_beside_epochs_count():
    episodes = read_files({"log.csv": "Episode,TotalReward,Steps\n1,-46,63\n2,-60,71\n3,8,9\n"})
    epochs = read_files({"log.csv": "epoch,loss,steps\n1,0.5,10\n2,0.4,20\n"})

    assert [step for step, _, _ in points(episodes, "reward_mean")] == [1, 2, 3]
    assert [step for step, _, _ in points(epochs, "loss")] == [10, 20]


def test_a_score_beside_a_step_is_a_course_and_a_table_of_results_is_none():
    assert claimed_by("eval.csv", "epoch,mIoU\n1,0.2\n2,0.3\n") == "csv-metrics"
    assert claimed_by("report.csv", "class,precision,recall,support\n0,0.9,0.8,12\n1,0.7,0.9,40\n") is None


def test_dvclive_keeps_a_metric_in_a_file_whose_folder_is_part_of_its_name():
    folder = "dvclive/plots/metrics"
    run = read_files(
        {
            f"{folder}/train/loss.tsv": "timestamp\tstep\tloss\n1795000000000\t0\t2.5\n1795000001000\t1\t2.25\n",
            f"{folder}/val/loss.tsv": "step\tloss\n0\t3.0\n1\tnan\n",
            f"{folder}/accuracy.tsv": "step\taccuracy\n0\t0.5\n1\t0.75\n",
            "other/train/loss.tsv": "step\tloss\n7\t1.5\n",
        }
    )

    assert points(run, "loss")[:2] == [(0, 2.5, 2), (1, 2.25, 3)]
    assert [step for step, _, _ in points(run, "loss")] == [0, 1, 7]
    assert run.metrics.series("loss").time_s[0] == 1_795_000_000
    assert [step for step, _, _ in points(run, "eval_loss")] == [0, 1]
    assert [value for _, value, _ in points(run, "accuracy")] == [0.5, 0.75]


@pytest.mark.parametrize(
    ("text", "metric", "expected"),
    [
        ("# run 3\n# lr 0.1\nepoch,loss\n1,0.5\n2,0.25\n", "loss", [(None, 0.5), (None, 0.25)]),
        ("epoch;loss;val_loss\n1;0,5;0,75\n2;0,25;0,5\n", "eval_loss", [(None, 0.75), (None, 0.5)]),
        ("epoch,train_loss,train_acc\n1,0.5,50%\n2,0.25,75%\n", "accuracy", [(None, 0.5), (None, 0.75)]),
        ("Episode,Total_Reward,Collision\n1,-2.5,True\n2,3.5,False\n", "reward_mean", [(1, -2.5), (2, 3.5)]),
    ],
)
def test_comments_percent_decimal_commas_and_episodes_are_read(text, metric, expected):
    run = read_files({"progress.csv": text})

    assert [(step, value) for step, value, _ in points(run, metric)] == expected


def test_a_table_of_evaluations_beside_that_of_the_training_holds_held_out_quantities():
    train, held_out = "step,loss,lr\n1,2.0,0.1\n2,1.5,0.1\n", "epoch,step,loss,acc\n1,2,1.7,0.5\n"
    together = read_files({"steps.csv": train, "eval.csv": held_out})
    tested = read_files({"train_log.csv": train, "test_log.csv": held_out})
    alone = read_files({"test.csv": held_out})

    for run in (together, tested):
        assert [value for _, value, _ in points(run, "loss")] == [2.0, 1.5]
        assert [value for _, value, _ in points(run, "eval_loss")] == [1.7]
        assert [value for _, value, _ in points(run, "eval_accuracy")] == [0.5]
    assert [value for _, value, _ in points(alone, "loss")] == [1.7]


def test_what_yolo_counts_is_of_held_out_data():
    run = read_files({"results.csv": "epoch,train/loss,val/loss,metrics/accuracy_top1\n1,2.0,1.9,0.3\n"})

    assert [value for _, value, _ in points(run, "eval_accuracy")] == [0.3]


def test_a_column_in_percent_may_stand_first_and_no_step_is_needed_beside_a_loss_and_a_score():
    agent = read_files(
        {"progress.csv": "% of time exploring,episodes,mean 50 episode reward,steps\n98,50,9.5,600\n"}
    )
    voice = read_files({"steps.csv": "loss,cer\n0.75,1.25\n0.5,0.875\n"})

    assert points(agent, "reward_mean") == [(600, 9.5, 2)]
    assert [value for _, value, _ in points(voice, "loss")] == [0.75, 0.5]


def test_scores_alone_without_a_step_are_a_result():
    assert claimed_by("models.csv", "cer,wer\n0.25,0.5\n0.125,0.25\n") is None


def test_a_row_of_commas_below_the_header_and_a_comma_at_the_end_of_each_line_hold_nothing():
    first = read_files({"training_history.csv": "epoch,loss,accuracy\n,,\n0.0,0.75,0.5\n1.0,0.5,0.625\n"})
    ends = read_files({"results.csv": " val/box_loss, val/seg_loss,\n1.25, nan,\n1.5, nan,\n"})

    assert [value for _, value, _ in points(first, "loss")] == [0.75, 0.5]
    assert [value for _, value, _ in points(ends, "val/box_loss")] == [1.25, 1.5]
    assert not ends.gaps


def test_columns_of_meters_hold_the_current_value_and_the_mean_of_one_quantity():
    """The mean of an epoch is infinite if one step overflowed that a loss scaler skipped; the norm of the last step tells more."""
    head = "epoch,loss_avg,loss_val,grad_norm_avg,grad_norm_val\n"
    run = read_files({"log.csv": head + "0,-0.5,-0.75,inf,5.5\n1,-0.75,-0.5,nan,7.5\n"})

    assert [value for _, value, _ in points(run, "loss")] == [-0.75, -0.5]
    assert [value for _, value, _ in points(run, "grad_norm")] == [5.5, 7.5]
    assert "eval_loss" not in run.metrics.names


def test_steps_of_the_environment_count_the_rows_of_an_agent():
    run = read_files({"rewards.csv": "timesteps,reward\n20000,349.5\n30000,199.25\n"})

    assert points(run, "reward_mean") == [(20000, 349.5, 2), (30000, 199.25, 3)]
