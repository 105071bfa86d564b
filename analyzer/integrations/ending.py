"""What a run leaves for its own diagnosis, and the diagnosis when it ends: in a process of its own, which can fail alone.

OUT/analyzer/   metrics.jsonl or trainer_state.json, settings, versions.txt, rank0.log with the traceback
                report.html and brief.txt, if the run ended badly
"""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from analyzer.record import dataclass

LOG = logging.getLogger("analyzer")
FOLDER = "analyzer"
LOCK = "diagnosed"
"""An empty directory: made by whoever diagnoses, in one step on every file system, and nothing that is read."""

VERSIONS = (
    "torch",
    "transformers",
    "accelerate",
    "lightning",
    "deepspeed",
    "peft",
    "trl",
    "bitsandbytes",
    "flash-attn",
    "numpy",
)
"""Packages whose version decides often."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wishes:
    """How the end is dealt with."""

    always: bool = False  # write the report after a good end too
    # seconds that the diagnosis may take; then it is killed and the program ends without it
    wait_s: float = 60.0


def harmless(method: Callable[..., T]) -> Callable[..., T | None]:
    """Nothing that fails here reaches the training: it is logged as a warning."""

    @wraps(method)
    def guarded(*args: Any, **kwargs: Any) -> T | None:
        try:
            return method(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  (the training is worth more than its diagnosis)
            LOG.warning("analyzer: %s failed, the training goes on: %s", method.__name__, error)
            return None

    return guarded


class Ending:
    """Keeps a record of one run and diagnoses it when it ends; nothing here raises.

    Args:
        out: Directory of the run.
        wishes: How the end is dealt with.
        rank: Global rank of this process: rank 0 records, every rank keeps the traceback that ends it.
        own_record: Writes the trainer's own record of all rows to a path, which says more than ours.
    """

    def __init__(
        self,
        out: str | Path,
        wishes: Wishes,
        rank: int | None = None,
        own_record: Callable[[str], Any] | None = None,
    ) -> None:
        self.folder = Path(out) / FOLDER
        self._wishes = wishes
        self.rank = int(os.environ.get("RANK", "0")) if rank is None else rank
        self._own_record = own_record
        self._ended = False
        self._hook_before: Callable[..., Any] | None = None

    @harmless
    def begin(self, settings: Mapping[str, str]) -> None:
        """Training begins: forget what an earlier launch left, write the settings, watch for an exception.

        Args:
            settings: Text of each file of settings, by its name.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.rank == 0:
            for old in self.folder.iterdir():
                if old.name == LOCK:
                    old.rmdir()
                elif old.is_file():
                    old.unlink()
            for name, text in {**settings, "versions.txt": _versions()}.items():
                self.keep(name, text)
        self._hook_before, sys.excepthook = sys.excepthook, self._on_exception

    @harmless
    def keep(self, name: str, text: str) -> None:
        """A file of settings."""
        if self.rank == 0:
            (self.folder / name).write_text(text, encoding="utf-8")

    @harmless
    def log(self, step: int, values: Mapping[str, Any]) -> None:
        """Values of a step, written at once: a killed process writes nothing later."""
        row = {name: number for name, value in values.items() if (number := _number(value)) is not None}
        if self.rank == 0 and row:
            with (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"step": step, **row}) + "\n")  # NaN stays NaN, as in most trainers

    @harmless
    def finish(self, error: BaseException | None = None) -> None:
        """The run has ended, with an exception or without: diagnose it, once."""
        if self._ended or isinstance(error, KeyboardInterrupt):  # who pressed the key knows why it ended
            return
        self._ended = True
        if self._hook_before is not None and sys.excepthook == self._on_exception:
            sys.excepthook = self._hook_before
        if self.rank == 0 and self._own_record is not None:
            self._own_record(str(self.folder / "trainer_state.json"))
            (self.folder / "metrics.jsonl").unlink(missing_ok=True)
        if error is not None:
            text = "".join(traceback.format_exception(error))
            (self.folder / f"rank{self.rank}.log").write_text(text, encoding="utf-8")
        if (self.rank == 0 or error is not None) and self._first():
            self._diagnose()

    def _first(self) -> bool:
        """Whether no other rank diagnoses; the others get a second to write why they ended."""
        try:
            (self.folder / LOCK).mkdir()
        except FileExistsError:
            return False
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            time.sleep(1)
        return True

    def _diagnose(self) -> None:
        package = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, "-m", "analyzer.integrations.report", str(self.folder)]
        done = subprocess.run(  # noqa: S603  (our own module)
            [*command, "--always"] if self._wishes.always else command,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=self._wishes.wait_s,
            check=False,
        )
        if done.returncode:
            LOG.warning("analyzer: no diagnosis (%s)", done.stderr.strip()[-300:])
        elif done.stdout:
            sys.stderr.write(done.stdout)

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if self._hook_before is not None:
            self._hook_before(kind, error, trace)  # the user sees the traceback first
        self.finish(error)


def _number(value: Any) -> float | None:
    """A plain number, also of a tensor or array with one element; None for what is none."""
    if isinstance(value, bool | str) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError):
        return None
    return int(number) if math.isfinite(number) and number.is_integer() else number


def _versions() -> str:
    found = []
    for name in VERSIONS:
        try:
            found.append(f"{name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return "".join(f"{line}\n" for line in found)
