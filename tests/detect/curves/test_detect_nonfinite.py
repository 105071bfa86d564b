"""NaN in loss and gradient norm: said openly, printed as -1, printed as 0, or absent."""

from __future__ import annotations

import pytest
from make_run import INF, NAN, RunMaker, falling, norms

COUNT = 40


def hf(columns, *, every=1, window=None, **config):
    maker = RunMaker("hf-trainer").log(columns, every=every, first=every, window=window)
    return maker.config(**{"fp16": True, **config}) if config is not None else maker


def test_finite_run_is_known_to_be_finite():
    facts = hf({"loss": falling(COUNT), "grad_norm": norms(COUNT)}).plain()

    assert facts["signal.nonfinite_loss.seen"] is False
    assert facts["signal.nonfinite_grad.seen"] is False
    assert facts["signal.nonfinite_grad.harmful"] is False
    assert facts["signal.loss_zero.seen"] is False
    assert "signal.nonfinite_loss.first_step" not in facts
    assert "signal.onset.step" not in facts


@pytest.mark.parametrize(("between", "seen"), [(0.0004, False), (1.9, True)])
def test_zeros_between_losses_that_are_nearly_zero_are_rounded(between, seen):
    facts = RunMaker().log({"loss": [*falling(COUNT), *[between, 0.0] * 5, between]}).plain()

    assert facts["signal.loss_zero.seen"] is seen


@pytest.mark.parametrize(("last", "of_training"), [(2.0**18, None), (2.0**15, True)])
def test_a_norm_beside_a_loss_scale_that_grew_is_infinite_at_skipped_steps_only(last, of_training):
    scale = [2.0**16, *[2.0**17] * 10, last]
    columns = {"loss": falling(12), "grad_norm": [INF] * 12, "loss_scale": scale}

    assert RunMaker().log(columns).plain().get("signal.exact.nonfinite_training") is of_training


def test_nothing_logged_is_unknown_and_never_false():
    facts = RunMaker().config(fp16=True).plain()

    assert not [name for name in facts if name.startswith("signal.")]


def test_missing_gradient_norm_is_unknown():
    facts = hf({"loss": falling(COUNT)}).plain()

    assert facts["signal.grad_norm.seen"] is False
    assert not [name for name in facts if name.startswith("signal.nonfinite_grad.")]


def test_nan_from_step_21_on():
    losses = falling(20) + [NAN] * 20
    facts = hf({"loss": losses, "grad_norm": norms(20) + [NAN] * 20}).plain()

    assert facts["signal.nonfinite_loss.first_step"] == 21
    assert facts["signal.nonfinite_loss.count"] == 20
    assert facts["signal.nonfinite_loss.share"] == pytest.approx(0.5)
    assert facts["signal.nonfinite_loss.persists"] is True
    assert facts["signal.nonfinite_loss.from_first_log"] is False
    assert facts["signal.nonfinite_loss.healthy_steps_before"] == 20
    assert facts["signal.nonfinite_grad.harmful"] is True
    assert facts["signal.nonfinite_grad.with_finite_loss"] is False
    assert facts["signal.loss.last"] == pytest.approx(losses[19])


def test_first_reference_is_the_first_bad_row():
    facts = hf({"loss": falling(20) + [NAN] * 20}).facts()

    assert facts["signal.nonfinite_loss.seen"].refs[0].line == 210
    assert len(facts["signal.nonfinite_loss.seen"].refs) == 5


def test_infinite_loss_counts_and_recovers():
    losses = falling(COUNT)
    losses[10] = INF
    facts = hf({"loss": losses}).plain()

    assert facts["signal.nonfinite_loss.seen"] is True
    assert facts["signal.nonfinite_loss.persists"] is False
    assert facts["signal.nonfinite_loss.share_after_onset"] == pytest.approx(1 / 30)


def test_window_mean_bounds_the_first_bad_step():
    """mmengine prints means over ten steps: NaN at 20 began in 11..20."""
    maker = RunMaker("mmengine").log({"loss": [1.825, NAN, NAN, NAN]}, first=10, every=10, window=10)
    facts = maker.plain()

    assert facts["signal.nonfinite_loss.first_step"] == 20
    assert facts["signal.nonfinite_loss.earliest_step"] == 11
    assert facts["signal.nonfinite_loss.healthy_steps_before"] == 10


def test_window_never_reaches_before_the_last_finite_loss():
    maker = RunMaker().log({"loss": [2.0, 2.0, NAN]}, steps=[5, 10, 12], window=10)

    assert maker.plain()["signal.nonfinite_loss.earliest_step"] == 11


