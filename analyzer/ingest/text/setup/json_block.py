"""A JSON object that a program prints over many lines, collected until its closing brace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from analyzer.ingest.text.log_line import Fed, LogLine, LogState
from analyzer.model.config import ConfigScalar

MAX_LINES = 5_000
"""Lines of one printed object; the longest real one (DeepSpeed with an autotuning section) has 200."""

MAX_CHARACTERS = 1 << 20

MAX_FOREIGN_LINES = 20
"""Lines of other writers allowed inside the object."""

MAX_DEPTH = 12
"""Levels of nesting flattened into dotted keys; DeepSpeed uses five."""


class JsonBlock:
    """Capture of an object whose opening brace ends the line where it started."""

    def __init__(self, started: LogLine, what: str, write: Callable[[Any, LogLine, LogState], None]) -> None:
        self.started = started.detached()
        self.what = what
        self.write = write
        self.parts = ["{"]
        self.size = 0
        self.foreign = 0

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        text = line.raw if line.raw[:1] in " }" else line.text
        if text[:1] not in " }\t":
            self.foreign += 1
        if self.foreign > MAX_FOREIGN_LINES or len(self.parts) > MAX_LINES or self.size > MAX_CHARACTERS:
            self.finish(log)
            return Fed.ENDED
        if text[:1] not in " }\t":
            return Fed.PASSED
        self.parts.append(text)
        self.size += len(text)
        if not text.startswith("}"):
            return Fed.OWNED
        self._parse(log)
        return Fed.OWNED | Fed.ENDED

    def _parse(self, log: LogState) -> None:
        try:
            parsed = json.loads("\n".join(self.parts))
        except (ValueError, RecursionError):
            log.out.gap(f"{self.what} is not valid JSON", line=self.started.number)
            return
        self.write(parsed, self.started, log)

    def finish(self, log: LogState) -> None:
        """See ``Capture.finish``."""
        log.out.gap(f"{self.what} is cut off", line=self.started.number)


def flatten(value: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, ConfigScalar]]:
    """Dotted keys and scalar values of nested objects; lists are left out.

    >>> list(flatten({"fp16": {"enabled": True}, "x": [1]}))
    [('fp16.enabled', True)]
    """
    if isinstance(value, dict) and depth < MAX_DEPTH:
        for key, inner in value.items():
            yield from flatten(inner, f"{prefix}.{key}" if prefix else str(key), depth + 1)
    elif value is None or isinstance(value, bool | int | float | str):
        yield prefix, value


def scalar(text: str) -> ConfigScalar:
    """A value as Python prints it.

    >>> scalar("True"), scalar("None"), scalar("1e-05"), scalar("12"), scalar("'adamw'"), scalar("<Kind.STEPS: 'steps'>")
    (True, None, 1e-05, 12, 'adamw', 'steps')
    """
    body = text.strip()
    if body in {"True", "False", "None"}:
        return {"True": True, "False": False, "None": None}[body]
    if body.startswith("<") and body.endswith(">") and ": " in body:
        body = body[1:-1].rpartition(": ")[2]
    if body[:1] in "'\"" and body[-1:] == body[:1] and len(body) > 1:
        return body[1:-1]
    if body[:1].isdigit() or body[:1] in "-+.":
        try:
            return int(body) if body.lstrip("-+").isdecimal() else float(body)
        except ValueError:  # a date, a version, or an integer of thousands of digits
            return body
    return body
