"""Lines and reports of a log that name a bad tensor also become rows of the numeric table."""

from trace_reading import read, rows

HF = """\
Detected inf/nan during batch_number=0
Last 3 forward frames:
abs min  abs max  metadata
                  encoder.block.1.layer.1.DenseReluDense.wi_0 Linear
2.17e-07 4.50e+00 weight
1.79e-06 4.65e+00 input[0]
2.68e-06 3.70e+01 output
                  encoder.block.1.layer.1.DenseReluDense.wo Linear
1.01e-06 6.44e+03 input[0]
0.00e+00      inf output
"""


def log(tmp_path, text):
    path = tmp_path / "train.log"
    path.write_text(text)
    return read(path)


def test_a_report_of_hf_becomes_rows_with_inputs_and_weights(tmp_path):
    run = log(tmp_path, HF)
    found = rows(run)
    assert [row["tensor_role"] for row in found] == [
        "weight",
        "input[0]",
        "output[0]",
        "input[0]",
        "output[0]",
    ]
    assert [row["nonfinite"] for row in found] == [False] * 4 + [True]
    assert found[3]["absmax"] == 6440.0
    assert "absmin_nonzero" not in found[4]  # printed as 0: unknown
    assert run.replay.ref(4).line == 10


def test_lines_of_detectors_become_one_row_each(tmp_path):
    text = """\
RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.
NaN detected in output of encoder.layers.3, shape: torch.Size([8, 2]), forward input max: 2.5, input min: -1.5
#nixnan: error [div0] detected in operand 1 of instruction MUFU.RSQ R5, R0 ; in function abs_kernel of type f32
#GPU-FPX LOC-EXCEP INFO: in kernel [dot_prod], NaN found @ /src/dot-prod.cu:13 [FP32]
#GPU-FPX LOC-EXCEP INFO: Warning: in kernel [dot_prod], very small quantity (SUB) found @ /src/dot-prod.cu:14 [FP32]
Rank 3: found NaN in local grad norm for bucket #7 in backward pass before data-parallel communication collective
"""
    found = rows(log(tmp_path, text))
    by_format = {}
    for row in found:
        by_format.setdefault(row["source_format"], []).append(row)
    assert by_format["autograd_anomaly"][0]["op"] == "LogBackward0"
    assert [(r["tensor_role"], r["nonfinite"]) for r in by_format["nan_detector"]] == [
        ("input[0]", False),
        ("output[0]", True),
    ]
    assert by_format["nan_detector"][1]["shape"] == (8, 2)
    assert by_format["nixnan"][0]["dtype"] == "float32"
    assert by_format["nixnan"][0]["op"] == "abs_kernel"
    assert [r["nonfinite"] for r in by_format["gpu_fpx"]] == [True, False]
    assert by_format["gpu_fpx"][0]["site"] == "/src/dot-prod.cu:13"
    assert by_format["megatron"][0]["tensor_name"] == "bucket 7"


def test_statements_of_rerun_machines_and_sanitizers_are_events(tmp_path):
    text = """\
Unexpected result tensor(nan) at /m/pretrain_gpt.py line 60, invokation #1 at iteration #150 (message='found NaN in loss')
First rerun: unexpected result is not reproducible within the tolerance (3.2 != nan)
ts=2025-01-01 10:00:00 node=n7 device=3 jobID=1 rank=11 iteration=40 status=second_rerun_not_reproducible result=nan message='x'
ts=2025-01-01 10:00:00 node=n7 device=3 jobID=1 rank=11 iteration=41 status=RerunValidationStatus.SECOND_RERUN_REPRODUCIBLE result=1 message='x'
========= Invalid __global__ read of size 4 bytes
=========     at saxpy(float *, int)+0x90 in saxpy.cu:12
========= ERROR SUMMARY: 3 errors
"""
    events = log(tmp_path, text).events
    assert events.of("unexpected_result")[0].step == 150
    assert len(events.of("rerun_not_reproducible")) == 1
    second = events.of("rerun_differs_elsewhere")[0]
    assert (second.rank, second.step) == (11, 40)
    assert events.of("rerun_same_everywhere")[0].step == 41
    assert not events.of("rerun_reproducible_here")
    assert events.of("invalid_device_access")[0].fields["size_bytes"] == 4
    assert events.of("device_access_site")[0].fields["site"] == "saxpy.cu:12"
    assert events.of("sanitizer_errors")[0].fields["errors"] == 3
