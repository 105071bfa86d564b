"""What an ingestor is, and the only writer of a run's tables.

An ingestor recognises a file by its content (``sniff``) and reads it (``read``) into a ``SourceWriter``.
It never raises for half a file: it keeps the good rows and records a gap. It never reads outside
``OpenSource``, which bounds size and decompression and does not follow links out of the run directory.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import IO, Protocol, cast, runtime_checkable

import numpy as np

from analyzer.errors import UnreadableFileError
from analyzer.ingest import limits, progress
from analyzer.ingest.builder import MAX_NAME, NULL_RANK, Block, RunBuilder
from analyzer.ingest.limits import METRIC_NAMES
from analyzer.ingest.masking import clean_text, mask_value
from analyzer.ingest.points import Points
from analyzer.model.arrays import Integers, Values
from analyzer.model.config import ConfigScalar, ConfigValue
from analyzer.model.refs import SourceRef
from analyzer.model.replay import Row
from analyzer.model.run import Attempt, Layout, LogEnd, TensorRows
from analyzer.model.tables import NULL_INT, Event, Scalar
from analyzer.model.traces import FlightDump, OperatorShapes, TimeTrace
from analyzer.record import NamedTuple, dataclass
from analyzer.vocabulary.config import canonical_key
from analyzer.vocabulary.frameworks import framework_of

DIARIES = ("debug-core.log", "debug-internal.log")
"""Diaries that the client of W&B keeps of itself: they hold objects, and none that a reader takes."""

HEAD_BYTES = 65_536
"""Bytes that ``sniff`` sees; every format of the survey shows itself within them."""

MAX_EXPANDED_BYTES = 8 * 1024**3
"""Decompressed bytes read from one file. Real logs compress 20:1 at best; a bomb reaches 1000:1."""


MAX_EVENTS_PER_KIND = 20_000
"""Events of one kind kept per source: a run of 20,000 overflow lines is told as well as one of a million."""

MAX_CONFIG_INTEGER = 1 << 63
"""Larger whole numbers are no setting of any library; they are kept as text, because no float holds some of them."""


class Match(IntEnum):
    """How sure an ingestor is that a file is its own; the highest wins, ties go by name."""

    NO = 0
    MAYBE = 1
    LIKELY = 2
    SURE = 3


class Candidate(NamedTuple):
    """A file that might belong to an ingestor."""

    path: Path  # absolute path
    name: str  # path relative to the run's root, with ``/``
    size_bytes: int  # size on disk
    head: bytes  # the first 64 KiB, decompressed if the file is gzip or zstd
    compression: str = ""  # ``gzip``, ``zstd`` or empty


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A file handed to ``read``: its candidate, its index in the run, and safe ways to open it."""

    candidate: Candidate
    index: int

    @property
    def path(self) -> Path:
        """Absolute path."""
        return self.candidate.path

    @property
    def name(self) -> str:
        """Path relative to the run's root."""
        return self.candidate.name

    def open(self) -> IO[bytes]:
        """Open for reading bytes, decompressing gzip and zstd on the fly.

        Raises:
            UnreadableFileError: The file cannot be opened.
        """
        try:
            stream = self._open()
        except OSError as error:
            raise UnreadableFileError(f"{self.name}: cannot be opened ({error.strerror or error})") from error
        progress.begin_file(self.name, stream)
        return stream

    def _open(self) -> IO[bytes]:
        if self.candidate.compression == "gzip":
            import gzip  # noqa: PLC0415

            return cast("IO[bytes]", gzip.open(self.path, "rb"))
        if self.candidate.compression == "zstd":
            return _open_zstd(self.path)
        return self.path.open("rb")

    def chunks(self, size_bytes: int = 1 << 20) -> Iterator[bytes]:
        """Blocks of the decompressed file; ends early, with ``TruncatedSourceError``, on a damaged archive."""
        total = 0
        budget = limits.CURRENT.budget
        budget.open_file(self.candidate.size_bytes, compressed=bool(self.candidate.compression))
        with self.open() as stream:
            # A file that somebody goes on writing is read up to where it ended when it was opened: no reading is endless.
            end = MAX_EXPANDED_BYTES + 1 if self.candidate.compression else os.fstat(stream.fileno()).st_size
            while total < end:
                if reason := budget.spent():
                    raise TruncatedSourceError(reason)
                block, reason = _read_block(stream, min(size_bytes, end - total))
                if block:
                    yield block
                if reason:
                    raise TruncatedSourceError(reason)
                if not block and not self.candidate.compression:
                    raise TruncatedSourceError(
                        f"it became shorter while it was read: {total} of {end} bytes were there"
                    )
                if not block:
                    return
                total += len(block)
                if total > MAX_EXPANDED_BYTES:
                    raise TruncatedSourceError(f"more than {MAX_EXPANDED_BYTES} bytes after decompression")


class TruncatedSourceError(Exception):
    """Inside ingest only: the rest of a source cannot be read. Becomes a gap."""


