"""Write the open format ``analyzer-replay/1``, and say what it is: Arrow schema and JSON Schema.

A file is written row by row in constant memory, as Parquet (suffix ``.parquet``) or JSON lines (any other), the
latter also compressed (``.jsonl.gz``).
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Protocol, Self, cast

from analyzer.errors import InputError
from analyzer.ingest.formats.dumps.trace_rows import number_of
from analyzer.ingest.masking import clean_text
from analyzer.model.replay import COMM_COLUMNS, FORMAT_NAME, REPLAY_COLUMNS, SCHEMA_VERSION, Column

if TYPE_CHECKING:
    import pyarrow as pa

METADATA_KEY = "analyzer_replay"
TABLES: Mapping[str, tuple[Column, ...]] = {"replay": REPLAY_COLUMNS, "comm": COMM_COLUMNS}
GROUP_ROWS = 16_384
"""Rows of one row group of Parquet, held as Python values: about 40 MB."""

MAX_CLEANED = 100_000
"""Distinct texts of which the cleaned form is remembered: names repeat in every step."""

_LARGEST = {"int32": 2**31 - 1, "int64": 2**63 - 1}


def arrow_schema(table: str = "replay", header: Mapping[str, str] | None = None) -> pa.Schema:
    """The Arrow schema of a table, with the header as metadata.

    Args:
        table: ``replay`` or ``comm``.
        header: Further entries of the header, for example ``time_base``.
    """
    import pyarrow as pa  # noqa: PLC0415  (125 ms)

    types = {
        "text": pa.string(), "int32": pa.int32(), "int64": pa.int64(), "float": pa.float64(), "bool": pa.bool_(),
        "sizes": pa.list_(pa.int64()) if table == "replay" else pa.list_(pa.list_(pa.int64())),
    }  # fmt: skip
    fields = [pa.field(c.name, types[c.kind], nullable=not c.required) for c in TABLES[table]]
    metadata = {METADATA_KEY: json.dumps(_header(table, header))}
    return pa.schema(fields, metadata=metadata)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one line of the JSON-lines form: a header, a tensor event or a collective."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{FORMAT_NAME}/1",
        "description": f"One line of {FORMAT_NAME} {SCHEMA_VERSION}. A column that is absent or null is unknown.",
        "$defs": {
            "header": {
                "type": "object",
                "required": [METADATA_KEY],
                "properties": {
                    METADATA_KEY: {"type": "string", "pattern": r"^1\.\d+$"},
                    "table": {"enum": sorted(TABLES)},
                    "time_base": {
                        "type": "string",
                        "description": "unix or trace: what start_ns counts from",
                    },
                },
            },
            **{table: _object_schema(table) for table in TABLES},
        },
        "anyOf": [{"$ref": "#/$defs/header"}, *({"$ref": f"#/$defs/{table}"} for table in TABLES)],
    }


def _object_schema(table: str) -> dict[str, Any]:
    columns = TABLES[table]
    return {
        "type": "object",
        "required": [column.name for column in columns if column.required],
        "properties": {column.name: _value_schema(column, table) for column in columns},
    }


def _value_schema(column: Column, table: str) -> dict[str, Any]:
    whole = {"type": "integer"}
    sizes = {"type": "array", "items": whole}
    shapes: dict[str, dict[str, Any]] = {
        "text": {"type": "string"},
        "int32": {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
        "int64": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
        "float": {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
        "bool": {"type": "boolean"},
        "sizes": sizes if table == "replay" else {"type": "array", "items": sizes},
    }
    shape = dict(shapes[column.kind])
    if not column.required:
        shape = {"anyOf": [shape, {"type": "null"}]}
    return {"description": column.meaning, **shape}


def _header(table: str, header: Mapping[str, str] | None) -> dict[str, str]:
    return {METADATA_KEY: SCHEMA_VERSION, "table": table, **(header or {})}


class _Sink(Protocol):
    def write(self, row: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


class ReplayWriter:
    """Writes one table of a trace; use it as a context manager.

    Args:
        path: File to write; the suffix says which form.
        table: ``replay`` or ``comm``.
        header: Further entries of the header.

    Raises:
        InputError: The file cannot be written.
    """

    def __init__(
        self, path: str | Path, table: str = "replay", header: Mapping[str, str] | None = None
    ) -> None:
        self.rows = 0
        self._table = table
        self._kinds = {column.name: column.kind for column in TABLES[table]}
        self._cleaned: dict[str, str] = {}
        place = Path(path)
        try:
            self._sink: _Sink = (
                _ParquetSink(place, table, header)
                if place.suffix == ".parquet"
                else _LineSink(place, table, header)
            )
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one row; columns that the table does not have are left out, as are values of another type."""
        known = {}
        for name, value in row.items():
            kind = self._kinds.get(name)
            typed = None if kind is None else self._text(value) if kind == "text" else _typed(kind, value)
            if typed is not None:
                known[name] = typed
        if self._table == "replay":
            known.setdefault("schema_version", SCHEMA_VERSION)
        self._sink.write(known)
        self.rows += 1

    def _text(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return None
        cleaned = self._cleaned.get(value)
        if cleaned is None:
            cleaned = clean_text(value)
            if len(self._cleaned) < MAX_CLEANED:
                self._cleaned[value] = cleaned
        return cleaned

    def close(self) -> None:
        """Finish the file."""
        self._sink.close()

    def __enter__(self) -> Self:
        """Use as a context manager."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()


def _open_text(path: Path) -> IO[str]:
    if path.suffix != ".gz":
        return path.open("w", encoding="utf-8")
    return cast("IO[str]", gzip.open(path, "wt", encoding="utf-8"))


class _LineSink:
    def __init__(self, path: Path, table: str, header: Mapping[str, str] | None) -> None:
        self._stream = _open_text(path)
        self._stream.write(json.dumps(_header(table, header)) + "\n")

    def write(self, row: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")

    def close(self) -> None:
        self._stream.close()


def _typed(kind: str, value: Any) -> Any:
    """The value if it fits the kind of its column, else None; statistics are over finite elements."""
    if kind == "bool":
        return value if isinstance(value, bool) else None
    if kind == "sizes":
        return value if isinstance(value, list | tuple) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind == "float":
        number = number_of(value)
        return number if number is not None and math.isfinite(number) else None
    bound = _LARGEST[kind]
    return value if isinstance(value, int) and -bound <= value <= bound else None


class _ParquetSink:
    def __init__(self, path: Path, table: str, header: Mapping[str, str] | None) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._schema = arrow_schema(table, header)
        self._file = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}
        self._count = 0

    def write(self, row: Mapping[str, Any]) -> None:
        for name, values in self._columns.items():
            values.append(row.get(name))
        self._count += 1
        if self._count >= GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa  # noqa: PLC0415

        self._file.write_table(pa.table(self._columns, schema=self._schema))
        for values in self._columns.values():
            values.clear()
        self._count = 0

    def close(self) -> None:
        if self._count:
            self._flush()
        self._file.close()
