"""What repeats its digits, losses that are sums of more and more, and numbers out of all proportion."""

from __future__ import annotations

import pytest
from courses_by_row import by_epoch
from log_reading import points, read_text
from make_run import RunMaker

from analyzer.detect import run_detectors
from analyzer.detect.curves.numerics.exact import PART_ROWS
from analyzer.facts.build import build_facts

LOSSES = [13.5, 11.5, 11.25, 11.375, 11.3125, 11.5, 11.25]


def test_a_part_of_the_loss_that_repeats_six_digits_is_told():
    still = by_epoch(LOSSES, heat_loss=[10.5, 9.21034, *[9.208497] * PART_ROWS])
    running_mean = by_epoch(LOSSES, off_loss=[0.25, 0.2, *[0.1891] * PART_ROWS])
    setting = by_epoch(LOSSES, loss_scale=[131072.5] * len(LOSSES), best_loss=[11.208497] * len(LOSSES))

    assert still["signal.exact.part_still"] is True
    assert still["signal.exact.part_still_name"] == "heat_loss"
    assert "signal.exact.part_still" not in running_mean | setting


def test_a_loss_that_is_added_up_does_not_run_away_while_a_score_rises_to_its_best():
    sums, scores = (
        [41.0, 5192.0, 4601.0, 5215.0, 6169.0, 7031.0, 8976.0],
        [0.04, 0.56, 0.59, 0.64, 0.65, 0.68, 0.7],
    )

    assert by_epoch(sums, eval_f1=scores)["signal.loss.diverged"] is False
    assert by_epoch(sums, eval_f1=[*scores[:3], 0.3, 0.1, 0.0, 0.0])["signal.loss.diverged"] is True
    assert by_epoch(sums)["signal.loss.diverged"] is True


def test_held_out_answers_that_repeat_their_digits_did_not_fall_back_further():
    losses, right = [1.12, 1.08, 1.06, 1.05, 1.04, 1.03], [0.51, 0.52, 0.54, 0.55, 0.56, 0.57]
    one = by_epoch(losses, accuracy=right, eval_accuracy=[0.571, *[0.357] * 5])
    further = by_epoch(losses, accuracy=right, eval_accuracy=[0.571, 0.41, 0.38, 0.37, 0.36, 0.35])

    assert one["signal.gap.score_fell_back"] is False
    assert further["signal.gap.score_fell_back"] is True


def test_a_loss_that_rounds_to_zero_beside_an_error_that_falls_is_not_lost():
    zeros = [0.0] * 4

    assert by_epoch(zeros, mae_f=[20.0, 4.4, 2.9, 2.0])["signal.exact.loss_zero"] is False
    assert by_epoch(zeros, mae_f=[20.0, 19.8, 20.1, 19.9])["signal.exact.loss_zero"] is True


def test_a_training_score_that_nobody_computed_is_not_zero():
    scores = {"auc": [0.77, 0.92, 0.93, 0.94], "train_auc": [0.0] * 4}

    assert by_epoch([4.0, 3.0, 2.0, 1.0], **scores)["signal.score.zero"] is False
    assert by_epoch([4.0, 3.0, 2.0, 1.0], **scores | {"auc": [0.0] * 4})["signal.score.zero"] is True
    assert by_epoch([4.0, 3.0, 2.0, 1.0], **scores, val_auc=[0.0] * 4)["signal.score.zero"] is True


@pytest.mark.parametrize(("first", "late"), [(15, True), (3, True), (2, False), (1, False)])
def test_rounds_that_are_evaluated_each_begin_late_behind_two_that_are_missing(first, late):
    columns = {"loss": [0.005, 0.004, 0.003, 0.0025, 0.002], "eval_loss": [0.51, 0.54, 0.56, 0.59, 0.61]}

    assert RunMaker().log(columns, first=first).plain()["signal.progress.begins_late"] is late
    assert ("signal.gap.stands_open" in RunMaker().log(columns, first=first).plain()) is late


