"""Runs that emit every fact of ``signal.rerun.*``."""

from __future__ import annotations

import json

from make_run import RunMaker, falling
from make_trace import trace


def reran() -> RunMaker:
    """Overflow at the recorded scale, finite at a smaller one and in other formats; a masked row, one loud token."""
    scales = {"recorded": 65536.0, "repeated": 65536.0, "float32": 1.0, "bfloat16": 1.0, "loss_scale_16": 16.0,
              "loss_scale_1": 1.0}  # fmt: skip
    rows = [
        {"pass": "rerun", "op": name, "nonfinite": name.startswith("re"),
         "extra": json.dumps({"loss_scale": scale, "forward_bad": False})}
        for name, scale in scales.items()
    ]  # fmt: skip
    verdict = {"verdict": "loss_scale", "repeat_differs": False, "kernel_wrong": False, "masked_rows": 1}
    verdict |= {"special_row": 6, "special_row_share": 0.9, "special_row_gain": 1e4}
    rows.append({"pass": "rerun", "op": "verdict", "extra": json.dumps(verdict)})
    return trace(rows, RunMaker().log({"loss": falling(7)}))


RUNS = (reran,)
