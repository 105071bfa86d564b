"""Names that no table holds are read by their words; what is a part, a setting or of another phase stays apart."""

import numpy as np
import pytest
from structured_reading import read_files

from analyzer.detect.base import RunView
from analyzer.errors import InputError
from analyzer.ingest.chosen_names import parse_choices, with_names
from analyzer.ingest.names import canonical_metric, unit_factor

WHOLE = {
    "loss": ["lm-loss-training/lm loss", "train_loss_epoch", "avr_loss", "loss_tot", "trainLoss", "Loss/train", "Total Loss", "loss_avg_epoch", "train.cross_entropy", "TrainLossPerSample", "loss_per_token"],
    "eval_loss": ["Loss/validation", "lm-loss-validation/lm loss validation", "valLoss", "mean_val_loss", "test/avg_loss", "dev/lm_loss"],
    "loss_scale": ["loss-scale/loss-scale", "train/grad_scaler"],
    "grad_norm": ["grad-norm/grad-norm", "grads/global_norm", "GradientNorm"],
    "eval_accuracy": ["Accuracy/test", "Test Accurancy", "valAcc", "val_sparse_categorical_accuracy", "target_val_acc"],
    "eval_perplexity": ["lm-loss-validation/lm loss validation ppl"],
    "entropy_loss": ["train/entropy_loss", "Losses/entropy_loss"],
    "reward_mean": ["Environment/Cumulative Reward", "avg_reward_100", "Mean_100_Reward"],
    "value_loss": ["Losses/Value Loss"],
    "entropy": ["Policy/Entropy"],
    "step_time_s": ["perf/batch_time", "iter_time_ms"],
}  # fmt: skip


@pytest.mark.parametrize(("canonical", "name"), [(c, n) for c, names in WHOLE.items() for n in names])
def test_a_name_says_what_it_is(canonical, name):
    assert canonical_metric(name) == canonical


@pytest.mark.parametrize(
    "name",
    ["loss_cls", "Loss_D", "loss_weight", "grad_norm/layer3", "teacher/loss", "val_loss_min", "lm loss vs tokens", "loss_fn", "eval/episode_reward",
     "time_metrics/data_loading(%)", "epoch/loss", "lr_warmup_steps", "loss_spike_count", "EvalErrPerSample", "loss_per_layer", "target_loss", "learning_rate_per_sample", "reward_2"],
)  # fmt: skip
def test_parts_settings_and_other_models_keep_their_names(name):
    assert canonical_metric(name) == name.lower()


def test_milliseconds_in_the_words_become_seconds():
    assert (unit_factor("iter_time_ms"), unit_factor("perf/batch_time")) == (1e-3, 1.0)


def run_of(**columns):
    """A run that logged some columns, written as a CSV file."""
    lines = [",".join(["step", *columns])]
    lines += [
        ",".join(str(cell) for cell in (at, *row))
        for at, row in enumerate(zip(*columns.values(), strict=True))
    ]
    return read_files({"metrics.csv": "\n".join(lines) + "\n"})


class TestStandIn:
    @pytest.mark.parametrize(
        "name",
        ["cost", "train_mse", "objective", "bpb", "train_nll", "fold1/loss", "training_binary_logloss"],
    )
    def test_what_is_minimised_stands_for_a_loss_that_nobody_logged(self, name):
        series = RunView(run_of(**{name: (3.0, 2.0, 1.0)})).curve("loss")

        assert (series.logged_as, series.value.tolist()) == (name, [3.0, 2.0, 1.0])

    def test_held_out_values_stand_for_the_loss_on_held_out_data(self):
        view = RunView(run_of(train_mse=(3.0, 2.0, 1.0), valid_mse=(4.0, 3.0, 2.0)))

        assert view.curve("eval_loss").logged_as == "valid_mse"

    @pytest.mark.parametrize(
        ("name", "stands"), [("valid_1_binary_logloss", True), ("val_0_rmse", True), ("task_0_rmse", False)]
    )
    def test_the_number_of_a_held_out_set_is_no_part_of_its_quantity(self, name, stands):
        series = RunView(run_of(**{"train_mse": (3.0, 2.0, 1.0), name: (4.0, 3.0, 2.0)})).curve("eval_loss")

        assert (series is not None) == stands

    def test_a_loss_of_its_own_name_needs_none(self):
        assert RunView(run_of(loss=(1.0, 1.0, 1.0), cost=(3.0, 2.0, 1.0))).curve("loss").logged_as == "loss"

    @pytest.mark.parametrize("columns", [("loss_d", "loss_g"), ("policy_loss", "cost"), ("loss_weight",)])
    def test_players_and_settings_stand_for_nothing(self, columns):
        assert RunView(run_of(**dict.fromkeys(columns, (3.0, 2.0, 1.0)))).curve("loss") is None

    def test_norms_of_layers_make_the_norm_of_the_gradient(self):
        run = run_of(**{"grad_norm/layer1": (3.0, 3.0, 3.0), "grad_norm/layer2": (4.0, 4.0, float("nan"))})
        series = RunView(run).curve("grad_norm")

        assert series.value[:2].tolist() == [5.0, 5.0]
        assert np.isnan(series.value[2])


class TestChoice:
    def test_a_choice_takes_the_place_of_the_loss(self):
        run = with_names(run_of(loss=(3.0, 2.0, 1.0), eval_loss=(9.0, 8.0, 7.0)), {"loss": "eval_loss"})

        assert RunView(run).curve("loss").value.tolist() == [9.0, 8.0, 7.0]
        assert "logged as loss" in run.metrics.names

    def test_a_name_that_was_not_logged_is_an_error_that_lists_what_was(self):
        with pytest.raises(InputError, match="no such metric; it logged loss"):
            with_names(run_of(loss=(3.0, 2.0, 1.0)), {"loss": "mse"})

    @pytest.mark.parametrize("text", ["loss", "=x", "nothing=x", "loss="])
    def test_what_is_no_choice(self, text):
        with pytest.raises(InputError, match="--metric"):
            parse_choices([text])


@pytest.mark.parametrize(
    ("name", "canonical", "factor"),
    [
        ("gpu_mem_mb", "gpu_memory_allocated_gib", 1 / 1024),
        ("train/gpu_mem_gb", "gpu_memory_allocated_gib", 1.0),
        ("cuda_max_memory_gb", "gpu_memory_peak_gib", 1.0),
        ("rss_mb", "host_memory_gib", 1 / 1024),
        ("memory_mb", "memory_mb", 1.0),  # whose?
        ("gpu_mem", "gpu_mem", 1.0),  # in what?
        ("gpu_mem_percent", "gpu_mem_percent", 1.0),
        ("gpu_mem_loss_mb", "gpu_mem_loss_mb", 1.0),
    ],
)
def test_memory_is_known_where_the_name_says_whose_it_is_and_in_what_unit(name, canonical, factor):
    assert (canonical_metric(name), unit_factor(name)) == (canonical, pytest.approx(factor))