NORMS = [3.938, 3.938, 3.939, 3.939, 3.939]


@pytest.mark.parametrize(
    ("first", "norms", "still"),
    [
        (16295, NORMS, None),
        (100, NORMS, True),  # means over so few steps move
        (
            16295,
            [3.9, 4.4, 3.1, 3.6, 4.0],
            True,
        ),  # gradients of single batches, and a loss that does not follow them
        (16295, [3.938] * 5, True),
        (16295, [0.0] * 5, True),
    ],
)
def test_means_over_all_steps_so_far_do_not_stand_still(first, norms, still):
    columns = {"loss": [0.8693] * 5, "grad_norm": norms}
    facts = RunMaker().log(columns, first=first).plain()

    assert facts.get("signal.loss.constant") is still
    assert facts["signal.exact.loss_frozen"] is bool(still)


QUIET = [-5.5 + 0.1 * (i % 3) for i in range(19)]


@pytest.mark.parametrize(
    ("behind", "expected"),
    [([-2.5, -1.5] + [-1.25, -1.5] * 6, True), (QUIET[:14], False), ([-2.5, *QUIET[:13]], False)],
)
def test_one_row_that_leaves_the_loss_higher(behind, expected):
    maker = RunMaker().log({"loss": [*QUIET, 40000.0, *behind]})

    assert maker.plain()["signal.spike.left_higher"] is expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([900.0, 950.0, 800.0, 4e4, 700.0, 850.0, 3e6, 2e4, 900.0, 820.0, 940.0, 870.0], True),
        ([-2.0, 60.0, -2.2, 900.0, -2.1, 30.0, -2.0, 800.0, -1.9, 25.0, 5.0, -2.0], True),
        ([900.0, 950.0, 800.0, 4e4, 700.0, 850.0, 800.0, 720.0, 900.0, 820.0, 940.0, 870.0], False),  # once
        (
            [-7.01, -6.99, -7.0, -6.2, -7.02, -6.98, -7.0, -6.3, -7.01, -7.0, -6.99, -7.0],
            False,
        ),  # a likelihood
        ([0.01, -0.02, 0.0, 0.9, 0.02, -0.01, 0.01, 1.1, 0.0, 0.02, -0.01, 0.01], False),  # around zero
        (
            [0.002, 0.001, 0.003, 0.08, 0.002, 0.001, 0.002, 0.07, 0.001, 0.002, 0.003, 0.002],
            False,
        ),  # hard ones
        ([0.002, 0.001, 0.003, 6.5, 0.002, 0.001, 0.002, 4.0, 0.001, 0.002, 0.003, 0.002], True),
        ([900.0, 5e4, 300.0, 4e4, 100.0, 60.0, 30.0, 20.0, 10.0, 6.0, 5.0, 4.0], False),  # it falls beneath
    ],
)
def test_a_loss_that_leaps_to_and_fro_is_told_from_a_spike(losses, expected):
    assert RunMaker().log({"loss": losses}).plain()["signal.spike.to_and_fro"] is expected


@pytest.mark.parametrize(
    ("loss", "overlap", "expected"),
    [
        ([2.0, -20.0, -90.0], [0.75, 2.5, 7.0], True),
        ([2.0, -20.0, -90.0], [0.25, 0.5, 0.75], False),
        ([2.0, 0.5, -0.9], [0.75, 2.5, 7.0], None),
        ([2.0, -20.0, -90.0], [20.5, 45.0, 75.0], False),  # percentages
    ],
)
def test_an_overlap_beyond_all_there_is(loss, overlap, expected):
    facts = RunMaker().log({"loss": loss, "val_iou": overlap}).plain()

    assert facts.get("signal.metric.overlap_beyond_one") is expected


