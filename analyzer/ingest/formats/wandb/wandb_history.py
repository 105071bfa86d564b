"""Metrics of a ``.wandb`` file: rows of history on the optimizer's steps, system metrics, last values.

W&B counts calls of ``log`` in ``_step``. A trainer that logs its own counter (``train/global_step``) means
that one: with logging_steps=10, row 3 is step 40. Not for finding the items: see ``wandb_columns``.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.scalar_text import MAX_STEP, whole_step
from analyzer.model.arrays import Integers, ShortIntegers, Values
from analyzer.model.tables import NULL_INT

OPTIMIZER_STEPS = ("train/global_step", "trainer/global_step", "training/global_step", "global_step")
"""Names under which trainers log the optimizer step, best first: HF Trainer, Lightning, verl, own loops."""

_STEP, _TIMESTAMP = "_step", "_timestamp"


class Columns(Protocol):
    """Numbers of many rows by name; see ``wandb_columns.ItemColumns``, which is one."""

    records: array[int]
    refused: int
    damaged: int

    def steps(self) -> Integers:
        """int64, shape (n_rows,): each row's own step, ``NULL_INT`` if it has none."""

    def take(self) -> dict[str, list[tuple[ShortIntegers, Values]]]:
        """Rows and values of each name, in pieces."""


def is_reserved(name: str) -> bool:
    """Whether a key is W&B's own: ``_step``, ``_timestamp``, ``_runtime``, ``_wandb.runtime``."""
    return name in (_STEP, _TIMESTAMP, "_runtime") or name.split(".", 1)[0] == "_wandb"


def write_history(columns: Columns, out: SourceWriter) -> tuple[frozenset[str], float | None]:
    """Write all rows of the history.

    Returns:
        The metric names that the history holds, and the last time stamp.
    """
    records = np.array(columns.records, np.int64)
    calls = columns.steps()
    found = columns.take()
    optimizer = np.full(records.shape, NULL_INT, np.int64)
    times = np.full(records.shape, np.nan)
    _fill_steps(calls, found.get(_STEP, ()))
    for name in reversed(OPTIMIZER_STEPS):
        _fill_steps(optimizer, found.get(name, ()))
    for rows, values in found.get(_TIMESTAMP, ()):
        times[rows] = values
    names = [name for name in found if not is_reserved(name)]
    for name in names:
        rows, values = _joined(found.pop(name))
        steps = optimizer[rows]
        if not (steps != NULL_INT).any():
            # Both counters on the axis of one metric would mix two units, hence all of its rows or none.
            steps = calls[rows]
        out.metrics(name, steps=steps, values=values, lines=records[rows], times_s=times[rows])
    _note_losses(columns, out)
    return frozenset(names), float(np.nanmax(times)) if np.isfinite(times).any() else None


def write_system(columns: Columns, times_s: Iterable[float], out: SourceWriter) -> None:
    """Write system metrics (``system.gpu.0.temp``, …), which have a time but no step."""
    records = np.array(columns.records, np.int64)
    times = np.fromiter(times_s, np.float64, count=records.size)
    for name, parts in columns.take().items():
        rows, values = _joined(parts)
        out.metrics(f"system.{name}", steps=None, values=values, lines=records[rows], times_s=times[rows])
    _note_losses(columns, out)


def write_last_values(values: Mapping[str, tuple[float, int]], out: SourceWriter) -> None:
    """Write the values of a summary: number and line by name.

    A summary does not say at which step a value was logged, except for the step counter itself.
    """
    for name, (value, line) in values.items():
        if not is_reserved(name):
            out.metric(name, value, step=whole_step(value) if name in OPTIMIZER_STEPS else None, line=line)


def last_values(columns: Columns) -> dict[str, tuple[float, int]]:
    """Last number of each name and the record that holds it."""
    lasts = {name: parts[-1] for name, parts in columns.take().items()}
    return {
        name: (float(values[-1]), columns.records[int(rows[-1])]) for name, (rows, values) in lasts.items()
    }


def _fill_steps(steps: Integers, parts: Iterable[tuple[ShortIntegers, Values]]) -> None:
    for rows, values in parts:
        whole = np.isfinite(values) & (np.abs(values) < MAX_STEP) & (values == np.floor(values))
        steps[rows[whole]] = values[whole].astype(np.int64)


def _joined(parts: list[tuple[ShortIntegers, Values]]) -> tuple[ShortIntegers, Values]:
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([values for _, values in parts])


def _note_losses(columns: Columns, out: SourceWriter) -> None:
    if columns.refused:
        out.gap("too many metric names; the rest of them is left out", rows_lost=columns.refused)
    if columns.damaged:
        out.gap("records whose checksum is right but whose contents are not", rows_lost=columns.damaged)
