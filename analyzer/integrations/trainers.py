"""Callbacks of Hugging Face Trainer and Lightning, and a tracker of Accelerate. Each library is imported when asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analyzer.errors import InputError
from analyzer.integrations.ending import Ending, Wishes


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
