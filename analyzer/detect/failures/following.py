"""What fails below a line of a file: the next cause, the end of another program, a cell of a notebook, or nothing for long."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from analyzer.detect.base import RunView
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Integers
from analyzer.model.ranked import distinct_of
from analyzer.model.tables import NULL_INT, Event
from analyzer.record import NamedTuple
from analyzer.vocabulary.events import FAMILIES

if TYPE_CHECKING:
    from analyzer.detect.failures.failure_order import Failure

CAUSES = frozenset(FAMILIES[:6])
"""Families of what can be a cause."""

OF_LAUNCHERS = frozenset(
    {"torchrun_failure", "torchrun_worker_failed", "launcher_exit_code", "launcher_kill"}
)
"""What launchers of several processes write."""

ENDS_OF_CELLS = frozenset({"environment_unsolvable", "keyboard_interrupt"})
"""What stands at the end of a notebook's cell without a traceback: an installer runs in one of its own, a hand ends one."""

CELL_OUTPUT = 20
"""Lines below the error of a notebook's cell that tell of later cells: more than the message of an exception has."""

OF_SCHEDULERS = frozenset({"slurm_cancelled", "job_time_limit", "job_cancelled", "job_preempted"})
"""By what a scheduler says that it ended the job: until then the job ran."""

LEFT_BY_AN_INTERRUPT = frozenset(
    {
        "EOFError",
        "BrokenPipeError",
        "ConnectionResetError",
        "ConnectionAbortedError",
        "ConnectionRefusedError",
    }
)
"""What a process raises whose peer or child got the interrupt before it did."""

_OF_A_JOB = LazyRegex(r"\bline \d{1,6}: {1,4}\d{1,9} [A-Z]")  # what a shell says of a program that it started

_USAGE = ".py: error: "

ON_LOADING = frozenset({"ImportError", "ModuleNotFoundError"})
"""Raised as modules are loaded, before there are rows that could be kept back: those below were printed after it."""


def uncaught(raised: Mapping[str, object]) -> bool:
    """Whether it ended a program that ran, by the frames of its traceback.

    Args:
        raised: Fields of the traceback.
    """
    return raised.get("uncaught") is True and raised.get("exception") not in ON_LOADING


def is_told_after_its_end(first: Failure, second: Failure) -> bool:
    """Whether one of two is told of a program that had ended: by a shell or a launcher, or by who interrupts a job that hangs.

    What was caught, the job went on from; a worker that is gone, or a pipe, may be what the interrupt itself left.
    """
    for told, other in ((first, second), (second, first)):
        crashed = told.family == "device" and "launcher_exit_code" in told.kinds
        if crashed or _OF_A_JOB.search(told.speaker.text):
            return True
        failed = uncaught(other.raised) and "dataloader_worker_killed" not in other.kinds
        if "keyboard_interrupt" in told.kinds and failed:
            return other.raised.get("exception") not in LEFT_BY_AN_INTERRUPT
    return False


def is_usage(failure: Failure) -> bool:
    """Whether it is the last line of the usage that a program printed as it refused its arguments: it ended there."""
    return _USAGE in failure.speaker.text and not failure.raised


def is_unparsed(failure: Failure) -> bool:
    """Whether the interpreter could not even read the program."""
    return str(failure.raised.get("exception", "")).endswith(("SyntaxError", "IndentationError", "TabError"))