def test_numbers_beside_a_counter_that_leap_once_are_a_loss_though_they_end_higher():
    values = [*QUIET, 40000.0, *([-1.5] * 12)]
    run = read_text("".join(f"{at}: {value}\n" for at, value in enumerate(values, 500)))

    assert [value for _, value in points(run, "unnamed")] == values


@pytest.mark.parametrize(
    ("one", "five", "is_reversed"),
    [(1.2, 0.09, False), (1.2, 9.0, False), (0.9, 0.6, True), (90.0, 60.0, True)],
)
def test_of_ranks_one_may_be_a_percentage_and_the_other_a_share(one, five, is_reversed):
    facts = RunMaker().log({"val_top1": [one], "val_top5": [five]}).plain()

    assert facts["signal.metric.ranks_reversed"] is is_reversed


@pytest.mark.parametrize(
    ("rows", "is_broken"),
    [
        ("epoch: {at} loss: nan pixel_AUROC: 0.97", False),
        ("epoch: {at} loss: nan pixel_AUROC: 0.5", True),
        ("epoch: {at} loss: nan val_acc: 0.97", True),  # nine in ten may be of one class
    ],
)
def test_weights_that_are_not_numbers_rank_nothing(rows, is_broken):
    facts = build_facts(
        run_detectors(read_text("".join(f"{rows.format(at=at)}\n" for at in (1, 2, 3))))
    ).plain

    assert facts.get("signal.nonfinite_loss.persists", False) is is_broken
    assert facts.get("signal.metric.nan_by_design", False) is not is_broken
    assert facts.get("signal.exact.nonfinite_training", False) is is_broken


@pytest.mark.parametrize(
    ("hits", "name", "rank", "expected"),
    [
        (0.0, "val_hits@10", 0.9, True),
        (0.35, "val_hits@1", 0.71, True),
        (0.45, "val_hits@1", 0.71, False),  # all others come second
        (45.0, "val_hits@1", 0.71, False),
        (0.0, "val_hits@1", 0.31, False),
        (0.0, "test_hits@1", 0.9, None),  # of other questions
    ],
)
def test_so_few_hits_bound_the_mean_reciprocal_rank(hits, name, rank, expected):
    facts = RunMaker().log({name: [hits] * 3, "val_mrr": [rank] * 3}).plain()

    assert facts.get("signal.metric.hits_too_few") is expected


@pytest.mark.parametrize(("name", "is_told"), [("Obj", False), ("log_likelihood", False), ("loss", True)])
def test_a_log_likelihood_is_below_zero_by_design(name, is_told):
    values = [-291.0, -262.5, -280.0, -255.5, -270.0]
    text = "".join(f"Step {at} {name} = {value} acc = 2.5%\n" for at, value in enumerate(values, 1))
    facts = build_facts(run_detectors(read_text(text))).plain

    assert facts.get("signal.metric.negative_loss", False) is is_told


def test_an_overlap_that_runs_on_from_batch_to_batch_is_no_gain_on_held_out_data():
    losses, held_out = [0.9 * 0.95**n for n in range(40)], [0.5 + 0.02 * (n % 3) for n in range(40)]
    runs_on, scatters = (
        [0.5 + 0.003 * n for n in range(40)],
        [0.5 + 0.003 * n - 0.01 * (n % 4 == 2) for n in range(40)],
    )

    assert by_epoch(losses, eval_loss=held_out, val_mean_iou=runs_on)["signal.gap.score_gained"] is False
    assert by_epoch(losses, eval_loss=held_out, val_mean_iou=scatters)["signal.gap.score_gained"] is True


@pytest.mark.parametrize(("right", "told"), [([1.0], True), ([98.5, 100.0], True), ([0.5], False)])
def test_a_loss_of_zero_beside_held_out_answers_that_are_all_right_is_told(right, told):
    zeros = [0.0031, *[0.0] * 9]
    found = by_epoch(zeros, eval_accuracy=[*[float("nan")] * (10 - len(right)), *right])

    assert found["signal.exact.zero_and_right"] is told
