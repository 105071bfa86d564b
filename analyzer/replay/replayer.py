"""Run the step of a capsule again: which module, which operator, and what cures it."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import torch

from analyzer.errors import InputError
from analyzer.record import dataclass, replace
from analyzer.replay import verdict as verdicts
from analyzer.replay.capsule import Capsule, load_capsule, set_random_state
from analyzer.replay.files import ReplayWriter
from analyzer.replay.hooks import ModuleHooks, plain_name, rows_of
from analyzer.replay.numbers import tensors_in
from analyzer.replay.operators import OperatorWatch, Origin
from analyzer.replay.parameters import LARGE, bad_parameters, parameter_rows, special_row
from analyzer.replay.trace_file import extra_text
from analyzer.replay.verdict import Judgement, Outcome, judge

SCALES = (4096.0, 1024.0, 64.0, 16.0, 1.0)
"""Loss scales tried below the run's own; a fault that scale 1 does not cure is none of the scale."""

LossFunction = Callable[[Any, dict[str, Any]], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run the step."""

    name: str  # name in the trace
    weights: torch.dtype | None  # format of the weights; None as recorded
    autocast: torch.dtype | None  # format of autocast; None for none
    loss_scale: float  # factor of the loss
    math_attention: bool = False  # use the plain form of scaled dot product attention


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay has found."""

    judgement: Judgement  # the verdict and what it rests on
    outcomes: tuple[Outcome, ...]  # every rerun
    # the operator at which it began; None if all was finite or no operator has sound inputs
    origin: Origin | None
    rows: tuple[dict[str, Any], ...]  # rows of the trace
    notes: tuple[str, ...] = ()  # what could not be done, in words


def load_factory(text: str) -> tuple[torch.nn.Module, LossFunction | None]:
    """Call ``module:factory``, which gives a model, or a model and a function of its output and the batch's keywords.

    Raises:
        InputError: It cannot be imported, or gives something else.
    """
    module_name, _, name = text.partition(":")
    if not module_name or not name:
        raise InputError(f"--model {text!r}: expected module:factory, for example my_project.models:build")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        made = getattr(importlib.import_module(module_name), name)()
    except (ImportError, AttributeError) as error:
        raise InputError(f"--model {text!r}: {error}") from None
    model, loss = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"--model {text!r}: gave a {type(model).__name__}, not a torch.nn.Module")
    return model, loss


def replay_capsule(
    directory: Path,
    model: torch.nn.Module,
    loss_function: LossFunction | None = None,
    device: str | None = None,
) -> Replay:
    """Replay a capsule in full.

    Args:
        directory: The capsule.
        model: A model of the same structure; its weights are replaced.
        loss_function: Loss of an output and the batch's keyword arguments; needed if the output holds none.
        device: Where to run; the CPU, or CUDA if the run was there and it is here.

    Raises:
        InputError: The capsule cannot be read, or does not fit the model.
    """
    capsule = load_capsule(directory)
    where = device or ("cuda" if capsule.header.device == "cuda" and torch.cuda.is_available() else "cpu")
    step = _Step(capsule, model, loss_function, where)
    recorded = step.recorded()
    rows, outcome = step.with_hooks(recorded)
    origin = step.with_operators(recorded) if outcome.is_bad else None
    outcomes = [outcome, step.run(replace(recorded, name=verdicts.REPEATED))]
    outcomes += [step.run(variant) for variant in step.counterfactuals(recorded)]
    judgement = judge(
        outcomes,
        weights_bad=_any_bad(capsule.weights),
        batch_bad=_any_bad((capsule.args, capsule.kwargs)),
        kernel_wrong=None if origin is None else origin.kernel_wrong,
        beyond_float32=origin is not None and origin.largest_input > LARGE,
    )
    found = [*_with_origin(rows, origin), *_reruns(outcomes, judgement, origin, step.special)]
    numbered = [{"step": capsule.header.step, "seq": seq, **row} for seq, row in enumerate(found)]
    return Replay(judgement, tuple(outcomes), origin, tuple(numbered), tuple(step.notes))


