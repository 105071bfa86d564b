"""What the launcher says of its processes: which lines are about one process, and which deaths were its own doing.

torchrun tells the end of a process twice, when it sees it and in its report at the end; the process id joins the
two. A process that does not end by SIGTERM is killed after 30 seconds, and the report lists it beside the others
as "Signal 9 (SIGKILL)": nobody from outside did that. When a process that a signal ended really died is not known:
the report holds the time at which the launcher looked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analyzer.model.tables import Event
from analyzer.record import NamedTuple

REPORTS = frozenset({"torchrun_failure", "torchrun_peer_failure"})
"""Reports of the launcher about a process, not lines of the process itself."""

SEEN_ENDING = frozenset({"torchrun_worker_failed"})
"""What the launcher prints when it notices that a process has ended."""

Lines = dict[tuple[int, int | None], list[Event]]
"""Events by source and line."""


def _pid(event: Event) -> int | None:
    pid = event.fields.get("pid")
    return pid if isinstance(pid, int) else None


class LaunchersWord(NamedTuple):
    """What the launcher's lines say about processes."""

    # processes that the launcher itself killed, because they did not end when told to: the lines that say so, by source and
    # process id
    forced: Mapping[tuple[int, int], Event] = {}
    # where a call of MPI failed, by source: MPI then ends its processes, and the scheduler kills what is left
    failed_calls: Mapping[int, int] = {}

    @classmethod
    def of(cls, events: Sequence[Event]) -> LaunchersWord:
        """Collect it from the events of a run."""
        return cls(
            {
                (event.ref.source, pid): event
                for event in events
                if event.kind == "launcher_kill"
                and "forced_by" in event.fields
                and (pid := _pid(event)) is not None
            },
            {event.ref.source: event.ref.line or 0 for event in events if event.fields.get("call")},
        )

    def killed(self, events: Sequence[Event]) -> bool:
        """Whether a line reports the end of a process that the launcher killed."""
        kills = [event.ref for event in events if event.kind == "sigkill"]
        if any((ref.line or 0) > self.failed_calls.get(ref.source, ref.line or 0) for ref in kills):
            return True
        pids = ((event.ref.source, _pid(event)) for event in events if event.kind in REPORTS | SEEN_ENDING)
        return any((source, pid) in self.forced for source, pid in pids)


def is_report(events: Iterable[Event]) -> bool:
    """Whether a line is the launcher's and not that of the process it tells about."""
    return any(event.kind in REPORTS | SEEN_ENDING for event in events)


def time_is_of_looking(event: Event) -> bool:
    """Whether the stamp of a report is when the launcher looked: a signal lets a process write no error file."""
    code = event.fields.get("exitcode")
    by_signal = event.kind in REPORTS | SEEN_ENDING and isinstance(code, int) and code < 0
    return by_signal and "attempt" not in event.fields  # known from the path of the error file


def join_reports(by_line: Lines) -> None:
    """Add the line in which the launcher notices an end to its later report about the same process."""
    reports = {
        (source, pid): line
        for (source, line), events in by_line.items()
        for event in events
        if event.kind in REPORTS and (pid := _pid(event)) is not None
    }
    noticed = {
        (source, line): pid
        for (source, line), events in by_line.items()
        for event in events
        if event.kind in SEEN_ENDING and (pid := _pid(event)) is not None
    }
    for (source, line), pid in noticed.items():
        report = reports.get((source, pid), line)
        if report != line:
            by_line[source, report].extend(by_line.pop((source, line)))
