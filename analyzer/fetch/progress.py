"""A line on the terminal that says how far a download is; nothing where standard error is no terminal."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

_EVERY_S = 0.2


class ProgressLine:
    """One line that is written again and again.

    Args:
        title: What is fetched.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: dict[str, str] = {}
        self._shown_at = 0.0
        self._is_shown = False
        self._lock = threading.Lock()
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()

    def update(self, message: Mapping[str, Any]) -> None:
        """Take what the worker tells: ``what``, ``done`` and perhaps ``total``."""
        what, done, total = str(message.get("what", "")), message.get("done"), message.get("total")
        if not self._is_terminal or not isinstance(done, int):
            return
        with self._lock:
            self._parts[what] = f"{what} {done:,}" + (
                f"/{total:,}" if isinstance(total, int) and total else ""
            )
            now = time.monotonic()
            if now - self._shown_at >= _EVERY_S:
                self._shown_at = now
                self._show(f"{self._title}: " + "  ".join(self._parts.values()))

    def say(self, text: str) -> None:
        """Show a text in the line."""
        if self._is_terminal:
            with self._lock:
                self._show(f"{self._title}: {text}")

    def close(self) -> None:
        """Remove the line."""
        with self._lock:
            if self._is_shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
                self._is_shown = False

    def _show(self, text: str) -> None:
        width = max(20, shutil.get_terminal_size((80, 24)).columns - 1)
        sys.stderr.write(f"\r\x1b[K{text[:width]}")
        sys.stderr.flush()
        self._is_shown = True
