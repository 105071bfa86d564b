"""The Python API: load, diagnose, render. The package ``analyzer`` re-exports it."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from analyzer.errors import InputError
from analyzer.ingest.discover import Loaded, load_run
from analyzer.ingest.quote import Quoter
from analyzer.model.diagnosis import Coverage, Diagnosis, GapNote
from analyzer.model.run import Run
from analyzer.pipeline import diagnose_loaded
from analyzer.render import render
from analyzer.rules.load import RuleSet, load_rules
from analyzer.version import __version__

__all__ = ["diagnose", "diagnose_stdin", "load", "render", "unreadable"]

MAX_STDIN_BYTES = 2 * 1024**3
"""Standard input is spooled to disk; a log beyond 2 GiB should be given as a file."""


def load(source: str | Path, *, checkpoint: str | Path | None = None) -> Run:
    """Read a run directory or log file.

    Args:
        source: Path of a run directory or file.
        checkpoint: Path of a checkpoint directory or safetensors file that belongs to the run.

    Raises:
        InputError: Nothing there could be read.
    """
    return _load(source, checkpoint).run


def _load(source: str | Path, checkpoint: str | Path | None) -> Loaded:
    return load_run(Path(source), [] if checkpoint is None else [Path(checkpoint)])


@lru_cache(maxsize=8)
def _rules(extra: tuple[Path, ...]) -> RuleSet:
    return load_rules(extra)


def diagnose(
    run: Run | str | Path,
    *,
    twin: Run | str | Path | None = None,
    checkpoint: str | Path | None = None,
    rules: Sequence[str | Path] = (),
) -> Diagnosis:
    """Find the root cause of a run.

    Args:
        run: A loaded run or the path of one.
        twin: A run that worked; its differences become evidence.
        checkpoint: See ``load``; ignored for a loaded run.
        rules: Further rule packs.

    Raises:
        InputError: Nothing could be read.
        RuleError: A rule pack is invalid.
    """
    started_s = time.perf_counter()
    loaded = Loaded(run) if isinstance(run, Run) else _load(run, checkpoint)
    twin_run = twin if isinstance(twin, Run) or twin is None else load(twin)
    rule_set = _rules(tuple(Path(place) for place in rules))
    return diagnose_loaded(loaded, rule_set, twin_run, Quoter(loaded.run), started_s)


def diagnose_stdin(
    *, rules: Sequence[str | Path] = (), twin: str | Path | None = None, checkpoint: str | Path | None = None
) -> Diagnosis:
    """Diagnose a log that comes through standard input.

    Raises:
        InputError: Standard input was empty or nothing in it is known.
    """
    with tempfile.TemporaryDirectory(prefix="analyzer-") as directory:
        path = Path(directory) / "stdin.log"
        size = 0
        with path.open("wb") as spool:
            while block := sys.stdin.buffer.read(1 << 20):
                size += len(block)
                if size > MAX_STDIN_BYTES:
                    raise InputError("standard input is larger than 2 GiB; give the log as a file")
                spool.write(block)
        return replace(diagnose(path, rules=rules, twin=twin, checkpoint=checkpoint), root="standard input")


def unreadable(source: str, error: InputError) -> Diagnosis:
    """The answer for a source of which nothing could be read: status ``unreadable``, the reason as a gap."""
    return Diagnosis(
        run_id="",
        root=source,
        subject="",
        others=(),
        status="unreadable",
        summary=str(error),
        findings=(),
        ruled_out=(),
        other_probability={},
        next_checks=(),
        coverage=Coverage((), {}, 0, 0, ()),
        gaps=(GapNote("", None, str(error)),),
        tool_version=__version__,
        rules_digest="",
        elapsed_s=0.0,
    )
