"""Which failure came first: the failures of a run in order of time, rank and role.

One line may be several events (a traceback that is an out-of-memory error): together they are one failure.
The order of families is that of causes and consequences: a lost GPU, a host that kills processes, an exception, a
device error, a numeric stop and a full GPU make ranks end; peers that wait for them time out, and the
launcher cleans up. A collective timeout counts from the moment at which the waiting began.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from analyzer.detect.base import RunView
from analyzer.detect.failures.following import (
    BELOW_ERROR,
    CAUSES,
    DATA,
    GOES_ON,
    OF_THE_PLATFORM,
    WARNING,
    Following,
    RowsOfLogs,
    is_told_after_its_end,
    is_unparsed,
    uncaught,
)
from analyzer.detect.failures.launcher_reports import REPORTS, LaunchersWord, join_reports, time_is_of_looking
from analyzer.model.tables import Event, Scalar
from analyzer.record import dataclass
from analyzer.vocabulary.events import FAMILIES, event_specs


def _declared(kind: str) -> str:
    """The family that the vocabulary gives to a kind; empty if its role tells, or if it ends no run."""
    spec = event_specs().get(kind)
    return "" if spec is None else spec.family


_BY_ROLE = {"root_candidate": "exception", "cascade": "cleanup", "teardown": "cleanup"}

_BY_SIGNAL = {-9: "host", -11: "device", -7: "device", -4: "device", -8: "device"}
"""Exit codes of a worker that nobody in the job sends: it was killed from outside or crashed in native code.
SIGTERM is the launcher's own, SIGABRT is how a watchdog ends a process that waits for others."""

NO_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""What a launcher calls the host that it runs on: the same words on every machine, and no node to leave out."""

LATE_WRITERS = frozenset({"hardware", "host_oom_kill", "slurm_oom"})
"""Families and kinds whose lines are collected after the fact: the kernel's log and the scheduler's summary
stand at the end of a file although what they report came first."""

SAME_MOMENT_S = 1.0
"""Stamps of one second cannot be ordered: many loggers print whole seconds, and clocks of hosts differ."""

_BY_XID = dict.fromkeys((43, 45), "cleanup") | dict.fromkeys((13, 31, 32, 69, 80, 137), "device")
"""Xids that are no hardware fault: clean-up after a program, and errors of programs."""

SKIP_LINES = 6
"""Lines from a failed allocation to the word that its batch is left out: the allocator's own message and its table."""

SHELL_GOES_ON = frozenset({"command_not_found"})
"""What a shell reports before it runs the next line of its script."""

NOT_STARTED = "can't open file"
"""What the interpreter says of a script that is not there."""

LINES_IN_VAIN = 12
"""Lines from a failed allocation to an exception that it led to: the allocator's message, the word that the batch is left out."""

OFTEN_SURVIVED = 3
"""A kind of line that training survived three times is no reason for its end either: a warning at each checkpoint."""

UNPRINTED = frozenset({"ignored_exception", "text_codec_failed"})
"""A record that the terminal could not show: the logger prints why, and goes on. Its repeats are not captured again."""

LEFT_OUT = frozenset({"state_dict_mismatch"})
"""Weights that are listed below the word that the others are loaded: the loader was not told to be strict."""

VAIN_CALLS = 3
"""Failed calls to the store; ranks that start before the first one print one or two."""

LINES_GONE_ON = 2
"""Lines after the last of them that show that the program went on."""

BURST_LINES = 300
"""Lines between two tracebacks of one failing job: those of eight ranks with 30 frames each lie closer. A
process that printed more than that before its next error had survived the earlier one."""


