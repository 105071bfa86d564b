"""The recorder: cheap while all is well, complete where something is not finite."""

from __future__ import annotations

import atexit
import os
import uuid
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from analyzer.errors import InputError
from analyzer.record import dataclass, field
from analyzer.replay.capsule import Moment, moment_of, save_capsule
from analyzer.replay.hooks import ModuleHooks, Seen, plain_name, rows_of
from analyzer.replay.parameters import bad_parameters, parameter_rows
from analyzer.replay.trace_file import TraceFile

MAX_HIDDEN_NAMED = 20
LOSS = "loss"
"""Name of what is computed behind the model, in the place of a module's."""

_NO_CAPSULE, _BACKWARD, _FORWARD = (
    0,
    1,
    2,
)  # a bad gradient may be the scaler's search; a bad forward pass never is


@dataclass(frozen=True, slots=True)
class Options:
    """How much to record."""

    keep_steps: int = 2  # steps before a bad one that are written with it, and at the end
    # first step and the one after the last of a window recorded with all statistics and written
    full_steps: tuple[int, int] | None = None
    full_after_bad: int = 1  # steps after a bad one that are recorded with all statistics
    every: int = 1  # watch only every n-th step (a bad step between two of them is not seen)
    # forward passes that make one optimiser step; not used once ``Recorder.step`` is called
    accumulate: int = 1
    # steps with a bad forward pass, and steps with bad gradients alone, that are written
    max_bad_steps: int = 3
    # with a scaler, gradients that overflow in fewer steps in a row than this are its calibration
    patience: int = 3
    backward: bool = True  # watch gradients
    scaler: Any = None  # GradScaler, or anything with ``get_scale()``, ``loss_scale`` or ``cur_scale``
    # directory for the first bad step itself (weights, batch, random state); none is written if None
    capsule: str | os.PathLike[str] | None = None
    write_on_exit: bool = True  # write the last steps at the end even if all was finite
    first_step: int = 0  # number of the first step

    def __post_init__(self) -> None:
        if (
            min(self.every, self.accumulate, self.patience) < 1
            or min(self.keep_steps, self.max_bad_steps) < 0
        ):
            raise InputError(
                "record: every, accumulate and patience must be at least 1, the others not negative"
            )


@dataclass(slots=True)
class _Step:
    """One recorded step."""

    step: int  # optimiser step
    micro_step: int  # index in gradient accumulation
    events: list[Seen] = field(default_factory=list)  # what was seen
    # finished rows: parameter gradients and the loss scale
    more: list[dict[str, Any]] = field(default_factory=list)
    written: int = 0  # events that are in the file already

    def is_bad(self, direction: str = "") -> bool:
        """Whether a tensor was not finite, in one direction or in any."""
        return any(s.numbers.get("nonfinite") and direction in ("", s.direction) for s in self.events)


