"""What few rows show without doubt: epochs that agree in all digits, absurd sizes, losses that part."""

from __future__ import annotations

import pytest
from make_run import INF, NAN, RunMaker, falling

import analyzer
from analyzer.detect.curve import all_series


def epochs(maker: RunMaker, **columns):
    return maker.log(columns, every=100, first=100).plain()


@pytest.mark.parametrize(
    ("framework", "losses", "accuracies", "frozen"),
    [
        ("keras", [5.7178, 5.7257, 5.7257, 5.7257], [0.6446, 0.6448, 0.6448, 0.6448], True),
        ("keras", [5.7257] * 4, [0.6446, 0.6447, 0.6448, 0.6449], False),  # the loss is printed too coarsely
        ("keras", [0.5, 0.5, 0.5, 0.5], [0.75] * 4, False),  # of one digit, equality says little
        ("keras", [0.0125] * 4, [0.9968] * 4, False),  # nothing is left to learn
        ("trl", [5.7257] * 4, [0.6448] * 4, None),  # ranks, or bars of one epoch
    ],
)
def test_epochs_that_agree_in_all_digits(framework, losses, accuracies, frozen):
    facts = epochs(RunMaker(framework), loss=losses, accuracy=accuracies)

    assert facts.get("signal.stall.frozen") is frozen


def test_one_answer_needs_rows_that_differ():
    still = [0.5] * 6
    moving = epochs(RunMaker(), loss=[1.3, 0.7, 1.1, 1.4, 0.9, 1.2], accuracy=still, eval_accuracy=still)
    copies = epochs(RunMaker(), loss=[1.3] * 6, accuracy=still, eval_accuracy=still)

    assert moving["signal.stall.one_answer"] is True
    assert "signal.stall.one_answer" not in copies


@pytest.mark.parametrize(
    ("held_out", "train", "told"),
    [
        (0.1, [0.097, 0.1, 0.101, 0.099, 0.1], True),
        (0.1, [0.12, 0.2, 0.3, 0.4, 0.4], False),  # training is learned
        (0.83, [0.825, 0.83, 0.831, 0.83, 0.83], False),  # the largest class, not a guess
    ],
)
def test_training_accuracy_scatters_about_a_guess_among_equal_classes(held_out, train, told):
    facts = epochs(RunMaker(), loss=[60.0, 5.0, 3.8, 3.9, 3.7], accuracy=train, eval_accuracy=[held_out] * 5)

    assert bool(facts.get("signal.stall.one_answer")) is told


@pytest.mark.parametrize("name", ["loss", "perplexity"])
def test_a_size_that_nothing_sound_reaches_is_a_divergence_from_the_first_row_on(name):
    huge = RunMaker().log({name: [2e31, 1e31]}).plain()
    large = RunMaker().log({name: [4e10, 3.9e10, 3.8e10]}).plain()  # squared errors of prices

    assert huge["signal.loss.diverged"] is True
    assert large["signal.loss.astronomical"] is False
    assert large["signal.loss.diverged"] is False


@pytest.mark.parametrize(
    ("held_out", "part"), [([0.75, 0.8, 1.2, 1.4, 1.5], True), ([0.75, 0.7, 0.66, 0.65, 0.65], False)]
)
def test_losses_part_without_steps(held_out, part):
    maker = RunMaker().log({"loss": [0.54, 0.46, 0.31, 0.25, 0.21], "eval_loss": held_out}, steps=None)

    assert maker.plain()["signal.eval.rises_while_train_falls"] is part


def test_an_accuracy_of_zero_contradicts_a_small_perplexity():
    sure = RunMaker().log({"accuracy": [0.0] * 6, "perplexity": [3.9, 3.8, 3.7, 3.6, 3.5, 3.5]}).plain()
    lost = RunMaker().log({"accuracy": [0.0] * 6, "perplexity": [5000.0] * 6}).plain()

    assert sure["signal.metric.contradicts_perplexity"] is True
    assert lost["signal.metric.contradicts_perplexity"] is False


