"""Scores that leave their best for good, stand while the loss falls, or break down, each beside a look-alike."""

import pytest
from make_run import RunMaker

FALLING = [2.0 * 0.8**i for i in range(16)]
RISING = [0.4 + 0.03 * i for i in range(16)]
RAMPED = [0.9, 0.8, 0.7, 0.62, 0.57, *[0.6 + 0.07 * i for i in range(11)]]
AWAY = [0.7, 0.89, 0.88, 0.9, *[0.82, 0.84, 0.81, 0.83] * 3]
STANDS, LEAPT, GONE = (
    [0.07, 0.05, 0.05, 0.052, 0.06, 0.059],
    [0.03, 0.031, 0.033, 0.032, 0.19, 0.17],
    [0.9, 0.92, 0.91, 0.9, 0.0, 0.004],
)
TOP5 = [0.93, *[0.98, 0.97, 0.96] * 5]


def facts(**columns):
    run = RunMaker().log({name.replace("__", "/"): values for name, values in columns.items()})
    return {name: fact.value for name, fact in run.facts().items()}


@pytest.mark.parametrize(
    ("columns", "name", "value"),
    [
        ({"loss": RAMPED, "val_acc": RISING}, "signal.progress.turned", False),  # the weight of a part grows
        ({"loss": RAMPED, "val_acc": RISING}, "signal.progress.rose_and_stays", False),
        ({"loss": RAMPED, "val_acc": [*RISING[:6], *RISING[5:0:-1], *RISING[:5]]}, "signal.progress.turned", True),
        ({"loss": RAMPED, "val_acc": [0.4, 0.6, 0.75, *[0.8, 0.79] * 6, 0.8]}, "signal.progress.rose_and_stays", True),
        ({"loss": FALLING, "val_acc": AWAY}, "signal.score.never_back", True),
        ({"loss": FALLING, "val_acc": [0.7, 0.9, *[0.82, 0.84, 0.88, 0.83] * 3, 0.84, 0.83]}, "signal.score.never_back", False),
        ({"loss": FALLING, "val_acc": AWAY, "val_top5": TOP5}, "signal.score.never_back", False),
        (
            {"loss": FALLING, "val_acc": AWAY, "val_top5": TOP5, "eval_loss": [0.7, 0.4, 0.33, 0.3, *[0.48] * 12]},
            "signal.score.never_back",
            True,
        ),
        ({"loss": FALLING, "val_acc": [0.102, 0.097, 0.1, 0.104] * 4}, "signal.score.stands_while_loss_falls", True),
        ({"loss": FALLING, "val_acc": RISING}, "signal.score.stands_while_loss_falls", False),
        ({"loss": FALLING, "val_acc": [0.93, 0.94] * 8}, "signal.score.stands_while_loss_falls", False),
        ({"loss": [2.3, 2.2] * 8, "val_acc": [0.1] * 16}, "signal.score.stands_while_loss_falls", False),
        ({"loss": FALLING, "val_errorrate": [0.05, 0.03, 0.02, 0.02, 1.0]}, "signal.score.worst_at_end", True),
        ({"loss": FALLING, "val_acc": [0.6, 0.8, 0.9, 0.9, 0.0]}, "signal.score.worst_at_end", True),
        ({"loss": FALLING, "val_acc": [0.6, 0.8, 0.9, 0.9, 0.7]}, "signal.score.worst_at_end", False),
        ({"loss": FALLING, "val_acc": [0.0, 0.0, 0.01, 0.02, 0.0]}, "signal.score.worst_at_end", False),
        ({"train_acc": [0.7, 0.9, *[0.99] * 8, *[0.1, 0.09, 0.11] * 4]}, "signal.score.collapsed", True),
        ({"train_acc": [0.7, 0.9, *[0.99] * 8, *[0.1, 0.5, 0.9] * 4]}, "signal.score.collapsed", False),
        ({"loss": FALLING, "train_acc": [0.9] * 8 + [0.1] * 8}, "signal.score.collapsed", None),
        ({"eval_accuracy": [0.62, 0.64, 1e-10]}, "signal.score.collapsed", True),
        ({"eval_accuracy": [62.0, 64.0, 0.0]}, "signal.score.collapsed", True),
        ({"eval_dice": [0.64, 7e-11]}, "signal.score.collapsed", True),
        ({"eval_dice": [0.64, 0.41]}, "signal.score.collapsed", False),
        ({"val_bleu": [30.1, 0.2]}, "signal.score.collapsed", True),
        ({"eval_accuracy": [0.62, 0.1, 0.64]}, "signal.score.collapsed", False),  # it came back
        ({"eval_accuracy": [0.31, 0.0, 0.0, 0.0]}, "signal.score.collapsed", False),  # samples, the first right in part
        ({"eval_accuracy": [0.62, 0.0, 0.0, 0.0]}, "signal.score.collapsed", True),
        ({"eval_accuracy": [0.25, 0.31, 0.0, 0.0]}, "signal.score.collapsed", True),
        ({"eval_accuracy": [0.8, 0.6, 0.55]}, "signal.score.collapsed", False),  # overfitting
        ({"eval_accuracy": [0.05, 0.04, 0.0]}, "signal.score.collapsed", False),  # nothing had been learned
        ({"loss": FALLING, "eval_accuracy": [0.62, 0.64, 1e-10]}, "signal.score.collapsed", None),
        ({"loss": STANDS, "eval_loss": LEAPT, "val_map": GONE}, "signal.score.collapsed", True),
        ({"loss": FALLING[:6], "eval_loss": LEAPT, "val_map": GONE}, "signal.score.collapsed", None),  # training learns on
        ({"loss": STANDS, "eval_loss": [0.03, 0.033, 0.037, 0.041, 0.05, 0.06], "val_map": GONE}, "signal.score.collapsed", None),
        ({"loss": FALLING, "acc": [0.0, 0.0, 0.005, 0.0]}, "signal.score.hardly_right", True),
        ({"loss": FALLING, "acc": [0.0, 0.01, 0.03, 0.06]}, "signal.score.hardly_right", False),
        ({"loss": FALLING, "eval_recall": [0.0, 2.5, 1.0, 1.0]}, "signal.score.hardly_right", True),
        ({"loss": FALLING, "eval_recall": [0.0, 15.0, 35.0, 45.0]}, "signal.score.hardly_right", False),
        ({"loss": FALLING, "val_auc": [0.55, 0.78, 0.74, 0.71]}, "signal.score.ranks_apart", True),
        ({"loss": FALLING, "val_auc": [0.55, 0.58, 0.54, 0.61]}, "signal.score.ranks_apart", False),
        ({"loss": FALLING, "train_acc": [0.12, 0.1, 0.11, 0.1] * 4}, "signal.score.training_unmoved", True),
        ({"loss": FALLING, "train_acc": [0.48 - 0.02 * i for i in range(16)]}, "signal.score.training_unmoved", True),
        ({"loss": FALLING, "train_acc": RISING}, "signal.score.training_unmoved", False),
        ({"loss": [7.1, 6.3, 5.9, 5.7, 5.6, 5.5], "top1": [19.4, 18.9, 19.0, 19.4, 19.5, 19.6]}, "signal.score.training_stands", True),
        ({"loss": [7.1, 6.3, 5.9, 5.7, 5.6, 5.5], "top1": [12.4, 13.9, 15.0, 17.4, 18.5, 19.6]}, "signal.score.training_stands", False),
        ({"loss": [2.3, 2.2] * 8, "train_acc": [0.1] * 16}, "signal.score.training_unmoved", False),
        ({"loss": FALLING, "val_mae": [14.0 - 0.3 * i for i in range(16)]}, "signal.score.error_half_left", True),
        ({"loss": FALLING, "val_mae": [0.7, *[0.56] * 15]}, "signal.score.error_half_left", False),
        ({"loss": FALLING, "val_mae": [0.8 * 0.8**i for i in range(16)]}, "signal.score.error_half_left", False),
        ({"loss": [0.9, 0.5, 0.27], "val_mae": [0.65, 0.44, 0.38]}, "signal.score.error_half_left", False),
        ({"loss": [0.9, 0.5, 0.4], "val_mae": [0.65, 0.5, 0.4]}, "signal.score.error_half_left", True),
        ({"loss": FALLING, "eval_loss": [0.9, 0.8, 0.7, 0.0]}, "signal.exact.held_out_zero_at_end", True),
        ({"loss": FALLING, "eval_loss": [0.2, 0.03, 0.001, 0.0]}, "signal.exact.held_out_zero_at_end", False),
    ],
)  # fmt: skip
def test_a_score_that_was_not_kept_is_told_from_its_look_alike(columns, name, value):
    assert facts(**columns).get(name) == value


