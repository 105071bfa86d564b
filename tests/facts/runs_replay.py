"""Runs that emit every fact of ``signal.replay.*``."""

from __future__ import annotations

from make_run import RunMaker, falling
from make_trace import overflow, tensor, trace


def overflowed() -> RunMaker:
    """One rank overflows, the other receives the result; gradients underflow and one token's row dominates."""
    clean = [tensor("layers.0.mlp.down_proj", "output[0]", 30.0, rank=1)]
    clean += [tensor("", "output[0]", None, rank=1, **{"pass": "comm"})]
    gradients = [
        {"module": "embed", "tensor_role": "param_grad", "l2norm": 10.0, "rank": 0, "pass": "bwd", "nonfinite": False},
        {"module": "embed", "tensor_role": "param_grad_row[6]", "tensor_name": "<|im_end|>", "l2norm": 9.9, "rank": 0,
         "pass": "bwd", "nonfinite": False},
        {"module": "embed", "tensor_role": "grad_output[0]", "underflow_frac": 0.25, "overflow_frac": 0.01, "numel": 256,
         "rank": 0, "pass": "bwd", "nonfinite": False},
    ]  # fmt: skip
    maker = RunMaker().log({"loss": falling(7)})
    return trace([*overflow(), *clean, *gradients], maker)


def spoilt() -> RunMaker:
    """A parameter that is NaN and one beyond float32, before the first bad output."""
    param = {"pass": "param", "tensor_role": "weight", "dtype": "float32", "rank": 0}
    rows = [
        tensor(
            "head", "weight", None, tensor_name="head.weight", **{**param, "nan_count": 1, "inf_count": 0}
        ),
        tensor("enter", "weight", 3e38, tensor_name="enter.weight", **param),
        tensor("head", "output[0]", None, rank=0),
    ]
    return trace(rows, RunMaker().log({"loss": falling(7)}))


RUNS = (overflowed, spoilt)
