"""What a curve that looks well may hide: held-out data that are training data, a frozen count, a still policy, a rare class, leaps."""

from __future__ import annotations

import numpy as np
import pytest
from make_run import RunMaker

from analyzer.detect.trainings import trainings_of

LOSSES = [round(2.3 * 0.93**row + 0.0137, 4) for row in range(14)]
REWARDS = [0.31, 0.27, 0.4, 0.22, 0.35, 0.3, 0.28, 0.33, 0.29, 0.36]
STILL = {
    "approx_kl": [3.1e-6, 2.2e-5, 8e-6, 1e-6, 4e-5, 9e-6, 3e-6, 2e-6, 7e-6, 5e-6],
    "clip_fraction": [0.0] * 10,
}
SMOOTH = [round(900.0 * 0.97**row + 20.0, 3) for row in range(60)]


def leaping(rows, times=6.0):
    return [value * (times if row in rows else 1.0) for row, value in enumerate(SMOOTH)]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"loss": LOSSES, "eval_loss": LOSSES}, True),
        ({"loss": [*LOSSES, 0.1, 0.08], "eval_loss": [*LOSSES, 0.9, 0.95]}, True),  # a later stage has its own
        ({"loss": LOSSES, "eval_loss": [value + 0.0004 for value in LOSSES]}, False),
        ({"loss": LOSSES, "eval_loss": [*LOSSES[:5], *(value + 0.01 for value in LOSSES[5:])]}, False),
        ({"loss": [0.31, 0.3, 0.3, 0.29, 0.28, 0.28, 0.27, 0.26, 0.26, 0.25, 0.24], "eval_loss": [0.31, 0.3, 0.3, 0.29, 0.28, 0.28, 0.27, 0.26, 0.26, 0.25, 0.24]}, False),  # two digits
        ({"loss": LOSSES, "accuracy": [1.0] * 14, "eval_accuracy": [1.0] * 14}, False),  # all are right
        ({"loss": LOSSES[:6], "eval_loss": LOSSES[:6]}, None),
    ],
)  # fmt: skip
def test_held_out_values_that_are_those_of_training_in_all_digits_are_measured_on_the_same_data(
    columns, told
):
    assert RunMaker().log(columns).plain().get("signal.split.repeats_training") is told


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"loss": LOSSES, "link_acc1": [0.5] * 14}, True),
        ({"auc": [0.5 + 0.02 * row for row in range(14)], "test_accuracy": [25.0] * 14}, True),
        ({"loss": LOSSES, "link_acc1": [0.5] * 13 + [0.501]}, False),
        (
            {"loss": LOSSES, "val_acc": [0.731] * 14},
            False,
        ),  # the share of the largest class, which other facts tell
        ({"loss": [0.7] * 14, "val_acc": [0.5] * 14}, False),  # nothing moves
        ({"loss": LOSSES, "iou_threshold": [0.5] * 14}, None),
    ],
)
def test_an_accuracy_that_is_a_guess_in_all_digits_while_the_loss_moves_does_not_see_the_model(columns, told):
    assert RunMaker().log(columns).plain().get("signal.score.one_guess") is told


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (STILL | {"entropy_loss": [-1.1] * 10}, True),
        (STILL | {"entropy_loss": [-1.1, *[-1.09] * 9]}, True),
        (STILL | {"entropy_loss": [-1.1, -1.08, -1.05, -1.0, -0.96, -0.9, -0.85, -0.8, -0.7, -0.6]}, False),
        (STILL | {"entropy_loss": [-1.1] * 10, "clip_fraction": [0.0] * 9 + [0.02]}, False),
        (STILL | {"entropy_loss": [-1.1] * 10, "approx_kl": [0.004] * 10}, False),
        (STILL | {"entropy_loss": [0.0] * 10}, False),  # a policy that has decided
    ],
)
def test_a_policy_of_which_no_update_is_clipped_or_diverges_is_not_updated(columns, told):
    facts = RunMaker().log({"reward_mean": REWARDS, **columns}).plain()

    assert facts.get("signal.policy.unmoved") is told