def test_deepspeed_prints_minus_one_for_a_nonfinite_norm():
    facts = RunMaker("deepspeed").log({"loss": falling(COUNT), "grad_norm": [-1.0] * COUNT}).plain()

    assert facts["signal.nonfinite_grad.seen"] is True
    assert facts["signal.nonfinite_grad.share"] == 1.0
    assert facts["signal.nonfinite_grad.harmful"] is True
    assert facts["signal.nonfinite_grad.with_finite_loss"] is True
    assert "signal.grad_norm.median" not in facts


def test_minus_one_in_one_row_is_a_sentinel_without_deepspeed_too():
    values = norms(COUNT)
    values[7] = -1.0

    assert (
        RunMaker()
        .log({"loss": falling(COUNT), "grad_norm": values})
        .plain()["signal.nonfinite_grad.first_step"]
        == 8
    )


def test_column_of_minus_one_elsewhere_means_not_computed():
    facts = RunMaker("fairseq").log({"loss": falling(COUNT), "grad_norm": [-1.0] * COUNT}).plain()

    assert "signal.nonfinite_grad.seen" not in facts


def test_negative_values_of_something_that_is_no_norm():
    values = [(-1.0) ** i * 0.5 for i in range(COUNT)]
    values[3] = -1.0
    facts = RunMaker().log({"loss": falling(COUNT), "grad_norm": values}).plain()

    assert facts["signal.nonfinite_grad.seen"] is False


