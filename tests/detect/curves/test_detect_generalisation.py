"""What evaluations show beside training, and what is said of numbers that only look bad."""

from __future__ import annotations

import numpy as np
import pytest
from make_run import NAN, RunMaker, falling, norms

from analyzer.detect import run_detectors
from analyzer.facts.build import build_facts
from analyzer.ingest.discover import load_run

TRAIN = falling(60, 2.0, 0.3)


def evaluated(losses):
    return RunMaker().log({"loss": TRAIN}).log({"eval_loss": losses}, first=15, every=15).plain()


def test_the_evaluation_of_a_best_checkpoint_that_was_loaded_again_says_nothing_of_the_last_step():
    facts = evaluated([1.466796875, 1.48, 1.501953125, 1.466796875])

    assert facts["signal.eval.loss_last"] == 1.501953125
    assert facts["signal.eval.points"] == 3
    assert facts["signal.generalisation.last_step"] == 45


@pytest.mark.parametrize(
    "losses",
    [
        [1.47, 1.48, 1.5, 1.47],  # two prints of three digits are equal by accident
        [1.466796875, 1.48, 1.501953125, 1.46679687],
        [1.466796875, 1.466796875, 1.466796875],  # nothing moved, so nothing was loaded
        [NAN, 1.501953125, 1.466796875],
    ],
)
def test_other_last_evaluations_count(losses):
    assert evaluated(losses)["signal.eval.loss_last"] == losses[-1]


def test_batches_of_one_evaluation_are_one_point():
    batches = [1.9, 1.0, 1.6, 1.4, 1.5, 1.1] * 4
    steps = [step for step in (15, 30, 45, 60) for _ in range(6)]
    whole = RunMaker().log({"loss": TRAIN}).log({"eval_loss": batches}, steps=steps).plain()

    assert whole["signal.eval.points"] == 4
    assert whole["signal.eval.loss_best"] == pytest.approx(1.45)
    # two sets of held-out data, and a loss of every step, are left as they are
    sets = (
        RunMaker()
        .log({"loss": TRAIN})
        .log({"eval_loss": batches[:8]}, steps=[15, 15, 30, 30, 45, 45, 60, 60])
    )
    assert sets.plain()["signal.eval.points"] == 8
    assert evaluated(batches)["signal.eval.points"] == 24
    # nor does a counter that stands still tell evaluations apart
    stands = RunMaker().log({"loss": TRAIN}).log({"eval_loss": batches}, steps=[1] * 24)
    assert stands.plain()["signal.eval.points"] == 24


@pytest.mark.parametrize(("apart", "points"), [(1, 1), (2, 6)])
def test_batches_of_the_one_evaluation_below_a_training_are_one_point(apart, points):
    batches = [1.9, 1.0, 1.6, 1.4, 1.5, 1.1]
    lines = [700 + apart * row for row in range(6)]  # where a line stands between them, each may be an epoch
    run = RunMaker().log({"loss": TRAIN}).log({"eval_loss": batches}, steps=[60] * 6, lines=lines)
    assert run.plain()["signal.eval.points"] == points


def test_a_score_that_runs_over_the_batches_of_an_evaluation_is_its_last_value():
    running = [0.9, 0.72, 0.7, 0.65, 0.8, 0.74, 0.71, 0.68, 0.7, 0.73, 0.72, 0.72]
    steps = [step for step in (15, 30, 45) for _ in range(4)]
    facts = RunMaker().log({"loss": TRAIN}).log({"eval_accuracy": running}, steps=steps).plain()

    assert facts["signal.generalisation.accuracy_points"] == 3
    assert facts["signal.generalisation.accuracy_best"] == 0.72
    assert facts["signal.generalisation.accuracy_lost"] == 0.0


