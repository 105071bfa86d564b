"""What is done so far: records in small files, so that a killed triage loses seconds of work and not hours.

    journal/000001.jsonl      64 records, one per line

Segments and not one growing file, because an object store cannot append. They are removed when the dataset is written.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from analyzer.triage.places import Place

SEGMENT_RECORDS = 64
SEGMENT_S = 5.0
"""A segment is written when it is full or this old, whichever comes first."""

_SEGMENT = re.compile(r"journal/\d{6}\.jsonl")


class Journal:
    """Records of a triage under way."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._pending: list[bytes] = []
        self._since_s = time.monotonic()
        self._names = [name for name in place.names("journal") if _SEGMENT.fullmatch(name)]
        self._next = 1 + max((int(name[-12:-6]) for name in self._names), default=0)
        self._segment = lru_cache(maxsize=8)(self._load)

    @property
    def known_segments(self) -> int:
        """Number of segments."""
        return len(self._names)

    def known(self) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
        """Place (segment, line) and record of everything written before; a torn line is left out."""
        for name in list(self._names):
            number = int(name[-12:-6])
            for position, line in enumerate(self._segment(number)):
                try:
                    record = json.loads(line)
                    whole = isinstance(record["findings"], list) and all(
                        isinstance(record["run"][name], str) for name in ("key", "location", "outcome")
                    )
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue
                if whole:
                    yield (number, position), record

    def append(self, payload: bytes) -> tuple[int, int]:
        """Add a record; gives its place."""
        where = self._next, len(self._pending)
        self._pending.append(payload)
        if len(self._pending) >= SEGMENT_RECORDS or time.monotonic() - self._since_s > SEGMENT_S:
            self.flush()
        return where

    def flush(self) -> None:
        """Write what is pending."""
        if self._pending:
            name = f"journal/{self._next:06d}.jsonl"
            self._place.write(name, b"".join(line + b"\n" for line in self._pending))
            self._names.append(name)
            self._next += 1
            self._pending.clear()
        self._since_s = time.monotonic()

    def record(self, where: tuple[int, int]) -> dict[str, Any]:
        """The record at a place; ``flush`` comes first."""
        found: dict[str, Any] = json.loads(self._segment(where[0])[where[1]])
        return found

    def _load(self, number: int) -> list[bytes]:
        return (self._place.read(f"journal/{number:06d}.jsonl") or b"").split(b"\n")[:-1]

    def clear(self) -> None:
        """Remove all segments."""
        for name in self._names:
            self._place.remove(name)
        self._names.clear()
        self._pending.clear()
