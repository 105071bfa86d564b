"""A loss that leaves its course for a stretch, or rises over its first rows: seen in the rows of epochs and in many noisy ones, and not in plain scatter."""

from __future__ import annotations

import math

import numpy as np
import pytest
from make_run import RunMaker

from analyzer.detect.curves.trend import trend

RISE = (2.29, 2.53, 2.83, 2.96)
BACK = (*RISE, 2.78, 2.65, 2.44, 2.31, 2.24, 2.21, 2.18, 2.19, 2.19, 2.20, 2.22, 2.24, 2.24)


def facts(losses, held_out=None, **config):
    count = len(losses)
    columns = {"loss": losses, "epoch": [float(n + 1) for n in range(count)]}
    if held_out is not None:
        columns["eval_loss"] = held_out
    maker = RunMaker("lightning").log(columns)
    return maker.config(**config).plain() if config else maker.plain()


def test_two_high_epochs_that_held_out_data_do_not_notice():
    found = facts([2.3, 1.2, 0.8, 0.7, 2.4, 2.2, 0.65, 0.6], [2.2, 1.1, 0.8, 0.72, 0.74, 0.75, 0.68, 0.65])

    assert found["signal.stretch.seen"] is True
    assert (found["signal.stretch.rows"], found["signal.stretch.returned"]) == (2, True)
    assert found["signal.stretch.held_out_rose"] is False
    assert found["signal.stretch.ratio"] == pytest.approx(2.4 / 0.7)


@pytest.mark.parametrize("last_part", [35.6, 300.0])
def test_a_last_part_of_each_epoch_whose_sum_is_low_is_no_level_to_rise_from(last_part):
    found = facts([898.2, 894.5, 853.5, last_part, 775.2, 767.5, 750.8, last_part])

    assert found["signal.stretch.seen"] is False


def test_a_leap_that_takes_the_rest_of_the_run_to_come_back():
    found = facts([0.5, 0.1, 0.085, 5040.0, 0.9, 0.76, 0.58, 0.48], [1.0, 0.11, 0.1, 9.0, 0.9, 0.8, 0.6, 0.5])

    assert found["signal.stretch.held_out_rose"] is True
    assert found["signal.stretch.recovering"] is True or found["signal.stretch.returned"] is True


def test_a_leap_to_the_level_of_a_guess():
    found = facts([1.04, 0.88, 0.82, 2.26, 2.30, 2.30, 2.30, 2.30], **{"data.num_classes": 10})

    assert found["signal.stretch.to_a_guess"] is True
    assert found["signal.stretch.returned"] is False


@pytest.mark.parametrize(
    "losses",
    [
        [2.3, 1.1, 0.7, 0.5, 0.4, 0.36, 0.33, 0.31],
        [2.3, 1.2, 0.9, 0.95, 0.8, 0.85, 0.7, 0.72, 0.66],
        [0.5, 0.02, 0.004, 0.011, 0.002, 0.006, 0.003],  # small losses differ by factors
        [12.4, 12.3, 41.0, 38.0, 30.0, 22.0, 15.0, 11.0, 9.0, 8.0],  # overshoots at its start
    ],
)
def test_a_usual_course_holds_no_stretch(losses):
    assert facts(losses)["signal.stretch.seen"] is False


@pytest.mark.parametrize("seed", range(8))
def test_the_scatter_of_small_batches_is_no_stretch_and_garbage_is(seed):
    rng = np.random.default_rng(seed)
    course = 2.0 * np.exp(-np.arange(400) / 80.0) + 0.2
    noisy = course * np.exp(0.3 * rng.standard_normal(400))

    assert facts(noisy.tolist())["signal.stretch.seen"] is False
    noisy[220:280] = 2.3 * np.exp(0.2 * rng.standard_normal(60))
    found = facts(noisy.tolist())
    assert (found["signal.stretch.seen"], found["signal.stretch.returned"]) == (True, True)


def test_a_loss_at_or_below_zero_has_no_ratio():
    assert "signal.stretch.seen" not in facts([1.0, 0.5, -0.2, 3.0, -0.4, -0.5])
    assert math.isfinite(facts([1e140, 1e139, 5e141, 1e138, 1e137, 1e136])["signal.stretch.ratio"])


def test_one_lucky_row_among_many_is_no_course_that_was_left():
    scattered = [
        0.62,
        0.54,
        0.52,
        0.54,
        0.53,
        0.52,
        0.45,
        0.53,
        0.55,
        0.48,
        0.40,
        0.41,
        0.33,
        0.46,
        0.54,
        0.47,
    ]

    assert facts(scattered)["signal.stretch.seen"] is False
    assert facts([*scattered[:12], 2.4, 2.2, 0.41, 0.40])["signal.stretch.seen"] is True


def test_losses_of_two_players_have_no_course_that_is_left():
    swings = [4.7, 2.4, 1.3, 1.3, 1.0, 1.4, 3.2, 1.4, 1.4]
    game = RunMaker().log({"loss": swings, "loss_D_A": [0.2] * 9, "loss_G_A": [0.5] * 9}).plain()

    assert "signal.stretch.seen" not in game
    assert RunMaker().log({"loss": swings}).plain()["signal.stretch.seen"] is True


@pytest.mark.parametrize(
    ("losses", "seen"),
    [
        (
            [0.0743, 0.0828, 0.1016, 0.057, 0.1339, 0.1315, 0.0521, 0.0371, 0.043],
            False,
        ),  # one low row of four
        ([0.743, 0.428, 0.1016, 0.057, 0.339, 0.315, 0.0521, 0.0371, 0.043], True),
    ],
)
def test_one_lucky_row_of_few_is_no_course_that_was_left(losses, seen):
    assert facts(losses)["signal.stretch.seen"] is seen


def test_a_loss_that_only_takes_back_what_its_first_rows_rose_by_learned_nothing():
    beyond = (*BACK[:10], 2.0, 1.9, 1.8, 1.7, 1.65, 1.6, 1.55)

    assert RunMaker().log({"loss": BACK}).plain()["signal.progress.learned"] is False
    assert RunMaker().log({"loss": beyond}).plain()["signal.progress.learned"] is True


def test_a_score_that_rose_beside_it_tells_that_something_was_learned():
    score = [0.1 + 0.04 * row for row in range(len(BACK))]
    facts = RunMaker().log({"loss": BACK, "accuracy": score}).plain()

    assert facts["signal.progress.learned"] is True


def test_one_low_first_row_is_no_rise():
    odd = trend(np.array([2.29, 3.0, 2.96, *BACK[4:]]))
    hump = trend(np.array(BACK))

    assert odd is not None
    assert hump is not None
    assert odd.only_back is False
    assert hump.only_back is True
