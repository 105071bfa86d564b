"""Stacks of running processes that somebody took with py-spy, innermost call first.

    Process 4711: python train.py
    Python v3.11.9 (/usr/bin/python3.11)

    Thread 4711 (idle): "MainThread"
        wait (threading.py:355)
        get_result (torch/_inductor/async_compile.py:436)
        main (train.py:90)

gives ``stack_taken`` with the place of the innermost frame that is not Python's own, of the main thread: the
others of a training process wait for work most of the time. Paths are relative to where Python finds modules.
"""

from __future__ import annotations

import sys

from analyzer.ingest.text.failures.traceback_frames import Frame, Stack
from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.lazy_regex import LazyRegex

_THREAD = LazyRegex(
    r'^Thread (?:0x[0-9A-Fa-f]{4,16}|\d{1,10}) \((?P<state>active|idle)(?:\+gil)?\): "MainThread"'
)
_FRAME = LazyRegex(
    r"^ {4}(?P<function>[^\s(][^(\n]{0,200}) \((?P<file>[^()\n:]{1,400}\.pyx?):(?P<line>\d{1,9})\)\s*$"
)
_INSTALLED = frozenset(
    {"torch", "triton", "transformers", "accelerate", "deepspeed", "lightning", "pytorch_lightning", "jax"}
)

MAX_FRAMES = 500
"""Frames read of one thread; Python itself stops a recursion at about 1,000."""


def _frame(text: str) -> Frame | None:
    match = _FRAME.match(text)
    if match is None:
        return None
    top = match["file"].partition("/")[0].removesuffix(".py")
    if top in sys.stdlib_module_names:
        return Frame("", 0, match["function"])
    home = "site-packages/" if top in _INSTALLED else ""
    return Frame(home + match["file"], int(match["line"]), match["function"])


class _SampleCapture:
    """Collects the frames of one main thread."""

    def __init__(self, started: LogLine, state: str) -> None:
        self.started = started
        self.state = state
        self.frames: list[Frame] = []

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        frame = _frame(line.text)
        if frame is not None and len(self.frames) < MAX_FRAMES:
            self.frames.append(frame)
            return Fed.OWNED
        if line.text.startswith("    "):  # a native frame, or a local variable
            return Fed.OWNED
        self.finish(log)
        return Fed.PASSED | Fed.ENDED

    def finish(self, log: LogState) -> None:
        """Write what was read."""
        stack = Stack()
        for frame in reversed([frame for frame in self.frames if frame.file]):
            stack.add(frame)
        if self.frames:
            log.event("stack_taken", "symptom", self.started, {"state": self.state, **stack.place()})


class StackSamples(WritesAtOnce):
    """Begins a capture at the main thread of each process."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        match = _THREAD.match(line.text)
        if match is not None:
            log.captures.append(_SampleCapture(line, match["state"]))
        return False
