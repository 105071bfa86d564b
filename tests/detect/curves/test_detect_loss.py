"""Shape of the loss curve, against curves that look alike."""

from __future__ import annotations

import numpy as np
import pytest
from make_run import NAN, RunMaker, falling, norms


def shape(losses, **columns):
    return RunMaker().log({"loss": losses, **columns}).plain()


def flat(count, level=2.0, scatter=0.02, seed=3):
    return list(level * (1 + scatter * np.random.default_rng(seed).standard_normal(count)))


def test_learning_run():
    facts = shape(falling(200))

    assert facts["signal.loss.falls"] is True
    assert facts["signal.loss.rises"] is False
    assert facts["signal.loss.flat"] is False
    assert facts["signal.loss.diverged"] is False
    assert facts["signal.loss.change_ratio"] < 0.9
    assert facts["signal.loss.spike_ratio"] < 1.3


def test_plateau():
    facts = shape(flat(200))

    assert facts["signal.loss.flat"] is True
    assert facts["signal.loss.falls"] is False
    assert facts["signal.loss.rises"] is False


@pytest.mark.parametrize("seed", range(8))
def test_pure_noise_neither_falls_nor_rises(seed):
    facts = shape(flat(100, scatter=0.15, seed=seed))

    assert facts["signal.loss.falls"] is False
    assert facts["signal.loss.rises"] is False
    assert facts.get("signal.loss.flat") is not False


def test_divergence_ends_above_best_and_start():
    losses = falling(150) + list(np.linspace(1.5, 9.0, 50))
    facts = shape(losses)

    assert facts["signal.loss.rises"] is True
    assert facts["signal.loss.diverged"] is True


def test_spike_that_returns_is_no_divergence():
    losses = falling(300)
    losses[150:153] = [9.0, 12.0, 6.0]
    facts = shape(losses)

    assert facts["signal.loss.spike_ratio"] > 5
    assert facts["signal.loss.diverged"] is False
    assert facts["signal.loss.falls"] is True


def test_spike_at_the_very_end_is_seen():
    assert shape([*falling(100), 40.0])["signal.loss.spike_ratio"] > 10


def test_constant_loss():
    assert shape([0.6931] * 30)["signal.loss.constant"] is True


def test_a_small_number_of_one_digit_may_move_unseen():
    assert "signal.loss.constant" not in shape([0.0007] * 30)
    assert shape([0.00072] * 30)["signal.loss.constant"] is True


def test_few_points_give_levels_but_no_trend():
    facts = shape([2.5, 2.1])

    assert facts["signal.loss.first"] == 2.5
    assert "signal.loss.falls" not in facts
    assert "signal.loss.constant" not in facts


def test_negative_losses_have_no_ratios():
    facts = shape([-0.1 * i for i in range(50)])

    assert facts["signal.loss.falls"] is True
    assert "signal.loss.rises" not in facts
    assert "signal.loss.diverged" not in facts


def test_huge_losses_give_no_infinite_fact():
    facts = shape([1e300 * (i + 1) for i in range(30)])

    assert facts["signal.loss.max"] == pytest.approx(3e301)
    assert all(np.isfinite(value) for value in facts.values() if isinstance(value, float))


def test_first_loss_above_the_uniform_guess():
    maker = (
        RunMaker()
        .log({"loss": falling(20, 24.9, 10.3)})
        .config("model", path="model/config.json", vocab_size=512)
    )

    assert maker.plain()["signal.loss.first_above_uniform"] is True


def test_first_loss_without_vocabulary_is_open():
    assert "signal.loss.first_above_uniform" not in shape(falling(20, 24.9, 10.3))


def test_growth_before_onset():
    """Divergence: the loss climbs at finite values before the first NaN."""
    facts = shape(falling(60) + [2.0, 3.0, 4.5, 6.0, 8.0] + [NAN] * 10)

    assert facts["signal.loss.growth_before_onset"] > 3


def test_quiet_before_onset():
    facts = shape(falling(60) + [NAN] * 10)

    assert facts["signal.loss.growth_before_onset"] < 1.2


def test_loss_column_absent_from_a_metric_file():
    assert RunMaker().log({"grad_norm": norms(5)}).plain()["signal.loss.seen"] is False


