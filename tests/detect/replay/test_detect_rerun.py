"""Facts of reruns: what cured a captured step, and silence about what was not run."""

import json

import pytest
from make_run import RunMaker
from make_trace import overflow, trace

from analyzer.detect import run_detectors


def facts(rows):
    run = trace(rows, RunMaker()).run()
    return {
        name.removeprefix("signal."): fact.value
        for signal in run_detectors(run)
        for name, fact in signal.facts.items()
    }


def rerun(name, bad, **extra):
    return {"pass": "rerun", "op": name, "nonfinite": bad, "extra": json.dumps(extra)}


def test_what_cures_is_told():
    found = facts(
        [
            rerun("recorded", True, forward_bad=False, loss_scale=65536.0),
            rerun("float32", False),
            rerun("loss_scale_1024", True, loss_scale=1024.0),
            rerun("loss_scale_16", False, loss_scale=16.0),
            rerun("loss_scale_1", False, loss_scale=1.0),
            rerun("verdict", None, verdict="loss_scale", repeat_differs=False),
        ]
    )

    assert found["rerun.verdict"] == "loss_scale"
    assert found["rerun.forward_nonfinite"] is False
    assert found["rerun.float32_finite"] is True
    assert "rerun.bfloat16_finite" not in found
    assert "rerun.kernel_wrong" not in found


def test_bad_weights_leave_the_batch_unknown():
    found = facts([rerun("verdict", None, verdict="weights")])

    assert found["rerun.weights_nonfinite"] is True
    assert "rerun.batch_nonfinite" not in found


def test_a_rerun_that_fails_is_no_bad_tensor_of_the_run():
    clean = [row | {"nonfinite": False, "inf_count": 0} for row in overflow()]

    assert facts([*clean, rerun("recorded", True)])["replay.nonfinite"] is False


@pytest.mark.parametrize(
    "extra",
    ["[]", "{", '{"verdict": "guilty"}', '{"verdict": 3, "masked_rows": 1e400, "special_row_share": "NaN"}'],
)
def test_a_forged_verdict_says_nothing(extra):
    found = facts([{"pass": "rerun", "op": "verdict", "extra": extra}])

    assert [name for name in found if name.startswith("rerun.")] == []
