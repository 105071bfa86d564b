"""Several launches in one log: a console that every start of a program goes on with.

Steps that begin again are a new launch only if something else says so: the earlier one ended (in words or in an error),
the first line of the log comes again, or the epochs or the learning rate begin again. Else they may be those of the next epoch. Rows that
come a second time to the last digit and second are the same log once more, whatever else they look like. The
last launch is the run; of the earlier ones a line each is kept. One that goes on from a checkpoint belongs to the run,
and so does one that a launcher restarts, or that should have gone on from a checkpoint that its predecessor saved.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Integers, Values
from analyzer.model.run import Run
from analyzer.model.tables import NULL_INT, Event, EventTable
from analyzer.record import NamedTuple, replace

MAX_LAUNCHES = 200
"""More beginnings than that are those of epochs whatever else they look like."""

COPIED = 5
"""Rows that agree in all digits by no accident."""

LINES_OF_A_LAUNCH, LINES_IF_KNOWN = 20, 5
"""Lines that a launch has printed, at least, if it is to be more than words of the one before it; fewer will do where its
first line is known to begin a launch."""

NEARLY = 0.5
"""Part of the lines above the first failure of a launch that the next one has printed at least: the lines of the failure are among them."""

_ENDS = frozenset({"root_candidate", "cascade", "teardown"})
_PARSED = frozenset({"unknown", "required", "names"})
"""Fields of what only a parser of arguments, or of the file they stand in, says; that a value is refused, a later call may say as well."""
_STOPPED = frozenset({"training_completed", "slurm_cancelled", "job_cancelled"})
"""What nothing of the same launch follows; so does an interrupt from the keyboard, which is hardly ever caught to go on."""
HEADING_LINES = 3
"""Lines below a banner, without a row, that are more than the same heading printed by another rank."""
_OF_SEVERAL = frozenset(
    {"torchrun_failure", "torchrun_worker_failed", "launcher_exit_code", "launcher_kill", "mpi_abort"}
)
_REPORTS = ("CalledProcessError", "ChildFailedError", "ProcessRaisedException", "ProcessExitedException")
"""What launchers of several processes write, and raise."""
COMES_AGAIN = 2
"""Launches between which the same line stands: an exception is followed by anything, but hardly twice by the same."""
_GOES_ON = LazyRegex(r"(?i)\b(?:skip|continu|ignor|next\b|proceed|fall(?:ing)? back|retry|trying)")
"""What a program says that has caught an exception and told it."""
_SAME_JOB = frozenset({"elastic_restart", "resume_from_checkpoint"})


class _Rows(NamedTuple):
    """Line, step, value and time of the rows of one log, and their learning rate where it is known."""

    line: Integers
    step: Integers
    value: Values
    time_s: Values
    rate: Values
    epoch: Values


def last_launch(run: Run) -> tuple[Run, tuple[str, ...]]:
    """The run without what earlier launches wrote into its logs, and a sentence for each of those."""
    keep_from: dict[int, int] = {}
    told: list[str] = []
    for end in run.log_ends:
        events = [event for event in run.events if event.ref.source == end.source and event.ref.line]
        rows = _rows_of(run, end.source)
        cuts = _cuts(rows, events, end.begins)
        cuts += _behind_ends(rows, events, max(cuts, default=0))
        cuts += [line for line in _announced(rows, events) if line > max(cuts, default=0)]
        cuts += _under_way(events, end.begins, max(int(rows.line.max(initial=0)), *cuts, 0), end.line)
        if cuts:
            keep_from[end.source] = cuts[-1]
            told += _sentences(run.sources[end.source].path, rows, events, cuts)
    return (_without(run, keep_from), tuple(told)) if keep_from else (run, ())


def _rows_of(run: Run, source: int) -> _Rows:
    """The rows of the metric that a log prints most often with a step."""
    table = run.metrics
    own = np.flatnonzero((table.source == source) & (table.step != NULL_INT))
    none = np.zeros(0, np.int64)
    if not own.size:
        return _Rows(none, none, *[np.zeros(0)] * 4)
    counts = np.bincount(table.metric[own], minlength=len(table.names))
    main = own[table.metric[own] == int(counts.argmax())]
    main = main[np.argsort(table.line[main], kind="stable")]
    line = table.line[main]
    return _Rows(
        line,
        table.step[main],
        table.value[main],
        table.time_s[main],
        _beside(run, source, "learning_rate", line),
        _beside(run, source, "epoch", line),
    )


def _beside(run: Run, source: int, metric: str, line: Integers) -> Values:
    """Values of another metric on some lines; NaN where there is none."""
    found = run.metrics.series(metric, {source})
    values = np.full(line.size, np.nan)
    if found is not None:
        at = {int(number): float(value) for number, value in zip(found.line, found.value, strict=True)}
        values = np.array([at.get(int(number), np.nan) for number in line])
    return values


def _cuts(rows: _Rows, events: Sequence[Event], begins: Sequence[int]) -> list[int]:
    """Lines at which a launch begins that starts from scratch, ascending."""
    cuts = _before_rows(rows, events, begins)
    step = rows.step
    spoken = {event.ref.line for event in events}
    heads = _heads_epochs(rows, begins)
    begins = [line for line in begins if line not in spoken]  # what reports something is no banner
    if not rows.line.size:
        return _failed_at_once(events, begins)
    anew = step[1:] <= step[:1]
    falls = (np.diff(step) < 0) & anew
    if np.count_nonzero(falls) > MAX_LAUNCHES:
        return []
    if heads:
        begins = []
    known = np.searchsorted(np.array(begins, np.int64), rows.line)
    resets = (np.flatnonzero(falls | (anew & (np.diff(step) == 0) & (np.diff(known) > 0))) + 1).tolist()
    bounds = [0, *resets, step.size]
    for number, at in enumerate(resets):
        low, high = int(rows.line[at - 1]), int(rows.line[at])
        between = [event for event in events if low < (event.ref.line or 0) <= high]
        if rows.epoch[at] > rows.epoch[at - 1] or any(event.kind in _SAME_JOB for event in between):
            continue
        ended = _ended(between)
        banners = [line for line in begins if max(low, ended) < line < high]
        again = _comes_again(rows, bounds[number], at, bounds[number + 2])
        if not (ended or banners or again or _rate_begins_again(rows, at)):
            continue
        begin = banners[0] if banners else max(low, ended) + 1
        if again or not _should_resume(events, cuts[-1] if cuts else 0, begin):
            cuts.append(begin)
    return [*cuts, *_without_rows(int(rows.line[-1]), events, begins)]


def _failed_at_once(events: Sequence[Event], begins: Sequence[int]) -> list[int]:
    """Where launches begin that failed one after another without a row that counts steps, or behind one that somebody stopped.

    Ranks that begin with the same line print it together, before the first of them fails. One behind the last failure
    counts where it completed: a banner that a program prints as it ends begins nothing.
    """
    stopped = [event.ref.line or 0 for event in events if event.kind == "keyboard_interrupt"]
    if again := [line for before, line in pairwise([0, *begins]) if _any_within(stopped, before, line)]:
        return again
    raised = [event.ref.line or 0 for event in events if event.kind == "python_traceback"]
    if not raised or any(line < raised[0] for line in begins):
        return []
    done = max((event.ref.line or 0 for event in events if event.kind == "training_completed"), default=0)
    return [line for line in begins if line < max(raised[-1], done)]


def _behind_ends(rows: _Rows, events: Sequence[Event], behind: int) -> list[int]:
    """Where launches begin below exceptions that ended programs of one process, of which the first line of the log tells nothing.

    One and the same line stands below two of them, or more, so it begins or closes every launch; and something is printed
    before the next one ends. A script that prints what it caught and goes on leaves the same picture, so something must
    say that a program began, or ended. Where several processes write, one of them may end while the others go on.
    """
    if any(event.rank is not None or event.kind in _OF_SEVERAL for event in events):
        return []
    raised = [event for event in events if event.kind == "python_traceback"]
    if any(str(event.fields.get("exception", "")).endswith(_REPORTS) for event in raised):
        return []
    ended = [event for event in raised if event.fields.get("below")]
    times = Counter(event.fields["below"] for event in ended)
    ended = [event for event in ended if times[event.fields["below"]] >= COMES_AGAIN]
    if len(ended) > MAX_LAUNCHES:
        return []
    headers = sorted(map(_header, raised))
    same_job = sorted(event.ref.line or 0 for event in events if event.kind in _SAME_JOB)
    starts = _starts(events)
    cuts: list[int] = []
    for first in ended:
        begin = (first.ref.line or 0) + str(first.fields.get("message", "")).count("\n") + 1
        second = next(iter(headers[bisect_left(headers, begin) :]), 0)
        if begin <= behind or second - begin < LINES_IF_KNOWN or _GOES_ON.search(str(first.fields["below"])):
            continue
        if (
            _begins(rows, first, begin, second, starts)
            and not _any_within(same_job, begin, second)
            and not _should_resume(events, max(cuts, default=0), begin)
        ):
            cuts.append(begin)
    return cuts


def _header(event: Event) -> int:
    """Line at which the traceback of an exception begins that ended a program; 0 for one that did not."""
    line = event.fields.get("header_line")
    return line if isinstance(line, int) else 0


def _starts(events: Sequence[Event]) -> list[int]:
    """Lines that a program prints as it starts: a refusal of its arguments, a heading of a training that was told before."""
    told: dict[tuple[object, object], int] = {}
    lines: list[int] = []
    for event in events:
        line = event.ref.line or 0
        if event.kind == "training_heading":
            known = told.setdefault((event.fields.get("number"), event.fields.get("setting")), line)
            lines += [line] if known < line else []
        elif event.kind == "argument_rejected" and _PARSED & event.fields.keys():
            lines.append(line)
    return sorted(lines)


def _begins(rows: _Rows, first: Event, begin: int, end: int, starts: Sequence[int]) -> bool:
    """Whether a program ended for certain above two lines, or began for certain between them.

    Of rows that nothing follows nobody knows whether they are those of an earlier launch, unless somebody stopped it: of
    all exceptions, that one is hardly ever caught to go on.
    """
    low, high = (int(at) for at in np.searchsorted(rows.line, (begin, end)))
    if 0 < low < high and rows.step[low] > rows.step[low - 1]:
        return False
    if _is_interrupt(first):
        return True
    begins_again = 0 < low < high or _any_within(starts, begin, end)
    return begins_again and (low == 0 or low < rows.line.size)


def _any_within(lines: Sequence[int], begin: int, end: int) -> bool:
    """Whether one of some ascending lines stands between two."""
    at = bisect_left(lines, begin)
    return at < len(lines) and lines[at] < end


def _under_way(events: Sequence[Event], begins: Sequence[int], behind: int, end: int) -> list[int]:
    """Where a launch begins that had not ended when the log was read: the log's first line comes again behind all that failed.

    That line must have begun a launch before, between two failures, or nearly as much must follow as the one that failed
    had printed: a banner that a program prints as it ends begins nothing.
    """
    failed = [
        event.ref.line or 0 for event in events if event.role in _ENDS or event.kind == "python_traceback"
    ]
    if not failed:
        return []
    marks = [line for line in begins if line > max(*failed, behind)]
    began_before = any(min(failed) < line < max(failed) for line in begins)
    if not marks or (not began_before and min(begins) < min(failed)):
        return []
    enough = LINES_IF_KNOWN if began_before else max(LINES_OF_A_LAUNCH, int(NEARLY * min(failed)))
    return marks[-1:] if end - marks[-1] >= enough else []


def _before_rows(rows: _Rows, events: Sequence[Event], begins: Sequence[int]) -> list[int]:
    """Where the first launch that logs rows begins, if one above it failed before it had any."""
    ended = [event.ref.line or 0 for event in events if event.role in _ENDS]
    first = int(rows.line[0]) if rows.line.size else 0
    return [line for line in begins if line < first and any(end < line for end in ended)][-1:]


def _heads_epochs(rows: _Rows, begins: Sequence[int]) -> bool:
    """Whether what stands below each banner reaches the same step, but for the last, as epochs do that begin with a heading."""
    edges = [0, *np.searchsorted(rows.line, begins).tolist(), rows.step.size]
    reached = [int(rows.step[low:high].max(initial=-1)) for low, high in pairwise(edges)]
    lines = [1, *begins]
    tall = [low + HEADING_LINES < high for low, high in pairwise(lines)]
    told = {last for last, is_tall in zip(reached, tall, strict=False) if last >= 0 or is_tall}
    several = sum(last >= 0 for last in reached) > 1
    return several and len(told) == 1 and reached[-1] <= max(told)


def _without_rows(last: int, events: Sequence[Event], begins: Sequence[int]) -> list[int]:
    """Where a launch begins that failed before its first row, behind one that was over.

    A parser refuses its arguments before anything else is done, so what it says begins a launch too.
    """
    behind = [event for event in events if (event.ref.line or 0) > last]
    refused = [
        (event.ref.line or 0) - 1
        for event in behind
        if event.kind == "argument_rejected" and _PARSED & event.fields.keys()
    ]
    failed = max((event.ref.line or 0 for event in behind if event.role in _ENDS), default=0)
    marks = sorted(line for line in [*begins, *refused] if last < line < failed)
    over = [event.ref.line or 0 for event in behind if event.kind in _STOPPED or _is_interrupt(event)]
    stopped = max((line for line in over if marks and line < marks[-1]), default=0)
    return [line for line in marks if line > stopped][:1] if stopped else []


def _is_interrupt(event: Event) -> bool:
    """Whether an event is the interrupt key that ended the program."""
    return event.kind == "python_traceback" and event.fields.get("exception") == "KeyboardInterrupt"


def _announced(rows: _Rows, events: Sequence[Event]) -> list[int]:
    """Where a launch begins that a shell's prompt or a tracker announces, if the one before it ended in an error.

    Several processes announce their runs each, and one of them may go on while another has ended.
    """
    if any(event.rank is not None or event.kind in _OF_SEVERAL for event in events):
        return []
    cuts: list[int] = []
    marks = [event for event in events if event.kind == "launch_announced"]
    same_job = sorted(event.ref.line or 0 for event in events if event.kind in _SAME_JOB)
    for number, mark in enumerate(marks):
        line = mark.ref.line or 0
        before = max(cuts, default=0)
        ended = _ended(
            event for event in events if before <= (event.ref.line or 0) < line and event.role in _ENDS
        )
        following = (
            marks[number + 1].ref.line or 0
            if number + 1 < len(marks)
            else int(rows.line.max(initial=line)) + 1
        )
        begins = (
            line
            if mark.fields.get("command")
            else max(ended, int(rows.line[rows.line < line].max(initial=0))) + 1
        )
        if ended and not _any_within(same_job, line, following) and not _should_resume(events, before, line):
            cuts.append(begins)
    return cuts


def _comes_again(rows: _Rows, before: int, at: int, end: int) -> bool:
    """Whether the rows of a part are those of the part before it to the last digit and second.

    Without time stamps nobody can tell: weights that never change give the same losses in every epoch.
    """
    count = end - at
    if not COPIED <= count <= at - before or np.isnan(rows.time_s[at:end]).any():
        return False
    return all(
        np.array_equal(column[before : before + count], column[at:end], equal_nan=True)
        for column in (rows.time_s, rows.step, rows.value)
    )


def _ended(events: Iterable[Event]) -> int:
    """Line of the last word of a launch; 0 if there is none."""
    ends = [
        event.ref.line or 0
        for event in events
        if event.role in _ENDS or event.kind in {"training_completed", "python_traceback"}
    ]
    return max(ends, default=0)


def _rate_begins_again(rows: _Rows, at: int) -> bool:
    """Whether the learning rate jumps back to the one of the first row."""
    first, before, now = rows.rate[0], rows.rate[at - 1], rows.rate[at]
    return bool(np.isclose(now, first, rtol=0.01) and not np.isclose(before, first, rtol=0.05))


def _should_resume(events: Sequence[Event], begin: int, end: int) -> bool:
    """Whether a launch saved a checkpoint and did not complete: the next one should have gone on from there."""
    own = [event for event in events if begin <= (event.ref.line or 0) < end]
    saved = any(event.kind == "checkpoint_saved" for event in own)
    return saved and not any(event.kind == "training_completed" for event in own)


def _sentences(path: str, rows: _Rows, events: Sequence[Event], cuts: Sequence[int]) -> list[str]:
    """What became of each earlier launch."""
    told = []
    for number, (begin, end) in enumerate(zip([1, *cuts[:-1]], cuts, strict=True), start=1):
        steps = rows.step[(rows.line >= begin) & (rows.line < end)]
        reached = f"reached step {int(steps.max())}" if steps.size else "logged no step"
        own = [event for event in events if begin <= (event.ref.line or 0) < end]
        failure = next((event for event in own if event.role in _ENDS), None)
        if any(event.kind == "training_completed" for event in own):
            how = "completed"
        elif failure is not None:
            raised = failure.fields.get("exception")
            how = f"failed ({str(raised).rpartition('.')[2] if raised else failure.kind.replace('_', ' ')})"
        else:
            how = "no word about its end"
        told.append(f"launch {number} ({path}, lines {begin} to {end - 1}): {reached}, {how}")
    return told


def _without(run: Run, keep_from: dict[int, int]) -> Run:
    """The run without what stands above a line of some sources."""
    table = run.metrics
    limit = np.zeros(len(run.sources), np.int64)
    for source, line in keep_from.items():
        limit[source] = line
    kept = (table.line == 0) | (table.line >= limit[table.source])
    columns = {
        name: getattr(table, name)[kept]
        for name in ("metric", "raw", "step", "time_s", "value", "rank", "attempt", "source", "line")
    }
    events = tuple(
        event
        for event in run.events
        if event.ref.line is None or event.ref.line >= keep_from.get(event.ref.source, 0)
    )
    ends = tuple(
        end._replace(errors=tuple(error for error in end.errors if error[0] >= keep_from.get(end.source, 0)))
        for end in run.log_ends
    )
    return replace(run, metrics=replace(table, **columns), events=EventTable(events), log_ends=ends)
