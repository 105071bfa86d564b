"""Rows about the gradients of parameters; for embeddings also which rows of the table stand out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from analyzer.replay.hooks import plain_name
from analyzer.replay.numbers import describe, full_row, tensors_in

TOP_ROWS = 8
"""Rows of an embedding's gradient that are named: the few special tokens that a fault may sit in."""

MIN_ROWS = 8
"""With fewer tokens in a batch one of them always holds much of the gradient."""


def parameter_rows(model: torch.nn.Module) -> Iterator[dict[str, Any]]:
    """One row per parameter that has a gradient now, in the model's order."""
    for module, _, parameter, place in _parameters(model):
        gradient = parameter.grad
        if gradient is None or next(tensors_in(gradient), None) is None:
            continue
        row = {"pass": "bwd", "tensor_role": "param_grad", **place}
        row |= describe(gradient) | full_row(gradient)
        yield row
        if isinstance(module, torch.nn.Embedding):
            yield from _top_rows(row, gradient)


def _parameters(
    model: torch.nn.Module,
) -> Iterator[tuple[torch.nn.Module, str, torch.nn.Parameter, dict[str, Any]]]:
    """Each parameter with its module, its name there, and the columns that say where it is."""
    for module_name, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            place = plain_name(module_name)
            columns = {
                "module": place or None,
                "module_type": type(module).__name__,
                "tensor_name": f"{place}.{name}" if place else name,
            }
            yield module, name, parameter, columns


LARGE = 1e18
"""Beyond this the square of a number leaves the range of float32 and bfloat16; no trained weight comes near it."""


def bad_parameters(model: torch.nn.Module) -> Iterator[dict[str, Any]]:
    """One row per parameter that holds NaN, an infinity or a number beyond ``LARGE``, in the model's order."""
    for _, name, parameter, place in _parameters(model):
        value = parameter.detach()
        if next(tensors_in(value), None) is None or bool((value.float().abs() <= LARGE).all()):
            continue
        role = name if name in {"weight", "bias"} else "weight"
        yield {"pass": "param", "tensor_role": role, **place} | describe(value) | full_row(value)


def _top_rows(whole: dict[str, Any], gradient: torch.Tensor) -> Iterator[dict[str, Any]]:
    """The rows of an embedding's gradient that are not finite or largest: a token's own part of it."""
    place = {name: whole[name] for name in ("pass", "module", "module_type", "tensor_name")}
    sizes = torch.nan_to_num(gradient.detach().float(), nan=torch.inf).abs().amax(dim=1)
    for index in torch.topk(sizes, min(TOP_ROWS, len(sizes))).indices.tolist():
        if sizes[index] > 0:
            row = gradient[index]
            yield {**place, "tensor_role": f"param_grad_row[{index}]", **describe(row), **full_row(row)}


def special_row(model: torch.nn.Module) -> dict[str, Any]:
    """The token whose row holds most of an embedding's finite gradient.

    Returns:
        ``special_row``: its id; ``special_row_share``: its part of the squared norm; ``special_row_gain``: its largest
        element over the median of that of all rows with a gradient. Empty without such a gradient.
    """
    for module in model.modules():
        if not isinstance(module, torch.nn.Embedding) or module.weight.grad is None:
            continue
        values = torch.nan_to_num(module.weight.grad.detach().float(), 0.0, 0.0, 0.0)
        sizes = values.abs().amax(dim=1)
        used = sizes[sizes > 0]
        if len(used) < MIN_ROWS:
            continue
        norms = (values / sizes.max()).square().sum(dim=1)
        top = int(norms.argmax())
        gain = float(sizes[top] / used.median())
        return {
            "special_row": top,
            "special_row_share": float(norms[top] / norms.sum()),
            "special_row_gain": gain,
        }
    return {}
