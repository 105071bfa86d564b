"""Calibration that ends, a fall that does not, and both told by messages or by a series."""

from __future__ import annotations

from itertools import pairwise

import pytest
from make_run import INF, NAN, RunMaker, falling, norms

LADDER = [2.0**power for power in range(16, -1, -1)]


def deepspeed(count, **config):
    keys = {
        "fp16__enabled": True,
        "fp16__initial_scale_power": 16,
        "fp16__hysteresis": 2,
        "fp16__min_loss_scale": 1,
        **config,
    }
    return (
        RunMaker("deepspeed")
        .log({"loss": falling(count, 2.2, 2.1)})
        .config("deepspeed", path="ds_config.json", **keys)
    )


def collapsed():
    maker = deepspeed(18).overflows(LADDER)
    maker.event(
        "loss_scale_minimum", line=186, role="root_candidate", text="Current loss scale already at minimum"
    )
    return maker.event("python_traceback", line=186, role="root_candidate", exception="Exception")


class TestCollapse:
    def test_full_ladder_by_messages(self):
        facts = collapsed().plain()

        assert facts["signal.loss_scale.overflows"] == 18
        assert facts["signal.loss_scale.full_ladder"] is True
        assert facts["signal.loss_scale.at_floor"] is True
        assert facts["signal.loss_scale.floor_step"] == 18
        assert facts["signal.loss_scale.collapsing"] is True
        assert facts["signal.loss_scale.recovers"] is False
        assert facts["signal.loss_scale.good_steps_after_last_overflow"] == 0
        assert facts["signal.loss_scale.halvings"] == 16
        assert facts["signal.loss_scale.first"] == 65536.0
        assert facts["signal.loss_scale.last"] == 1.0
        assert facts["signal.onset.step"] <= 2
        assert facts["signal.onset.in_first_steps"] is True
        assert facts["run.completed"] is False

    def test_most_telling_line_first(self):
        assert collapsed().facts()["signal.loss_scale.collapsing"].refs[0].line == 186

    def test_full_ladder_of_a_quiet_logger(self):
        """DeepSpeed 0.17.6 and newer print no overflow: the monitor and the exception are all there is."""
        maker = deepspeed(18).log({"loss_scale": LADDER}, path="monitor/scale.csv", ingestor="csv-metrics")
        maker.event("loss_scale_minimum", line=186, role="root_candidate")
        facts = maker.plain()

        assert facts["signal.loss_scale.full_ladder"] is True
        assert facts["signal.loss_scale.collapsing"] is True
        assert facts["signal.loss_scale.overflows"] == 18  # the first left the scale as it was: hysteresis
        assert facts["signal.loss_scale.first_overflow_step"] == 1

    def test_messages_and_series_of_the_same_overflows_count_once(self):
        maker = collapsed().log({"loss_scale": LADDER}, path="monitor/scale.csv", ingestor="csv-metrics")

        assert maker.plain()["signal.loss_scale.overflows"] == 18

    def test_console_and_its_copy_count_once(self):
        maker = collapsed()
        for line, (before, after) in enumerate(pairwise(LADDER), start=1):
            maker.event(
                "loss_scale_overflow", line=line, path="wandb/output.log", attempted=before, reducing_to=after
            )

        assert maker.plain()["signal.loss_scale.overflows"] == 18

    def test_every_rank_of_old_deepspeed_reports_the_same_overflow(self):
        maker = deepspeed(60)
        for number in range(3):
            for rank in range(4):
                maker.event(
                    "loss_scale_overflow",
                    line=20 + 10 * number + rank,
                    rank=rank,
                    attempted=64.0,
                    reducing_to=32.0,
                )

        assert maker.plain()["signal.loss_scale.overflows"] == 3

    def test_late_collapse_is_no_full_ladder(self):
        """Llama-3 in XTuner: rows every ten steps, sound until 10, then every step overflows."""
        maker = RunMaker("mmengine", "deepspeed").log(
            {"loss": [2.43, NAN]}, first=10, every=10, window=10, lines=[100, 200]
        )
        maker.config("deepspeed", path="ds_config.json", fp16__enabled=True, fp16__initial_scale_power=16)
        maker.overflows(LADDER, first_line=115, every=9)
        maker.event("loss_scale_minimum", line=280, role="root_candidate", step=29)
        facts = maker.plain()

        assert facts["signal.loss_scale.full_ladder"] is False
        assert facts["signal.loss_scale.collapsing"] is True

    def test_grad_scaler_has_no_floor(self):
        """torch's GradScaler halves far below 1."""
        scales = [32768.0 / 2**i for i in range(60)]
        facts = (
            RunMaker("hf-trainer")
            .log({"loss": falling(60, 5.0, 4.9), "grad_norm": [NAN] * 60, "loss_scale": scales})
            .plain()
        )

        assert facts["signal.loss_scale.below_one"] is True
        assert facts["signal.loss_scale.collapsing"] is True
        assert facts["signal.loss_scale.full_ladder"] is True
        assert "signal.loss_scale.at_floor" not in facts
        assert facts["config.precision"] == "fp16"

    def test_run_that_goes_on_at_its_floor_is_not_called_recovered(self):
        """Megatron keeps skipping at its minimum; a scale that cannot fall says nothing about the steps."""
        scales = [2.0 ** max(16 - i, 0) for i in range(100)]
        maker = RunMaker("megatron").log({"lm loss": falling(100, 9.0, 8.9), "loss scale": scales})
        facts = maker.config("megatron", min_loss_scale=1.0).plain()

        assert facts["signal.loss_scale.at_floor"] is True
        assert "signal.loss_scale.recovers" not in facts
        assert "signal.loss_scale.collapsing" not in facts


