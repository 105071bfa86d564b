"""Keep checked rules as JSON between runs, so that a diagnosis does not parse YAML.

The file lies in ``ANALYZER_CACHE_DIR``, or else in the user's cache directory. It is keyed by name, size and
time of the rule files, the facts and the format, holds data only, and is merely missing if it cannot be read or written.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def cache_directory() -> Path:
    """Where analyzer keeps what it can make again."""
    named = os.environ.get("ANALYZER_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "analyzer"


@dataclass(frozen=True)
class CheckedRules:
    """Rules that were read and checked before.

    Attributes:
        digest: Digest of the text of all rule files, as reports show it.
        rules: Plain data of each rule, in the order of the files.
        gates: Facts that the gate of each rule mentions.
    """

    digest: str
    rules: list[Any]
    gates: list[list[str]]


def _path(key: str) -> Path:
    return cache_directory() / f"rules-{key[:24]}.json"


def read(key: str, count: int) -> CheckedRules | None:
    """What was written under the key, or None if there is no whole file of ``count`` rules."""
    try:
        with _path(key).open(encoding="utf-8") as stream:
            data = json.load(stream)
        found = CheckedRules(str(data["digest"]), list(data["rules"]), list(data["gates"]))
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        RuntimeError,
    ):  # missing, damaged, or no home directory
        return None
    return found if len(found.rules) == len(found.gates) == count else None


def write(key: str, checked: CheckedRules) -> None:
    """Write checked rules; a cache that cannot be written is no error."""
    with suppress(OSError, RuntimeError):
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix="rules-", suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump({"digest": checked.digest, "rules": checked.rules, "gates": checked.gates}, stream)
        Path(name).replace(path)  # another process may write the same file at the same time