def test_a_detector_that_finds_nothing_after_ten_epochs():
    scores = {"val/map50": [0.0, 2e-6], "box_loss": [0.5, 0.4]}
    late = RunMaker("ultralytics").log({**scores, "epoch": [12.0, 13.0]}).plain()
    early = RunMaker("ultralytics").log({**scores, "epoch": [0.0, 1.0]}).plain()

    assert late["signal.data.nothing_found"] is True
    assert "signal.data.nothing_found" not in early


@pytest.mark.parametrize(
    ("second", "lines", "points"),
    [
        ([0.5, 0.75, float("nan")], [1, 2, 3, 4, 5, 6], 3),
        ([0.51, 0.75, float("nan")], [1, 2, 3, 4, 5, 6], 4),
        ([0.5, 0.75, float("nan")], [1, 3, 5, 7, 9, 11], 6),
    ],
    ids=["two loggers", "another value", "lines between"],
)
def test_a_row_that_two_loggers_print_counts_once(second, lines, points):
    doubled = [value for pair in zip([0.5, 0.75, float("nan")], second, strict=True) for value in pair]
    maker = RunMaker().log({"loss": doubled}, steps=[10, 10, 20, 20, 30, 30], lines=lines)

    (series,) = all_series(maker.run(), "loss")
    assert len(series) == points


@pytest.mark.parametrize(
    ("none", "some", "told"),
    [(4, 0, True), (3, 0, None), (8, 1, False)],
)
def test_batches_of_a_detector_that_hold_no_object(none, some, told):
    maker = RunMaker("darknet").log({"loss": [125.5, 120.5]})
    for line in range(none):
        maker.event("labelled_objects_none", line=2 + line, role="info")
    for line in range(some):
        maker.event("labelled_objects", line=20 + line, role="info")

    assert maker.plain().get("signal.data.nothing_labelled") is told


def test_a_part_that_is_zero_counts_without_a_total_and_after_five_epochs():
    parts = {"iou_loss": [0.0] * 5, "dfl_loss": [0.0] * 5, "cls_loss": falling(5, 0.5, 0.4)}

    assert RunMaker("ultralytics").log(parts).plain()["signal.data.zero_part"] == "iou_loss"
    assert "signal.data.zero_part" not in RunMaker("detectron2").log(parts).plain()


def test_a_rows_number_is_no_step():
    facts = RunMaker().log({"loss": [1.1, 1.2, 1.0, float("nan")]}, steps=None).plain()

    assert "signal.onset.late" not in facts


def test_three_batches_from_the_middle_of_a_training_are_no_explosion():
    def broke(losses, first):
        return (
            RunMaker("lightning")
            .log({"loss": losses}, first=first, every=50)
            .plain()
            .get("signal.progress.broke")
        )

    assert broke([0.29, 0.81, 1.79], 2351) is None
    assert broke([0.29, 0.81, 1.79], 0) is True
    assert broke([0.29, 9.0, 41.0], 2351) is True


def test_a_perplexity_replaces_no_loss_that_broke():
    capped = [11111111.0] * 4
    broken = RunMaker().log({"loss": [float("nan")] * 4, "perplexity": capped}).plain()
    summed = RunMaker().log({"loss": [740.0, 610.0, 590.0, 570.0], "perplexity": [90.0, 60.0, 50.0, 45.0]})

    assert broken["signal.nonfinite_loss.seen"] is True
    assert summed.plain()["signal.loss.first"] < 5


