"""Expressions for whole rows, made from the first row of each kind that a log shows.

Trainers print the same names in the same order, row after row; which ones differs by version and settings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from analyzer.model.tables import NULL_INT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

NUMBER = rb"-?\d{1,15}(?:\.\d{0,18})?(?:[eE][-+]\d{1,3})?|nan|-?inf"
"""A number whose value Python's ``float`` gives as the readers of single lines do."""

PLAIN_NUMBER = rb"[\d.-]{1,20}(?:[eE][-+]?\d{1,3})?|nan|-?inf"
"""The same and more, matched faster: what ``float`` takes of it has the value that single lines give."""

PLAIN_BAR = (
    rb"[ \t]{0,64}\d{1,3}%\|[^|\r\n{]{0,380}\| {1,3}\d{1,12}/\d{1,12} \[[\d:<,.? -]{0,80}(?:s/it|it/s)?\]"
)
"""A progress bar without title and values, to which something may be glued that was printed past it."""

MAX_SHAPES = 8
"""Kinds of rows that are learned from one log; trainers have two or three."""

MAX_UNKNOWN = 1_000
"""Rows that fit no shape after which no further one is learned: such a log is read line by line."""


class LazyBytesRegex:
    """Like ``LazyRegex``, for bytes: compiled when it is first used, which most logs are too small for.

    Args:
        pattern: The expression.
    """

    match: Callable[..., re.Match[bytes] | None]
    fullmatch: Callable[..., re.Match[bytes] | None]
    findall: Callable[..., list[Any]]
    split: Callable[[bytes], list[bytes]]
    groups: int

    def __init__(self, pattern: bytes) -> None:
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        if name not in {"match", "fullmatch", "findall", "split", "groups"}:
            raise AttributeError(name)
        compiled = re.compile(self.pattern)
        self.match, self.fullmatch, self.findall = compiled.match, compiled.fullmatch, compiled.findall
        self.split, self.groups = compiled.split, compiled.groups
        return self.__dict__[name]


def floats(column: Sequence[bytes]) -> npt.NDArray[np.float64]:
    """float64, shape (n_numbers,): numbers as text."""
    return np.fromiter(map(float, column), np.float64, len(column))


def integers(column: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """int64, shape (n_numbers,): numbers as text, ``NULL_INT`` where there is none."""
    if all(column):
        return np.fromiter(map(int, column), np.int64, len(column))
    return np.fromiter((int(text) if text else NULL_INT for text in column), np.int64, len(column))


def unix_s(seconds: Sequence[bytes], day_s: Callable[[bytes], float | None]) -> npt.NDArray[np.float64]:
    """float64, shape (n_rows,): dates with times, ``2026-10-01 00:00:05``, as unix seconds; NaN if a date is none.

    Args:
        seconds: At least one.
        day_s: Unix seconds of a day.
    """
    text = np.frombuffer(b"".join(seconds), np.uint8).reshape(len(seconds), 19)
    days = np.ascontiguousarray(text[:, :10]).view("S10").ravel()
    begins_s = np.full(len(seconds), np.nan)
    for day in [days[0]] if bool((days == days[0]).all()) else np.unique(days):
        begin_s = day_s(bytes(day))
        begins_s[days == day] = np.nan if begin_s is None else begin_s
    digits = text[:, [11, 12, 14, 15, 17, 18]].astype(np.int64) - ord("0")
    seconds_of_day: npt.NDArray[np.int64] = digits @ np.array([36_000, 3_600, 600, 60, 10, 1])
    return begins_s + seconds_of_day


class WholeRows:
    """One expression for many records at once: a call for each of them would cost more than the match.

    Args:
        form: The whole record, with groups; it can match no newline.
    """

    def __init__(self, form: bytes) -> None:
        self._regex = LazyBytesRegex(rb"(?m)^" + form + rb"$")

    def match(self, rows: list[bytes]) -> tuple[npt.NDArray[np.int64], list[list[bytes]]]:
        """Which of some records are of this form, and their groups, column by column; None for no group.

        Args:
            rows: At least one record; none holds a newline.
        """
        # One flat list, without a tuple a record: what is between two matches, then the groups.
        parts = self._regex.split(b"\n".join(rows))
        count = self._regex.groups + 1
        columns = [parts[group::count] for group in range(1, count)]
        between = parts[:-1:count]
        if len(between) == len(rows):
            return np.arange(len(rows)), columns
        return np.cumsum([text.count(b"\n") for text in between], dtype=np.int64), columns


class Kinds:
    """Which table the records of a block stand in, and where in it.

    Args:
        places: Of each table which records stand in it; together all, each once, in any order.
    """

    def __init__(self, places: list[npt.NDArray[np.int64]]) -> None:
        joined = np.concatenate(places) if places else np.zeros(0, np.int64)
        self.order = np.argsort(joined, kind="stable")
        sizes = [part.size for part in places]
        self._kinds = np.repeat(np.arange(len(places)), sizes)[self.order]
        begins = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes) if sizes else joined
        self._within = (np.arange(joined.size) - begins)[self.order]

    def one(self, index: int) -> tuple[int, int]:
        """Table and row of a record."""
        return int(self._kinds[index]), int(self._within[index])

    def together(self, low: int, high: int) -> tuple[int, npt.NDArray[np.int64]] | None:
        """Table and rows of neighbouring records, if they stand in the same table."""
        kinds = self._kinds[low:high]
        return (int(kinds[0]), self._within[low:high]) if bool((kinds == kinds[0]).all()) else None


