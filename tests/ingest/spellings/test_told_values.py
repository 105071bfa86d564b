"""Sentences, bare columns and results that tell a course, each beside what looks like it."""

import pytest
from log_reading import points, read_text


def lines(form, values=(0.5, 0.25, 0.125)):
    return "".join(form.format(n=n, v=v) + "\n" for n, v in enumerate(values, 1))


ALONE = [(None, 0.5), (None, 0.25), (None, 0.125)]
AT_STEPS = [(1, 0.5), (2, 0.25), (3, 0.125)]


@pytest.mark.parametrize(
    ("form", "name", "told"),
    [
        ("iter {n} and running loss are {v}", "loss", AT_STEPS),
        ("DiceLoss for epoch {n} is :  {v}", "diceloss", ALONE),
        ("loss at step  {n}   sub-step 0 :  {v}", "loss", AT_STEPS),
        ("kl loss during sub iter 3, global iter {n}: {v}", "kl_loss", AT_STEPS),
        ("Loss {n}0: {v}", "loss", [(10, 0.5), (20, 0.25), (30, 0.125)]),
        ("loss.get_avg()  {v}", "loss", ALONE),
        ("Train MSE error >> {v}\tValidation MSE error >> 0.5", "train_mse_error", ALONE),
        ("resetting env. episode reward total was {v}. running mean: 0.5", "reward_mean", ALONE),
        ("Total loss of calls and puts:  {v}", "loss", ALONE),
        ("Validation loss decreased (0.9 --> {v}).  Saving model ...", "eval_loss", ALONE),
        ("avg loss in epoch = {v}", "loss", ALONE),
        ("[E 3 | it {n}] loss {{total {v}, match/0 0.5}}", "loss", AT_STEPS),
        ("Train episode of length 90 with return {v}.", "reward_mean", ALONE),
        (
            "Epoch {n}\n# correct:\t{n}0/80 = 9.5%\nloss {v}",
            "accuracy",
            [(None, 0.125), (None, 0.25), (None, 0.375)],
        ),
    ],
)
def test_a_sentence_that_tells_a_value_is_a_row(form, name, told):
    run = read_text(lines(form))
    assert points(run, name) == told, [points(run, each) for each in run.metrics.names]


def test_what_a_keeper_of_the_best_state_says_is_told_once():
    told = "epoch {n} val_loss: {v}\nValidation loss decreased (0.9 --> {v}).  Saving model ...\n"
    run = read_text(lines(told, (0.5, 0.25)))
    assert [value for _, value in points(run, "eval_loss")] == [0.5, 0.25]


@pytest.mark.parametrize("form", ["{v}", "\t{v}", "{v}\t", "{n}  :  {v}"])
def test_a_column_of_numbers_that_fall_is_a_course(form):
    values = [2.5 - n / 10 for n in range(14)]
    run = read_text(lines(form, values))
    assert [value for _, value in points(run, "unnamed")] == values


def test_names_and_decimals_and_nothing_else_are_a_course_if_one_of_them_measures():
    values = [0.5 + n / 100 for n in range(8)]
    run = read_text(lines("CE: {v} distill: 1.5", values))
    assert [value for _, value in points(run, "ce")] == values
    assert not read_text(lines("width: {v} height: 1.5", values)).metrics.names


def test_the_scores_of_one_evaluation_are_read_also_with_an_accuracy_and_with_errors():
    assert points(read_text("acc: 0.5\nauc: 0.25\nf1: 0.125\n"), "accuracy") == [(None, 0.5)]
    assert points(read_text("Test MAE: 0.5\nTest RMSE: 0.25\nTest MSE: 0.125\n"), "test_rmse")


@pytest.mark.parametrize(
    "text",
    [
        lines("Loss {n}: {v}", (0.5, 0.25)),  # may be two losses
        lines("step {n} and the queue are {v} long"),
        "Loss of precision: see 0.5\n" * 4,
    ],
)
def test_what_looks_like_a_told_value_is_none(text):
    assert not points(read_text(text), "loss") or points(read_text(text), "loss")[0][0] is None


def test_quartiles_of_the_norms_since_the_last_row_are_the_gradient_norm():
    row = "[optim.py:60] Clipping_scale=2.0, grad-norm quartiles 0.01 0.02 {v} 0.5 1.5, threshold=0.5\nepoch {n} batch {n}0 loss 0.5\n"
    run = read_text(lines(row, (0.5, 0.25, 0.125, 0.5)))
    assert [value for _, value in points(run, "grad_norm")][-3:] == [0.25, 0.125, 0.5]


def test_a_table_of_a_notebook_below_other_lines_keeps_the_names_of_its_rewards():
    head = "Step\tTraining Loss\treward\tkl\trewards / format_reward\trewards / math_reward"
    rows = lines("{n}\t{v}\t0.5\t0.01\t0.25\t0.125", (0.5, 0.25, 0.125, 0.5))
    run = read_text(f"Num GPUs used = 1\n\n{head}\n{rows}")

    assert points(run, "loss") == [(1, 0.5), (2, 0.25), (3, 0.125), (4, 0.5)]
    assert points(run, "rewards/math_reward")[0] == (1, 0.125)


def test_rows_of_megatrons_kin_without_colons_are_read():
    row = " iteration  {n}0/ 90 | elapsed time per iteration (ms): 830.5 | learning rate 1.5E-05 | total loss {v}E+00 | loss scale 64.0 |speed 70.02 samples\n"
    held_out = " validation loss at iteration 30 | loss: 1.5E+00 | PPL: 4.5E+00 acc 6.5E-01 | \n"
    run = read_text(lines(row) + held_out)

    assert points(run, "loss") == [(10, 0.5), (20, 0.25), (30, 0.125)]
    assert points(run, "eval_loss") == [(30, 1.5)]