@pytest.mark.parametrize(
    ("held_out", "training", "leapt"),
    [
        ([11.6, 210.0, 198.0, 164.0, 82.0, 60.0], [151.0, 177.0, 217.0, 180.0, 94.0, 70.0], True),
        ([0.4, 0.9, 1.3, 1.4, 1.5, 1.6], [0.5, 0.3, 0.2, 0.1, 0.05, 0.02], False),
        ([0.4, 0.41, 0.42, 0.43, 0.42, 2.2, 1.9], [0.5, 0.4, 0.4, 0.4, 0.4, 0.5, 0.4], True),
        ([0.4, 0.41, 0.42, 0.43, 0.42, 2.2, 1.9], [0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02], False),
        ([11.6, 210.0, 98.0, 14.0, 8.2, 6.0], [151.0, 177.0, 117.0, 18.0, 9.4, 7.0], False),
    ],
)
def test_a_leap_of_both_losses_is_told_from_samples_known_by_heart(held_out, training, leapt):
    assert facts(loss=training, eval_loss=held_out)["signal.gap.leapt_together"] is leapt


@pytest.mark.parametrize(
    ("training", "held_out", "changed"),
    [
        ([2.1, 1.0, 0.4, 0.1, 4.1, 0.6, 0.2, 0.1], [2.3, 3.0, 3.8, 4.6, 1.8, 3.9, 4.4, 4.6], True),
        (
            [2.1, 1.0, 0.4, 0.1, 2.1, 1.0, 0.4, 0.2],
            [1.5, 0.7, 0.3, 0.2, 1.6, 0.8, 0.4, 0.3],
            False,
        ),  # weights lost
        (
            [2.1, 1.0, 0.4, 0.1, 4.1, 3.6, 2.9, 2.1],
            [1.5, 0.7, 0.3, 0.2, 3.9, 3.0, 2.5, 2.2],
            False,
        ),  # thrown off
    ],
)
def test_other_samples_are_told_from_weights_that_were_lost_by_what_held_out_data_gain(
    training, held_out, changed
):
    assert facts(loss=training, eval_loss=held_out)["signal.gap.samples_changed"] is changed


