"""One line on standard error that says how far a triage is; silent where nobody watches."""

from __future__ import annotations

import sys
import time

REDRAWN_S = 0.2


class Progress:
    """Draws ``[#####     ] 420/1000 diagnosing, 31 runs/s, 19 s left, 2 failed``.

    Args:
        visible: Whether to draw; by default if standard error is a terminal.
    """

    def __init__(self, *, visible: bool | None = None) -> None:
        self._visible = sys.stderr.isatty() if visible is None else visible
        self._phase = ""
        self._start_s = self._drawn_s = 0.0

    def __call__(self, phase: str, done: int, total: int, failures: int) -> None:
        """One more run is done."""
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._start_s, self._drawn_s = phase, now, 0.0
        if self._visible and (now - self._drawn_s > REDRAWN_S or done == total):
            self._drawn_s = now
            sys.stderr.write("\r\x1b[K" + self._line(done, total, failures, now - self._start_s))
            sys.stderr.flush()

    def _line(self, done: int, total: int, failures: int, spent_s: float) -> str:
        rate = done / spent_s if spent_s > 0 else 0.0
        failed = f", {failures} failed" if failures else ""
        filled = round(20 * done / max(1, total))
        left = f", {duration((total - done) / rate)} left" if rate else ""
        return f"[{'#' * filled}{' ' * (20 - filled)}] {done}/{total} {self._phase}, {rate:.3g} runs/s{left}{failed}"

    def end(self) -> None:
        """Remove the line."""
        if self._visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(42), duration(150), duration(7300)
    ('42 s', '2 min 30 s', '2 h 1 min')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
