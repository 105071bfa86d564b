"""What schedulers and container runtimes keep about a job, as text: one event for each job or container that ended.

    JobID|State|ExitCode|DerivedExitCode|Elapsed|Timelimit|MaxRSS|ReqMem|NodeList      sacct -P
    4711|TIMEOUT|0:0|0:0|1-00:00:20|1-00:00:00||64G|node[1-4]
    4711.batch|CANCELLED|0:15||1-00:00:21||31457280K||node1

    JobId=4711 JobName=train                                                           scontrol show job
       JobState=OUT_OF_MEMORY Reason=OutOfMemory Dependency=(null)
       Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:125

        Last State:     Terminated                                                     kubectl describe pod
          Reason:       OOMKilled
          Exit Code:    137

Slurm's records give the kinds of Slurm's own last words: ``slurm_cancelled`` with its reason, ``slurm_oom``,
``node_failure``; else ``job_failed`` or ``job_completed``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.prefixes import unix_time
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar

_STATES: tuple[tuple[str, str, str, str], ...] = (
    ("OUT_OF_ME", "slurm_oom", "root_candidate", ""),
    ("TIMEOUT", "slurm_cancelled", "root_candidate", "TIME LIMIT"),
    ("DEADLINE", "slurm_cancelled", "root_candidate", "TIME LIMIT"),
    ("PREEMPTED", "slurm_cancelled", "root_candidate", "PREEMPTION"),
    ("REQUEUED", "slurm_cancelled", "root_candidate", "JOB REQUEUE"),
    ("NODE_FAIL", "node_failure", "root_candidate", ""),
    ("BOOT_FAIL", "node_failure", "root_candidate", ""),
    ("CANCELLED", "slurm_cancelled", "root_candidate", ""),
    ("FAILED", "job_failed", "cascade", ""),
    ("COMPLETED", "job_completed", "info", ""),
)
"""Beginning of Slurm's state (sacct cuts it to its column), kind, role, and the reason in slurmstepd's words."""

SIGNAL_KINDS: Mapping[int, tuple[str, str]] = {
    6: ("sigabrt", "symptom"),
    7: ("bus_error", "root_candidate"),
    9: ("sigkill", "root_candidate"),
    11: ("segfault", "symptom"),
    15: ("sigterm", "teardown"),
}
"""Kind and role of the line that says which signal ended a process; a record may be all that says so."""

_WORST_FIRST = [state for state, _, _, _ in _STATES]

_CODE = LazyRegex(r"(\d{1,3}):(\d{1,3})$")
_DURATION = LazyRegex(r"(?:(\d{1,5})-)?(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:\.\d{1,6})?$")
_SIZE = LazyRegex(r"([\d.]{1,20})([KMGT]?)[cn]?$")
_UNIT_GIB = {"": 1 / 1024**3, "K": 1 / 1024**2, "M": 1 / 1024, "G": 1.0, "T": 1024.0}
_PAIR = LazyRegex(r"(?:^|\s)([A-Za-z]\w{1,30})=(\S{1,300})")
_JOB_ID = LazyRegex(r"JobId=(\d{1,12})")

_RAW = {"jobidraw": "jobid", "elapsedraw": "elapsed"}
"""Columns whose value has another form; ``TimelimitRaw`` counts minutes and is left alone."""

MAX_ROWS = 2_000
"""Rows of one accounting table that are looked at."""

MAX_RECORD_LINES = 80
"""Lines of one record; Kubernetes puts the last words of a container into it."""


def gib_of(text: str) -> float | None:
    """A size as Slurm writes it, in GiB; None if it is none.

    >>> gib_of("31457280K"), gib_of("64Gn"), gib_of("")
    (30.0, 64.0, None)
    """
    match = _SIZE.match(text.strip())
    try:
        return round(float(match[1]) * _UNIT_GIB[match[2]], 6) if match else None
    except ValueError:
        return None


def duration_s(text: str) -> int | None:
    """A duration as Slurm writes it, in seconds; None if it is none (``UNLIMITED``, ``Partition_Limit``).

    >>> duration_s("1-00:00:20"), duration_s("05:30"), duration_s("86418"), duration_s("UNLIMITED")
    (86420, 330, 86418, None)
    """
    if text.isascii() and text.isdigit() and len(text) < 10:  # ElapsedRaw
        return int(text)
    match = _DURATION.match(text.strip())
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _exit_fields(text: str, prefix: str = "") -> dict[str, Scalar]:
    match = _CODE.match(text.strip())
    if match is None:
        return {}
    found: dict[str, Scalar] = {f"{prefix}exit_code": int(match[1])}
    if int(match[2]):
        found[f"{prefix}signal_number"] = int(match[2])
    return found


def _slurm_event(row: Mapping[str, str], line: LogLine, log: LogState) -> None:
    """Write what one job's record says, if the job has ended."""
    state = row.get("state", "")
    known = next((entry for entry in _STATES if state.startswith(entry[0])), None)
    if known is None:
        return
    _, kind, role, reason = known
    fields: dict[str, Scalar | None] = {
        "scheduler": "slurm",
        "unit": "JOB",
        "job": row.get("jobid", ""),
        "state": state,
        "reason": reason,
        "by": state.partition(" by ")[2],
        "scheduler_reason": row.get("reason", "").removeprefix("None"),
        **_exit_fields(row.get("exitcode", "")),
        **_exit_fields(row.get("derivedexitcode", ""), "derived_"),
        "elapsed_s": duration_s(row.get("elapsed", "") or row.get("runtime", "")),
        "limit_s": duration_s(row.get("timelimit", "")),
        "max_rss_gib": gib_of(row.get("maxrss", "")),
        "requested_memory_gib": gib_of(row.get("reqmem", "")),
        "nodes": row.get("nodelist", "").removeprefix("(null)"),
    }
    signal = fields.get("signal_number")
    if kind == "job_failed" and isinstance(signal, int) and signal in SIGNAL_KINDS:
        log.out.event(
            SIGNAL_KINDS[signal][0],
            line.raw,
            role=SIGNAL_KINDS[signal][1],
            line=line.number,
            time_s=line.time_s,
        )
    shown = {name: value for name, value in fields.items() if value not in {None, ""}}
    stamp = unix_time(row.get("end", "") or row.get("endtime", ""))
    log.out.event(
        kind,
        line.raw,
        role=role,
        line=line.number,
        time_s=line.time_s if line.time_s is not None else stamp,
        rank=line.rank,
        fields={name: value for name, value in shown.items() if value is not None},
    )