class TestCalibration:
    def test_ten_halvings_then_good_steps(self):
        maker = deepspeed(200).overflows(LADDER[:8])
        facts = maker.plain()

        assert facts["signal.loss_scale.recovers"] is True
        assert facts["signal.loss_scale.collapsing"] is False
        assert facts["signal.loss_scale.full_ladder"] is False
        assert facts["signal.loss_scale.good_steps_after_last_overflow"] > 100
        assert facts["signal.loss_scale.overflow_share"] < 0.1
        assert "signal.onset.step" not in facts

    def test_fourteen_halvings_from_a_scale_of_old_configs(self):
        scales = [2.0 ** max(32 - i, 18) for i in range(120)]
        facts = RunMaker("deepspeed").log({"loss": falling(120), "loss_scale": scales}).plain()

        assert facts["signal.loss_scale.halvings"] == 14
        assert facts["signal.loss_scale.recovers"] is True
        assert facts["signal.loss_scale.pinned_low"] is False

    def test_search_that_ends_below_128_is_no_collapse(self):
        """Small special-token rows cost thirteen halvings and then train."""
        scales = [2.0 ** max(16 - i, 3) for i in range(100)]
        facts = RunMaker("deepspeed").log({"loss": falling(100), "loss_scale": scales}).plain()

        assert facts["signal.loss_scale.last"] == 8.0
        assert facts["signal.loss_scale.collapsing"] is False
        assert facts["signal.loss_scale.at_floor"] is False

    def test_overflow_of_each_growth_window(self):
        scales = [65536.0] * 500 + [32768.0] * 495
        facts = (
            RunMaker()
            .log({"loss": falling(995), "loss_scale": [*scales[:-3], 16384.0, 16384.0, 16384.0]})
            .plain()
        )

        assert facts["signal.loss_scale.overflows"] == 2
        assert (
            "signal.loss_scale.recovers" not in facts
        )  # too near the end to tell, and too usual to call it open
        assert facts["signal.loss_scale.collapsing"] is False

    def test_rise_after_the_last_overflow_is_recovery(self):
        facts = RunMaker().log({"loss": falling(8), "loss_scale": [64, 32, 16, 16, 16, 32, 32, 32]}).plain()

        assert facts["signal.loss_scale.recovers"] is True
        assert facts["signal.loss_scale.last_halvings_run"] == 0

    def test_coarse_log_shows_several_halvings_at_once(self):
        facts = (
            RunMaker()
            .log({"loss": falling(10), "loss_scale": [65536.0, *[4096.0] * 9]}, every=50, first=50)
            .plain()
        )

        assert facts["signal.loss_scale.halvings"] == 4
        assert facts["signal.loss_scale.overflows"] == 4