def write_trace(replay: Replay, path: Path) -> None:
    """Write a replay as a trace of the open format, Parquet or JSON lines by the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ReplayWriter(path) as out:
        for row in replay.rows:
            extra = {"extra": extra_text(row["extra"])} if row.get("extra") else {}
            out.write({"replay_id": "replay", "source_format": "torch_dispatch", "rank": 0, **row, **extra})


class _Step:
    """One step that can be run in many ways."""

    def __init__(
        self, capsule: Capsule, model: torch.nn.Module, loss_function: LossFunction | None, device: str
    ) -> None:
        self.capsule, self.model, self.loss_function, self.device = (
            capsule,
            model.to(device),
            loss_function,
            device,
        )
        self.notes: list[str] = []
        self.special: dict[str, Any] = {}
        modules = {plain_name(name): module for name, module in model.named_modules()}
        if capsule.header.path not in modules:
            raise InputError(f"the model has no module {capsule.header.path!r}, which the capsule calls")
        self.target = modules[capsule.header.path]

    def recorded(self) -> Variant:
        """The way the step was run."""
        header = self.capsule.header
        autocast = None if header.autocast is None else getattr(torch, header.autocast)
        return Variant(verdicts.RECORDED, None, autocast, header.loss_scale or 1.0)

    def counterfactuals(self, recorded: Variant) -> Iterator[Variant]:
        """Reruns that each change one thing."""
        yield Variant(verdicts.FLOAT32, torch.float32, None, 1.0)
        bf16 = torch.bfloat16
        halves = any(w.dtype in (torch.float16, bf16) for w in self.capsule.weights.values())
        narrow = recorded.autocast is None and halves
        yield Variant(verdicts.BFLOAT16, bf16 if narrow else torch.float32, None if narrow else bf16, 1.0)
        for scale in SCALES:
            if scale < recorded.loss_scale:
                yield Variant(f"{verdicts.SCALE}{scale:g}", None, recorded.autocast, scale)
        if self.device.startswith("cuda"):  # the CPU's fused attention computes as the plain one does
            yield Variant(
                verdicts.MATH_ATTENTION, None, recorded.autocast, recorded.loss_scale, math_attention=True
            )

    def with_hooks(self, variant: Variant) -> tuple[list[dict[str, Any]], Outcome]:
        """Run with full statistics of every module; the rows and the outcome."""
        hooks = ModuleHooks(self.model, on_root=lambda *_: None, on_backward_end=lambda: None, backward=True)
        hooks.fp16_target = torch.float16 in (
            variant.autocast,
            *(w.dtype for w in self.capsule.weights.values()),
        )
        hooks.full = True
        try:
            outcome = self.run(variant)
            hooks.resolve()
            rows = [*bad_parameters(self.model), *rows_of(hooks.events), *parameter_rows(self.model)]
        finally:
            hooks.remove()
        inside = any(seen.numbers.get("nonfinite") for seen in hooks.events if seen.direction == "fwd")
        return rows, replace(outcome, modules_bad=inside)

    def with_operators(self, variant: Variant) -> Origin | None:
        """Run with every operator watched; where it begins."""
        with OperatorWatch(self.model) as watch:
            self.run(variant)
        found: Origin | None = watch.origin
        return found

    def run(self, variant: Variant) -> Outcome:
        """Run the step in one way."""
        try:
            return self._run(variant)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            message = (str(error).splitlines() or [""])[0]
            return Outcome(
                variant.name, loss_scale=variant.loss_scale, error=f"{type(error).__name__}: {message[:200]}"
            )

    def _run(self, variant: Variant) -> Outcome:
        install(self.model, self.capsule.weights, variant.weights, self.device)
        set_random_state(self.capsule.random)
        self.model.train(self.capsule.header.training)
        self.model.zero_grad(set_to_none=True)
        with ExitStack() as stack:
            if variant.autocast is not None:
                stack.enter_context(torch.autocast(self.device.partition(":")[0], dtype=variant.autocast))
            stack.enter_context(_attention(plain=variant.math_attention))
            output = self.target(
                *self._placed(self.capsule.args, variant), **self._placed(self.capsule.kwargs, variant)
            )
            loss = self._loss(output)
        forward_bad = any(
            not bool(torch.isfinite(t).all()) for t in tensors_in(output if loss is None else loss)
        )
        if loss is None or not loss.requires_grad:
            return Outcome(variant.name, None, variant.loss_scale, forward_bad)
        (loss.float() * variant.loss_scale).backward()
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        finite = [bool(torch.isfinite(gradient).all()) for gradient in gradients]
        largest = max((float(_finite_absmax(gradient)) for gradient in gradients), default=0.0)
        number = float(loss.detach())
        if variant.name == verdicts.FLOAT32 and all(finite):
            self.special = special_row(self.model)
        return Outcome(variant.name, number, variant.loss_scale, forward_bad or not math.isfinite(number),
                       not all(finite), largest / variant.loss_scale)  # fmt: skip

    def _loss(self, output: Any) -> torch.Tensor | None:
        found = output
        if self.loss_function is not None:
            found = self.loss_function(output, self._placed(self.capsule.kwargs, None))
        elif isinstance(output, dict):
            found = output.get("loss")
        elif isinstance(output, tuple) and output:
            found = output[0]
        if isinstance(found, torch.Tensor) and found.numel() == 1:
            return found.reshape(())
        note = "the output holds no loss: only the forward pass was run (let the factory give a loss function too)"
        if note not in self.notes:
            self.notes.append(note)
        return None

    def _placed(self, value: Any, variant: Variant | None) -> Any:
        """Arguments on the device, in the format of the weights where they had a float format."""
        if isinstance(value, torch.Tensor):
            dtype = variant.weights if variant is not None and value.is_floating_point() else None
            return value.to(self.device, dtype) if dtype is not None else value.to(self.device)
        if isinstance(value, dict):
            return {name: self._placed(item, variant) for name, item in value.items()}
        if isinstance(value, tuple | list):
            return type(value)(self._placed(item, variant) for item in value)
        return value


def install(
    model: torch.nn.Module, weights: dict[str, torch.Tensor], dtype: torch.dtype | None, device: str
) -> None:
    """Put weights into a model, in their own format or in one for all of them.

    Raises:
        InputError: The model has a parameter that is not among them, or of another shape.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    wanted = {plain_name(name): value for name, value in (*parameters.items(), *model.named_buffers())}
    missing = [name for name in parameters if plain_name(name) not in weights]
    if missing:
        raise InputError(f"the model does not fit the capsule, which has no {', '.join(missing[:3])}")
    for name, value in wanted.items():
        stored = weights.get(name)
        if stored is None:
            continue  # a buffer that is not saved
        if stored.shape != value.shape:
            raise InputError(
                f"the model does not fit the capsule: {name} is {tuple(value.shape)}, not {tuple(stored.shape)}"
            )
        with torch.no_grad():
            wide = (
                stored.to(device, dtype)
                if dtype is not None and stored.is_floating_point()
                else stored.to(device)
            )
            value.data = wide.clone()


