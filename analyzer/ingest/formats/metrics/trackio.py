"""Trackio's database (``~/.cache/huggingface/trackio/PROJECT.db``): the default tracker of the Hugging Face libraries.

One row of ``metrics`` holds what one call of ``log`` was given, as JSON; ``configs`` holds the settings of each run,
``system_metrics`` samples of the machine, which have no step. Of several runs the one that wrote last is read.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.metrics.mlflow_stores import connect, plain_tables
from analyzer.ingest.metric_columns import MetricColumns
from analyzer.ingest.scalar_text import json_object, metric_value, whole_step
from analyzer.ingest.text.prefixes import unix_time

MAX_ROWS = 2_000_000
"""Calls of ``log`` read of one run; more than any run of the survey has made."""

MAX_SETTINGS = 5_000

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""How Trackio writes what JSON cannot hold."""


class Trackio:
    """Reads the last run of a Trackio database."""

    def sniff(self, candidate: Candidate) -> Match:
        """SQLite with Trackio's tables; their definitions may stand anywhere in the file, so that it is opened."""
        if not candidate.head.startswith(b"SQLite format 3\0") or candidate.compression:
            return Match.NO
        try:
            with closing(connect(candidate.path)) as database:
                if not {"metrics", "configs"} <= plain_tables(database):
                    return Match.NO
                columns = {row[1] for row in database.execute("PRAGMA table_info(metrics)")}
        except sqlite3.Error:
            return Match.NO
        return Match.SURE if {"run_name", "metrics", "step", "timestamp"} <= columns else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Everything of the last run; a damaged or hostile file becomes a gap."""
        try:
            with closing(connect(source.path)) as database:
                _read(database, out)
        except sqlite3.Error as error:
            out.gap(f"the database cannot be read further: {error}", evidence=True)
        except (OverflowError, MemoryError) as error:
            out.gap(f"the database holds what no Trackio writes: {error}", evidence=True)


def _read(database: sqlite3.Connection, out: SourceWriter) -> None:
    tables = plain_tables(database)
    if "metrics" not in tables:
        out.gap("not a Trackio database: no table metrics")
        return
    runs = database.execute(
        "SELECT run_name, max(timestamp) FROM metrics GROUP BY run_name ORDER BY 2 DESC, 1 LIMIT 1000"
    ).fetchall()
    if not runs:
        out.gap("the database holds no run")
        return
    name = runs[0][0]
    if len(runs) > 1:
        out.gap(
            f"the database holds {len(runs)} runs; only the one that wrote last is read: {str(name)[:100]}"
        )
    _read_metrics(database, name, out)
    if "system_metrics" in tables:
        _read_system(database, name, out)
    if "configs" in tables:
        _read_settings(database, name, out)


def _read_metrics(database: sqlite3.Connection, run: Any, out: SourceWriter) -> None:
    columns = MetricColumns(out)
    query = "SELECT id, timestamp, step, metrics FROM metrics WHERE run_name = ? ORDER BY id LIMIT ?"
    for number, stamp, step, text in database.execute(query, (run, MAX_ROWS)):
        time_s = unix_time(str(stamp))
        for key, value in _numbers(text):
            columns.add(
                key,
                value,
                step=whole_step(step),
                line=int(number),
                time_s=math.nan if time_s is None else time_s,
            )
    columns.flush()


def _read_system(database: sqlite3.Connection, run: Any, out: SourceWriter) -> None:
    query = "SELECT id, timestamp, metrics FROM system_metrics WHERE run_name = ? ORDER BY id LIMIT ?"
    for number, stamp, text in database.execute(query, (run, MAX_ROWS)):
        for key, value in _numbers(text):
            out.metric(f"system.{key}", value, line=int(number), time_s=unix_time(str(stamp)))


def _read_settings(database: sqlite3.Connection, run: Any, out: SourceWriter) -> None:
    query = "SELECT config FROM configs WHERE run_name = ? ORDER BY id DESC LIMIT 1"
    for (text,) in database.execute(query, (run,)):
        write_settings(_object(text), None, out)


def write_settings(data: Mapping[str, Any], line: int | None, out: SourceWriter) -> None:
    """Write what a program passed to ``trackio.init``; Trackio's own names begin with an underscore."""
    framework = "hf-trainer" if "per_device_train_batch_size" in data else "config"
    for count, (key, value) in enumerate(_flat(data)):
        if count < MAX_SETTINGS and not key.startswith("_"):
            out.config(key, value, framework=framework, layer="runtime_echo", line=line)


def _flat(data: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        name = f"{above}{key}"[:250]
        if isinstance(value, dict) and above.count(".") < 8:  # settings are nested two or three levels deep
            yield from _flat(value, f"{name}.")
        elif value is None or isinstance(value, str | int | float | bool):
            yield name, value


def _object(text: object) -> dict[str, Any]:
    """The object of a JSON cell, which newer versions store as bytes."""
    return (json_object(text) if isinstance(text, str | bytes) else None) or {}


def _numbers(text: object) -> Iterator[tuple[str, float]]:
    for key, value in _object(text).items():
        number = (
            _SPECIAL.get(value)
            if isinstance(value, str)
            else None
            if isinstance(value, bool)
            else metric_value(value)
        )
        if number is not None:
            yield str(key)[:250], number
