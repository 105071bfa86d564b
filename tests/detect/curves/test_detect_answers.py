"""Loss and accuracy of the same rows: floors of bounded outputs, a loss too high for its answers, samples in the order of classes."""

from __future__ import annotations

import math

import pytest
from make_run import RunMaker

import analyzer


def by_epoch(losses, config=None, **more):
    columns = {"loss": losses, "epoch": [float(n + 1) for n in range(len(losses))], **more}
    maker = RunMaker("lightning").log(columns)
    return maker.config(**config).plain() if config else maker.plain()


RIGHT = [0.4, 0.75, 0.9, 0.95, 0.97, 0.98, 0.98, 0.985, 0.985]


def test_answers_that_both_evaluations_around_an_epoch_get_right_are_right_within_it_unless_samples_are_sorted():
    losses, held = [2.47, 2.35, 2.2, 2.1, 1.7], [0.17, 0.25, 0.3, 0.4, 0.6]
    sorted_ = by_epoch(losses, accuracy=[0.004, 0.0, 0.1, 0.2, 0.4], eval_accuracy=held)
    augmented = by_epoch(losses, accuracy=[0.11, 0.13, 0.15, 0.2, 0.4], eval_accuracy=held)
    other_scale = by_epoch(losses, accuracy=[0.002, 0.003, 0.004, 0.005, 0.006], eval_accuracy=held)

    assert sorted_["signal.answers.training_below_guess"] is True
    assert augmented["signal.answers.training_below_guess"] is False
    assert other_scale["signal.answers.training_below_guess"] is False


def slowing(start, end, count=9):
    return [end + (start - end) * 0.5**n for n in range(count)]


@pytest.mark.parametrize("classes", [3, 10])
def test_outputs_between_zero_and_one_end_just_above_their_floor(classes):
    floor = math.log(1 + (classes - 1) / math.e)
    guess = math.log(classes)
    bounded = by_epoch(slowing(guess, 1.08 * floor), config={"num_classes": classes}, accuracy=RIGHT)
    sound = by_epoch(slowing(guess, 0.06), config={"num_classes": classes}, accuracy=RIGHT)

    assert bounded["signal.answers.at_bounded_floor"] is True
    assert bounded["signal.answers.loss_over_sure"] > 2.2
    assert sound["signal.answers.at_bounded_floor"] is False
    assert sound["signal.answers.loss_over_sure"] <= 1.0


def test_answers_that_are_right_before_the_loss_falls_are_the_share_of_one_class():
    losses, held = [2.9, 0.9, 0.2, 0.07, 0.03], [1.3, 0.19, 0.11, 0.1, 0.09]
    one_class = by_epoch(losses, eval_loss=held, eval_accuracy=[0.97, 0.97, 0.975, 0.97, 0.98])
    learned = by_epoch(losses, eval_loss=held, eval_accuracy=[0.62, 0.93, 0.96, 0.97, 0.98])
    sure = by_epoch(
        losses, eval_loss=[0.1, 0.06, 0.04, 0.03, 0.03], eval_accuracy=[0.97, 0.97, 0.975, 0.97, 0.98]
    )
    all_right = by_epoch(losses, eval_loss=held, eval_accuracy=[0.99, 1.0, 1.0, 1.0, 1.0])

    name = "signal.answers.right_before_sure"
    assert [run[name] for run in (one_class, learned, sure, all_right)] == [True, False, False, False]


def test_of_few_rows_the_classes_known_tell_the_floor_of_bounded_outputs():
    held = {"eval_loss": [1.33, 1.2, 1.02, 0.92, 0.83], "eval_accuracy": [0.6, 0.5, 0.84, 0.94, 0.98]}
    known = by_epoch([1.36, 1.1, 1.0, 0.86, 0.84], config={"num_classes": 4}, **held)
    unknown = by_epoch([1.1, 1.0, 0.9, 0.86, 0.84], **held)

    assert known["signal.answers.over_bounded_floor"] == pytest.approx(1.13, abs=0.03)
    assert "signal.answers.at_bounded_floor" not in known
    assert "signal.answers.over_bounded_floor" not in unknown