@pytest.mark.parametrize(
    ("held_out", "behind"),
    [([0.76, 0.78, 0.83, 0.85, 0.83, 0.82], True), ([0.87, 0.93, 0.95, 0.96, 0.95, 0.96], False)],
)
def test_answers_behind_the_mean_of_the_first_epoch(held_out, behind):
    found = facts(
        loss=[0.57, 0.39, 0.27, 0.09, 0.06, 0.05],
        accuracy=[0.86, 0.94, 0.95, 0.98, 0.99, 0.99],
        eval_loss=[0.52, 0.47, 0.38, 0.5, 0.87, 0.89],
        eval_accuracy=held_out,
    )

    assert found["signal.gap.score_behind_epoch_mean"] is behind


@pytest.mark.parametrize(
    ("training", "held_out", "epochs", "told"),
    [
        ([0.5, 0.9, 0.97, 0.99, 1.0], [0.31, 0.28, 0.35, 0.3, 0.33], 5, True),
        ([0.3, 0.42, 0.55, 0.8, 0.96], [0.31, 0.33, 0.35, 0.34, 0.33], 5, False),  # sample by sample
        ([0.5, 0.9, 0.97, 0.99, 1.0], [0.5, 0.74, 0.7, 0.72, 0.71], 5, False),  # mostly right
        (
            [0.5, 0.9, 0.97, 0.99, 1.0],
            [0.31, 0.28, 0.35, 0.3, 0.33],
            50,
            False,
        ),  # ten passes between two rows
    ],
)
def test_what_is_learned_in_few_passes_is_not_known_by_heart(training, held_out, epochs, told):
    maker = RunMaker().log(
        {"loss": [1.3 * 0.6**i for i in range(5)], "accuracy": training, "eval_accuracy": held_out}
    )
    found = maker.config("config", epochs=epochs).plain()
    assert found["signal.gap.learned_in_few_passes"] is told