@dataclass(frozen=True)
class Failure:
    """One line that reports a failure, with everything recognised in it."""

    events: tuple[Event, ...]  # the events of the line
    family: str  # one of ``FAMILIES``
    time_s: float | None  # Unix seconds at which it began, None if unknown

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Kinds of its events."""
        return frozenset(event.kind for event in self.events)

    @property
    def speaker(self) -> Event:
        """The event that says most: the specific one, not the traceback that carries it."""
        return next((event for event in self.events if event.kind != "python_traceback"), self.events[0])

    @property
    def raised(self) -> Mapping[str, Scalar]:
        """What is known of the exception on its line; empty if it shows none."""
        return next((event.fields for event in self.events if event.kind == "python_traceback"), {})

    @property
    def rank(self) -> int | None:
        """Global rank that failed, if known."""
        return next((event.rank for event in self.events if event.rank is not None), None)

    @property
    def host(self) -> str | None:
        """Host of that rank, if a line names it."""
        hosts = (event.fields.get("host") for event in self.events)
        return next((host for host in hosts if isinstance(host, str) and host and host not in NO_NAMES), None)

    @cached_property
    def place(self) -> tuple[int, int, int]:
        """Attempt, source and line."""
        event = self.events[0]
        return event.attempt, event.ref.source, event.ref.line or 0

    @property
    def is_launchers_root(self) -> bool:
        """Whether it is the launcher's report of the process that ended first, and not one that was told to end."""
        codes = [event.fields.get("exitcode") for event in self.events if event.kind == "torchrun_failure"]
        return any(code not in {None, -15} for code in codes)

    @property
    def is_late_writer(self) -> bool:
        """Whether the line was written after what it reports."""
        return self.family in LATE_WRITERS or bool(self.kinds & LATE_WRITERS)


def family_of(event: Event) -> str:
    """Which family an event belongs to.

    Interrupts of the kernel that only record a clean-up (Xid 43 and 45) and workers that were told to end are
    consequences whatever their kind.
    """
    if event.kind == "gpu_xid":
        code = event.fields.get("code")
        return _BY_XID.get(code if isinstance(code, int) else 0, "hardware")
    if event.kind == "fatal_python_error" and event.fields.get("error") == "Aborted":
        return "cleanup"  # how a watchdog or an assertion elsewhere ends a process
    if event.kind == "dataloader_worker_killed" and event.fields.get("signal") in {"Terminated", "Hangup"}:
        return "cleanup"
    if event.kind in {"torchrun_failure", "torchrun_worker_failed", "launcher_exit_code"}:
        code = event.fields.get("exitcode", event.fields.get("code"))
        return _BY_SIGNAL.get(code if isinstance(code, int) else 0, "cleanup")
    if event.kind == "python_traceback" and event.role == "symptom":
        return "peers"  # an exception that a distributed back end raises
    if event.role in {"cascade", "teardown"} and event.kind != "communicator_abort":
        return "peers" if _declared(event.kind) == "peers" else "cleanup"
    return _declared(event.kind) or _BY_ROLE.get(event.role, "cleanup")


def _began_s(event: Event) -> float | None:
    """When the trouble began that a line reports: a watchdog speaks only after its timeout."""
    if event.time_s is None or time_is_of_looking(event):
        return None
    waited_ms = event.fields.get("ran_ms", event.fields.get("timeout_ms"))
    waited = isinstance(waited_ms, int) and event.kind == "nccl_timeout"
    return event.time_s - (float(waited_ms) / 1000 if waited and isinstance(waited_ms, int) else 0.0)


def _family(events: Iterable[Event]) -> str:
    """Family of a line: that of its most specific event, the gravest of several."""
    named = [event for event in events if event.kind != "python_traceback"] or list(events)
    return min((family_of(event) for event in named), key=FAMILIES.index)


def earlier(first: Failure, second: Failure) -> bool | None:
    """Whether one failure came before another; None if nothing tells.

    By the clock if both have one; else by their lines if they stand in one file; else by family.
    """
    if first.time_s is not None and second.time_s is not None:
        if abs(first.time_s - second.time_s) > SAME_MOMENT_S:
            return first.time_s < second.time_s
    elif (
        first.place[:2] == second.place[:2]
        and first.is_late_writer == second.is_late_writer
        and (first.rank == second.rank or is_told_after_its_end(first, second))
    ):
        return first.place < second.place
    if first.is_late_writer != second.is_late_writer:
        return first.is_late_writer
    ranks = FAMILIES.index(first.family), FAMILIES.index(second.family)
    if ranks[0] != ranks[1]:
        return ranks[0] < ranks[1]
    return first.place < second.place if first.place[:2] == second.place[:2] else None


