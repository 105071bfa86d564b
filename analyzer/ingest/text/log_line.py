"""What the parsers of single lines share: the line, the state of the log so far, and their contracts.

A ``LineGrammar`` is offered every line that holds one of its literals. For text that spans lines it
begins a ``Capture``, which is then offered *every* line until it ends. Neither reads files: see
``log_reader``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntFlag
from typing import Protocol, runtime_checkable

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.metric_columns import of_held_out
from analyzer.ingest.names import canonical_metric
from analyzer.ingest.points import Points
from analyzer.ingest.text.prefixes import Peeled, peel
from analyzer.ingest.text.rows.epochs_again import Trainings
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Values
from analyzer.model.tables import NULL_INT, Scalar
from analyzer.record import NamedTuple, dataclass, field, replace

# A bar without a title, which is what trainers draw: " 10%|#         | 1400/13792 [12:01<...". Bars of
# datasets and model loading have a title ("Map: 10%|...") and count something else.
BAR = LazyRegex(r"(?:^|[\r\n])[^\S\r\n]{0,300}\d{1,3}%\|[^|\r\n]{0,400}\| {1,3}(\d{1,12})/(\d{1,12}) \[")

_BREAK = re.compile(rb"[\r\n]")
_NAN = float("nan")

_VAGUE = frozenset(
    {"traceback_cut", "weights_only_refused", "config_key_unused", "gpu_driver", "gpu_named", "hostname_warning", "launch_blocking",
     "memlock_warning", "nccl_interface", "nccl_ready", "nccl_transport", "nccl_version", "nccl_warn", "p2p_unavailable",
     "pretrained_loaded", "ranks_meeting", "special_tokens_added", "tf32_unused", "training_begins_again", "training_heading", "weights_newly_initialized"}
)  # fmt: skip
"""Kinds that say that something was refused or cut off, or what a program says while it starts or starts again, and not what ended it."""

MAX_STEP = 1 << 60
"""Larger steps are garbage, and would not fit the table."""

MAX_FIRSTS = 10_000
"""Distinct things remembered as already met; an honest log has a handful."""

CONTEXT_BYTES = 1_200
"""Text that is looked at around a record: two redraws of a wide bar; the line before is within it."""


class Origin(NamedTuple):
    """Where a value stood, for whoever keeps values until the log is complete."""

    number: int  # 1-based line, or record number
    rank: int | None  # global rank that a prefix names
    time_s: float | None  # Unix seconds, None if unknown


class Written(NamedTuple):
    """One value that was written for a line, or, ``summed``, added to what was written before; see ``LogState.point``."""

    name: str
    value: float
    step: int | None
    rank: int | None
    time_s: float | None
    summed: bool = False


@dataclass(slots=True)
class LogLine:
    """One record of a log."""

    number: int  # 1-based line, or record number
    raw: str  # the record without escape sequences, as cited
    block: bytes  # the bytes around it
    start: int  # where the record begins in ``block``
    end: int  # where it ends there
    peeled: Peeled  # message and what its prefixes said
    time_s: float | None  # Unix seconds: of the prefix, else of the container; None if unknown

    @property
    def text(self) -> str:
        """The message without prefixes."""
        return self.peeled.text

    @property
    def rank(self) -> int | None:
        """Global rank that a prefix names."""
        return self.peeled.rank

    def detached(self) -> LogLine:
        """The same line without its surroundings, for whoever keeps lines: a block is a megabyte."""
        return replace(self, block=b"", raw="", start=0, end=0)

    def without_block(self) -> LogLine:
        """The same line with its text, but without its surroundings."""
        return replace(self, block=b"", start=0, end=0)

    def origin(self) -> Origin:
        """What a kept value needs of its line."""
        return Origin(self.number, self.peeled.rank, self.time_s)

    def before(self) -> str:
        """Text that stands before the record, at most about a kilobyte, from the beginning of a record on.

        A record cut at its beginning is another one: "Map: 100%|...| 512/512 [" without its title is the bar of a training.
        """
        low = max(0, self.start - CONTEXT_BYTES)
        if low:
            whole = _BREAK.search(self.block, low, self.start)
            low = whole.end() if whole else self.start
        return self.block[low : self.start].decode("utf-8", "replace")

    def after(self) -> str:
        """Text that follows the record: at most about a kilobyte."""
        return self.block[self.end : self.end + CONTEXT_BYTES].decode("utf-8", "replace")


def make_line(block: bytes, start: int, end: int, number: int, time_s: float | None) -> LogLine:
    """The record between two positions of a block."""
    raw = block[start:end].decode("utf-8", "replace")
    peeled = peel(raw)
    return LogLine(
        number, raw, block, start, end, peeled, peeled.time_s if peeled.time_s is not None else time_s
    )


class Fed(IntFlag):
    """What a capture did with a line."""

    PASSED = 0
    """Left to the others."""
    OWNED = 1
    """Its own: nobody else may look at the line."""
    ENDED = 2
    """The capture is over."""


class Capture(Protocol):
    """Collects the lines of something that spans several."""

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """Take, leave or end at a line."""

    def finish(self, log: LogState) -> None:
        """The log ended, or the capture grew too long, before it was complete."""


class LineReader(Protocol):
    """Reads the lines of one program that are offered to it."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """Read a line; True if it was understood, so that no later grammar is asked."""

    def finish(self, log: LogState) -> None:
        """The log is complete: write what could only be known at its end."""


class LineGrammar(LineReader, Protocol):
    """Reads the lines of one program, and says which ones."""

    @property
    def literals(self) -> tuple[str, ...]:
        """A line is offered if it holds one of these."""


@runtime_checkable
class Curious(Protocol):
    """A grammar that wants more lines than its literals tell."""

    def wants(self, text: str) -> bool:
        """Whether it wants a message that holds none of its literals."""


class WritesAtOnce:
    """A grammar that has nothing left to write when the log is complete."""

    def finish(self, log: LogState) -> None:
        """See ``LineGrammar.finish``."""


class Learnable:
    """A grammar whose rows stand alone: what is written for one follows from its numbers, and from the epoch before."""

    @property
    def rows_stand_alone(self) -> bool:
        """Whether that is so in this log."""
        return True

    def passed(self, rows: int, number: int, step: int | None) -> None:
        """So many of its rows were read in blocks, without it; the last stands at this line and says this step."""


@dataclass
class LogState:
    """What is known about a log while it is read, and where results go."""

    out: SourceWriter  # the writer of the source
    step: int | None = None  # the last step that a line named; a lower bound for what follows
    total_steps: int | None = None  # optimizer steps that the run intends, if the log says so
    epochs: float | None = None  # epochs that it intends
    logging_steps: int | None = None  # steps between two rows of the log, if stated
    held_out: bool = False  # whether the file is named for evaluations
    measures: str = ""  # the metric that the file is named for, if it is named for nothing else
    captures: list[Capture] = field(default_factory=list)  # captures in progress
    last_line: int = 0  # number of the last line that holds something, once the log is complete
    told_line: int = -1  # number of the last line that an event was written for; -1 before the first
    # what was written for the line that is being read, if anybody wants to know
    written: list[Written] | None = None
    trainings: Trainings = field(default_factory=Trainings)  # follows the epochs that it counts
    _first_rank: dict[str, int | None] = field(default_factory=dict)
    _points: dict[tuple[str, int | None], Points] = field(default_factory=dict)
    _sums: dict[tuple[str, int | None], float] = field(default_factory=dict)
    _seen_once: set[tuple[object, ...]] = field(default_factory=set)
    _kinds: set[str] = field(default_factory=set)

    def saw_step(self, step: int) -> None:
        """Note a step that a line named."""
        self.step = step if 0 <= step <= MAX_STEP else None

    def metric(self, name: str, value: float, line: LogLine | Origin, step: int | None) -> None:
        """Write one value.

        The rank that prints a metric first owns its name. The same metric of another rank is kept under
        ``name@rank3``: mixed into one series, the points of several ranks would look like restarts.
        """
        self.point(name, value, step, line.number, line.rank, line.time_s)

    def point(
        self,
        name: str,
        value: float,
        step: int | None,
        number: int,
        rank: int | None,
        time_s: float | None,
        *,
        summed: bool = False,
    ) -> None:
        """Write one value of a line number, a rank and a time; see ``metric``. A ``summed`` one is added to those before."""
        points = self._points.get((name, rank)) or self.points(name, rank)
        known = step if step is not None and 0 <= step <= MAX_STEP else NULL_INT
        if self.written is not None:
            self.written.append(Written(name, value, step, rank, time_s, summed))
        if summed:
            value = self._sums[name, rank] = self._sums.get((name, rank), 0.0) + value
        points.add(known, value, number, _NAN if time_s is None else time_s)

    def summed(self, name: str, rank: int | None, values: Values) -> Values:
        """float64, shape (n_points,): the sums that further values of a metric make; see ``point``."""
        sums: Values = self._sums.get((name, rank), 0.0) + values.cumsum()
        self._sums[name, rank] = float(sums[-1])
        return sums

    def has_curve(self, name: str, rank: int | None) -> bool:
        """Whether a rank has already printed a metric."""
        return (name, rank) in self._points

    def last_step_of(self, name: str, rank: int | None) -> int | None:
        """The step of the newest point of a metric that a rank printed."""
        points = self._points.get((name, rank))
        return points.steps[-1] if points is not None and points.steps else None

    def points(self, name: str, rank: int | None) -> Points:
        """The columns to which the values of a metric go that a rank printed; see ``metric``."""
        points = self._points.get((name, rank))
        if points is None:
            owner = self._first_rank.setdefault(name, rank)
            foreign = rank != owner and rank is not None and owner is not None
            known = of_held_out(name) if self.held_out else name
            points = self.out.points(f"{known}@rank{rank}" if foreign else known, rank)
            self._points[name, rank] = points
        return points

    def event(
        self,
        kind: str,
        role: str,
        line: LogLine,
        fields: Mapping[str, Scalar] | None = None,
        step: int | None = None,
    ) -> None:
        """Write one event; without a step of its own it gets the step that the log had reached."""
        self._kinds.add(kind)
        self.told_line = max(self.told_line, line.number)
        if not self.out.keeps(kind):
            self.out.event(kind, "", role=role, line=line.number)  # only counted
            return
        values = dict(fields or {})
        if line.peeled.host:
            values.setdefault("host", line.peeled.host)
        stated = values.get("step", step)
        if isinstance(stated, int) and not isinstance(stated, bool):
            at: int | None = stated
        else:
            at = self.step_near(line)
        # A prefix names the global rank; a message may number the ranks of a process group.
        rank = values.get("rank") if line.rank is None else line.rank
        self.out.event(
            kind,
            line.raw,
            role=role,
            line=line.number,
            step=at,
            time_s=line.time_s,
            rank=rank if isinstance(rank, int) else None,
            fields=values,
        )

    @property
    def has_points(self) -> bool:
        """Whether any metric was found so far."""
        return bool(self._points)

    def has_steps(self, canonical: str, but: str = "") -> bool:
        """Whether a metric, under any of its names but one, was found with the step that it belongs to."""
        return any(
            points.steps
            and points.steps[-1] != NULL_INT
            and canonical_metric(name) == canonical
            and name != but
            for (name, _), points in self._points.items()
        )

    def has_course(self, canonical: str) -> bool:
        """Whether more than one point of a metric was found, under any of its names."""
        return any(
            len(points.values) > 1 and canonical_metric(name) == canonical
            for (name, _), points in self._points.items()
        )

    @property
    def is_empty(self) -> bool:
        """Whether no metric was found so far, and no event that tells how the program fared (``_VAGUE``)."""
        return self._kinds <= _VAGUE and not self._points

    def step_near(self, line: LogLine) -> int | None:
        """Step of the training bar drawn just before a line, else the last step that a line named."""
        if self.total_steps:
            text = line.before() + line.raw[:CONTEXT_BYTES]
            sign = text.rfind("%|")
            while sign >= 0:
                begin = max(text.rfind("\n", 0, sign), text.rfind("\r", 0, sign), 0)
                bar = BAR.match(text, begin)
                if bar and int(bar[2]) == self.total_steps:
                    done = int(bar[1])
                    return done if done >= (self.step or 0) else self.step
                sign = text.rfind("%|", 0, begin)
        return self.step

    def first(self, *key: object) -> bool:
        """Whether something is met for the first time in this log."""
        if key in self._seen_once:
            return False
        if len(self._seen_once) < MAX_FIRSTS:
            self._seen_once.add(key)
        return True
