"""MLflow's database as one SQLite file (``mlflow.db``), the default store since MLflow 3.

Of the runs in it the one that started last is read; the others are counted in a gap. The file is opened read-only and
as it lies on disk: nothing is written beside it, no view, trigger or virtual table of it is run, and a query that
takes too long is given up.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.metric_columns import MetricColumns, unix_seconds
from analyzer.ingest.scalar_text import config_scalar, metric_number, metric_value, whole_step
from analyzer.ingest.source_text import bounded_lines, decode, looks_like_text, read_text
from analyzer.lazy_regex import LazyRegex

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


RUN_PATH = LazyRegex(
    r"(?:^|/)(?P<run>(?:m-)?[0-9a-f]{32})/(?:(?P<kind>metrics|params|tags|inputs|outputs|traces)/(?P<key>.{1,250})|(?P<meta>meta\.yaml))$"
)
"""A file of a run; relative to the directory that was given, or absolute if that was the run itself."""

_FIELD = LazyRegex(r"(?m)^(?P<name>[a-z_]{1,40}): '?(?P<value>[^'\n]{0,300}?)'?\s*$")

STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
"""Numbers of a run's status in ``meta.yaml``; the database has the words."""

MAX_PARAMETER_BYTES = 16_384
"""MLflow itself refuses parameters of more than 6,000 characters."""

_MAX_META_BYTES = 65_536
_MAX_DAMAGED = 20


class MlflowFiles:
    """Reads the files of one run, each for itself."""

    def sniff(self, candidate: Candidate) -> Match:
        """The place of the file in the store tells it; its text only has to be text."""
        head = candidate.head
        if not head or not looks_like_text(head):
            return Match.NO
        return Match.NO if _place(candidate) is None else Match.SURE

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Points of a metric, one parameter, or how the run ended."""
        place = _place(source.candidate)
        if place is None or place["run"].startswith("m-"):
            return
        if place["meta"]:
            _read_meta(read_text(source, out, _MAX_META_BYTES), out, place["run"])
            return
        out.attempt(place["run"])
        key = place["key"] or ""
        if place["kind"] == "metrics":
            _read_metric(key, source, out)
        elif place["kind"] == "params":
            text = read_text(source, out, MAX_PARAMETER_BYTES).strip()
            add_parameter(key, text, out, line=1)


def _place(candidate: Candidate) -> re.Match[str] | None:
    return RUN_PATH.search(candidate.name) or RUN_PATH.search(candidate.path.as_posix())


def add_parameter(key: str, text: str, out: SourceWriter, line: int) -> None:
    """Record a parameter, which MLflow keeps as text whatever it was."""
    if key == "per_device_train_batch_size":
        out.framework("hf-trainer")
    out.config(key, config_scalar(text), framework="mlflow", line=line, raw=text)


def add_status(
    status: str, run: str, out: SourceWriter, start_ms: float | None, end_ms: float | None, line: int | None
) -> None:
    """Record when a run began and ended, and how.

    ``KILLED`` is what MLflow writes for a run that was interrupted; ``RUNNING`` is what stays behind when the
    process died without a word, or still lives.
    """
    start_s, end_s = unix_seconds(start_ms), unix_seconds(end_ms)
    out.attempt(
        run,
        start_s=start_s if start_ms and start_s == start_s else None,  # noqa: PLR0124  (NaN: no time)
        end_s=end_s if end_ms and end_s == end_s else None,  # noqa: PLR0124
        exit_code={"FINISHED": 0, "FAILED": 1}.get(status),
    )
    role = "cascade" if status in {"FAILED", "KILLED"} else "info"
    out.event(
        "tracker_status",
        f"status: {status}",
        role=role,
        line=line,
        fields={"status": status, "tracker": "mlflow"},
    )


def _read_meta(text: str, out: SourceWriter, run: str) -> None:
    values = {match["name"]: match["value"] for match in _FIELD.finditer(text)}
    number = whole_step(values.get("status"))
    status = STATUS.get(number or 0)
    if status is None:
        out.gap(f"the run's status {values.get('status', 'is missing')!r} is not known", line=1)
        return
    line = next((at for at, row in enumerate(text.split("\n"), 1) if row.startswith("status:")), None)
    start_ms, end_ms = (metric_number(values.get(name, "")) for name in ("start_time", "end_time"))
    add_status(status, run, out, start_ms, end_ms, line)


def _read_metric(key: str, source: OpenSource, out: SourceWriter) -> None:
    columns = MetricColumns(out)
    damaged = 0
    for line, data in bounded_lines(source, out):
        parts = decode(data).split()
        if not parts:
            continue
        value = metric_number(parts[1]) if len(parts) > 1 else None
        is_cut = not data.endswith(b"\n") and len(parts) < 3
        if value is None or is_cut:
            damaged += 1
            if damaged <= _MAX_DAMAGED:
                out.gap("not a point of a metric: time, value, step", line=line, rows_lost=1)
            continue
        step = whole_step(parts[2]) if len(parts) > 2 else None
        columns.add(key, value, step=step, line=line, time_s=unix_seconds(metric_number(parts[0])))
    if damaged > _MAX_DAMAGED:
        out.gap("further lines that are no points", rows_lost=damaged - _MAX_DAMAGED)
    columns.flush()
