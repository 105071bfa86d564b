"""The block in which torchrun names the worker that failed first.

    Root Cause (first observed failure):
    [0]:
      time      : 2026-05-19_13:33:12
      host      : node-a
      rank      : 5 (local_rank: 5)
      exitcode  : -11 (pid: 2259200)
      error_file: <N/A>
      traceback : Signal 11 (SIGSEGV) received by PID 2259200

"First" is judged by whole seconds: among failures of the same second the choice is arbitrary.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from analyzer.ingest.lazy_regex import LazyRegex
from analyzer.ingest.log_line import Fed, LogLine, LogState

if TYPE_CHECKING:
    from analyzer.model.tables import Scalar

_ENTRY = LazyRegex(r"^\s{0,12}(time|host|rank|exitcode|error_file|traceback)\s{0,12}: (.*)$")
_INDEX = LazyRegex(r"^\s{0,12}\[\d{1,6}\]:\s*$")
_SIGNAL = LazyRegex(r"\b(SIG[A-Z]{2,8})\b")


class _FailureCapture:
    """Collects the entries of one failure."""

    def __init__(self) -> None:
        self.fields: dict[str, Scalar] = {}
        self.last: LogLine | None = None

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        match = _ENTRY.match(line.text)
        if match is None:
            if _INDEX.match(line.text):
                return Fed.PASSED
            self.finish(log)
            return Fed.ENDED
        self._note(match[1], match[2].strip())
        self.last = line
        return Fed.PASSED

    def _note(self, key: str, value: str) -> None:
        number = re.match(r"-?\d{1,9}\b", value)
        if key in {"rank", "exitcode"} and number:
            self.fields[key] = int(number[0])
        elif key == "host" and value:
            self.fields["host"] = value[:200]
        elif key == "traceback" and (signal := _SIGNAL.search(value)):
            self.fields["signal"] = signal[1]

    def finish(self, log: LogState) -> None:
        """Write the failure, as far as it was read."""
        if self.last is not None and self.fields:
            log.event("torchrun_failure", "symptom", self.last, self.fields)
            self.last = None


class TorchrunReports:
    """Begins a capture at each report of a first failure."""

    literals = ("Root Cause (first observed failure):",)

    def feed(self, line: LogLine, log: LogState) -> bool:  # noqa: ARG002
        """See ``LineGrammar.feed``."""
        log.captures.append(_FailureCapture())
        return True

    def finish(self, log: LogState) -> None:
        """Nothing is left to write."""
