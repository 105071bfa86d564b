"""Rows of several sets that are held out: each is a series of its own, and the first is what a training is judged by."""

import pytest
from log_reading import points, read_text

from analyzer.api import load

TWO = (1, 2)


def lines(form):
    return "".join(form.format(n=n, t=3 - n, v=4 - n, w=5 - n) for n in TWO)


@pytest.mark.parametrize(
    ("form", "first", "told", "other"),
    [
        (
            "Epoch {n} - train loss={t}.5\nValidation X2Y - loss={v}.5 ppl=9.5\nValidation Y2X - loss={w}.5 ppl=9.5\n",
            "eval_loss",
            [3.5, 2.5],
            ("part/val_y2x_val_loss", [4.5, 3.5]),
        ),
        (
            "Epoch {n} train loss: {t}.5\nVal loss: {v}.5\nTest loss: {w}.5\n",
            "eval_loss",
            [3.5, 2.5],
            ("part/test_loss", [4.5, 3.5]),
        ),
        (
            "Epoch {n} train loss: {t}.5\nDev: time: 16.5s; acc: 0.{v}5\nTest: time: 9.5s; acc: 0.{w}5\n",
            "eval_accuracy",
            [0.35, 0.25],
            ("part/test_val_acc", [0.45, 0.35]),
        ),
        (
            "iters: 100, epoch: {n} | loss: {t}.5\n---start to validate---\nmse:{v}.5, mae:0.5\n---start to test---\nmse:{w}.5, mae:0.5\n",
            "val_mse",
            [3.5, 2.5],
            ("part/test_val_mse", [4.5, 3.5]),
        ),
        # a set alone is what a training is judged by, whatever it is called
        ("Epoch {n} train loss: {t}.5\nTest loss: {w}.5\n", "eval_loss", [4.5, 3.5], None),
        ("Epoch {n} train loss: {t}.5\nValidation Summary - loss={w}.5\n", "eval_loss", [4.5, 3.5], None),
        ("Epoch {n} train loss: {t}.5\nEval loss: {v}.5\n", "eval_loss", [3.5, 2.5], None),
    ],
)
def test_a_second_set_is_a_series_of_its_own(form, first, told, other):
    run = read_text(lines(form))
    assert [value for _, value in points(run, first)] == told
    if other is None:
        assert not any(name.startswith("part/") for name in run.metrics.names)
    else:
        assert [value for _, value in points(run, other[0])] == other[1]


def test_a_list_below_the_heading_of_an_evaluation_ends_where_a_name_comes_again():
    scores = "".join(f"R@{k} : {k}.5\n" for k in (1, 2, 4, 8, 16, 32))
    run = read_text(
        f"Epoch: 1, loss: 4.5\n**Evaluating...**\n{scores}Epoch: 2, loss: 3.5\n**Evaluating...**\n{scores}"
    )
    assert points(run, "val_r@32") == [(None, 32.5), (None, 32.5)]
    assert not points(run, "r@32")


def test_words_for_a_set_that_is_held_out():
    run = read_text("client [1] (trainset) loss: 2.5 -> 0.5\nclient [1] (valset) loss: 3.5 -> 0.75\n" * 3)
    assert [value for _, value in points(run, "loss")] == [0.5] * 3
    assert [value for _, value in points(run, "eval_loss")] == [0.75] * 3
    run = read_text(
        "step 100 loss: 0.5\nMean PSNR on holdout set: 9.5\nstep 200 loss: 0.25\nMean PSNR on holdout set: 9.75\n"
    )
    assert points(run, "holdout_mean_psnr") == [(100, 9.5), (200, 9.75)]


def test_when_the_best_was_is_not_where_a_row_stands():
    run = read_text("step 100 loss: 0.5\nEvaluation:\n[Set9 x4] PSNR: 25.5 (Best: 26.5 @epoch 1)\n" * 2)
    assert [value for _, value in points(run, "val_psnr")] == [25.5, 25.5]


def test_a_score_of_both_kinds_of_data_is_a_row_of_a_log_without_any():
    run = read_text("train_acc 99.25\nvalid_acc 96.75\n")
    assert points(run, "accuracy") == [(None, 99.25)]
    assert points(run, "eval_accuracy") == [(None, 96.75)]
    assert not read_text("valid_acc 96.75\n").metrics.raw_names


def test_an_evaluation_whose_bar_is_left_when_nearly_full_counts():
    form = "Epoch 7/9, loss=6.5: 100%|####| 24/24 [07:24<00:00,  2.29samples/s]\nValidating, loss={v}:  {p}%|###| {n}/100 [00:40<00:02,  6.63samples/s]\n"
    assert [value for _, value in points(read_text(form.format(v=8.5, p=95, n=95)), "eval_loss")] == [8.5]
    assert not points(read_text(form.format(v=8.5, p=50, n=50)), "eval_loss")


@pytest.mark.parametrize(
    ("name", "metric"), [("eval_miou.log", "eval_miou"), ("notes_on_miou.log", "number")]
)
def test_a_file_that_is_named_for_a_metric_names_its_numbers(tmp_path, name, metric):
    (tmp_path / name).write_text("".join(f"iteration {n}000      0.3{n}\n" for n in range(1, 8)))
    assert list(load(tmp_path).metrics.raw_names) == [metric]
