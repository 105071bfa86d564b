"""Replay traces: what was measured on tensors, and which collectives ran, around the step that failed.

``ReplayTable`` has one row per tensor seen at one point, ``CommTable`` one row per collective of one rank. Both
are structs of NumPy columns, declared in one list (``REPLAY_COLUMNS``, ``COMM_COLUMNS``) from which the open
format ``analyzer-replay/1``, its JSON Schema and its Arrow schema are made too.

How the kinds of a column are held in ``data`` (each of shape (n_rows,)):

===========  ========  ==========================================================
kind         dtype     unknown is
===========  ========  ==========================================================
``text``     int32     code 0; other codes index ``texts``
``sizes``    int32     code 0; other codes index ``shapes`` (tuples of integers)
``int32``    int64     ``NULL_INT``
``int64``    int64     ``NULL_INT``
``float``    float64   NaN; the values themselves are finite
``bool``     int8      -1; else 0 or 1
===========  ========  ==========================================================

Two columns more are there always: ``source`` (int32, index into ``Run.sources``) and ``line`` (int64, 1-based line
or record number, 0 if there is none).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from analyzer.model.arrays import AnyArray, Mask
from analyzer.model.ranked import distinct_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import NULL_INT
from analyzer.record import NamedTuple, dataclass, field

CAPSULE_HEADER = "capsule.json"
CAPSULE_SCHEMA = "analyzer-capsule/1"
FORMAT_NAME = "analyzer-replay"
SCHEMA_VERSION = "1.0"
"""Readers take every minor version of major version 1; unknown columns are kept out with a gap."""

RowValue = str | int | float | bool | Sequence[int] | Sequence[Sequence[int]] | None
Row = Mapping[str, RowValue]
"""One row by column name; a column that is absent or None is unknown."""

UNKNOWN_CODE = 0


class Column(NamedTuple):
    """Declaration of one column."""

    name: str  # name in every representation
    kind: str  # text, sizes, int32, int64, float or bool (see the module)
    meaning: str  # one sentence, with the unit or the values
    required: bool = False  # whether a row of the open format must have it


REPLAY_COLUMNS: tuple[Column, ...] = (
    Column("schema_version", "text", "version of the format: 1.0", required=True),
    Column("replay_id", "text", "name of one recording", required=True),
    Column("source_format", "text", "what made it: torch_hooks, msprobe, hf_debug_overflow, …", required=True),
    Column("source_file", "text", "file that it was converted from"),
    Column("step", "int64", "0-based optimiser step"),
    Column("micro_step", "int32", "0-based index in gradient accumulation"),
    Column("rank", "int32", "global rank"),
    Column("seq", "int64", "order of recording inside (rank, step): order of execution", required=True),
    Column("pass", "text", "fwd, bwd, opt, comm, param, or rerun: a whole step run again with one thing changed", required=True),
    Column("module", "text", "qualified name of the module"),
    Column("module_type", "text", "class of the module"),
    Column("op", "text", "aten operator, API or kernel"),
    Column("call_index", "int32", "0-based number of the call of this module or operator"),
    Column("tensor_role", "text", "input[i], output[i], weight, bias, grad_input[i], grad_output[i], param_grad, opt_state"),
    Column("tensor_name", "text", "name of the parameter, where known"),
    Column("dtype", "text", "float32, float16, bfloat16, float8_e4m3fn, int64, …: lower case, no prefix"),
    Column("shape", "sizes", "sizes of the tensor"),
    Column("numel", "int64", "elements"),
    Column("device", "text", "for example cuda:0"),
    Column("min", "float", "smallest finite element"),
    Column("max", "float", "largest finite element"),
    Column("mean", "float", "mean over finite elements"),
    Column("std", "float", "standard deviation over finite elements"),
    Column("l2norm", "float", "Euclidean norm over finite elements"),
    Column("absmax", "float", "largest magnitude over finite elements"),
    Column("absmin_nonzero", "float", "smallest magnitude over finite elements that are not 0"),
    Column("nan_count", "int64", "NaN elements"),
    Column("inf_count", "int64", "infinite elements"),
    Column("zero_count", "int64", "elements that are 0"),
    Column("subnormal_count", "int64", "subnormal elements"),
    Column("underflow_frac", "float", "0 to 1: of the elements that are not 0, those that a cast made 0"),
    Column("overflow_frac", "float", "0 to 1: of the elements that are not 0, those that a cast saturated"),
    Column("nonfinite", "bool", "whether any element is NaN or infinite; known even where the counts are not"),
    Column("start_ns", "int64", "start on the device, in ns; see time_base of the file"),
    Column("dur_ns", "int64", "duration on the device, in ns"),
    Column("stream", "int32", "stream of the device"),
    Column("site", "text", "file:line, or place in machine code"),
    Column("extra", "text", "JSON object for what has no column"),
)  # fmt: skip
"""The numeric table of ``analyzer-replay/1``."""

COMM_COLUMNS: tuple[Column, ...] = (
    Column("rank", "int32", "global rank", required=True),
    Column("pg", "text", "name of the process group"),
    Column("pg_desc", "text", "description of the process group"),
    Column("seq", "int64", "number of the collective inside its process group", required=True),
    Column("op", "text", "all_reduce, broadcast, …", required=True),
    Column("dtype", "text", "as in the numeric table; several inputs are joined by commas"),
    Column("in_sizes", "sizes", "sizes of each input tensor"),
    Column("out_sizes", "sizes", "sizes of each output tensor"),
    Column("state", "text", "scheduled, started or completed"),
    Column("created_ns", "int64", "when the host issued it, unix time in ns"),
    Column("started_ns", "int64", "when the device discovered its start, unix time in ns"),
    Column("completed_ns", "int64", "when the device discovered its end, unix time in ns"),
    Column("timeout_ms", "int64", "timeout of the collective"),
    Column("frames", "text", "stack of the call, innermost first, one file:line function a line"),
    Column("extra", "text", "JSON object for what has no column"),
)
"""The communication table of ``analyzer-replay/1``."""

DTYPE_OF_KIND: Mapping[str, str] = {
    "text": "int32", "sizes": "int32", "int32": "int64", "int64": "int64", "float": "float64", "bool": "int8",
}  # fmt: skip

TEXT_FORMATS = ("autograd_anomaly", "nan_detector", "megatron", "gpu_fpx", "nixnan", "text_hook")
"""Values of ``source_format`` for single statements of a log; all other rows come from a recording, in order."""


@dataclass(frozen=True)
class TraceTable:
    """Rows of a trace as NumPy columns; see the module for dtypes and for what stands for unknown."""

    COLUMNS: ClassVar[tuple[Column, ...]] = ()

    # column name to array, each of shape (n_rows,); also ``source`` and ``line``
    data: Mapping[str, AnyArray]
    texts: tuple[str, ...] = ("",)  # distinct texts; 0 is the empty text and stands for unknown
    # distinct sizes; 0 is None and stands for unknown; a scalar has the empty tuple
    shapes: tuple[Any, ...] = field(default=(None,))
    dropped: int = 0  # rows read but not kept, because a trace may be larger than memory; gaps say so

    @classmethod
    def empty(cls) -> Self:
        """A table without rows."""
        data: dict[str, AnyArray] = {c.name: np.zeros(0, DTYPE_OF_KIND[c.kind]) for c in cls.COLUMNS}
        data["source"], data["line"] = np.zeros(0, np.int32), np.zeros(0, np.int64)
        return cls(data)

    def __len__(self) -> int:
        return int(self.data["line"].size)

    @cached_property
    def _kinds(self) -> Mapping[str, str]:
        return {column.name: column.kind for column in self.COLUMNS}

    @cached_property
    def _codes(self) -> Mapping[str, int]:
        return {text: code for code, text in enumerate(self.texts)}

    def __getitem__(self, name: str) -> AnyArray:
        """One column as an array of shape (n_rows,)."""
        return self.data[name]

    def code(self, text: str) -> int:
        """The code of a text in every text column; -1 if no row has it."""
        return self._codes.get(text, -1)

    def mask(self, name: str, *wanted: str) -> Mask:
        """Rows, bool of shape (n_rows,), whose text column holds one of the given texts."""
        return np.isin(self.data[name], [self.code(text) for text in wanted])

    def values(self, name: str) -> list[str]:
        """Distinct known texts of a text column, sorted."""
        return sorted({self.texts[code] for code in distinct_of(self.data[name]) if code != UNKNOWN_CODE})

    def text(self, name: str, index: int) -> str | None:
        """One text, None if unknown."""
        code = int(self.data[name][index])
        return None if code == UNKNOWN_CODE else self.texts[code]

    def sizes(self, name: str, index: int) -> Any:
        """One tuple of sizes (of one tensor, or a tuple of such tuples), None if unknown."""
        code = int(self.data[name][index])
        return None if code == UNKNOWN_CODE else self.shapes[code]

    def integer(self, name: str, index: int) -> int | None:
        """One whole number, None if unknown."""
        value = int(self.data[name][index])
        return None if value == NULL_INT else value

    def number(self, name: str, index: int) -> float | None:
        """One finite number, None if unknown."""
        value = float(self.data[name][index])
        return None if np.isnan(value) else value

    def truth(self, name: str, index: int) -> bool | None:
        """One yes or no, None if unknown."""
        value = int(self.data[name][index])
        return None if value < 0 else bool(value)

    def value(self, name: str, index: int) -> Any:
        """One value of any column, None if unknown."""
        kind = self._kinds[name]
        readers = {"text": self.text, "sizes": self.sizes, "float": self.number, "bool": self.truth}
        return readers.get(kind, self.integer)(name, index)

    def row(self, index: int) -> dict[str, Any]:
        """The known values of one row by column name."""
        found = ((column.name, self.value(column.name, index)) for column in self.COLUMNS)
        return {name: value for name, value in found if value is not None}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row as ``row`` gives it."""
        return (self.row(index) for index in range(len(self)))

    def ref(self, index: int) -> SourceRef:
        """Place of a row in its source."""
        line = int(self.data["line"][index])
        return SourceRef(int(self.data["source"][index]), line if line > 0 else None)

    def take(self, rows: AnyArray) -> Self:
        """The table with some rows only, chosen by index or by a bool array of shape (n_rows,)."""
        return type(self)(
            {name: column[rows] for name, column in self.data.items()}, self.texts, self.shapes, self.dropped
        )


class ReplayTable(TraceTable):
    """Tensor events of a replay trace: numbers measured on one tensor at one point; see ``REPLAY_COLUMNS``."""

    COLUMNS = REPLAY_COLUMNS

    def noted(self, row: int) -> dict[str, Any]:
        """What the recorder noted beside the columns; nothing where that is no JSON object."""
        try:
            found = json.loads(self.text("extra", row) or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


class CommTable(TraceTable):
    """Collectives of a trace, one row per rank and collective; see ``COMM_COLUMNS``."""

    COLUMNS = COMM_COLUMNS
