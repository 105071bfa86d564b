"""Rows of the numeric table for lines that name one bad tensor: one row per line, with what the line says.

Losses: such a line says only that a tensor was bad, so neither its neighbours nor its numbers are known; the
order of the lines stands for the order of execution. Their ``source_format`` is one of ``TEXT_FORMATS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.ingest.formats.dumps.trace_rows import completed
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar

_SIZES = LazyRegex(r"\d{1,18}")


def localiser_rows(
    kind: str, fields: Mapping[str, Scalar], text: str, line: int, step: int | None
) -> list[dict[str, Any]]:
    """Rows of one recognised line, ordered by its 1-based number; empty if it names no tensor."""
    found = _MAKERS[kind](fields, text)
    fixed = {"replay_id": "log", "seq": line, "step": step, "rank": fields.get("rank")}
    return [completed({**fixed, **row}) for row in found]


def _anomaly(fields: Mapping[str, Scalar], _: str) -> list[dict[str, Any]]:
    return [
        {
            "source_format": "autograd_anomaly", "pass": "bwd", "op": fields.get("function"),
            "tensor_role": f"grad_input[{fields.get('output_index', 0)}]", "nonfinite": True,
        }
    ]  # fmt: skip


def _detector(fields: Mapping[str, Scalar], text: str) -> list[dict[str, Any]]:
    if "detected in output of" not in text:  # Paddle and TensorFlow name an operator
        op = fields.get("module")
        return [
            {
                "source_format": "nan_detector",
                "pass": "fwd",
                "op": op,
                "tensor_role": "output[0]",
                "nonfinite": True,
            }
        ]
    backward = fields.get("pass") == "backward"
    shape = [int(size) for size in _SIZES.findall(str(fields.get("shape", "")))][:16]
    place = {
        "source_format": "nan_detector",
        "pass": "bwd" if backward else "fwd",
        "module": fields.get("module"),
    }
    rows: list[dict[str, Any]] = []
    if "input_max" in fields and "input_min" in fields:
        bounds = {"min": fields["input_min"], "max": fields["input_max"]}
        rows.append({**place, "tensor_role": "input[0]", **bounds, "nonfinite": False})
    role = "grad_input[0]" if backward else "output[0]"
    return [*rows, {**place, "tensor_role": role, "shape": shape, "nonfinite": True}]


def _hook(fields: Mapping[str, Scalar], _: str) -> list[dict[str, Any]]:
    backward = fields.get("pass") in {"backward", "gradient"}
    return [
        {
            "source_format": "text_hook", "pass": "bwd" if backward else "fwd", "module": fields.get("module"),
            "tensor_role": "grad_input[0]" if backward else "output[0]", "nonfinite": True,
        }
    ]  # fmt: skip


def _bucket(fields: Mapping[str, Scalar], _: str) -> list[dict[str, Any]]:
    return [
        {
            "source_format": "megatron", "pass": "bwd", "tensor_role": "param_grad",
            "tensor_name": f"bucket {fields.get('bucket', 0)}", "nonfinite": fields.get("what") in {"NaN", "Inf"},
        }
    ]  # fmt: skip


def _device(fields: Mapping[str, Scalar], text: str) -> list[dict[str, Any]]:
    what = str(fields.get("what", "")).lower()
    bad = "nan" in what or "inf" in what or "div0" in what
    return [
        {
            "source_format": "nixnan" if "#nixnan" in text else "gpu_fpx", "pass": "fwd", "op": fields.get("kernel"),
            "tensor_role": "output[0]", "dtype": fields.get("dtype"), "site": fields.get("site") or fields.get("instruction"),
            "nonfinite": bad,
        }
    ]  # fmt: skip


_MAKERS = {
    "autograd_anomaly": _anomaly,
    "nan_detector": _detector,
    "nonfinite_hook": _hook,
    "bucket_gradient_nonfinite": _bucket,
    "device_float_exception": _device,
}