class TestMask:
    """HF Trainer prints a NaN loss as 0 or as a share of the running mean."""

    def test_zero_with_nan_norm_is_a_masked_nan(self):
        facts = hf({"loss": [0.0] * COUNT, "grad_norm": [NAN] * COUNT}).plain()

        assert facts["signal.nonfinite_loss.seen"] is True
        assert facts["signal.nonfinite_loss.logged"] is False
        assert facts["signal.nonfinite_loss.masked"] is True
        assert facts["signal.loss_zero.masks_nan"] is True
        assert facts["signal.loss_zero.with_zero_grad"] is False
        assert facts["signal.nonfinite_grad.with_finite_loss"] is False
        assert facts["config.train.nan_filter"] is True
        assert "signal.loss.last" not in facts

    @pytest.mark.parametrize(
        ("after", "masked"), [([1.414] * 3, True), ([1.414, 1.3, 1.2], False), ([0.0] * 3, False)]
    )
    def test_zero_beside_a_norm_that_repeats_itself_is_a_masked_nan(self, after, masked):
        """DeepSpeed counts -1 for each group whose gradient overflowed: the norm is the root of their number, step by step."""
        facts = hf({"loss": [2.7, 0.0, 0.0, 0.0], "grad_norm": [1.414, *after]}).plain()
        learned = hf({"loss": [0.02, 0.0, 0.0, 0.0], "grad_norm": [1.414, *after]}).plain()

        assert facts.get("signal.loss_zero.masks_nan", False) is masked
        assert learned.get("signal.loss_zero.masks_nan", False) is False

    def test_masked_losses_are_no_points_of_the_curve(self):
        losses = falling(20) + [0.0] * 20
        facts = hf({"loss": losses, "grad_norm": norms(20) + [NAN] * 20}).plain()

        assert facts["signal.loss.min"] > 1.0
        assert facts["signal.nonfinite_loss.persists"] is True

    def test_zero_with_zero_norm_is_open_behind_the_filter(self):
        """Every label masked: a summed loss is 0, a mean loss is 0/0 = NaN and printed as 0; both have a norm of 0."""
        facts = hf({"loss": [0.0] * COUNT, "grad_norm": [0.0] * COUNT}).plain()

        assert facts["signal.loss_zero.with_zero_grad"] is True
        assert facts["signal.loss_zero.masks_nan"] is False
        assert facts["signal.nonfinite_loss.logged"] is False
        assert "signal.nonfinite_loss.seen" not in facts

    def test_zero_with_zero_norm_without_the_filter_is_no_nan(self):
        facts = RunMaker("mmengine").log({"loss": [0.0] * COUNT, "grad_norm": [0.0] * COUNT}).plain()

        assert facts["signal.nonfinite_loss.seen"] is False

    def test_zero_with_finite_norm_is_a_legitimate_zero(self):
        """GRPO losses are 0 by construction."""
        facts = hf({"loss": [0.0] * COUNT, "grad_norm": norms(COUNT), "rewards/mean": [0.1] * COUNT}).plain()

        assert facts["signal.loss_zero.with_finite_grad"] is True
        assert facts["signal.nonfinite_loss.seen"] is False
        assert facts["run.rl"] is True

    def test_zero_without_norm_under_a_frozen_moving_schedule(self):
        facts = hf(
            {"loss": [0.0] * COUNT, "learning_rate": [1e-4] * COUNT},
            lr_scheduler_type="linear",
            learning_rate=1e-4,
        ).plain()

        assert facts["signal.loss_zero.masks_nan"] is True
        assert facts["signal.nonfinite_loss.seen"] is True

    def test_zero_without_norm_under_a_constant_schedule_proves_nothing(self):
        facts = hf(
            {"loss": [0.0] * COUNT, "learning_rate": [1e-4] * COUNT},
            lr_scheduler_type="constant",
            learning_rate=1e-4,
        ).plain()

        assert facts["signal.loss_zero.seen"] is True
        assert "signal.loss_zero.masks_nan" not in facts

    def test_losses_that_keep_varying_are_genuine(self):
        """Every norm is NaN: were the losses NaN as well, all of them would print 0."""
        facts = hf({"loss": falling(COUNT, 2.4, 2.3), "grad_norm": [NAN] * COUNT}).plain()

        assert facts["signal.nonfinite_grad.with_finite_loss"] is True
        assert facts["signal.nonfinite_loss.seen"] is False

    def test_losses_of_windows_of_ten_steps_are_genuine_if_no_window_is_zero(self):
        facts = hf(
            {"loss": falling(COUNT, 2.4, 2.3), "grad_norm": [NAN] * COUNT}, every=10, window=10
        ).plain()

        assert facts["signal.nonfinite_grad.with_finite_loss"] is True

    def test_two_rows_under_accumulation_prove_nothing(self):
        losses, values = falling(COUNT), norms(COUNT)
        values[10] = values[30] = NAN
        facts = hf({"loss": losses, "grad_norm": values}, gradient_accumulation_steps=8).plain()

        assert facts["signal.nonfinite_grad.seen"] is True
        assert "signal.nonfinite_grad.with_finite_loss" not in facts

    def test_halved_losses_of_mixed_windows_stay_open(self):
        """A NaN after the first finite loss of a window prints about half of the usual loss."""
        losses, values = [2.0 + 0.01 * i for i in range(COUNT)], norms(COUNT)
        for row in range(10, 20):
            losses[row] *= 0.55
            values[row] = NAN
        facts = hf({"loss": losses, "grad_norm": values}, every=10, gradient_accumulation_steps=4).plain()

        assert "signal.nonfinite_grad.with_finite_loss" not in facts

    def test_single_row_of_one_micro_batch_is_genuine(self):
        losses, values = falling(COUNT), norms(COUNT)
        values[10] = NAN
        facts = hf({"loss": losses, "grad_norm": values}, gradient_accumulation_steps=1).plain()

        assert facts["signal.nonfinite_grad.with_finite_loss"] is True

    def test_without_the_filter_a_printed_loss_is_genuine(self):
        losses, values = falling(COUNT), norms(COUNT)
        values[10] = NAN
        facts = hf(
            {"loss": losses, "grad_norm": values}, logging_nan_inf_filter=False, gradient_accumulation_steps=8
        ).plain()

        assert facts["signal.nonfinite_grad.with_finite_loss"] is True
        assert facts["config.train.nan_filter"] is False


class TestHarm:
    def test_calibration_is_harmless(self):
        """A scaler that searches gives infinite norms in its first steps."""
        values = [INF, INF, INF, *norms(97)]
        facts = hf({"loss": falling(100), "grad_norm": values}).plain()

        assert facts["signal.nonfinite_grad.harmful"] is False
        assert facts["signal.nonfinite_grad.recovers"] is True
        assert facts["signal.nonfinite_grad.from_first_log"] is True
        assert facts["signal.nonfinite_grad.isolated"] is False
        assert "signal.onset.step" not in facts

    def test_isolated_overflow_in_mid_run(self):
        values = norms(100)
        values[50] = INF
        facts = hf({"loss": falling(100), "grad_norm": values}).plain()

        assert facts["signal.nonfinite_grad.isolated"] is True
        assert facts["signal.nonfinite_grad.harmful"] is False

    def test_log_that_ends_while_a_scaler_may_search_is_open(self):
        facts = hf({"loss": falling(8), "grad_norm": [INF] * 8}).plain()

        assert "signal.nonfinite_grad.harmful" not in facts
        assert facts["signal.nonfinite_grad.undecided"] is True

    def test_eight_bad_norms_in_bf16_are_no_calibration(self):
        facts = (
            RunMaker("hf-trainer").log({"loss": falling(8), "grad_norm": [NAN] * 8}).config(bf16=True).plain()
        )

        assert facts["signal.nonfinite_grad.harmful"] is True

    def test_run_that_ends_in_nan_is_harmed_however_late(self):
        facts = hf({"loss": falling(1000), "grad_norm": norms(990) + [NAN] * 10}).plain()

        assert facts["signal.nonfinite_grad.harmful"] is True
        assert facts["signal.nonfinite_grad.healthy_steps_before"] == 990

    def test_last_row_alone_is_a_skipped_step(self):
        facts = hf({"loss": falling(1000), "grad_norm": [*norms(999), INF]}).plain()

        assert facts["signal.nonfinite_grad.harmful"] is False

    def test_two_rows_a_hundred_steps_apart_are_enough(self):
        facts = hf({"loss": [2.0, 1.9], "grad_norm": [NAN, NAN]}, every=100).plain()

        assert facts["signal.nonfinite_grad.harmful"] is True


