"""The rows of a Hugging Face console as columns: a gigabyte of log holds a million of them."""

from __future__ import annotations

from array import array
from collections.abc import Collection

import numpy as np

from analyzer.ingest.text.log_line import MAX_STEP, LogState
from analyzer.model.arrays import Integers, Mask, Values
from analyzer.model.ranked import distinct_of
from analyzer.model.tables import NULL_INT
from analyzer.record import NamedTuple

Bar = tuple[int, int]
"""Steps done and steps intended, as a bar shows them."""

NO_BAR: Bar = (NULL_INT, NULL_INT)

_NOT_METRICS = frozenset({"step", "global_step", "total_flos", "max_steps"})


class Row(NamedTuple):
    """One row of the console."""

    number: int  # 1-based line, or record number
    rank: int | None  # global rank that a prefix names
    time_s: float | None  # Unix seconds, None if unknown
    names: tuple[str, ...]  # what it prints
    values: tuple[float, ...]  # the numbers, one per name
    above: Bar | None  # the last bar drawn before it
    below: Bar | None  # the bar drawn right after it

    def same_print(self, other: Row) -> bool:
        """Whether two rows print the same on the same rank."""
        if self.rank != other.rank:
            return False
        if self.names == other.names:
            return self.values == other.values
        return dict(zip(self.names, self.values, strict=True)) == dict(
            zip(other.names, other.values, strict=True)
        )


class RowBatch(NamedTuple):
    """Many rows that print the same names."""

    names: tuple[str, ...]  # what they print
    numbers: Integers  # int64, shape (n_rows,): line numbers
    values: Values  # float64, shape (n_rows, n_names)
    bars: Integers  # int64, shape (n_rows, 4): steps done and intended by the bar above and by the bar below
    ranks: Integers  # int64, shape (n_rows,): ``NULL_INT`` where unknown
    times_s: Values  # float64, shape (n_rows,): NaN where unknown


def is_summary(names: Collection[str]) -> bool:
    """Whether a row is what the trainer prints behind its last step; some forks tell the time so far beside every loss.

    >>> is_summary({"train_runtime", "train_loss"}), is_summary({"train_runtime", "loss"})
    (True, False)
    """
    return "train_runtime" in names and "loss" not in names


class _Shape:
    """The rows that print the same names."""

    __slots__ = ("is_final", "is_training", "names", "rows", "step_at", "values")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.is_training = "loss" in names
        self.is_final = is_summary(names)
        self.step_at = next((names.index(name) for name in ("step", "global_step") if name in names), None)
        self.rows = array("q")
        self.values = array("d")


