"""What the makers of pieces of a download share: where to write, how much, and whom to tell."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from analyzer.fetch.limits import MIB, Limits
from analyzer.vocabulary.cache import whole_file

Tell = Callable[[Mapping[str, object]], None]

_TOLD_EVERY = 1_000
"""Rows between two words of progress."""


class Piece:
    """What the makers of pieces need: where to write, how much, and whom to tell."""

    def __init__(self, parts: Path, limits: Limits, tell: Tell, api_url: str = "") -> None:
        self.parts = parts
        self.api_url = api_url  # what lies elsewhere is not fetched
        self.limits = limits
        self.tell = tell
        self.gaps: list[str] = []  # what was left out, for people; shared by all pieces
        self._done: dict[str, int] = {}
        self._lock = threading.Lock()

    def count(self, what: str, more: int, total: int | None = None) -> None:
        """Tell that a piece has grown."""
        with self._lock:
            done = self._done[what] = self._done.get(what, 0) + more
        self.tell({"what": what, "done": done, "total": total})

    def write_rows(
        self, name: str, rows: Iterable[Mapping[str, object]], what: str, total: int | None = None
    ) -> int:
        """Write rows as JSON lines; stops, with a gap, at the bound of bytes.

        Returns:
            Rows written.
        """
        size = count = told = 0
        with whole_file(self.parts / name, ".half-") as stream:
            for row in rows:
                line = json.dumps(row, separators=(",", ":"))
                size += len(line) + 1
                if size > self.limits.piece_bytes:
                    self.gaps.append(f"{what}: only the first {count} rows were fetched, {size // MIB} MiB")
                    break
                stream.write(line.encode() + b"\n")
                count += 1
                if count - told == _TOLD_EVERY:
                    self.count(what, _TOLD_EVERY, total)
                    told = count
        self.count(what, count - told, total)
        return count
