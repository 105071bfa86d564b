r"""The fast reader of timing traces: whole blocks of events in the line layout that PyTorch writes.

    {
      "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7,
      "ts": 3923968026653.408, "dur": 2.816,
      "args": {
        "External id": 6, "stream": 7, "correlation": 42451
      }
    },

(with two more blanks before each line). Nothing is parsed as JSON: keys are found by their eight first bytes
behind a quotation mark, and numbers are read digit by digit for all events at once. An unescaped quotation mark
before ``key": `` can only be a key, because no string of valid JSON holds one. A block that does not look like this
in every event is refused, and the slower reader takes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from analyzer.model.arrays import Integers, Mask
from analyzer.model.ranked import distinct_of
from analyzer.record import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]

SEPARATOR = b"\n  },\n"
"""Stands between two events of this layout; no JSON string can hold a bare line feed."""

_PAD = b"\n" * 64
_QUOTE = 34
_BACKSLASH = 92
_MAX_DIGITS = 19
"""More do not fit into 63 bits; of 19 those up to 9.2e18 do, and a larger number shows by its sign."""

_ENDS_NUMBER = np.zeros(256, bool)
_ENDS_NUMBER[[44, 10, 13, 32, 125, 93]] = True  # , line ends, blank, closing brackets


_MASKS: npt.NDArray[np.uint64] = np.array([(1 << (8 * number)) - 1 for number in range(9)], np.uint64)


class _Key:
    """A key with the text up to its value: found by at most eight bytes, then checked by the rest."""

    def __init__(self, text: str) -> None:
        raw = text.encode()
        self.length = len(raw)
        self.mask = np.uint64((1 << (8 * min(8, len(raw)))) - 1)
        self.word = np.uint64(int.from_bytes(raw[:8], "little"))
        self.rest = np.frombuffer(raw[8:], np.uint8)


_PHASE = _Key('ph": "')
_COMPLETE = _Key('ph": "X"')
_CATEGORY = _Key('cat": "')
_NAME = _Key('name": "')
_NUMBERS = {
    "start_ns": (_Key('ts": '), 24),
    "duration_ns": (_Key('dur": '), 20),
    "process": (_Key('pid": '), 12),
    "thread": (_Key('tid": '), 20),
    "stream": (_Key('stream": '), 12),
    "correlation": (_Key('correlation": '), 12),
    "external": (_Key('External id": '), 12),
    "record": (_Key('Record function id": '), 12),
}
"""Columns of numbers: key and the widest text of a value."""

_TIMES = ("start_ns", "duration_ns")


_TWO_BYTES = np.uint64(0xFFFF)
_BEGINS_KEY = np.zeros(1 << 16, bool)
_BEGINS_KEY[
    [int(key.word) & 0xFFFF for key in (_PHASE, _CATEGORY, _NAME, *(key for key, _ in _NUMBERS.values()))]
] = True


class _Block:
    """Bytes of whole events with the places of all quotation marks."""

    def __init__(self, block: bytes) -> None:
        self.text = block + _PAD
        self.bytes: Bytes = np.frombuffer(self.text, np.uint8)
        self.words = np.ndarray((self.bytes.size - 7,), "<u8", self.text, strides=(1,))
        body = self.bytes[: len(block)]
        quotes = np.flatnonzero(body == _QUOTE)
        escaped = self.bytes[quotes - 1] == _BACKSLASH
        # After an escaped backslash only a parser can tell whether a quotation mark ends its string.
        self.is_plain = not (self.bytes[quotes[escaped] - 2] == _BACKSLASH).any()
        self.quotes = quotes[~escaped]
        behind = self.words[self.quotes + 1]
        self.rows = np.flatnonzero(_BEGINS_KEY[behind & _TWO_BYTES])
        self.behind = behind[self.rows]
        lines = np.flatnonzero(body == 10)
        starts = lines[(self.words[lines + 1] & np.uint64(0xFFFFFFFF)) == np.uint64(0x0A7B2020)]  # "  {\n"
        self.starts = (
            np.concatenate([[-1], starts]) if not starts.size or body[:4].tobytes() == b"  {\n" else starts
        )

    def find(self, key: _Key) -> tuple[Integers, Integers]:
        """Index into ``quotes`` and event of each place at which the key stands."""
        rows = self.rows[(self.behind & key.mask) == key.word]
        if key.rest.size:
            at = self.quotes[rows] + 9
            same = np.ones(rows.size, bool)
            for offset, byte in enumerate(key.rest):
                same &= self.bytes[at + offset] == byte
            rows = rows[same]
        return rows, np.searchsorted(self.starts, self.quotes[rows], side="right") - 1

    def first_of_each(self, key: _Key) -> Integers:
        """For each event the index into ``quotes`` of the key's first place, ``NONE`` where it has none."""
        rows, events = self.find(key)
        found = np.full(self.starts.size, NONE, np.int64)
        found[events[::-1]] = rows[::-1]
        return found


