"""Progress, chance, gaps, exact values and the range of the rate: what is plain is said from as few points as show it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from courses_by_row import by_epoch, facts
from make_run import NAN, RunMaker


@pytest.mark.parametrize(
    ("losses", "fact"),
    [
        ([1.40, 16.0, 12.0, 9.5, 8.1, 7.6, 7.49, 7.50], "exploded"),
        ([12.4, 48.0, 11.65, 20.4], "above_start"),
        ([0.4, 0.55, 0.7], "above_start"),
        ([4.0, 2.0, 1.5, 1.5, 1.5, 1.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5], "rose_and_stays"),
        ([*[2.2 * 0.95**i for i in range(40)], 5.0], "jump_at_end"),
        ([2.0, 2.2, 2.5, 2.9, 3.4, 4.0], "above_start"),
        (
            [14.9, 12.0, 4.1, 2.2, 1.5, 5.1, 6.8, 9.7],
            "rose_and_stays",
        ),  # a way up, below its first and widely spaced
    ],
)
def test_a_loss_that_broke_away_is_seen_wherever_it_did(losses, fact):
    found = by_epoch(losses)

    assert found[f"signal.progress.{fact}"] is True
    assert found["signal.progress.broke"] is True


@pytest.mark.parametrize(
    "losses",
    [
        [2.3, 1.1, 0.7, 0.5, 0.4],
        [2.3, 1.1, 0.7],
        [2.0, 1.0, 0.8, 2.5, 0.7, 0.6, 0.5, 0.5, 0.45, 0.4],  # one spike that comes back
        [6.4, 4.8, 3.1, 2.4, 1.9, 1.7, 1.6, 1.5, 1.4, 1.6],
    ],
)
def test_a_loss_that_falls_and_ends_near_its_best_did_not_break(losses):
    found = by_epoch(losses)

    assert found["signal.progress.broke"] is False
    assert (found["signal.progress.learned"], found["signal.progress.kept"]) == (True, True)


def test_batches_that_differ_widely_do_not_climb():
    assert by_epoch([1.6, 0.2, 1.9, 0.3, 1.7, 0.2, 0.5, 0.9, 1.4])["signal.progress.rose_and_stays"] is False
    assert by_epoch([150.0, 330.0, 210.0])["signal.progress.above_start"] is False
    held_out = {"loss": [0.4, 0.9, 0.75, 0.6], "eval_loss": [0.36, 0.74, 0.67, 0.52]}
    assert facts(held_out)["signal.progress.above_start"] is True


def test_a_first_loss_above_all_others_is_no_explosion():
    assert facts({"loss": [0.92, 0.0001, 0.016, 0.034]})["signal.progress.exploded"] is False
    assert facts({"loss": [2.3, 9.5, 7.4, 7.3]})["signal.progress.exploded"] is True


def test_four_epochs_tell_a_loss_that_stands():
    assert by_epoch([2.31, 2.30, 2.31, 2.30])["signal.progress.still"] is True
    assert by_epoch([2.31, 2.10, 1.95, 1.90])["signal.progress.still"] is False


def test_a_loss_that_hardly_falls_over_many_epochs_is_told_and_the_first_steps_are_not():
    slow = [2.29 - 0.005 * n for n in range(30)]

    assert by_epoch(slow)["signal.progress.hardly"] is True
    assert "signal.progress.hardly" not in facts({"loss": slow})  # thirty steps
    assert facts({"loss": slow})["signal.progress.little_yet"] is True
    assert facts({"loss": [2.3 * 0.9**i for i in range(30)]})["signal.progress.little_yet"] is False


def test_a_loss_that_settled_early_far_above_zero_is_told_where_no_score_says_that_it_is_low():
    early = [1.33, 1.02, 0.85, 0.80, 0.79, 0.79, 0.78, 0.79, 0.78, 0.78]
    slow = [1.33 - 0.06 * n for n in range(10)]
    low = [1.33, 0.40, 0.22, 0.20, 0.19, 0.19, 0.18, 0.19, 0.18, 0.18]
    columns = {"loss": early, "epoch": [float(n + 1) for n in range(10)]}
    name = "signal.progress.stands_high"

    assert by_epoch(early)[name] is True
    assert by_epoch([2.3 - 0.007 * n for n in range(50)])[name] is True  # a seventh in fifty rows
    assert (
        by_epoch([2.3 - 0.03 * n for n in range(10)])[name] is False
    )  # means of epochs hide what came first
    assert by_epoch(slow)[name] is False  # still on its way
    assert by_epoch(low)[name] is False
    assert (
        by_epoch(early, val_acc=[0.30, 0.45, 0.55, 0.60, 0.62, 0.62, 0.63, 0.63, 0.63, 0.63])[name] is False
    )
    assert by_epoch(early, val_acc=[0.93] * 9 + [0.94])[name] is False
    assert facts(columns, lora_r=8)[name] is False  # an adapter of a trained model has less to gain
    assert name not in by_epoch(early[:5])


@pytest.mark.parametrize(
    ("losses", "told"),
    [
        (np.linspace(1.07, 0.79, 25), True),  # every epoch takes as much as the one before
        (0.6 + 0.4 * 0.8 ** np.arange(25), None),  # slows down
        (np.linspace(1.07, 0.4, 25), False),  # has learned a lot, however straight
        (
            np.linspace(1.07, 0.79, 25) + 0.02 * (-1.0) ** np.arange(25),
            None,
        ),  # too few points for their scatter
        (np.linspace(1.07, 0.79, 9), None),
    ],
)
def test_a_dozen_points_tell_a_line_where_each_is_below_the_one_before(losses, told):
    assert RunMaker().log({"loss": losses}).plain().get("signal.progress.in_a_line") is told


def test_a_line_whose_score_rises_is_learned():
    losses, right = np.linspace(1.07, 0.79, 25), np.linspace(0.3, 0.6, 25)

    assert not RunMaker().log({"loss": losses, "eval_accuracy": right}).plain()["signal.progress.in_a_line"]


def test_a_log_without_its_beginning_does_not_tell_what_was_learned():
    level = [0.25 + 0.05 * math.sin(7 * n) for n in range(60)]
    late, early = (RunMaker("text").log({"loss": level}, first=first).plain() for first in (303, 1))

    assert late["signal.progress.begins_late"] is True
    assert "signal.progress.learned" not in late
    assert late["signal.chance.poor"] is False
    assert (early["signal.progress.learned"], early["signal.chance.poor"]) == (False, True)
    every_ten = RunMaker("text").log({"loss": level}, first=310, every=10).plain()
    assert every_ten["signal.progress.begins_late"] is False  # a warm-up without rows, perhaps


def test_the_level_of_a_guess_is_told_by_loss_and_accuracy_together():
    found = by_epoch(
        [2.31, 2.30, 2.30, 2.30],
        accuracy=[0.10, 0.11, 0.10, 0.10],
        eval_loss=[2.30] * 4,
        eval_accuracy=[0.1] * 4,
    )
    learned = by_epoch([2.31, 1.2, 0.8, 0.6], accuracy=[0.11, 0.6, 0.7, 0.8])

    assert (found["signal.chance.classes"], found["signal.chance.training"]) == (10, True)
    assert found["signal.chance.held_out_never_better"] is True
    assert learned["signal.chance.training"] is False


def softmax_twice(right, classes=10):
    return [math.log(math.e + classes - 1) - share for share in right]


def test_a_second_softmax_shows_in_loss_and_accuracy_row_by_row():
    right = [0.32, 0.55, 0.78, 0.9, 0.95, 0.97]
    sound = [1.9, 1.3, 0.8, 0.45, 0.3, 0.2]

    assert (
        by_epoch(softmax_twice(right), accuracy=list(right), eval_accuracy=list(right))[
            "signal.chance.second_softmax"
        ]
        is True
    )
    assert by_epoch(sound, accuracy=list(right))["signal.chance.second_softmax"] is False
    # A language model at one accuracy: some number of classes always fits.
    steady = by_epoch([1.5, 1.5, 1.5, 1.5], accuracy=[0.55, 0.55, 0.55, 0.56])
    assert steady["signal.chance.second_softmax"] is False


def test_a_gap_that_stands_at_the_first_evaluation_is_told_from_one_that_opens():
    train = [1.8, 1.0, 0.6, 0.4, 0.3]
    at_once = by_epoch(train, eval_loss=[8.0, 8.4, 8.2, 8.9, 9.1])
    later = by_epoch(train, eval_loss=[1.5, 1.0, 0.9, 1.2, 1.5])

    assert at_once["signal.gap.from_start"] is True
    assert at_once["signal.gap.never_generalised"] is True
    assert later["signal.gap.from_start"] is False
    assert later["signal.gap.never_generalised"] is False


def test_in_the_middle_of_a_training_a_gap_says_nothing_of_its_start():
    rising, flat = [2.19 + 0.01 * n for n in range(8)], [0.8, 0.77, 0.81, 0.79, 0.8, 0.76, 0.8, 0.78]
    worse = [0.8 + 0.02 * n for n in range(8)]

    def middle(train, held_out):
        return RunMaker("keras").log({"loss": train, "eval_loss": held_out}, first=1590, every=10).plain()

    known = middle(flat, rising)
    assert known["signal.gap.stands_open"] is True
    assert "signal.gap.from_start" not in known
    assert middle(flat, rising[::-1])["signal.gap.stands_open"] is False
    assert middle(worse, rising)["signal.gap.stands_open"] is False  # training is lost as well


def test_answers_to_other_labels_are_worse_than_a_guess():
    found = by_epoch(
        [2.3, 0.9, 0.4, 0.2],
        accuracy=[0.12, 0.7, 0.9, 0.97],
        eval_loss=[3.0, 6.0, 9.0, 11.0],
        eval_accuracy=[0.02, 0.01, 0.0, 0.01],
    )

    assert found["signal.gap.answers_other_labels"] is True


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"loss": [1.0, 0.9, 0.8], "aux_loss": [NAN, NAN, NAN]}, "aux_loss"),
        ({"loss": [1.0, 0.9, 0.8], "grad_norm": [1.0, NAN, NAN]}, "grad_norm"),
    ],
)
def test_a_value_that_is_not_finite_is_told_of_any_series(columns, name):
    found = facts(columns)

    assert found["signal.exact.all_finite"] is False
    assert found["signal.exact.nonfinite_name"] == name


@pytest.mark.parametrize(
    ("columns", "lost"),
    [
        ({"cls": [17.0, NAN, NAN, NAN], "box": [3.9, NAN, NAN, NAN]}, True),
        ({"cls": [17.0, NAN, NAN, NAN], "box": [3.9, 3.8, 3.7, 3.6]}, False),  # one term may be undefined
        ({"cls": [NAN] * 4, "box": [NAN] * 4}, False),  # never a number: what it is nobody knows
        ({"reward_mean": [3.2, NAN, NAN, NAN]}, True),
        ({"reward_mean": [NAN, NAN, 3.2, 3.3]}, False),  # before the first episode ends
        ({"reward_mean": [3.2, NAN, NAN, NAN], "loss": [0.1, 0.2, 0.1, 0.2]}, False),
    ],
)
def test_rows_of_which_nothing_stays_a_number_broke_whatever_their_names(columns, lost):
    assert facts(columns).get("signal.exact.nonfinite_training", False) is lost


def test_losses_of_zero_and_layers_without_gradient_are_told():
    layers = {f"grad_norm/layers.{n}.weight": [0.0 if n < 2 else 1.0] * 3 for n in range(4)}
    found = facts({"loss": [0.0, 0.0], "grad_norm": [0.0, 0.0]})

    assert found["signal.exact.loss_zero"] is True
    assert found["signal.exact.gradient_zero"] is True
    assert facts({"loss": [1.0, 0.9, 0.8], **layers})["signal.exact.layers_zero_share"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("config", "over", "under"),
    [
        ({"learning_rate": 10.0, "optimizer": "sgd"}, 10.0, None),
        ({"learning_rate": 50.0, "optimizer": "adam"}, 5000.0, None),
        ({"learning_rate": 2e-5, "optimizer": "sgd"}, None, 25.0),
        ({"learning_rate": 1e-7, "optimizer": "adamw"}, None, 100.0),
        ({"learning_rate": 1e-3, "optimizer": "adam"}, 0.1, None),
        (
            {"learning_rate": 0.02, "optimizer": "adamw", "pre_seq_len": 128},
            0.4,
            None,
        ),  # prompts that are learned
    ],
)
def test_the_rate_is_judged_by_its_optimizer(config, over, under):
    found = facts({"loss": [1.0, 0.9, 0.8]}, **config)

    if over is not None:
        assert found["config.rate.over_usual"] == pytest.approx(over)
    if under is not None:
        assert found["config.rate.under_usual"] == pytest.approx(under)


def test_a_warm_up_that_still_rises_shows_no_peak():
    rising = facts({"loss": [9.0, 8.9, 8.8], "learning_rate": [1e-9, 2e-9, 3e-9]})

    assert "config.rate.under_usual" not in rising


def test_a_rise_that_is_printed_with_few_digits_stands_in_stairs():
    stairs = facts({"loss": [1.6, 1.5, 1.6, 1.5, 1.6], "learning_rate": [0.0, 0.0, 0.0, 1e-7, 1e-7]})
    constant = facts({"loss": [1.6, 1.5, 1.6, 1.5, 1.6], "learning_rate": [0.0, 1e-7, 1e-7, 1e-7, 1e-7]})

    assert "config.rate.under_usual" not in stairs
    assert constant["config.rate.under_usual"] >= 1


def test_a_rate_that_means_something_else_is_not_judged():
    assert "config.rate.over_usual" not in facts({"loss": [1.0, 0.9]}, learning_rate=1.0, optimizer="prodigy")
    assert "config.rate.over_usual" not in facts(
        {"loss": [1.0, 0.9]}, learning_rate=0.08, optimizer="Adagrad"
    )


def test_a_second_softmax_shows_although_answers_are_right_before_they_are_sure():
    right = [0.22, 0.30, 0.41, 0.60, 0.71, 0.75, 0.79, 0.81, 0.82, 0.84, 0.84, 0.85]
    late = [0.05, 0.10, 0.12, 0.14, 0.09, 0.04, 0.02, 0.02, 0.01, 0.01, 0.0, 0.0]
    unsure = [loss + more for loss, more in zip(softmax_twice(right), late, strict=True)]
    # As high by smoothed labels of a sound softmax: it falls twice as fast as more answers are right.
    smoothed = [1.61 + 2.0 * (0.85 - share) for share in right]

    assert by_epoch(unsure, accuracy=right)["signal.chance.second_softmax"] is True
    assert by_epoch(smoothed, accuracy=right)["signal.chance.second_softmax"] is False


def test_a_loss_of_three_classes_that_has_only_begun_to_fall_was_softmaxed_once():
    right = [0.32 + 0.03 * n for n in range(11)]
    slow = [1.54 - share for share in right]

    assert by_epoch(slow, accuracy=right)["signal.chance.second_softmax"] is False


def test_a_second_softmax_of_four_classes_shows_in_a_narrow_range_that_it_keeps_to():
    right = [0.756, 0.891, 0.896, 0.898, 0.903, 0.906, 0.91]
    narrow = [loss + 0.001 * (-1) ** n for n, loss in enumerate(softmax_twice(right, classes=4))]
    # As high, by smoothed labels; it falls twice as fast as more answers are right.
    smoothed = [0.84 + 2.0 * (0.91 - share) for share in right]

    assert by_epoch(narrow, accuracy=right)["signal.chance.second_softmax"] is True
    assert by_epoch(smoothed, accuracy=right)["signal.chance.second_softmax"] is False


def test_losses_far_apart_are_of_other_units_where_as_many_answers_are_right():
    stands, cost = [0.0216, 0.0220, 0.0215, 0.0217, 0.0218, 0.0221], [2.11, 2.09, 2.08, 2.08, 2.079, 2.079]
    guess = [0.114, 0.125, 0.131, 0.128, 0.126, 0.127]
    learned = [0.2, 0.5, 0.7, 0.8, 0.9, 0.95]

    same = by_epoch(stands, eval_loss=cost, accuracy=guess, eval_accuracy=guess)
    other = by_epoch(stands, eval_loss=cost, accuracy=learned, eval_accuracy=guess)

    assert (same["signal.gap.from_start"], same["signal.gap.chasm"]) == (False, False)
    assert (same["signal.chance.training"], same["signal.chance.training_learned"]) == (True, False)
    assert (other["signal.gap.from_start"], other["signal.gap.chasm"]) == (True, True)
    assert other["signal.chance.training"] is False


def test_an_explosion_of_held_out_data_counts_and_a_loss_that_is_learned_does_not():
    flat = [2.6, 2.5, 2.4, 2.33, 2.31, 2.3, 2.3, 2.3]
    few = [0.1, 0.08, 0.13, 0.08, 0.09, 0.08, 0.08, 0.08]
    exploded = by_epoch(flat, eval_loss=[88.0, *flat[1:]], eval_accuracy=few)
    learned = by_epoch(
        [1.4, 0.1, 0.05, 0.03], eval_loss=[6.2, 8.0, 9.5, 10.4], eval_accuracy=[0.01, 0.0, 0.0, 0.0]
    )

    assert exploded["signal.chance.exploded_at_once"] is True
    assert learned["signal.chance.exploded_at_once"] is False


def test_a_loss_that_comes_down_from_a_height_no_start_has_and_learns_nothing_after_it_exploded_at_once():
    stands = [1.77e7, 45.3, 42.0, 43.1, 42.9, 41.0, 42.5, 43.0]
    still_learning = [1.77e7, 2000.0, 800.0, 400.0, 200.0, 90.0, 50.0, 40.0]
    usual_start = [2300.0, 45.3, 42.0, 43.1, 42.9, 41.0, 42.5, 43.0]

    assert by_epoch(stands)["signal.chance.exploded_at_once"] is True
    assert by_epoch(still_learning)["signal.chance.exploded_at_once"] is False
    assert by_epoch(usual_start)["signal.chance.exploded_at_once"] is False


def test_a_loss_without_a_bottom_is_told_from_a_likelihood_that_settles_and_from_a_player():
    down = [-60.0, -8299.0, -269500.0, -3759000.0, -31100000.0]
    density = [1200.0, -900.0, -4100.0, -11800.0, -12100.0, -12050.0, -12110.0]

    assert by_epoch(down)["signal.metric.bottomless"] is True
    assert by_epoch(density)["signal.metric.bottomless"] is False
    assert "signal.metric.bottomless" not in by_epoch(down, d_loss=down)
    assert "signal.metric.bottomless" not in by_epoch(
        down, accuracy=[0.25] * 5
    )  # targets that fit no classifier


def test_not_one_answer_right_while_training_is_learned_early_are_answers_to_other_labels():
    none = {"eval_accuracy": [0.011, 0.011, 0.0, 0.0, 0.0, 0.0]}
    early = by_epoch(
        [0.48, 0.03, 0.02, 0.015, 0.013, 0.012], accuracy=[0.81, 0.99, 0.99, 0.995, 0.995, 0.995], **none
    )
    by_heart = by_epoch(
        [4.6, 4.4, 3.5, 2.0, 0.8, 0.2], accuracy=[0.01, 0.03, 0.2, 0.5, 0.8, 0.97], eval_accuracy=[0.011] * 6
    )

    assert early["signal.gap.answers_other_labels"] is True
    assert not by_heart.get("signal.gap.answers_other_labels")


def test_a_score_whose_rise_was_seen_is_not_perfect_at_once():
    learned = RunMaker().log({"loss": [1.4, 0.5, *[0.02] * 8], "accuracy": [0.2, 0.8, *[1.0] * 8]}).plain()
    at_once = RunMaker().log({"loss": [1.4, 0.5, *[0.02] * 8], "accuracy": [1.0] * 10}).plain()

    assert learned["signal.score.perfect_at_once"] is False
    assert at_once["signal.score.perfect_at_once"] is True


def test_an_epoch_whose_mean_costs_nothing_was_answered_from_its_first_batch_on():
    right = {"accuracy": [1.0] * 5, "eval_accuracy": [1.0] * 5}
    at_once = RunMaker().log({"loss": [0.02, 0.005, 0.002, 0.001, 0.001], **right}, steps=None).plain()
    within = RunMaker().log({"loss": [0.31, 0.02, 0.01, 0.005, 0.004], **right}, steps=None).plain()

    assert at_once["signal.score.perfect_at_once"] is True
    assert "signal.score.perfect_at_once" not in within  # easy, and learned


def test_the_rise_of_a_held_out_loss_of_which_little_is_left_is_no_overfitting():
    solved = by_epoch([0.45, 0.03, 0.02, 0.015, 0.013], eval_loss=[0.06, 0.034, 0.035, 0.038, 0.041])
    parted = by_epoch([0.45, 0.3, 0.2, 0.15, 0.1], eval_loss=[0.46, 0.34, 0.35, 0.38, 0.42])

    assert solved["signal.eval.rises_while_train_falls"] is False
    assert parted["signal.eval.rises_while_train_falls"] is True


def test_a_held_out_accuracy_that_fits_neither_shares_nor_percent_is_impossible():
    shares = [0.25, 0.6, 0.75, 0.85, 0.87]
    summed = by_epoch([2.0, 1.0, 0.6, 0.5, 0.5], accuracy=shares, eval_accuracy=[2.4, 3.4, 3.8, 4.2, 4.2])
    percent = by_epoch(
        [2.0, 1.0, 0.6, 0.5, 0.5], accuracy=shares, eval_accuracy=[24.0, 59.0, 74.0, 84.0, 85.0]
    )

    assert summed["signal.metric.impossible"] is True
    assert percent["signal.metric.impossible"] is False


@pytest.mark.parametrize(("momentum", "over"), [(0.0, 0.4), (0.9, 0.8), (0.999, 80.0)])
def test_momentum_makes_a_rate_of_plain_descent_larger(momentum, over):
    found = facts({"loss": [2.3, 2.0, 1.5]}, lr=0.4, optimizer="sgd", momentum=momentum)

    assert found["config.rate.over_usual"] == pytest.approx(over)


def test_few_samples_that_outweigh_all_others_are_told_from_a_sum_and_from_dropout():
    held_out = [0.80, 0.57, 0.39, 0.37, 0.42]
    heavy = by_epoch([278.7, 278.1, 277.5, 276.7, 276.0], eval_loss=held_out)
    summed = by_epoch([30 * loss for loss in held_out], eval_loss=held_out)
    dropout = by_epoch([1.5 * loss for loss in held_out], eval_loss=held_out)

    dropped = by_epoch(
        [278.7, 278.1, 277.5, 276.7, 276.0, 0.9], eval_loss=[*held_out, 0.41]
    )  # its batch was the last

    assert heavy["signal.gap.outweighed"] is True
    assert dropped["signal.gap.outweighed"] is True
    assert summed["signal.gap.outweighed"] is False
    assert dropout["signal.gap.outweighed"] is False


def test_margins_of_preferences_are_no_rewards_of_a_policy():
    undecided = {
        "rewards/margins": [0.005, -0.001, 0.0, 0.0, 0.005],
        "rewards/accuracies": [0.54, 0.5, 0.48, 0.48, 0.56],
    }
    found = facts({"loss": [0.691, 0.694, 0.694, 0.694, 0.691], **undecided})

    assert found["run.rl"] is False
    assert found["signal.collapse.preference_undecided"] is True


@pytest.mark.parametrize(
    ("held_out", "harder"),
    [([0.5, 0.6, 0.7, 0.8, 0.85], False), ([0.55, 0.66, 0.77, 0.87, 0.91], True), (None, True)],
    ids=["answers-agree", "answers-part", "no-answers"],
)
def test_losses_that_part_while_answers_agree_are_not_summed_alike(held_out, harder):
    train, rows = [2.3, 1.8, 1.4, 1.2, 1.0], {} if held_out is None else {"eval_accuracy": held_out}
    found = by_epoch(
        train, eval_loss=[0.6 * loss for loss in train], accuracy=[0.5, 0.61, 0.7, 0.8, 0.85], **rows
    )

    assert found["signal.gap.training_harder"] is harder


MEMORISED = [2.08, 2.06, 2.04, 2.01, 1.98, 1.92, 1.86, 1.77, 1.7, 1.58, 1.47, 1.36]
LEARNED_FAST = [2.08, 0.9, 0.4, 0.25, 0.2, 0.17, 0.15, 0.14, 0.13, 0.12, 0.12, 0.11]


def test_what_was_never_gained_on_held_out_data_is_told_from_what_was_gained_and_lost():
    never = by_epoch(MEMORISED, eval_loss=[2.05, 2.06, 2.09, 2.1, 2.15, 2.2, 2.3, 2.4, 2.5, 2.7, 2.9, 3.0])
    lost = by_epoch(MEMORISED, eval_loss=[2.05, 1.9, 1.8, 1.75, 1.7, 1.75, 1.8, 1.9, 2.0, 2.2, 2.4, 2.6])
    slow = by_epoch([2.3 - 0.01 * n for n in range(12)], eval_loss=[2.3 - 0.01 * n for n in range(12)])

    assert never["signal.gap.never_below_start"] is True
    assert lost["signal.gap.never_below_start"] is False
    assert slow["signal.gap.never_below_start"] is False  # training gained no more


def test_a_first_evaluation_after_several_passes_says_nothing_of_the_start():
    steps = list(range(10, 130, 10))
    maker = RunMaker("lightning").log(
        {"loss": LEARNED_FAST, "epoch": [0.5 * (n + 1) for n in range(12)]}, steps=steps
    )
    late = maker.log({"eval_loss": [2.5, 2.9, 3.1]}, steps=[80, 100, 120]).plain()

    assert "signal.gap.never_below_start" not in late


def test_samples_learned_by_heart_fall_last_and_what_holds_for_all_falls_first():
    by_heart, fast = by_epoch(MEMORISED), by_epoch(LEARNED_FAST)

    assert by_heart["signal.progress.accelerates"] is True
    assert by_heart["signal.progress.third_over_first"] > 0.9
    assert fast["signal.progress.accelerates"] is False
    assert fast["signal.progress.third_over_first"] < 0.2


def test_held_out_answers_that_fall_back_are_told_from_a_score_that_only_stands():
    right = [0.6, 0.99, 1.0, 1.0, 1.0, 1.0]
    losses = LEARNED_FAST[:6]
    fell = by_epoch(losses, accuracy=right, eval_accuracy=[0.7, 0.58, 0.35, 0.38, 0.36, 0.37])
    stands = by_epoch(losses, accuracy=right, eval_accuracy=[0.6, 0.66, 0.67, 0.66, 0.65, 0.65])

    assert fell["signal.gap.score_fell_back"] is True
    assert stands["signal.gap.score_fell_back"] is False
