"""Watch every module of a model: what goes in, what comes out, and the gradients on the way back.

Nothing is changed: forward hooks only read, and gradients are seen by hooks on tensors, because hooks on the
backward of modules put identity functions into the graph, which breaks in-place operations.

A tensor that several modules pass on is measured once and its gradient is hooked once. Its gradient is the sum
over all its users; the innermost user is named first.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from analyzer.record import dataclass, field
from analyzer.replay.numbers import describe, extremes, full_row, range_row, tensors_in, to_floats

_WRAPPERS = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})


@dataclass(slots=True)
class Slot:
    """One tensor at one place: who hands it, in which role."""

    module: str  # qualified name; empty for the model itself
    module_type: str  # class
    role: str  # ``input[i]`` or ``output[i]``
    call_index: int  # 0-based number of the module's call in this step


@dataclass(slots=True)
class Seen:
    """One measurement: the places that it is for, and its numbers or where they will come from."""

    direction: str  # fwd or bwd
    slots: list[Slot]  # places, the one to be named first at the begin
    about: dict[str, Any]  # format, sizes and device of the tensor
    numbers: dict[str, Any] = field(default_factory=dict)  # columns, once they are known
    extra: dict[str, Any] = field(default_factory=dict)  # what has no column


@dataclass(slots=True)
class _Known:
    """A tensor met in this step."""

    tensor: weakref.ref[torch.Tensor]
    version: int
    seen: Seen
    slots: list[Slot]


class ModuleHooks:
    """Hooks on all modules below one, which collect ``Seen`` of the present step.

    Args:
        model: The root.
        on_root: Called before a module is run from outside, with the module and its positional and keyword arguments.
        on_backward_end: Called when a backward pass has ended.
        backward: Watch gradients too.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        on_root: Callable[[torch.nn.Module, tuple[Any, ...], dict[str, Any]], None],
        on_backward_end: Callable[[], None],
        backward: bool,
    ) -> None:
        self.events: list[Seen] = []
        self.fired: set[str] = set()
        self.full = False
        self.backward_begun = False
        self.fp16_target = False
        self.autocast: str | None = None
        self._on_root, self._on_backward_end, self._backward = on_root, on_backward_end, backward
        self._depth = 0
        self._active = False
        self._queued = False
        self._calls: dict[str, int] = {}
        self._known: dict[int, _Known] = {}
        self._pending: list[tuple[Seen, torch.Tensor, torch.Tensor]] = []
        self._leaf_hooks: list[Any] = []
        self._handles: list[Any] = []
        parameter = next(model.parameters(), None)
        self._device = "cpu" if parameter is None else parameter.device.type
        for name, module in model.named_modules():
            self._attach(plain_name(name), module)

    def _attach(self, name: str, module: torch.nn.Module) -> None:
        kind = type(module).__name__

        def before(mod: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if torch.compiler.is_compiling():
                return
            self._enter(mod, args, kwargs)
            if self._active:
                self._forward(name, kind, "input", (args, kwargs))

        def after(_mod: torch.nn.Module, _args: Any, output: Any) -> None:
            if torch.compiler.is_compiling():
                return
            self._depth = max(0, self._depth - 1)
            if self._active and output is not None:
                self._forward(name, kind, "output", output)
                self._calls[name] = self._calls.get(name, 0) + 1

        self._handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
        # always_call: the depth must be right after an exception that the user's script survives
        self._handles.append(module.register_forward_hook(after, always_call=True))

    def _enter(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._depth += 1
        if self._depth == 1 and not in_backward():  # inside a backward it is recomputed, not run anew
            self._queued = False
            self._active = torch.is_grad_enabled()
            if self._active:
                self.autocast = None
                self._on_root(module, args, kwargs)
        if (
            self._active and self.autocast is None and self._depth <= 2
        ):  # a wrapped forward switches it on inside
            self.autocast = autocast_format(self._device)
            self.fp16_target = self.fp16_target or self.autocast == "float16"

    def _forward(self, name: str, kind: str, role: str, value: Any) -> None:
        self.fired.add(name)
        call = self._calls.get(name, 0)
        for index, tensor in enumerate(tensors_in(value)):
            slot = Slot(name, kind, f"{role}[{index}]", call)
            version = tensor._version  # noqa: SLF001
            known = self._known.get(id(tensor))
            if known is None or known.tensor() is not tensor or known.version != version:
                self._measure_forward(tensor, slot)
            else:
                met = known.seen
                self.events.append(Seen("fwd", [slot], met.about, met.numbers, met.extra))
                known.slots.append(slot)

    def outside(self, name: str, value: Any) -> None:
        """Measure what the script computed of the model's output, under a name of its own."""
        if self._active:
            self._forward(name, name.capitalize(), "output", value)

    def _measure_forward(self, tensor: torch.Tensor, slot: Slot) -> None:
        seen = self._measure("fwd", [slot], tensor)
        if in_backward():
            seen.extra["recomputed"] = True
        known = _Known(weakref.ref(tensor), tensor._version, seen, [slot])  # noqa: SLF001
        self._known[id(tensor)] = known
        if self._backward and tensor.requires_grad and torch.is_grad_enabled():
            slots = known.slots  # the closure must not hold the tensor: that would keep the graph alive
            handle = tensor.register_hook(lambda gradient: self._gradient(slots, gradient))
            if tensor.is_leaf:  # its hooks outlive the step
                self._leaf_hooks.append(handle)

    def _measure(self, direction: str, slots: list[Slot], tensor: torch.Tensor) -> Seen:
        seen = Seen(direction, slots, describe(tensor))
        try:
            if self.full:
                seen.numbers = full_row(tensor, fp16_target=self.fp16_target)
            else:
                self._pending.append((seen, *extremes(tensor)))
        except (RuntimeError, TypeError) as error:  # a format without such reductions must not end a training
            seen.extra["unmeasured"] = type(error).__name__
        self.events.append(seen)
        return seen

    def _gradient(self, slots: list[Slot], gradient: Any) -> None:
        if not self._active or next(tensors_in(gradient), None) is None:
            return
        if not self._queued:
            self._queued = self.backward_begun = True
            torch.autograd.Variable._execution_engine.queue_callback(self._backward_ended)  # noqa: SLF001
        places = [_gradient_slot(slot) for slot in reversed(slots)]
        self._measure("bwd", places, gradient)

    def _backward_ended(self) -> None:
        self._queued = False
        self._on_backward_end()

    def resolve(self) -> None:
        """Fetch the numbers that are still on the device."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        lows = to_floats([low for _, low, _ in pending])
        highs = to_floats([high for _, _, high in pending])
        for (seen, _, _), low, high in zip(pending, lows, highs, strict=True):
            seen.numbers.update(range_row(low, high))

    def new_step(self, *, full: bool) -> None:
        """Forget the present step."""
        self.resolve()
        self.events, self._known, self._calls, self.full = [], {}, {}, full
        self.backward_begun = False
        for handle in self._leaf_hooks:
            handle.remove()
        self._leaf_hooks.clear()

    def skip(self) -> None:
        """Watch nothing until a module is run from outside again."""
        self._active = False

    def remove(self) -> None:
        """Take all hooks off the model."""
        for handle in (*self._handles, *self._leaf_hooks):
            handle.remove()
        self._handles.clear()
        self._active = False


def rows_of(events: Sequence[Seen]) -> Iterator[dict[str, Any]]:
    """The rows of a trace for what was seen, without step and number."""
    for seen in events:
        for slot in seen.slots:
            row: dict[str, Any] = {"pass": seen.direction, "module": slot.module or None}
            row |= {"module_type": slot.module_type, "call_index": slot.call_index, "tensor_role": slot.role}
            yield row | seen.about | seen.numbers | ({"extra": seen.extra} if seen.extra else {})


def plain_name(name: str) -> str:
    """A module's name without what wrappers put into it.

    >>> plain_name("module._orig_mod.layers.0.mlp"), plain_name("module")
    ('layers.0.mlp', '')
    """
    parts = [part for part in name.split(".") if part not in _WRAPPERS]
    return ".".join(parts[1:] if parts[:1] == ["module"] else parts)


def autocast_format(device: str) -> str | None:
    """Format in which autocast computes now on a type of device; None if it is off."""
    if not torch.is_autocast_enabled(device):
        return None
    return str(torch.get_autocast_dtype(device)).removeprefix("torch.")


def in_backward() -> bool:
    """Whether autograd runs a backward pass in this thread (a checkpointed forward is recomputed there)."""
    return bool(torch._C._current_graph_task_id() != -1)  # noqa: SLF001


def _gradient_slot(slot: Slot) -> Slot:
    """The place of a tensor's gradient: it leaves a module at its inputs and enters it at its outputs."""
    return Slot(slot.module, slot.module_type, f"grad_{slot.role}", slot.call_index)
