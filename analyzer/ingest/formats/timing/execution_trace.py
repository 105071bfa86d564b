"""PyTorch execution traces: operators with the shapes of their inputs, joined to timing traces by ``rf_id``.

    {"schema": "1.1.1-chakra.0.0.4", "pid": 1375, "nodes": [
      {"id": 5, "name": "aten::mm", "ctrl_deps": 3,
       "inputs": {"values": [..], "shapes": [[8, 64], [64, 64]], "types": ["Tensor(float)", "Tensor(float)"]},
       "attrs": [{"name": "rf_id", "type": "uint64", "value": 12}, ..]}, ..]}

In schema 1.0 the fields ``inputs``, ``input_shapes``, ``input_types`` and ``rf_id`` stand in the node itself.
Losses: values, strides, outputs and dependencies are not kept.
"""

from __future__ import annotations

from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.encodings import bounded_json
from analyzer.ingest.masking import clean_text
from analyzer.ingest.rank_names import place_of
from analyzer.model.traces import OperatorShapes

MAX_BYTES = 256 << 20
"""Some 500,000 nodes; JSON of this kind is held in memory as a whole."""

MAX_WORDS = 300


class ExecutionTrace:
    """Reads execution traces written as JSON."""

    def sniff(self, candidate: Candidate) -> Match:
        """A JSON object with ``schema`` and ``nodes``."""
        head = candidate.head
        begins = head.lstrip()[:1] == b"{" and b'"schema"' in head[:4096] and b'"nodes"' in head
        return (
            Match.SURE
            if begins and (b"ctrl_deps" in head or b"rf_id" in head or b"fw_parent" in head)
            else Match.NO
        )

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read one trace."""
        parts: list[bytes] = []
        size = 0
        for chunk in source.chunks():
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_BYTES:
                out.gap(f"execution trace not read: larger than {MAX_BYTES >> 20} MB")
                return
        try:
            trace = bounded_json.loads(b"".join(parts))
        except (ValueError, RecursionError) as error:
            out.gap(f"execution trace cannot be read: {error}")
            return
        nodes = trace.get("nodes") if isinstance(trace, dict) else None
        inputs: dict[int, tuple[str, str]] = {}
        count = 0
        for node in nodes if isinstance(nodes, list) else []:
            if not isinstance(node, dict):
                continue
            count += 1
            record = _record(node)
            if record is not None:
                inputs[record] = (clean_text(str(node.get("name", ""))[:200]), _words(node))
        if not inputs:
            out.gap("execution trace without a record id: it cannot be joined to a timing trace")
        out.operator_shapes(OperatorShapes(out.source, count, place_of(source.name).rank, inputs))


def _record(node: dict[str, Any]) -> int | None:
    value = node.get("rf_id")
    attributes = node.get("attrs")
    if value is None and isinstance(attributes, list):
        value = next(
            (a.get("value") for a in attributes if isinstance(a, dict) and a.get("name") == "rf_id"), None
        )
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _words(node: dict[str, Any]) -> str:
    """Shapes and types of the tensors among the inputs: ``[8, 64] float, [64, 64] float``."""
    inputs = node.get("inputs")
    if isinstance(inputs, dict):
        shapes, types = inputs.get("shapes"), inputs.get("types")
    else:
        shapes, types = node.get("input_shapes"), node.get("input_types")
    if not isinstance(shapes, list) or not isinstance(types, list):
        return ""
    words = [
        f"{shape} {kind[7:-1]}"
        for shape, kind in zip(shapes, types, strict=False)
        if isinstance(kind, str) and kind.startswith("Tensor(") and isinstance(shape, list)
    ]
    return clean_text(", ".join(words)[:MAX_WORDS], MAX_WORDS)
