"""What a loss does late in its course: single high rows, new beginnings, levels of a guess."""

from __future__ import annotations

import pytest
from courses_by_row import by_epoch, facts
from make_run import RunMaker


def test_one_high_row_at_the_end_is_no_rise_that_stays_and_two_are():
    level = [0.0064, 0.0063, 0.0065, 0.0064, 0.0063, 0.0065, 0.0064]

    assert by_epoch([*level, 0.0165])["signal.progress.broke"] is False
    assert by_epoch([*level, 0.0165, 0.0171])["signal.progress.rose_and_stays"] is True


@pytest.mark.parametrize(("name", "crosses"), [("lightning", True), ("hf-trainer", False)])
def test_a_loss_whose_first_row_alone_is_above_zero_crosses_it_where_no_policy_is_trained(name, crosses):
    found = RunMaker(name).log({"loss": [0.14, *[-0.4 - 0.05 * row for row in range(19)]]}).plain()

    assert found["signal.progress.crosses_zero"] is crosses


def test_a_model_that_broke_stands_at_a_guess_and_one_that_begins_anew_learns_again():
    first = [row for level in (2.1, 1.8, 1.5, 1.2, 0.9, 0.7) for row in [level] * 4]

    assert facts({"loss": first + [2.3] * 24})["signal.progress.began_anew"] is False
    assert facts({"loss": [*first, *[1.02 * row for row in first]]})["signal.progress.began_anew"] is True


def test_an_evaluation_at_the_logarithm_of_ten_to_four_digits_names_ten_classes():
    guess = {"accuracy": [0.0995, 0.0998, *[0.1] * 8], "eval_accuracy": [0.10004] * 10}
    stands = by_epoch([2.466, 2.3035, *[2.30256] * 8], eval_loss=[2.30259] * 10, **guess)
    learns = {"accuracy": [0.0995 + 0.05 * row for row in range(10)], "eval_accuracy": [0.12] * 10}
    falls = by_epoch(
        [2.466 - 0.1 * row for row in range(10)], eval_loss=[2.44 - 0.1 * row for row in range(10)], **learns
    )

    assert (stands["signal.chance.classes"], stands["signal.chance.training"]) == (10, True)
    assert falls["signal.chance.classes"] == 12


@pytest.mark.parametrize(
    ("losses", "exploded"),
    [
        ([0.66, 0.80, 4.3, 0.77, 0.56, 0.82], False),  # one odd batch
        ([0.66, 0.80, 4.3, 3.9, 4.1, 4.0], True),
        ([2.3, 9.5, 7.4, 7.3], True),
    ],
)
def test_of_few_rows_one_that_is_high_is_no_explosion_if_those_after_it_are_as_before(losses, exploded):
    assert facts({"loss": losses})["signal.progress.exploded"] is exploded


def test_a_loss_that_is_a_sum_may_grow_while_the_score_rises_to_its_best():
    losses = [40.0, 2160.0, 1180.0, 1150.0, 1090.0, 1340.0]
    rises, stands = [9.6, 83.0, 89.0, 90.0, 92.0, 93.0], [9.6, 9.5, 9.7, 9.5, 9.6, 9.5]

    assert facts({"loss": losses, "score": rises})["signal.progress.broke"] is False
    assert facts({"loss": losses, "score": stands})["signal.progress.broke"] is True


def test_a_zero_rate_of_a_log_that_prints_three_digits_is_any_small_number():
    rounded = facts({"loss": [1.25, 1.125, 1.062, 0.984, 0.91], "learning_rate": [0.0] * 5})
    printed = facts({"loss": [1.2513, 1.1252, 1.0625, 0.9841, 0.9102], "learning_rate": [0.0] * 5})

    assert rounded.get("signal.learning_rate.always_zero") is None
    assert printed["signal.learning_rate.always_zero"] is True


def test_most_rows_name_the_classes_of_a_guess_and_not_a_first_one_far_above():
    losses, shares = [2.466, 2.3035, *[2.3026] * 8], [0.0995, 0.0998, *[0.1] * 8]
    found = facts(
        {"loss": losses, "accuracy": shares, "eval_loss": [2.3026] * 10, "eval_accuracy": [0.1] * 10}
    )

    assert found["signal.chance.classes"] == 10
    assert found["signal.chance.training"] is True


@pytest.mark.parametrize(
    ("loss", "accuracy", "count"),
    [
        ([2.4, 2.39, 2.38, 2.38], [0.1, 0.11, 0.1, 0.1], 10),  # a head that begins wide: eleven are rare
        ([2.21, 1.4, 0.9, 0.6], [0.13, 0.4, 0.6, 0.8], 10),  # the mean of a first epoch
        ([1.95, 1.9, 1.88, 1.87], [0.143, 0.15, 0.16, 0.15], 7),
        ([1.95, 1.6, 1.3, 1.1], [0.22, 0.45, 0.56, 0.63], None),  # half learned: no guess among seven
    ],
)
def test_the_number_of_classes_by_first_loss_and_answers(loss, accuracy, count):
    assert facts({"loss": loss, "accuracy": accuracy}).get("signal.chance.classes") == count