class Following:
    """What fails below a line of a file, for any line: a log may hold errors in thousands."""

    def __init__(self, failures: Sequence[Failure], ends: Mapping[int, int]) -> None:
        self._ends = ends
        self._last: dict[tuple[int, int], int] = {}
        self._lines: dict[tuple[int, int], list[int]] = {}
        self._told: dict[tuple[int, int], list[int]] = {}
        self._exceptions: dict[tuple[int, int], list[int]] = {}
        self._last_parsed: dict[tuple[int, int], int] = {}
        self._last_ends: dict[tuple[tuple[int, int], bool, bool], int] = {}
        self._longest: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        self._stopped: dict[tuple[int, int], int] = {}
        self._cells: dict[tuple[int, int], list[int]] = {}
        self._notebooks: set[tuple[int, int]] = set()
        self._is_alone = not any(
            failure.rank is not None or failure.kinds & OF_LAUNCHERS for failure in failures
        )
        for failure in failures:
            file, line = failure.place[:2], failure.place[2]
            self._last[file] = line
            self._told.setdefault(file, []).append(line)
            if failure.kinds & OF_SCHEDULERS:
                self._stopped[file] = line
            in_cell = failure.raised.get("in_cell") is True
            self._notebooks |= {file} if in_cell else set()
            if failure.family not in CAUSES:
                continue
            self._lines.setdefault(file, []).append(line)
            if failure.family == "exception":
                self._exceptions.setdefault(file, []).append(line)
            kind = str(failure.raised.get("exception", ""))
            in_cell = in_cell and failure.raised.get("chained") is not True
            if in_cell or (failure.raised.get("uncaught") is True and not OF_OTHERS.search(kind)):
                self._last_ends[file, in_cell, failure.family == "host"] = line
            if in_cell:
                self._cells.setdefault(file, []).append(line)
            # a host that ends the job starts none, unless the program could tell of it
            if (failure.family != "host" or failure.raised) and not is_unparsed(failure):
                self._last_parsed[file] = line

    def next_line(self, failure: Failure) -> int | None:
        """Line of the next failure of the file that can be a cause."""
        return _after(self._lines.get(failure.place[:2], []), failure.place[2])

    def next_exception(self, failure: Failure) -> int | None:
        """Line of the next exception of the file."""
        return _after(self._exceptions.get(failure.place[:2], []), failure.place[2])

    def longest_gap(self, failure: Failure) -> int:
        """Most lines without a failure, from one on to the last cause of its file or from whatever fails last to the end of the log."""
        file, line = failure.place[:2], failure.place[2]
        told, longest = self._gaps(file)
        at = bisect_right(told, line)
        below = max(told[at] - line, longest[at]) if at < len(told) else 0
        return max(below, self._ends.get(file[1], 0) - self._last[file])

    def _gaps(self, file: tuple[int, int]) -> tuple[list[int], list[int]]:
        """Lines that tell of a failure, to the last cause of a file, and from each on the most lines between two neighbours."""
        if file not in self._longest:
            told = self._told[file][: bisect_right(self._told[file], max(self._lines.get(file, [0])))]
            between = [second - first for first, second in pairwise(told)]
            self._longest[file] = told, [*accumulate([0, *reversed(between)], max)][::-1]
        return self._longest[file]

    def ended_anew(self, failure: Failure) -> bool:
        """Whether a cell of a notebook ended below, or again a program of one process, which nothing but its end prints twice.

        Whoever interrupted one may have interrupted what ran below as well. A line that is no traceback stands above the end of its own cell.
        """
        file, line = failure.place[:2], failure.place[2]
        is_end = bool(failure.raised or failure.kinds & ENDS_OF_CELLS)
        own_end = line if is_end else _after(self._cells.get(file, []), line) or line
        cells = [self._last_ends.get((file, True, host), -1) for host in {False, failure.family != "host"}]
        program = self._last_ends.get((file, False, False), -1)
        return max(cells) > own_end or (
            self._is_alone and (uncaught(failure.raised) or is_usage(failure)) and program > line
        )

    def ran_until_stopped(self, failure: Failure, lines: int) -> bool:
        """Whether the program of one process printed so many lines below, before its scheduler ended the job."""
        file, line = failure.place[:2], failure.place[2]
        below = self._stopped.get(file, line) - line
        return self._is_alone and min(below, self.longest_gap(failure)) > lines

    def later_cells_ran(self, failure: Failure) -> bool:
        """Whether more stands below an exception in a notebook than its message may have; below the heading of one that is cut stands the stack."""
        if failure.place[:2] not in self._notebooks or not failure.raised:
            return False
        return (
            "Traceback (most recent" not in failure.speaker.text and self.longest_gap(failure) > CELL_OUTPUT
        )

    def a_program_ran(self, failure: Failure) -> bool:
        """Whether something fails below that the interpreter could read."""
        return self._last_parsed.get(failure.place[:2], -1) > failure.place[2]


