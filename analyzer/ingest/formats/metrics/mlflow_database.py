"""MLflow's database as one SQLite file (``mlflow.db``), the default store since MLflow 3.

Of the runs in it the one that started last is read; the others are counted in a gap. The file is opened read-only and
as it lies on disk: nothing is written beside it, no view, trigger or virtual table of it is run, and a query that
takes too long is given up.
"""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.metrics.mlflow_files import MAX_PARAMETER_BYTES, add_parameter, add_status
from analyzer.ingest.metric_columns import MetricColumns, unix_seconds
from analyzer.ingest.scalar_text import metric_value, whole_step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC = b"SQLite format 3\0"

MAX_POINTS = 5_000_000
"""Points read of one run: 40 bytes each in memory, and more than any run of the survey has logged."""

MAX_PARAMETERS = 5_000
"""Parameters read of one run."""

MAX_QUERY_S = 60.0
"""Seconds for all queries: a million points take two."""

_CHECK_EVERY = 100_000  # virtual-machine steps between two looks at the clock
_MAX_TEXT_BYTES = 1 << 20
_NEEDED = ("metrics", "params", "runs")
_LARGEST_SQL_FLOAT = 1.7976931348623157e308
"""MLflow stores an infinity as the largest float, and NaN as 0 with ``is_nan``."""


class MlflowDatabase:
    """Reads the last run of an MLflow database."""

    name = "mlflow-database"
    summary = "MLflow database (mlflow.db): metrics, parameters, status of its last run"
    is_log = True

    def sniff(self, candidate: Candidate) -> Match:
        """SQLite with MLflow's tables; their definitions stand at the beginning of the file."""
        if not candidate.head.startswith(_MAGIC) or candidate.compression:
            return Match.NO
        if b"latest_metrics" in candidate.head and b"run_uuid" in candidate.head:
            return Match.SURE
        return Match.LIKELY if candidate.name.rpartition("/")[2].startswith("mlflow") else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Everything of the last run; a damaged or hostile file becomes a gap."""
        try:
            with closing(connect(source.path)) as database:
                _read_last_run(database, source.path, out)
        except sqlite3.Error as error:
            out.gap(f"the database cannot be read further: {error}")
        except (OverflowError, MemoryError, UnicodeDecodeError) as error:  # the last: names of columns
            out.gap(f"the database holds what no MLflow writes: {error}")


def connect(path: Path) -> sqlite3.Connection:
    """Open a database as it lies on disk, bounded in time and trusting nothing in it."""
    # "immutable" keeps SQLite from creating journal files beside a database that is not ours.
    address = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    database = sqlite3.connect(address, uri=True, timeout=1.0, isolation_level=None)
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_TEXT_BYTES)
    database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 50)
    deadline = time.monotonic() + MAX_QUERY_S
    database.set_progress_handler(lambda: int(time.monotonic() > deadline), _CHECK_EVERY)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    database.execute("PRAGMA cell_size_check = ON")
    return database


def plain_tables(database: sqlite3.Connection) -> set[str]:
    """Names of real tables: a view or a virtual table of the same name could run code or never end."""
    rows = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' LIMIT 1000")
    return {
        str(name)
        for name, sql in rows
        if str(sql).lstrip().upper().startswith("CREATE TABLE") and "GENERATED ALWAYS" not in str(sql).upper()
    }


def _read_last_run(database: sqlite3.Connection, path: Path, out: SourceWriter) -> None:
    missing = [name for name in _NEEDED if name not in plain_tables(database)]
    if missing:
        out.gap(f"not an MLflow database: no table {', '.join(missing)}")
        return
    journal = path.with_name(f"{path.name}-wal")
    if journal.is_file() and journal.stat().st_size > 0:
        out.gap(f"rows that are still in {journal.name} are not read; close the writer or copy both files")
    runs = database.execute(
        "SELECT run_uuid, status, start_time, end_time, rowid FROM runs"
        " WHERE lifecycle_stage IS NULL OR lifecycle_stage <> 'deleted' ORDER BY start_time DESC, rowid DESC LIMIT 1"
    ).fetchall()
    if not runs:
        out.gap("the database holds no run")
        return
    run, status, start_ms, end_ms, row = runs[0]
    (count,) = database.execute("SELECT count(*) FROM runs").fetchone()
    if count > 1:
        out.gap(f"the database holds {count} runs; only the one that started last is read")
    add_status(str(status), str(run)[:64], out, metric_value(start_ms), metric_value(end_ms), whole_step(row))
    _read_metrics(database, run, out)
    _read_parameters(database, run, out)


def _read_metrics(database: sqlite3.Connection, run: Any, out: SourceWriter) -> None:
    columns = MetricColumns(out)
    count = 0
    try:
        for key, value, stamp_ms, step, is_nan, row in _rows(
            database,
            "SELECT key, value, timestamp, step, is_nan, rowid FROM metrics WHERE run_uuid = ? ORDER BY rowid LIMIT ?",
            run,
        ):
            number = math.nan if is_nan else metric_value(value)
            if number is None:
                out.gap("a point without a number", line=whole_step(row), rows_lost=1)
                continue
            if abs(number) >= _LARGEST_SQL_FLOAT:
                number = math.copysign(math.inf, number)
            time_s = unix_seconds(metric_value(stamp_ms))
            columns.add(str(key)[:250], number, step=whole_step(step), line=int(row), time_s=time_s)
            count += 1
    finally:
        columns.flush()
    if count >= MAX_POINTS:
        out.gap(f"only the first {MAX_POINTS} points are read")


def _rows(database: sqlite3.Connection, query: str, run: Any) -> Iterator[tuple[Any, ...]]:
    yield from database.execute(query, (run, MAX_POINTS))


def _read_parameters(database: sqlite3.Connection, run: Any, out: SourceWriter) -> None:
    query = "SELECT key, value, rowid FROM params WHERE run_uuid = ? ORDER BY rowid LIMIT ?"
    for key, value, row in database.execute(query, (run, MAX_PARAMETERS)):
        add_parameter(str(key)[:250], str(value)[:MAX_PARAMETER_BYTES], out, line=int(row))
