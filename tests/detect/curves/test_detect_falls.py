"""Where the fall of a loss ends, or goes on: in the first rows, at the last ones, below what batches hide."""

from __future__ import annotations

import math

import numpy as np
from courses_by_row import by_epoch, facts
from make_run import RunMaker


def test_an_explosion_in_the_first_epoch_does_not_hide_what_is_lost_later():
    lost = by_epoch([955.0, 3.02, 2.2, 2.2, 2.2, 2.19, 2.2, 2.18, 4.3, 4.4, 4.4, 4.5])

    assert lost["signal.progress.kept"] is False


def test_a_fall_within_the_first_rows_of_a_long_log_is_progress():
    noise = [0.05 * math.sin(37.0 * n) for n in range(3000)]
    fell = facts({"loss": [0.5 + 1.8 * math.exp(-n / 5) + noise[n] for n in range(3000)]})
    stands = facts({"loss": [0.5 + noise[n] for n in range(3000)]})

    assert fell["signal.progress.learned"] is True
    assert fell["signal.progress.fall_share"] > 0.5
    assert stands["signal.progress.learned"] is False


def test_a_loss_that_falls_to_the_end_at_one_pace_is_not_called_finished():
    going_on = by_epoch([2.3 - 0.03 * n for n in range(12)])
    slowing = by_epoch([0.4 + 1.9 * 0.6**n for n in range(12)])

    assert going_on["signal.progress.unfinished"] is True
    assert slowing["signal.progress.unfinished"] is False


def test_a_loss_that_is_nearly_gone_at_once_does_not_explode_where_it_trembles_far_below_its_start():
    gone = by_epoch([0.386, 2.3e-05, 0.0008, 0.0023, 0.0026, 0.0032, 0.0032, 0.0031])
    exploded = by_epoch([0.386, 0.12, 0.11, 0.9, 1.4, 1.5, 1.6, 1.6])

    assert gone["signal.progress.exploded"] is False
    assert gone["signal.progress.broke"] is False
    assert exploded["signal.progress.exploded"] is True


def test_a_fall_that_batches_hide_goes_on_if_held_out_loss_says_so():
    noise = 0.3 * np.random.default_rng(5).standard_normal(60)

    def unfinished(held_out):
        maker = RunMaker().log({"loss": np.linspace(1.9, 1.6, 60) + noise})
        return maker.log({"eval_loss": held_out}, first=6, every=6).plain()["signal.progress.unfinished"]

    assert unfinished(np.linspace(1.85, 1.5, 10)) is True
    assert unfinished(1.5 + 0.35 * np.exp(-np.arange(10.0))) is False


def test_a_loss_far_beyond_the_first_ones_is_wild_wherever_the_log_begins():
    swings = by_epoch([955.0, 3.0, 2.2, 6.9, 2.2, 2.2, 204.0, 2.19, 2.2, 2.18, 15.1, 4.4])
    spike = by_epoch([2.3, 1.1, 0.7, 4.0, 0.6, 0.5, 0.45])

    assert swings["signal.progress.wild_rows"] >= 1
    assert spike["signal.progress.wild_rows"] == 0


def test_zeros_before_a_loss_are_no_level_to_compare_with():
    rising, level = [0.0, 0.0, 0.0, 0.26, 0.52], [0.0, 0.0, *[2.0 - 0.01 * n for n in range(12)]]

    assert "signal.progress.above_start" not in facts({"loss": rising})
    assert facts({"loss": level})["signal.progress.first"] > 1.9


def test_a_loss_that_fell_from_its_first_row_to_the_second_and_never_since_stands_high_from_five_rows_on():
    name, losses = "signal.progress.stands_high", [9.1, 7.31, 7.29, 7.28, 7.28]

    assert facts({"loss": losses})[name] is True
    # The loss is no score beside itself.
    assert facts({"error": [0.81, *[0.52, 0.5201, 0.5198] * 4]})[name] is True
    assert name not in facts({"loss": [9.1, 7.31, 6.9, 6.6, 6.4]})  # goes on
    assert name not in facts({"loss": losses, "val_acc": [0.3, 0.5, 0.7, 0.75, 0.78]})