def read_block(block: bytes, out: ColumnWriter) -> int | None:
    """Append the events of a block that have a duration.

    Args:
        block: Whole events: from the line of the first opening bracket to the one of the last closing bracket.
        out: Where the columns grow.

    Returns:
        Number of events appended, or None if the block has another layout; nothing is appended then.
    """
    text = _Block(block)
    events = text.find(_COMPLETE)[1]
    one_each = text.find(_PHASE)[0].size == text.starts.size and bool((np.diff(events) > 0).all())
    if not text.is_plain or not one_each:
        return None
    columns: dict[str, Integers] = {}
    for column, (key, width) in _NUMBERS.items():
        places = text.first_of_each(key)[events]
        values = _numbers(text, places, key, width, is_time=column in _TIMES)
        if values is None or (column in _TIMES and (values == NONE).any()):
            return None
        columns[column] = values
    names, categories = text.first_of_each(_NAME)[events], text.first_of_each(_CATEGORY)[events]
    if (names == NONE).any() or (categories == NONE).any():
        return None
    out.add(name=_names(text, names, out), category=_categories(text, categories, out), **columns)
    return int(events.size)


def _numbers(text: _Block, places: Integers, key: _Key, width: int, *, is_time: bool) -> Integers | None:
    """Values behind a key: whole numbers, or times in microseconds as ns; None if any is written otherwise."""
    values = np.full(places.size, NONE, np.int64)
    given = np.flatnonzero(places != NONE)
    if not given.size:
        return values
    at = text.quotes[places[given]] + 1 + key.length
    plain = (
        text.bytes[at] - np.uint8(48)
    ) < 10  # a text such as "Spans", or a negative number, is none of ours
    if not plain.all():
        if is_time:
            return None
        given, at = given[plain], at[plain]
    if not at.size:
        return values
    number = np.zeros(at.size, np.int64)
    decimals = np.zeros(at.size, np.int64)
    digits = np.zeros(at.size, np.int64)
    open_ = np.ones(at.size, bool)
    behind_dot = np.zeros(at.size, bool)
    for offset in range(width + 1):
        byte = text.bytes[at + offset]
        digit = byte - np.uint8(48)
        is_digit = open_ & (digit < 10)
        number = np.where(is_digit, number * 10 + digit, number)
        digits += is_digit
        decimals += is_digit & behind_dot
        is_dot = open_ & (byte == 46) & ~behind_dot
        behind_dot |= is_dot
        ends = open_ & ~is_digit & ~is_dot
        if ends.any():
            if not _ENDS_NUMBER[byte[ends]].all():
                return None
            open_ &= ~ends
            if not open_.any():
                break
    too_long = digits.max() > _MAX_DIGITS or (digits - decimals).max() > _MAX_DIGITS - 3 or number.min() < 0
    if open_.any() or too_long or (not is_time and behind_dot.any()):
        return None
    values[given] = _to_ns(number, decimals) if is_time else number
    return values