class _Accounting:
    """Collects the rows of ``sacct``: those of a job and of its steps become one record."""

    def __init__(self, header: str) -> None:
        self._names = _columns(header)
        self._spans: list[tuple[int, int]] = []
        self._jobs: dict[str, tuple[LogLine, dict[str, str]]] = {}
        self._is_parsable = "|" in header
        self._rows = 0

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        text = line.raw
        if not self._is_parsable and not self._spans:
            if not re.match(r"^\s*-{3,}[ -]{0,2000}$", text):
                return self._end(log)
            self._spans = [match.span() for match in re.finditer(r"-{3,}", text)]
            return Fed.OWNED
        row = self._row(text)
        self._rows += 1
        if not re.match(r"\d", row.get("jobid", "")) or self._rows > MAX_ROWS:
            return self._end(log)
        self._add(line, row)
        return Fed.OWNED

    def _row(self, text: str) -> dict[str, str]:
        if self._is_parsable:
            cells = [cell.strip() for cell in text.split("|")]
            if len(cells) < len(self._names):
                return {}
        else:
            cells = [text[start:end].strip() for start, end in self._spans]
        return dict(zip(self._names, cells, strict=False))

    def _add(self, line: LogLine, row: dict[str, str]) -> None:
        job, _, step = row["jobid"].partition(".")
        row["jobid"] = job
        if job not in self._jobs:
            self._jobs[job] = (line.detached(), row)
            self._jobs[job][0].raw = line.raw
            return
        kept = self._jobs[job][1]
        for name, value in row.items():
            if kept.get(name, "") in {"", "0:0"}:
                kept[name] = value or kept.get(name, "")
        sizes = [size for size in (gib_of(kept.get("maxrss", "")), gib_of(row.get("maxrss", ""))) if size]
        if sizes:
            kept["maxrss"] = f"{max(sizes)}G"
        # The memory limit ends a step; the job itself then only counts as failed.
        if not step or row.get("state", "").startswith("OUT_OF_ME"):
            kept["state"] = min((kept.get("state", ""), row.get("state", "")), key=_severity)

    def _end(self, log: LogState) -> Fed:
        self.finish(log)
        return Fed.PASSED | Fed.ENDED

    def finish(self, log: LogState) -> None:
        """Write one event for each job."""
        for line, row in self._jobs.values():
            _slurm_event(row, line, log)
        self._jobs.clear()


def _severity(state: str) -> int:
    return next((i for i, known in enumerate(_WORST_FIRST) if state.startswith(known)), len(_WORST_FIRST))


def _columns(header: str) -> list[str]:
    parts: Iterable[str] = header.split("|") if "|" in header else header.split()
    names = [part.strip().lower() for part in parts]
    return [_RAW.get(name, name) for name in names]


class _JobRecord:
    """Collects the ``Key=Value`` pairs of ``scontrol show job``."""

    def __init__(self, line: LogLine) -> None:
        self._line = line
        self._lines = 0
        ids = _JOB_ID.findall(line.before() + line.raw)
        self._row = {"jobid": ids[-1] if ids else ""}
        self._take(line.raw)

    def _take(self, text: str) -> None:
        for name, value in _PAIR.findall(text):
            self._row.setdefault("state" if name == "JobState" else name.lower(), value)

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        self._lines += 1
        if not _PAIR.search(line.raw) or "JobId=" in line.raw or self._lines > MAX_RECORD_LINES:
            self.finish(log)
            return Fed.PASSED | Fed.ENDED
        self._take(line.raw)
        return Fed.OWNED

    def finish(self, log: LogState) -> None:
        """Write the record."""
        _slurm_event(self._row, self._line, log)


class JobRecords(WritesAtOnce):
    """Begins a capture at each record of Slurm."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if "JobState=" in line.raw:
            log.captures.append(_JobRecord(line))
            return True
        names = _columns(line.raw[:2_000])
        if {"jobid", "state"} <= set(names):
            log.captures.append(_Accounting(line.raw[:2_000]))
            return True
        return False
