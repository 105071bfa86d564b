"""Stacks that Python's fault handler writes when a signal kills the interpreter, innermost call first.

    Fatal Python error: Segmentation fault

    Current thread 0x00007f0000000000 (most recent call first):
      File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 114 in forward
      File "/home/user/train.py", line 90 in main

gives ``fatal_python_error`` with error "Segmentation fault" and the place of the user's code. A dump of
``faulthandler.dump_traceback_later`` ("Timeout (0:30:00)!") tells where a run hung: ``hang_stack_dump``.
"""

from __future__ import annotations

from analyzer.ingest.text.failures.traceback_frames import Frame, Stack, python_frame
from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.lazy_regex import LazyRegex

_FATAL = LazyRegex(r"Fatal Python error: (?P<error>[^\n]{1,200})")
_TIMEOUT = LazyRegex(r"Timeout \((?P<error>\d{1,4}:\d\d:\d\d)(?:\.\d{1,6})?\)!")
_THREAD = LazyRegex(r"^(?:Current t|T)hread 0x[0-9a-f]{4,16}.{0,80}\(most recent call first\)")

MAX_FRAMES = 100
"""The fault handler itself prints at most 100 frames of a thread."""

MAX_LINES = 2_000
"""Lines after which a dump is over: a hundred threads of some frames each."""


class _DumpCapture:
    """Collects the frames of the thread that was running; of a time-out, of the last thread, the main one."""

    def __init__(self, started: LogLine, kind: str, error: str) -> None:
        self.started = started
        self.kind = kind
        self.error = error
        self.frames: list[Frame] = []
        self.is_current = False
        self.lines = 0

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        if line.rank != self.started.rank:
            return Fed.PASSED
        self.lines += 1
        text = line.text
        if _FATAL.search(text) or _TIMEOUT.search(text):
            return self._end(log)
        if _THREAD.match(text):
            if self.is_current and self.frames and self.kind == "fatal_python_error":
                return self._end(log)
            self.is_current = text.startswith("Current") or self.kind != "fatal_python_error"
            self.frames = [] if self.is_current else self.frames
            return Fed.OWNED
        frame = python_frame(text)
        if frame is not None:
            if self.is_current and len(self.frames) < MAX_FRAMES:
                self.frames.append(frame)
            return Fed.OWNED
        if text.strip() and (self.frames or self.lines > MAX_LINES):
            return self._end(log)
        return Fed.PASSED

    def _end(self, log: LogState) -> Fed:
        self.finish(log)
        return Fed.PASSED | Fed.ENDED

    def finish(self, log: LogState) -> None:
        """Write what was read; without a stack, the error alone."""
        stack = Stack()
        for frame in reversed(self.frames):
            stack.add(frame)
        # The user's innermost frame is the last that was added.
        log.event(self.kind, "symptom", self.started, {"error": self.error, **stack.place()})


class FaultDumps(WritesAtOnce):
    """Begins a capture at each dump of the fault handler."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        for kind, pattern in (("fatal_python_error", _FATAL), ("hang_stack_dump", _TIMEOUT)):
            match = pattern.search(line.text)
            if match:
                log.captures.append(_DumpCapture(line, kind, match["error"].strip()))
                return False
        return False