def _read_block(stream: IO[bytes], size_bytes: int) -> tuple[bytes, str]:
    """The next block, and why nothing follows it; what a torn archive still inflates to is in the block."""
    read_some = getattr(stream, "read1", stream.read)
    parts: list[bytes] = []
    missing = size_bytes
    while missing > 0:
        try:
            part = read_some(missing)
        except (EOFError, OSError, zlib.error) as error:
            return b"".join(parts), str(error)
        except Exception as error:
            if type(error).__name__ != "ZstdError":  # importing zstandard for its name would cost 10 ms
                raise
            return b"".join(parts), str(error)
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts), ""


def _open_zstd(path: Path) -> IO[bytes]:
    import zstandard  # noqa: PLC0415  (rare format; 10 ms)

    reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
        path.open("rb"), closefd=True, read_across_frames=True
    )
    return cast("IO[bytes]", reader)


def _step_array(steps: Integers | Sequence[int | None] | None, count: int) -> Integers:
    if steps is None:
        return np.full(count, NULL_INT, np.int64)
    if isinstance(steps, np.ndarray):
        return steps.astype(np.int64, copy=False)
    return np.fromiter((NULL_INT if step is None else step for step in steps), np.int64, count=len(steps))


class SourceWriter:
    """What an ingestor writes into, bound to one source.

    Names of metrics and keys are given as the logger wrote them; the builder maps them to canonical
    names and keeps the original.
    """

    __slots__ = ("_builder", "source")

    def __init__(self, builder: RunBuilder, source: int) -> None:
        self._builder = builder
        self.source = source

    def metrics(
        self,
        name: str,
        *,
        steps: Integers | Sequence[int | None] | None,
        values: Values | Sequence[float],
        lines: Integers | Sequence[int] | None = None,
        times_s: Values | Sequence[float] | None = None,
        rank: int | None = None,
        step_unit: str = "step",
    ) -> None:
        """Append points of one metric.

        Args:
            name: Name as logged.
            steps: int64, shape (n_points,); None entries or a None array mean that no step was logged.
            values: float64, shape (n_points,), NaN and infinities as logged.
            lines: 1-based line or record numbers, shape (n_points,).
            times_s: unix seconds, shape (n_points,), NaN where unknown.
            rank: Global rank, None if reduced.
            step_unit: ``step``, ``samples`` (divided by the global batch size once that is known) or
                ``epoch`` (kept as a metric without a step).
        """
        value_array = np.asarray(values, dtype=np.float64)
        count = value_array.size
        arrays = (
            _step_array(steps, count),
            value_array,
            np.zeros(count, np.int64) if lines is None else np.asarray(lines, np.int64),
            np.full(count, np.nan) if times_s is None else np.asarray(times_s, np.float64),
        )
        if any(column.shape != (count,) for column in arrays):
            raise ValueError(f"columns of {name!r} differ in length")
        block = Block(self.source, clean_text(name, MAX_NAME), arrays, rank, step_unit)
        self._builder.blocks.append(block)

    def metric(
        self,
        name: str,
        value: float,
        *,
        step: int | None = None,
        line: int = 0,
        time_s: float | None = None,
        rank: int | None = None,
    ) -> None:
        """Append one point."""
        self.points(name, rank).add(
            NULL_INT if step is None else step, value, line, float("nan") if time_s is None else time_s
        )

    @property
    def has_metrics(self) -> bool:
        """Whether a point of this source was written."""
        blocks = self._builder.blocks
        return self.source in self._builder.names_of or any(block.source == self.source for block in blocks)

    def points(self, name: str, rank: int | None = None) -> Points:
        """The growing columns of a metric, for whoever appends many points: see ``Points.add``."""
        key = (self.source, name, NULL_RANK if rank is None else rank)
        points = self._builder.columns.get(key)
        if points is None:
            names_of = self._builder.names_of
            names = names_of[self.source] = names_of.get(self.source, 0) + 1
            if names > METRIC_NAMES:
                if names == METRIC_NAMES + 1:
                    self._builder.add_gap(
                        f"only the first {METRIC_NAMES} metric names are kept", source=self.source
                    )
                return Points()  # what is written into it is ignored
            points = self._builder.columns[key] = Points()
        return points

    def event(
        self,
        kind: str,
        text: str,
        *,
        role: str,
        line: int | None = None,
        step: int | None = None,
        time_s: float | None = None,
        rank: int | None = None,
        fields: Mapping[str, Scalar] | None = None,
    ) -> None:
        """Append one event; the text is cleaned of control characters, masked and cut to 2 KiB."""
        counts, events = self._builder.event_counts, self._builder.events
        count = counts.get((self.source, kind), 0)
        counts[self.source, kind] = count + 1
        if count >= MAX_EVENTS_PER_KIND:
            if count == MAX_EVENTS_PER_KIND:
                reason = f"only the first {MAX_EVENTS_PER_KIND} {kind} lines are kept"
                self._builder.add_gap(reason, source=self.source, line=line)
            return
        safe = {
            name: clean_text(value) if isinstance(value, str) else value
            for name, value in (fields or {}).items()
        }
        ref = SourceRef(self.source, line)
        events.append(Event(kind, role, clean_text(text), ref, step, time_s, rank, 0, safe, len(events)))

    def keeps(self, kind: str) -> bool:
        """Whether a further event of a kind would be kept; of too many only the first ones are."""
        return self._builder.event_counts.get((self.source, kind), 0) < MAX_EVENTS_PER_KIND

    def config(
        self,
        key: str,
        value: ConfigScalar,
        *,
        framework: str,
        layer: str = "file",
        line: int | None = None,
        raw: str | None = None,
    ) -> None:
        """Record one configured value under the dotted key that the framework uses."""
        if isinstance(value, int) and abs(value) > MAX_CONFIG_INTEGER:
            value = raw or (
                "a number of more than 20 digits" if value > 0 else "a negative one of more than 20 digits"
            )
        key = clean_text(key, MAX_NAME)
        raw_text = clean_text(str(value) if raw is None else raw, 512)
        value, raw_text = mask_value(
            key, clean_text(value, 512) if isinstance(value, str) else value, raw_text
        )
        entry = ConfigValue(value, raw_text, key, layer, SourceRef(self.source, line), framework)
        self._builder.config.append((canonical_key(framework, key), entry))

    def framework(self, name: str) -> None:
        """Note that the run uses a framework, for example ``deepspeed``."""
        self._builder.frameworks.add(framework_of(name))

    def gap(
        self, reason: str, *, line: int | None = None, rows_lost: int | None = None, evidence: bool = False
    ) -> None:
        """Record something that could not be read; ``evidence`` if it may have told how the run went."""
        self._builder.add_gap(reason, source=self.source, line=line, rows_lost=rows_lost, evidence=evidence)

    def tensor(self, rows: TensorRows) -> None:
        """Append what was measured on one tensor of a checkpoint."""
        self._builder.tensors.append(rows)

    def replay(self, row: Row, *, line: int = 0) -> None:
        """Append one tensor event; see ``REPLAY_COLUMNS``. Absent or None is unknown, never 0."""
        self._builder.replay.add(self.source, line, row)

    def collective(self, row: Row, *, line: int = 0) -> None:
        """Append one collective of one rank; see ``COMM_COLUMNS``."""
        self._builder.collectives.add(self.source, line, row)

    def flight(self, dump: FlightDump) -> None:
        """Append the dump of one rank's flight recorder; its collectives go to ``collective``."""
        self._builder.flight.append(dump)

    def timing(self, trace: TimeTrace) -> None:
        """Append the summary of one rank's timing trace."""
        self._builder.timings.append(trace)

    def operator_shapes(self, shapes: OperatorShapes) -> None:
        """Append what one execution trace says about the inputs of operators."""
        self._builder.operator_shapes.append(shapes)

    def log_end(self, end: LogEnd) -> None:
        """Note where a text log begins and stops; its texts are cleaned and masked."""
        text, words, after = (clean_text(part, 512) for part in (end.text, end.last_words, end.afterwards))
        self._builder.log_ends.append(end._replace(text=text, last_words=words, afterwards=after))

    def spend_trace_bytes(self, size_bytes: int) -> int:
        """Count bytes of timing traces read for this run; the sum so far, for a limit over all files."""
        self._builder.trace_bytes += size_bytes
        return self._builder.trace_bytes

    def layout(
        self,
        *,
        world_size: int | None = None,
        gpus: int | None = None,
        gpu_name: str | None = None,
        host: str | None = None,
        line: int | None = None,
    ) -> None:
        """Note hardware and ranks; the first statement of each kind is kept, the largest world size wins."""
        old = self._builder.layout
        self._builder.layout = Layout(
            world_size=max(filter(None, (old.world_size, world_size)), default=None),
            gpus=max(filter(None, (old.gpus, gpus)), default=None),
            gpu_name=old.gpu_name or (clean_text(gpu_name, 128) if gpu_name else None),
            host=old.host or (clean_text(host, 128) if host else None),
            ref=old.ref or (SourceRef(self.source, line) if gpu_name else None),
        )

    def attempt(
        self,
        label: str,
        *,
        start_s: float | None = None,
        end_s: float | None = None,
        exit_code: int | None = None,
    ) -> None:
        """State when the launch that wrote this source began and ended, and how."""
        stated = Attempt(0, clean_text(label, 200), start_s, end_s, exit_code, (self.source,))
        self._builder.attempts[self.source] = stated

    def loss_window(self, steps: int) -> None:
        """State that each loss in this source is a mean over ``steps`` steps."""
        self._builder.loss_windows[self.source] = steps


@runtime_checkable
class Reader(Protocol):
    """Reads one format."""

    def sniff(self, candidate: Candidate) -> Match:
        """How sure the reader is that the file is its own."""

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read the file; keep what is good, record a gap for the rest; raise only ``UnreadableFileError``."""


@runtime_checkable
class Ingestor(Reader, Protocol):
    """A reader and what is said of it; of a built-in one the table in ``registry.py`` says it.

    ``name`` is its id, ``summary`` one line for reports, ``is_log`` whether its files tell the course of a
    run (a log) or only describe it (configuration, checkpoint).
    """

    name: str
    summary: str
    is_log: bool
