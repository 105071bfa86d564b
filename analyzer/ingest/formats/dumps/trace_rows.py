"""Collect the rows of a replay trace in bounded memory.

A trace may hold millions of tensors while a diagnosis needs those around the first bad one. ``TraceRows`` keeps
the first rows, every bad row with the rows before it, the rows closest to the limit of their number format, and
the last rows; what it drops it counts.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from analyzer.ingest.masking import clean_text
from analyzer.model.arrays import AnyArray
from analyzer.model.float_formats import LARGEST, format_name
from analyzer.model.replay import DTYPE_OF_KIND, REPLAY_COLUMNS, SCHEMA_VERSION, Row, TraceTable
from analyzer.model.tables import NULL_INT

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
        self._parts: dict[str, list[AnyArray]] = {name: [] for name in self._lists}
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


NONFINITE_WORDS = {
    "nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf,
    "infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf,
}  # fmt: skip
STATISTICS = tuple(column.name for column in REPLAY_COLUMNS if column.kind == "float")
_COUNTS = ("nan_count", "inf_count")


def number_of(value: object) -> float | None:
    """A number, also one written as text ("nan", "-inf", "3.5"); None for anything else.

    >>> number_of("-Infinity"), number_of("3.5"), number_of(None), number_of(True)
    (-inf, 3.5, None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        word = value.strip().lower()[:64]
        if word in NONFINITE_WORDS:
            return NONFINITE_WORDS[word]
        value = word
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def completed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with numbers typed, non-finite statistics made flags, and what follows from others filled in.

    A tool that includes NaN and infinities in its statistics gives them as minimum, maximum or mean: then
    ``nonfinite`` is true and the statistic itself is unknown. A maximum of infinity tells the sign as well:
    ``extra`` of such a row is left to the caller.

    >>> row = completed({"dtype": "torch.float16", "shape": [2, 3], "min": "-inf", "max": 4.0})
    >>> row["nonfinite"], row["numel"], "min" in row, row["max"], row["dtype"]
    (True, 6, False, 4.0, 'float16')
    """
    found = {name: value for name, value in row.items() if value is not None}
    found.setdefault("schema_version", SCHEMA_VERSION)
    seen_bad = False
    for name in STATISTICS:
        if name not in found:
            continue
        number = number_of(found[name])
        if number is None or not math.isfinite(number):
            del found[name]
            seen_bad = seen_bad or number is not None
        else:
            found[name] = number
    if isinstance(found.get("dtype"), str):
        found["dtype"] = format_name(found["dtype"])
    if seen_bad or any(isinstance(found.get(name), int | float) and found[name] > 0 for name in _COUNTS):
        found["nonfinite"] = True
    elif "nonfinite" not in found and all(found.get(name) == 0 for name in _COUNTS):
        found["nonfinite"] = False
    if "absmax" not in found and "min" in found and "max" in found:
        found["absmax"] = max(abs(found["min"]), abs(found["max"]))
    shape = found.get("shape")
    if "numel" not in found and isinstance(shape, list | tuple) and all(_is_size(size) for size in shape):
        found["numel"] = math.prod(shape)
    return found


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40
