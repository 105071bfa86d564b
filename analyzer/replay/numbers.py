"""Numbers of one tensor: its extremes at almost no cost, or every statistic that a row of a trace can hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from analyzer.model.float_formats import LARGEST, SMALLEST_NORMAL, format_name

MAX_DEPTH = 4
MAX_TENSORS = 16
"""Tensors taken of one input or output: a module that returns more (a cache) is not where to look first."""

FP16_ZERO_BELOW = 2.0**-25
"""A cast to float16 makes numbers up to here 0 (half of the smallest subnormal, rounded to even)."""

FP16_INF_FROM = 65520.0
"""A cast to float16 makes numbers from here on infinite (half a step above 65504, rounded to even)."""


def tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Tensors with numbers in a tensor, or in nested tuples, lists and mappings (a model's output is one)."""
    if isinstance(value, torch.Tensor):
        if (value.is_floating_point() or value.is_complex()) and value.numel() and _is_plain(value):
            yield value
        return
    if depth >= MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, tuple | list):
        return
    for item in value:
        yield from tensors_in(item, depth + 1)


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and tensor.device.type != "meta" and not tensor.is_inference()


def dtype_of(tensor: torch.Tensor) -> str:
    """Name of a tensor's number format, as the trace writes it."""
    return format_name(str(tensor.dtype))


def real_numbers(tensor: torch.Tensor) -> torch.Tensor:
    """The local part of a tensor, outside autograd, as a real format that reductions know."""
    plain = tensor.detach()
    if hasattr(plain, "to_local"):  # a tensor sharded by FSDP2 or tensor parallelism
        plain = plain.to_local()
    if plain.is_complex():
        plain = torch.view_as_real(plain)
    return plain.float() if plain.dtype.itemsize == 1 else plain  # float8 has no reductions


def extremes(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Smallest and largest element, each of shape (), left on the device; both are NaN if any element is."""
    low, high = torch.aminmax(real_numbers(tensor))
    return low, high


def to_floats(values: Sequence[torch.Tensor]) -> list[float]:
    """Values of tensors of shape () with one transfer per device and format."""
    groups: dict[tuple[Any, Any], list[int]] = {}
    for index, value in enumerate(values):
        groups.setdefault((value.device, value.dtype), []).append(index)
    found = [math.nan] * len(values)
    for indices in groups.values():
        numbers = torch.stack([values[index] for index in indices]).tolist()
        for index, number in zip(indices, numbers, strict=True):
            found[index] = number
    return found


def range_row(low: float, high: float) -> dict[str, Any]:
    """Columns of a row that follow from the extremes of all elements."""
    if math.isfinite(low) and math.isfinite(high):
        return {"min": low, "max": high, "absmax": max(-low, high), "nonfinite": False}
    row: dict[str, Any] = {"nonfinite": True}
    if math.isfinite(low):
        row["min"] = low
    if math.isfinite(high):
        row["max"] = high
    if not math.isnan(low):  # NaN hides what else there is; without one the infinities are known to exist
        row["nan_count"] = 0
    return row


def full_row(tensor: torch.Tensor, *, fp16_target: bool = False) -> dict[str, Any]:
    """Every statistic of the format, over finite elements.

    Args:
        tensor: Any floating-point or complex tensor with elements.
        fp16_target: The run computes in float16: tell which share of a wider tensor a cast would lose.
    """
    name, values = dtype_of(tensor), real_numbers(tensor)
    if values.dtype != torch.float64:
        values = values.float()
    finite = torch.isfinite(values)
    kept = torch.where(finite, values, 0)
    size = kept.abs()
    nonzero = size > 0
    count = finite.sum().clamp_min(1)
    absmax = size.amax()
    scaled = kept / absmax.clamp_min(
        torch.finfo(values.dtype).tiny
    )  # so that squares neither overflow nor vanish
    mean = scaled.sum() / count
    spread = torch.where(finite, scaled - mean, 0).square().sum() / count
    row = _finite_numbers(
        {
            "absmax": absmax,
            "mean": mean * absmax,
            "std": spread.sqrt() * absmax,
            "l2norm": scaled.square().sum().sqrt() * absmax,
            "min": torch.where(finite, values, torch.inf).amin(),
            "max": torch.where(finite, values, -torch.inf).amax(),
            "absmin_nonzero": torch.where(nonzero, size, torch.inf).amin(),
        }
    )
    small = SMALLEST_NORMAL.get(name, 0.0)
    counts = {
        "nan_count": torch.isnan(values),
        "inf_count": torch.isinf(values),
        "zero_count": values == 0,
        "subnormal_count": nonzero & (size < small),
        "lost_small": nonzero & (size <= FP16_ZERO_BELOW),
        "lost_large": size >= FP16_INF_FROM,
    }
    row |= dict(zip(counts, torch.stack([flags.sum() for flags in counts.values()]).tolist(), strict=True))
    return _with_fractions(row, name, values.numel(), fp16_target=fp16_target)


def _finite_numbers(values: dict[str, torch.Tensor]) -> dict[str, Any]:
    numbers = torch.stack(list(values.values())).tolist()
    return {name: number for name, number in zip(values, numbers, strict=True) if math.isfinite(number)}


def _with_fractions(row: dict[str, Any], dtype: str, numel: int, *, fp16_target: bool) -> dict[str, Any]:
    small, large = row.pop("lost_small"), row.pop("lost_large")
    row["nonfinite"] = row["nan_count"] + row["inf_count"] > 0
    if row["nan_count"] + row["inf_count"] == numel:  # no finite element: nothing is known of these
        for name in ("absmax", "mean", "std", "l2norm"):
            row.pop(name, None)
    nonzero = numel - row["zero_count"]
    if nonzero and dtype == "float16":
        row["overflow_frac"] = row["inf_count"] / nonzero
    elif nonzero and fp16_target and LARGEST.get(dtype, 0.0) > LARGEST["float16"]:
        row["underflow_frac"], row["overflow_frac"] = small / nonzero, (large + row["inf_count"]) / nonzero
    return row


def describe(tensor: torch.Tensor) -> dict[str, Any]:
    """Columns of a row that do not depend on the values."""
    return {
        "dtype": dtype_of(tensor),
        "shape": list(tensor.shape),
        "numel": tensor.numel(),
        "device": str(tensor.device),
    }
