"""Read a source again, to quote a line of it or to show a change to it as a diff."""

from __future__ import annotations

from io import TextIOWrapper
from itertools import islice
from pathlib import Path

from analyzer.ingest.masking import clean_text
from analyzer.ingest.source_text import ENCODED_BYTES, as_utf8, decode, encoding_of
from analyzer.model.run import Run

MAX_QUOTED_BYTES = 4 * 1024**2
"""Larger files are not read a second time; events carry their own text."""

_TEXT_SUFFIXES = frozenset(
    {".json", ".jsonl", ".yaml", ".yml", ".py", ".txt", ".log", ".csv", ".out", ".err", ".cfg", ".toml"}
)


class QuotedLines(list[str]):
    """Cleaned lines of a text file, each with the line ending that it has there."""

    # 0-based numbers of the lines that are not shown as they stand in the file: a secret is masked, a control character
    # removed, a long line cut. A diff must not lean on them.
    altered: frozenset[int] = frozenset()


class Quoter:
    """Reads the text files of a run again, each at most once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._raw: dict[int, list[bytes] | None] = {}

    def line(self, source: int, number: int) -> str:
        """One line, 1-based, safe to show; empty if it cannot be quoted. Only this line is cleaned."""
        raw = self._raw_lines(source)
        return _shown(decode(raw[number - 1])).strip() if raw and 0 < number <= len(raw) else ""

    def lines(self, source: int) -> QuotedLines | None:
        """All lines for a diff, or None if the file cannot be quoted."""
        raw = self._raw_lines(source)
        return None if raw is None else quoted_lines(b"\n".join(raw))

    def around(self, source: int, number: int, reach: int) -> list[tuple[int, str]]:
        """A line with those around it, each with its number, safe to show; nothing if the file cannot be quoted."""
        raw = self._raw_lines(source)
        if not raw or not 0 < number <= len(raw):
            return []
        last = min(len(raw) - (not raw[-1]), number + reach)
        return [(i, _shown(decode(raw[i - 1])).rstrip()) for i in range(max(1, number - reach), last + 1)]

    def _raw_lines(self, source: int) -> list[bytes] | None:
        if source not in self._raw:
            self._raw[source] = self._read(source)
        return self._raw[source]

    def _read(self, source: int) -> list[bytes] | None:
        path = Path(self._run.sources[source].location)
        if (
            path.suffix.lower() not in _TEXT_SUFFIXES
            or self._run.sources[source].size_bytes > MAX_QUOTED_BYTES
        ):
            return None
        try:
            return b"".join(as_utf8([path.read_bytes()])).split(b"\n")
        except OSError:  # gone since it was read: no quote, the finding stands
            return None


def line_of(path: Path, number: int) -> str | None:
    """One line of a text file of any size, safe to show; None if the file has no such line or cannot be read."""
    found = lines_around(path, number, 0)
    return found[0][1].strip() if found else None


def lines_around(path: Path, number: int, reach: int) -> list[tuple[int, str]]:
    """A line of a text file of any size with those around it, each with its number, safe to show.

    Nothing if the file has no such line, is no text, or cannot be read.
    """
    found = []
    try:
        if not path.is_file():  # a pipe or a device may never end
            return []
        with path.open("rb") as stream:
            encoding = encoding_of(stream.read(ENCODED_BYTES))
            stream.seek(0)
            text = TextIOWrapper(stream, encoding or "utf-8", errors="replace", newline="\n")
            for count, line in enumerate(islice(text, number + reach), start=1):
                if count >= number - reach:
                    if "\0" in line:
                        return []
                    found.append((count, _shown(line).rstrip()))
    except (OSError, ValueError):  # ValueError: no file can have this name
        return []
    return found if any(count == number for count, _ in found) else []


TAIL_BYTES = 64 * 1024
"""Read at the end of a file for its last lines: a line of a log is seldom longer than one of these."""


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a text file of any size that hold something, safe to show; nothing if it is no text."""
    try:
        with path.open("rb") as stream:
            encoding = encoding_of(stream.read(ENCODED_BYTES)) or "utf-8"
            size = stream.seek(0, 2)
            stream.seek(max(0, size - TAIL_BYTES))
            data = stream.read(TAIL_BYTES)
    except OSError:
        return []
    lines = data.split(b"\n")[1 if size > TAIL_BYTES else 0 :]
    full = [line for line in lines if line.strip()]
    if b"\0" in data:  # also what Windows writes in two bytes a letter: a tail of it may begin within one
        return []
    return [_shown(line.decode(encoding, "replace")).rstrip() for line in full[-count:]]


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
        text = _shown(decode(line))
        if text.encode("utf-8", errors="replace") != line:
            altered.add(number)
        shown.append(text + end.decode("ascii"))
    lines = QuotedLines(shown)
    lines.altered = frozenset(altered)
    return lines


def _shown(line: str) -> str:
    return clean_text(_last_state(line))


def _last_state(line: str) -> str:
    """What a terminal shows of a line that a progress bar redrew with carriage returns."""
    if "\r" not in line:
        return line
    states = [state for state in line.split("\r") if state.strip()]
    return states[-1] if states else ""