@pytest.mark.parametrize(
    ("last", "best", "told"),
    [(0.03, 0.93, True), (0.4, 0.93, False), (0.03, 0.55, False)],
)
def test_a_class_that_is_hardly_found_beside_one_that_always_is(last, best, told):
    columns = {"dice_0": np.linspace(0.4, 0.97, 20), "dice_1": np.linspace(0.1, best, 20)}
    columns["dice_2"] = np.linspace(0.0, last, 20)
    if best < 0.9:
        columns["dice_0"] = columns["dice_1"]

    facts = RunMaker().log({"loss": np.linspace(0.9, 0.3, 20), **columns}).plain()

    assert facts["signal.last.class_hardly_found"] is told
    assert facts.get("signal.last.class_hardly_found_name") == ("dice_2" if told else None)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"val_r2": [-4.0, -1.2, -0.5, -0.42, -0.4]}, True),
        ({"val_r2": [-4.0, -1.2, 0.1, 0.3, 0.35]}, False),  # it began there
        ({"train_r2": [-4.0, -1.2, -0.5, -0.42, -0.4]}, None),
        ({"val_r2": [-0.3] * 5, "test_r2": [0.7]}, False),
    ],
)
def test_a_held_out_r2_below_0_is_worse_than_the_mean_of_the_targets(columns, told):
    facts = RunMaker().log({"loss": LOSSES[:5]}).log(columns).plain()

    assert facts.get("signal.last.worse_than_mean") is told


@pytest.mark.parametrize(
    ("losses", "told"),
    [
        (leaping({12, 25, 41}), True),
        (leaping({12, 25}), False),
        (leaping({12, 25, 41}, 2.0), False),
        (
            [value * (1.0 + row % 3) for row, value in enumerate(leaping({12, 25, 41}))],
            False,
        ),  # scatters anyway
        ([value**4 for value in leaping({40, 48, 56}, 1.6)], False),  # where next to nothing is left
        (SMOOTH, False),
    ],
)
def test_a_smooth_loss_that_leaps_again_and_again_is_told_however_high_it_began(losses, told):
    assert RunMaker().log({"loss": losses}).plain()["signal.spike.leaps_again"] is told


def stages(first, second, vocabulary=32000):
    steps = [*range(len(first)), *range(len(second))]
    maker = RunMaker().log({"loss": [*first, *second]}, steps=steps)
    return maker.config("model", path="config.json", vocab_size=vocabulary).plain()


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ([10.374 - 0.0006 * row for row in range(16)], [6.1, 5.6, 5.2, 4.9, 4.7, 4.6], True),
        ([10.374 - 0.3 * row for row in range(16)], [6.1, 5.6, 5.2, 4.9, 4.7, 4.6], False),  # it learned
        (
            [10.374 - 0.0006 * row for row in range(16)],
            [10.375, 9.9, 9.0, 8.1, 7.4, 7.0],
            False,
        ),  # launched again
        ([10.9 - 0.0006 * row for row in range(16)], [6.1, 5.6, 5.2, 4.9, 4.7, 4.6], False),  # no guess
    ],
)
def test_a_first_stage_that_stood_at_a_guess_is_told_although_the_last_one_learns(first, second, told):
    assert stages(first, second)["signal.stage.at_a_guess"] is told


def test_an_earlier_training_of_a_log_whose_answers_stay_those_of_a_guess_never_started():
    learned = [0.5, 0.61, 0.74, 0.83, 0.9, 0.95]
    maker = RunMaker().log({"accuracy": [*learned, *[0.5] * 24, *learned]}, steps=None)
    for line in (70, 310):
        maker.event("training_begins_again", line=line)

    assert trainings_of(maker.run()).poor == {0: (1,)}
