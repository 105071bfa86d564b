"""The open format ``analyzer-replay/1``: Parquet, or JSON lines with the same names.

JSON lines may begin with a header, which a communication table must have::

    {"analyzer_replay": "1.0", "table": "replay", "time_base": "unix"}
    {"schema_version": "1.0", "replay_id": "r1", "source_format": "torch_hooks", "step": 7, "rank": 0, "seq": 12, ...}

Parquet carries the header as metadata under the key ``analyzer_replay``. Losses: columns that the schema does not
declare, and statistics that are not finite (they become ``nonfinite``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter, TruncatedSourceError
from analyzer.ingest.formats.dumps.trace_rows import completed
from analyzer.ingest.scalar_text import json_object
from analyzer.model.replay import CAPSULE_HEADER, CAPSULE_SCHEMA, COMM_COLUMNS, REPLAY_COLUMNS, SCHEMA_VERSION

METADATA_KEY = "analyzer_replay"
PARQUET_MAGIC = b"PAR1"
MAX_LINE_BYTES = 1 << 20
"""A row has about 600 bytes; a line of a megabyte is no row."""

_FOOTER_BYTES = 1 << 20
_BATCH_ROWS = 4_096
_TABLES = {"replay": REPLAY_COLUMNS, "comm": COMM_COLUMNS}


class ReplayFile:
    """Ingestor of traces in this package's own format."""

    def sniff(self, candidate: Candidate) -> Match:
        """SURE for a header or a first row of the format."""
        if candidate.head.startswith(PARQUET_MAGIC):
            return Match.SURE if METADATA_KEY.encode() in footer(candidate) else Match.NO
        first = candidate.head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
        if first.startswith(b"{") and (
            b'"analyzer_replay"' in first or (b'"replay_id"' in first and b'"source_format"' in first)
        ):
            return Match.SURE
        return Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read all rows; lines that are none become one gap with their number."""
        reader = _Reader(out)
        if source.candidate.head.startswith(PARQUET_MAGIC):
            _read_parquet(source, reader)
        else:
            _read_json_lines(source, reader)
        reader.finish()


def footer(candidate: Candidate) -> bytes:
    """The footer of a Parquet file, where its metadata stands; its length is told by the last eight bytes."""
    try:
        with candidate.path.open("rb") as stream:
            stream.seek(-8, 2)
            length = min(int.from_bytes(stream.read(4), "little"), _FOOTER_BYTES)
            stream.seek(max(0, candidate.size_bytes - 8 - length))
            return stream.read(length)
    except OSError:
        return b""


def version_problem(version: object) -> str:
    """Why rows of a version cannot be read, empty if they can.

    >>> version_problem("1.3")
    ''
    >>> version_problem("2.0")
    'version 2.0 of analyzer-replay is newer than this package reads (1.x)'
    """
    text = str(version)[:20]
    if text.partition(".")[0] == SCHEMA_VERSION.partition(".")[0]:
        return ""
    return f"version {text} of analyzer-replay is newer than this package reads (1.x)"


class _Reader:
    """Takes headers and rows, and counts what is lost."""

    def __init__(self, out: SourceWriter) -> None:
        self.out = out
        self.table = "replay"
        self.refused = ""
        self._unknown: set[str] = set()
        self._bad_lines = 0
        self._first_bad = 0
        self._lost_rows = 0

    def header(self, header: Mapping[str, Any]) -> None:
        """Take the header of a file."""
        self.refused = version_problem(header.get(METADATA_KEY, header.get("schema_version", SCHEMA_VERSION)))
        table = header.get("table", "replay")
        if table in _TABLES:
            self.table = table
        else:
            self.refused = self.refused or f"no table {str(table)[:40]!r} in analyzer-replay"

    def row(self, row: Mapping[str, Any], line: int) -> None:
        """Take one row."""
        problem = self.refused or version_problem(row.get("schema_version", SCHEMA_VERSION))
        if problem:
            self.refused = self.refused or problem
            self._lost_rows += 1
            return
        declared = _TABLES[self.table]
        needed = (column.name for column in declared if column.required and column.name != "schema_version")
        if any(row.get(name) is None for name in needed):  # a header may give the version once for all
            self.bad_line(line)
            return
        if len(self._unknown) < 64:
            self._unknown.update(str(name)[:64] for name in row.keys() - {column.name for column in declared})
        if self.table == "replay":
            self.out.replay(completed(row), line=line)
        else:
            self.out.collective(row, line=line)

    def bad_line(self, line: int) -> None:
        """Note a line that is no row."""
        self._bad_lines += 1
        self._first_bad = self._first_bad or line

    def finish(self) -> None:
        """State what was lost."""
        if self.refused:
            self.out.gap(self.refused, rows_lost=self._lost_rows or None)
        if self._bad_lines:
            self.out.gap(
                f"{self._bad_lines} lines are no rows of a replay trace, or lack a required column", line=self._first_bad,
                rows_lost=self._bad_lines,
            )  # fmt: skip
        if self._unknown:
            self.out.gap(
                f"columns that analyzer-replay does not declare: {', '.join(sorted(self._unknown)[:8])}"
            )


def lines_of(
    source: OpenSource, out: SourceWriter, limit_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a file in constant memory; a longer line is cut, a damaged archive becomes a gap."""
    number, carry, skipping = 0, b"", False
    try:
        for chunk in source.chunks():
            parts = chunk.split(b"\n")
            parts[0] = carry + parts[0]
            carry = parts.pop()
            for part in parts:
                number += 1
                if not skipping:
                    yield number, part
                skipping = False
            if len(carry) > limit_bytes:
                if not skipping:
                    out.gap(f"a line of more than {limit_bytes} bytes is left out", line=number + 1)
                carry, skipping = b"", True
    except TruncatedSourceError as error:
        out.gap(f"the rest of the file cannot be read: {error}")
    if carry and not skipping:
        yield number + 1, carry


def _read_json_lines(source: OpenSource, reader: _Reader) -> None:
    for number, text in lines_of(source, reader.out):
        if not text.strip():
            continue
        row = json_object(text)
        if row is None:
            reader.bad_line(number)
        elif METADATA_KEY in row:
            reader.header(row)
        else:
            reader.row(row, number)


def _read_parquet(source: OpenSource, reader: _Reader) -> None:
    import pyarrow as pa  # noqa: PLC0415  (125 ms; only for such a file)
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(source.path)
        header = json_object((file.schema_arrow.metadata or {}).get(METADATA_KEY.encode(), b""))
        reader.header(header or {})
        if reader.refused:
            return
        declared = {column.name for column in _TABLES[reader.table]}
        names = [name for name in file.schema_arrow.names if name in declared]
        row_number = 0
        for batch in file.iter_batches(_BATCH_ROWS, columns=names):
            for row in batch.to_pylist():
                row_number += 1
                reader.row(row, row_number)
    except (OSError, ValueError, pa.ArrowException) as error:
        reader.out.gap(f"the rest of the Parquet file cannot be read: {str(error)[:200]}")


_TENSORS = frozenset({"weights.safetensors", "batch.safetensors", "random.safetensors"})


class CapsuleFiles:
    """Recognises the four files of a capsule."""

    def sniff(self, candidate: Candidate) -> Match:
        """The header by its schema, the tensors by the header beside them."""
        if CAPSULE_SCHEMA.encode() in candidate.head[:256]:
            return Match.SURE
        if candidate.name.rpartition("/")[2] not in _TENSORS:
            return Match.NO
        header = candidate.path.with_name(CAPSULE_HEADER)
        return Match.SURE if header.is_file() and not header.is_symlink() else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Nothing of it is evidence."""
