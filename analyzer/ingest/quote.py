"""Read a source again, to quote a line of it or to show a change to it as a diff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from analyzer.ingest.masking import clean_text
from analyzer.model.run import Run

MAX_QUOTED_BYTES = 4 * 1024**2
"""Larger files are not read a second time; events carry their own text."""

_TEXT_SUFFIXES = frozenset(
    {".json", ".jsonl", ".yaml", ".yml", ".py", ".txt", ".log", ".csv", ".out", ".err", ".cfg", ".toml"}
)


def quoter(run: Run) -> Callable[[int], Sequence[str] | None]:
    """A function from source index to the cleaned lines of that text file, each with its newline, or None."""

    @lru_cache(maxsize=32)
    def lines(source: int) -> Sequence[str] | None:
        path = Path(run.sources[source].location)
        if path.suffix.lower() not in _TEXT_SUFFIXES or run.sources[source].size_bytes > MAX_QUOTED_BYTES:
            return None
        try:
            text = path.read_bytes().decode("utf-8", errors="replace")
        except OSError:  # gone since it was read: no quote, the finding stands
            return None
        return [clean_text(_last_state(line)) + "\n" for line in text.split("\n")]

    return lines


def _last_state(line: str) -> str:
    """What a terminal shows of a line that a progress bar redrew with carriage returns."""
    states = [state for state in line.rstrip("\r").split("\r") if state.strip()]
    return states[-1] if states else ""
