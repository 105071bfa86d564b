"""What to tell somebody whose run could not be read: the last lines that look like errors, and what would help."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.ingest.base import Candidate
from analyzer.ingest.masking import clean_text
from analyzer.ingest.source_text import decode
from analyzer.lazy_regex import LazyRegex

TAIL_BYTES = 64 << 10
"""Of the end of each file: what ended a run stands in its last screens."""

LINES_QUOTED = 3
LINE_CHARACTERS = 160
WANTED = (
    "what would help: the console log with the lines of its steps, the metrics (TensorBoard, W&B, CSV, "
    "trainer_state.json), the training configuration"
)
_ERROR = LazyRegex(
    r"(?i)\b(?:\w{0,40}error|fatal|failed|failure|\w{0,40}exception|abort(?:ed|ing)?|cannot|can't|denied|killed|panic|giving up)\b"
)


def last_errors(candidates: Sequence[Candidate]) -> list[str]:
    """``name:line: text`` of the last lines that look like errors, of the files that hold text.

    Compressed files and those with binary content are passed over.
    """
    found: list[str] = []
    for candidate in candidates:
        if candidate.compression or b"\0" in candidate.head[:4096]:
            continue
        found += _in_file(candidate)
    return found[-LINES_QUOTED:]


def _in_file(candidate: Candidate) -> list[str]:
    try:
        with candidate.path.open("rb") as stream:
            before = max(0, candidate.size_bytes - TAIL_BYTES)
            numbered = not before  # of the end of a large file the numbers are not known
            stream.seek(before)
            lines = decode(stream.read(TAIL_BYTES)).splitlines()
    except OSError:
        return []
    return [
        f"{candidate.name}{f':{number}' if numbered else ''}: {clean_text(line.strip())[:LINE_CHARACTERS]}"
        for number, line in enumerate(lines, start=1)
        if _ERROR.search(line[:2000])
    ][-LINES_QUOTED:]
