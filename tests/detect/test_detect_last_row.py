"""What one row of scores tells without a course: nothing put out, a class never found, a mean over nothing, signals far apart."""

from __future__ import annotations

import math

import pytest
from make_run import NAN, RunMaker


def one_row(step, **columns):
    """Facts of a log of one row."""
    return RunMaker().log({name: [value] for name, value in columns.items()}, first=step).plain()


@pytest.mark.parametrize(
    ("step", "rates", "told"),
    [
        (9000, {"valid_wer": 100.0, "valid_uer": 99.97}, True),
        (9000, {"val_cer": 1.0}, True),
        (9000, {"valid_wer": 97.2}, False),  # wrong words
        (9000, {"valid_wer": 104.0}, False),  # more words than there are
        (9000, {"valid_wer": 100.0, "valid_uer": 61.0}, False),  # a lexicon is missing
        (20, {"valid_wer": 100.0}, False),  # a check before the training
    ],
)
def test_an_error_rate_of_all_after_long_training_says_that_nothing_is_put_out(step, rates, told):
    assert one_row(step, loss=600.0, **rates)["signal.last.empty_answers"] is told


def test_an_error_rate_tells_nothing_where_nothing_counts_what_was_trained():
    facts = RunMaker().log({"valid_wer": [100.0]}, steps=None).plain()

    assert "signal.last.empty_answers" not in facts


@pytest.mark.parametrize(
    ("kinds", "step", "told"),
    [
        (["empty"] * 6, 5000, True),
        (["worded", *["empty"] * 5], 5000, True),
        ([*["empty"] * 8, "worded"], 5000, False),  # it learned to speak
        (["empty"] * 6, 40, None),  # blanks are learned first
        (["empty"] * 4, 5000, None),
    ],
)
def test_the_last_predictions_that_are_shown_are_empty(kinds, step, told):
    maker = RunMaker().log({"ctc_loss": [2.5]}, first=step)
    for number, kind in enumerate(kinds):
        maker.event(f"{kind}_prediction", line=10 + number)

    assert maker.plain().get("signal.last.empty_predictions") is told


@pytest.mark.parametrize(
    ("name", "label", "told"),
    [
        ("loss", "2. 7. 7. 1.", True),
        ("loss", "road", True),  # no classifier names nothing
        ("val_wer", "2 7 1", True),
        ("loss", "2 7 1", None),  # classes of an image of which the model finds none
        ("loss", "17 7 71", None),
        ("loss", "", None),
    ],
)
def test_empty_predictions_are_those_of_a_model_that_transcribes(name, label, told):
    maker = RunMaker().log({name: [0.8]}, first=5000)
    for line in range(10, 16):
        maker.event("empty_prediction", line=line, label=label)

    assert maker.plain().get("signal.last.empty_predictions") is told


@pytest.mark.parametrize(
    ("columns", "decibels"),
    [
        ({"psnr": 24.0, "holdout_mean_psnr": 9.5}, 14.5),
        ({"face_psnr": 24.0, "hair_psnr": 22.0, "val_psnr": 21.0}, 1.0),
        ({"psnr": 24.0, "test_psnr": 20.0}, 4.0),
        ({"val_psnr": 20.0, "best_psnr": 31.0}, None),
        ({"si_snr": 32.0, "val_psnr": 20.0}, None),  # another measure
        (
            {"psnr": 31.0, "val_psnr": 30.0, "si_sdr": 17.5, "val_si_sdr": 2.5},
            1.0,
        ),  # by one of them it generalises
        ({"train_si_snr": 14.5, "val_si_snr_loss": -14.0}, None),  # the negative
        ({"input_snr": 25.0, "val_snr": 11.0}, None),  # the noise that was put in
    ],
)
def test_decibels_between_training_and_held_out_signals(columns, decibels):
    assert one_row(2000, loss=0.1, **columns).get("signal.last.decibels_apart") == decibels


@pytest.mark.parametrize(("train", "decibels"), [([26.0] * 5, None), ([8.0, 14.0, 19.0, 22.0, 23.0], 15.5)])
def test_a_level_of_decibels_that_never_moves_is_set_and_not_reached(train, decibels):
    maker = RunMaker().log(
        {"loss": [0.9, 0.6, 0.4, 0.3, 0.2], "train_snr": train, "val_snr": [3.0, 4.0, 6.0, 6.5, 7.0]}
    )

    assert maker.plain().get("signal.last.decibels_apart") == decibels


