"""Compare two traces of the same step: where do they part?

Rows are matched by what was measured: step, rank, direction, module, operator, number of the call, role, parameter.
Statistics are compared in the order of execution with a tolerance that fits the coarser of the two formats; the
first tensor that parts is named, and whether everything before it in its direction agreed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from analyzer.errors import InputError
from analyzer.model.ranked import distinct_of
from analyzer.model.replay import ReplayTable
from analyzer.record import dataclass

TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "bfloat16": 3e-2, "float16": 5e-3}
"""Relative difference of a statistic that rounding and the order of sums explain: about a thousand units of the last
place in float32, four in the half formats, whose statistics are means over many elements."""

COARSEST = 0.25
"""For 8-bit and narrower formats: one step of float8_e5m2."""

STATISTICS = ("absmax", "l2norm", "mean", "std", "min", "max")
_KEY = ("step", "micro_step", "rank", "pass", "module", "op", "call_index", "tensor_role", "tensor_name")
_MEASURED = ("fwd", "bwd", "opt", "comm", "param")


@dataclass(frozen=True, slots=True)
class Difference:
    """One tensor on which two traces do not agree."""

    row_a: int  # row of the first trace
    row_b: int  # row of the second trace
    what: str  # nonfinite, shape, or a statistic
    value_a: Any  # its value in the first trace
    value_b: Any  # its value in the second trace
    relative: float | None = None  # relative difference; None for nonfinite and shape


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two traces have in common and where they part."""

    matched: int  # tensors in both
    only_a: int  # tensors in the first alone
    only_b: int  # tensors in the second alone
    differing: int  # matched tensors that differ
    first: Difference | None  # the first of them in order of execution; None if all agree
    first_place: str = ""  # its step, direction, module, operator and role in words
    last_equal: str = ""  # the last tensor before it that agrees, in words; empty if there is none


def compare(
    a: ReplayTable, b: ReplayTable, *, tolerance: float | None = None, steps: bool = True
) -> Comparison:
    """Compare two traces.

    Args:
        a: The trace to explain.
        b: The trace to hold it against.
        tolerance: Relative tolerance for every format; by format if None.
        steps: Match the numbers of steps; if False, steps and ranks are matched in their order.

    Raises:
        InputError: No tensor is in both.
    """
    places_a, places_b = _places(a, steps=steps), _places(b, steps=steps)
    common = [key for key in places_a if key in places_b]
    if not common:
        raise InputError(
            "the two traces have no tensor in common: other modules, or other steps (try --any-step)"
        )
    first: Difference | None = None
    last_equal, before, differing = "", "", 0
    for key in common:
        found = _difference(a, places_a[key], b, places_b[key], tolerance)
        if found is not None:
            differing += 1
            if first is None:
                first, last_equal = found, before
        else:
            before = place_of(a, places_a[key])
    place = "" if first is None else place_of(a, first.row_a)
    return Comparison(
        len(common),
        len(places_a) - len(common),
        len(places_b) - len(common),
        differing,
        first,
        place,
        last_equal,
    )


def _places(table: ReplayTable, *, steps: bool) -> dict[tuple[Any, ...], int]:
    """Row of each tensor by what it is, in order of execution."""
    rows = np.flatnonzero(table.mask("pass", *_MEASURED))
    rows = rows[np.lexsort((rows, table["seq"][rows], table["rank"][rows], table["step"][rows]))]
    numbers = {step: index for index, step in enumerate(distinct_of(table["step"][rows]).tolist())}
    found: dict[tuple[Any, ...], int] = {}
    for row in rows.tolist():
        values = [table.value(name, row) for name in _KEY]
        if values[_KEY.index("tensor_role")] is None:
            continue  # a note of the recorder
        if not steps:
            values[0] = numbers[int(table["step"][row])]
        found.setdefault(tuple(values), row)
    return found


def _difference(
    a: ReplayTable, row_a: int, b: ReplayTable, row_b: int, tolerance: float | None
) -> Difference | None:
    bad_a, bad_b = a.truth("nonfinite", row_a), b.truth("nonfinite", row_b)
    if bad_a is not None and bad_b is not None and bad_a != bad_b:
        return Difference(row_a, row_b, "nonfinite", bad_a, bad_b)
    shape_a, shape_b = a.sizes("shape", row_a), b.sizes("shape", row_b)
    if shape_a is not None and shape_b is not None and shape_a != shape_b:
        return Difference(row_a, row_b, "shape", shape_a, shape_b)
    if bad_a or bad_b:
        return None  # the rest are statistics over what is left
    allowed = tolerance
    if allowed is None:
        formats = (a.text("dtype", row_a), b.text("dtype", row_b))
        allowed = max(TOLERANCE.get(name or "", COARSEST) for name in formats)
    return next(_statistics(a, row_a, b, row_b, allowed), None)


def _statistics(
    a: ReplayTable, row_a: int, b: ReplayTable, row_b: int, allowed: float
) -> Iterator[Difference]:
    """Statistics that differ; all are held against the size of the tensor, since a mean of 0 has no relative error."""
    sizes = [v for t, r in ((a, row_a), (b, row_b)) for n in ("absmax",) if (v := t.number(n, r)) is not None]
    for name in STATISTICS:
        one, two = a.number(name, row_a), b.number(name, row_b)
        if one is None or two is None:
            continue
        scale = (
            max(abs(one), abs(two))
            if name in ("absmax", "l2norm")
            else max(sizes, default=max(abs(one), abs(two)))
        )
        relative = abs(one - two) / scale if scale > 0 else 0.0
        if relative > allowed:
            yield Difference(row_a, row_b, name, one, two, relative)


def place_of(table: ReplayTable, row: int) -> str:
    """One row's place in words."""
    names = [
        table.text("module", row) or table.text("tensor_name", row) or "(the model)",
        table.text("op", row),
    ]
    where = " ".join(name for name in names if name)
    direction, role = table.text("pass", row), table.text("tensor_role", row)
    return f"step {table.integer('step', row)} {direction} {where} {role} ({table.text('dtype', row) or 'unknown format'})"