class Table(NamedTuple):
    """The rows of one kind among some records.

    Attributes:
        names: Names of its numbers.
        places: int64, shape (n_rows,): which records they are.
        before: Groups of what stands before each row, column by column.
        values: float64, shape (n_rows, n_groups): the groups of the rows.
    """

    names: tuple[str, ...]
    places: npt.NDArray[np.int64]
    before: list[list[bytes]]
    values: npt.NDArray[np.float64]


_NONE: tuple[npt.NDArray[np.int64], list[list[bytes]], npt.NDArray[np.float64]] = (
    np.zeros(0, np.int64),
    [],
    np.zeros((0, 0)),
)


class _Shape(NamedTuple):
    names: tuple[str, ...]
    fullmatch: Callable[..., re.Match[bytes] | None]
    whole: WholeRows
    strict: WholeRows


class LearnedShapes:
    """The kinds of rows met so far.

    Args:
        learn: Names of a row and the expression for all rows of its kind, or None if it is none of the form; all
            its groups are numbers.
        before: Expression for what may stand before a row in its record.
    """

    def __init__(
        self, learn: Callable[[bytes], tuple[tuple[str, ...], bytes] | None], before: bytes = b""
    ) -> None:
        self._learn = learn
        self._before = before
        self._groups_before = re.compile(before).groups
        self._shapes: list[_Shape] = []
        self._unknown = 0

    def tables(self, rows: list[bytes]) -> list[Table]:
        """Of some records those of the kinds met so far, kind by kind; at least one record."""
        found: list[Table] = []
        places, rest = np.arange(len(rows)), rows
        for shape in self._shapes:
            kept, before, values = self._split(shape.whole, rest) or self._split(shape.strict, rest) or _NONE
            if kept.size:
                found.append(Table(shape.names, places[kept], before, values))
            if kept.size == places.size:
                break
            other = np.ones(places.size, np.bool_)
            other[kept] = False
            places = places[other]
            rest = [rows[place] for place in places.tolist()]
        return found

    def _split(
        self, whole: WholeRows, rows: list[bytes]
    ) -> tuple[npt.NDArray[np.int64], list[list[bytes]], npt.NDArray[np.float64]] | None:
        """Which rows are of a kind, what stands before them, and their numbers; None if some are no numbers."""
        kept, columns = whole.match(rows)
        try:
            values = np.column_stack([floats(column) for column in columns[self._groups_before :]])
        except ValueError:
            return None
        return kept, columns[: self._groups_before], values

    def match(self, data: bytes, start: int, end: int) -> tuple[re.Match[bytes], tuple[str, ...]] | None:
        """The match of a row from its first to its last byte, and the names of its numbers."""
        for shape in self._shapes:
            match = shape.fullmatch(data, start, end)
            if match is not None:
                return match, shape.names
        if len(self._shapes) >= MAX_SHAPES or self._unknown >= MAX_UNKNOWN:
            return None
        self._unknown += 1
        learned = self._learn(data[start:end])
        if learned is None:
            return None
        names, form = learned
        fullmatch = re.compile(form).fullmatch
        whole = WholeRows(self._before + form.replace(NUMBER, PLAIN_NUMBER))
        self._shapes.append(_Shape(names, fullmatch, whole, WholeRows(self._before + form)))
        match = fullmatch(data, start, end)
        return None if match is None else (match, names)