@pytest.mark.parametrize("names", [("dloss", "g_loss"), ("DLoss", "GLoss"), ("disc_loss", "genloss")])
@pytest.mark.parametrize(
    ("judge", "maker", "stands"),
    [
        ([1e-4, 6e-5, 4e-5, 3e-5, 2e-5], [16.118095] * 5, True),
        ([1e-4, 6e-5, 4e-5, 3e-5, 2e-5], [15.2, 16.0, 14.8, 15.9, 16.1], None),
        ([0.7, 0.69, 0.7, 0.68, 0.69], [0.0] * 5, None),  # it has not lost
    ],
)
def test_a_beaten_generator_whose_loss_stands(names, judge, maker, stands):
    facts = RunMaker().log(dict(zip(names, (judge, maker), strict=True))).plain()

    assert facts.get("signal.gan.maker_stands") is stands
    assert "signal.stall.at_float_limit" not in facts  # that of the generator is no loss of the run


@pytest.mark.parametrize(
    ("columns", "nothing"),
    [
        ({"eval_loss": [0.0], "val_mlm_accuracy": [0.0]}, True),
        ({"eval_loss": [0.0, 0.0], "val_mcc": [0.0, 0.0]}, True),
        ({"eval_loss": [0.0], "val_wer": [0.0]}, None),  # no errors and no loss agree
        ({"eval_loss": [0.0, 0.3], "val_f1": [0.0, 0.0]}, None),
        ({"eval_loss": [0.7], "val_f1": [0.0]}, None),
    ],
)
def test_evaluations_that_are_free_and_all_wrong_measured_nothing(columns, nothing):
    facts = RunMaker().log({"loss": [2.0, 1.5, 1.2], **columns}).plain()

    assert facts.get("signal.exact.evaluation_zero") is nothing


@pytest.mark.parametrize(("messages", "rows", "told"), [(2, 20, False), (2, 4, True), (9, 20, True)])
def test_a_few_batches_that_a_guard_left_out(messages, rows, told):
    maker = RunMaker().log({"loss": falling(rows)})
    for _ in range(messages):
        maker.event("nonfinite_loss_message", line=5, text="WARNING: received an inf loss")

    assert maker.plain().get("signal.nonfinite_loss.seen") is told


def test_a_reward_for_small_accelerations_is_no_accuracy():
    maker = RunMaker("rsl_rl").log(
        {"episode_reward/joint_acc_l2": [-0.01] * 4, "reward_mean": [1.0, 2.0, 3.0, 4.0]}
    )

    assert not maker.plain()["signal.metric.impossible"]


@pytest.mark.parametrize(
    ("accuracy", "recall", "told"), [(0.64, 0.0, True), (0.64, 0.02, None), (0.33, 0.0, None)]
)
def test_one_evaluation_in_which_no_sample_is_given_the_rare_class(accuracy, recall, told):
    columns = {"val/accuracy": [accuracy], "val/precision": [recall], "val/recall": [recall]}

    assert RunMaker().log(columns).plain().get("signal.score.rare_never_found") is told


def test_a_perplexity_below_one_beside_a_loss_below_zero_is_its_exponential():
    losses = [-8310.0, -24900.0, -41600.0, -58200.0]
    below = RunMaker().log({"loss": losses, "eval_perplexity": [0.0] * 4}).plain()
    above = RunMaker().log({"loss": [3.0, 2.5, 2.0, 1.8], "eval_perplexity": [0.0] * 4}).plain()

    assert below["signal.metric.impossible"] is False
    assert above["signal.metric.impossible"] is True


@pytest.mark.parametrize(
    ("losses", "first", "diverged"),
    [
        ([86.0, 66.0, 60.0, 57.0, 55.0, 56.0, 55.0, 57.0], INF, False),  # of a sum over tokens
        ([86.0, 66.0, 60.0, 57.0, 55.0, 90.0, 95.0, 99.0], INF, True),
        ([8.6, 6.6, 6.0, 5.7, 5.5, 5.6, 5.5, 5.7], 5400.0, True),  # it became so
    ],
)
def test_a_perplexity_that_is_infinite_from_the_first_row_on(losses, first, diverged):
    found = RunMaker().log({"loss": losses, "perplexity": [first, *[INF] * 7]}).plain()

    assert found["signal.loss.diverged"] is diverged