def _after(lines: Sequence[int], line: int) -> int | None:
    """The first of some lines in order that stands below another; None if none does."""
    at = bisect_right(lines, line)
    return lines[at] if at < len(lines) else None


GOES_ON = LazyRegex(
    r"(?i)\b(?:retrying|will retry|skipp(?:ed|ing)\b(?! step)|ignor(?:ed|ing)|falling back|fall back|going on|continuing|attempting to recover"
    r"|proceeding without|halving|restart(?:ed|ing)|respawning)\b|; using\b"
)
"""Words of a program that met a failure and goes on, on the line that reports it."""

DATA = LazyRegex(
    r'(?i)^\W{0,3}(?:prompt|question|answer|input|sample|text|src|source|query|instruction)(?: \d{1,9}| text)?"?\s?[:=|]'
)
"""How a line begins that shows input or output of the program, whatever it contains."""

OF_OTHERS = LazyRegex(
    r"(?:CalledProcessError|ChildFailedError|Process(?:Raised|Exited)Exception|BrokenPipeError|ConnectionResetError|EOFError|Ray\w{0,20}Error"
    r"|ActorDiedError|Dist\w{1,20}Error|SystemExit|KeyboardInterrupt|SignalException)$"
)
"""Exceptions by which one process reports that another ended, or that somebody ended it."""

WARNING = LazyRegex(
    r"\b\w{0,40}Warning: |^\W{0,3}W(?:\d{4})? |: W (?:tensorflow|external)/|\bWARN(?:ING)?\b|^\s{0,40}(?:warnings\.)?warn\("
    r"|failed call to cuInit: "
)
"""How a line is written that its author took for a warning, or that is the code of one; without a device TensorFlow goes on."""

OF_THE_PLATFORM = LazyRegex(
    r"(?i)cuda|cudnn|cublas|gpu|nccl|driver|librar|symbol|import|module|dll|kernel|device|convolution|version|extension|backend|compil"
)
"""Words of an exception that a warning about a library, a device or a driver may have announced."""

BELOW_ERROR = LazyRegex(
    r"^(?:.{0,120}?[\s\[|:-])?(?P<level>DEBUG|INFO|WARN(?:ING)?)[\]\s|:-](?!.{0,80}\bERROR\b)"
)
"""A record of a logger whose level says that it is no error."""


SURVIVED_ROWS = 3
"""Metric rows after an error that show that training went on: one or two may be buffered output, or what a trainer's
writer prints when an exception takes it down (detectron2)."""


WINDOW = SURVIVED_ROWS * 200
"""Metrics after an error among which those rows are looked for; a row holds a hundred at most."""


FIRST_LINES = 60
"""Lines of a traceback and of a few warnings: where nothing else stands above it, all that a program printed may stand below."""


class _Rows(NamedTuple):
    """Rows of one log in order of lines, and what follows each of them: a log may hold as many errors as rows.

    ``known`` are the steps that are known, ``known_before`` how many of them stand before a row; ``least`` is the least
    of a known step and all behind it, ``kinds`` how many different ones these are.
    """

    lines: Integers
    steps: Integers
    known: Integers
    known_before: Integers
    least: Integers
    kinds: Integers


def _rows(lines: Integers, steps: Integers) -> _Rows:
    is_known = steps != NULL_INT
    known = steps[is_known]
    is_last = np.zeros(known.size, dtype=np.int64)
    is_last[known.size - 1 - np.unique(known[::-1], return_index=True)[1]] = 1
    return _Rows(
        lines=lines,
        steps=steps,
        known=known,
        known_before=np.concatenate(([0], np.cumsum(is_known))),
        least=np.minimum.accumulate(known[::-1])[::-1],
        kinds=np.cumsum(is_last[::-1])[::-1],
    )


