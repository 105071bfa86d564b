"""Build replay traces in memory, for tests of detectors."""

from __future__ import annotations

from typing import Any

from make_run import RunMaker

from analyzer.ingest.formats.dumps.trace_rows import completed


def trace(rows: list[dict[str, Any]], maker: RunMaker | None = None) -> RunMaker:
    """A run with a recorded trace: each row is completed with what every row has."""
    maker = maker or RunMaker()
    out = maker.file("replay.jsonl", "replay")
    for seq, row in enumerate(rows):
        fixed = {"replay_id": "r", "source_format": "torch_hooks", "step": 7, "seq": seq, "pass": "fwd"}
        out.replay(completed({**fixed, **row}), line=seq + 2)
    return maker


def tensor(module: str, role: str, absmax: float | None, **more: Any) -> dict[str, Any]:
    """A tensor of fp16; an absmax of None means that it holds an infinity."""
    known: dict[str, Any] = {"dtype": "float16", "shape": [4, 64]}
    known |= {"nan_count": 0, "inf_count": 3} if absmax is None else {"absmax": absmax, "nonfinite": False}
    return {"module": module, "tensor_role": role, **known, **more}


def overflow(rank: int | None = 0) -> list[dict[str, Any]]:
    """A product of 9000 and 14.5 leaves fp16 in the second layer."""
    more = {"rank": rank}
    linear = {"module_type": "Linear", "op": "aten.mm.default", "site": "model.py:46", **more}
    return [
        tensor("layers.0.mlp.down_proj", "output[0]", 30.0, **more),
        tensor("layers.1.mlp.down_proj", "input[0]", 9000.0, **linear),
        tensor("layers.1.mlp.down_proj", "weight", 14.5, **linear),
        tensor("layers.1.mlp.down_proj", "output[0]", None, **linear),
        tensor("layers.1", "output[0]", None, **more),
    ]
