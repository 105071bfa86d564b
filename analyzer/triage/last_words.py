"""The last words of a run that no rule explains: the line in its logs that looks most like the failure."""

from __future__ import annotations

import re
from pathlib import Path

from analyzer.errors import UnreadableFileError
from analyzer.ingest.base import OpenSource, TruncatedSourceError
from analyzer.ingest.masking import clean_text
from analyzer.ingest.walk import make_candidate
from analyzer.model.run import Run
from analyzer.record import dataclass

TAIL_BYTES = 256 * 1024
"""Read from the end of each log: what killed a run stands there, before some pages of stacks at most."""

MAX_LOGS = 16
"""Logs looked at; of thousands of ranks the first ones tell the same."""

MAX_WORDS = 400
"""Characters kept of the line."""

_RAISED = re.compile(
    r"^(?:\[?(?:rank|default)?\d{1,6}\]?:\s*)?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Fault)\b(?::|$)"
)
_SERIOUS = re.compile(
    r"(?i)\b(?:fatal|panic|abort(?:ed|ing)?|core dumped|killed|segmentation fault|uncaught|unhandled|assert(?:ion)? fail)"
)
_ERROR = re.compile(
    r"(?i)\b(?:error|exception|failed|failure|cannot|could not|unable to|not found|no such|denied|refused|invalid)\b"
    r"|\b[A-Z]\w*(?:Error|Exception): "
)
_HARMLESS = re.compile(
    r"(?i)warning|\[(?:W|I|D|NeMo [WI])\b|\b(?:INFO|DEBUG|WARN)\b|\b(?:0 (?:errors|failed|failures)|no errors?|deprecat"
    r"|errors?[=: ]+0\b|\"?error\"?: ?(?:null|none|false))"
)


@dataclass(frozen=True, slots=True)
class LastWords:
    """A line of a log."""

    text: str  # the line, cleaned and masked
    path: str  # the file, relative to the run
    line: int  # its line from the end, 1 for the last; whole files are not counted for this
    looks_like: str  # ``exception``, ``fatal``, ``error`` or ``last line``


_ORDER = ("exception", "fatal", "error", "last line")


def last_words(run: Run) -> LastWords | None:
    """The line that most looks like a failure near the end of the logs; None if no log can be read."""
    best: LastWords | None = None
    for source in [source for source in run.sources if source.format == "text-log"][:MAX_LOGS]:
        for found in _of_file(Path(source.location), source.path):
            if best is None or _ORDER.index(found.looks_like) < _ORDER.index(best.looks_like):
                best = found
    return best


def _of_file(path: Path, shown: str) -> list[LastWords]:
    lines = [line for line in _tail(path).replace("\r", "\n").split("\n") if line.strip()]
    found: dict[str, LastWords] = {}
    for number, line in enumerate(reversed(lines), start=1):
        kind = _kind(line, last=number == 1)
        if kind and kind not in found:
            found[kind] = LastWords(clean_text(line.strip(), MAX_WORDS), shown, number, kind)
    return list(found.values())


def _kind(line: str, *, last: bool) -> str:
    line = line[:2000]
    if _RAISED.match(line.strip()):
        return "exception"
    if _SERIOUS.search(line) and not _HARMLESS.search(line):
        return "fatal"
    if _ERROR.search(line) and not _HARMLESS.search(line):
        return "error"
    return "last line" if last else ""


def _tail(path: Path) -> str:
    try:
        candidate = make_candidate(path, path.name)
        if not candidate.compression:
            with path.open("rb") as stream:
                stream.seek(max(0, candidate.size_bytes - TAIL_BYTES))
                return stream.read(TAIL_BYTES).decode("utf-8", "replace")
        kept = b""
        try:
            for chunk in OpenSource(candidate, 0).chunks(TAIL_BYTES):
                kept = (kept + chunk)[-TAIL_BYTES:]
        except TruncatedSourceError:
            pass  # the reader has already told of the damage; what came before it still counts
        return kept.decode("utf-8", "replace")
    except (OSError, UnreadableFileError):
        return ""
