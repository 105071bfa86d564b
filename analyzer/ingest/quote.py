"""Read a source again, to quote a line of it or to show a change to it as a diff."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from analyzer.ingest.masking import clean_text
from analyzer.model.run import Run

MAX_QUOTED_BYTES = 4 * 1024**2
"""Larger files are not read a second time; events carry their own text."""

_TEXT_SUFFIXES = frozenset(
    {".json", ".jsonl", ".yaml", ".yml", ".py", ".txt", ".log", ".csv", ".out", ".err", ".cfg", ".toml"}
)


class QuotedLines(list[str]):
    """Cleaned lines of a text file, each with the line ending that it has there.

    Attributes:
        altered: 0-based numbers of the lines that are not shown as they stand in the file: a secret is masked,
            a control character removed, a long line cut. A diff must not lean on them.
    """

    altered: frozenset[int] = frozenset()


def quoter(run: Run) -> Callable[[int], QuotedLines | None]:
    """A function from source index to the cleaned lines of that text file, or None if it cannot be quoted."""

    @lru_cache(maxsize=32)
    def lines(source: int) -> QuotedLines | None:
        path = Path(run.sources[source].location)
        if path.suffix.lower() not in _TEXT_SUFFIXES or run.sources[source].size_bytes > MAX_QUOTED_BYTES:
            return None
        try:
            return quoted_lines(path.read_bytes())
        except OSError:  # gone since it was read: no quote, the finding stands
            return None

    return lines


def quoted_lines(data: bytes) -> QuotedLines:
    r"""Lines of a file's bytes, safe to show; only LF ends a line, and CR LF stays CR LF.

    >>> lines = quoted_lines(b"fp16: true\r\napi_key: abcdef123456\nlr: 1")
    >>> tuple(lines), sorted(lines.altered)
    (('fp16: true\r\n', 'api_key: ***\n', 'lr: 1'), [1])
    """
    raw = data.split(b"\n")
    ends = [b"\n"] * (len(raw) - 1) + [b""]
    if not raw[-1]:  # the last line has its newline: nothing stands after it
        del raw[-1], ends[-1]
    shown: list[str] = []
    altered: set[int] = set()
    for number, (line, end) in enumerate(zip(raw, ends, strict=True)):
        if end and line.endswith(b"\r"):
            line, end = line[:-1], b"\r\n"  # noqa: PLW2901
        text = clean_text(_last_state(line.decode("utf-8", errors="replace")))
        if text.encode("utf-8", errors="replace") != line:
            altered.add(number)
        shown.append(text + end.decode("ascii"))
    lines = QuotedLines(shown)
    lines.altered = frozenset(altered)
    return lines


def _last_state(line: str) -> str:
    """What a terminal shows of a line that a progress bar redrew with carriage returns."""
    if "\r" not in line:
        return line
    states = [state for state in line.split("\r") if state.strip()]
    return states[-1] if states else ""