def _are_several(rows: _Rows, at: int) -> bool:
    """Whether enough different rows stand from a place on."""
    end = at
    for _ in range(SURVIVED_ROWS - 1):
        if end < rows.lines.size:
            end = int(np.searchsorted(rows.lines, rows.lines[end], side="right"))
    if end < min(rows.lines.size, at + WINDOW):
        return True
    # a bar redraws itself within one line of the file: its steps tell the rows apart
    return distinct_of(rows.steps[at : at + WINDOW]).size >= SURVIVED_ROWS


class RowsOfLogs:
    """Lines with metrics and their steps, by source, in order of lines."""

    def __init__(self, view: RunView) -> None:
        table = view.run.metrics
        self._rows: dict[int, _Rows] = {}
        self._completed = {done.ref.source: done.ref.line or 0 for done in view.events("training_completed")}
        ends = (end for end in view.run.log_ends if end.source not in self._completed)
        self._flushed = {end.source: end.flushed for end in ends if end.flushed is not None}
        if not len(table):
            return
        order = np.lexsort((table.line, table.source))
        sources, starts = np.unique(table.source[order], return_index=True)
        lines, steps = np.split(table.line[order], starts[1:]), np.split(table.step[order], starts[1:])
        for source, line, step in zip(sources.tolist(), lines, steps, strict=True):
            self._rows[int(source)] = _rows(line, step)

    def went_on(self, source: int, line: int, *, uncaught: bool = False) -> bool:
        """Whether enough rows follow a line of a file, at later steps or in a launch that began again; one is enough below which training completed.

        Behind an exception that nobody caught they may have been printed before it, and kept back until the process ended.
        """
        if source not in self._rows or (uncaught and self._may_be_flushed(source, line)):
            return False
        rows = self._rows[source]
        at = int(np.searchsorted(rows.lines, line, side="right"))
        over = not uncaught and at < rows.lines.size and rows.lines[at] < self._completed.get(source, 0)
        if not (over or _are_several(rows, at)):
            return False
        after = int(rows.known_before[at])
        if after in {0, rows.known.size}:
            return True
        before = int(rows.known[after - 1])
        if int(rows.least[after]) < before:
            return True
        # nothing behind is less, so all of it is beyond but the step itself
        return int(rows.kinds[after]) - (int(rows.least[after]) == before) >= (1 if over else SURVIVED_ROWS)

    def _may_be_flushed(self, source: int, line: int) -> bool:
        """Whether the rows below a line may have been printed before it: they fill no more than a buffer, and count on.

        So it is not in a log that says that the training completed, nor where training began below the line.
        """
        if line < self._flushed.get(source, line + 1):
            return False
        rows = self._rows[source]
        at = int(np.searchsorted(rows.lines, line, side="right"))
        after = int(rows.known_before[at])
        if not at:
            return line <= FIRST_LINES
        if after in {0, rows.known.size}:
            return not after
        return int(rows.least[after]) >= int(rows.known[after - 1])

    @staticmethod
    def ends(view: RunView, *kinds: str) -> tuple[Event, ...]:
        """Events of some kinds after which training did not go on."""
        rows = view.once(RowsOfLogs)
        return tuple(e for e in view.events(*kinds) if not rows.went_on(e.ref.source, e.ref.line or 0))

    def first_line(self, source: int) -> int | None:
        """The line of a file's first row, if it has any."""
        rows = self._rows.get(source)
        return None if rows is None else int(rows.lines[0])

    def began_below(self, source: int, line: int) -> bool:
        """Whether training began below a line, for the first time or anew: what ended there was another launch, or no training."""
        if not self.went_on(source, line):
            return False
        rows = self._rows[source]
        at = int(np.searchsorted(rows.lines, line, side="right"))
        after = int(rows.known_before[at])
        if after in {0, rows.known.size}:
            return not at or (after == 0 and rows.known.size > 0)
        return int(rows.least[after]) < int(rows.known[after - 1])