@pytest.mark.parametrize(("follows", "told"), [(True, False), (False, True)])
def test_an_accuracy_below_zero_that_is_one_line_with_its_loss_explains_variance(follows, told):
    losses = [0.0034, 0.0027, 0.0019, 0.0014, 0.0011, 0.0008]
    scores = [1.0 - 780.0 * (loss if follows else losses[row % 2]) for row, loss in enumerate(losses)]
    found = RunMaker().log({"loss": losses}).log({"eval_loss": losses, "eval_accuracy": scores}).plain()

    assert found["signal.metric.impossible"] is told


@pytest.mark.parametrize(("name", "told"), [("ppl", True), ("neg_log_perplexity", None)])
def test_the_logarithm_of_a_perplexity_may_be_below_zero(name, told):
    assert RunMaker().log({name: [-2.5, -2.1, -1.9]}).plain().get("signal.metric.impossible") is told


@pytest.mark.parametrize(
    ("columns", "fact", "told"),
    [
        ({"loss": [6.65], "grad_norm": [0.0]}, "signal.exact.gradient_zero", True),
        ({"loss": [6.65], "grad_norm": [0.0]}, "signal.grad_norm.zero_with_loss", None),
        ({"loss": [6.65], "grad_norm": [0.5]}, "signal.exact.gradient_zero", False),
        ({"reward": [1.5], "entropy": [6e-5]}, "signal.policy.entropy_none", True),
        ({"value_loss": [278.5], "entropy": [6e-5]}, "signal.policy.entropy_none", True),
        ({"loss": [1.5], "entropy": [6e-5]}, "signal.policy.entropy_none", None),
        ({"reward": [1.5], "entropy": [0.5]}, "signal.policy.entropy_none", False),
        ({"reward": [1.5], "approx_kl": [33.0], "clip_fraction": [0.9]}, "signal.policy.beyond_trust", True),
        ({"reward": [1.5], "approx_kl": [0.3], "clip_fraction": [0.9]}, "signal.policy.beyond_trust", False),
        ({"reward": [1.5], "approx_kl": [33.0]}, "signal.policy.kl_far", True),
        ({"reward": [1.5], "kl": [266240.0]}, "signal.policy.kl_far", True),
        ({"reward": [1.5], "kl": [45.0]}, "signal.policy.kl_far", None),
    ],
)
def test_one_row_tells_what_no_sound_run_prints(columns, fact, told):
    assert RunMaker().log(columns).plain().get(fact) is told


@pytest.mark.parametrize(
    ("steps", "told"), [([0] * 9 + [30], True), ([12, 30, 0, 45, 80, 7], False), ([0] * 4, None)]
)
def test_updates_that_a_limit_of_the_divergence_ends_at_their_first_step(steps, told):
    maker = RunMaker()
    for line, at in enumerate(steps, 10):
        maker.event("update_cut_short", line=line, at=at)

    assert maker.plain().get("signal.policy.cut_at_once") is told


@pytest.mark.parametrize(("name", "told"), [("td_loss", True), ("critic_loss", None), ("loss", None)])
def test_errors_of_an_agents_values_grow_though_no_reward_is_printed(name, told):
    grown = RunMaker().log({name: [5.0 * 4**i for i in range(10)]}).plain()

    assert grown.get("signal.policy.value_runs_away") is told


@pytest.mark.parametrize(
    ("losses", "grown"),
    [([2.4, 2.6, 1.1, 2.3, 1.5, 2.6], False), ([2.4, 2.2, 1.9, 1.5, 2.3, 4.0], True)],
)
def test_losses_of_single_samples_that_scatter_before_the_break(losses, grown):
    facts = RunMaker().log({"loss": [*losses, *[float("nan")] * 4]}).plain()

    assert ("signal.loss.growth_before_onset" in facts) is grown


def test_what_hardly_falls_from_weights_that_were_trained_before_is_no_standing_still():
    slow = {"loss": [2.29 - 0.005 * n for n in range(30)], "epoch": [float(n) for n in range(30)]}
    maker = RunMaker().log(slow)

    assert maker.plain()["signal.progress.hardly"] is True
    maker.event("pretrained_loaded", line=1, role="info")
    assert maker.plain()["signal.progress.hardly"] is False