class Recorder:
    """Hooks on a model, the last steps in memory, and the trace file. Made by ``analyzer.replay.record``."""

    def __init__(
        self, model: torch.nn.Module, path: str | os.PathLike[str], options: Options | None = None
    ) -> None:
        self.options = options or Options()
        self._model = model
        rank = _rank()
        self._file = TraceFile(
            _path_of_rank(Path(path), rank),
            replay_id=uuid.uuid4().hex[:12],
            rank=rank,
        )
        self._hooks: ModuleHooks | None = None
        self._ring: deque[_Step] = deque(maxlen=self.options.keep_steps)
        self._forwards = 0
        self._manual = False
        self._number = self.options.first_step
        self._current: _Step | None = None
        self._root: weakref.ref[torch.nn.Module] | None = None
        self._moment: Moment | None = None
        self._bad_steps = 0
        self._bad_in_a_row = 0
        self._bad_written = {"fwd": 0, "bwd": 0}
        self._full_left = 0
        self._capsule_grade = _NO_CAPSULE
        self._described = False

    @property
    def path(self) -> Path:
        """Where the trace of this rank is written."""
        return self._file.path

    @property
    def bad_steps(self) -> int:
        """Steps so far in which something was not finite."""
        return self._bad_steps

    @property
    def number(self) -> int:
        """The optimiser step that is recorded now, as told by ``step``."""
        return self._number

    def start(self) -> Self:
        """Put the hooks on."""
        if self._hooks is None:
            self._hooks = ModuleHooks(
                self._model,
                on_root=self._on_root,
                on_backward_end=self._on_backward_end,
                backward=self.options.backward,
            )
            atexit.register(_close_if_alive, weakref.ref(self))
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def step(self, number: int | None = None) -> None:
        """Say that an optimiser step has ended; from now on steps are counted by these calls alone.

        Args:
            number: Number of the step that begins now; one more than the last if None.
        """
        self._manual = True
        self._finish()
        self._number = self._number + 1 if number is None else number
        self._forwards = 0

    def loss(self, value: torch.Tensor) -> torch.Tensor:
        """Hand over a loss, or a part of it, that is computed outside the model, before its backward pass: to be seen too."""
        if self._hooks is not None and self._current is not None:
            self._hooks.outside(LOSS, value)
        return value

    def close(self) -> None:
        """Write what is left and take the hooks off."""
        if self._hooks is None:
            return
        self._finish()
        if self.options.write_on_exit:
            self._write_ring()
        self._hooks.remove()
        self._hooks = None

    def _on_root(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        hooks = self._hooks
        if hooks is None:
            return
        root = None if self._root is None else self._root()
        if root is not None and root is not module and not hooks.backward_begun:
            if self._current is None:
                hooks.skip()
            elif self._moment is not None and _size(module) > _size(self._moment.module):
                self._moment = moment_of(module, args, kwargs)
            return  # a second part of the model in the same step
        self._finish()
        self._root = weakref.ref(module)
        number, micro = self._count()
        first, end = self.options.full_steps or (0, 0)
        full = first <= number < end or self._full_left > 0
        self._full_left = max(0, self._full_left - 1)
        hooks.new_step(full=full)
        hooks.fp16_target = _holds_fp16(module)
        if number % self.options.every:
            hooks.skip()
            return
        self._current = _Step(number, micro)
        if self.options.capsule is not None and self._capsule_grade < _FORWARD:
            self._moment = moment_of(module, args, kwargs)

    def _count(self) -> tuple[int, int]:
        """Optimiser step and micro step of the forward pass that begins."""
        index = self._forwards
        self._forwards += 1
        if self._manual:
            return self._number, index
        return self.options.first_step + index // self.options.accumulate, index % self.options.accumulate

    def _on_backward_end(self) -> None:
        """Look at the numbers before the optimiser can change the weights."""
        step = self._collect()
        if step is not None:
            rows = step.is_bad() or (self._hooks is not None and self._hooks.full)
            if rows and not step.more:
                step.more = [
                    *bad_parameters(self._model),
                    *parameter_rows(self._model),
                    *_scale_row(self.options.scaler),
                ]
            if step.is_bad() and not self._is_calibration(step):
                self._write_bad(step)

    def _collect(self) -> _Step | None:
        if self._hooks is None or self._current is None:
            return None
        self._hooks.resolve()
        self._current.events = self._hooks.events
        return self._current

    def _is_calibration(self, step: _Step) -> bool:
        """A loss scale that is too large for the moment, which the scaler is about to lower."""
        patient = self.options.scaler is not None and not step.is_bad("fwd")
        return patient and self._bad_in_a_row + 1 < self.options.patience

    def _finish(self) -> None:
        """End the present step: keep it, or write it with what came before."""
        step = self._collect()
        self._current, self._root = None, None
        if step is None or self._hooks is None:
            return
        if step.is_bad():
            if not self._is_calibration(step):
                self._write_bad(step)
            self._bad_steps += 1
            self._bad_in_a_row += 1
            self._full_left = max(self._full_left, self.options.full_after_bad)
        else:
            self._bad_in_a_row = 0
        first, end = self.options.full_steps or (0, 0)
        if first <= step.step < end:
            self._write(step)
        elif not step.written:
            self._ring.append(step)
        self._moment = None
        self._hooks.new_step(full=False)

    def _write_bad(self, step: _Step) -> None:
        direction = "fwd" if step.is_bad("fwd") else "bwd"
        if not step.written:
            self._bad_written[direction] += 1
        if self._bad_written[direction] > self.options.max_bad_steps:
            return
        self._write_ring()
        self._write(step)
        self._save(step)

    def _save(self, step: _Step) -> None:
        """Keep the first bad step.

        A later one with a bad forward pass says more than bad gradients, which a scaler may be searching with. It takes the
        place of the first only while the weights are sound: once they took in NaN it is a mere consequence.
        """
        grade = _FORWARD if step.is_bad("fwd") else _BACKWARD
        if self._moment is None or self.options.capsule is None or grade <= self._capsule_grade:
            return
        if self._capsule_grade == _NO_CAPSULE or not any(bad_parameters(self._model)):
            self._capsule_grade = grade
            save_capsule(
                Path(self.options.capsule),
                self._model,
                self._moment,
                step=step.step,
                loss_scale=_loss_scale(self.options.scaler),
                autocast=None if self._hooks is None else self._hooks.autocast,
            )

    def _write_ring(self) -> None:
        for step in self._ring:
            self._write(step)
        self._ring.clear()

    def _write(self, step: _Step) -> None:
        if self._hooks is None or step.written == len(step.events):
            return
        if not self._described:
            self._described = True
            self._file.write([self._about(step)])
        self._file.write(_rows(step))
        step.written, step.more = len(step.events), []

    def _about(self, step: _Step) -> dict[str, Any]:
        """A first row without numbers: what recorded, and what it could not see."""
        extra: dict[str, Any] = {"torch": torch.__version__, "recorder": "hooks"}
        hidden = hidden_modules(self._model, self._hooks.fired if self._hooks else set())
        if hidden:
            extra |= {"hidden_by_compile": len(hidden), "hidden_modules": " ".join(hidden[:MAX_HIDDEN_NAMED])}
        return {"step": step.step, "seq": 0, "pass": "fwd", "op": "recording", "extra": extra}


def _rows(step: _Step) -> Iterator[dict[str, Any]]:
    """What of a step is not in the file yet."""
    place = {"step": step.step, "micro_step": step.micro_step}
    begun = sum(len(seen.slots) for seen in step.events[: step.written])
    for seq, row in enumerate([*rows_of(step.events[step.written :]), *step.more], start=begun + 1):
        yield {**place, "seq": seq, **row}


def hidden_modules(model: torch.nn.Module, fired: set[str]) -> list[str]:
    """Modules inside compiled ones whose hooks never ran: the compiled graph runs without them."""
    compiled = [plain_name(name) for name, module in model.named_modules() if _is_compiled(module)]
    names = [plain_name(name) for name, module in model.named_modules() if not list(module.children())]
    inside = [n for n in names if any(c in {n, ""} or n.startswith(f"{c}.") for c in compiled)]
    return [name for name in inside if name not in fired]


def _is_compiled(module: torch.nn.Module) -> bool:
    return (
        hasattr(module, "_orig_mod")
        or getattr(module, "_compiled_call_impl", None) is not None
        or hasattr(module.forward, "_torchdynamo_orig_callable")
    )


def _size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _holds_fp16(module: torch.nn.Module) -> bool:
    parameter = next(module.parameters(), None)
    return parameter is not None and parameter.dtype is torch.float16


def _loss_scale(scaler: Any) -> float | None:
    """The present loss scale of any scaler."""
    if scaler is None:
        return None
    if hasattr(scaler, "get_scale"):
        return float(scaler.get_scale())
    value = getattr(scaler, "cur_scale", getattr(scaler, "loss_scale", None))
    return None if value is None or callable(value) else float(value)


def _scale_row(scaler: Any) -> list[dict[str, Any]]:
    scale = _loss_scale(scaler)
    return (
        []
        if scale is None
        else [{"pass": "opt", "op": "loss_scale", "tensor_role": "opt_state", "absmax": scale}]
    )


def _rank() -> int:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_rank())
    text = os.environ.get("RANK", "0")
    return int(text) if text.isdecimal() else 0


def _path_of_rank(path: Path, rank: int) -> Path:
    return path if rank == 0 else path.with_name(f"{path.stem}.rank{rank}{path.suffix}")


def _close_if_alive(recorder: weakref.ref[Recorder]) -> None:
    alive = recorder()
    if alive is not None:
        alive.close()
