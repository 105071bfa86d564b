"""A corpus in one Parquet file: the curves and labels of its runs, without their log files.

Schema (version in the file's metadata, key ``analyzer.excerpt``): the text columns of the manifest, then for each
metric ``<metric>.step`` list<int32>, ``<metric>.value`` list<float32> and ``<metric>.time_s`` list<float32> (seconds
since the run's first row; empty if the logger gave none), and ``settings`` list<struct<key, value>>.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analyzer.detect.base import RunView
from analyzer.errors import InputError
from analyzer.ingest.base import SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.model.run import Run
from analyzer.model.tables import NULL_INT

VERSION = "1"
_KEY = b"analyzer.excerpt"

METRICS = ("loss", "eval_loss", "grad_norm", "learning_rate", "step_time_s", "data_time_s")
"""What the features look at."""

SETTINGS = ("vocab_size", "num_classes", "max_grad_norm")
"""Of the configuration only what the features look at, by the last part of its key."""

MAX_RUNS = 100_000
"""An excerpt is small; a larger file is something else."""


def write_excerpt(runs: Sequence[tuple[dict[str, str], Run]], path: Path) -> None:
    """Write the curves of some runs.

    Args:
        runs: Manifest rows and the runs they stand for.
        path: File to write.
    """
    columns: dict[str, list[Any]] = {name: [row[name] for row, _ in runs] for name in runs[0][0]}
    for metric in METRICS:
        parts = [_column(RunView(run), metric) for _, run in runs]
        columns[f"{metric}.step"] = pa.array([part[0] for part in parts], pa.list_(pa.int32()))
        columns[f"{metric}.value"] = pa.array([part[1] for part in parts], pa.list_(pa.float32()))
        columns[f"{metric}.time_s"] = pa.array([part[2] for part in parts], pa.list_(pa.float32()))
    columns["settings"] = pa.array(
        [_settings(run) for _, run in runs],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.float64())])),
    )
    table = pa.table(columns).replace_schema_metadata({_KEY: VERSION.encode()})
    pq.write_table(table, path, compression="zstd", compression_level=19)


def _column(view: RunView, metric: str) -> tuple[Any, Any, Any]:
    """Steps, values and times of the one curve that the features look at, of however many files repeat it."""
    series = view.curve(metric)
    if series is None:
        return [], [], []
    first = np.nanmin(series.time_s) if np.isfinite(series.time_s).any() else np.nan
    times = np.round(series.time_s - first, 4)
    steps = np.where(series.step == NULL_INT, -1, series.step)
    return steps.tolist(), series.value.tolist(), times.tolist() if np.isfinite(times).all() else []


def _settings(run: Run) -> list[dict[str, Any]]:
    found: dict[str, float] = {}
    for entry in run.config.entries:
        key = entry.key_in_source.rpartition(".")[2]
        if key in SETTINGS and isinstance(entry.value, int | float):
            found[key] = float(entry.value)
    return [{"key": key, "value": value} for key, value in found.items()]


def read_excerpt(path: Path) -> Iterator[tuple[dict[str, str], Run]]:
    """The runs of an excerpt with their manifest rows.

    Raises:
        InputError: It is no excerpt, or one of another version.
    """
    try:
        file = pq.ParquetFile(path)
        version = (file.schema_arrow.metadata or {}).get(_KEY, b"").decode()
        if version != VERSION or file.metadata.num_rows > MAX_RUNS:
            raise InputError(f"{path}: not an excerpt of labelled runs of version {VERSION}")
        rows = file.read().to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error})") from error
    for row in rows:
        yield {name: value for name, value in row.items() if isinstance(value, str)}, _run(row)


def _run(row: dict[str, Any]) -> Run:
    builder = RunBuilder(str(row["path"]))
    source = builder.add_source(
        "curves", format_name="excerpt", ingestor="excerpt", size_bytes=0, sha256_head=str(row["path"])
    )
    out = SourceWriter(builder, source)
    for metric in METRICS:
        values = row[f"{metric}.value"]
        if not values:
            continue
        steps = [None if step < 0 else step for step in row[f"{metric}.step"]]
        out.metrics(metric, steps=steps, values=values, times_s=row[f"{metric}.time_s"] or None)
    for setting in row["settings"] or ():
        out.config(setting["key"], setting["value"], framework="")
    return builder.finish()
