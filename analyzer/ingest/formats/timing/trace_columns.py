"""Events of a timing trace as NumPy columns, with one table of names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from analyzer.model.arrays import Integers, Mask
from analyzer.record import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

NONE = -1
"""Stands for "not given" in columns of numbers that are never negative."""

CATEGORIES: Mapping[str, str] = {
    "Operator": "cpu_op", "Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset", "Runtime": "cuda_runtime",
}  # fmt: skip
"""Categories of files before torch 1.13, as newer ones call them."""

MAX_NAMES = 200_000
"""Distinct names kept; a trace of a large model has some thousands."""

MAX_NAME = 1_000
"""Characters; templates make names of kernels long."""

OTHER_NAME = "(other)"

_DTYPES = {
    "start_ns": "int64", "duration_ns": "int64", "name": "int32", "category": "int16", "process": "int64", "thread": "int64",
    "stream": "int32", "correlation": "int32", "external": "int32", "record": "int32",
}  # fmt: skip


@dataclass(frozen=True)
class TraceColumns:
    """Events with a duration, as columns of shape (n_events,); ``NONE`` where an event does not say."""

    names: tuple[str, ...]  # names; ``name`` indexes into it
    categories: tuple[str, ...]  # categories; ``category`` indexes into it
    start_ns: Integers  # int64, start in ns on the clock of the file
    duration_ns: Integers  # int64
    name: npt.NDArray[np.int32]  # int32
    category: npt.NDArray[np.int16]  # int16
    process: Integers  # int64, process id, or the device of a kernel
    thread: Integers  # int64, thread id
    stream: npt.NDArray[np.int32]  # int32, stream of the device
    correlation: npt.NDArray[np.int32]  # int32, ties a kernel to the call that launched it
    external: npt.NDArray[np.int32]  # int32, ties a call or kernel to its operator
    record: npt.NDArray[np.int32]  # int32, ties an operator to the node of an execution trace

    def __len__(self) -> int:
        return int(self.start_ns.size)

    @property
    def end_ns(self) -> Integers:
        """End of each event."""
        return self.start_ns + self.duration_ns

    def of(self, *categories: str) -> Mask:
        """Events of the given categories, bool of shape (n_events,)."""
        codes = [code for code, name in enumerate(self.categories) if name in categories]
        return np.isin(self.category, codes)


def plain_text(raw: bytes) -> str:
    r"""The text of a JSON string between its quotation marks.

    >>> plain_text(b'a\\"b')
    'a"b'
    """
    if b"\\" in raw:
        try:
            return str(json.loads(b'"' + raw + b'"', strict=False))
        except ValueError:
            pass
    return raw.decode("utf-8", "replace")


class _RawNames(dict[bytes, int]):
    """Code of each name as it stands in the file, escapes and all."""

    def __init__(self, writer: ColumnWriter) -> None:
        super().__init__()
        self._writer = writer

    def __missing__(self, raw: bytes) -> int:
        code = self._writer.name_code(plain_text(raw))
        if len(self) < MAX_NAMES:
            self[raw] = code
        return code


class ColumnWriter:
    """Grows the columns block by block; ``finish`` joins them, one column at a time."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.categories: dict[str, int] = {}
        self._parts: dict[str, list[npt.NDArray[np.generic]]] = {name: [] for name in _DTYPES}
        self.events = 0
        self.raw_names = _RawNames(self)

    def name_code(self, name: str) -> int:
        """The code of a name, cut to ``MAX_NAME``; of a name too many that of ``OTHER_NAME``."""
        name = name[:MAX_NAME]
        if len(self.names) >= MAX_NAMES and name not in self.names:
            name = OTHER_NAME
        return self.names.setdefault(name, len(self.names))

    def category_code(self, category: str) -> int:
        """The code of a category."""
        return self.categories.setdefault(CATEGORIES.get(category, category), len(self.categories))

    def add(self, **columns: npt.ArrayLike) -> None:
        """Append a block: one array a column, each of shape (n_events,), narrowed with ``NONE`` where too large."""
        for name, dtype in _DTYPES.items():
            values = np.asarray(columns[name])
            if values.dtype != np.dtype(dtype):
                limits = np.iinfo(dtype)
                values = np.where((values < limits.min) | (values > limits.max), NONE, values).astype(dtype)
            self._parts[name].append(values)
        self.events += int(np.asarray(columns["start_ns"]).size)

    def finish(self) -> TraceColumns:
        """All blocks as one table."""
        joined = {}
        for name, dtype in _DTYPES.items():
            parts = self._parts.pop(name)
            joined[name] = np.concatenate(parts) if parts else np.zeros(0, dtype)
        return TraceColumns(tuple(self.names), tuple(self.categories), **joined)