def _to_ns(number: Integers, decimals: Integers) -> Integers:
    """Digits of microseconds with the given decimals as ns, half a nanosecond rounded up."""
    shift = 3 - decimals
    up = number * 10 ** np.clip(shift, 0, 3)
    divisor = 10 ** np.clip(-shift, 0, _MAX_DIGITS - 1)
    return np.where(shift >= 0, up, (number + divisor // 2) // divisor)


def _names(text: _Block, places: Integers, out: ColumnWriter) -> Integers:
    starts = (text.quotes[places + 2] + 1).tolist()
    ends = text.quotes[places + 3].tolist()
    raw = text.text
    found = map(raw.__getitem__, map(slice, starts, ends))
    return np.fromiter(map(out.raw_names.__getitem__, found), np.int64, len(starts))


def _categories(text: _Block, places: Integers, out: ColumnWriter) -> Integers:
    """Codes of categories; a category is known by its first 16 bytes and its length."""
    starts = text.quotes[places + 2] + 1
    lengths = text.quotes[places + 3] - starts
    first = text.words[starts] & _low_bytes(lengths)
    second = text.words[starts + 8] & _low_bytes(lengths - 8)
    mixed = first ^ (second * np.uint64(0x9E3779B97F4A7C15)) ^ lengths.astype(np.uint64)
    distinct = distinct_of(mixed)
    examples = [int(np.argmax(mixed == value)) for value in distinct]
    raws = [text.text[int(starts[row]) : int(starts[row] + lengths[row])] for row in examples]
    codes: Integers = np.array([out.category_code(plain_text(raw)) for raw in raws], np.int64)
    found: Integers = codes[np.searchsorted(distinct, mixed)]
    return found


def _low_bytes(count: Integers) -> npt.NDArray[np.uint64]:
    """Masks of the lowest ``count`` bytes of a word, 0 to 8."""
    masks: npt.NDArray[np.uint64] = _MASKS[np.clip(count, 0, 8)]
    return masks


NONE = -1
"""Stands for "not given" in columns of numbers that are never negative."""

CATEGORIES: Mapping[str, str] = {
    "Operator": "cpu_op", "Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset", "Runtime": "cuda_runtime",
}  # fmt: skip
"""Categories of files before torch 1.13, as newer ones call them."""

MAX_NAMES = 200_000
"""Distinct names kept; a trace of a large model has some thousands."""

MAX_NAME = 1_000
"""Characters; templates make names of kernels long."""

OTHER_NAME = "(other)"

_DTYPES = {
    "start_ns": "int64", "duration_ns": "int64", "name": "int32", "category": "int16", "process": "int64", "thread": "int64",
    "stream": "int32", "correlation": "int32", "external": "int32", "record": "int32",
}  # fmt: skip


@dataclass(frozen=True)
class TraceColumns:
    """Events with a duration, as columns of shape (n_events,); ``NONE`` where an event does not say."""

    names: tuple[str, ...]  # names; ``name`` indexes into it
    categories: tuple[str, ...]  # categories; ``category`` indexes into it
    start_ns: Integers  # int64, start in ns on the clock of the file
    duration_ns: Integers  # int64
    name: npt.NDArray[np.int32]  # int32
    category: npt.NDArray[np.int16]  # int16
    process: Integers  # int64, process id, or the device of a kernel
    thread: Integers  # int64, thread id
    stream: npt.NDArray[np.int32]  # int32, stream of the device
    correlation: npt.NDArray[np.int32]  # int32, ties a kernel to the call that launched it
    external: npt.NDArray[np.int32]  # int32, ties a call or kernel to its operator
    record: npt.NDArray[np.int32]  # int32, ties an operator to the node of an execution trace

    def __len__(self) -> int:
        return int(self.start_ns.size)

    @property
    def end_ns(self) -> Integers:
        """End of each event."""
        return self.start_ns + self.duration_ns

    def of(self, *categories: str) -> Mask:
        """Events of the given categories, bool of shape (n_events,)."""
        codes = [code for code, name in enumerate(self.categories) if name in categories]
        return np.isin(self.category, codes)


def plain_text(raw: bytes) -> str:
    r"""The text of a JSON string between its quotation marks.

    >>> plain_text(b'a\\"b')
    'a"b'
    """
    if b"\\" in raw:
        try:
            return str(json.loads(b'"' + raw + b'"', strict=False))
        except ValueError:
            pass
    return raw.decode("utf-8", "replace")


class _RawNames(dict[bytes, int]):
    """Code of each name as it stands in the file, escapes and all."""

    def __init__(self, writer: ColumnWriter) -> None:
        super().__init__()
        self._writer = writer

    def __missing__(self, raw: bytes) -> int:
        code = self._writer.name_code(plain_text(raw))
        if len(self) < MAX_NAMES:
            self[raw] = code
        return code


class ColumnWriter:
    """Grows the columns block by block; ``finish`` joins them, one column at a time."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.categories: dict[str, int] = {}
        self._parts: dict[str, list[npt.NDArray[np.generic]]] = {name: [] for name in _DTYPES}
        self.events = 0
        self.raw_names = _RawNames(self)

    def name_code(self, name: str) -> int:
        """The code of a name, cut to ``MAX_NAME``; of a name too many that of ``OTHER_NAME``."""
        name = name[:MAX_NAME]
        if len(self.names) >= MAX_NAMES and name not in self.names:
            name = OTHER_NAME
        return self.names.setdefault(name, len(self.names))

    def category_code(self, category: str) -> int:
        """The code of a category."""
        return self.categories.setdefault(CATEGORIES.get(category, category), len(self.categories))

    def add(self, **columns: npt.ArrayLike) -> None:
        """Append a block: one array a column, each of shape (n_events,), narrowed with ``NONE`` where too large."""
        for name, dtype in _DTYPES.items():
            values = np.asarray(columns[name])
            if values.dtype != np.dtype(dtype):
                limits = np.iinfo(dtype)
                values = np.where((values < limits.min) | (values > limits.max), NONE, values).astype(dtype)
            self._parts[name].append(values)
        self.events += int(np.asarray(columns["start_ns"]).size)

    def finish(self) -> TraceColumns:
        """All blocks as one table."""
        joined = {}
        for name, dtype in _DTYPES.items():
            parts = self._parts.pop(name)
            joined[name] = np.concatenate(parts) if parts else np.zeros(0, dtype)
        return TraceColumns(tuple(self.names), tuple(self.categories), **joined)
