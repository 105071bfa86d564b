"""Whether a run has written since it was last looked at."""

from __future__ import annotations

import os
from pathlib import Path


def written(source: Path) -> tuple[int, int]:
    """Bytes of all files and the time of the last write (ns): what changes when the run writes; zeros if it is gone."""
    if not source.is_dir():
        try:
            state = source.stat()
        except OSError:
            return (0, 0)
        return (state.st_size, state.st_mtime_ns)
    size = last = 0
    for directory, _, files in os.walk(source):
        for name in files:
            try:
                state = (Path(directory) / name).stat()
            except OSError:
                continue
            size, last = size + state.st_size, max(last, state.st_mtime_ns)
    return (size, last)
