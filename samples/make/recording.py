"""Put the recorder on a training script that knows nothing of it, and turn a captured step into a trace.

`start_recording()` stands at the top of a sample's train.py: it waits for the first module that is called with
gradients on, and records that one. A user writes `record(model, ...)` in their own script instead.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from analyzer.replay import record
from analyzer.replay.files import ReplayWriter
from analyzer.replay.replayer import replay_capsule, write_trace

PRELUDE = """from samples.make.recording import start_recording

start_recording()
"""
PRELUDE_BEFORE_COMPILING = PRELUDE.replace("start_recording()", "start_recording(at_probe=True)")
SIZE_LIMIT = 60_000


def start_recording(*, at_probe: bool = False) -> None:
    """Record the first module that trains: trace `recorded.jsonl`, capsule `capsule/`, in the working directory.

    Recording begins after its first forward pass, because a module under way cannot be hooked; hence step 1.
    `at_probe`: that pass is a probe without gradients before the training, and before the model is compiled.
    """
    found: list[torch.nn.Module] = []

    def find(module: torch.nn.Module, _args: Any) -> None:
        if found or not (at_probe or torch.is_grad_enabled()):
            return
        if any(p.requires_grad for p in module.parameters()):
            found.append(module)

    def attach(module: torch.nn.Module, _args: Any, _output: Any) -> None:
        if found and module is found[0]:
            finder.remove()
            attacher.remove()
            record(
                module,
                "recorded.jsonl",
                capsule="capsule",
                scaler=_scaler_of(module),
                first_step=int(not at_probe),
            )

    finder = torch.nn.modules.module.register_module_forward_pre_hook(find)
    attacher = torch.nn.modules.module.register_module_forward_hook(attach)


def _scaler_of(module: torch.nn.Module) -> Any:
    """DeepSpeed's optimizer holds its loss scale; elsewhere look for the GradScaler that the script has made."""
    if hasattr(module, "module") and hasattr(getattr(module, "optimizer", None), "cur_scale"):
        return module.optimizer
    return next((found for found in gc.get_objects() if type(found) is torch.amp.GradScaler), None)


def pack_trace(run_dir: Path) -> str:
    """Turn what the recorder wrote into `recorded.parquet`; a sentence about it."""
    rows = [
        json.loads(line) for line in (run_dir / "recorded.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    with ReplayWriter(run_dir / "recorded.parquet") as out:
        for row in rows:
            out.write(row)
    steps = sorted({row["step"] for row in rows})
    bad = sorted({row["step"] for row in rows if row.get("nonfinite")})
    return f"It wrote {len(rows)} rows of the steps {steps}; not finite in {bad}."


def make_trace(run_dir: Path, build: Callable[[], Any]) -> str:
    """Run the captured step of `run_dir` again and write `replay.parquet` there; what came out, in words."""
    torch.set_num_threads(1)
    replay = replay_capsule(run_dir / "capsule", build())
    path = run_dir / "replay.parquet"
    write_trace(replay, path)
    if path.stat().st_size > SIZE_LIMIT:
        raise RuntimeError(f"{path} has {path.stat().st_size} bytes, more than {SIZE_LIMIT}")
    origin = replay.origin
    place = (
        "no operator with finite inputs"
        if origin is None
        else f"`{origin.op}` in `{origin.module}` ({origin.direction})"
    )
    cured = ", ".join(replay.judgement.cured_by) or "nothing"
    notes = "".join(f"; {note}" for note in replay.notes)
    return f"{place}; verdict {replay.judgement.verdict}; cured by {cured}{notes}"
