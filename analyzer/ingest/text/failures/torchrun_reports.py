"""The block in which torchrun lists the workers that failed and names the one that failed first.

    ============================================================
    train.py FAILED
    ------------------------------------------------------------
    Failures:
    [1]:
      time      : 2026-05-19_13:33:12
      host      : node-a
      rank      : 6 (local_rank: 6)
      exitcode  : 1 (pid: 2259201)
      error_file: /tmp/torchelastic_x/none_y/attempt_0/6/error.json
      traceback : Traceback (most recent call last):
        ...
    ------------------------------------------------------------
    Root Cause (first observed failure):
    [0]:
      time      : 2026-05-19_13:33:12
      host      : node-a
      rank      : 5 (local_rank: 5)
      exitcode  : -11 (pid: 2259200)
      error_file: <N/A>
      traceback : Signal 11 (SIGSEGV) received by PID 2259200
    ============================================================

gives ``torchrun_failure`` for the root cause that torchrun names and ``torchrun_peer_failure`` for each of the others.
"First" is judged by whole seconds: among failures of the same second the choice is arbitrary, and the agent of
each node prints its own block.
"""

from __future__ import annotations

import re

from analyzer.ingest.text.failures.tracebacks import HEADER, TracebackCapture, of_rank
from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.prefixes import unix_time
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar
from analyzer.record import replace

_ENTRY = LazyRegex(r"^\s{0,12}(time|host|rank|exitcode|error_file|traceback)\s{0,12}: (.*)$")
_INDEX = LazyRegex(r"^\s{0,12}\[\d{1,6}\]:\s*$")
_RULE = LazyRegex(r"^[-=]{20,}\s*$")
_SIGNAL = LazyRegex(r"\b(SIG[A-Z]{2,8})\b")
_LOCAL_RANK = LazyRegex(r"local_rank: (\d{1,6})")
_PID = LazyRegex(r"\(pid: (\d{1,9})\)")
_ATTEMPT = LazyRegex(r"attempt_(\d{1,6})[/\\]")

ROOT_CAUSE = "Root Cause (first observed failure):"
OTHERS = "Failures:"

MAX_LINES = 400
"""Lines of one failure: a report prints the deepest stacks in full, about 200 lines."""


class _FailureCapture:
    """Collects the entries of the failures below one heading, and leaves the lines that other ranks print in between."""

    def __init__(self, heading: LogLine, kind: str, role: str) -> None:
        self.rank = heading.rank
        self.kind = kind
        self.role = role
        self.fields: dict[str, Scalar] = {}
        self.time_s: float | None = None
        self.last: LogLine | None = None
        self.lines = 0

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        text = line.text
        if line.rank != self.rank:
            return Fed.PASSED
        self.lines += 1
        if _RULE.match(text) or ROOT_CAUSE in text or text.strip() == OTHERS or self.lines > MAX_LINES:
            self.finish(log)
            return Fed.PASSED | Fed.ENDED
        if _INDEX.match(text):
            self.finish(log)  # of several, the one before
            return Fed.PASSED
        match = _ENTRY.match(text)
        if match is None:
            return Fed.PASSED
        self.last = line
        self._note(match[1], match[2].strip())
        rank = self.fields.get("rank")
        if match[1] == "traceback" and HEADER in text:
            self.finish(log)
            log.captures.append(
                TracebackCapture(line, {}, report_rank=rank if isinstance(rank, int) else None)
            )
            return Fed.OWNED
        return Fed.PASSED

    def _note(self, key: str, value: str) -> None:
        number = re.match(r"-?\d{1,9}\b", value)
        if key in {"rank", "exitcode"} and number:
            self.fields[key] = int(number[0])
        if key == "exitcode" and (pid := _PID.search(value)):
            self.fields["pid"] = int(pid[1])
        if key == "rank" and (local := _LOCAL_RANK.search(value)):
            self.fields["local_rank"] = int(local[1])
        elif key == "host" and value:
            self.fields["host"] = value[:200]
        elif key == "time":
            self.time_s = unix_time(value)
            self.fields["time"] = value[:40]
        elif key == "error_file" and (attempt := _ATTEMPT.search(value)):
            self.fields["attempt"] = int(attempt[1])
        elif key == "traceback" and (signal := _SIGNAL.search(value)):
            self.fields["signal"] = signal[1]

    def finish(self, log: LogState) -> None:
        """Write the failure, as far as it was read."""
        rank = self.fields.get("rank")
        if self.last is not None and self.fields:
            line = of_rank(self.last, rank) if isinstance(rank, int) else self.last
            time_s = line.time_s if line.time_s is not None else self.time_s
            log.event(self.kind, self.role, replace(line, time_s=time_s), self.fields)
        self.fields, self.last, self.time_s, self.lines = {}, None, None, 0


class TorchrunReports(WritesAtOnce):
    """Begins a capture at each heading of a report."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if ROOT_CAUSE in line.text:
            log.captures.append(_FailureCapture(line, "torchrun_failure", "symptom"))
            return True
        if line.text.strip() == OTHERS:
            log.captures.append(_FailureCapture(line, "torchrun_peer_failure", "cascade"))
            return True
        return False
