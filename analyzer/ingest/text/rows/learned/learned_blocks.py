"""Expressions for whole blocks, learned from rows that were read one by one, whoever read them.

A program prints the same wording row after row. While rows of one wording are read line by line, what was written for
each is noted beside its numbers. Once enough rows agree on which number is which metric and which is the step, an
expression of that wording reads all further rows of a block at once, about fifteen times as fast. It takes only what is
exactly alike: the same words and prefix, finite numbers, a step that goes on, or one that falls where the grammar took falls as
they stand, no sign and no repeated step that was never met. All else is read line by line; so are the first and the last row of
a block, of an epoch and of a launch, as a check, and for the grammars that count through epochs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, product
from math import isclose

import numpy as np

from analyzer.ingest.text.log_line import Learnable, LogLine, LogState, Written
from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.rows.learned.fixed_width import floats
from analyzer.ingest.text.rows.learned.row_batches import Alike, Batch, CurvePart, Keeper, Records, distinct
from analyzer.ingest.text.rows.learned.whole_rows import (
    BREAK,
    MAX_ROW_CHARACTERS,
    WholeRows,
    Wording,
    anchor_of,
    expression_of,
    unix_s,
    wording_of,
)
from analyzer.ingest.text.scan import find_each
from analyzer.ingest.text.text_layer import Block
from analyzer.model.arrays import Integers, Mask, Values
from analyzer.record import NamedTuple

EXAMPLES = 24
"""Rows of a wording that must agree; numbers that happen to be equal in as many rows nearly always are one number."""

MAX_EXAMPLES = 200
"""Rows after which a wording is given up: two of its numbers are always equal, or its values stand elsewhere."""

FALLS = 3
"""Falls of the step that were taken as they stand; the next ones are, too. A log with a restart in every block would
else be read line by line."""

KEPT_EXAMPLES = 6
"""Rows of the epoch before that show, beside those of the next, how the step goes on from one to the other."""

MAX_WORDINGS, MAX_SHAPES = 64, 8
"""Wordings that are watched at a time, and that are read in blocks; trainers have two or three, each also behind a bar."""

_TENS = 10 ** np.arange(8, -1, -1)
_PLAIN_AFTER = frozenset(("", *" ,;|)]}\t'\""))


def _value(number: str) -> float:
    return float(number.replace(",", "") if "," in number else number)


class _Example(NamedTuple):
    """A row, who read it, what was written for it, and the step that the log had reached with it."""

    parts: Wording
    grammar: Learnable
    written: tuple[Written, ...]
    reached: int | None
    raw: str


class Column(NamedTuple):
    """Which number of a row is a metric."""

    name: str  # as logged
    slot: int  # the number
    factor: float  # what makes a value of it
    also: tuple[int, ...] = ()  # numbers that are always equal to it, any of which may be the metric
    below: int = 0  # lines below the first one
    summed: bool = False  # each is added to those before


class Step(NamedTuple):
    """How a row says its step: one of its numbers and a constant, or the epochs before times the length of one."""

    slot: int = -1  # the number, -1 if the row says none
    offset: int = 0  # what is added to it
    epoch: int = -1  # the number of the epoch, -1 if it does not matter
    length: int = 0  # steps of an epoch
    base: int = 0  # the first epoch
    follows: bool = False  # it is the step that the log has reached

    def slots(self) -> set[int]:
        """The numbers that matter."""
        return {self.slot, self.epoch} - {-1}

    def of(self, numbers: Mapping[int, Values]) -> Integers:
        """int64, shape (n_rows,): the steps of rows."""
        steps = numbers[self.slot] + self.offset
        if self.epoch >= 0:
            steps = steps + (numbers[self.epoch] - self.base) * self.length
        return steps.astype(np.int64)


class _Begin(NamedTuple):
    """The first row of an epoch, which tells less than the others: the time of a batch that workers were started for is none."""

    names: tuple[str, ...]  # its metrics
    at: float  # the number that says its step


class Shape(NamedTuple):
    """How rows of one wording are read."""

    key: tuple[str, ...]  # the wording
    anchor: bytes  # the longest text that stands in every row as it is
    whole: WholeRows  # a whole record; groups are the time, if it counts, and the numbers that do
    loose: WholeRows  # the same with groups that may hold what is no number
    timed: bool  # whether the first group is the time
    step: Step  # how they say their step
    slots: tuple[int, ...]  # the numbers that are groups, in order
    columns: tuple[Column, ...]  # its metrics
    rank: int | None  # the rank that its prefix names
    grammar: Learnable  # who reads them one by one
    examples: list[_Example]  # some of the rows that it was learned from
    signed: set[int]  # numbers that were met below zero; placeholders are negative
    lines: int  # how many of the log are a row
    indent: int  # blanks before the last line of several; what follows and has as many belongs to the row
    begin: _Begin | None  # what rows at the beginning of an epoch are, if they tell less


class LearnedBlocks:
    """Watches rows that are read one by one, and reads their like in blocks.

    Attributes:
        more: Whether a wording was learned since rows were last looked for.
    """

    def __init__(self) -> None:
        self._wordings: dict[tuple[str, ...], list[_Example]] = {}
        self._shapes: dict[tuple[str, ...], Shape] = {}
        self._given_up: set[tuple[str, ...]] = set()
        self._reached: dict[tuple[str, ...], int] = {}
        self._falls: Counter[tuple[str, ...]] = Counter()
        self._repeats: set[tuple[str, ...]] = set()
        self.more = False

    def watch(
        self, line: LogLine, grammar: Learnable, written: tuple[Written, ...], step: int | None
    ) -> None:
        """Note what was written for a line.

        Args:
            line: The line.
            grammar: Who read it.
            written: Its points.
            step: The step that the log has reached with it.
        """
        parts = wording_of(line)
        if parts is None or parts.key in self._given_up:
            return
        seen = _Example(parts, grammar, written, step, line.raw)
        if (shape := self._shapes.get(parts.key)) is not None:
            if not _agrees(shape, seen):
                # Another epoch, or another launch: learn anew, with rows of the one before.
                del self._shapes[parts.key], self._falls[parts.key]
                self._wordings[parts.key] = [*shape.examples[:KEPT_EXAMPLES], seen]
                return
            shape.signed.update(_below_zero(seen))
            if step is not None:
                last = self._reached.get(parts.key)
                self._falls[parts.key] += last is not None and step < last
                self._repeats.update((parts.key,) * (step == last))
                self._reached[parts.key] = step
            return
        if parts.key not in self._wordings and len(self._wordings) >= MAX_WORDINGS:
            self._wordings.pop(next(iter(self._wordings)))
        rows = self._wordings.setdefault(parts.key, [])
        rows.append(seen)
        if len(rows) < EXAMPLES or len(rows) % EXAMPLES:
            return
        shape = _learn(rows) or _learn(rows[-EXAMPLES:])
        if shape is not None and len(self._shapes) < MAX_SHAPES:
            self._shapes[parts.key], self.more = shape, True
            if any(row.reached == other.reached for row, other in pairwise(rows)):
                self._repeats.add(parts.key)
        if shape is not None or len(rows) >= MAX_EXAMPLES:
            del self._wordings[parts.key]
            if shape is None:
                self._given_up.add(parts.key)

    def batches(self, block: Block, reached: int | None, begin: int = 0) -> Iterator[Batch]:
        """The rows of a block that need not be read one by one.

        Args:
            block: The block.
            reached: The step that the log has reached.
            begin: Where the part of the block that is left begins.
        """
        self.more = False
        found: dict[tuple[bytes, int, int], tuple[Records, bytes]] = {}
        kept: dict[Keeper, list[Alike]] = {}
        for shape in self._shapes.values():
            if not shape.grammar.rows_stand_alone:
                continue
            kind = shape.anchor, shape.lines, shape.indent
            if kind not in found:
                found[kind] = _records(*kind, block, begin)
            falls = self._falls[shape.key] >= FALLS and shape.step.epoch < 0
            repeats = shape.key in self._repeats
            # Another wording may be further on: a restart shows in what this one printed before.
            last = None if falls else self._reached.get(shape.key, reached)
            rows = _rows(shape, *found[kind], last, falls=falls, repeats=repeats)
            if rows is None:
                continue
            if isinstance(shape.grammar, Keeper):
                names = tuple(column.name for column in shape.columns)
                alike = Alike(names, rows.records, np.column_stack(rows.values), shape.rank, rows.times_s)
                kept.setdefault(shape.grammar, []).append(alike)
            else:
                yield LearnedBatch(shape, rows)
        for keeper, parts in kept.items():
            yield keeper.batch(parts, block)


def _records(anchor: bytes, count: int, indent: int, block: Block, begin: int) -> tuple[Records, bytes]:
    """The records of a block, of so many lines each, that begin at a position or below it and hold an anchor in the first, and their text."""
    positions = np.array([at for at, _ in find_each(block.data, [(0, anchor or b"\n")])], np.int64)
    places = distinct(np.searchsorted(block.breaks, positions))
    edges = np.concatenate(([-1], block.breaks, [len(block.data)]))
    places = places[places + count < edges.size]
    starts, ends = edges[places] + 1, edges[places + count]
    short = (ends - starts <= 4 * MAX_ROW_CHARACTERS) & (starts >= begin)
    if count > 1:
        short &= np.array(
            [not block.data[end + 1 : end + 1 + indent].isspace() for end in ends.tolist()], np.bool_
        )
    found = Records(starts[short], ends[short], np.searchsorted(block.newlines, starts[short]))
    return found, found.text(block.data, count)


def _below_zero(row: _Example) -> set[int]:
    return {slot for slot, number in enumerate(row.parts.numbers) if number.startswith("-")}


def _agrees(shape: Shape, row: _Example) -> bool:
    parts, written = row.parts, row.written
    begins = shape.begin is not None and shape.begin == _begin_of(row, shape.step)
    numbers = {slot: np.array([_value(parts.numbers[slot])]) for slot in shape.step.slots()}
    told = int(shape.step.of(numbers)[0]) if shape.step.slot >= 0 else None
    step = row.reached if shape.step.follows else told
    expected = {column.name: _value(parts.numbers[column.slot]) * column.factor for column in shape.columns}
    return (len(written) == len(expected) or begins) and all(
        point.name in expected
        and isclose(point.value, expected[point.name], rel_tol=1e-12)
        and point.step == step
        and point.rank == shape.rank
        for point in written
    )


def _learn(rows: list[_Example]) -> Shape | None:
    """How the rows of a wording are read, None if they do not agree on it."""
    first = max(rows, key=lambda row: len(row.written))
    names = _names(first)
    same = all(
        {*_names(row)} <= {*names}
        and len({(point.step, point.rank) for point in row.written}) == 1
        and (row.written[0].step is None or row.written[0].step == row.reached)
        and row.written[0].rank == first.written[0].rank
        and row.grammar is first.grammar
        for row in rows
    )
    if not same or len(set(names)) != len(names):
        return None
    numbers, told = _numbers(rows), np.array([_names(row) == names for row in rows])
    _, several, last = first.raw.rpartition(BREAK)
    indent = len(last) - len(last.lstrip(" ")) if several else 0
    step = Step(follows=True) if several else _step_of(numbers, [row.written[0].step for row in rows])
    values = np.array([[point.value for point in row.written] for row in rows if _names(row) == names])
    columns = [_column(first.written[at], values[:, at], numbers[told], first.parts) for at in range(len(names))]  # fmt: skip
    timed = first.written[0].time_s is not None
    if step is None or None in columns or (timed and (several or "\0" not in first.parts.key[0])):
        return None
    if (several and not indent) or not (told.all() or _begin_epochs(numbers, step, told)):
        return None  # nothing shows whether what follows belongs to the row, or why a row tells less
    found = tuple(_at_its_line(column, first.parts) for column in columns if column is not None)
    slots = tuple(sorted({slot for column in found for slot in (column.slot, *column.also)} | step.slots()))
    text = "\n".join(row.raw for row in rows).encode("utf-8", "replace")
    loose, whole = (
        WholeRows(expression_of(first.parts.key, slots, timed=timed, loose=loose)) for loose in (True, False)
    )
    if whole.match(text, len(rows))[0].size < len(rows):
        return None
    return Shape(
        first.parts.key,
        anchor_of(first.parts.key),
        whole,
        loose if loose.match(text, len(rows))[0].size == len(rows) else whole,
        timed,
        step,
        slots,
        found,
        first.written[0].rank,
        first.grammar,
        rows[-KEPT_EXAMPLES:],
        set().union(*map(_below_zero, rows)),
        first.raw.count(BREAK) + 1,
        indent,
        next((_begin_of(row, step) for row in rows if _names(row) != names), None),
    )


def _names(row: _Example) -> tuple[str, ...]:
    return tuple(point.name for point in row.written)


def _numbers(rows: list[_Example]) -> Values:
    return np.array([[_value(number) for number in row.parts.numbers] for row in rows])


def _begin_of(row: _Example, step: Step) -> _Begin:
    return _Begin(_names(row), _value(row.parts.numbers[step.slot]) if step.slot >= 0 else -1.0)


def _begin_epochs(numbers: Values, step: Step, told: Mask) -> bool:
    """Whether rows that tell less than others all begin an epoch, which is then read row by row: the first of all, or behind one of another."""
    less = np.flatnonzero(~told)
    behind = less[less > 0]
    if step.epoch < 0:
        return not behind.size and step.slot >= 0
    epochs = numbers[:, step.epoch]
    return bool((epochs[behind] != epochs[behind - 1]).all() and np.ptp(numbers[less, step.slot]) == 0)


def _at_its_line(column: Column, parts: Wording) -> Column:
    return column._replace(below="".join(parts.key[: column.slot + 2]).count(BREAK))


def _step_of(numbers: Values, steps: list[int | None]) -> Step | None:
    """How rows say their step, None if that is not clear."""
    if all(step is None for step in steps):
        return Step(epoch=_counter(numbers))
    if any(step is None for step in steps):
        return None
    told = np.array(steps, np.float64)
    if np.any(np.diff(told) < 0) or np.ptp(told) == 0:
        return None
    away = told[:, None] - numbers
    varies = np.ptp(numbers, axis=0) > 0
    whole = np.all(numbers == np.floor(numbers), axis=0)
    fits = [slot for slot in np.flatnonzero(varies & whole).tolist() if np.ptp(away[:, slot]) == 0]
    if fits:
        slot = next((slot for slot in fits if away[0, slot] == 0), fits[0])
        return Step(slot, int(away[0, slot]))
    for epoch, slot in product(np.flatnonzero(varies & whole).tolist(), repeat=2):
        epochs, missing = numbers[:, epoch] - numbers[0, epoch], away[:, slot]
        length = (missing[-1] - missing[0]) / epochs[-1] if epochs[-1] else 0.0
        if epoch == slot or length < 1 or not np.array_equal(missing, missing[0] + epochs * length):
            continue
        base = numbers[0, epoch] - missing[0] / length
        if length == np.floor(length) and base == np.floor(base):
            return Step(slot, 0, epoch, int(length), int(base))
    return None


def _counter(numbers: Values) -> int:
    """The number that counts up, as an epoch does, and may begin again, with its second row where the first tells of it; -1 if none does."""
    steps, first = np.diff(numbers, axis=0), numbers.min(axis=0)
    up, again = steps == 1, (numbers[1:] == first) | ((steps < 0) & (numbers[1:] == first + 1))
    counts: list[int] = np.flatnonzero(np.all(up | again, axis=0) & (2 * up.sum(axis=0) > len(up))).tolist()
    return counts[0] if counts and len(numbers) > 1 else -1


def _column(metric: Written, values: Values, numbers: Values, parts: Wording) -> Column | None:
    """The number that is a metric; of several that fit the one whose words say its name, else any as long as all are equal."""
    fits: list[Column] = []
    for slot in range(numbers.shape[1]):
        number = numbers[:, slot]
        if not number.any() and parts.after[slot] not in _PLAIN_AFTER:
            continue  # zeros do not show what the unit behind them makes of a number
        for factor in _FACTORS if number.any() else (1.0,):
            if (np.abs(values - number * factor) <= 1e-12 * np.abs(number * factor)).all():
                fits.append(Column(metric.name, slot, factor, summed=metric.summed))
                break
    # A number that is the value as it stands is the metric; another times a factor only happens to be.
    fits = [column for column in fits if column.factor == 1.0] or fits
    if len(fits) > 1:
        word = re.sub(r"\W|_", "", metric.name.rpartition("/")[2].lower())
        said = [
            column
            for column in fits
            if re.sub(r"\W|_", "", parts.key[column.slot + 1].lower()).endswith(word)
        ]
        fits = said if len(said) == 1 else fits
    if len({column.factor for column in fits}) != 1:
        return None
    return fits[0]._replace(also=tuple(column.slot for column in fits[1:]))


_FACTORS = (1.0, 1e-3, 1e-2, 1e3, 1e6, 1e9, 1e12, 2.0**-10, 2.0**-20, 1024.0)  # see ``row_forms.with_unit``


class _Rows(NamedTuple):
    """Rows of one wording in one block: where they stand, their steps if they say any, and their values column by column."""

    records: Records
    steps: Integers | None
    values: list[Values]
    times_s: Values


def _rows(
    shape: Shape, records: Records, text: bytes, reached: int | None, *, falls: bool, repeats: bool
) -> _Rows | None:
    if records.starts.size < EXAMPLES:
        return None
    count = records.starts.size
    places, columns = shape.loose.match(text, count)
    try:
        numbers = dict(zip(shape.slots, map(floats, columns[shape.timed :]), strict=True))
    except ValueError:
        places, columns = shape.whole.match(text, count)
        numbers = dict(zip(shape.slots, map(floats, columns[shape.timed :]), strict=True))
    if places.size < EXAMPLES:
        return None
    steps = shape.step.of(numbers) if shape.step.slot >= 0 else None
    begins = np.zeros(0, np.int64) if steps is None else np.flatnonzero(np.diff(steps) < 0) + 1
    # A restart or an epoch: how counting goes on is not for an expression to say.
    end = int(begins[0]) if begins.size and not falls else places.size
    if end < EXAMPLES or (steps is not None and reached is not None and steps[0] < reached):
        return None
    if steps is not None and not repeats and bool((np.diff(steps) == 0).any()):
        return None  # another program may print the same
    kept = np.ones(places.size, np.bool_)
    kept[0] = kept[end - 1 :] = False
    if shape.step.epoch >= 0:
        epochs = np.diff(numbers[shape.step.epoch])
        begins = np.flatnonzero(epochs if steps is not None else epochs < 0) + 1
    kept[begins] = kept[begins - 1] = False
    for slot in set(shape.slots) - shape.signed:
        kept &= numbers[slot] >= 0
    for column in shape.columns:
        for slot in column.also:
            kept &= numbers[slot] == numbers[column.slot]
    values = [numbers[column.slot][kept] * column.factor for column in shape.columns]
    times_s = _times(columns[0])[kept] if shape.timed else np.full(int(kept.sum()), np.nan)
    return _Rows(records.only(places[kept]), None if steps is None else steps[kept], values, times_s)


class LearnedBatch(Batch):
    """Rows of one wording in one block."""

    def __init__(self, shape: Shape, rows: _Rows) -> None:
        super().__init__(rows.records)
        self._shape, self._values, self._times_s = shape, rows.values, rows.times_s
        self._has_steps, self.follows = rows.steps is not None, shape.step.follows
        if rows.steps is not None:
            self.steps = rows.steps

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        step = int(self.steps[index]) if self._has_steps else None
        if step is not None:
            log.saw_step(step)
        at = log.step if self.follows else step
        line = int(self.lines[index])
        for column, values in zip(self._shape.columns, self._values, strict=True):
            number = block.number(line + column.below)
            time_s = float(self._times_s[index]) if self._shape.timed else block.time_s(line + column.below)
            log.point(column.name, float(values[index]), at, number, self._shape.rank, time_s, summed=column.summed)  # fmt: skip
        self._shape.grammar.passed(1, block.number(line), step)

    def ready(self, low: int, high: int, log: LogState) -> bool:  # noqa: ARG002
        """See ``Batch.ready``."""
        return all(log.has_curve(column.name, self._shape.rank) for column in self._shape.columns)

    def take_all(self, low: int, high: int, numbers: Integers, log: LogState) -> Iterable[CurvePart]:
        """See ``Batch.take_all``."""
        rank, places = self._shape.rank, slice(low, high)
        step = int(self.steps[high - 1]) if self._has_steps else None
        self._shape.grammar.passed(high - low, int(numbers[-1]), step)
        for column, values in zip(self._shape.columns, self._values, strict=True):
            written = log.summed(column.name, rank, values[places]) if column.summed else values[places]
            yield CurvePart(column.name, rank, self.starts[places], self.steps[places], written, numbers + column.below, self._times_s[places])  # fmt: skip


def _times(clocks: list[bytes]) -> Values:
    """float64, shape (n_clocks,): unix seconds of dates with times; the day is worked out once."""
    text = np.array(clocks, "S29").view(np.uint8).reshape(len(clocks), 29)  # with nine digits of a second
    digits = np.maximum(text[:, 20:].astype(np.int64) - ord("0"), 0)
    times_s: Values = unix_s(text[:, :19], _day_s) + digits @ _TENS / 1e9
    return times_s


def _day_s(day: bytes) -> float | None:
    return peel(f"{day.decode()} 00:00:00 - x - INFO - y").time_s