def _attention(*, plain: bool) -> Any:
    if not plain:
        return nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: PLC0415

    return sdpa_kernel(SDPBackend.MATH)


def _finite_absmax(tensor: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.isfinite(tensor), tensor.abs(), 0).amax() if tensor.numel() else torch.zeros(())


def _any_bad(value: Any) -> bool:
    return any(not bool(torch.isfinite(tensor.float()).all()) for tensor in tensors_in(list(_leaves(value))))


def _leaves(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _leaves(item)


def _with_origin(rows: list[dict[str, Any]], origin: Origin | None) -> Iterator[dict[str, Any]]:
    """The rows of the modules, with the operator's just before the first of its direction that is not finite.

    What was computed of the output, as a loss outside the model, stands before the first gradient.
    """
    pending = origin
    for row in rows:
        reached = row.get("nonfinite") and pending is not None and row["pass"] == pending.direction
        backward = row.get("pass") in ("bwd", "opt") and pending is not None and pending.direction == "fwd"
        if pending is not None and (reached or backward):
            yield from origin_rows(pending)
            pending = None
        yield row
    if pending is not None:
        yield from origin_rows(pending)


def origin_rows(origin: Origin) -> Iterator[dict[str, Any]]:
    """An operator as rows: its inputs, then its outputs."""
    about = {
        "pass": origin.direction,
        "module": origin.module or None,
        "op": origin.op,
        "site": origin.site or None,
    }
    extra = {
        "operator_index": origin.index,
        "reference_absmax": origin.reference_absmax,
        "reference_nonfinite": origin.reference_nonfinite,
        "kernel_wrong": origin.kernel_wrong,
        "fully_masked_rows": origin.masked_rows,
    }
    for role, tensors in (("input", origin.inputs), ("output", origin.outputs)):
        for index, columns in enumerate(tensors):
            known = dict(columns)
            signs = {"inf_signs": known.pop("inf_signs", [])}
            yield {**about, "tensor_role": f"{role}[{index}]", **known, "extra": {**extra, **signs}}


def _reruns(
    outcomes: list[Outcome], judgement: Judgement, origin: Origin | None, special: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    yield from (outcome.row() for outcome in outcomes)
    kernel = None if origin is None else origin.kernel_wrong
    yield judgement.row(
        kernel_wrong=kernel, masked_rows=None if origin is None else origin.masked_rows, **special
    )