def card(losses):
    """The table of a model card: evaluations that become better, beside the training loss that was logged last."""
    rows = [
        f"| {loss} | {i}.0 | {i * 150} | {3.2 - 0.2 * i:.4f} | {20 + i} |" for i, loss in enumerate(losses, 1)
    ]
    return "\n".join(
        [
            "| Training Loss | Epoch | Step | Validation Loss | Rouge1 |",
            "|:---:|:---:|:---:|:---:|:---:|",
            *rows,
        ]
    )


def test_a_training_loss_that_a_table_repeats_until_the_next_was_logged_does_not_stand_still(tmp_path):
    (tmp_path / "README.md").write_text(card(["No log", "No log", "3.4125", "3.4125", "3.4125", "3.4125"]))
    found = analyzer.diagnose(tmp_path)

    assert found.status == "healthy"
    assert "6 loss points" in found.summary


def test_a_training_loss_of_nothing_but_zeros_is_no_copy(tmp_path):
    (tmp_path / "README.md").write_text(card(["0.0"] * 6))

    assert "every loss is below a millionth" in analyzer.diagnose(tmp_path).summary


@pytest.mark.parametrize(
    ("values", "lost"),
    [
        ([0.0, NAN, INF, -INF, 0.97, 0.99, NAN, INF, -INF, 0.14], True),
        ([0.0, NAN, 0.98, INF, 0.97, 0.99, 0.5, 0.4, 0.3, 0.14], False),  # in a few rows
        ([0.0, NAN, NAN, NAN, 0.97, NAN, NAN, NAN, NAN, 0.14], False),  # computed now and then
    ],
)
def test_a_quantity_of_any_name_of_which_more_is_infinite_than_told(values, lost):
    assert epochs(RunMaker(), **{"probe/ratio": values})["signal.exact.nonfinite_training"] is lost


@pytest.mark.parametrize(("warned_at", "of_nothing"), [(35, True), (None, None), (5, None)])
def test_a_mean_reward_of_no_episode_tells_nothing_of_the_weights(warned_at, of_nothing):
    maker = RunMaker()
    if warned_at is not None:
        maker.event("mean_of_nothing", line=warned_at)

    facts = maker.log({"reward_mean": [-80.0, -50.0, -35.0, NAN, NAN, NAN]}, steps=None).plain()

    assert facts.get("signal.metric.nan_of_nothing") is of_nothing
    assert facts.get("signal.exact.nonfinite_training", False) is (of_nothing is None)


@pytest.mark.parametrize(
    ("losses", "turned"),
    [
        ([1.9, 1.4, 1.2, 1.1, 1.13, 1.18, 1.24, 1.31], True),
        ([1.9, 1.4, 1.2, 1.1, 1.11, 1.115, 1.12, 1.13], False),  # a little of what was gained
        ([1.9, 1.4, 1.2, 1.1, 1.13, 1.18, 1.24, 1.17], False),  # on its way back
        ([1.9, 1.3, 1.6, 1.1, 1.13, 1.18, 1.24, 1.31], False),  # it swung as far before
        ([1.386, 1.384, 1.37, 1.36, 1.363, 1.366, 1.37, 1.374], False),  # it stands near its first value
    ],
)
def test_a_training_loss_that_only_rises_since_its_best(losses, turned):
    assert epochs(RunMaker(), loss=losses)["signal.progress.turned"] is turned


WARMED = [0.02, 0.04, 0.06, 0.08, 0.1, 0.1, 0.099, 0.098, 0.097, 0.095]