def test_a_loss_that_is_the_same_many_times_what_its_answers_cost_is_a_sum():
    right = [0.1, 0.3, 0.5, 0.7, 0.8, 0.85, 0.88, 0.9, 0.92]
    mean = [2.3, 1.9, 1.5, 1.0, 0.7, 0.55, 0.45, 0.38, 0.32]

    summed = by_epoch([64 * loss for loss in mean], accuracy=right)
    assert summed["signal.answers.summed"] is True
    assert "signal.answers.first_over_answers" not in summed
    # weights of a poor start cost many times what a guess does, and only at first
    assert by_epoch([298.0, 90.0, 20.0, *mean[3:]], accuracy=right)["signal.answers.summed"] is False
    assert by_epoch(mean, accuracy=right)["signal.answers.summed"] is False
    assert by_epoch([64 * loss for loss in mean], accuracy=[0.1] * 9)["signal.answers.summed"] is False


def test_a_loss_that_has_only_begun_to_fall_is_not_at_a_floor():
    guess = math.log(10)
    falling = by_epoch([guess - 0.09 * n for n in range(9)], config={"num_classes": 10}, accuracy=RIGHT)

    assert falling["signal.progress.unfinished"] is True
    assert falling["signal.answers.at_bounded_floor"] is False


def test_a_floor_is_named_without_classes_only_where_both_losses_stand_at_it():
    floor = math.log(1 + 3 / math.e)
    losses = [1.24, 0.82, 0.75, 0.746, floor, floor, floor]
    both = by_epoch(losses, eval_loss=[0.97, 0.76, 0.746, floor, floor, floor, floor])
    apart = by_epoch(losses, eval_loss=[0.97, 0.86, 0.83, 0.81, 0.80, 0.80, 0.80])

    assert both["signal.answers.exactly_bounded_floor"] is True
    assert apart["signal.answers.exactly_bounded_floor"] is False


def test_training_answers_below_a_guess_beside_held_out_ones_above_it_tell_of_sorted_samples():
    losses, held = [2.5, 3.1, 1.8, 1.7], [0.27, 0.24, 0.31, 0.4]
    sorted_ = by_epoch(
        losses, config={"num_classes": 4}, accuracy=[0.25, 0.01, 0.02, 0.06], eval_accuracy=held
    )
    hard = by_epoch(losses, config={"num_classes": 4}, accuracy=[0.2, 0.22, 0.2, 0.21], eval_accuracy=held)

    batches = (
        RunMaker("lightning").config(num_classes=4).log({"loss": losses * 4, "accuracy": [0.25, 0.0] * 8})
    )
    batches.log({"eval_accuracy": held}, first=4, every=4)

    assert "signal.answers.training_below_guess" not in batches.plain()  # one batch of few samples
    assert sorted_["signal.answers.training_below_guess"] is True
    assert hard["signal.answers.training_below_guess"] is False


def test_the_first_loss_is_measured_by_the_first_answers():
    exploded = by_epoch([97.1, 28.1, 7.0, 4.1], accuracy=[0.28, 0.35, 0.58, 0.67])
    usual = by_epoch([1.3, 0.9, 0.6, 0.5], accuracy=[0.32, 0.6, 0.7, 0.8])

    assert exploded["signal.answers.first_over_answers"] > 50
    assert usual["signal.answers.first_over_answers"] < 1.5


def test_no_guess_tells_the_level_of_a_loss_that_is_the_sum_of_losses_beside_it():
    right, small = [0.43, 0.44, 0.44, 0.45], [0.35, 0.54, 0.28, 0.26]
    parts = {"triplet_loss": [88.0, 87.9, 88.0, 88.0], "id_loss": small}
    total = by_epoch([88.35, 88.44, 88.28, 88.26], accuracy=right, **parts)
    other = by_epoch([64.35, 62.44, 60.28, 59.26], accuracy=right, **parts)
    alone = by_epoch([88.35, 88.44, 88.28, 88.26], accuracy=right, triplet_loss=parts["triplet_loss"])

    assert "signal.answers.first_over_answers" not in total
    assert "signal.chance.out_of_scale" not in total
    for found in (other, alone):
        assert found["signal.answers.first_over_answers"] > 50
        assert found["signal.chance.out_of_scale"] is True