def test_accuracy_that_held_out_data_gained():
    learns = RunMaker().log({"loss": TRAIN, "eval_accuracy": np.linspace(30.0, 90.0, 60)}).plain()
    stands = RunMaker().log({"eval_accuracy": [0.34, 0.36] * 10}).log({"accuracy": [0.84]}, first=20).plain()
    few = RunMaker().log({"eval_accuracy": [0.3] * 5}).plain()

    assert learns["signal.generalisation.accuracy_gained"] == pytest.approx(0.57, abs=0.03)
    assert stands["signal.generalisation.accuracy_gained"] == pytest.approx(0.0, abs=0.02)
    assert stands["signal.generalisation.accuracy_gap"] > 0.3
    assert "signal.generalisation.accuracy_gained" not in few


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([0.963, 0.966, 0.965, 0.969, 0.971, 0.972], True),  # a quarter of the errors is gone
        ([0.963, 0.972, 0.966, 0.958, 0.950, 0.949], None),  # nothing was gained
        (
            [0.50, 0.502, 0.499, 0.503, 0.501, 0.502],
            None,
        ),  # neither a hundredth of the score nor a tenth of the errors
        ([0.60, 0.75, 0.81, 0.80, 0.74, 0.70], False),
        ([0.84, 0.87, 0.88, 0.885], True),  # few, but each better than the one before
        ([0.84, 0.87, 0.868, 0.885], None),  # so few that their order is all that tells
        ([0.84, 0.85], None),
        ([0.880, 0.881, 0.882], None),  # nothing that two evaluations of one model would not differ by
    ],
)
def test_a_score_that_was_high_at_once_is_kept_if_a_tenth_of_its_errors_is_gone(scores, kept):
    assert RunMaker().log({"eval_f1": scores}).plain().get("signal.generalisation.score_kept") is kept


def test_a_loss_that_was_logged_as_perplexities_is_their_logarithm():
    facts = RunMaker().log({"perplexity": np.exp(TRAIN), "eval_perplexity": np.exp(TRAIN) + 1}).plain()
    broken = RunMaker().log({"perplexity": [9.0, 8.0, NAN, NAN, NAN]}).plain()
    both = RunMaker().log({"loss": [1.0] * 9, "perplexity": [99.0] * 9}).plain()
    summed = RunMaker().log({"loss": [9000.0] * 9, "perplexity": [1.0] * 9}).plain()  # nobody computed it

    assert facts["signal.loss.last"] == pytest.approx(TRAIN[-1])
    assert facts["signal.eval.points"] == len(TRAIN)
    assert broken["signal.nonfinite_loss.persists"] is True
    assert both["signal.loss.last"] == 1.0
    assert summed["signal.loss.last"] == 9000.0


def test_a_policy_loss_around_zero_is_no_negative_cross_entropy():
    policy = np.random.default_rng(0).normal(-0.01, 0.03, 60)
    unbounded = np.linspace(0.5, -4.0, 60)

    for losses, negative in ((policy, False), (unbounded, True), (TRAIN, False)):
        facts = RunMaker().log({"loss": losses, "accuracy": [0.5] * 60}).plain()
        assert facts["signal.metric.negative_loss"] is negative


def test_a_single_row_below_zero_does_not_tell_that_a_loss_stays_there():
    for losses, told in (([-8.5], False), ([-5.0, -6.5, -8.5], True)):
        facts = RunMaker().log({"loss": losses, "accuracy": [0.2] * len(losses)}).plain()
        assert facts["signal.metric.negative_loss"] is told


def test_of_a_loss_far_below_zero_one_row_in_four_may_come_back():
    for below, told in ((-100.0, True), (-3.0, False)):
        losses = [below, 2 * below, below, 0.6, below, 0.3, 3 * below, below, below, 2 * below, below]
        facts = RunMaker().log({"loss": losses, "accuracy": [0.85] * 11}).plain()
        assert facts["signal.metric.negative_loss"] is told


def test_no_right_answer_at_a_loss_that_wrong_ones_exceed():
    for losses, right, told in (
        ([0.5, 0.2], [0.0, 0.0], True),
        ([0.5, 0.2], [0.0, 0.1], None),
        ([2.5, 0.9], [0.0, 0.0], None),
    ):
        facts = RunMaker().log({"loss": losses, "accuracy": right}).plain()
        assert facts.get("signal.exact.cheap_but_wrong") is told
    idle = RunMaker().log({"loss": [0.5, 0.2], "ce": [0.0, 0.0], "accuracy": [0.0, 0.0]}).plain()
    assert "signal.exact.cheap_but_wrong" not in idle


def test_a_loss_whose_own_term_falls_below_zero_is_no_negative_cross_entropy():
    unbounded = np.linspace(0.5, -4.0, 60)

    for term, told in (("recon_loss", None), ("ce_loss", True)):
        facts = RunMaker().log({"loss": unbounded, term: unbounded - 0.1, "accuracy": [0.5] * 60}).plain()
        assert facts.get("signal.metric.negative_loss") is told


