"""What ``analyzer diagnose`` and ``explain`` do, without Typer: ``analyzer diagnose RUN`` starts here directly."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.output import Format, rendered, terminal_columns, write
from analyzer.ingest.progress import WATCHED, Reading
from analyzer.vocabulary.compiled import kept_expressions

if TYPE_CHECKING:
    import threading

    from analyzer.api import Study

SHOWN = 3
"""Causes shown in full, unless ``--top`` says otherwise."""


def print_diagnosis(source: str) -> None:
    """``analyzer diagnose SOURCE`` without any option.

    Raises:
        InputError: Nothing could be read.
    """
    write(rendered(run_study(source), Format.terminal, None, show_all=False, top=SHOWN), None)


def run_study(
    source: str,
    *,
    rules: list[Path] | None = None,
    baseline: str | None = None,
    checkpoint: Path | None = None,
    replay: list[Path] | None = None,
    metric: list[str] | None = None,
    offline: bool = False,
) -> Study:
    """Diagnose a path, a run on a W&B server, or standard input.

    Raises:
        InputError: Nothing could be read.
    """
    from analyzer import api

    more, traces = rules or [], replay or []
    metrics: dict[str, str] = {}
    if metric:
        from analyzer.ingest.chosen_names import parse_choices

        metrics = parse_choices(metric)
    read = api.study_stdin if source == "-" else partial(api.study, source)
    with kept_expressions(), reading():
        return read(
            rules=more,
            metrics=metrics,
            baseline=baseline,
            checkpoint=checkpoint,
            replay=traces,
            offline=offline,
        )


FIRST_S = 0.4
"""Time before the line appears: a usual run is read by then, and a line that flashes helps nobody."""

REDRAWN_S = 0.2


@contextmanager
def reading(*, visible: bool | None = None) -> Iterator[None]:
    """Show how far the reading is while the block runs; by default if standard error is a terminal."""
    if not (sys.stderr.isatty() if visible is None else visible):
        yield
        return
    import threading

    state = Reading()
    WATCHED.now = state
    done = threading.Event()
    thread = threading.Thread(target=_draw, args=(state, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        WATCHED.now = None
        done.set()
        thread.join()


def _draw(state: Reading, done: threading.Event) -> None:
    start_s = time.monotonic()
    drawn = False
    wait_s = FIRST_S
    while not done.wait(wait_s):
        width = max(20, terminal_columns(80) - 1)
        sys.stderr.write("\r\x1b[K" + words(state, time.monotonic() - start_s)[:width])
        sys.stderr.flush()
        drawn, wait_s = True, REDRAWN_S
    if drawn:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def words(state: Reading, spent_s: float) -> str:
    """The line.

    >>> words(Reading(looked_at=7), 1.0)
    'looking for files: 7 so far'
    >>> words(Reading(files=3, size_bytes=400_000_000, files_read=1, bytes_read=100_000_000, name="a.log"), 2.0)
    'reading: 100 of 400 MB, file 2 of 3, 50 MB/s, 6 s left, a.log'
    """
    if state.judging:
        return "judging what was read"
    if not state.files:
        return f"looking for files: {state.looked_at} so far"
    read = state.position()
    rate = read / spent_s if spent_s else 0.0
    left = f", {max(0.0, state.size_bytes - read) / rate:.0f} s left" if rate else ""
    number = min(state.files_read + 1, state.files)
    # file names come from outside: no control character may reach the terminal
    name = "".join(character for character in state.name if character.isprintable())
    return (
        f"reading: {read / 1e6:.0f} of {state.size_bytes / 1e6:.0f} MB, file {number} of {state.files}, "
        f"{rate / 1e6:.0f} MB/s{left}, {name}"
    )
