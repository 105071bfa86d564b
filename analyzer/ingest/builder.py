"""Collect what the ingestors write and build the immutable ``Run``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from analyzer.digest import sha256
from analyzer.ingest.formats.dumps.trace_rows import TraceRows
from analyzer.ingest.masking import clean_text
from analyzer.ingest.names import canonical_metric, unit_factor
from analyzer.ingest.points import Points, told_of_dropped
from analyzer.ingest.rank_names import place_of, ranks_of
from analyzer.model.arrays import Integers, Values
from analyzer.model.config import LAYERS, ConfigFacts, ConfigScalar, ConfigValue
from analyzer.model.ranked import distinct_of
from analyzer.model.refs import Gap, SourceFile, SourceRef
from analyzer.model.replay import CommTable, ReplayTable
from analyzer.model.run import Attempt, Layout, LogEnd, Run, TensorRows
from analyzer.model.tables import NULL_INT, Event, EventTable, MetricTable
from analyzer.model.traces import FlightDump, OperatorShapes, TimeTrace
from analyzer.record import replace

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_NAME = 1024
"""Characters of a key or a metric's name; the readers cut earlier."""

MAX_GAPS = 200
"""Gaps kept in full; further ones are counted. A junk file may hold one in every line."""

NULL_RANK = int(np.iinfo(np.int32).min)
"""Of points of which no rank is known."""


class Block:
    """Points of one metric of one source, as arrays."""

    __slots__ = ("lines", "name", "rank", "source", "step_unit", "steps", "times_s", "values")

    def __init__(
        self,
        source: int,
        name: str,
        arrays: tuple[Integers, Values, Integers, Values],
        rank: int | None,
        step_unit: str,
    ) -> None:
        self.source = source
        self.name = name
        self.steps, self.values, self.lines, self.times_s = arrays
        self.rank = NULL_RANK if rank is None else rank
        self.step_unit = step_unit


