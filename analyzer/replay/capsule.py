"""Save the step that failed, and load it again: weights, batch, random state, loss scale. No pickle."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch

from analyzer.errors import InputError
from analyzer.record import dataclass
from analyzer.replay.capsule_header import (
    BATCH_FILE,
    HEADER_FILE,
    RANDOM_FILE,
    SCHEMA,
    WEIGHTS_FILE,
    CapsuleHeader,
    read_header,
    tree_of,
    value_of,
)
from analyzer.replay.hooks import plain_name


@dataclass(frozen=True, slots=True)
class Moment:
    """The begin of a step: what is needed to run it again, held by reference except for the random state."""

    module: torch.nn.Module  # the module that was called
    args: tuple[Any, ...]  # positional arguments
    kwargs: dict[str, Any]  # keyword arguments
    random: dict[str, torch.Tensor]  # state of each generator
    training: bool  # training mode
    device: str  # type of device


@dataclass(frozen=True, slots=True)
class Capsule:
    """A loaded capsule."""

    header: CapsuleHeader  # what stands in its header
    weights: dict[str, torch.Tensor]  # parameters and buffers by name, shared ones under each of their names
    args: tuple[Any, ...]  # positional arguments of the call
    kwargs: dict[str, Any]  # keyword arguments
    random: dict[str, torch.Tensor]  # state of each generator


def moment_of(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Moment:
    """Take note of a step that begins."""
    parameter = next(module.parameters(), None)
    device = "cpu" if parameter is None else parameter.device.type
    return Moment(module, args, kwargs, random_state(), module.training, device)


def random_state() -> dict[str, torch.Tensor]:
    """States of torch's generators, each uint8 of one dimension."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states |= {f"cuda{i}": torch.cuda.get_rng_state(i) for i in range(torch.cuda.device_count())}
    return states


def set_random_state(states: dict[str, torch.Tensor]) -> None:
    """Put torch's generators back; states of devices that are not here are left out."""
    for name, state in states.items():
        if name == "cpu":
            torch.set_rng_state(state)
        elif torch.cuda.is_available() and int(name.removeprefix("cuda")) < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, int(name.removeprefix("cuda")))


def save_capsule(
    directory: Path,
    model: torch.nn.Module,
    moment: Moment,
    *,
    step: int,
    loss_scale: float | None = None,
    autocast: str | None = None,
) -> None:
    """Write a capsule; the header comes last, so that a capsule with one is whole.

    Args:
        directory: Made if it is not there.
        model: The whole model, whose weights are saved.
        moment: The begin of the step.
        step: Number of the step.
        loss_scale: Factor of the loss, None if there was none.
        autocast: Format of autocast, None if it was off.

    Raises:
        InputError: safetensors is not installed.
    """
    save_file = _safetensors().save_file
    directory.mkdir(parents=True, exist_ok=True)
    (directory / HEADER_FILE).unlink(missing_ok=True)  # an older capsule there is replaced, never mixed
    batch: dict[str, torch.Tensor] = {}
    tree = {
        "args": tree_of(moment.args, batch, torch.is_tensor),
        "kwargs": tree_of(moment.kwargs, batch, torch.is_tensor),
    }
    weights, aliases = _unshared({plain_name(name): value for name, value in model.state_dict().items()})
    paths = {module: plain_name(name) for name, module in model.named_modules()}
    header = {
        "schema": SCHEMA,
        "step": step,
        "loss_scale": loss_scale,
        "autocast": autocast,
        "training": moment.training,
        "device": moment.device,
        "module": type(moment.module).__name__,
        "path": paths.get(moment.module, ""),
        "batch": tree,
        "aliases": aliases,
        "versions": {"torch": torch.__version__},
    }
    save_file(weights, directory / WEIGHTS_FILE)
    save_file({name: _own(value) for name, value in batch.items()} or _nothing(), directory / BATCH_FILE)
    save_file({name: _own(value) for name, value in moment.random.items()}, directory / RANDOM_FILE)
    partial = directory / f"{HEADER_FILE}.part"
    partial.write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, directory / HEADER_FILE)  # noqa: PTH105  (atomic, and replaces)


def _unshared(weights: dict[str, torch.Tensor]) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Each tensor once (tied weights share one), and which other names it has."""
    stored: dict[str, torch.Tensor] = {}
    first: dict[tuple[Any, ...], str] = {}
    aliases: dict[str, str] = {}
    for name, value in weights.items():
        if not isinstance(value, torch.Tensor):
            continue
        key = (value.data_ptr(), value.dtype, tuple(value.shape), tuple(value.stride()), value.device)
        if value.numel() and key in first:
            aliases[name] = first[key]
        else:
            first[key] = name
            stored[name] = _own(value)
    return stored or _nothing(), aliases


def _own(value: torch.Tensor) -> torch.Tensor:
    return value.detach().cpu().contiguous().clone()


def _nothing() -> dict[str, torch.Tensor]:
    return {"nothing": torch.zeros(1)}


def load_capsule(directory: Path) -> Capsule:
    """Read a capsule.

    Raises:
        InputError: It is missing, damaged or malformed, or safetensors is not installed.
    """
    header = read_header(directory)
    files = _safetensors()
    try:
        weights = files.load_file(directory / WEIGHTS_FILE)
        batch = files.load_file(directory / BATCH_FILE)
        random = files.load_file(directory / RANDOM_FILE)
    except (_damage(), OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{directory}: damaged capsule: {str(error)[:200]}") from None
    weights |= {name: weights[other] for name, other in header.aliases.items() if other in weights}
    args, kwargs = value_of(header.batch["args"], batch), value_of(header.batch["kwargs"], batch)
    if not isinstance(args, tuple) or not isinstance(kwargs, dict):
        raise InputError(f"{directory}: malformed batch")
    if "cpu" not in random or any(not _is_state(name, state) for name, state in random.items()):
        raise InputError(f"{directory}: malformed random state")
    return Capsule(header, weights, args, kwargs, random)


def _is_state(name: str, state: torch.Tensor) -> bool:
    known = name == "cpu" or (name.startswith("cuda") and name[4:].isdecimal() and len(name) < 8)
    return known and state.dtype is torch.uint8 and state.dim() == 1


def _safetensors() -> Any:
    try:
        import safetensors.torch  # noqa: PLC0415  (an extra)
    except ImportError:
        raise InputError("capsules need safetensors: pip install safetensors") from None
    return safetensors.torch


def _damage() -> type[Exception]:
    """What safetensors raises for a damaged file."""
    from safetensors import SafetensorError  # noqa: PLC0415  (an extra)

    found: type[Exception] = SafetensorError
    return found
