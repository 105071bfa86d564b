"""The dataset: Parquet files that pandas, DuckDB and Spark read, one row per run and one row per finding.

    OUT/runs/part-00000-1f0c….parquet        1,000 runs each, in order of their location
    OUT/findings/part-00000-9ab3….parquet    their findings, each with its evidence
    OUT/manifest.json                        which parts belong together; written last

A part is named after its content: equal runs give equal files, whichever engine made them. Within version 1 of the
schema columns may be added; none is removed or changes its meaning.
"""

from __future__ import annotations

import hashlib
import heapq
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.errors import InputError
from analyzer.ingest.masking import clean_text
from analyzer.triage.places import Place

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "analyzer.triage/1"
PART_RUNS = 1000
"""Runs of one part; a part and its findings are held in memory while they are written (some MB)."""

READ_ROWS = 128


def _columns(table: str) -> tuple[tuple[str, str, str], ...]:
    rows = (
        line.split(" | ") for line in Path(__file__).with_name("columns.txt").read_text("utf-8").splitlines()
    )
    return tuple((name, kind, meaning) for of, name, kind, meaning in rows if of == table)


RUN_COLUMNS = _columns("runs")
COLUMNS = {"runs": RUN_COLUMNS, "findings": _columns("findings")}
"""Columns of each table: name, type (see ``_schema``) and meaning."""

STATE_COLUMNS = (
    "key", "location", "kind", "why", "extra", "outcome", "status", "status_alone", "user", "job", "project",
    "baseline_key", "baseline_digest", "input_digest", "tool_version", "rules_digest",
    "config", "frameworks", "model", "start_s",
)  # fmt: skip
"""What decides whether a run has to be done again, and which baseline it gets."""


def _schema(columns: Iterable[tuple[str, str, str]]) -> Any:
    import pyarrow as pa  # noqa: PLC0415  (0.1 s; only where a dataset is written)

    place = pa.struct([("path", pa.string()), ("line", pa.int64()), ("text", pa.string())])
    types = {
        "text": pa.string(),
        "int": pa.int64(),
        "real": pa.float64(),
        "bool": pa.bool_(),
        "list:text": pa.list_(pa.string()),
        "evidence": pa.list_(
            pa.struct(
                [("id", pa.string()), ("bits", pa.float64()), ("observed", pa.string()), ("because", pa.string()),
                 ("places", pa.list_(place))]
            )
        ),
    }  # fmt: skip
    fields = [pa.field(name, types[kind], metadata={"meaning": meaning}) for name, kind, meaning in columns]
    return pa.schema(fields, metadata={"schema": SCHEMA})