@pytest.mark.parametrize(
    ("losses", "right", "told"),
    [
        ([-0.1, -0.22, -0.48, -0.7, -0.84, -0.9], [0.11, 0.25, 0.5, 0.71, 0.85, 0.9], True),
        # answers leap ahead of their probability in one evaluation of ten
        (
            [-0.25, -0.26, -0.3, -0.35, -0.4, -0.45, -0.5, -0.55, -0.6, -0.65],
            [0.26, 0.5, 0.36, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7],
            True,
        ),
        ([-0.3, -0.6, -0.8, -0.9, -0.93, -0.95], [0.75, 0.88, 0.93, 0.95, 0.96, 0.96], False),  # an overlap
        ([-0.9, -0.91, -0.92, -0.93, -0.93, -0.93], [0.9, 0.91, 0.92, 0.92, 0.93, 0.93], False),
    ],
)
def test_a_loss_that_is_minus_the_share_of_right_answers_lacks_its_logarithm(losses, right, told):
    for values in (right, [100 * share for share in right]):
        facts = RunMaker().log({"loss": losses, "accuracy": values}).plain()
        assert facts["signal.metric.negative_loss"] is told


def test_few_losses_beyond_every_guess_are_a_divergence_and_a_spike_is_none():
    for losses, diverged in (
        ([11.2, 11.1, 38.0, 37.0], True),
        ([11.2, 38.0, 11.1, 10.9], False),
        ([11.2, 11.1, 10.9, 38.0], None),
        ([2.1, 2.0, 7.0, 7.1], None),
    ):
        assert RunMaker().log({"loss": losses}).plain().get("signal.loss.diverged") is diverged


def test_norms_that_stay_bad_are_told_before_one_bad_loss():
    bad_norms = [NAN] * 12 + norms(9)
    once = RunMaker().log({"loss": [NAN, *falling(20)], "grad_norm": bad_norms}).plain()
    lasting = RunMaker().log({"loss": [NAN] * 12 + falling(9), "grad_norm": bad_norms}).plain()

    assert once["signal.onset.what"] == "the gradient norm is not finite"
    assert lasting["signal.onset.what"] == "the loss is not finite"


def parted(held_out, train, **scores):
    columns = {"loss": train, "eval_loss": held_out, **scores}
    return RunMaker().log(columns).plain().get("signal.generalisation.parted_in_a_row")


def test_held_out_loss_that_rises_in_a_row_while_training_falls():
    train = [0.95, 0.8, 0.68, 0.55, 0.42]

    assert parted([0.91, 0.85, 0.84, 0.86, 0.9], train) is True
    assert parted([0.91, 0.85, 0.84, 0.92, 0.85], train) is False
    assert parted([0.91, 0.85, 0.84, 0.845, 0.85], train) is False
    assert parted([0.91, 0.85, 0.84, 0.86, 0.9], [0.95, 0.8, 0.68, 0.67, 0.66]) is False
    better = [0.5, 0.6, 0.65, 0.68, 0.7]
    assert parted([0.91, 0.85, 0.84, 0.86, 0.9], train, eval_accuracy=better) is False


def test_one_evaluation_that_costs_twenty_times_what_training_does():
    def chasm(held_out):
        run = RunMaker().log({"loss": [0.05, 0.04, 0.045, 0.04]}).log({"eval_loss": [held_out]}, first=4)
        return run.plain()["signal.gap.chasm"]

    assert chasm(4.7) is True
    assert chasm(0.3) is False


def test_a_lone_pair_of_losses_is_apart_where_four_hundred_times_lie_between():
    def chasm(held_out):
        return RunMaker().log({"loss": [0.02]}).log({"eval_loss": [held_out]}).plain()["signal.gap.chasm"]

    assert chasm(130.0) is True
    assert chasm(2.0) is False


def test_the_first_evaluation_is_compared_with_the_training_answers_beside_it():
    learned = np.linspace(0.1, 0.9, 60)  # a row per step: at the first one the model knew nothing yet

    def found(held_out):
        maker = RunMaker().log({"loss": TRAIN, "accuracy": learned})
        return maker.log({"eval_accuracy": held_out}, first=30, every=15).plain()

    assert found([0.5, 0.7, 0.88])["signal.gap.score_first"] == pytest.approx(-0.08, abs=0.05)
    assert found([0.95, 0.96, 0.97])["signal.gap.score_first"] < -0.4  # known before they are learned


