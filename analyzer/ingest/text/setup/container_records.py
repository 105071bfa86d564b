"""How a container ended, as Kubernetes and Docker describe it.

        Last State:     Terminated              kubectl describe pod
          Reason:       OOMKilled
          Exit Code:    137
          Finished:     Tue, 19 May 2026 13:33:12 +0000

          terminated:                           kubectl get pod -o yaml (or json)
            exitCode: 1
            reason: Error

        "OOMKilled": false,                     docker inspect
        "ExitCode": 137,

gives ``job_failed`` with reason, exit_code and the signal behind a code above 128, or ``job_completed``.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.prefixes import unix_time
from analyzer.ingest.text.setup.job_records import SIGNAL_KINDS
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar

_STARTS = LazyRegex(
    r"^\s{0,40}(?:(?:Last )?State:\s{1,20}Terminated\s*$|-? ?\"?terminated\"?:\s{0,4}\{?\s*$|\"OOMKilled\": (?:true|false))"
)
_ENTRY = LazyRegex(
    r"^\s{0,60}\"?(?P<key>Reason|reason|Exit ?Code|exitCode|Signal|signal|Message|message|Error|finishedAt|FinishedAt|OOMKilled)\"?:\s{1,30}\"?(?P<value>[^\"\n]{0,500})\"?,?\s{0,8}$"
)
_ENDS = LazyRegex(
    r"^\s{0,60}(?:\"?(?:Ready|ready|Restart Count|Limits|Requests|Environment|Mounts|name|image|imageID|lastState|state|Image|GraphDriver|Health)\"?:|\}|State:|Conditions:|Events:)"
)
_DESCRIBED = LazyRegex(r"(?m)^ {2}([\w.-]{1,120}):\s*$")
_INSPECTED = LazyRegex(r"\"Name\": \"/?([\w.-]{1,120})\"")

MAX_LINES = 80
"""Lines of one status; Kubernetes puts the last words of a container into it."""


class _StatusCapture:
    """Collects the entries of one ended container."""

    def __init__(self, line: LogLine) -> None:
        self._line = line
        self._lines = 0
        self._fields: dict[str, Scalar] = {}
        self._finished_s: float | None = None
        if '"OOMKilled"' in line.raw:
            names = _INSPECTED.findall(line.before())
        else:
            names = _DESCRIBED.findall(line.before()) if "State:" in line.raw else []
        if names:
            self._fields["container"] = names[-1]
        if "Last State" in line.raw:
            self._fields["attempt_before"] = True
        self._take(line.raw)

    def _take(self, text: str) -> bool:
        match = _ENTRY.match(text)
        if match is None:
            return False
        key, value = match["key"].replace(" ", "").lower(), match["value"].strip().removesuffix(",")
        if key in {"exitcode", "signal"} and value.isascii() and value.isdigit() and len(value) < 6:
            self._fields["exit_code" if key == "exitcode" else "signal_number"] = int(value)
        elif key == "finishedat":
            self._finished_s = unix_time(value)
        elif key == "oomkilled":
            self._fields.update({"reason": "OOMKilled"} if value == "true" else {})
        elif key in {"reason", "message", "error"} and value not in {"", "|", ">"}:
            self._fields["message" if key == "error" else key] = value
        return True

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        self._lines += 1
        if self._take(line.raw):
            return Fed.PASSED
        if _ENDS.match(line.raw) or self._lines > MAX_LINES:
            self.finish(log)
            return Fed.PASSED | Fed.ENDED
        return Fed.PASSED

    def finish(self, log: LogState) -> None:
        """Write the status, if it tells how the container ended."""
        code = self._fields.get("exit_code")
        if not isinstance(code, int):
            return
        if 128 < code <= 128 + 64:  # a shell's way to say "signal"
            self._fields.setdefault("signal_number", code - 128)
        completed = code == 0 and self._fields.get("reason", "Completed") == "Completed"
        time_s = self._line.time_s if self._line.time_s is not None else self._finished_s
        signal = self._fields.get("signal_number")
        if isinstance(signal, int) and signal in SIGNAL_KINDS and self._fields.get("reason") != "OOMKilled":
            kind, role = SIGNAL_KINDS[signal]
            log.out.event(kind, self._line.raw, role=role, line=self._line.number, time_s=time_s)
        log.out.event(
            "job_completed" if completed else "job_failed",
            self._line.raw,
            role="info" if completed else "cascade",
            line=self._line.number,
            time_s=time_s,
            rank=self._line.rank,
            fields=self._fields,
        )


class ContainerRecords(WritesAtOnce):
    """Begins a capture at the status of each container that ended."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if not _STARTS.match(line.raw):
            return False
        log.captures.append(_StatusCapture(line))
        return True
