"""The recorder as a callback of Hugging Face Trainer and of Lightning.

    Trainer(..., callbacks=[trainer_callback("out/replay.jsonl", capsule="out/capsule")])
    lightning.Trainer(..., callbacks=[lightning_callback("out/replay.jsonl")])

Both are built by a function, so that neither library is needed to import this module.
"""

from __future__ import annotations

from typing import Any

from analyzer.errors import InputError
from analyzer.replay.recorder import Options, Recorder


def trainer_callback(path: str, **options: Any) -> Any:
    """A ``transformers.TrainerCallback`` that records the model from the begin of training to its end.

    Args:
        path: Trace to write.
        options: See ``Options``; ``scaler`` is found by itself.

    Raises:
        InputError: transformers is not installed.
    """
    try:
        from transformers import TrainerCallback  # noqa: PLC0415  (an optional library)
    except ImportError:
        raise InputError("trainer_callback needs transformers") from None

    class ReplayCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Puts the hooks on when training begins and tells the recorder each optimiser step."""

        recorder: Recorder | None = None

        def on_train_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **_: Any
        ) -> None:
            """Put the hooks on."""
            del args, control
            scaler = getattr(optimizer, "scaler", None)  # of accelerate's wrapper
            found = {"scaler": scaler, **options, "first_step": state.global_step}
            self.recorder = Recorder(model, path, Options(**found)).start()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """An optimiser step has ended."""
            del args, control
            if self.recorder is not None:
                self.recorder.step(state.global_step)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Write what is left."""
            del args, state, control
            if self.recorder is not None:
                self.recorder.close()

    return ReplayCallback()


def lightning_callback(path: str, **options: Any) -> Any:
    """A ``lightning.Callback`` that records the LightningModule while it trains.

    Args:
        path: Trace to write.
        options: See ``Options``; ``scaler`` is found by itself.

    Raises:
        InputError: lightning is not installed.
    """
    try:
        from lightning.pytorch import Callback  # noqa: PLC0415  (an optional library)
    except ImportError:
        raise InputError("lightning_callback needs lightning") from None

    class ReplayCallback(Callback):  # type: ignore[misc, unused-ignore]
        """Puts the hooks on when training begins and tells the recorder each optimiser step."""

        recorder: Recorder | None = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            """Put the hooks on."""
            scaler = getattr(trainer.precision_plugin, "scaler", None)
            found = {"scaler": scaler, **options, "first_step": trainer.global_step}
            self.recorder = Recorder(pl_module, path, Options(**found)).start()

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
            """A batch has ended; with accumulation the step goes on."""
            del pl_module
            if self.recorder is not None and trainer.global_step != self.recorder.number:
                self.recorder.step(trainer.global_step)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            """Write what is left."""
            del trainer, pl_module
            if self.recorder is not None:
                self.recorder.close()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            """Write what is left before the exception ends the run."""
            del exception
            self.on_train_end(trainer, pl_module)

    return ReplayCallback()
