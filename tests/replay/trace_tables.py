"""Replay tables for tests, made from plain rows."""

from __future__ import annotations

from typing import Any

from analyzer.ingest.formats.dumps.trace_rows import TraceRows
from analyzer.model.replay import ReplayTable


def table(*rows: dict[str, Any]) -> ReplayTable:
    """A table of these rows, in this order."""
    made = TraceRows(ReplayTable)
    base = {"schema_version": "1.0", "replay_id": "t", "source_format": "torch_hooks", "rank": 0, "step": 0}
    for number, row in enumerate(rows, start=1):
        made.add(0, number, {**base, "seq": number, "pass": "fwd", **row})
    return made.finish()


def seen(module: str, role: str = "output[0]", **more: Any) -> dict[str, Any]:
    """One measured tensor."""
    return {
        "module": module,
        "tensor_role": role,
        "dtype": "float32",
        "absmax": 1.0,
        "nonfinite": False,
        **more,
    }