class TestNoScaler:
    def test_constant_one_is_the_column_of_a_run_without_scaler(self):
        """BLOOM in bf16 prints "loss scale: 1.0" in every line."""
        facts = RunMaker("megatron").log({"lm loss": falling(2000), "loss scale": [1.0] * 2000}).plain()

        assert facts["config.uses_loss_scaler"] is False
        assert facts["signal.loss_scale.at_floor"] is False
        assert facts["signal.loss_scale.pinned_low"] is False
        assert facts["signal.loss_scale.collapsing"] is False

    def test_overflow_message_of_bf16_names_no_scale(self):
        maker = RunMaker("deepspeed").log({"loss": falling(40)}).config("deepspeed", bf16__enabled=True)
        facts = maker.event(
            "loss_scale_overflow", line=25, rank=0, text="OVERFLOW! Rank 0 Skipping step."
        ).plain()

        assert facts["config.precision"] == "bf16"
        assert facts["config.uses_loss_scaler"] is False
        assert facts["signal.loss_scale.overflows"] == 1


def test_messages_below_the_last_row_tell_a_newer_scale():
    maker = RunMaker().log({"loss": [2.0, 2.1], "loss_scale": [0.5, 0.5]}, first=10_000)
    facts = maker.overflows([0.5, 0.25, 0.125, 0.0625], first_line=25, hysteresis=False).plain()

    assert facts["signal.loss_scale.last"] == 0.0625
    assert facts["signal.loss_scale.min"] == 0.0625
    assert facts["signal.loss_scale.collapsing"] is True
    assert "signal.loss_scale.full_ladder" not in facts  # the log does not show the start


def test_a_scale_that_no_overflow_lowers_is_at_its_floor():
    maker = RunMaker()
    for line in range(1, 5):
        maker.event("loss_scale_overflow", line=line, attempted=1.0, reducing_to=1.0)

    assert maker.plain()["signal.loss_scale.at_floor"] is True


def test_scale_pinned_low_for_a_thousand_steps():
    scales = [2.0 ** max(16 - i, 2) for i in range(300)]
    facts = RunMaker("megatron").log({"lm loss": falling(300), "loss scale": scales}, every=5).plain()

    assert facts["signal.loss_scale.pinned_low"] is True


@pytest.mark.parametrize("broken", [NAN, INF, 0.0, -3.0])
def test_nonsense_in_the_scale_column_is_ignored(broken):
    scales = [65536.0] * 20
    scales[5] = broken
    facts = RunMaker().log({"loss": falling(20), "grad_norm": norms(20), "loss_scale": scales}).plain()

    assert facts["signal.loss_scale.min"] == 65536.0
    assert facts["signal.loss_scale.overflows"] == 0


class TestMessagesBetweenRows:
    """fairseq prints a row every hundred updates, and a message that names no step wherever the scale falls."""

    @staticmethod
    def rows(scales):
        return RunMaker("fairseq").log(
            {"loss": falling(len(scales), 9.0, 8.0), "loss_scale": scales}, first=100, every=100
        )

    def test_message_belongs_to_the_row_that_logs_the_lower_scale(self):
        maker = self.rows([0.062, 0.062, 0.031, 0.004])
        for line, step, scale in (
            (5, None, 0.0625),
            (25, 200, 0.03125),
            (35, 300, 0.015625),
            (36, 300, 0.0078125),
            (37, 300, 0.00390625),
        ):
            maker.event("loss_scale_overflow", line=line, step=step, reducing_to=scale)
        facts = maker.plain()

        assert facts["signal.loss_scale.last_overflow_step"] == 400
        assert facts["signal.loss_scale.recovers"] is False
        assert facts["signal.loss_scale.collapsing"] is True

    def test_message_far_above_the_end_still_recovers(self):
        maker = self.rows([64.0, 32.0, 32.0, 32.0])
        maker.event("loss_scale_overflow", line=15, step=100, reducing_to=32.0)
        facts = maker.plain()

        assert facts["signal.loss_scale.last_overflow_step"] == 200
        assert facts["signal.loss_scale.recovers"] is True


def test_a_scale_of_zero_is_the_end_of_a_fall():
    maker = RunMaker("deepspeed").log({"loss_scale": [4.0, 0.0, 0.0]})
    maker.event("loss_scale_overflow", line=15, step=3, reducing_to=0.0)
    only = RunMaker("deepspeed").event("loss_scale_overflow", line=15, step=3, reducing_to=0.0)

    assert maker.plain()["signal.loss_scale.seen"] is True
    assert only.plain()["signal.loss_scale.seen"] is True
