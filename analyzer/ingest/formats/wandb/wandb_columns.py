"""Numbers of many ``.wandb`` records as columns by key, found with array operations in batches of records.

What is found is believed only if the items of a record follow each other without a gap from the record's
first byte to its last; every other record is decoded field by field, so both ways give the same points.
Not for what the columns mean: see ``wandb_history``. The bytes of an item are shown in ``wandb_items``.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.encodings.protobuf_wire import WireError, fields, signed
from analyzer.ingest.formats.wandb.wandb_items import (
    NUMBER_BYTES,
    NUMBER_STARTS,
    items,
    logged_numbers,
    read_item,
)
from analyzer.ingest.metric_columns import MAX_METRICS
from analyzer.model.tables import NULL_INT
from analyzer.record import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    Bools = npt.NDArray[np.bool_]
    Bytes = npt.NDArray[np.uint8]
    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

# Items of many ``.wandb`` records at once, with array operations over their joined bytes.
#
# An item is found by its first byte, and believed only if the items of its record follow each other without a
# gap from the record's first byte to its last, or to the step field behind them (``12 02 08 05``: step 5). All
# other records are left to be decoded field by field. The bytes of an item are shown in ``wandb_items``.
PADDING = bytes(4096)
"""What must follow the bytes: nothing is looked at further than _MAX_KEYS * (2 + 255) + 32 bytes behind them."""

_MAX_KEYS = 4  # levels of nested keys looked for; records with deeper ones are decoded field by field
_KEY, _NESTED_KEY, _STEP, _STEP_NUMBER = 0x0A, 0x12, 0x12, 0x08  # first bytes of those fields
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio, as in Fibonacci hashing
_LOW_BYTES = np.array([(1 << 8 * size) - 1 for size in range(8)] + [2**64 - 1], np.uint64)


class FoundItems(NamedTuple):
    """What was found in a batch of records.

    Attributes:
        row, key, key_stop, value, value_stop: int64, shape (n_items,): record, and bounds of key and value.
        steps: int64, shape (n_rows,): number in the step field, ``NULL_INT`` if there is none.
        undecided: int64: rows that must be decoded field by field; none of their items is listed.
    """

    row: Ints
    key: Ints
    key_stop: Ints
    value: Ints
    value_stop: Ints
    steps: Ints
    undecided: Ints

    def select(self, wanted: Bools) -> FoundItems:
        """The same with some of the items only."""
        if wanted.all():
            return self
        return self._replace(
            row=self.row[wanted],
            key=self.key[wanted],
            key_stop=self.key_stop[wanted],
            value=self.value[wanted],
            value_stop=self.value_stop[wanted],
        )


def _length(padded: Bytes, at: Ints) -> tuple[Ints, Ints, Bools]:
    """Value of a varint of one or two bytes, the offset behind it, and whether it is no longer than that."""
    low = padded[at].astype(np.int64)
    is_long = low >= 0x80
    if not is_long.any():
        return low, at + 1, ~is_long
    high = padded[at + 1].astype(np.int64)
    return np.where(is_long, (low & 0x7F) | high << 7, low), at + 1 + is_long, ~is_long | (high < 0x80)


def find_items(padded: Bytes, ends: Ints, tag: int) -> FoundItems:
    """Find the items of records that lie one behind the other.

    Args:
        padded: uint8: the records and ``PADDING``.
        ends: int64, shape (n_rows,): where each record ends.
        tag: First byte of an item.
    """
    size = int(ends[-1])
    at = np.flatnonzero(padded[:size] == tag)
    length, body, sane = _length(padded, at + 1)
    first = padded[body]
    sane &= (first == _KEY) | (first == _NESTED_KEY)
    at, length, body = at[sane], length[sane], body[sane]
    behind, sane = body, np.ones(body.shape, bool)
    for _ in range(_MAX_KEYS):
        is_key = (padded[behind] == _KEY) | (padded[behind] == _NESTED_KEY)
        if not is_key.any():
            break
        key_bytes = padded[behind + 1].astype(np.int64)
        sane &= ~is_key | (key_bytes < 0x80)
        behind = np.where(is_key, behind + 2 + key_bytes, behind)
    sane &= (padded[behind] == 0x82) & (padded[behind + 1] == 0x01)  # value_json
    value_bytes, value, short = _length(padded, behind + 2)
    stop = value + value_bytes
    sane &= short & (stop == body + length)
    if not sane.all():
        at, body, behind, value, stop = (column[sane] for column in (at, body, behind, value, stop))
    row = np.searchsorted(ends, at, side="right")
    chained, steps = _chained_rows(padded, ends, at, stop, row)
    found = FoundItems(row, body, behind, value, stop, steps, np.flatnonzero(~chained))
    return found.select(chained[row])


def _chained_rows(padded: Bytes, ends: Ints, at: Ints, stop: Ints, row: Ints) -> tuple[Bools, Ints]:
    """Whether the items of each row follow each other from its first byte to its end or its step, and the step."""
    chained = np.zeros(ends.shape, bool)
    steps = np.full(ends.shape, NULL_INT, np.int64)
    if not at.size:
        return chained, steps
    chained[row] = True
    is_first = np.append(True, row[1:] != row[:-1])
    starts = np.append(0, ends[:-1])
    expected = np.where(is_first, starts[row], np.append(0, stop[:-1]))
    chained[row[at != expected]] = False
    last = np.flatnonzero(np.append(is_first[1:], True))
    tail, rest = stop[last], ends[row[last]] - stop[last]
    tail = np.where((rest < 0) | (rest > 12), 0, tail)  # never a step, and perhaps beyond the padding
    number, is_number = _varints(padded, tail + 3, rest - 3)
    is_zero = rest == 2
    is_step = (padded[tail] == _STEP) & (padded[tail + 1] == rest - 2)
    is_step &= is_zero | ((padded[tail + 2] == _STEP_NUMBER) & is_number)
    chained[row[last[(rest != 0) & ~is_step]]] = False
    steps[row[last[is_step]]] = np.where(is_zero, 0, number)[is_step]
    return chained, steps


def _varints(padded: Bytes, at: Ints, sizes: Ints) -> tuple[Ints, Bools]:
    """Values of varints of the given sizes, and whether they are varints of one to nine bytes."""
    value = np.zeros(at.shape, np.int64)
    is_varint = (sizes >= 1) & (sizes <= 9)
    for index in range(int(np.where(is_varint, sizes, 0).max(initial=0))):
        byte = padded[at + index].astype(np.int64)
        inside = index < sizes
        value |= np.where(inside, (byte & 0x7F) << 7 * index, 0)
        is_varint &= ~inside | ((byte >= 0x80) == (index < sizes - 1))
    return value, is_varint


def hash_spans(padded: Bytes, start: Ints, stop: Ints) -> npt.NDArray[np.uint64]:
    """64-bit hashes of spans of bytes, each byte taken in: equal spans have equal hashes, others practically never."""
    words = np.ndarray((padded.size - 7,), "<u8", padded, strides=(1,))
    sizes = stop - start
    hashes = sizes.astype(np.uint64)
    longest = int(sizes.max(initial=0))
    for offset in range(0, longest, 8):
        live = np.flatnonzero(sizes > offset) if offset else slice(None)
        left = np.minimum(sizes[live] - offset, 8)
        mixed = (hashes[live] ^ (words[start[live] + offset] & _LOW_BYTES[left])) * _HASH_FACTOR
        hashes[live] = mixed ^ (mixed >> np.uint64(29))
    return hashes


def numbers(padded: Bytes, start: Ints, stop: Ints) -> Floats:
    """float64 values of decimal texts of at most ``NUMBER_BYTES`` bytes.

    Raises:
        ValueError: One of them is not a number.
    """
    windows = np.lib.stride_tricks.sliding_window_view(padded, NUMBER_BYTES)
    texts = windows[start]
    texts *= np.arange(NUMBER_BYTES, dtype=np.int8) < (stop - start).astype(np.int8)[:, None]
    return texts.view(f"S{NUMBER_BYTES}").ravel().astype(np.float64)


# Enough records that the cost of each array operation vanishes, few enough for the processor's cache.
_BATCH_BYTES = 4 << 20

_IS_NUMBER = np.zeros(256, bool)
_IS_NUMBER[list(NUMBER_STARTS)] = True
_HAS_NO_NUMBER = np.zeros(256, bool)
_HAS_NO_NUMBER[list(b"[ntf")] = True  # lists, null, true, false


class ItemColumns:
    """Numbers of many records, by the dotted name of their key.

    Args:
        field: Field number of the items within their record. Behind them a record may hold a step.

    Attributes:
        records: Record number of each row.
        refused: Values left out because there were more than ``MAX_METRICS`` names.
        damaged: Rows that could be read in part only.
    """

    def __init__(self, field: int) -> None:
        self.records = array("q")
        self.refused = self.damaged = 0
        self._field = field
        self._payloads: list[memoryview] = []
        self._waiting_bytes = 0
        self._codes: dict[str, int] = {}
        self._names: list[str] = []
        self._media: set[str] = set()
        self._hashes = np.zeros(0, np.uint64)
        self._hash_codes = np.zeros(0, np.int64)
        self._steps: list[Ints] = []
        self._parts: dict[int, list[tuple[npt.NDArray[np.int32], Floats]]] = {}

    def __len__(self) -> int:
        return len(self.records)

    def add(self, record: int, payload: memoryview) -> None:
        """Append a row: the record's number and its bytes."""
        self.records.append(record)
        self._payloads.append(payload)
        self._waiting_bytes += len(payload)
        if self._waiting_bytes >= _BATCH_BYTES:
            self._read_batch()

    def steps(self) -> Ints:
        """int64, shape (n_rows,): the number in each row's step field, ``NULL_INT`` if there is none."""
        self._read_batch()
        return np.concatenate(self._steps) if self._steps else np.zeros(0, np.int64)

    def take(self) -> dict[str, list[tuple[npt.NDArray[np.int32], Floats]]]:
        """Rows (index into ``records``, ascending) and values of each name, in pieces; given away once."""
        self._read_batch()
        media = tuple(f"{name}." for name in self._media)
        parts, self._parts = self._parts, {}
        return {
            name: parts[code]
            for name, code in self._codes.items()
            if code in parts and not name.startswith(media)
        }

    def _read_batch(self) -> None:
        payloads = self._payloads
        if not payloads:
            return
        self._payloads, self._waiting_bytes = [], 0
        data = b"".join(payloads)
        padded = np.frombuffer(data + PADDING, np.uint8)
        found = find_items(padded, np.cumsum([len(payload) for payload in payloads]), self._field << 3 | 2)
        found = found.select(~_HAS_NO_NUMBER[padded[found.value]])
        codes = self._intern(data, padded, found)
        plain = _IS_NUMBER[padded[found.value]] & (found.value_stop - found.value <= NUMBER_BYTES)
        try:
            values = numbers(padded, found.value[plain], found.value_stop[plain])
        except ValueError:  # some value is not JSON; it is found, and left out, one by one
            values, plain = np.zeros(0), np.zeros_like(plain)
        points = self._odd_points(data, found.select(~plain), codes[~plain])
        for row in found.undecided.tolist():
            points += self._row_points(payloads[row], row, found.steps)
        self._store(codes[plain], found.row[plain], values, points, len(self.records) - len(payloads))
        self._steps.append(found.steps)

    def _odd_points(self, data: bytes, found: FoundItems, codes: Ints) -> list[tuple[int, int, float]]:
        """Code, row and number of values that are no plain numbers: texts such as "NaN", nested objects."""
        points: list[tuple[int, int, float]] = []
        for code, row, start, stop in zip(
            codes.tolist(), found.row.tolist(), found.value.tolist(), found.value_stop.tolist(), strict=True
        ):
            if code < 0 or (
                data[start] == 0x22 and stop - start > NUMBER_BYTES
            ):  # a text too long for a number
                continue
            points += self._points(self._names[code], data[start:stop], row)
        return points

    def _row_points(self, payload: memoryview, row: int, steps: Ints) -> list[tuple[int, int, float]]:
        """Code, row and number of each item of one record, decoded field by field; its step goes to ``steps``."""
        points: list[tuple[int, int, float]] = []
        try:
            for keys, text in items(payload, self._field):
                self._note_media(keys)
                points += self._points(".".join(keys), text, row)
            steps[row] = _step_field(payload)
        except WireError:
            self.damaged += 1
        return points

    def _points(self, name: str, text: bytes, row: int) -> Iterator[tuple[int, int, float]]:
        for dotted, number in logged_numbers(name, text):
            yield self._code(dotted), row, number

    def _note_media(self, keys: tuple[str, ...]) -> None:
        # A histogram or picture is an object with "_type"; its other members are no metrics.
        if len(keys) > 1 and keys[-1] == "_type":
            self._media.add(".".join(keys[:-1]))

    def _code(self, name: str) -> int:
        """Number of a name, -1 if there are too many."""
        code = self._codes.get(name)
        if code is None:
            if len(self._names) >= MAX_METRICS:
                return -1
            code = self._codes[name] = len(self._names)
            self._names.append(name)
        return code

    def _intern(self, data: bytes, padded: Bytes, found: FoundItems) -> Ints:
        """Code of each item's key, int64, shape (n_items,); -1 where there are too many names."""
        hashes = hash_spans(padded, found.key, found.key_stop)
        at, known = self._look_up(hashes)
        if not known.all() and len(self._names) < MAX_METRICS:
            new, index = np.unique(hashes[~known], return_index=True)
            spans = found.select(~known)
            codes = [
                self._key_code(data[spans.key[i] : spans.key_stop[i]])
                for i in index[: MAX_METRICS + 1].tolist()
            ]
            merged = np.concatenate([self._hashes, new[: len(codes)]])
            order = np.argsort(merged)
            self._hashes = merged[order]
            self._hash_codes = np.concatenate([self._hash_codes, np.array(codes, np.int64)])[order]
            at, known = self._look_up(hashes)
        return np.where(known, self._hash_codes[at], -1) if self._hashes.size else np.full(hashes.shape, -1)

    def _look_up(self, hashes: npt.NDArray[np.uint64]) -> tuple[Ints, Bools]:
        if not self._hashes.size:
            return np.zeros(hashes.shape, np.int64), np.zeros(hashes.shape, bool)
        at = np.minimum(np.searchsorted(self._hashes, hashes), self._hashes.size - 1)
        return at, self._hashes[at] == hashes

    def _key_code(self, span: bytes) -> int:
        keys = read_item(span)[0]
        self._note_media(keys)
        return self._code(".".join(keys))

    def _store(
        self, codes: Ints, rows: Ints, values: Floats, points: list[tuple[int, int, float]], first_row: int
    ) -> None:
        """Keep points by name, in row order."""
        if points:
            more = np.array(points, np.float64)
            codes = np.concatenate([codes, more[:, 0].astype(np.int64)])
            rows = np.concatenate([rows, more[:, 1].astype(np.int64)])
            values = np.concatenate([values, more[:, 2]])
            order = np.argsort(rows, kind="stable")
            codes, rows, values = codes[order], rows[order], values[order]
        refused = codes < 0
        if refused.any():
            self.refused += int(np.count_nonzero(refused))
            codes, rows, values = codes[~refused], rows[~refused], values[~refused]
        order = np.argsort(codes.astype(np.uint16), kind="stable")  # a radix sort: MAX_METRICS fits 16 bits
        codes, values = codes[order], values[order]
        row_numbers = (rows[order] + first_row).astype(np.int32)
        cuts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), codes.size]
        for start, stop in pairwise(cuts):
            if stop > start:
                # Copies, so that a name with few points does not keep the whole batch alive.
                self._parts.setdefault(int(codes[start]), []).append(
                    (row_numbers[start:stop].copy(), values[start:stop].copy())
                )


def _step_field(payload: memoryview) -> int:
    """Number in the step field of a history record, ``NULL_INT`` if it has none."""
    for number, _, part in fields(payload):
        if number == 2 and not isinstance(part, int):
            return next((signed(num) for key, _, num in fields(part) if key == 1 and isinstance(num, int)), 0)
    return NULL_INT