def test_rows_without_steps_are_compared_by_their_lines():
    losses = [2.0, 1.6, 1.2, 0.9, 0.7, 0.5, 0.4, 0.3]

    def found(held_out):
        maker = RunMaker().log({"loss": losses}, steps=None, lines=[1, 2, 4, 5, 7, 8, 10, 11])
        return maker.log({"eval_loss": held_out}, steps=None, lines=[3, 6, 9, 12]).plain()

    assert found([1.7, 1.0, 0.6, 0.4])["signal.gap.first_ratio"] == pytest.approx(1.7 / 1.6)
    assert found([3.2, 3.4, 3.9, 4.4])["signal.gap.from_start"] is True


def test_held_out_data_that_cost_a_fifth_of_the_first_loss_at_once_are_prepared_alike():
    fast = [2.0, 0.3, 0.2, 0.1, 0.05]

    def apart(held_out):
        maker = RunMaker().log({"loss": fast})
        return maker.log({"eval_loss": held_out}, first=2).plain()["signal.gap.from_start"]

    assert apart([1.2, 1.3, 1.2, 1.3]) is True
    assert apart([0.38, 0.34, 0.33, 0.35]) is False  # apart as well, and little


def test_a_score_that_is_kept_does_not_excuse_another_that_is_lost():
    shares = [0.93 + 0.004 * n for n in range(10)] + [0.97 + 0.0005 * n for n in range(20)]
    ranks = [0.6, 0.75, 0.85, 0.9, 0.93, 0.95, 0.955, 0.957, 0.953] + [0.93 - 0.001 * n for n in range(21)]
    kept = [0.6, 0.75, 0.85, 0.9, 0.93, 0.95, 0.955, 0.957, 0.953] + [0.95, 0.945, 0.956] * 7
    train = falling(30, 0.4, 0.01)
    lost = RunMaker().log({"loss": train, "val_binary_accuracy": shares, "val_auc": ranks}).plain()
    scatters = RunMaker().log({"loss": train, "val_binary_accuracy": shares, "val_auc": kept}).plain()

    assert (lost["signal.generalisation.score_kept"], lost["signal.score.turned"]) == (False, True)
    assert lost["signal.score.turned_name"] == "val_auc"
    assert (scatters["signal.generalisation.score_kept"], scatters["signal.score.turned"]) == (True, False)


def test_a_training_loss_that_is_a_whole_multiple_of_the_held_out_loss_from_the_start_is_told():
    def multiple(factor, held_out=(2.30, 1.90, 1.41, 0.93, 0.62)):
        maker = RunMaker().log({"loss": [factor * value for value in held_out]})
        return maker.log({"eval_loss": list(held_out)}).plain().get("signal.gap.whole_multiple")

    assert multiple(4.0) == 4
    assert multiple(1.45) is None
    assert multiple(1.0) is None
    assert multiple(1000.0) is None  # a sum over samples

    drifting = [
        2.0 * v * (1 if at < 3 else 0.8) for at, v in enumerate((2.3, 1.9, 1.4, 0.9, 0.8, 0.7, 0.6, 0.55))
    ]
    held_out = [2.3, 1.9, 1.4, 0.9, 0.8, 0.7, 0.6, 0.55]
    assert (
        "signal.gap.whole_multiple"
        not in RunMaker().log({"loss": drifting}).log({"eval_loss": held_out}).plain()
    )


@pytest.mark.parametrize(
    ("losses", "more", "kept"),
    [
        ([0.35, 0.31, 0.36, 0.42], {}, True),
        ([0.35, 0.31, 0.44, 0.62], {}, None),  # twice its best: no longer answers that only are surer
        ([0.35, 0.31, 0.36, 0.42], {"eval_rouge1": [0.5, 0.6, 0.4, 0.3]}, False),  # another score is lost
    ],
)
def test_few_scores_that_each_are_better_are_kept_while_the_loss_rises_by_less_than_half(losses, more, kept):
    scores = {"eval_loss": losses, "eval_f1": [0.84, 0.87, 0.88, 0.885], **more}
    facts = RunMaker().log({"loss": TRAIN}).log(scores, first=15, every=15).plain()

    assert facts.get("signal.generalisation.score_kept") is kept
    assert facts["signal.generalisation.parted_in_a_row"] is (kept is not True)


