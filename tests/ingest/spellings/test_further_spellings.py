"""Spellings of rows that home-made loops use, each beside lines that look alike and are no row."""

import re

import pytest
from log_reading import points, read_text

from analyzer.api import load


def lines(form, values=(0.5, 0.25, 0.125)):
    return "".join(form.format(n=n, v=v) + "\n" for n, v in enumerate(values, 1))


FRAME = (
    "       loss  val_loss  epoch\n"
    "195  0.6935    0.6931    195\n196  0.6532    0.6830    196\n197  0.6135    0.6700    197\n"
)


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("[Epoch 0/3, Batch 7/90] [Losses: x 0.5, h 0.25, total 0.75, recall: 0.5]\n", "loss_h", [(7, 0.25)]),
        (
            lines("Step {n}00 --> Loss --> {v} | Time --> 1.5"),
            "loss",
            [(100, 0.5), (200, 0.25), (300, 0.125)],
        ),
        (
            lines("Step {n}00 --> Loss ==> {v} | Time ==> 1.5"),
            "loss",
            [(100, 0.5), (200, 0.25), (300, 0.125)],
        ),
        (lines("loss(x, y) = param({v})"), "loss", [(None, 0.5), (None, 0.25), (None, 0.125)]),
        (lines("step:{n} - total_loss:2.5 - s_iou:{v}"), "s_iou", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (
            lines("Epoch 1, step/total_step: {n}/60 5.00% Loss:{v}"),
            "loss",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
        (
            lines("\ttrain-error:{v}\teval-error:0.75"),
            "train-error",
            [(None, 0.5), (None, 0.25), (None, 0.125)],
        ),
        (
            "Test - WER: 0.25, CER: 0.125, loss: 25.5\n",
            "eval_loss",
            [(None, 25.5)],
        ),
        (
            lines(
                "INFO - 03/11/25 14:44:34 - 0:00:46 -    {n}00 -  267.5 sentences/s -  1.5 words/s - MT:  {v} - LR: 1e-4"
            ),
            "MT",
            [(100, 0.5), (200, 0.25), (300, 0.125)],
        ),
        ("gen\tnevals\tavg\tstd\n" + lines("{n}\t300  \t{v}\t2.5"), "avg", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (
            lines("\ttrain-error:*{v}*\teval-error:0.75"),
            "train-error",
            [(None, 0.5), (None, 0.25), (None, 0.125)],
        ),
        (
            lines("minibatch[  1-{n}00]: ce = {v} * 3200; errs = 9.5% * 3200;"),
            "ce",
            [(100, 0.5), (200, 0.25), (300, 0.125)],
        ),
        (
            lines("step {n} loss : 2.{n} = 2 + 0.{n}, took {v} s"),
            "loss_term_2",
            [(1, 0.1), (2, 0.2), (3, 0.3)],
        ),
        (lines("step {n}: train==[2.{n}=2 + 0.{n}]"), "loss", [(1, 2.1), (2, 2.2), (3, 2.3)]),
        (lines("(i, loss(data[1]...)) = ({n}, {v} (tracked))"), "loss", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (lines("[{n}]\tvalidation_0-rmse:{v}"), "eval_loss", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (
            lines("[{n}]\tvalidation_0-rmse:{v}\tvalidation_1-rmse:9.5"),
            "loss",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
        (
            lines(
                "[{n}]\tvalidation_0-auc:0.5\tvalidation_0-logloss:9.5\tvalidation_1-auc:0.5\tvalidation_1-logloss:{v}"
            ),
            "eval_loss",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
        (lines("[{n}]\ttraining's l2: 9.5\toot's l2: {v}"), "eval_loss", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (
            lines("[{n}]\ttraining's auc: 0.5\toot's auc: {v}"),
            "oot's_auc",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
        (lines("Score at iteration {n}00 is {v}"), "loss", [(100, 0.5), (200, 0.25), (300, 0.125)]),
        (lines("{n}번째 스텝의 손실: {v}"), "loss", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (lines("训练次数:{n}00, Loss:{v}"), "loss", [(100, 0.5), (200, 0.25), (300, 0.125)]),
        (
            lines("Epoch 4.25 / 5, i = {n}00 / 900, loss = {v}"),
            "loss",
            [(100, 0.5), (200, 0.25), (300, 0.125)],
        ),
        (
            lines("[1] \"[{n}]:  train's auc:{v}  train's error:0.5\""),
            "train's_auc",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
        (
            lines("step:{n},loss:0.5,explained_var_old:{v},explained_var_new:0.5"),
            "explained_var_old",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
        (
            lines("steps: {n}, mean episode reward: 5.5, reward: {v}"),
            "part/reward",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
        (lines("Loss at epoch 0 and iteration {n} is {v}"), "loss", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (
            lines("fit progress: ({n}, {v}, {{'accuracy': 0.25}}, 9.5)"),
            "eval_loss",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
        ("completed step: 3, seconds: 0.25, loss: 2.5, lm_loss: 2.25\n", "part/lm_loss", [(3, 2.25)]),
        (
            lines("[035420][Epoch {n}/9] Epsilon:1.0 #Buy:109 Loss:{v}"),
            "loss",
            [(None, 0.5), (None, 0.25), (None, 0.125)],
        ),
        (
            lines("Loss: 0.5, Last Reward: {v}, Total Steps: 200"),
            "last_reward",
            [(None, 0.5), (None, 0.25), (None, 0.125)],
        ),
        (lines("step {n} loss: 0.5\nmAP: {v}"), "mAP", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (
            lines("2020-10-10 08:33:24,855 \u2014 trainer \u2014 INFO \u2014 Step {n} Loss: {v}"),
            "loss",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
        (
            lines("Test Epoch: [{n}/9] Acc@1:{v}%: 100%|###| 20/20 [00:01<00:00, 12.5it/s]"),
            "eval_accuracy",
            [(20, 0.5), (40, 0.25), (60, 0.125)],
        ),
        (lines("step {n} D: {v} G: 1.5 M: 0.5"), "d", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (
            lines(" 16%|#  | {n}00it/4.00kit [00:10<00:50, 66.5it/s, loss={v}]"),
            "loss",
            [(100, 0.5), (200, 0.25), (300, 0.125)],
        ),
        (
            "step 10 loss: 0.5\nEvaluation result (greedy) loss: 2.5, ppl: 12.5, acc: 0.25, generation: 9.5[sec], evaluation: 0.0[sec]\n",
            "eval_loss",
            [(10, 2.5)],
        ),
        (
            "step: 10/90 loss:0.5\nstep: 20/90 loss:0.25\nvalidating ... loss: 0.75\n",
            "eval_loss",
            [(20, 0.75)],
        ),
        ("Val. Epoch: 0/9. Box loss: 0.5. Total loss: 2.5\n", "eval_loss", [(None, 2.5)]),
        ("Val.loss of all. Epoch: 0/9. Box loss: 0.5. Total loss: 2.5\n", "loss", [(None, 2.5)]),
        (
            lines("Epoch: {n}/9, loss: 0.5, target_val_acc: {v}"),
            "eval_accuracy",
            [(None, 0.5), (None, 0.25), (None, 0.125)],
        ),
        (FRAME, "eval_loss", [(None, 0.6931), (None, 0.683), (None, 0.67)]),
        (FRAME.replace("       loss", "  loss"), "loss", [(None, 0.6935), (None, 0.6532), (None, 0.6135)]),
        (
            re.sub(r"(?m)  epoch$|    19\d$", "", FRAME),
            "loss",
            [(None, 0.6935), (None, 0.6532), (None, 0.6135)],
        ),
    ],
)
def test_a_row_in_another_spelling_is_read(text, name, told):
    run = read_text(text)

    assert points(run, name.lower()) == told


@pytest.mark.parametrize(
    "text",
    [
        "Fold 1: train=113 val=29\n  FOLD 1  |  train=113  val=29\nFold 2: train=114 val=28\n  FOLD 2  |  train=114  val=28\n",
        "gen\tname\tavg\n1\tx\t0.5\n2\ty\t0.25\n3\tz\t0.125\n",
        "Losses: see the appendix 1.5\n",
        "step 3: image [450,676] input:[450,676]\n",
        "[NEW BEST] accuracy of all models: 0.75\n",
        "Map: 0.5 of all rows\nMap:  10%|#  | 100/1000 [00:10<00:40, 9.50 examples/s]\n",
        "the best lr_old of all: 0.5\n",
        "the error of step 3, batch 12: 7\n",
        FRAME.replace("197  0.6135    0.6700    197\n", ""),
    ],
)
def test_what_looks_like_such_a_row_is_none(text):
    assert not read_text(text).metrics.names


def test_a_letter_that_names_the_next_number_is_no_unit():
    run = read_text(lines("step 1{n} D=nan G={v}"))

    assert points(run, "d") == [(11, "nan"), (12, "nan"), (13, "nan")]
    assert points(run, "g") == [(11, 0.5), (12, 0.25), (13, 0.125)]


def test_a_rule_above_a_row_is_no_name_that_broke_off():
    row = "   {n}00 -  267.5 words/s - MT:  0.5 - LR: 1e-4\n"
    text = row.format(n=1) + row.format(n=2) + "===== Starting epoch 1 ... =====\n" + row.format(n=3)

    assert points(read_text(text), "learning_rate") == [(100, 1e-4), (200, 1e-4), (300, 1e-4)]


def test_the_columns_of_batches_without_a_name_are_read_with_their_words():
    text = "".join(f"epoch 0, batch {n}: {2 - n / 50}\n" for n in range(1, 40))

    assert len(points(read_text(text), "unnamed")) == 39


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (lines("{{epoch: {n}, loss: {v}, mAP: 0.5}}"), "loss", [(None, 0.5), (None, 0.25), (None, 0.125)]),
        (
            lines("logger-{{train:epoch1,step{n}0,train_loss: {v}}}"),
            "loss",
            [(10, 0.5), (20, 0.25), (30, 0.125)],
        ),
        (lines("i={n} loss={v} |g|=2.5"), "loss", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (lines("i={n} loss=2.5 |g|={v}"), "grad_norm", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (lines("Epoch {n} ── loss ─ {v} ── acc ─ 0.5"), "loss", [(None, 0.5), (None, 0.25), (None, 0.125)]),
        (lines("step {n}0 loss → {v}"), "loss", [(10, 0.5), (20, 0.25), (30, 0.125)]),
        (lines("<{n}> loss={v} kl=0.5"), "loss", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (lines("Validation @ {n}00: WER {v}, CER 0.5"), "val_wer", [(100, 0.5), (200, 0.25), (300, 0.125)]),
        (lines("{n}th epoch, 7th mini-batch, loss is {v}"), "loss", [(7, 0.5), (14, 0.25), (21, 0.125)]),
        (lines("[ {n}/12] ██░░░░ loss:2.5 val:{v}"), "val", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (lines("step {n} loss 2.5 / {v}"), "loss_2", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (lines("ep{n} tloss 2.5 vloss {v}"), "eval_loss", [(None, 0.5), (None, 0.25), (None, 0.125)]),
        (lines("Epoch {n} TrLoss 2.5 VaLoss {v}"), "eval_loss", [(None, 0.5), (None, 0.25), (None, 0.125)]),
        (
            lines("step {n} d_loss: 2.5, g_loss: {v}Saved a picture"),
            "g_loss",
            [(1, 0.5), (2, 0.25), (3, 0.125)],
        ),
    ],
)
def test_more_spellings_of_a_row(text, name, told):
    run = read_text(text)
    assert points(run, name) == told


def test_starred_values_below_the_batches_of_a_test_are_held_out():
    row = "Epoch: [{n}][90/100]\tTime 0.5 (0.5)\tLoss 0.75 (0.75)\n * ERR {v} LOSS 0.5\n"
    run = read_text("".join(row.format(n=n, v=v) for n, v in enumerate((24.5, 23.5, 22.5))))

    assert [value for _, value in points(run, "eval_loss")] == [0.5, 0.5, 0.5]
    assert {value for _, value in points(run, "loss")} == {0.75}


def test_names_at_a_step_are_no_list_of_packages(tmp_path):
    log = tmp_path / "run.txt"
    log.write_text(lines("Validation @ {n}00: WER {v}"), encoding="utf-8")

    assert [gap.reason for gap in load(log).gaps] == []


def test_the_second_letter_of_a_value_is_no_held_out_loss():
    run = read_text(lines("step {n} loss 2.5 v_loss {v}"))

    assert not points(run, "eval_loss")


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (lines("epoch,{n},loss,{v},val_loss,0.5"), "loss", [(None, 0.5), (None, 0.25), (None, 0.125)]),
        (lines("Epoch[ {n}] Loss[{v}] Acc[0.5]"), "loss", [(None, 0.5), (None, 0.25), (None, 0.125)]),
        (lines("Epoche {n}/9, Verlust: 2.5, Val-Verlust: {v}"), "eval_loss", [(None, 0.5), (None, 0.25), (None, 0.125)]),
        (lines("[Train] Iter {n}, box 0.5, obj 0.25, cls 0.125, total {v}"), "loss", [(1, 0.5), (2, 0.25), (3, 0.125)]),
        (lines("@ {n}00 nll={v} bpc=2.5"), "nll", [(100, 0.5), (200, 0.25), (300, 0.125)]),
        (lines("Epoch {n}\n  - Val Loss....: {v}"), "eval_loss", [(None, 0.5), (None, 0.25), (None, 0.125)]),
    ],
)  # fmt: skip
def test_brackets_commas_and_leaders_join_names_and_values(text, name, told):
    run = read_text(text)
    assert points(run, name) == told


def test_a_loss_over_a_number_of_batches_and_a_time_glued_to_its_number_are_read():
    row = "Eval epoch: {0}\n\tMean test loss of 155 batches: 3.{0}25.\n\tTop1: 2{0}.5%\nTraining epoch: {0}\n\tMean training loss: 1.{0}25.\n"
    run = read_text("".join(row.format(epoch) for epoch in (1, 2, 3)))
    counted = read_text("".join(f"epoch:{at}, mae:43.5, mse:50.25, time315.{at}\n" for at in (20, 25, 35)))

    assert [value for _, value in points(run, "eval_loss")] == [3.125, 3.225, 3.325]
    assert [value for _, value in points(counted, "mae")] == [43.5] * 3