class TestMessages:
    def test_stop_because_of_a_nan_loss(self):
        maker = RunMaker().log({"loss": falling(10)})
        maker.event(
            "nan_stop",
            line=105,
            role="root_candidate",
            text="Loss is nan, stopping training",
            value="nan",
            step=11,
        )
        facts = maker.plain()

        assert facts["signal.nonfinite_loss.seen"] is True
        assert facts["signal.nonfinite_loss.persists"] is True
        assert facts["signal.nonfinite_loss.first_step"] == 11

    def test_bucket_check_speaks_of_the_gradient(self):
        maker = RunMaker("megatron").log({"loss": falling(10)})
        text = "Rank 3: found NaN in local grad norm for bucket #0 in backward pass"
        maker.event("nan_stop", line=105, role="root_candidate", text=text, step=11)
        facts = maker.plain()

        assert facts["signal.nonfinite_loss.seen"] is False
        assert facts["signal.nonfinite_grad.seen"] is True

    def test_skipped_steps_of_xtuner(self):
        maker = RunMaker("xtuner").log({"loss": falling(10)})
        for line in (35, 45):
            maker.event(
                "gradient_skipped",
                line=line,
                value="nan",
                text="Gradient norm nan is invalid, skipping optimizer step.",
            )
        facts = maker.plain()

        assert facts["signal.nonfinite_grad.count"] == 2
        assert facts["signal.nonfinite_grad.first_step"] == 4
        assert facts["signal.nonfinite_grad.with_finite_loss"] is True

    def test_clipped_step_of_xtuner_is_finite(self):
        maker = RunMaker("xtuner").log({"loss": falling(10)})
        maker.event("gradient_skipped", line=35, value="812.3", threshold="100")

        assert "signal.nonfinite_grad.seen" not in maker.plain()


class TestSources:
    def test_bad_rows_of_another_logger_are_seen(self):
        """Megatron drops a NaN loss from its console; TensorBoard has it."""
        maker = RunMaker("megatron").log({"lm loss": falling(40)})
        maker.log({"lm loss": falling(20) + [NAN] * 10}, path="events.out.tfevents.1", ingestor="tensorboard")
        facts = maker.plain()

        assert facts["signal.nonfinite_loss.first_step"] == 21
        assert facts["signal.loss.points"] == 30

    def test_same_rows_of_two_loggers_count_once(self):
        losses = falling(20) + [NAN] * 20
        maker = RunMaker().log({"loss": losses})
        maker.log({"train/loss": losses}, path="events.out.tfevents.1", ingestor="tensorboard")
        maker.log({"loss": losses}, path="wandb/files/output.log")
        facts = maker.facts()

        assert facts.plain["signal.nonfinite_loss.count"] == 20
        assert facts["signal.nonfinite_loss.seen"].refs[0].source == 0


