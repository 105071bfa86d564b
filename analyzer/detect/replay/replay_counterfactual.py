r"""Facts of reruns: one step, run again with one thing changed, as ``analyzer replay run`` writes it.

Such rows have ``pass`` = rerun; ``op`` names the rerun (recorded, repeated, float32, bfloat16, loss_scale_<n>,
math_attention) or is ``verdict``, and ``extra`` holds the numbers::

    {"pass": "rerun", "op": "float32", "nonfinite": false, "extra": "{\"loss\":6.24,\"loss_scale\":1.0}", ...}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.model.refs import SourceRef
from analyzer.model.replay import ReplayTable

RERUN = "rerun"
_VERDICTS = frozenset(
    {
        "precision",
        "loss_scale",
        "kernel",
        "weights",
        "data",
        "transient",
        "not_precision",
        "overflow",
        "not_reproduced",
        "unknown",
    }
)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.rerun.*`` of the first replayed step."""
    table = view.run.replay
    rows = np.flatnonzero(table.mask("pass", RERUN))
    if not rows.size:
        return
    steps = table["step"][rows]
    rows = rows[steps == steps[0]]
    by_name = {table.text("op", int(row)) or "": int(row) for row in rows}
    _reruns(out, table, by_name)
    if "verdict" in by_name:
        row = by_name["verdict"]
        _verdict(out, table.noted(row), [table.ref(row)])


def _reruns(out: FactWriter, table: ReplayTable, by_name: Mapping[str, int]) -> None:
    bad = {
        name: truth for name, row in by_name.items() if (truth := table.truth("nonfinite", row)) is not None
    }

    def ref(name: str) -> list[SourceRef]:
        return [table.ref(by_name[name])]

    if "recorded" in bad:
        forward = table.noted(by_name["recorded"]).get("forward_bad")
        out.put("forward_nonfinite", forward if isinstance(forward, bool) else None, ref("recorded"))
    for name in ("float32", "bfloat16"):
        if name in bad:
            out.put(f"{name}_finite", not bad[name], ref(name))


def _verdict(out: FactWriter, extra: Mapping[str, Any], refs: list[SourceRef]) -> None:
    verdict = extra.get("verdict")
    if verdict in _VERDICTS:
        out.put("verdict", verdict, refs)
        out.put("weights_nonfinite", verdict == "weights", refs)
        if verdict != "weights":  # bad weights hide what the batch is
            out.put("batch_nonfinite", verdict == "data", refs)
    for name in ("repeat_differs", "kernel_wrong"):
        if isinstance(extra.get(name), bool):
            out.put(name, extra[name], refs)
    for name in ("masked_rows", "special_row"):
        value = extra.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
            out.put(name, value, refs)
    for name in ("special_row_share", "special_row_gain"):
        out.put(name, _number(extra.get(name)), refs)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
