"""The complete history of a run: its Parquet exports if the server has them all, else a scan in ranges of steps.

The server exports history of a finished run bit by bit; what is not exported yet is "live". A scan reads both.
``Run.history()`` is not used for it: it gives 500 rows chosen at random intervals.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from analyzer.fetch.worker_piece import Piece

_PAGE_ROWS = 1_000
_RANGE_ROWS = 20_000
"""Rows of one range: what a break of the connection costs at most, and what threads share out."""

_MAX_RANGES = 400
_MAX_PAGES = 4_000
"""A run may count tokens as its steps: 10^12 steps with 1,000 rows. Pages then span more steps."""

_BATCH_ROWS = 4_096


def fetch_history(run: Any, piece: Piece) -> None:
    """Write ``history-*.jsonl``; ranges that are there already are kept.

    Raises:
        Exception: The client's, if the history cannot be read to its end.
    """
    if (piece.parts / "history.done").exists():
        return
    expected = run._attrs.get("historyLineCount")  # noqa: SLF001  (absent on old servers)
    total = expected if isinstance(expected, int) and expected > 0 else None
    if list(piece.parts.glob("history-*.jsonl")) or not _from_exports(run, piece, total):
        _scan(run, piece, total)
    written = _rows_in(piece.parts)
    wanted = min(total or 0, piece.limits.history_rows)
    if written < wanted:
        piece.gaps.append(f"history: the server counts {total} rows and gave {written}")
    (piece.parts / "history.done").touch()


def _from_exports(run: Any, piece: Piece, total: int | None) -> bool:
    """Whether the whole history came from Parquet files."""
    if not hasattr(run, "download_history_exports") or (total or 0) > piece.limits.history_rows:
        return False
    place = Path(tempfile.mkdtemp(dir=piece.parts, prefix=".half-exports-"))
    try:
        result = run.download_history_exports(place, require_complete_history=True)
        if not result.paths or result.errors or result.contains_live_data:
            return False
        piece.write_rows("history-export.jsonl", _export_rows(result.paths), "history", total)
    except Exception:  # noqa: BLE001  (live data, a half-finished export, an old server: the scan has it, or says why not)
        return False
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return True


def _export_rows(paths: list[Path]) -> Iterator[Mapping[str, object]]:
    """Rows of Parquet files, in order of steps; columns without a value in a row are left out."""
    import pyarrow.parquet  # noqa: PLC0415  (only where there are exports)

    files = [(_first_step(path), path) for path in paths]
    for _, path in sorted(files, key=lambda item: (item[0], item[1].name)):
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                for row in batch.to_pylist():
                    yield {key: _plain(value) for key, value in row.items() if value is not None}


def _first_step(path: Path) -> float:
    import pyarrow.parquet  # noqa: PLC0415

    with pyarrow.parquet.ParquetFile(path) as file:
        if "_step" not in file.schema_arrow.names:
            return math.inf
        for batch in file.iter_batches(batch_size=1, columns=["_step"]):
            return float(batch.column(0)[0].as_py() or 0)
    return math.inf


def _plain(value: object) -> object:
    """A value that JSON can hold; members without a value are left out, as in the row."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return str(value)


def _scan(run: Any, piece: Piece, total: int | None) -> None:
    """Read the history in ranges of steps, several at a time."""
    last = int(run.lastHistoryStep)
    if last < 0:
        return
    rows = total or last + 1
    first = 0
    if rows > piece.limits.history_rows:
        # How a run ended matters most; rows are taken to lie evenly.
        first = int((last + 1) * (1 - piece.limits.history_rows / rows))
        piece.gaps.append(f"history: only the rows from step {first} on were fetched, of {rows} rows in all")
    span, page = _ranges(last + 1 - first, min(rows, piece.limits.history_rows))
    starts = range(first, last + 1, span)

    def fetch(number: int, start: int) -> None:
        name = f"history-{number:04d}.jsonl"
        if not (piece.parts / name).exists():
            stop = min(start + span, last + 1)
            scan = run.scan_history(page_size=page, min_step=start, max_step=stop)
            piece.write_rows(name, _once(scan), "history", total)

    _same_ranges(piece.parts, {"first": first, "last": last, "span": span})
    with ThreadPoolExecutor(max_workers=max(1, piece.limits.threads // 2)) as pool:
        for job in [pool.submit(fetch, number, start) for number, start in enumerate(starts)]:
            job.result()


def _once(rows: Iterable[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    """Rows without those whose step came already: a scan over the edge between exports and live data has some twice."""
    seen: set[object] = set()
    for row in rows:
        step = row.get("_step")
        if step is None or step not in seen:
            seen.add(step)
            yield row


def _ranges(steps: int, rows: int) -> tuple[int, int]:
    """Steps in a range and in a page.

    >>> _ranges(50_000, 50_000), _ranges(10**12, 1_000), _ranges(25, 25)
    ((20000, 1000), (1000000000000, 1000000000000), (25, 1000))
    """
    density = max(rows, 1) / max(steps, 1)
    span = math.ceil(_RANGE_ROWS / density)
    span = min(max(span, math.ceil(steps / _MAX_RANGES)), steps)
    page = math.ceil(_PAGE_ROWS / density)
    return span, max(page, math.ceil(steps / _MAX_PAGES), _PAGE_ROWS)


def _same_ranges(parts: Path, ranges: Mapping[str, int]) -> None:
    """Drop ranges of an earlier attempt that were cut in another way."""
    plan, text = parts / "history.plan", json.dumps(ranges)
    if not plan.exists() or plan.read_text(encoding="utf-8") != text:
        for old in parts.glob("history-*.jsonl"):
            old.unlink()
        plan.write_text(text, encoding="utf-8")


def _rows_in(parts: Path) -> int:
    count = 0
    for path in parts.glob("history-*.jsonl"):
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                count += block.count(b"\n")
    return count