class RunBuilder:
    """What the writers of all sources wrote. ``finish`` sorts, maps and freezes it."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.sources: list[SourceFile] = []
        self.frameworks: set[str] = set()
        self.tensors: list[TensorRows] = []
        self.loss_windows: dict[int, int] = {}
        self.replay: TraceRows[ReplayTable] = TraceRows(ReplayTable)
        self.collectives: TraceRows[CommTable] = TraceRows(CommTable)
        self.flight: list[FlightDump] = []
        self.timings: list[TimeTrace] = []
        self.operator_shapes: list[OperatorShapes] = []
        self.log_ends: list[LogEnd] = []
        self.trace_bytes = 0
        self.blocks: list[Block] = []
        self.columns: dict[tuple[int, str, int], Points] = {}
        self.names_of: dict[int, int] = {}
        self.events: list[Event] = []
        self.event_counts: dict[tuple[int, str], int] = {}
        self.config: list[tuple[str | None, ConfigValue]] = []
        self._gaps: list[Gap] = []
        self._gaps_dropped = 0
        self.layout = Layout()
        self.attempts: dict[int, Attempt] = {}

    def add_source(
        self,
        path: str,
        *,
        format_name: str,
        ingestor: str,
        size_bytes: int,
        sha256_head: str,
        location: str = "",
        age_s: float | None = None,
    ) -> int:
        """Register a file and return its index."""
        index = len(self.sources)
        path = clean_text(path, 1024)
        self.sources.append(
            SourceFile(index, path, format_name, ingestor, size_bytes, sha256_head, location, age_s)
        )
        return index

    def add_gap(
        self,
        reason: str,
        *,
        source: int | None = None,
        line: int | None = None,
        rows_lost: int | None = None,
        evidence: bool = False,
    ) -> None:
        """Record something that could not be read; ``evidence`` if it may have told how the run went."""
        if len(self._gaps) >= MAX_GAPS and not evidence:
            self._gaps_dropped += 1
            return
        ref = None if source is None else SourceRef(source, line)
        self._gaps.append(Gap(clean_text(reason, 512), ref, rows_lost, evidence))

    def interrupted(self) -> None:
        """A reader was stopped where it stood: a trace may end within a row, and what was kept of traces is left out."""
        self.replay, self.collectives = TraceRows(ReplayTable), TraceRows(CommTable)

    def grows(self, source: int) -> None:
        """Note that somebody wrote to a file while it was read."""
        self.sources[source] = replace(self.sources[source], grows=True)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What could not be read so far."""
        return tuple(self._gaps)

    def tells_a_course(self) -> bool:
        """Whether anything was read that tells how a run went, and not only how it was set up."""
        return bool(self.blocks or self.columns or self.events or self.flight or len(self.collectives) > 0)

    def recognised(self) -> bool:
        """Whether anything at all was read."""
        read = (self.blocks, self.columns, self.events, self.config, self.tensors)
        traces = (self.flight, self.timings, self.operator_shapes)
        return any(read) or any(traces) or len(self.replay) > 0 or len(self.collectives) > 0

    def finish(self) -> Run:
        """Sort, map names, resolve configuration, and freeze."""
        self._tell_thinned()
        self._tell_dropped_rows()
        if self._gaps_dropped:
            self._gaps.append(Gap(f"{self._gaps_dropped} more gaps are not listed", None, None))
        config = resolve_config(self.config)
        attempts, attempt_of = _number_attempts(self.attempts)
        ranks = ranks_of(source.path for source in self.sources)
        rank_of = {source.index: ranks[source.path] for source in self.sources if source.path in ranks}
        metrics = self._metric_table(config, attempt_of, rank_of)
        events = EventTable(tuple(self._placed(attempt_of, rank_of)))
        return Run(
            id=self._run_id(),
            root=self.root,
            frameworks=frozenset(self.frameworks),
            sources=tuple(self.sources),
            metrics=metrics,
            events=events,
            config=config,
            layout=self.layout,
            attempts=attempts,
            tensors=tuple(self.tensors),
            gaps=tuple(self._gaps),
            step_window=dict(self.loss_windows),
            replay=self.replay.finish(),
            collectives_trace=self.collectives.finish(),
            flight=tuple(self.flight),
            timings=tuple(self.timings),
            operator_shapes=tuple(self.operator_shapes),
            log_ends=tuple(self.log_ends),
        )

    def _placed(self, attempt_of: Mapping[int, int], rank_of: Mapping[int, int]) -> Iterator[Event]:
        """Events with the attempt, and where no line named them the rank and host, of their file."""
        host_of = {source.index: place_of(source.path).host for source in self.sources}
        for event in self.events:
            source = event.ref.source
            rank = rank_of.get(source) if event.rank is None else event.rank
            host = host_of[source] if "host" not in event.fields else ""
            attempt = attempt_of.get(source, 0)
            if (rank, attempt) == (event.rank, event.attempt) and not host:
                yield event
            else:
                fields = {**event.fields, "host": host} if host else event.fields
                yield event._replace(attempt=attempt, rank=rank, fields=fields)

    def _tell_thinned(self) -> None:
        dropped: dict[int, list[int]] = {}
        for (source, _, _), points in self.columns.items():
            if points.dropped:
                dropped.setdefault(source, []).append(points.dropped)
        for source, counts in dropped.items():
            self.add_gap(told_of_dropped(counts), source=source, rows_lost=sum(counts))

    def _tell_dropped_rows(self) -> None:
        for rows in (self.replay, self.collectives):
            for source, lost in rows.dropped().items():
                self.add_gap(
                    f"large trace: {lost} rows are left out; bad tensors with what came before them, those near the"
                    " limit of their format, the first and the last rows are kept",
                    source=source,
                    rows_lost=lost,
                )

    def _run_id(self) -> str:
        digest = sha256(b"")
        for source in sorted(self.sources, key=lambda s: s.path):
            digest.update(f"{source.path}\0{source.size_bytes}\0{source.sha256_head}\n".encode())
        return str(digest.hexdigest()[:16])

    def _all_blocks(self) -> list[Block]:
        blocks = list(self.blocks)
        for (source, name, rank), points in self.columns.items():
            blocks.append(
                Block(
                    source,
                    clean_text(name, MAX_NAME),
                    points.arrays(),
                    None if rank == NULL_RANK else rank,
                    "step",
                )
            )
        return [block for block in blocks if block.values.size]

    def _metric_table(
        self, config: ConfigFacts, attempt_of: Mapping[int, int], rank_of: Mapping[int, int]
    ) -> MetricTable:
        blocks = self._all_blocks()
        for block in blocks:
            if block.rank == NULL_RANK:
                block.rank = rank_of.get(block.source, NULL_RANK)
        raw_names = tuple(dict.fromkeys(clean_text(block.name, 200) for block in blocks))
        raw_code = {name: code for code, name in enumerate(raw_names)}
        names = tuple(dict.fromkeys(canonical_metric(name) for name in raw_names))
        code_of = {name: code for code, name in enumerate(names)}
        batch = config.value("train.global_batch_size")
        self._convert_sample_steps(blocks, batch)
        for block in blocks:
            if (factor := unit_factor(block.name)) != 1.0:
                block.values = block.values * factor

        def column(pick: str, dtype: type[np.generic]) -> npt.NDArray[np.generic]:
            parts = [getattr(block, pick) for block in blocks]
            return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)

        def repeat(value_of: list[int], dtype: type[np.generic]) -> npt.NDArray[np.generic]:
            sizes = [block.values.size for block in blocks]
            return np.repeat(np.asarray(value_of, dtype=dtype), sizes) if blocks else np.zeros(0, dtype)

        raws = [raw_code[clean_text(block.name, 200)] for block in blocks]
        return MetricTable(
            names=names,
            raw_names=raw_names,
            metric=repeat([code_of[canonical_metric(raw_names[raw])] for raw in raws], np.int32),  # type: ignore[arg-type]
            raw=repeat(raws, np.int32),  # type: ignore[arg-type]
            step=column("steps", np.int64),  # type: ignore[arg-type]
            time_s=column("times_s", np.float64),  # type: ignore[arg-type]
            value=column("values", np.float64),  # type: ignore[arg-type]
            rank=repeat([block.rank for block in blocks], np.int32),  # type: ignore[arg-type]
            attempt=repeat([attempt_of.get(block.source, 0) for block in blocks], np.int16),  # type: ignore[arg-type]
            source=repeat([block.source for block in blocks], np.int32),  # type: ignore[arg-type]
            line=column("lines", np.int64),  # type: ignore[arg-type]
        )

    def _convert_sample_steps(self, blocks: list[Block], batch: ConfigScalar) -> None:
        """DeepSpeed's monitors count samples; divide by the global batch size where it is known."""
        for block in blocks:
            if block.step_unit == "epoch":
                block.steps = np.full(block.steps.shape, NULL_INT, np.int64)
            if block.step_unit != "samples":
                continue
            divisor = batch if isinstance(batch, int) and batch > 0 else _smallest_stride(block.steps)
            known = block.steps != NULL_INT
            block.steps = np.where(known, block.steps // max(divisor, 1), NULL_INT)
            block.step_unit = "step"


def _smallest_stride(steps: Integers) -> int:
    """Samples between two points: the batch size if every step was logged."""
    known = distinct_of(steps[steps != NULL_INT])
    return int(np.diff(known).min()) if known.size > 1 else 1


def _number_attempts(stated: Mapping[int, Attempt]) -> tuple[tuple[Attempt, ...], dict[int, int]]:
    """Merge statements with the same label into one attempt and number them by start time."""
    merged: dict[str, Attempt] = {}
    for attempt in stated.values():
        old = merged.get(attempt.label)
        if old is None:
            merged[attempt.label] = attempt
            continue
        starts = [t for t in (old.start_s, attempt.start_s) if t is not None]
        ends = [t for t in (old.end_s, attempt.end_s) if t is not None]
        merged[attempt.label] = replace(
            old,
            start_s=min(starts, default=None),
            end_s=max(ends, default=None),
            exit_code=old.exit_code if attempt.exit_code is None else attempt.exit_code,
            sources=old.sources + attempt.sources,
        )
    ordered = sorted(merged.values(), key=lambda a: (a.start_s is None, a.start_s or 0.0, a.label))
    numbered = tuple(replace(attempt, index=index) for index, attempt in enumerate(ordered))
    return numbered, {source: attempt.index for attempt in numbered for source in attempt.sources}


def resolve_config(read: Sequence[tuple[str | None, ConfigValue]]) -> ConfigFacts:
    """Choose one value per canonical key: the strongest layer, then the last file; keep the rest as conflicts."""
    grouped: dict[str, list[ConfigValue]] = {}
    for key, entry in read:
        if key is not None and entry.value != "auto":  # DeepSpeed's "auto" defers to the trainer's arguments
            grouped.setdefault(key, []).append(entry)
    chosen: dict[str, ConfigValue] = {}
    for key, entries in grouped.items():
        best = max(enumerate(entries), key=lambda item: (LAYERS.index(item[1].layer), item[0]))[1]
        others = tuple(entry for entry in entries if entry.value != best.value)
        cited = next((e for e in entries if e.layer == "file" and e.value == best.value), best)
        chosen[key] = best._replace(
            ref=cited.ref, conflicts=others
        )  # cite the user's own file where it agrees
    return ConfigFacts(chosen, tuple(entry for _, entry in read))