@pytest.mark.parametrize(("stays", "count"), [(False, None), (True, 4)])
def test_a_loss_on_its_way_passes_the_guess_of_some_number_of_classes_by_accident(stays, count):
    falls = [1.35 + 2.85 * 0.9**row for row in range(40)]  # still falls, and where the log ends is near ln 4
    came_down = [4.2, 3.4, 2.0, *[1.386 + 0.004 * (-1) ** row for row in range(37)]]
    maker = RunMaker().log({"loss": came_down if stays else falls}, every=10)
    held_out = {"eval_loss": [15.2], "eval_accuracy": [0.22]}
    found = maker.log(held_out, steps=[391], lines=[401]).plain()

    assert found.get("signal.chance.classes") == count
    assert found.get("signal.chance.training") is (True if stays else None)


@pytest.mark.parametrize(
    ("train", "held_out", "is_loss"),
    [
        ([3.1, 2.2, 1.6, 1.2, 0.9, 0.7], [2.8, 2.0, 1.6, 1.3, 1.1, 1.0], True),
        ([0.3, 0.5, 0.6, 0.7, 0.8, 0.9], [0.3, 0.4, 0.5, 0.6, 0.6, 0.7], False),  # shares of right answers
        ([31.0, 50.0, 62.0, 70.0, 81.0, 90.0], [30.0, 41.0, 52.0, 60.0, 64.0, 70.0], False),  # in percent
        ([35.2, 34.9, 35.1, 35.0, 35.3, 35.1], [4.1, 4.0, 4.1, 4.2, 4.0, 4.1], False),  # seconds
        ([4.6 - 0.03 * i for i in range(9)], [13.2 - 0.05 * i for i in range(9)], True),
        ([4.6 - 0.03 * i for i in range(6)], [13.2 - 0.05 * i for i in range(6)], False),
        ([0.8 / (1 + 0.3 * i) for i in range(9)], [0.9 / (1 + 0.25 * i) for i in range(9)], True),  # below 1
        (
            [0.8, 0.82, 0.85, 0.86, 0.87, 0.1, 0.1, 0.1, 0.1],
            [0.8] * 9,
            False,
        ),  # answers of a model that broke
    ],
)
def test_numbers_that_are_called_by_their_phase_alone_are_losses_where_they_fall(train, held_out, is_loss):
    found = RunMaker().log({"train": train, "valid": held_out}, steps=None).plain()

    assert ("signal.eval.loss_last" in found) == is_loss
    assert ("signal.progress.learned" in found) == is_loss


def test_a_score_that_rises_beside_one_that_is_lost_excuses_no_loss_that_rose():
    losses, accuracy = [0.139, 0.138, 0.196, 1.0], [0.05, 0.06, 0.5, 0.51]
    lost = facts({"loss": losses, "eval_accuracy": accuracy, "eval_jaccard": [0.7, 0.7, 1e-15, 1e-15]})
    kept = facts({"loss": losses, "eval_accuracy": accuracy, "eval_jaccard": [0.7, 0.7, 0.69, 0.7]})

    assert lost["signal.progress.exploded"] is True
    assert kept["signal.progress.exploded"] is False


def test_one_evaluation_of_parts_stands_beside_their_sum_in_training():
    parts = {"yaw_loss": [24.5, 24.0, 23.0, 22.5], "roll_loss": [11.0, 10.0, 9.0, 8.5]}
    maker = RunMaker("lightning").log(parts)
    maker.log({"val_yaw_loss": [79.0], "val_roll_loss": [100.0]}, first=3)

    assert maker.plain()["signal.split.ratio_last"] > 4
    assert (
        "signal.loss.first"
        not in RunMaker("lightning").log({"yaw_loss": [24.5], "roll_loss": [11.0]}).plain()
    )


def test_a_loss_that_rose_tenfold_on_held_out_data_as_well_exploded_whatever_a_score_says():
    losses = [60.0, 190.0, 700.0, 1400.0, 2700.0, 2300.0, 1700.0, 1500.0, 1200.0, 1100.0, 900.0]
    rising = [0.3, 0.35, 0.33, 0.33, 0.34, 0.44, 0.5, 0.6, 0.65, 0.7, 0.8]
    rose, fell = ([held_out * value for value in losses] for held_out in (1.1, 0.9))
    fell = [*fell[:-3], 40.0, 38.0, 36.0]

    for held_out, exploded in ((rose, True), (fell, False)):
        told = facts({"loss": losses, "eval_loss": held_out, "eval_accuracy": rising})
        assert told["signal.progress.exploded"] is exploded
