"""Overflows at the end of a log that names no steps, and scales at which no gradient fits any more."""

from __future__ import annotations

import pytest
from make_run import NAN, RunMaker, falling


def apex(scales, lines):
    maker = RunMaker()
    for scale, line in zip(scales, lines, strict=True):
        maker.event("loss_scale_overflow", line=line, reducing_to=float(scale))
    return maker


class TestEndWithoutSteps:
    def test_lines_one_below_the_other_are_steps_in_a_row(self):
        facts = apex([64, 32, 16, 8, 4], [50, 51, 52, 53, 54]).plain()

        assert facts["signal.loss_scale.recovers"] is False
        assert facts["signal.loss_scale.collapsing"] is True

    def test_the_evaluation_below_them_is_no_good_step(self):
        maker = apex([64, 32, 16, 8, 4], [50, 51, 53, 54, 55])
        maker.log({"eval_loss": [0.5, 0.25, 0.75]}, steps=None, lines=[20, 40, 56])

        assert maker.plain()["signal.loss_scale.collapsing"] is True

    @pytest.mark.parametrize("lines", [[50, 70, 90, 110, 130], [50, 51, 52, 53, 80]])
    def test_lines_far_apart_leave_room_for_good_steps(self, lines):
        assert "signal.loss_scale.recovers" not in apex([64, 32, 16, 8, 4], lines).plain()

    def test_a_long_wait_before_the_last_one_too(self):
        """A minute a step, and three quarters of an hour before the last: the scale holds meanwhile."""
        waits = RunMaker()
        even = RunMaker()
        for line, (scale, minute) in enumerate([(64, 0), (32, 1), (16, 2), (8, 8), (4, 54)], 50):
            waits.event("loss_scale_overflow", line=line, reducing_to=float(scale), time_s=60.0 * minute)
            even.event("loss_scale_overflow", line=line, reducing_to=float(scale), time_s=60.0 * (line - 50))

        assert "signal.loss_scale.recovers" not in waits.plain()
        assert even.plain()["signal.loss_scale.collapsing"] is True

    def test_rows_below_them_too(self):
        maker = apex([64, 32, 16, 8, 4], [50, 51, 52, 53, 54])
        maker.log({"loss": falling(5)}, steps=None, lines=[60, 70, 80, 90, 100])

        assert "signal.loss_scale.recovers" not in maker.plain()

    def test_a_cut_calibration_ends_higher(self):
        facts = apex([32768, 16384, 8192, 4096, 2048], [50, 51, 52, 53, 54]).plain()

        assert facts["signal.loss_scale.collapsing"] is False


class TestLostScale:
    @pytest.mark.parametrize(("last", "collapsing"), [(2.0**-12, True), (512.0, False)])
    def test_an_overflow_far_below_one_is_never_alone(self, last, collapsing):
        maker = RunMaker().log({"loss": falling(40)})
        maker.event("loss_scale_overflow", line=10, step=20, reducing_to=2.0 * last)
        maker.event("loss_scale_overflow", line=390, step=40, reducing_to=last)

        assert maker.plain()["signal.loss_scale.collapsing"] is collapsing


class TestWhatIsNotTheLoss:
    def test_a_scalar_at_an_overflow_is_the_gradient_norm(self):
        maker = apex([64, 32], [50, 51]).event("nonfinite_scalar_message", line=52)

        assert "signal.nonfinite_loss.seen" not in maker.plain()

    def test_the_critic_is_no_part_of_the_loss_of_the_policy(self):
        maker = RunMaker().log({"policy_loss": [0.1, 0.2], "value_loss": [NAN, NAN]})

        assert "signal.data.lone_bad_part" not in maker.plain()

    def test_a_singular_matrix_has_an_infinite_slope(self):
        maker = RunMaker().log({"loss": falling(5)})
        maker.event("autograd_anomaly", line=60, role="root_candidate", function="LinalgSolveExBackward0")

        assert maker.plain()["signal.anomaly.unsafe_math"] is True


class TestMeanOfMaskedLosses:
    @pytest.mark.parametrize(
        ("mean", "evaluated", "zero"),
        [(0.005, NAN, True), (0.0, 1.5, True), (0.005, 0.25, False), (0.5, NAN, False)],
    )
    def test_a_tiny_mean_beside_a_lost_evaluation(self, mean, evaluated, zero):
        maker = RunMaker().log({"train_loss_mean": [mean], "eval_loss": [evaluated]}, steps=None)

        assert maker.plain()["signal.loss_zero.mean_is_zero"] is zero
