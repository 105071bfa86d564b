"""A run: everything that was read, after which nobody needs to know which logger wrote it."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.model.config import ConfigFacts
from analyzer.model.refs import Gap, SourceFile, SourceRef
from analyzer.model.replay import CommTable, ReplayTable
from analyzer.model.tables import EventTable, MetricTable
from analyzer.model.traces import FlightDump, OperatorShapes, TimeTrace
from analyzer.record import NamedTuple, dataclass, field


class Layout(NamedTuple):
    """Where the run ran. None means that nothing on disk says so.

    Attributes:
        world_size: Number of ranks.
        gpus: Number of GPUs seen.
        gpu_name: Marketing name as a log or metadata file gives it, for example ``Tesla T4``.
        host: Host name of the first rank.
        ref: Where the GPU was named.
    """

    world_size: int | None = None
    gpus: int | None = None
    gpu_name: str | None = None
    host: str | None = None
    ref: SourceRef | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One launch of the job; a restarted job has several.

    Attributes:
        index: 0-based, in order of start.
        label: How the user can recognise it, for example a W&B run id or an event file's time.
        start_s: Unix seconds of the first record, if known.
        end_s: Unix seconds of the last record, if known.
        exit_code: Exit code if one was recorded, negative for a signal.
        sources: Indices of the files that belong to the attempt.
    """

    index: int
    label: str
    start_s: float | None = None
    end_s: float | None = None
    exit_code: int | None = None
    sources: tuple[int, ...] = ()


class LogEnd(NamedTuple):
    """How far a text log goes by its own counters and clocks, from its first and last lines.

    Attributes:
        source: Index of the file.
        line: Number of its last line.
        text: That line.
        torn: Whether it has no line break: the writer was stopped within it, or the copy was.
        cut_off: Whether it stops within a row, within a count or below the heading of an epoch: the writer had more to say.
        first_time_s: First time of day with a date, in Unix seconds as if in UTC unless a zone is written.
        last_time_s: Last one.
        interval_s: Median distance of the times near the end.
        epoch: Last epoch that a counter shows.
        epochs: Epochs that the counter goes to (``6`` of ``400``).
        first_epoch: First epoch that is shown, 0 or 1 in a log that begins at its beginning.
        last_epoch: Last epoch that is shown, also by a counter that does not say where it goes to.
        step: Last step of a counter over the whole training.
        steps: Steps that it goes to.
        within_epoch: How much of the last epoch is done, 0 to 1, by a counter that begins again in each epoch.
        epoch_done: Whether the last epoch was trained to its end, by what closed the epoch before it and by its length; None
            if nothing tells it.
        last_words: Line near the end that says that the program is done; empty if there is none.
        afterwards: Line behind the last counter that reports a test or a final score; empty if there is none.
        begins: Numbers of the lines on which the first line of the log comes again, the counters set aside: further
            launches of the program, unless it is a line that every epoch repeats.
        errors: Numbers and texts of the last lines that read like errors, and of the last frames of tracebacks.
        last_lines: Numbers and texts of the last lines of a log in which nothing reads like an error.
        flushed: Number of the first line of what may be the last buffer that was written as the process ended.
    """

    source: int
    line: int
    text: str
    torn: bool
    cut_off: bool = False
    first_time_s: float | None = None
    last_time_s: float | None = None
    interval_s: float | None = None
    epoch: int | None = None
    epochs: int | None = None
    first_epoch: int | None = None
    last_epoch: int | None = None
    step: int | None = None
    steps: int | None = None
    within_epoch: float | None = None
    epoch_done: bool | None = None
    last_words: str = ""
    afterwards: str = ""
    begins: tuple[int, ...] = ()
    errors: tuple[tuple[int, str], ...] = ()
    last_lines: tuple[tuple[int, str], ...] = ()
    flushed: int | None = None


class TensorRows(NamedTuple):
    """What was measured on one tensor of a checkpoint, in float64 over finite elements.

    Attributes:
        name: Name in the checkpoint, for example ``model.embed_tokens.weight``.
        dtype: Stored type in lower case without prefix: float32, float16, bfloat16, …
        shape: Sizes, for example (32000, 4096).
        nonfinite: Number of NaN or infinite elements.
        row_rms: Row index to root mean square, for the rows that were asked for; empty unless an embedding.
        median_row_rms: Median root mean square over all rows that are not special; None unless an embedding.
        row_names: Row index to token text, for special tokens.
        ref: The checkpoint file.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    nonfinite: int
    ref: SourceRef
    row_rms: Mapping[int, float] = {}
    median_row_rms: float | None = None
    row_names: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Run:
    """One run as read from disk, or several attempts of it.

    Attributes:
        id: Stable: hash of source names, sizes and heads.
        root: Path or URL that the user gave.
        frameworks: Names such as hf-trainer, deepspeed, mmengine, found by the ingestors.
        sources: Every file considered part of the run.
        metrics: Logged scalars.
        events: Recognised log lines.
        config: Configuration facts.
        layout: Hardware and ranks.
        attempts: Launches, in order; at least one if anything was read.
        tensors: Checkpoint evidence.
        gaps: What could not be read.
        step_window: For a source index, the number of steps over which each printed value is a mean;
            absent or 1 means that the value belongs to one step.
        replay: Tensor events of a replay trace.
        collectives_trace: Collectives of a trace.
        flight: Dumps of the flight recorder, one per rank.
        timings: Timing traces, one per rank, summed up.
        operator_shapes: Execution traces: shapes of the inputs of operators.
        log_ends: Where each text log begins and stops.
    """

    id: str
    root: str
    frameworks: frozenset[str]
    sources: tuple[SourceFile, ...]
    metrics: MetricTable
    events: EventTable
    config: ConfigFacts
    layout: Layout
    attempts: tuple[Attempt, ...]
    tensors: tuple[TensorRows, ...] = ()
    gaps: tuple[Gap, ...] = ()
    step_window: Mapping[int, int] = field(default_factory=dict)
    replay: ReplayTable = field(default_factory=ReplayTable.empty)
    collectives_trace: CommTable = field(default_factory=CommTable.empty)
    flight: tuple[FlightDump, ...] = ()
    timings: tuple[TimeTrace, ...] = ()
    operator_shapes: tuple[OperatorShapes, ...] = ()
    log_ends: tuple[LogEnd, ...] = ()

    def place(self, ref: SourceRef | None) -> str:
        """``path:line`` of a reference, as shown to the user."""
        if ref is None:
            return self.root
        path = self.sources[ref.source].path
        return path if ref.line is None else f"{path}:{ref.line}"