@pytest.mark.parametrize(
    ("losses", "rates", "too_far"),
    [
        ([6.0, 3.1, 1.8, 2.1, 2.4, 2.0, 2.2, 2.1, 2.0, 2.1], WARMED, True),
        ([6.0, 3.1, 1.8, 2.1, 2.4, 2.0, 1.9, 1.8, 1.7, 1.6], WARMED, False),  # it falls on
        ([6.0, 3.1, 1.8, 1.85, 1.84, 1.83, 1.86, 1.82, 1.85, 1.84], WARMED, False),  # it stands
        ([6.0, 3.1, 1.8, 2.1, 2.4, 2.0, 2.2, 2.1, 2.0, 2.1], [0.1] * 10, False),  # there was no warm-up
        (
            [6.0, 3.1, 1.8, 2.1, 2.4, 2.0, 2.2, 2.1, 2.0, 2.1],
            [*WARMED[:7], 0.03, 0.01, 0.0],
            False,
        ),  # cyclic, or decayed
    ],
)
def test_a_loss_that_was_at_its_best_while_the_rate_still_rose(losses, rates, too_far):
    facts = epochs(RunMaker(), loss=losses, learning_rate=rates)

    assert facts["signal.learning_rate.best_in_warm_up"] is too_far


@pytest.mark.parametrize(("empty", "finite"), [((2, 4), True), ((2,), False)])
def test_a_mean_over_no_labelled_object_is_no_broken_number(empty, finite):
    overlap = [0.25, float("nan"), 0.5, float("nan"), 0.5, 0.25]
    maker = RunMaker("darknet").log(
        {"Obj": overlap, "loss": [9.0, 7.0, 8.0, 7.0, 6.0, 5.0]}, lines=[*range(1, 7)]
    )
    for line in empty:
        maker.event("labelled_objects_none", line=line, role="info")
    facts = maker.event("labelled_objects", line=1, role="info").plain()

    assert facts["signal.exact.all_finite"] is finite
    assert facts.get("signal.metric.nan", False) is finite


@pytest.mark.parametrize(
    ("losses", "counts"),
    [
        ([99.0, 100.0, 101.0, 102.0, 103.0, 104.0], True),
        ([99.0, 100.0, 101.0, 110.0, 111.0, 112.0], False),
        ([99.5, 100.5, 101.5, 102.5, 103.5, 104.5], False),
    ],
)
def test_a_loss_that_is_the_number_of_its_step(losses, counts):
    facts = RunMaker().log({"loss": losses}, steps=list(range(100, 106))).plain()

    assert facts["signal.metric.counts_steps"] is counts


def test_few_rows_from_the_middle_that_come_back_are_batches_and_no_run_away():
    def exploded(*losses):
        return (
            RunMaker()
            .log({"loss": list(losses)}, first=16000, every=200)
            .plain()
            .get("signal.progress.exploded")
        )

    assert exploded(0.05, 1.25, 1.25, 0.5) is not True
    assert exploded(0.05, 1.25, 5.0, 9.0) is True
    assert exploded(0.002, 0.0001, 0.0015, 0.003, 0.0055) is not True  # one row is a tenth of both beside it


def test_evaluations_that_cost_nothing_and_get_nothing_right_measured_nothing():
    facts = (
        RunMaker()
        .log({"loss": [2.3, 1.5, 0.9, 0.6]})
        .log({"val_loss": [0.0] * 4, "val_acc": [0.0] * 4})
        .plain()
    )

    assert facts["signal.exact.evaluation_zero"] is True
    assert "signal.exact.zero_but_wrong" not in facts


@pytest.mark.parametrize(("name", "told"), [("sparse_categorical_accuracy", True), ("acc", False)])
def test_an_accuracy_that_keras_names_is_a_share_in_one_row(tmp_path, name, told):
    row = f"104/104 [====] - 73s 709ms/step - loss: 8.7 - {name}: 4.96 - val_loss: 1.1 - val_{name}: 0.63\n"
    (tmp_path / "train.log").write_text("Epoch 25/25\n" + row)

    found = [finding.cause.id for finding in analyzer.diagnose(tmp_path).findings[:1]]
    assert (found == ["metric-implementation-bug"]) is told
