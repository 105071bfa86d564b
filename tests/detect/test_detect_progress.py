"""Progress, chance, gaps, exact values and the range of the rate: what is plain is said from as few points as show it."""

from __future__ import annotations

import math

import pytest
from make_run import NAN, RunMaker


def facts(columns, held_out=None, **config):
    maker = RunMaker("lightning").log(columns)
    if held_out:
        maker.log(held_out)
    return maker.config(**config).plain() if config else maker.plain()


def by_epoch(losses, **more):
    count = len(losses)
    columns = {"loss": losses, "epoch": [float(n + 1) for n in range(count)], **more}
    return facts(columns)


@pytest.mark.parametrize(
    ("losses", "fact"),
    [
        ([1.40, 16.0, 12.0, 9.5, 8.1, 7.6, 7.49, 7.50], "exploded"),
        ([12.4, 48.0, 11.65, 20.4], "above_start"),
        ([4.0, 2.0, 1.5, 1.5, 1.5, 1.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5], "rose_and_stays"),
        ([2.0, 1.6, 1.4, 1.3, 1.2, 40.0], "jump_at_end"),
        ([2.0, 2.2, 2.5, 2.9, 3.4, 4.0], "above_start"),
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
    ],
)
def test_a_loss_that_falls_and_ends_near_its_best_did_not_break(losses):
    found = by_epoch(losses)

    assert found["signal.progress.broke"] is False
    assert (found["signal.progress.learned"], found["signal.progress.kept"]) == (True, True)


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


def test_a_rate_that_means_something_else_is_not_judged():
    assert "config.rate.over_usual" not in facts({"loss": [1.0, 0.9]}, learning_rate=1.0, optimizer="prodigy")