@pytest.mark.parametrize(
    ("loss", "accuracy", "below"),
    [
        ([0.18, 0.12, 0.07, 0.05, 0.04, 0.03], [0.2, 0.4, 0.6, 0.7, 0.75, 0.76], True),
        ([2.2, 1.7, 1.2, 0.9, 0.8, 0.7], [0.2, 0.4, 0.6, 0.7, 0.75, 0.76], False),
        ([0.2, 0.1, 0.06, 0.04, 0.02, 0.01], [0.93, 0.96, 0.97, 0.98, 0.99, 0.99], False),
    ],
)
def test_a_loss_that_wrong_answers_do_not_allow(loss, accuracy, below):
    assert facts(loss=loss, accuracy=accuracy)["signal.answers.below_its_errors"] is below
    errors = {
        "eval_mae": [3.0 - 0.1 * n for n in range(len(loss))]
    }  # of a regression, right within a tolerance
    assert "signal.answers.below_its_errors" not in facts(loss=loss, accuracy=accuracy, **errors)


@pytest.mark.parametrize(
    ("loss", "accuracy", "uncounted"),
    [
        ([1.33, 1.1, 0.8, 0.5, 0.3, 0.2, 0.1], [0.25, 0.26, 0.25, 0.24, 0.25, 0.25, 0.27], True),
        ([2.2, 1.7, 1.2, 0.9, 0.8, 0.7, 0.6], [0.2, 0.4, 0.6, 0.7, 0.75, 0.76, 0.77], False),  # counted
        ([0.09, 0.08, 0.06, 0.05, 0.04, 0.04, 0.03], [0.2, 0.2, 0.21, 0.2, 0.2, 0.2, 0.2], False),  # cheap from the start: divided
        ([2.3, 2.0, 1.8, 1.6, 1.4, 1.2, 1.1], [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], False),  # dear enough for all that is wrong
    ],
)  # fmt: skip
def test_answers_that_are_learned_and_not_counted(loss, accuracy, uncounted):
    found = facts(loss=loss, accuracy=accuracy)

    assert found["signal.answers.learned_uncounted"] is uncounted
    assert found["signal.answers.below_its_errors"] is False or not uncounted


def test_a_score_below_zero_throughout_breaks_no_detector():
    """An error that is printed with its sign turned, under the name of a score."""
    facts = RunMaker().log({"eval_accuracy": [-0.31, -0.22, -0.19] + [-0.15] * 20}).plain()

    assert facts.get("signal.score.never_back") is not True


