"""Write rows of ``analyzer-replay/1`` as JSON lines while a run goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from analyzer.model.replay import SCHEMA_VERSION

MAX_ROWS = 400_000
"""Rows that one recording may write (about 150 MB): a recorder that is left on must not fill a disk."""


def json_number(value: Any) -> Any:
    """A float as JSON can hold it: what is not finite becomes the text that the format gives for it."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def encode(row: Mapping[str, Any]) -> str:
    """One row as one line of JSON, without what is unknown; ``extra`` becomes JSON text.

    >>> encode({"step": 0, "max": float("inf"), "op": None})
    '{"step":0,"max":"Infinity"}'
    """
    clean = {name: json_number(value) for name, value in row.items() if value is not None}
    if isinstance(clean.get("extra"), Mapping):
        clean["extra"] = extra_text(clean["extra"])
    return json.dumps(clean, separators=(",", ":"))


def extra_text(extra: Mapping[str, Any]) -> str:
    """What has no column, as JSON text without what is unknown.

    >>> extra_text({"loss": float("nan"), "error": None})
    '{"loss":"NaN"}'
    """
    known = {name: json_number(value) for name, value in extra.items() if value is not None}
    return json.dumps(known, separators=(",", ":"))


class TraceFile:
    """A trace that grows; made at the first write, so that a run without findings leaves no empty file.

    Args:
        path: File to write; what stands there is replaced.
        replay_id: Name of the recording.
        rank: Global rank.
    """

    def __init__(self, path: Path, *, replay_id: str, rank: int = 0) -> None:
        self.path = path
        self.rows = 0
        self._common = {
            "schema_version": SCHEMA_VERSION,
            "replay_id": replay_id,
            "source_format": "torch_hooks",
            "rank": rank,
        }
        self._begun = False

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows and hand them to the system, so that a killed process leaves them behind."""
        if not self._begun:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a" if self._begun else "w", encoding="utf-8") as file:
            self._begun = True
            for row in rows:
                if self.rows >= MAX_ROWS:
                    break
                file.write(encode({**self._common, **row}) + "\n")
                self.rows += 1
