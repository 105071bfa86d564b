"""What reruns decide: precision against data against kernel."""

import pytest

from analyzer.replay.verdict import FLOAT32, MATH_ATTENTION, RECORDED, REPEATED, SCALE, Outcome, judge


def bad(name, **more):
    return Outcome(name, loss=float("nan"), forward_bad=True, backward_bad=True, **more)


def good(name, **more):
    return Outcome(name, loss=2.0, backward_bad=False, **more)


FAILS = (bad(RECORDED, loss_scale=65536.0), bad(REPEATED, loss_scale=65536.0))


def test_float32_alone_cures_precision():
    found = judge([*FAILS, good(FLOAT32), bad(f"{SCALE}1")])

    assert (found.verdict, found.cured_by, found.repeat_differs) == ("precision", (FLOAT32,), False)


def test_a_smaller_scale_that_cures_is_calibration_and_the_largest_good_one_is_told():
    found = judge(
        [*FAILS, good(FLOAT32), bad(f"{SCALE}1024", loss_scale=1024.0), good(f"{SCALE}16", loss_scale=16.0)]
    )

    assert (found.verdict, found.largest_good_scale) == ("loss_scale", 16.0)


def test_float32_failing_too_clears_the_precision():
    assert judge([*FAILS, bad(FLOAT32)]).verdict == "not_precision"


def test_two_results_of_one_step_are_a_transient_fault_whatever_the_rest_says():
    assert judge([bad(RECORDED), good(REPEATED), good(FLOAT32)]).verdict == "transient"
    assert judge([good(RECORDED), Outcome(REPEATED, loss=2.5, backward_bad=False)]).repeat_differs is True


def test_the_order_of_sums_is_no_transient_fault():
    assert judge([good(RECORDED), Outcome(REPEATED, loss=2.0001, backward_bad=False)]).repeat_differs is False


@pytest.mark.parametrize(
    ("given", "verdict"),
    [({"weights_bad": True}, "weights"), ({"batch_bad": True}, "data"), ({"kernel_wrong": True}, "kernel")],
)
def test_direct_findings_come_before_what_reruns_cure(given, verdict):
    assert judge([*FAILS, good(FLOAT32)], **given).verdict == verdict


def test_plain_attention_that_cures_blames_the_kernel():
    assert judge([*FAILS, good(FLOAT32), good(MATH_ATTENTION)]).verdict == "kernel"


def test_a_step_that_is_fine_in_eager_mode_is_not_reproduced():
    assert judge([good(RECORDED), good(REPEATED), good(FLOAT32)]).verdict == "not_reproduced"


def test_without_a_backward_pass_nothing_is_said_about_gradients():
    assert judge([Outcome(RECORDED), Outcome(REPEATED)]).verdict == "unknown"


def test_a_rerun_that_could_not_be_made_decides_nothing():
    found = judge([*FAILS, Outcome(FLOAT32, error="OutOfMemoryError: 3 GB")])

    assert found.verdict == "unknown"
    assert Outcome(FLOAT32, error="x").row()["nonfinite"] is None