class TestAttempts:
    @staticmethod
    def restarted(second, *, first_step):
        maker = RunMaker()
        maker.log({"loss": falling(100) + [NAN] * 20}, path="first.log").attempt("first.log", 100.0)
        maker.log({"loss": second}, path="second.log", first=first_step).attempt("second.log", 200.0)
        return maker

    def test_nan_that_the_restart_has_not_reached_is_seen(self):
        facts = self.restarted(falling(15, 1.6, 1.5), first_step=81).plain()

        assert facts["signal.nonfinite_loss.seen"] is True
        assert facts["signal.nonfinite_loss.first_step"] == 101
        assert facts["signal.nonfinite_loss.persists"] is True

    def test_nan_that_the_restart_has_passed_is_overcome(self):
        facts = self.restarted(falling(120, 1.6, 1.4), first_step=81).plain()

        assert facts["signal.nonfinite_loss.seen"] is False
        assert facts["signal.nonfinite_loss.overcome_by_restart"] is True
        assert facts["signal.loss.points"] == 200
        assert facts["run.last_step"] == 200

    def test_nan_of_the_last_attempt_counts(self):
        facts = self.restarted([*falling(30, 1.6, 1.4), NAN, NAN], first_step=81).plain()

        assert facts["signal.nonfinite_loss.first_step"] == 111
        assert facts["signal.nonfinite_loss.count"] == 2


class TestSeveralFiles:
    """Files with the same steps and no stated order: none overrules another one that ends in NaN."""

    GOOD, BAD = falling(60), [NAN] * 60

    @pytest.mark.parametrize("names", [("a.log", "b.log"), ("train.log", "train.log.1"), ("b.log", "a.log")])
    @pytest.mark.parametrize("steps", [True, None])
    def test_file_that_ends_in_nan_counts_beside_a_good_one(self, names, steps):
        good, bad = names
        maker = RunMaker().log({"loss": self.GOOD, "grad_norm": self.GOOD}, path=good, steps=steps)
        facts = maker.log({"loss": self.BAD, "grad_norm": self.BAD}, path=bad, steps=steps).plain()

        assert facts["signal.nonfinite_loss.persists"] is True
        assert facts["signal.nonfinite_grad.seen"] is True

    def test_shorter_broken_file_counts_too(self):
        maker = RunMaker().log({"loss": self.GOOD}, path="a.log")
        assert maker.log({"loss": [2.0] * 20 + [NAN] * 20}, path="b.log").plain()[
            "signal.nonfinite_loss.persists"
        ]

    def test_resumed_log_that_passed_the_fault_overcomes_it(self):
        maker = RunMaker().log({"loss": [2.0] * 30 + [NAN] * 10}, path="a.log")
        facts = maker.log({"loss": falling(100)}, path="b.log", first=25).plain()

        assert facts["signal.nonfinite_loss.seen"] is False

    def test_copy_of_a_part_of_the_log_is_no_rival(self):
        losses = [2.0] * 20 + [NAN] * 5 + falling(40)
        maker = RunMaker().log({"loss": losses}, path="a.log", steps=None)
        facts = maker.log({"loss": losses[:25]}, path="copy.log", steps=None).plain()

        assert facts["signal.nonfinite_loss.persists"] is False

    def test_known_order_of_attempts_stays(self):
        maker = RunMaker().log({"loss": self.BAD}, path="a.log").log({"loss": self.GOOD}, path="b.log")
        facts = maker.attempt("a.log", 100.0).attempt("b.log", 900.0).plain()

        assert facts["signal.nonfinite_loss.seen"] is False


@pytest.mark.parametrize("rows", [400, 40])
def test_a_norm_that_is_printed_only_where_the_scaler_skips_tells_of_no_other_step(rows):
    """The search for a scale and its later probes print an infinite norm and the skip; beside every row it would be a fault."""
    maker = RunMaker().log({"loss": falling(rows)})
    at = [10 * n + 5 for n in range(1, 41)]
    maker.log({"grad_norm": [INF] * 40}, steps=None, lines=at)
    for line in at:
        maker.event("loss_scale_overflow", line=line + 1, role="info")

    facts = maker.plain()

    assert facts.get("signal.nonfinite_grad.harmful", False) is (rows == 40)
    assert facts["signal.exact.all_finite"] is (rows != 40)


REWARDS = {"reward": [-6.7, -3.2, -1.7, -0.7], "episode_reward": [-1340.0, -648.0, -340.0, -133.0]}


@pytest.mark.parametrize(
    ("ends", "lost"),
    [
        ({"reward": [NAN], "episode_reward": [NAN]}, True),
        ({"reward": [-0.5], "episode_reward": [NAN]}, False),  # no episode ended
        ({"reward": [NAN, -0.4], "episode_reward": [NAN, -90.0]}, False),
    ],
)
def test_rewards_of_a_step_and_of_an_episode_that_are_lost_together_are_values_that_broke(ends, lost):
    rows = {name: values + ends[name] for name, values in REWARDS.items()}
    rows["loss"] = [0.8, 1.6, 3.5, 6.5, 6.7, 6.8][: len(rows["reward"])]

    assert (RunMaker().log(rows).plain().get("signal.exact.nonfinite_training") is True) is lost
