"""Rows of every trainer: value, step and line of each point, and no metric that is none."""

import numpy as np
import pytest
from log_reading import only, points, read_bytes, read_text
from trainer_fragments import FRAGMENTS, LANGUAGE

from analyzer.ingest.names import METRICS, canonical_metric, unit_factor
from analyzer.ingest.text.failures.localiser_rows import _MAKERS
from analyzer.ingest.text.grammars import _Late, grammars
from analyzer.ingest.text.log_line import Learnable
from analyzer.ingest.text.log_reader import _NAME_A_TENSOR


def placed(run, metric):
    """(step, value, line) of each point; the value nan is given as the text "nan"."""
    series = run.metrics.series(metric)
    if series is None:
        return []
    return [
        (series.step_at(i), "nan" if np.isnan(v) else pytest.approx(float(v)), int(series.line[i]))
        for i, v in enumerate(series.value)
    ]


@pytest.mark.parametrize("trainer", FRAGMENTS)
def test_rows_of_a_trainer(trainer):
    text, expected = FRAGMENTS[trainer]

    run = read_text(text)

    assert {name: placed(run, name) for name in expected} == expected


@pytest.mark.parametrize("trainer", FRAGMENTS)
def test_a_row_that_is_cut_anywhere_never_raises(trainer):
    data = FRAGMENTS[trainer][0].encode()

    read_bytes(b"\n".join(data[:end] for end in range(len(data))))


def test_all_trainers_in_one_log_do_not_disturb_each_other():
    run = read_text("".join(text for text, _ in FRAGMENTS.values()))

    assert run.metrics.names
    assert len(points(run, "loss")) >= 30


@pytest.mark.parametrize(
    ("trainer", "step_time_s"), [("llm.c", 0.25), ("nanotron", 1.25), ("megatron", 0.25)]
)
def test_times_are_seconds_whatever_was_printed(trainer, step_time_s):
    assert points(read_text(LANGUAGE[trainer][0]), "step_time_s")[0][1] == pytest.approx(step_time_s)


def test_the_original_name_stays_beside_the_points():
    run = read_text(LANGUAGE["nemo"][0])

    assert run.metrics.series("loss").logged_as == "reduced_train_loss"


@pytest.mark.parametrize("name", METRICS)
def test_a_canonical_name_is_its_own_spelling(name):
    assert (canonical_metric(name), unit_factor(name)) == (name, 1.0)


@pytest.mark.parametrize(
    ("logged", "canonical"),
    [
        ("lr_group_0", "learning_rate"), ("lr-AdamW/pg2", "learning_rate_group_1"), ("optim0_lr0", "learning_rate"), ("x/lr2", "learning_rate_group_2"),
        ("train/mean_token_accuracy", "accuracy"), ("eval/perplexity", "eval_perplexity"), ("perf/mfu/actor", "mfu"),
        ("completions/clipped_ratio", "completion_clipped_share"), ("rewards/chosen", "rewards/chosen"), ("objective/kl", "kl"),
    ],
)  # fmt: skip
def test_spellings_of_trackers(logged, canonical):
    assert canonical_metric(logged) == canonical


def test_literals_are_long_enough_for_the_fast_scan():
    short = {literal for grammar in grammars() for literal in grammar.literals if len(literal.encode()) < 7}

    assert len(short) <= 8  # each costs another pass over the log


def test_a_grammar_that_is_imported_late_is_there_and_learnable_as_stated():
    late = [grammar for grammar in grammars() if isinstance(grammar, _Late)]

    assert late
    assert all(isinstance(grammar.reader, Learnable) == isinstance(grammar, Learnable) for grammar in late)


def test_events_that_name_a_tensor_are_those_that_become_rows():
    assert set(_MAKERS) == _NAME_A_TENSOR


def test_a_mean_over_steps_is_read_behind_the_steps_that_it_is_of():
    """NumPyro's bar: the bracket within it ends no bar, and names no loss."""
    rows = "".join(
        f" {at}%|###   | {at}/100 [00:0{at // 20}<00:09, 9.9it/s, init loss: 900.5, avg. loss [{at - 19}-{at}]: {90 - at / 2}]\n"
        for at in range(20, 100, 20)
    )

    assert points(read_text(rows), "loss") == [(20, 80.0), (40, 70.0), (60, 60.0), (80, 50.0)]


MEGATRON = (
    " iteration {at:8}/ 1000 | consumed samples: {at} | elapsed time per iteration (ms): 370.3 | learning rate: 1.0E-05 |"
    " global batch size:     4 | lm loss: 6.158E+00 | loss scale: 1.0 | grad norm: 1.5 |\n"
)


@pytest.mark.parametrize("end", ["learning rate: 1.0E-05 | global bat", "lm loss: 6.1"])
def test_a_megatron_row_that_was_cut_is_no_row_without_a_loss(end):
    """Megatron leaves a NaN loss out; a row that lacks what stands behind the loss as well was cut."""
    rows = "".join(MEGATRON.format(at=at) for at in (1, 2, 3))
    cut = MEGATRON.format(at=4).partition(end.partition(":")[0])[0] + end
    lossless = MEGATRON.format(at=4).replace(" lm loss: 6.158E+00 |", "")

    assert [step for step, value in points(read_text(rows + cut), "loss") if value == "nan"] == []
    assert [step for step, value in points(read_text(rows + lossless), "loss") if value == "nan"] == [4]