def test_the_last_training_answers_are_those_of_an_epoch_and_not_of_a_batch():
    answers = [0.5 + 0.004 * n for n in range(100)]
    answers[-2:] = [0.5, 0.55]  # two batches that went badly
    maker = RunMaker().log({"loss": [2 - 0.015 * n for n in range(100)]}).log({"accuracy": answers})
    maker.log({"eval_accuracy": [0.5, 0.6, 0.7, 0.75, 0.78]}, steps=[20, 40, 60, 80, 100])
    assert maker.plain()["signal.gap.score_last"] == pytest.approx(0.08, abs=0.02)


def test_many_right_answers_are_told_from_a_guess_whatever_the_loss_says():
    unsure = np.linspace(2.3, 2.02, 60)
    right, guess = np.linspace(0.1, 0.62, 60), np.linspace(0.1, 0.3, 60)
    rows = {"loss": unsure, "eval_loss": unsure}
    facts = RunMaker().log(rows | {"eval_accuracy": right}).plain()

    assert facts["signal.gap.right"] == pytest.approx(0.62)
    assert RunMaker().log(rows).plain()["signal.gap.right"] == 0.0
    assert facts["signal.chance.many_right"] is True
    assert RunMaker().log(rows | {"eval_accuracy": guess}).plain()["signal.chance.many_right"] is False


def test_a_loss_of_whole_sequences_is_compared_with_no_guess_among_letters(tmp_path):
    def facts(*losses, metric):
        rows = "".join(
            f"{{'loss': {loss}, 'epoch': {n}}}\n{{'eval_loss': {loss}, '{metric}': {0.9 - n / 20}, 'epoch': {n}}}\n"
            for n, loss in enumerate(losses, 1)
        )
        (tmp_path / "train.log").write_text(rows)
        (tmp_path / "config.json").write_text('{"vocab_size": 38}')
        return build_facts(run_detectors(load_run(tmp_path).run)).plain

    summed = facts(1400.0, 1320.0, 1210.0, 1120.0, 1080.0, 1050.0, metric="eval_wer")
    assert "signal.chance.loss_over_uniform" not in summed
    guessed = facts(3.8, 3.7, 3.64, 3.63, 3.64, 3.63, metric="eval_wer")
    assert guessed["signal.chance.loss_over_uniform"] > 0.9


def test_trainings_of_two_losses_in_one_log_are_no_sum(tmp_path):
    first = "".join(f"Epoch {n}: Train MSE Loss: {0.9 / n:.3f}\n" for n in range(1, 6))
    second = "".join(f"Epoch {n}: Train MAE Loss: {0.5 / n:.3f}\n" for n in range(1, 9))
    together = "".join(
        f"Epoch {n}: Train MSE Loss: {0.9 / n:.3f}, Train MAE Loss: {0.5 / n:.3f}\n" for n in range(1, 9)
    )

    def course(text):
        (tmp_path / "train.log").write_text(text)
        facts = build_facts(run_detectors(load_run(tmp_path).run)).plain
        return facts["signal.loss.points"], facts["signal.loss.first"]

    assert course(first + second) == (8, pytest.approx(0.5))
    assert course(together) == (8, pytest.approx(1.4))


def noisy(level, count=600):
    return level * (1 + 0.1 * np.random.default_rng(5).standard_normal(count))


@pytest.mark.parametrize(
    ("level", "parts"),
    [
        (np.ones(600), False),  # the best of so many draws lies far below a level that never moved
        (1.0 - 0.3 * np.linspace(0, 1, 600), False),
        (np.concatenate([np.linspace(1.0, 0.6, 150), np.linspace(0.6, 1.4, 450)]), True),
    ],
)
def test_the_best_of_many_noisy_evaluations_is_no_turn(level, parts):
    facts = RunMaker().log({"loss": falling(600, 2.0, 0.3)}).log({"eval_loss": noisy(level)}).plain()

    assert facts["signal.eval.rises_while_train_falls"] is parts
    assert facts["signal.generalisation.within_noise"] is not parts


