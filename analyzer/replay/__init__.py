"""Replay traces: record, convert, rerun, plan and compare them. Everything that needs torch imports it late.

    from analyzer.replay import record
    recorder = record(model, "runs/sft/replay.jsonl")

Recording and rerunning need torch (extra ``replay``); reading, planning and comparing do not.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from analyzer.errors import InputError

if TYPE_CHECKING:
    from analyzer.replay.recorder import Recorder

__all__ = ["need_torch", "record"]


def need_torch() -> None:
    """Raise an error of one line if torch is not installed.

    Raises:
        InputError: torch cannot be imported.
    """
    if find_spec("torch") is None:
        raise InputError("this needs torch: pip install torch")


def record(model: Any, path: str, **options: Any) -> Recorder:
    """Hook a ``torch.nn.Module`` and write a replay trace when something is not finite, or at the end.

    Can be left on for a whole training, or used as a context manager. Changes no number of the run.

    Args:
        model: The module to watch, also wrapped by DistributedDataParallel.
        path: Trace to write, for example ``runs/sft/replay.jsonl``; ranks above 0 put ``.rank<N>`` before the suffix.
        options: See ``analyzer.replay.recorder.Options``.

    Raises:
        InputError: torch is not installed, or an option is wrong.
    """
    need_torch()
    from analyzer.replay.recorder import Options, Recorder  # noqa: PLC0415  (torch)

    try:
        chosen = Options(**options)
    except TypeError as error:
        raise InputError(f"record: {error}") from None
    return Recorder(model, path, chosen).start()
