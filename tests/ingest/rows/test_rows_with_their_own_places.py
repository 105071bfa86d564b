"""Rows that count by samples, episodes or an index, and values that are quoted or of one class."""

import math

import pytest
from log_reading import points, read_text


def test_rows_of_preference_training_count_the_samples_that_were_seen():
    run = read_text(
        "eval after 0: {'rewards_eval/accuracies': '0.5', 'loss/eval': '0.6914'}\n"
        "train stats after 64 examples: {'rewards_train/accuracies': '0.5', 'loss/train': '0.6914', 'grad_norm': '3.0', 'counters/updates': 4}\n"
        "train stats after 128 examples: {'rewards_train/accuracies': '0.75', 'loss/train': '0.5', 'grad_norm': '2.0', 'counters/updates': 8}\n"
        "eval after 128: {'rewards_eval/accuracies': '0.625', 'loss/eval': '0.625'}\n"
    )

    assert points(run, "loss") == [(64, 0.6914), (128, 0.5)]
    assert points(run, "eval_loss") == [(0, 0.6914), (128, 0.625)]
    assert points(run, "rewards_eval/accuracies") == [(0, 0.5), (128, 0.625)]


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("  [{at:>8} eps] reward={value}+/-0.5  steps=52.9", "reward_mean"),
        ("Index {at}, attn 0.25, l1 {value}, iou 0.95", "l1"),
        ("step {at}, time 1.6, loss 2.5, epochs 9, reward/epoch {value}", "reward_mean"),
    ],
)
def test_a_row_tells_where_it_stands(row, name):
    rows = [(100, 0.25), (200, 0.5), (300, 0.75)]

    assert (
        points(read_text("".join(row.format(at=at, value=value) + "\n" for at, value in rows)), name) == rows
    )


def test_what_was_measured_over_episodes_is_no_step():
    run = read_text("".join(f"epoch {at}: mean reward over 100 episodes: {at / 2}\n" for at in range(1, 4)))

    assert [step for step, _ in points(run, "reward_mean")] != [100] * 3


def test_the_second_of_two_rows_that_is_no_number_is_told():
    run = read_text(
        "Iter 1 of Epoch 2  label_cost 0.5 target_cost 0.25\nIter 2 of Epoch 2  label_cost 0.5 target_cost nan\n"
    )

    assert [math.isnan(float(value)) for _, value in points(run, "target_cost")] == [False, True]


@pytest.mark.parametrize(
    "spelling", ["class # {} accuracy = {}", "class #{} accuracy = {}", "class {}: accuracy = {}"]
)
def test_scores_of_classes_are_no_course(spelling):
    rows = "".join(spelling.format(at, value) + "\n" for at, value in enumerate((0.9998, 0.0, 0.0)))

    run = read_text(f"step 110, loss = 1.55\naccuracy = 0.9998\n{rows}")
    assert [value for _, value in points(run, "accuracy")] == [0.9998]


@pytest.mark.parametrize(
    "row",
    [
        "Episode {at} - Steps this episode 900 - Epsilon 1 - Learning Rate 0.5 - Max Length 3 - Mean Loss {loss} - Time 10:20",
        "{at} - loss: train = {loss}, valid = 2.5",
        "{at}/900 [==============================] - 6s 316ms/step - top_k/top_1_accuracy: 0.25 - loss: {loss}",
    ],
)
def test_rows_of_rarer_signs_are_read(row):
    rows = [(at, 2.5 / at) for at in range(1, 5)]
    run = read_text("".join(row.format(at=at, loss=loss) + "\n" for at, loss in rows))

    assert [value for _, value in points(run, "loss")][-2:] == [loss for _, loss in rows][-2:]


@pytest.mark.parametrize(
    "row",
    [
        "Step 80 (23.64%): loss = 0000nan",
        "main: epoch 1, validation error 2.5, train error nan  time spent 775.23",
    ],
)
def test_one_row_that_is_no_number_is_told(row):
    (series,) = [name for name in read_text(row + "\n").metrics.names if name in {"loss", "train_error"}]

    assert points(read_text(row + "\n"), series)[-1][1] == "nan"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Test loss: 71.8\nTest accuracy: 0\n", {"eval_loss", "eval_accuracy"}),
        ("Rank@1:0.29 Rank@5:0.46 mAP:0.11\n", {"rank@1", "rank@5", "map"}),
        ("Loaded 3 ranks\nlora rank: 8\n", set()),
    ],
)
def test_the_result_of_a_test_may_be_all_that_a_log_tells(text, names):
    assert set(read_text(text).metrics.names) == names


def test_losses_of_players_beside_one_of_held_out_data_are_of_training():
    run = read_text(
        "".join(f"Epoch {at} disc_loss 0.5 gen_loss {at}.5 val_loss 2.5 acc 0.25\n" for at in range(1, 5))
    )

    assert {"disc_loss", "gen_loss", "eval_loss"} <= set(run.metrics.names)


def test_a_bar_without_an_end_is_read_also_where_a_warning_is_glued_to_it():
    run = read_text(
        "Epoch 1/10\n      1/Unknown - 4s 4s/step - loss: 2.5\n      7/Unknown - 6s 807ms/step - loss: nanW0620 02:13 slow\n"
    )

    assert points(run, "loss")[-1][1] == "nan"