@pytest.mark.parametrize(
    "row",
    [
        "Epoch 0:  10%|#    | {at}/20 [00:0{at}<00:09, 1.1it/s, v_num=0, train/mel_loss={value}, train/dur_loss=0.5, ",
        "Epoch 0:  10%|#    | {at}/20 [00:0{at}<00:09, 1.1it/s, v_num=0, train/mel_loss={value}]",
        "step {at} mel_loss: {value} time: 0.1",
    ],
)
def test_a_bar_that_pads_its_numbers_writes_nan_with_a_digit_behind_it(row):
    """Lightning's bars pad "nan" to the width of a number: nan.0."""
    run = read_text(
        "".join(
            row.format(at=at, value=value) + "\n" for at, value in ((1, "2.1"), (2, "nan.0"), (3, "nan.0"))
        )
    )
    found = next(run.metrics.series(name) for name in run.metrics.names if "mel" in name)

    assert np.isnan(found.value).tolist() == [False, True, True]


def test_an_evaluation_as_long_as_an_epoch_of_keras_is_no_epoch():
    epochs = "".join(
        f"Epoch {n}/2\n57/57 [====] - 3s 57ms/step - loss: {v} - val_loss: 4.5\n"
        for n, v in ((1, 2.5), (2, 1.5))
    )
    run = read_text(f"{epochs} Starting\n57/57 [====] - 1s 17ms/step - loss: 9.5\n")
    assert points(run, "loss") == [(57, 2.5), (114, 1.5)]
    # the end of an epoch may be drawn twice, the second time with what was held out
    twice = "".join(
        f"Epoch {n}/2\n9/9 [====] - 3s - loss: {n}.5\n9/9 [====] - 3s - loss: {n}.5 - val_loss: 4.5\n"
        for n in (1, 2)
    )
    assert points(read_text(twice), "eval_loss") == [(9, 4.5), (18, 4.5)]


MMENGINE = "2026/01/01 00:00:{:02d} - mmengine - INFO - "


def test_rows_by_iteration():
    rows = "".join(
        MMENGINE.format(i)
        + f"Iter(train) [{10 * i:4d}/1000]  base_lr: 2.0000e-04 lr: 1.0000e-04  eta: 1 day, 0:10:00  time: 0.5000  data_time: 0.0100  memory: 12345  "
        f"grad_norm: {'nan' if i > 2 else 1.5}  loss: {'nan' if i > 1 else 1.8250}\n"
        for i in range(1, 5)
    )

    run = read_text(rows)

    assert points(run, "loss") == [(10, 1.825), (20, "nan"), (30, "nan"), (40, "nan")]
    assert [value for _, value in points(run, "grad_norm")] == [1.5, 1.5, "nan", "nan"]
    assert [value for _, value in points(run, "learning_rate")] == [1e-4] * 4
    assert (run.step_window, "mmengine" in run.frameworks) == ({0: 10}, True)
    assert set(run.metrics.names) == {
        "loss", "grad_norm", "learning_rate", "step_time_s", "data_time_s", "gpu_memory_peak_gib",
    }  # fmt: skip


def test_rows_by_epoch_count_through_the_epochs():
    text = "".join(
        MMENGINE.format(e) + f"Epoch(train)  [{e}][{i}/50]  lr: 1.0e-02  eta: 0:00:01  loss: {e}.{i}\n"
        for e in (1, 2)
        for i in (25, 50)
    )

    assert [step for step, _ in points(read_text(text), "loss")] == [25, 50, 75, 100]


def test_rows_of_mmcv():
    text = "2020-01-01 00:00:00,123 - mmcv - INFO - Epoch [2][50/1000]\tlr: 1.000e-03, eta: 0:10:00, time: 0.5, data_time: 0.1, memory: 9, loss_cls: 0.5, loss: 2.1\n"

    run = read_text(text)

    assert (points(run, "loss"), points(run, "loss_cls")) == ([(1050, 2.1)], [(1050, 0.5)])


def test_validation_is_no_training_point():
    text = (
        MMENGINE.format(1)
        + "Iter(train) [ 100/1000]  lr: 1e-3  loss: 2.0\n"
        + MMENGINE.format(2)
        + "Iter(val) [50/50]  coco/bbox_mAP: 0.3700  loss: 1.9\n"
    )

    run = read_text(text)

    assert points(run, "eval_loss") == [(100, 1.9)]
    assert points(run, "val/coco/bbox_map") == [(100, 0.37)]
    assert points(run, "loss") == [(100, 2.0)]


def test_rows_of_xtuner_1():
    text = (
        "[XTuner][RANK 0][2026-01-01 00:00:00][INFO] Epoch 1 Step 20/500 data_time: 0.1000 lr: 1.000000e-05 time: 0.9 text_tokens: 4096.0 "
        "reduced_llm_loss: nan grad_norm: nan max_memory: 10.00 GB reserved_memory: 12.00 GB tgs: 900.0 eta: 1:00:00\n"
        "WARNING Gradient norm nan is invalid, skipping optimizer step.\n"
    )

    run = read_text(text)

    assert points(run, "loss") == [(20, "nan")]
    assert points(run, "grad_norm") == [(20, "nan")]
    assert only(run, "gradient_skipped") == {"value": "nan"}