class Writer:
    """Writes records, which come in order of their location, as parts."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._schemas = {table: _schema(columns) for table, columns in COLUMNS.items()}
        self._rows: dict[str, list[Mapping[str, Any]]] = {"runs": [], "findings": []}
        self._packed: dict[str, list[Any]] = {"runs": [], "findings": []}
        self._count = 0
        self.parts: list[dict[str, Any]] = []

    def add(self, record: Mapping[str, Any]) -> None:
        """Add one run and its findings."""
        self._rows["runs"].append(record["run"])
        self._rows["findings"].extend(record["findings"])
        if len(self._rows["runs"]) >= READ_ROWS:
            self._pack()
        if self._count + len(self._rows["runs"]) >= PART_RUNS:
            self._write_part()

    def _pack(self) -> None:
        """Turn rows into Arrow, which takes a tenth of the memory."""
        import pyarrow as pa  # noqa: PLC0415

        self._count += len(self._rows["runs"])
        for table, schema in self._schemas.items():
            self._packed[table].append(pa.RecordBatch.from_pylist(self._rows[table], schema=schema))
            self._rows[table].clear()

    def finish(self, about: Mapping[str, Any]) -> None:
        """Write the last part and the manifest, then remove parts of an earlier dataset."""
        if self._count or self._rows["runs"] or not self.parts:
            self._write_part()
        manifest = {"schema": SCHEMA, **about, "parts": self.parts}
        self._place.write("manifest.json", (json.dumps(manifest, indent=1) + "\n").encode())
        current = {part[table] for part in self.parts for table in self._schemas}
        for table in self._schemas:
            for name in self._place.names(table):
                if name not in current:
                    self._place.remove(name)

    def _write_part(self) -> None:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._pack()
        part: dict[str, Any] = {"count": self._count}
        for table, schema in self._schemas.items():
            buffer = io.BytesIO()
            rows = pa.Table.from_batches(self._packed[table], schema=schema).combine_chunks()
            pq.write_table(rows, buffer, compression="zstd", row_group_size=max(1, len(rows)))
            data = buffer.getvalue()
            digest = hashlib.sha256(data).hexdigest()[:12]
            part[table] = f"{table}/part-{len(self.parts):05d}-{digest}.parquet"
            self._place.write(part[table], data)
            self._packed[table].clear()
        self._count = 0
        self.parts.append(part)


class Dataset:
    """Reads a dataset, a few rows at a time.

    Raises:
        InputError: There is none, or one of a newer schema.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        data = place.read("manifest.json")
        if data is None:
            raise InputError(f"{place.shown}: no triage dataset (manifest.json is missing)")
        damaged = InputError(
            f"{place.shown}/manifest.json: damaged; remove it and give --resume, or another --out"
        )
        try:
            self.manifest: dict[str, Any] = json.loads(data)
            found = self.manifest["schema"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise damaged from error
        if found != SCHEMA:
            raise InputError(
                f"{place.shown}: dataset of schema {clean_text(str(found), 40)}; this version reads {SCHEMA}"
            )
        if not _is_manifest(self.manifest):
            raise damaged

    def without_damaged(self) -> list[str]:
        """Leave out the parts that are missing or damaged; says for each why.

        A part is named after its content, so a single wrong bit shows.
        """
        problems: list[str] = []
        whole = []
        for part in self.manifest["parts"]:
            before = len(problems)
            for table in COLUMNS:
                try:
                    self._content(part[table])
                except InputError as error:
                    problems.append(str(error))
            if len(problems) == before:
                whole.append(part)
        self.manifest["parts"] = whole
        return problems

    def _content(self, name: str) -> bytes:
        data = self.place.read(name)
        if data is None:
            raise InputError(f"{self.place.shown}/{name}: missing, although manifest.json names it")
        if hashlib.sha256(data).hexdigest()[:12] != name[-20:-8]:
            raise InputError(f"{self.place.shown}/{name}: damaged; run the triage again with --resume")
        return data

    def runs(self, columns: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
        """Rows of the runs in order, whole or some columns."""
        for part in self.manifest["parts"]:
            yield from self._rows(part["runs"], columns)

    def frame(self, table: str) -> pd.DataFrame:
        """All rows of ``runs`` or ``findings``; held in memory."""
        import pandas as pd  # noqa: PLC0415  (0.3 s; only for the Python API)

        rows = [row for part in self.manifest["parts"] for row in self._rows(part[table], None)]
        return pd.DataFrame(rows, columns=[name for name, _, _ in COLUMNS[table]])

    def records(self) -> Iterator[dict[str, Any]]:
        """Runs in order, each with its findings."""
        for part in self.manifest["parts"]:
            findings = self._rows(part["findings"], None)
            ahead = next(findings, None)
            for run in self._rows(part["runs"], None):
                own = []
                while ahead is not None and ahead["key"] == run["key"]:
                    own.append(ahead)
                    ahead = next(findings, None)
                yield {"run": run, "findings": own}

    def _rows(self, name: str, columns: Iterable[str] | None) -> Iterator[dict[str, Any]]:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        data = self._content(name)
        try:
            file = pq.ParquetFile(io.BytesIO(data))
            wanted = None if columns is None else list(columns)
            for batch in file.iter_batches(batch_size=READ_ROWS, columns=wanted):
                yield from batch.to_pylist()
        except pa.ArrowInvalid as error:
            raise InputError(f"{self.place.shown}/{name}: damaged ({error}); run the triage again") from error


def merged(datasets: Iterable[Dataset]) -> Iterator[dict[str, Any]]:
    """Records of several datasets in one order; of a run that stands in two, the first counts."""
    streams = [dataset.records() for dataset in datasets]
    seen: set[str] = set()
    for record in heapq.merge(*streams, key=lambda record: (record["run"]["location"], record["run"]["key"])):
        if record["run"]["key"] not in seen:
            seen.add(record["run"]["key"])
            yield record


_PART_NAME = re.compile(r"(?:runs|findings)/part-\d{5,8}-[0-9a-f]{12}\.parquet")


def _is_manifest(manifest: Mapping[str, Any]) -> bool:
    """Whether all that is used of a manifest is there and of its type."""
    parts, shard = manifest.get("parts"), manifest.get("shard")
    return (
        isinstance(parts, list)
        and all(isinstance(part, dict) for part in parts)
        and all(_PART_NAME.fullmatch(str(part.get(table, ""))) for part in parts for table in COLUMNS)
        and (shard is None or (isinstance(shard, list) and [type(number) for number in shard] == [int, int]))
        and all(isinstance(manifest.get(name), str) for name in ("tool_version", "rules_digest"))
        and isinstance(manifest.get("complete"), bool)
    )
