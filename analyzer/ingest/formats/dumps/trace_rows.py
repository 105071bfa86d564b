"""Collect the rows of a replay trace in bounded memory.

A trace may hold millions of tensors while a diagnosis needs those around the first bad one. ``TraceRows`` keeps
the first rows, every bad row with the rows before it, the rows closest to the limit of their number format, and
the last rows; what it drops it counts.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from analyzer.ingest.masking import clean_text
from analyzer.model.float_formats import LARGEST
from analyzer.model.replay import DTYPE_OF_KIND, Row, TraceTable
from analyzer.model.tables import NULL_INT

if TYPE_CHECKING:
    import numpy.typing as npt

HEAD_ROWS = 50_000
"""Rows of each source kept without a look. A step of a 32-layer model recorded in full has about 5,000."""

CONTEXT_ROWS = 256
"""Rows kept before each bad one: inputs, weights and the modules before it."""

MAX_CONTEXTS = 128
"""Bad rows of one source that are kept with what came before; later ones only follow from those."""

MAX_NEAR_LIMIT = 4_096
NEAR_LIMIT_SHARE = 0.5
"""Half of the format's largest number: from there one doubling overflows."""

TEXT_LIMIT = 2_048
MAX_SIZES = 64
_FLUSH_ROWS = 8_192
_LARGEST_INT = 2**63 - 1
_OWN = {"source": "int32", "line": "int64", "order": "int64"}

T = TypeVar("T", bound=TraceTable)


def is_bad(row: Row) -> bool:
    """Whether a row says that its tensor holds NaN or infinities."""
    return bool(row.get("nonfinite") or row.get("nan_count") or row.get("inf_count"))


def is_near_limit(row: Row) -> bool:
    """Whether the largest element lies in the upper half of the range of its format."""
    absmax, dtype = row.get("absmax"), row.get("dtype")
    if not isinstance(absmax, int | float) or not isinstance(dtype, str):
        return False
    return absmax > NEAR_LIMIT_SHARE * LARGEST.get(dtype, math.inf)


class _Kept:
    """What one source still may add."""

    __slots__ = ("contexts", "dropped", "near", "recent", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self.contexts = 0
        self.near = 0
        self.dropped = 0
        self.recent: deque[tuple[int, int, Row]] = deque(maxlen=CONTEXT_ROWS)


class TraceRows(Generic[T]):
    """Rows of one table, from all sources of a run.

    Args:
        table: The table to make.
        head_rows: Rows of each source kept without a look.
    """

    def __init__(self, table: type[T], head_rows: int = HEAD_ROWS) -> None:
        self._table = table
        self._head_rows = head_rows
        self._sources: dict[int, _Kept] = {}
        self._columns = _Columns(table)
        self._seen = 0

    def __len__(self) -> int:
        return len(self._columns)

    def add(self, source: int, line: int, row: Row) -> None:
        """Keep a row, or remember it as context, or drop and count it."""
        state = self._sources.setdefault(source, _Kept())
        self._seen += 1
        if state.rows < self._head_rows:
            state.rows += 1
            self._columns.append(source, line, self._seen, row)
        elif is_bad(row) and state.contexts < MAX_CONTEXTS:
            state.contexts += 1
            self._keep_recent(source, state)
            self._columns.append(source, line, self._seen, row)
        elif is_near_limit(row) and state.near < MAX_NEAR_LIMIT:
            state.near += 1
            self._columns.append(source, line, self._seen, row)
        else:
            state.dropped += len(state.recent) == CONTEXT_ROWS
            state.recent.append((line, self._seen, row))

    def _keep_recent(self, source: int, state: _Kept) -> None:
        for line, order, row in state.recent:
            self._columns.append(source, line, order, row)
        state.recent.clear()

    def dropped(self) -> dict[int, int]:
        """Rows not kept, by source."""
        return {source: state.dropped for source, state in self._sources.items() if state.dropped}

    def finish(self) -> T:
        """The table, in order of source and of reading."""
        for source, state in self._sources.items():
            self._keep_recent(source, state)
        return self._columns.table(sum(self.dropped().values()))


class _Columns(Generic[T]):
    """Growing columns: Python lists that are turned into arrays now and then."""

    def __init__(self, table: type[T]) -> None:
        self._table = table
        self._kinds = {column.name: column.kind for column in table.COLUMNS}
        self._lists: dict[str, list[Any]] = {name: [] for name in (*self._kinds, *_OWN)}
        self._parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in self._lists}
        self._texts: dict[str, int] = {"": 0}
        self._shapes: dict[Any, int] = {None: 0}
        self._flushed = 0

    def __len__(self) -> int:
        return self._flushed + len(self._lists["line"])

    def append(self, source: int, line: int, order: int, row: Row) -> None:
        for name, kind in self._kinds.items():
            value = row.get(name)
            if kind == "text":
                stored: Any = 0 if value is None else self._text_code(value)
            elif kind == "sizes":
                stored = 0 if value is None else self._sizes_code(value)
            elif kind == "float":
                stored = _finite(value)
            elif kind == "bool":
                stored = -1 if value is None else int(bool(value))
            else:
                stored = _whole(value)
            self._lists[name].append(stored)
        self._lists["source"].append(source)
        self._lists["line"].append(min(max(line, 0), _LARGEST_INT))
        self._lists["order"].append(order)
        if len(self._lists["line"]) >= _FLUSH_ROWS:
            self._flush()

    def _text_code(self, value: object) -> int:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        code = self._texts.get(text)
        if code is None:
            code = self._texts.setdefault(clean_text(text, TEXT_LIMIT), len(self._texts))
        return code

    def _sizes_code(self, value: object) -> int:
        sizes = _sizes(value)
        return self._shapes.setdefault(sizes, len(self._shapes))

    def _flush(self) -> None:
        for name, values in self._lists.items():
            dtype = _OWN.get(name) or DTYPE_OF_KIND[self._kinds[name]]
            self._parts[name].append(np.array(values, dtype=dtype))
        self._flushed += len(self._lists["line"])
        for values in self._lists.values():
            values.clear()

    def table(self, dropped: int) -> T:
        self._flush()
        data = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        order = np.lexsort((data.pop("order"), data["source"]))
        data = {name: column[order] for name, column in data.items()}
        return self._table(data, tuple(self._texts), tuple(self._shapes), dropped)


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        number = float(value)
    except OverflowError:  # a whole number of a thousand digits
        return math.nan
    return number if math.isfinite(number) else math.nan


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -_LARGEST_INT <= value <= _LARGEST_INT:
        return NULL_INT
    return value


def _sizes(value: object, depth: int = 0) -> Any:
    """A tuple of whole numbers, or of such tuples; None for anything else. An empty shape is a scalar's."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or depth > 1:
        return None
    items = [item if isinstance(item, int) else _sizes(item, depth + 1) for item in value[:MAX_SIZES]]
    if any(item is None or isinstance(item, bool) for item in items):
        return None
    return tuple(items)