@pytest.mark.parametrize(
    ("step", "columns", "told"),
    [
        (4000, {"F1_0": 0.97, "F1_1": 0.001, "recall_0": 0.99, "recall_1": 0.0005, "precision_1": 0.2, "precision_0": 0.9}, True),
        (4000, {"val_iou_class_0": 0.91, "val_iou_class_1": 0.0, "val_iou_class_2": 0.4}, True),
        (4000, {"val_iou_0": 0.0, "val_iou_1": 0.7, "val_iou_2": 0.4}, False),  # the unlabelled one
        (4000, {"F1_0": 0.97, "F1_1": 0.31}, False),
        (4000, {"F1_0": 0.2, "F1_1": 0.0}, False),  # none is found
        (4000, {"recall_1": 0.001, "recall_5": 0.7}, None),  # among the first so many
        (4000, {"F1": 0.9, "F2": 0.0}, None),
        (30, {"F1_0": 0.97, "F1_1": 0.0}, None),  # too early
    ],
)  # fmt: skip
def test_a_class_whose_column_stays_at_zero_beside_one_that_is_found(step, columns, told):
    assert one_row(step, loss=0.6, **columns).get("signal.last.class_never_found") is told


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"loss": 9.5, "accuracy": NAN}, True),
        ({"val_psnr": NAN}, True),
        ({"loss": 0.5, "eval_loss": 0.4, "smape": NAN}, True),
        ({"loss": NAN, "accuracy": NAN}, None),  # the loss says more
        ({"loss": 9.5, "accuracy": 0.5}, False),
        ({"loss": 9.5}, None),
    ],
)
def test_a_score_that_is_a_number_in_no_row_beside_a_finite_loss(columns, told):
    assert one_row(200, **columns).get("signal.last.undefined") is told


@pytest.mark.parametrize(
    ("step", "columns", "told"),
    [
        (9000, {"ppl_0": 1.001, "ppl_1": 1.02, "vq_loss": 9.0}, True),
        (9000, {"ppl_0": 1.001, "ppl_1": 310.0, "vq_loss": 9.0}, False),
        (9000, {"codebook_perplexity": 1.0, "recon_loss": 0.3}, True),
        (20, {"ppl_0": 1.001, "vq_loss": 9.0}, None),
        (9000, {"perplexity": 1.001, "loss": 0.001}, None),  # of a language model
        (9000, {"perplexity": 1.001, "codebook_2_loss": 0.003}, None),  # of one that predicts codes
    ],
)
def test_a_codebook_of_which_one_code_is_used(step, columns, told):
    assert one_row(step, **columns).get("signal.collapse.codebook_unused") is told


COSTS = [3.1, 1.7, 0.8, 0.35, 0.12, 0.05, 0.03, 0.02]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"loss": COSTS, "vq_tokens": COSTS, "perplexity": [math.exp(cost) for cost in COSTS]}, None),
        (
            {"loss": COSTS, "commit_loss": COSTS, "perplexity": [270.0, 90.0, 12.0, 3.0, 1.3, 1.0, 1.0, 1.0]},
            True,
        ),
        (
            {"loss": COSTS, "commit_loss": [0.0] * 8, "perplexity": [1.0] * 8},
            True,
        ),  # both say nothing of each other
        (
            {
                "loss": COSTS,
                "commit_loss": COSTS,
                "perplexity": [270.0, 240.0, 260.0, 280.0, 290.0, 300.0, 310.0, 305.0],
            },
            False,
        ),
    ],
)
def test_a_perplexity_that_is_the_exponential_of_a_loss_is_not_one_of_codes(columns, told):
    assert RunMaker().log(columns, first=5000).plain().get("signal.collapse.codebook_unused") is told


@pytest.mark.parametrize(("powers", "told"), [([-0.8], True), ([20.0, 14.0, 14.5], False)])
def test_a_loss_scale_that_is_logged_as_its_power_of_two(powers, told):
    facts = RunMaker().log({"loss": [5.0] * len(powers), "lg_loss_scale": powers}).plain()

    assert facts["signal.loss_scale.below_one"] is told


@pytest.mark.parametrize(
    ("columns", "guess", "wrong"),
    [
        ({"eval_loss": 6.905, "val/acc": 0.05}, True, False),
        ({"eval_loss": 2.3, "val/acc": 0.15}, True, False),
        ({"eval_loss": 9.9, "val/acc": 0.001}, False, True),
        ({"eval_loss": 2.3, "val/acc": 0.6}, False, False),  # that loss by accident
        ({"eval_loss": 0.9, "val/acc": 0.77}, False, False),
        ({"eval_loss": 6.905, "val/acc": 0.05, "loss": 6.9}, None, None),  # the first epoch of a training
    ],
)
def test_given_weights_that_answer_like_untrained_ones_or_are_certain_of_wrong_answers(columns, guess, wrong):
    facts = RunMaker().log({name: [value] for name, value in columns.items()}, steps=[None]).plain()

    assert facts.get("signal.last.all_guessed") is guess
    assert facts.get("signal.last.all_wrong") is wrong