def test_what_was_learned_since_the_last_evaluation_is_held_against_none():
    learned = [2.0] * 10 + [1.9, 1.6, 1.2, 0.9, 0.7, 0.5] * 5
    early = RunMaker().log({"loss": learned}).log({"eval_loss": [2.0, 2.0]}, steps=[1, 9])
    late = RunMaker().log({"loss": learned}).log({"eval_loss": [2.0, 2.0]}, steps=[1, 39])

    assert early.plain()["signal.gap.never_generalised"] is False
    assert late.plain()["signal.gap.never_generalised"] is True


@pytest.mark.parametrize(
    ("held_out", "level", "swing", "gained"),
    [
        ([0.9, 0.6, 0.5, 0.4, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6], 1.5, 0.0, 0.0),
        ([0.9, 0.8, 0.7, 0.4, 0.6, 0.4, 0.6, 0.4, 0.6, 0.4, 0.6, 0.4], 1.25, 0.4, 0.0),
        ([1.2, 1.1, 1.0, 0.8, 0.8, 0.8, 0.6, 0.5, 0.5, 0.4, 0.4, 0.4], 1.0, 0.33, 0.5),
    ],
)
def test_where_held_out_loss_stands_beside_its_best(held_out, level, swing, gained):
    facts = RunMaker().log({"eval_loss": held_out}).plain()

    assert facts["signal.generalisation.level_over_best"] == pytest.approx(level)
    assert facts["signal.generalisation.swing"] == pytest.approx(swing, abs=0.01)
    assert facts["signal.generalisation.gained_late"] == pytest.approx(gained, abs=0.01)


def test_what_a_score_gains_after_the_lowest_held_out_loss_is_told_whatever_single_classes_score():
    rising = {"loss": falling(8), "eval_loss": [0.5, 0.4, 0.42, 0.46, 0.5, 0.55, 0.6, 0.65]}
    overall = [0.5, 0.58, 0.6, 0.62, 0.63, 0.64, 0.66, 0.66]
    lost = [0.3, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    facts = RunMaker().log({**rising, "eval_overall_f1": overall, "eval_T3_f1": lost}).plain()

    assert facts["signal.generalisation.score_kept"] is True
    assert facts["signal.generalisation.score_gained_since_best"] == pytest.approx(0.08)
    # without a score of all classes those of each count
    alone = RunMaker().log({**rising, "eval_T2_f1": overall, "eval_T3_f1": lost}).plain()
    assert alone["signal.generalisation.score_kept"] is False


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({"val_f1": [0.9981, 0.9993, 0.9994]}, True),
        ({"val_auc": [0.999, 1.0, 1.0]}, True),
        ({"val_f1": [0.9981, 0.9993, 0.91]}, False),
        ({"val_f1": [0.99, 0.99, 0.99]}, False),  # one answer for all samples
        ({"val_accuracy": [0.988, 0.989, 0.99]}, False),  # a class of most samples
        ({"val_weighted_f1": [0.988, 0.989, 0.99]}, False),
        ({"train_f1": [0.9981, 0.9993, 0.9994]}, False),
    ],
)
def test_a_loss_at_its_floor_is_told_by_a_held_out_score_at_its_ceiling(scores, told):
    facts = RunMaker().log({"loss": [0.0512, 0.0499, 0.0498]}).log(scores).plain()
    assert facts["signal.progress.at_ceiling"] is told


@pytest.mark.parametrize(
    ("before", "after", "told"), [(48.25, 61.5, True), (66.0, 61.5, False), (0.48, 61.5, False)]
)
def test_a_single_test_is_compared_with_that_of_the_model_before(before, after, told):
    run = (
        RunMaker()
        .log({"loss": falling(40), "accuracy": [100.0] * 40})
        .log({"eval_accuracy": [after]}, first=40)
    )
    facts = run.event("zero_shot_score", line=3, role="info", score=before).plain()
    assert facts["signal.generalisation.above_zero_shot"] is told


def test_loss_and_answers_of_exactly_nothing_were_of_no_batch():
    nothing = {"loss": [0.0] * 6, "accuracy": [0.0] * 6}
    assert RunMaker().log(nothing).plain()["signal.exact.nothing_trained"] is True
    assert RunMaker().log({**nothing, "accuracy": [1.0] * 6}).plain()["signal.exact.nothing_trained"] is False
    seen = RunMaker().log({**nothing, "grad_norm": [0.0] * 6}).plain()
    assert seen["signal.exact.nothing_trained"] is False