class RowColumns:
    """Rows in file order.

    Attributes:
        last: The last row.
    """

    def __init__(self) -> None:
        self.last: Row | None = None
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self._number = array("q")
        self._rank = array("q")
        self._time_s = array("d")
        self._stated = array("q")
        self._bars = array("q")  # above done, above total, below done, below total
        self._training = array("b")

    def __len__(self) -> int:
        return len(self._number)

    def append(self, row: Row) -> None:
        """Add a row."""
        shape = self._shapes.get(row.names)
        if shape is None:
            shape = self._shapes[row.names] = _Shape(row.names)
        shape.rows.append(len(self._number))
        shape.values.extend(row.values)
        stated = NULL_INT
        if shape.step_at is not None and abs(row.values[shape.step_at]) < 1e15:
            stated = int(row.values[shape.step_at])
        self.last = row
        self._number.append(row.number)
        self._rank.append(NULL_INT if row.rank is None else row.rank)
        self._time_s.append(float("nan") if row.time_s is None else row.time_s)
        self._stated.append(stated)
        self._bars.extend((row.above or NO_BAR) + (row.below or NO_BAR))
        self._training.append(shape.is_training)

    def extend(self, rows: RowBatch, last: Row) -> None:
        """Add rows that all print the same names, with the last of them."""
        shape = self._shapes.get(rows.names)
        if shape is None:
            shape = self._shapes[rows.names] = _Shape(rows.names)
        first, count = len(self._number), rows.numbers.size
        shape.rows.frombytes(np.arange(first, first + count).tobytes())
        shape.values.frombytes(rows.values.tobytes())
        stated = np.full(count, NULL_INT)
        if shape.step_at is not None:
            steps = rows.values[:, shape.step_at]
            known = np.abs(steps) < 1e15
            stated[known] = steps[known].astype(np.int64)
        self.last = last
        self._number.frombytes(rows.numbers.tobytes())
        self._rank.frombytes(rows.ranks.tobytes())
        self._time_s.frombytes(rows.times_s.tobytes())
        self._stated.frombytes(stated.tobytes())
        self._bars.frombytes(rows.bars.tobytes())
        self._training.extend([shape.is_training] * count)

    def stated(self) -> Integers:
        """int64, shape (n_rows,): steps that rows name themselves, else ``NULL_INT``."""
        return np.array(self._stated, np.int64)

    def bars(self) -> Integers:
        """int64, shape (n_rows, 4): steps done and intended by the bar above, and by the bar below."""
        return np.array(self._bars, np.int64).reshape(-1, 4)

    def training(self) -> Mask:
        """bool, shape (n_rows,): whether a row is a point of the training curve."""
        return np.array(self._training, np.bool_)

    def column(self, name: str) -> Values:
        """float64, shape (n_rows,): one quantity, NaN where a row does not print it."""
        column = np.full(len(self), np.nan)
        for shape in self._shapes.values():
            if name in shape.names and shape.rows:
                column[np.array(shape.rows)] = _matrix(shape)[:, shape.names.index(name)]
        return column

    def write(self, steps: Integers, log: LogState) -> None:
        """Write every metric of every row, and the epoch where nothing else says how far it is.

        Args:
            steps: int64, shape (n_rows,): ``NULL_INT`` where unknown.
            log: Where they go.
        """
        steps = np.where((steps < 0) | (steps > MAX_STEP), NULL_INT, steps)
        number, time_s = np.array(self._number, np.int64), np.array(self._time_s)
        left_out = _NOT_METRICS | {"epoch"} if bool((steps != NULL_INT).any()) else _NOT_METRICS
        for name, rank, rows, values in self._curves(left_out):
            points = log.points(name, None if rank == NULL_INT else rank)
            points.extend(steps[rows], values, number[rows], time_s[rows])

    def _curves(self, left_out: frozenset[str]) -> list[tuple[str, int, Integers, Values]]:
        """Name, rank, rows and values of each curve, in the order in which the log begins them."""
        parts: dict[str, list[tuple[Integers, Values, int]]] = {}
        for shape in self._shapes.values():
            if not shape.rows:
                continue
            rows, matrix = np.array(shape.rows, np.int64), _matrix(shape)
            for place, name in enumerate(shape.names):
                if name not in left_out and (not shape.is_final or name == "train_loss"):
                    known_as = "train_loss_mean" if shape.is_final else name
                    parts.setdefault(known_as, []).append((rows, matrix[:, place], place))
        ranks = np.array(self._rank, np.int64)
        curves: list[tuple[int, int, str, int, Integers, Values]] = []
        for name, found in parts.items():
            rows = np.concatenate([part[0] for part in found])
            values = np.concatenate([part[1] for part in found])
            places = np.repeat([part[2] for part in found], [part[0].size for part in found])
            order = np.argsort(rows, kind="stable")
            rows, values, places = rows[order], values[order], places[order]
            for rank in distinct_of(ranks[rows]).tolist():
                of_rank = np.flatnonzero(ranks[rows] == rank)
                first = int(of_rank[0])
                begin = int(rows[first]), int(places[first])
                curves.append((*begin, name, rank, rows[of_rank], values[of_rank]))
        curves.sort(key=lambda curve: curve[:2])
        return [curve[2:] for curve in curves]


def _matrix(shape: _Shape) -> Values:
    """float64, shape (n_rows, n_names)."""
    return np.array(shape.values, np.float64).reshape(-1, len(shape.names))
