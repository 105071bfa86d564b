"""Metrics as a Parquet table, a column for each: Trackio's exports, and what pandas or polars wrote.

Trackio keeps three tables of a project, of which a dataset on the Hugging Face hub holds copies::

    PROJECT.parquet            id, timestamp, run_name, step, train/loss, …   a row for each call of ``log``
    PROJECT_system.parquet     id, timestamp, run_name, gpu_util, …           samples of the machine, without a step
    PROJECT_configs.parquet    id, run_name, created_at, lr, …, _Created      the settings of each run

Of several runs the one that wrote last is read. An empty cell was not logged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.dumps.replay_file import PARQUET_MAGIC, footer
from analyzer.ingest.formats.metrics.trackio import MAX_ROWS, write_settings
from analyzer.ingest.metric_columns import (
    STEP_NAMES,
    TIME_NAMES,
    MetricColumns,
    first_named,
    is_known_metric,
    is_known_score,
    unix_seconds,
)  # fmt: skip
from analyzer.ingest.scalar_text import metric_value, whole_step
from analyzer.ingest.text.prefixes import unix_time

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

MAX_COLUMNS = 5_000
_BATCH_ROWS = 4_096
_RUN = "run_name"
_OF_TRACKIO = frozenset({"id", "run_id", "log_id", "space_id", "created_at"})
_COUNTERS = (*STEP_NAMES, "epoch")


class ParquetMetrics:
    """Reads the last run of a table of metrics."""

    def sniff(self, candidate: Candidate) -> Match:
        """A step beside a known curve, or a table of Trackio; data sets lie in Parquet too, so the footer is asked first."""
        if not candidate.head.startswith(PARQUET_MAGIC) or candidate.compression:
            return Match.NO
        text = footer(candidate).lower()
        if _RUN.encode() not in text and not any(name.encode() in text for name in _COUNTERS):
            return Match.NO
        names = _names(candidate)
        if _RUN in names and not _OF_TRACKIO.isdisjoint(names):
            return Match.SURE
        counts = first_named(names, _COUNTERS) is not None
        curves = any(is_known_metric(name) or is_known_score(name) for name in names)
        return Match.LIKELY if counts and curves else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Points, samples of the machine, or settings, whatever the table holds; damage becomes a gap."""
        import pyarrow as pa  # noqa: PLC0415  (125 ms; only for such a file)
        import pyarrow.parquet as pq  # noqa: PLC0415

        if source.path.with_name(
            f"{source.path.stem.removesuffix('_system').removesuffix('_configs')}.db"
        ).exists():
            out.gap("left out: Trackio's database beside it holds the same")
            return
        try:
            file = pq.ParquetFile(source.path)
            _read(file, out)
        except (OSError, ValueError, OverflowError, MemoryError, pa.ArrowException) as error:
            out.gap(f"the rest of the Parquet file cannot be read: {str(error)[:200]}", evidence=True)


def _names(candidate: Candidate) -> list[str]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        return list(pq.read_schema(candidate.path).names)[:MAX_COLUMNS]
    except (OSError, ValueError, MemoryError, pa.ArrowException):
        return []


def _read(file: ParquetFile, out: SourceWriter) -> None:
    names = list(file.schema_arrow.names)[:MAX_COLUMNS]
    run = _last_run(file, out) if _RUN in names else None
    if "_Created" in names:
        for number, row in _rows(file, names, run):
            write_settings(
                {key: value for key, value in row.items() if key not in _OF_TRACKIO | {_RUN}}, number, out
            )
        return
    step, stamp = first_named(names, _COUNTERS), first_named(names, TIME_NAMES)
    known = {_RUN, step, stamp} | (_OF_TRACKIO if _RUN in names else set())
    columns = MetricColumns(out)
    for number, row in _rows(file, names, run):
        time_s = _time_s(row.get(stamp) if stamp else None)
        for name, cell in row.items():
            value = None if name in known or isinstance(cell, bool) else metric_value(cell)
            if value is None:
                continue
            if step is None:
                out.metric(f"system.{name}", value, line=number, time_s=time_s)
            else:
                columns.add(name, value, step=whole_step(row[step]), line=number, time_s=time_s)
    columns.flush(step_unit="epoch" if step == "epoch" else "step")


def _rows(file: ParquetFile, names: list[str], run: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and cells of the rows of one run."""
    number = 0
    for batch in file.iter_batches(_BATCH_ROWS, columns=names):
        for row in batch.to_pylist():
            number += 1
            if number > MAX_ROWS:
                return
            if run is None or row.get(_RUN) == run:
                yield number, row


def _last_run(file: ParquetFile, out: SourceWriter) -> Any:
    """The run with the newest time, or of the last row where there is none."""
    stamp = first_named(file.schema_arrow.names, (*TIME_NAMES, "created_at"))
    latest: dict[Any, tuple[float, int]] = {}
    for number, row in _rows(file, [_RUN, *([stamp] if stamp else [])], None):
        time_s = _time_s(row.get(stamp) if stamp else None)
        latest[row[_RUN]] = (-math.inf if math.isnan(time_s) else time_s, number)
    if len(latest) > 1:
        last = max(latest, key=lambda name: latest[name])
        if first_named(file.schema_arrow.names, _COUNTERS):  # once for the three tables of a project
            out.gap(
                f"the table holds {len(latest)} runs; only the one that wrote last is read: {str(last)[:100]}"
            )
        return last
    return next(iter(latest), None)


def _time_s(cell: object) -> float:
    if isinstance(cell, str):
        time_s = unix_time(cell)
        return math.nan if time_s is None else time_s
    return unix_seconds(metric_value(cell))
