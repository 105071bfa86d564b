"""Read one trace file as ``analyzer diagnose`` would."""

from __future__ import annotations

from pathlib import Path

from analyzer.errors import InputError
from analyzer.ingest.discover import load_run
from analyzer.model.run import Run


def read(path: Path) -> Run | None:
    """The run, None if nothing in the file could be read; anything else that is raised is a defect."""
    try:
        return load_run(path).run
    except InputError:
        return None


def rows(run: Run | None) -> list[dict]:
    return [] if run is None else list(run.replay.rows())


def reasons(run: Run | None) -> str:
    return "" if run is None else " | ".join(gap.reason for gap in run.gaps)
