"""The part of a capsule that needs no torch: its header, read from a directory that anybody may have made.

A capsule is a directory of four files with fixed names and no pickle::

    capsule.json           what is in it: versions, step, loss scale, autocast, the batch as a tree
    weights.safetensors    parameters and buffers
    batch.safetensors      tensors of the batch, t0, t1, …
    random.safetensors     states of torch's random generators: cpu, cuda0, cuda1, …
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyzer.errors import InputError
from analyzer.model.replay import CAPSULE_HEADER, CAPSULE_SCHEMA
from analyzer.record import dataclass, field

SCHEMA = CAPSULE_SCHEMA
HEADER_FILE = CAPSULE_HEADER
WEIGHTS_FILE = "weights.safetensors"
BATCH_FILE = "batch.safetensors"
RANDOM_FILE = "random.safetensors"
FILES = (WEIGHTS_FILE, BATCH_FILE, RANDOM_FILE)

MAX_HEADER_BYTES = 4 << 20
"""A header has a few KB; a batch of a thousand tensors some 100 KB."""

MAX_TENSOR_HEADER_BYTES = 64 << 20
"""Header of a safetensors file: about 100 bytes per tensor."""

MAX_DEPTH = 8
MAX_NODES = 100_000
FLOAT_TYPES = frozenset({"float16", "bfloat16", "float32", "float64"})


@dataclass(frozen=True, slots=True)
class CapsuleHeader:
    """What stands in ``capsule.json``."""

    step: int  # optimiser step
    loss_scale: float | None  # factor of the loss; None if there was none
    autocast: str | None  # format of autocast, such as float16; None if it was off
    training: bool  # whether the model was in training mode
    device: str  # type of the device it ran on
    module: str  # class of the module that was called
    path: str  # name of that module inside the model; empty for the model itself
    batch: Mapping[str, Any]  # tree of positional and keyword arguments
    # name of a shared parameter to the name under which it is stored
    aliases: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)  # package to version


def read_header(directory: Path) -> CapsuleHeader:
    """Read and check a capsule's header; its files must be plain files inside it.

    Raises:
        InputError: It is no capsule, of another version, or malformed.
    """
    raw = _object(_bounded(directory / HEADER_FILE), directory / HEADER_FILE)
    if raw.get("schema") != SCHEMA:
        raise InputError(
            f"{directory / HEADER_FILE}: not a capsule of schema {SCHEMA}: {str(raw.get('schema'))[:40]!r}"
        )
    for name in FILES:
        _check_tensor_file(directory / name)
    try:
        return _header(raw)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{directory / HEADER_FILE}: {error}") from None


def _bounded(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{path}: missing, or not a plain file; not a capsule")
    if path.stat().st_size > MAX_HEADER_BYTES:
        raise InputError(f"{path}: larger than {MAX_HEADER_BYTES} bytes; not a capsule's header")
    return path.read_bytes()


def _object(text: bytes, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({type(error).__name__})") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: no JSON object")
    return found


def _check_tensor_file(path: Path) -> None:
    """A safetensors file says the length of its header first; it must lie in the file."""
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{path}: missing, or not a plain file; the capsule is incomplete")
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
    if not 2 <= length <= min(MAX_TENSOR_HEADER_BYTES, path.stat().st_size - 8):
        raise InputError(f"{path}: damaged, or no safetensors file")


def _header(raw: Mapping[str, Any]) -> CapsuleHeader:
    batch, scale, autocast = raw["batch"], raw.get("loss_scale"), raw.get("autocast")
    _check_tree(batch)
    if not isinstance(batch, dict) or set(batch) != {"args", "kwargs"}:
        raise ValueError("batch must have args and kwargs")
    if scale is not None and not (isinstance(scale, int | float) and math.isfinite(scale) and scale > 0):
        raise ValueError("loss_scale must be a positive number")
    if autocast is not None and autocast not in FLOAT_TYPES:
        raise ValueError(f"autocast is no format of {', '.join(sorted(FLOAT_TYPES))}")
    return CapsuleHeader(
        step=int(raw["step"]),
        loss_scale=None if scale is None else float(scale),
        autocast=autocast,
        training=bool(raw["training"]),
        device=str(raw["device"])[:32],
        module=str(raw["module"])[:200],
        path=str(raw.get("path", ""))[:500],
        batch=batch,
        aliases=_texts(raw.get("aliases", {})),
        versions=_texts(raw.get("versions", {})),
    )


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise TypeError("expected an object of texts")
    return {str(name)[:500]: str(text)[:500] for name, text in value.items()}


def _check_tree(value: Any) -> None:
    """Refuse a tree that is too deep or too large, without recursion."""
    waiting, seen = [(value, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if depth > 2 * MAX_DEPTH or seen > MAX_NODES:
            raise ValueError("the batch is too deep or too large")
        if isinstance(node, dict):
            waiting.extend((item, depth + 1) for item in node.values())
        elif isinstance(node, list):
            waiting.extend((item, depth + 1) for item in node)


def tree_of(value: Any, keep: dict[str, Any], is_tensor: Any, depth: int = 0) -> Any:
    """A batch as JSON: tensors become ``{"tensor": name}`` and go into ``keep``; what is no data is left out.

    >>> tree_of((1, {"a": None}), {}, lambda value: False)
    {'tuple': [{'value': 1}, {'dict': {'a': {'value': None}}}]}
    """
    if is_tensor(value):
        name = f"t{len(keep)}"
        keep[name] = value
        return {"tensor": name}
    if (
        value is None
        or isinstance(value, bool | int | str)
        or (isinstance(value, float) and math.isfinite(value))
    ):
        return {"value": value}
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return {"dict": {str(k): tree_of(v, keep, is_tensor, depth + 1) for k, v in value.items()}}
    if depth < MAX_DEPTH and isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [tree_of(item, keep, is_tensor, depth + 1) for item in value]}
    return {"left_out": type(value).__name__}


def value_of(tree: Any, tensors: Mapping[str, Any]) -> Any:
    """A batch from its tree. What was left out comes back as None.

    Raises:
        InputError: The tree is malformed, or names a tensor that is not there.
    """
    if not isinstance(tree, dict) or len(tree) != 1:
        raise InputError("capsule: malformed batch")
    (kind, value), *_ = tree.items()
    if kind == "tensor" and value in tensors:
        return tensors[value]
    if kind == "dict" and isinstance(value, dict):
        return {name: value_of(item, tensors) for name, item in value.items()}
    if kind in ("tuple", "list") and isinstance(value, list):
        items = [value_of(item, tensors) for item in value]
        return tuple(items) if kind == "tuple" else items
    if kind == "value" and (value is None or isinstance(value, bool | int | float | str)):
        return value
    if kind == "left_out":
        return None
    raise InputError(f"capsule: malformed batch: {str(kind)[:40]!r}")