class TestGradNorm:
    def test_growth_before_onset(self):
        norm = norms(60) + [20.0, 40.0, 80.0] + [NAN] * 10
        facts = shape(falling(73), grad_norm=norm)

        assert facts["signal.grad_norm.growth_before_onset"] > 20
        assert facts["signal.grad_norm.max"] == 80.0

    def test_quiet_before_onset(self):
        assert (
            shape(falling(70), grad_norm=norms(60) + [NAN] * 10)["signal.grad_norm.growth_before_onset"] < 2
        )

    def test_vanishing(self):
        norm = list(np.geomspace(1.0, 1e-6, 100))

        assert shape(flat(100), grad_norm=norm)["signal.grad_norm.vanishing"] is True

    def test_exactly_zero_is_not_vanishing(self):
        facts = shape(flat(100), grad_norm=[0.0] * 100)

        assert facts["signal.grad_norm.zero_share"] == 1.0
        assert facts["signal.grad_norm.vanishing"] is False

    def test_a_zero_norm_beside_a_positive_loss_is_noted(self):
        beside = shape(flat(20), grad_norm=[0.0] * 5 + norms(15))
        together = shape([0.0] * 5 + flat(15), grad_norm=[0.0] * 5 + norms(15))

        assert beside["signal.grad_norm.zero_with_loss"] is True
        assert together["signal.grad_norm.zero_with_loss"] is False

    def test_zero_share_counts_all_norms(self):
        assert shape(flat(100), grad_norm=[NAN] * 98 + [0.0] * 2)[
            "signal.grad_norm.zero_share"
        ] == pytest.approx(0.02)

    def test_spike_ratio(self):
        norm = norms(100)
        norm[40] = 960.0

        assert shape(falling(100), grad_norm=norm)["signal.grad_norm.spike_ratio"] > 500


class TestEvaluation:
    def test_overfitting(self):
        maker = RunMaker().log({"loss": falling(500, 2.3, 0.01)})
        maker.log({"eval_loss": [2.0, 1.8, 1.9, 2.4, 3.0]}, first=100, every=100)
        facts = maker.plain()

        assert facts["signal.eval.rises_while_train_falls"] is True
        assert facts["signal.eval.loss_best"] == 1.8
        assert facts["signal.eval.loss_first"] == 2.0
        assert facts["signal.eval.loss_last"] == 3.0

    def test_both_rise(self):
        maker = RunMaker().log({"loss": falling(200, 2.3, 1.0) + list(np.linspace(1.0, 3.0, 300))})
        maker.log({"eval_loss": [2.0, 1.2, 1.9, 2.4, 3.0]}, first=100, every=100)

        assert maker.plain()["signal.eval.rises_while_train_falls"] is False

    def test_nan_in_evaluation_only(self):
        maker = RunMaker().log({"loss": falling(100)}).log({"eval_loss": [2.0, NAN, 1.7]}, first=30, every=30)
        facts = maker.plain()

        assert facts["signal.eval.nonfinite"] is True
        assert facts["signal.nonfinite_loss.seen"] is False


def chance(classes, *, count=60, scatter=0.0004, seed=1):
    return list(np.log(classes) * (1 + scatter * np.random.default_rng(seed).standard_normal(count)))


class TestAtChance:
    @pytest.mark.parametrize("classes", [2, 10, 100, 1000])
    def test_usual_number_of_classes_without_an_accuracy(self, classes):
        assert shape(chance(classes))["signal.loss.at_chance"] is True

    @pytest.mark.parametrize(("classes", "percent"), [(7, 1.0), (10, 100.0), (37, 1.0)])
    def test_accuracy_names_the_classes(self, classes, percent):
        facts = shape(chance(classes), accuracy=[percent / classes] * 60)
        assert facts["signal.loss.at_chance"] is True

    @pytest.mark.parametrize("accuracy", [0.55, 0.9])
    def test_accuracy_above_a_guess_contradicts(self, accuracy):
        assert shape(chance(10), accuracy=[accuracy] * 60)["signal.loss.at_chance"] is False

    def test_other_levels_noise_and_descent_are_no_chance(self):
        assert shape(chance(7))["signal.loss.at_chance"] is False
        assert shape(chance(10, scatter=0.02))["signal.loss.at_chance"] is False
        assert shape(falling(100, start=2.32, end=1.9))["signal.loss.at_chance"] is False

    def test_few_points_tell_nothing(self):
        assert "signal.loss.at_chance" not in shape(chance(10, count=20))

    def test_loss_of_a_language_model_is_compared_with_no_number_of_classes(self):
        maker = (
            RunMaker().log({"loss": chance(10)}).config("model", path="model/config.json", vocab_size=32000)
        )
        assert "signal.loss.at_chance" not in maker.plain()


@pytest.mark.parametrize(("losses", "falls", "rises"), [
    ([2.0, 1.8, 1.6, 1.4, 1.2, 1.0], True, False),
    ([1.0, 1.2, 1.4, 1.6, 1.8, 2.0], False, True),
    ([2.0, 1.8, 2.1, 1.4, 1.6, 1.5], False, False),
    ([2.0, 1.999, 1.998, 1.997, 1.996, 1.995], False, False),
])  # fmt: skip
def test_points_that_go_one_way_one_by_one_are_no_scatter(losses, falls, rises):
    facts = shape(losses)

    assert (facts["signal.loss.falls"], facts["signal.loss.rises"]) == (falls, rises)


def test_a_round_over_batches_that_are_unlike_is_no_rise_where_each_costs_less_than_before():
    rounds = [value * 0.95**number for number in range(5) for value in (0.5, 30.0, 9.0, 900.0, 1800.0)]
    facts = shape([30.0, 900.0, *rounds])

    assert facts["signal.progress.rose_and_stays"] is False
    assert shape(sorted(rounds))["signal.progress.rose_and_stays"] is True