class FailureOrder:
    """The failures of the last attempt that training did not survive."""

    def __init__(self, view: RunView) -> None:
        found = _failures(view)
        ends = {end.source: end.line for end in view.run.log_ends}
        rows, following = view.once(RowsOfLogs), Following(found, ends)
        skips, ready = _places(view, "batch_skipped_for_memory"), _places(view, "nccl_ready")
        partly, refused = _places(view, "state_dict_partly_loaded"), _places(view, "state_dict_rejected")
        waits = _places(view, "hccl_timeout") | _places(view, "connection_lost")
        raised = {
            event.ref.source: event
            for event in view.events("python_traceback")
            if event.role == "root_candidate"
        }
        left = [
            failure
            for failure in found
            if not (
                _skipped(failure, skips, following, rows)
                or _survived(failure, following, rows)
                or _answered(view, failure)
                or _only_warned(failure, following, ready)
                or (failure.kinds <= LEFT_OUT and _above(partly, failure) > _above(refused, failure))
                or _passed_in_own_words(view, failure, following)
                or _warned_of_something_else(failure, raised)
                or failure.kinds <= UNPRINTED <= _kinds(found)
                or _hands_on(failure, waits)
            )
        ]
        survived = _often_survived(found, left)
        graver = {f.place[:2]: f.place[2] for f in left if not BELOW_ERROR.match(f.speaker.text)}
        self.failures = [
            failure
            for failure in left
            if not (
                failure.kinds <= survived
                and (_went_by(failure, following, ends) or _ended_otherwise(failure, raised))
            )
            and not _told_lightly(failure, graver, ends)
        ]
        self.survived = sum(failure.family in CAUSES for failure in found) - len(self.roots)
        self.survived_kinds = _kinds(found) - _kinds(self.failures)

    @cached_property
    def roots(self) -> list[Failure]:
        """Failures that can be a cause."""
        return [failure for failure in self.failures if failure.family in CAUSES]

    @cached_property
    def first(self) -> Failure | None:
        """The failure that came first; of several that nothing orders, the gravest."""
        peers = [failure for failure in self.failures if failure.family == "peers"]
        # A process that takes itself down says why on another line, which may stand below.
        candidates = self.roots or [f for f in peers if f.kinds != {"communicator_abort"}] or peers
        if not candidates:
            # Nothing but clean-up was written: the launcher still names the process that ended by itself.
            return next((f for f in self.failures if f.is_launchers_root), next(iter(self.failures), None))
        best = candidates[0]
        for failure in candidates[1:]:
            if earlier(failure, best) is True:
                best = failure
        return best

    def of(self, kind: str) -> list[Failure]:
        """Failures of which one event is of a kind."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[str, list[Failure]]:
        found: dict[str, list[Failure]] = {}
        for failure in self.failures:
            for kind in failure.kinds:
                found.setdefault(kind, []).append(failure)
        return found

    def follows(self, failure: Failure) -> bool | None:
        """Whether a failure is a consequence of the first one; None if nothing tells."""
        first = self.first
        if first is None or failure is first or failure.kinds & first.kinds & _identity(first):
            return False
        if first.is_launchers_root and first.family == "cleanup":
            return (
                "torchrun_worker_failed" not in failure.kinds
            )  # the launcher's earlier line about the same process
        if first.family in CAUSES and failure.family not in CAUSES:
            # A stamp may still prove that the peers were lost first.
            if first.time_s is not None and failure.time_s is not None:
                return failure.time_s >= first.time_s - SAME_MOMENT_S
            return True
        return earlier(first, failure)


def _kinds(failures: Iterable[Failure]) -> frozenset[str]:
    """Kinds of all events of some failures."""
    return frozenset(kind for failure in failures for kind in failure.kinds)


def _identity(first: Failure) -> frozenset[str]:
    """Kinds by which another rank's failure is the same as the first one and no consequence of it."""
    return first.kinds - {"python_traceback"} - REPORTS


def _failures(view: RunView) -> list[Failure]:
    """Every line of the last attempt that reports a failure, in the order of files and lines."""
    last = max((event.attempt for event in view.run.events), default=0)
    by_line: dict[tuple[int, int | None], list[Event]] = {}
    for event in view.run.events:
        ends = _declared(event.kind) or event.role in _BY_ROLE or event.kind == "python_traceback"
        if ends and event.attempt == last and event.role not in {"info", "advice"}:
            by_line.setdefault((event.ref.source, event.ref.line), []).append(event)
    _join_messages(by_line)
    join_reports(by_line)
    word = LaunchersWord.of([*view.events("launcher_kill"), *view.events("mpi_abort")])
    found: list[Failure] = []
    for events in by_line.values():
        times = [began for event in events if (began := _began_s(event)) is not None]
        family = "cleanup" if word.killed(events) else _family(events)
        found.append(Failure(tuple(events), family, min(times, default=None)))
    return sorted(found, key=lambda failure: failure.place)


