"""The two tables of a run: logged scalars and recognised log lines.

The metric table is a struct of NumPy columns and not an Arrow table: importing pyarrow costs more CPU
(125 ms) than a whole small diagnosis. ``MetricTable.to_pandas`` gives the long frame to whoever wants it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from analyzer.model.arrays import Integers, Values
from analyzer.model.refs import SourceRef
from analyzer.record import NamedTuple, dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

Scalar = bool | int | float | str

NULL_INT = int(np.iinfo(np.int64).min)
"""Stands for "the logger gave none" in the integer columns; never leaves this module as a number."""


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one metric in the order in which the run logged them (attempt, then row order)."""

    metric: str  # canonical name
    logged_as: str  # the name that the logger used
    # int64, shape (n_points,): optimizer step (or the unit of ``step_unit``); ``NULL_INT`` if none
    step: Integers
    value: Values  # float64, shape (n_points,): NaN and infinities kept as logged
    time_s: Values  # float64, shape (n_points,): unix seconds, NaN if unknown
    attempt: Integers  # int64, shape (n_points,): 0-based restart attempt
    source: Integers  # int64, shape (n_points,): index into ``Run.sources``
    line: Integers  # int64, shape (n_points,): 1-based line or record number

    def __len__(self) -> int:
        return int(self.value.size)

    def step_at(self, index: int) -> int | None:
        """Step of one point, or None if the logger gave none."""
        step = int(self.step[index])
        return None if step == NULL_INT else step

    def ref(self, index: int) -> SourceRef:
        """Place of one point in its source."""
        line = int(self.line[index])
        return SourceRef(int(self.source[index]), line if line > 0 else None)


@dataclass(frozen=True)
class MetricTable:
    """One row per logged scalar, as NumPy columns of equal length."""

    names: tuple[str, ...]  # canonical metric names; ``metric`` indexes into it
    raw_names: tuple[str, ...]  # names as the loggers wrote them; ``raw`` indexes into it
    metric: npt.NDArray[np.int32]  # int32 code of the canonical name
    raw: npt.NDArray[np.int32]  # int32 code of the original name
    step: Integers  # int64 optimizer step; ``NULL_INT`` if the logger gave none
    time_s: Values  # float64 unix seconds, UTC; NaN if unknown
    value: Values  # float64; NaN and infinities are kept as logged: they are data here
    rank: npt.NDArray[np.int32]  # int32 global rank; -2**31 means already reduced over ranks
    attempt: npt.NDArray[np.int16]  # int16, 0-based restart attempt
    source: npt.NDArray[np.int32]  # int32 index into ``Run.sources``
    line: Integers  # int64, 1-based line or record number; 0 if there is none

    def __len__(self) -> int:
        return int(self.value.size)

    @cached_property
    def _rows_of(self) -> Mapping[str, Integers]:
        order = np.lexsort((self.attempt, self.metric)) if len(self) else np.zeros(0, dtype=np.int64)
        cuts = np.searchsorted(self.metric[order], np.arange(len(self.names) + 1))
        return {name: order[cuts[code] : cuts[code + 1]] for code, name in enumerate(self.names)}

    def has(self, metric: str) -> bool:
        """Whether at least one point of the canonical metric was logged."""
        rows = self._rows_of.get(metric)
        return rows is not None and rows.size > 0

    def series(self, metric: str, sources: Collection[int] | None = None) -> Series | None:
        """Points of one canonical metric, optionally of some sources only; None if there are none."""
        rows = self._rows_of.get(metric)
        if rows is None or not rows.size:
            return None
        if sources is not None:
            rows = rows[np.isin(self.source[rows], list(sources))]
            if not rows.size:
                return None
        return self.series_of(metric, rows)

    def series_of(self, metric: str, rows: Integers) -> Series:
        """The points of some rows, at least one, in the order of the rows."""
        return Series(
            metric=metric,
            logged_as=self.raw_names[int(self.raw[rows[0]])],
            step=self.step[rows],
            value=self.value[rows],
            time_s=self.time_s[rows],
            attempt=self.attempt[rows].astype(np.int64),
            source=self.source[rows].astype(np.int64),
            line=self.line[rows],
        )

    def to_pandas(self) -> Any:
        """The table as a long ``pandas.DataFrame`` (metric, logged_as, step, time_s, value, rank, …)."""
        import pandas as pd  # noqa: PLC0415  (300 ms; only for users of the API)

        step = pd.array(self.step, dtype="Int64")
        step[self.step == NULL_INT] = pd.NA
        rank = pd.array(self.rank.astype(np.int64), dtype="Int64")
        rank[self.rank == np.iinfo(np.int32).min] = pd.NA
        return pd.DataFrame(
            {
                "metric": pd.Categorical.from_codes(self.metric, pd.Index(self.names, dtype="str")),
                "logged_as": pd.Categorical.from_codes(self.raw, pd.Index(self.raw_names, dtype="str")),
                "step": step,
                "time_s": self.time_s,
                "value": self.value,
                "rank": rank,
                "attempt": self.attempt,
                "source": self.source,
                "line": self.line,
            }
        )


class Event(NamedTuple):
    """One recognised log line or trace event."""

    kind: str  # what it is, for example ``loss_scale_overflow``
    role: str  # root_candidate, symptom, cascade, teardown, advice or info
    text: str  # the line, at most 2 KiB, control characters removed, secrets masked
    ref: SourceRef  # where it stands
    step: int | None = None  # optimizer step, if known
    time_s: float | None = None  # Unix seconds, if known
    rank: int | None = None  # global rank, if known
    attempt: int = 0  # 0-based restart attempt
    fields: Mapping[str, Scalar] = {}  # named values of the line, typed as its pattern declares
    order: int = 0  # position of the event in reading order within its source


@dataclass(frozen=True)
class EventTable:
    """All recognised events of a run, in source order and then line order."""

    rows: tuple[Event, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.rows)

    @cached_property
    def _by_kind(self) -> Mapping[str, tuple[Event, ...]]:
        grouped: dict[str, list[Event]] = {}
        for row in self.rows:
            grouped.setdefault(row.kind, []).append(row)
        return {kind: tuple(rows) for kind, rows in grouped.items()}

    def of(self, kind: str) -> tuple[Event, ...]:
        """Events of one kind, in reading order."""
        return self._by_kind.get(kind, ())

    @cached_property
    def _text_at(self) -> Mapping[SourceRef, str]:
        return {
            row.ref: row.text for row in reversed(self.rows)
        }  # of several events in a line the first counts

    def text_at(self, ref: SourceRef) -> str:
        """Text of the first event at a place, empty if there is none."""
        return self._text_at.get(ref, "")

    def kinds(self) -> tuple[str, ...]:
        """All kinds that occur, sorted."""
        return tuple(sorted(self._by_kind))

    def with_roles(self, roles: Iterable[str]) -> tuple[Event, ...]:
        """Events whose role is one of ``roles``, in reading order."""
        wanted = frozenset(roles)
        return tuple(row for row in self.rows if row.role in wanted)
