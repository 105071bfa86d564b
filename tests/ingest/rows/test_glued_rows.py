"""Rows whose names, numbers and places stand together as no sign parts them, each beside lines that look alike and are none."""

import pytest
from log_reading import points, read_text


def lines(form, values=(0.53125, 0.26512, 0.12543)):
    return "".join(form.format(n=n, v=v) + "\n" for n, v in enumerate(values, 1))


BY_EPOCH = [(None, 0.53125), (None, 0.26512), (None, 0.12543)]
BY_STEP = [(1, 0.53125), (2, 0.26512), (3, 0.12543)]


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("\n".join(["mae0.53125", "mae0.26512", "mae0.12543"] * 2) + "\n", "mae", BY_EPOCH * 2),
        (lines("epoch{n}:the PSNR is21.531254the SSIM is{v}"), "ssim", BY_EPOCH),
        (lines("{n}step: current averaged_loss is ---------- {v}"), "loss", BY_STEP),
        (lines("epoch {n} accuracy :-------: {v}"), "accuracy", BY_EPOCH),
        (lines("ep{n}, MSE_05: {v};   MSE_10: 2.5;"), "mse_05", BY_EPOCH),
        (lines("[ 0.29 mins] After {n} epochs, the mean training loss is  {v}"), "loss", BY_EPOCH),
        (lines("Epoch {n}: Train_rf {v}   Memory 10.0%"), "train_rf", BY_EPOCH),
        (lines("Wed Apr  8 21:25:58 2026 [{n}] loss: {v}, time elapsed: 9.5"), "loss", BY_STEP),
        (lines("Training  [  {n}/5000]  eta: 3 days, 20:36:05  loss: {v} (0.75)"), "loss", BY_STEP),
        (lines("Epoch:[0  ][{n}  /90] Loss: {v}      lr 1e-05"), "loss", BY_STEP),
        (lines("Progress:  {n}% {n}/90 [05:51<01:03, 15.91it/s, Loss={v}]"), "loss", BY_STEP),
    ],
)  # fmt: skip
def test_what_no_sign_parts_is_read(text, name, told):
    run = read_text(text)
    assert points(run, name) == told


def test_the_place_of_a_call_is_no_quantity():
    run = read_text(lines("2026-01-01 10:00:0{n},000 (gan_trainer:202) INFO: {{'d_loss': tensor([{v}], device='cuda:0')}}"))  # fmt: skip
    assert list(run.metrics.raw_names) == ["d_loss"]


@pytest.mark.parametrize(
    "text",
    [
        lines("mAP50.{n} is a threshold", (1, 2, 3)),
        lines("---------- {n} ----------", (1, 2, 3)),
        lines("Epoch ---------- {n} ----------", (1, 2, 3)),
        lines("loss ---------- {n} ----------", (1, 2, 3)),
        lines("{v}% {n}/90 files", (1, 2, 3)),
        lines("no gain after {n} epochs, patience {v}", (1, 2, 3)),
    ],
)
def test_what_only_looks_alike_is_not(text):
    assert not read_text(text).metrics.raw_names


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (lines("[train]: 41%|##  | {n}/90 [18:39<23:39, 3.4it/s]2026-01-01 10:00:00,341 (gan:333) INFO: (Steps: {n}) train/loss = {v}"), "loss", BY_STEP),
        (lines("epoch 6 lr 4.5e-01\ntrain 10{n} {v}e+00 0.250000 0.750000"), "top1", [(101, 0.25), (202, 0.25), (303, 0.25)]),
        (lines("step: {n} fraction_of_correct_next_step_preds:{v} log_pplx:4.5 loss:4.5"), "fraction_of_correct_next_step_preds", BY_STEP),
        (lines("val, rank: 0, epoch: 4/50, slice: 0/1, step_in_slice: 7/8, in_epoch: 7, total step: {n}, (loss_avg_rank: 25.5), (loss_avg_slice: 32.5), (ppl_avg_slice: 1.5e+14), (acc_avg: 0.5), (lr: 1e-4), [('loss_ctc', 25.5), ('loss', {v})], {{'load': '0.5', 'forward_time': '0.5'}}, GPU memory usage: 2.5 GB"), "eval_loss", BY_EPOCH),
    ],
)  # fmt: skip
def test_rows_in_company_of_much_else_are_read(text, name, told):
    run = read_text(text)
    found = points(run, name) or points(run, "accuracy")
    assert [value for _, value in found] == [value for _, value in told]


def test_a_search_whose_shares_stand_the_other_way_is_none():
    assert not read_text(lines("train 10{n} {v}e+00 0.750000 0.250000")).metrics.raw_names