def test_of_the_batches_of_one_evaluation_none_is_the_best():
    batches = RunMaker().log({"loss": FALLING, "val_acc": AWAY}, steps=[78] * len(AWAY)).plain()

    assert "signal.score.never_back" not in batches


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        ([0.9, 0.9, 0.91, 0.9], [0.75, 0.5, 0.4, 0.3], True),
        ([0.9, 0.9, 0.91, 0.9], [0.5, 0.6, 0.7, 0.65], False),
        ([0.9, 0.7, 0.5, 0.3], [0.75, 0.5, 0.4, 0.3], False),  # all is lost
        ([0.9, 0.9, 0.91, 0.9], [0.75, 0.4, 0.5, 0.7], False),  # a dip
    ],
)
@pytest.mark.parametrize("names", [("source_accuracy", "target_accuracy"), ("acc_src", "acc_tgt")])
def test_answers_in_the_target_domain_get_wrong_while_those_of_the_source_stay(source, target, told, names):
    facts = RunMaker().log(dict(zip(names, (source, target), strict=True))).plain()

    assert facts["signal.score.target_lost"] is told


def test_how_well_domains_are_told_apart_is_no_answer():
    columns = {"source_domain_accuracy": [0.9] * 4, "target_domain_accuracy": [0.75, 0.5, 0.4, 0.3]}

    assert "signal.score.target_lost" not in RunMaker().log(columns).plain()


@pytest.mark.parametrize(("steps", "collapsed"), [(True, True), (None, None)])
def test_parts_of_one_evaluation_are_no_course_of_a_score(steps, collapsed):
    """Rows without a step may be sets and tasks of a report, of which one was never computed."""
    facts = RunMaker().log({"val_mrr": [0.2, 0.25, 0.15, 0.0]}, steps=steps).plain()

    assert facts.get("signal.score.collapsed") is collapsed


@pytest.mark.parametrize(
    ("lost", "loss", "finite"),
    [
        ("tram", FALLING, True),  # a class without a sample
        ("val_mae", [*FALLING[:6], *FALLING[6:][::-1]], False),  # an evaluation that broke
        ("loss_mask", FALLING, False),
        ("tram", [*FALLING[:12], *[float("nan")] * 4], False),
    ],
)
def test_a_column_of_a_class_that_never_was_a_number_says_nothing_of_the_values(lost, loss, finite):
    found = facts(
        **{"loss": loss, "mean_iou": [0.5 + 0.001 * i for i in range(16)], lost: [float("nan")] * 16}
    )
    assert found["signal.exact.all_finite"] is finite


@pytest.mark.parametrize(
    ("probed", "stands"), [([10.1, 9.8, 10.2, 9.9] * 4, True), ([10.0 + 3 * i for i in range(16)], False)]
)
def test_a_probe_of_embeddings_that_stays_at_a_guess_is_a_held_out_score(probed, stands):
    assert facts(loss=FALLING, knn_acc=probed)["signal.score.stands_while_loss_falls"] is stands


@pytest.mark.parametrize(
    ("held", "always"),
    [
        ([1.0, 1.0, 1.0, 1.0], True),
        ([0.9, 1.0, 1.0, 1.0], False),  # it was learned
        ([1.0, 1.0], False),
    ],
)
def test_held_out_answers_that_are_all_right_from_the_first_evaluation_on(held, always):
    losses = [0.5, 0.04, 0.02, 0.01][: len(held)]

    assert facts(loss=losses, eval_accuracy=held)["signal.score.always_right"] is always


@pytest.mark.parametrize(
    ("name", "values", "climbs"),
    [
        ("total_error", [1.0, 0.1, 0.11, 0.13, 0.15, 0.17, 0.18], True),
        ("total_error", [1.0, 0.1, 0.11, 0.13, 0.12, 0.17, 0.18], False),  # it wavers
        ("total_error", [1.0, 0.1, 0.101, 0.103, 0.105, 0.107, 0.109], False),  # a drift
        (
            "val_error",
            [1.0, 0.1, 0.11, 0.13, 0.15, 0.17, 0.18],
            None,
        ),  # of held-out data, which are judged by their best
    ],
)
def test_an_error_of_training_that_only_rises_since_its_best(name, values, climbs):
    assert facts(loss=FALLING[:7], **{name: values}).get("signal.score.error_climbs") is climbs