def _may_be_text_of(raised: Event, event: Event) -> bool:
    """Whether a line below an exception can be part of its message: what hosts and launchers write cannot."""
    is_own = event.rank in {None, raised.rank} and event.kind != "python_traceback"
    return is_own and family_of(event) not in {"hardware", "host", "cleanup"}


def _join_messages(by_line: dict[tuple[int, int | None], list[Event]]) -> None:
    """Add what was recognised in the further lines of an exception's message to the exception's own line."""
    for (source, line), events in list(by_line.items()):
        raised = next((event for event in events if event.kind == "python_traceback"), None)
        message = raised.fields.get("message") if raised is not None else None
        if raised is None or line is None or not isinstance(message, str):
            continue
        begins = line + (message.partition("\n")[0][:20] not in raised.text)  # or below the name alone
        for below in range(line + 1, begins + message.count("\n") + 1):
            further = by_line.get((source, below), [])
            if further and all(_may_be_text_of(raised, event) for event in further):
                events.extend(by_line.pop((source, below)))


def _survived(failure: Failure, following: Following, rows: RowsOfLogs) -> bool:
    """Whether the program went on after an error: it printed metrics, or much else before its next error."""
    _, source, line = failure.place
    is_heading = line == 1 and failure.speaker.text.startswith("# ")  # above what it is about
    if not line or is_heading or failure.is_late_writer:
        return False
    if following.later_cells_ran(failure):
        return True
    if failure.family == "host":
        return rows.began_below(source, line) or following.ended_anew(failure)
    if rows.went_on(source, line, uncaught=uncaught(failure.raised)) or following.ended_anew(failure):
        return True
    if (
        failure.family in {"exception", "memory", "peers", "cleanup"}
        and following.longest_gap(failure) > BURST_LINES
    ) or following.ran_until_stopped(failure, BURST_LINES):
        return True
    if failure.family not in {"exception", "memory"}:
        return False
    passed_by = is_unparsed(failure) or failure.kinds <= SHELL_GOES_ON or NOT_STARTED in failure.speaker.text
    # no line of the program ran, or the shell went on: what failed below is a later launch
    return passed_by and following.a_program_ran(failure)


def _often_survived(found: Sequence[Failure], left: Sequence[Failure]) -> set[str]:
    """Kinds of lines, no tracebacks, that training survived again and again."""
    ended = {id(failure) for failure in left}
    counts = Counter(
        next(iter(failure.kinds))
        for failure in found
        if id(failure) not in ended and failure.family == "exception" and len(failure.kinds) == 1
    )
    return {kind for kind, times in counts.items() if times >= OFTEN_SURVIVED} - {"python_traceback"}


def _went_by(failure: Failure, following: Following, ends: Mapping[int, int]) -> bool:
    """Whether more was printed below a line than an exception that it led to would leave, and nothing failed there."""
    _, source, line = failure.place
    return ends.get(source, 0) - line > LINES_IN_VAIN and following.next_line(failure) is None


def _ended_otherwise(failure: Failure, raised: Mapping[int, Event]) -> bool:
    """Whether an exception that nobody caught ended the program below a line."""
    _, source, line = failure.place
    event = raised.get(source)
    return event is not None and event.fields.get("uncaught") is True and (event.ref.line or 0) > line


LOOKED_FOR = frozenset({"library_mismatch", "missing_path", "module_missing", "import_failed"})
"""Kinds of lines that tell of something that was looked for: what is there instead is used."""


def _told_lightly(failure: Failure, graver: Mapping[tuple[int, int], int], ends: Mapping[int, int]) -> bool:
    """Whether a record, no traceback, has a level below that of an error, and nothing graver nor the end stands near below it."""
    record = BELOW_ERROR.match(failure.speaker.text)
    if failure.family != "exception" or record is None or "python_traceback" in failure.kinds:
        return False
    attempt, source, line = failure.place
    if failure.kinds <= LOOKED_FOR and record["level"] in {"DEBUG", "INFO"}:
        return True
    return ends.get(source, 0) - line > LINES_IN_VAIN and graver.get((attempt, source), 0) < line


