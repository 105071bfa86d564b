"""Callbacks of Hugging Face Trainer and Lightning, and a tracker of Accelerate. Each library is imported when asked for."""

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

from analyzer.errors import InputError
from analyzer.record import dataclass


def trainer_callback(*, always: bool = False, wait_s: float = 60.0) -> Any:
    """A ``transformers.TrainerCallback`` that writes a report to ``output_dir/analyzer`` if training ends badly.

    Args:
        always: Write it after a good end too.
        wait_s: Seconds that the diagnosis may take.

    Raises:
        InputError: transformers is not installed.
    """
    try:
        from transformers import TrainerCallback  # noqa: PLC0415  (an optional library)
    except ImportError:
        raise InputError("trainer_callback needs transformers") from None
    callback = type("DiagnoseCallback", (_TrainerHooks, TrainerCallback), {})
    return callback(Wishes(always, wait_s))


def lightning_callback(out: str | None = None, *, always: bool = False, wait_s: float = 60.0) -> Any:
    """A ``lightning.Callback`` that writes a report to ``OUT/analyzer`` if training ends badly.

    Args:
        out: Directory; by default that of the logger, or the trainer's root.
        always: Write it after a good end too.
        wait_s: Seconds that the diagnosis may take.

    Raises:
        InputError: lightning is not installed.
    """
    try:
        from lightning.pytorch import Callback  # noqa: PLC0415  (an optional library)
    except ImportError:
        raise InputError("lightning_callback needs lightning") from None
    callback = type("DiagnoseCallback", (_LightningHooks, Callback), {})
    return callback(out, Wishes(always, wait_s))


def accelerate_tracker(out: str, *, always: bool = False, wait_s: float = 60.0) -> Any:
    """A tracker for ``Accelerator(log_with=[…])`` that writes a report to ``OUT/analyzer`` if training ends badly.

    Args:
        out: Directory of the run.
        always: Write it after a good end too.
        wait_s: Seconds that the diagnosis may take, at ``end_training()`` or at an exception.

    Raises:
        InputError: accelerate is not installed.
    """
    try:
        from accelerate.tracking import GeneralTracker  # noqa: PLC0415  (an optional library)
    except ImportError:
        raise InputError("accelerate_tracker needs accelerate") from None
    tracker = type("DiagnoseTracker", (_AccelerateHooks, GeneralTracker), {})
    return tracker(out, Wishes(always, wait_s))


class _TrainerHooks:
    """Keeps the rows of a HF Trainer, and diagnoses at the end or at the exception that ends it."""

    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes
        self._ending: Ending | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Write the settings and watch for an exception."""
        del control
        # the trainer's own record knows the plan too, so that it replaces ours at the end
        self._ending = Ending(args.output_dir, self._wishes, own_record=state.save_to_json)
        settings = {"training_args.json": args.to_json_string()}
        config: Any = getattr(model, "config", None)
        if config is not None and hasattr(config, "to_json_string"):
            settings["config.json"] = config.to_json_string()
        self._ending.begin(settings)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any
    ) -> None:
        """Rows of the trainer."""
        del args, control
        if self._ending is not None:
            self._ending.log(state.global_step, logs or {})

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Training has come to its end."""
        del args, state, control
        if self._ending is not None:
            self._ending.finish()


class _LightningHooks:
    """Keeps what a Lightning module logs, and diagnoses at the end or at the exception that ends it."""

    def __init__(self, out: str | None, wishes: Wishes) -> None:
        self._out, self._wishes = out, wishes
        self._ending: Ending | None = None
        self._written = (-1, -1)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Write the settings."""
        place = self._out or trainer.log_dir or trainer.default_root_dir
        self._ending = Ending(place, self._wishes, trainer.global_rank)
        names = ("max_steps", "max_epochs", "precision", "gradient_clip_val", "accumulate_grad_batches")
        settings = {name: getattr(trainer, name, None) for name in names}
        settings |= dict(getattr(pl_module, "hparams", {}))
        self._ending.begin({"hparams.json": json.dumps(settings, default=str, indent=1)})

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        """Logged values, as often as the trainer logs."""
        del pl_module
        if trainer.global_step % max(1, trainer.log_every_n_steps) == 0:
            self._write(trainer)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Values of the validation."""
        del pl_module
        if not trainer.sanity_checking:
            self._write(trainer)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Training has come to its end."""
        del trainer, pl_module
        if self._ending is not None:
            self._ending.finish()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Training ends with an exception."""
        del trainer, pl_module
        if self._ending is not None:
            self._ending.finish(exception)

    def _write(self, trainer: Any) -> None:
        state = (trainer.global_step, len(trainer.callback_metrics))
        if (
            self._ending is not None and state != self._written
        ):  # with accumulation a step has several batches
            self._written = state
            rates = [group["lr"] for optimizer in trainer.optimizers for group in optimizer.param_groups]
            seen = {"epoch": trainer.current_epoch, "learning_rate": max(rates, default=None)}
            self._ending.log(trainer.global_step, {**seen, **trainer.callback_metrics})


class _AccelerateHooks:
    """Keeps what ``accelerator.log`` is given, and diagnoses at the end or at the exception that ends it."""

    name = "analyzer"
    requires_logging_directory = False
    main_process_only = False  # every rank watches for the exception that ends it

    def __init__(self, out: str, wishes: Wishes) -> None:
        self.tracker = Ending(out, wishes)
        super().__init__()  # checks that a tracker is there
        self.tracker.begin({})

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Settings as given to ``init_trackers``."""
        self.tracker.keep("config.json", json.dumps(values, default=str, indent=1))

    def log(self, values: dict[str, Any], step: int | None, **_: Any) -> None:
        """Values of a step."""
        if step is not None:
            self.tracker.log(step, values)

    def finish(self) -> None:
        """``accelerator.end_training()``."""
        self.tracker.finish()


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
