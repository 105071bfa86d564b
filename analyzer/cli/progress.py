"""One line on standard error that says how far the reading of a run is; nothing where nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from analyzer.cli.output import terminal_columns
from analyzer.ingest.progress import WATCHED, Reading

if TYPE_CHECKING:
    import threading

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