def _answered(view: RunView, failure: Failure) -> bool:
    """Whether the store that a line failed to reach answered soon after: few such lines, and others follow."""
    if not failure.kinds <= {"store_unreachable", "store_connect_failed"}:
        return False
    _, source, _ = failure.place
    calls = [event.ref.line or 0 for event in view.events("store_unreachable") if event.ref.source == source]
    ends = [end.line for end in view.run.log_ends if end.source == source]
    return bool(calls and ends) and len(calls) < VAIN_CALLS and ends[0] - calls[-1] >= LINES_GONE_ON


def _only_warned(failure: Failure, following: Following, ready: frozenset[tuple[int, int]]) -> bool:
    """Whether it is a warning that NCCL writes on its way to the first communicator, which it then had."""
    _, source, line = failure.place
    had = sorted(at for file, at in ready if file == source)
    if not had or had[0] < line or not any("CCL WARN" in event.text for event in failure.events):
        return False
    below = following.next_line(failure)
    return below is None or below > had[0]


def _passed_in_own_words(view: RunView, failure: Failure, following: Following) -> bool:
    """Whether a line without a traceback says that the program goes on, is a text it works on, or stands above its planned end."""
    if (
        failure.family not in {"exception", "memory", "peers", "device"}
        or "python_traceback" in failure.kinds
    ):
        return False
    _, source, line = failure.place
    if following.next_line(failure) is not None:
        return False
    said = [end.ref.line or 0 for end in view.events("training_completed") if end.ref.source == source]
    table = view.run.metrics
    # A script may say so after a program that never trained, or that a full device ended.
    trained = bool(((table.source == source) & (table.line < line)).any())
    if failure.family in {"exception", "peers"} and trained and max(said, default=0) > line:
        return True
    text = next((event.text for event in failure.events if event.text), "")
    written = bool(said) or any(end.source == source and end.line > line for end in view.run.log_ends)
    goes_on = failure.family != "device" and GOES_ON.search(text)
    return written and bool(goes_on or DATA.match(text))


def _warned_of_something_else(failure: Failure, raised: Mapping[int, Event]) -> bool:
    """Whether a line is a warning, and what its program ended in is an exception that such a warning does not announce."""
    event = raised.get(failure.place[1])
    can_go_on = failure.family == "exception" or failure.kinds <= {"no_accelerator"}
    if not can_go_on or event is None or (event.ref.line or 0) <= failure.place[2]:
        return False
    said = f"{event.fields.get('exception', '')} {event.fields.get('message', '')}"
    text = failure.speaker.text
    return bool(WARNING.search(text) or BELOW_ERROR.match(text)) and not OF_THE_PLATFORM.search(said)


def _hands_on(failure: Failure, waits: frozenset[tuple[int, int]]) -> bool:
    """Whether a line without words of its own, that a task failed or a check, stands below the word that others were lost or waited for."""
    if not failure.kinds <= {"library_kernel_failed", "native_check_failed"} or failure.speaker.fields:
        return False
    above = _above(waits, failure)
    return above > 0 and failure.place[2] - above <= LINES_IN_VAIN


def _places(view: RunView, kind: str) -> frozenset[tuple[int, int]]:
    """Source and line of every event of a kind."""
    return frozenset((event.ref.source, event.ref.line or 0) for event in view.events(kind))


def _above(places: frozenset[tuple[int, int]], failure: Failure) -> int:
    """The last line of some that stands above a failure in its file; 0 if none does."""
    _, source, line = failure.place
    return max((at for file, at in places if file == source and at < line), default=0)


def _skipped(
    failure: Failure, skips: frozenset[tuple[int, int]], following: Following, rows: RowsOfLogs
) -> bool:
    """Whether the trainer says, on the line of a failed allocation or just below it, that it leaves the batch out.

    It was left out in vain where the next thing that the program did was to raise an exception.
    """
    _, source, line = failure.place
    if failure.family != "memory" or not any((source, line + below) in skips for below in range(SKIP_LINES)):
        return False
    raised = following.next_exception(failure)
    return raised is None or raised - line > LINES_IN_VAIN or rows.went_on(source, line)
