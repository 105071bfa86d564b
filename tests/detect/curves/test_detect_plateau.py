"""A loss that does not move, evaluation beside training, and metrics with impossible values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from make_run import NAN, RunMaker, falling, norms

CHANCE = [math.log(10) * (1 + 0.02 * v) for v in np.random.default_rng(0).standard_normal(200)]


def test_weights_that_never_change_are_seen():
    still = RunMaker().log({"loss": CHANCE, "grad_norm": norms(200), "weight_norm": [8.3217] * 200}).plain()
    moving = RunMaker().log({"loss": CHANCE, "weight_norm": np.linspace(8.3, 8.4, 200)}).plain()

    assert still["signal.weights.still"] is True
    assert moving["signal.weights.still"] is False
    assert moving["signal.weights.relative_change"] == pytest.approx(0.1 / 8.3)


def test_a_network_is_dead_after_an_explosion_only_if_the_former_level_is_lost():
    dead, alive = np.array(falling(200, 2.3, 1.5)), np.array(falling(200, 2.3, 1.5))
    dead[100:104] = [80.0, 30.0, 9.0, 4.0]
    dead[104:] = CHANCE[104:]
    alive[100:104] = [80.0, 30.0, 9.0, 4.0]

    assert RunMaker().log({"loss": dead}).plain()["signal.stall.after_explosion"] is True
    assert RunMaker().log({"loss": alive}).plain()["signal.stall.after_explosion"] is False


@pytest.mark.parametrize("limit", [87.3365, 16.1181])
def test_the_loss_of_a_probability_of_zero_is_known(limit):
    facts = RunMaker().log({"loss": [*falling(30), *[limit] * 30]}).plain()

    assert facts["signal.stall.at_float_limit"] is True
    assert facts["signal.stall.constant_end"] is True


@pytest.mark.parametrize(("digits", "constant"), [(2, False), (5, True)])
def test_a_loss_that_moves_less_than_its_last_printed_digit_does_not_stand_still(digits, constant):
    course = np.round(3.3 - 0.0003 * np.arange(200), digits)
    course[-30:] = course[-30]

    assert RunMaker().log({"loss": course}).plain()["signal.stall.constant_end"] is constant


def test_one_loss_of_caffes_nan_is_enough_and_one_of_keras_is_not():
    assert RunMaker().log({"loss": [21.5, 87.3365]}).plain()["signal.stall.at_float_limit"] is True
    assert RunMaker().log({"loss": [21.5, 87.34]}).plain()["signal.stall.at_float_limit"] is False
    assert RunMaker().log({"loss": [21.5, 16.1181]}).plain()["signal.stall.at_float_limit"] is False


def test_a_part_of_the_loss_that_ends_at_caffes_limit_tells_it_of_the_weighted_whole():
    whole = [184.354, 1746.73, 1746.73, 1746.73]
    parted = RunMaker().log({"loss": whole}).log({"loss": [9.21768, 87.3365, 87.3365, 87.3365]})

    assert parted.plain()["signal.stall.at_float_limit"] is True
    assert RunMaker().log({"loss": whole}).plain()["signal.stall.at_float_limit"] is False


def test_training_and_evaluation_at_chance():
    maker = (
        RunMaker().log({"loss": CHANCE}).log({"eval_loss": [2.303, 2.305, 2.301, 2.304]}, first=50, every=50)
    )
    facts = maker.plain()

    assert facts["signal.stall.eval_at_chance"] is True
    assert facts[
        "signal.generalisation.flat" if "signal.generalisation.flat" in facts else "signal.stall.eval_still"
    ]


def test_evaluations_without_progress():
    maker = RunMaker().log({"loss": CHANCE}).log({"eval_loss": [0.7457] * 10}, first=20, every=20)
    facts = maker.plain()

    assert facts["signal.stall.no_progress"] is True
    assert facts["signal.stall.eval_constant"] is True


@pytest.mark.parametrize(("columns", "first"), [({"val_f1": [0.5, 0.6, *[0.7] * 8]}, 20), ({}, 90000)])
def test_a_score_that_is_gained_or_a_log_of_the_end_alone_is_no_lack_of_progress(columns, first):
    maker = RunMaker().log({"loss": CHANCE}, first=first, every=1)
    facts = maker.log({"eval_loss": [0.7457] * 10, **columns}, first=first, every=20).plain()

    assert facts["signal.stall.no_progress"] is False


def test_first_loss_against_a_guess_needs_the_number_of_classes():
    facts = RunMaker().log({"loss": [53.0] * 30}).config(num_classes=10).plain()

    assert facts["signal.stall.first_over_uniform"] == pytest.approx(53.0 / math.log(10))
    assert "signal.stall.first_over_uniform" not in RunMaker().log({"loss": [53.0] * 30}).plain()


@pytest.mark.parametrize("name", ["eval_samples_per_second", "train/steps_per_second", "time_per_step"])
def test_a_speed_per_second_is_no_phoneme_error_rate(name):
    facts = RunMaker().log({name: [70.0] * 30, "loss": [3.0] * 30}).facts()

    assert "signal.stall.error_rate_stuck" not in facts


@pytest.mark.parametrize(("name", "told"), [("val-ter", True), ("token_error_rate", True), ("filter", None)])
def test_errors_of_tokens_are_a_rate_too(name, told):
    facts = RunMaker().log({name: [100.0] * 30, "loss": [3.0] * 30}).plain()

    assert facts.get("signal.stall.error_rate_stuck") is told


def test_ctc_that_emits_blanks():
    maker = RunMaker().log({"ctc_loss": [2.9] * 30, "loss": [2.9] * 30})
    facts = maker.log({"eval_wer": [1.0, 1.0, 1.0, 1.0]}, every=7).plain()

    assert facts["signal.stall.ctc"] is True
    assert facts["signal.stall.error_rate_stuck"] is True


def test_layer_norms_show_a_vanishing_gradient():
    columns = {f"grad_norm/layers.{i}.weight": [10.0 ** (i - 6)] * 20 for i in range(6)}

    facts = RunMaker().log({"loss": CHANCE[:20], **columns}).plain()

    assert facts["signal.layers.first_over_last"] == pytest.approx(1e-5)


def test_the_clipping_threshold_against_the_norms():
    maker = RunMaker().log({"loss": CHANCE, "grad_norm": norms(200, 50.0)}).config(max_grad_norm=0.1)
    facts = maker.plain()

    assert facts["signal.grad_norm.clipped_share"] == 1.0
    assert facts["signal.grad_norm.over_clip"] == pytest.approx(500.0, rel=0.1)


def test_a_norm_that_runs_away_is_told_from_a_single_spike():
    away, spike = np.array(norms(200)), np.array(norms(200))
    away[180:] *= np.exp(np.linspace(0.5, 6.0, 20))
    spike[150] *= 100.0

    assert RunMaker().log({"loss": CHANCE, "grad_norm": away}).plain()["signal.grad_norm.runs_away"] is True
    assert RunMaker().log({"loss": CHANCE, "grad_norm": spike}).plain()["signal.grad_norm.runs_away"] is False


def test_the_design_of_a_model_is_read_from_its_configuration():
    maker = RunMaker("megatron").log({"loss": falling(30)})
    maker.config(
        "megatron", init_method_std=0.02, hidden_size=14336, num_layers=70, encoder_normalize_before=False
    )
    facts = maker.plain()

    assert facts["config.design.init_std_over_limit"] == pytest.approx(0.02 / math.sqrt(2 / (5 * 14336)))
    assert facts["config.design.post_norm"] is True
    assert facts["config.design.layers"] == 70


def test_width_activation_and_norm_are_read_whatever_they_belong_to():
    maker = RunMaker().log({"loss": falling(30)})
    facts = maker.config("config", hidden=1, layers=20, activation="nn.Sigmoid", batch_norm=True).plain()

    assert (facts["config.design.width"], facts["config.design.depth"]) == (1, 20)
    assert facts["config.design.activation"] == "sigmoid"
    assert facts["config.design.batch_norm"] is True


def test_one_layer_of_a_list_does_not_speak_for_all():
    maker = RunMaker().log({"loss": falling(30)})
    facts = maker.config(
        "config",
        **{"layers[3].activation": "sigmoid", "layers[3].hidden_dim": 2, "layers[3].batch_norm": True},
    ).plain()

    assert "config.design.activation" not in facts
    assert "config.design.width" not in facts
    assert "config.design.batch_norm" not in facts


def test_training_loss_counted_once_per_micro_batch():
    train = [4.0 * v for v in falling(200)]
    maker = RunMaker().log({"loss": train}).log({"eval_loss": falling(200)[39::40]}, first=40, every=40)

    assert maker.plain()["signal.generalisation.train_over_eval"] == pytest.approx(4.0, rel=0.1)


def test_the_best_evaluation_and_the_scatter_around_it():
    rising = [1.5, 1.2, 1.0, 1.1, 1.25, 1.4]
    noisy = [1.5, 1.02, 1.10, 1.01, 1.09, 1.03, 1.08]

    facts = RunMaker().log({"loss": falling(60)}).log({"eval_loss": rising}, first=10, every=10).plain()
    scatter = RunMaker().log({"loss": falling(60)}).log({"eval_loss": noisy}, first=10, every=8).plain()

    assert facts["signal.generalisation.best_step"] == 30
    assert facts["signal.generalisation.evaluations_since_best"] == 3
    assert facts["signal.generalisation.within_noise"] is False
    assert scatter["signal.generalisation.within_noise"] is True


def test_a_lost_accuracy_in_standard_errors():
    columns = {"eval_accuracy": [0.80, 0.82, 0.80], "eval_samples": [100.0] * 3}

    facts = RunMaker().log({"loss": falling(30)}).log(columns, first=10, every=10).plain()

    assert facts["signal.generalisation.lost_in_errors"] == pytest.approx(
        0.02 / math.sqrt(2 * 0.81 * 0.19 / 100)
    )


def test_loss_that_falls_at_epoch_starts():
    epochs = np.arange(90) / 30.0
    steps = 2.0 - 0.5 * np.floor(epochs) + 0.02 * np.random.default_rng(0).standard_normal(90)
    smooth = falling(90)

    assert RunMaker().log({"loss": steps, "epoch": epochs}).plain()["signal.epochs.falls_at_starts"] is True
    assert RunMaker().log({"loss": smooth, "epoch": epochs}).plain()["signal.epochs.falls_at_starts"] is False


@pytest.mark.parametrize(
    ("name", "values", "impossible"),
    [
        ("val_acc", [0.6, 0.7, 0.8, 0.9, 1.31, 0.9, 0.9, 0.8, 0.9, 0.9], True),
        ("val_acc", [60.0, 70.0, 130.0], True),
        ("val_acc", [0.1, 0.4, 0.9, 1.3, 1.8], False),  # the first percent of a run that prints percent
        ("ppl", [12.0, 0.7], True),
        ("ppl", [12.0, 4.0], False),
        ("wer", [1.0, 1.6], False),  # more insertions than words
        ("eval_accuracy", [-1.0, 0.5], False),  # "not computed"
        ("val_auc", [0.9995 + 0.00005 * row for row in range(18)], True),  # one above 1 after the other
        ("val_auc", [0.99] * 9 + [1.0000001 + 1e-7 * row for row in range(9)], False),  # single precision
        ("val_acc", [0.8] * 9 + [1.0005] * 9, False),  # one rounded value
    ],
)
def test_values_that_a_metric_cannot_have(name, values, impossible):
    facts = RunMaker().log({"loss": falling(len(values)), name: values}).plain()

    assert facts["signal.metric.impossible"] is impossible


def test_columns_that_are_not_a_number_while_training_is_sound():
    design = RunMaker().log({"loss": falling(30), "explained_variance": [NAN] * 3 + [0.4] * 27}).plain()
    classes = RunMaker().log({"loss": falling(30), "val/iou_class_7": [NAN] * 30}).plain()
    broken = RunMaker().log({"loss": [NAN] * 30, "val/iou_class_7": [NAN] * 30}).plain()

    assert design["signal.metric.nan_by_design"] is True
    assert design["signal.metric.nan_only_first"] is True
    assert classes["signal.metric.nan_per_class"] is True
    assert classes["signal.metric.training_sound"] is True
    assert broken["signal.metric.training_sound"] is False


def test_what_is_lower_in_every_row_moves():
    train, held_out = [171.8 - 1.2 * at for at in range(9)], [164.2 - 0.8 * at for at in range(9)]

    def lower(first, second):
        return (
            RunMaker()
            .log({"loss": first})
            .log({"val_loss": second})
            .plain()
            .get("signal.stall.lower_each_row")
        )

    assert lower(train, held_out) is True
    assert lower(train, [*held_out[:-1], 160.0]) is False
    assert lower(train[:5], held_out[:5]) is None