def test_a_weighted_total_is_known_by_the_output_that_it_is_made_of():
    found = by_epoch([151.5, 131.0, 120.6], accuracy=[0.0, 0.1, 0.06], output_loss=[7.6, 5.5, 5.7])
    exploded = by_epoch([151.5, 131.0, 120.6], accuracy=[0.0, 0.1, 0.06], output_loss=[150.0, 130.0, 121.0])

    assert "signal.chance.far_beyond" not in found
    assert exploded["signal.chance.far_beyond"] is True


@pytest.mark.parametrize(
    ("perplexity", "summed"),
    [([1181.0, 879.0, 880.0, 898.0], True), ([1e50, 1e46, 1e45, 1e44], None), ([1.0, 1.0, 1.0, 1.0], None)],
)
def test_a_loss_that_is_many_times_what_its_perplexity_says_is_a_sum(perplexity, summed):
    found = by_epoch([119.9, 108.2, 108.0, 98.0], perplexity=perplexity)

    assert found.get("signal.answers.summed") is summed


@pytest.mark.parametrize(
    ("every", "right", "of_others"), [(5, 0.47, True), (1, 0.47, False), (5, 0.98, False)]
)
def test_answers_that_are_counted_now_and_then_are_those_of_an_evaluation(every, right, of_others):
    maker = RunMaker().log({"loss": [4.0 * 0.9**i for i in range(60)]}, first=1)
    rows = range(every, 61, every)
    answers = [0.3, 0.42, *[right] * (len(rows) - 2)]
    maker.log({"accuracy": answers}, steps=list(rows), lines=[10 * row for row in rows])

    assert maker.plain()["signal.answers.of_evaluations"] is of_others


@pytest.mark.parametrize(("first", "right", "told"), [(40, 0.985, False), (1, 0.985, True), (40, 0.6, True)])
def test_a_loss_far_above_its_answers_in_the_middle_of_a_training_is_a_sum(first, right, told):
    losses = [66.7, 72.1, 72.9, 62.5, 64.6, 61.0, 64.4]
    found = RunMaker().log({"loss": losses, "accuracy": [right] * 7}, first=100 * first, every=100).plain()

    assert found["signal.chance.out_of_scale"] is told


@pytest.mark.parametrize(
    "row",
    [
        "Epoch {0} loss: {1:.4f} acc: {2:.4f}\n",
        "Epoch {0} training loss: {1:.4f}\nEpoch {0} training acc : {2:.4f}\n",
    ],
)
def test_a_loss_that_falls_by_the_share_of_wrong_answers_is_one_of_outputs_below_one(tmp_path, row):
    right = [0.52, 0.75, 0.84, 0.88, 0.92, 0.95, 0.96, 0.97]

    def named(loss):
        (tmp_path / "train.log").write_text(
            "".join(row.format(at, loss(share), share) for at, share in enumerate(right))
        )
        return [finding.cause.id for finding in analyzer.diagnose(tmp_path / "train.log").findings[:1]]

    assert named(lambda share: 6.91 - share + 0.02 * (1 - share)) == ["loss-head-mismatch"]
    assert named(lambda share: 0.05 + 3.0 * (1 - share)) != ["loss-head-mismatch"]


@pytest.mark.parametrize(("beside", "told"), [("mean_squared_error", False), ("top5", True)])
def test_an_error_of_numbers_is_compared_with_no_guess(beside, told):
    facts = (
        RunMaker()
        .log({"loss": [4.6e5] * 8, "acc": [0.2] * 8, beside: [4.6e5 if not told else 0.5] * 8})
        .plain()
    )

    assert ("signal.answers.first_over_answers" in facts) is told
