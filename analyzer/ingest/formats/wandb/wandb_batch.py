"""Items of many ``.wandb`` records at once, with array operations over their joined bytes.

An item is found by its first byte, and believed only if the items of its record follow each other without a
gap from the record's first byte to its last, or to the step field behind them (``12 02 08 05``: step 5). All
other records are left to be decoded field by field. The bytes of an item are shown in ``wandb_items``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.ingest.formats.wandb.wandb_items import NUMBER_BYTES
from analyzer.model.tables import NULL_INT

if TYPE_CHECKING:
    import numpy.typing as npt

    Bools = npt.NDArray[np.bool_]
    Bytes = npt.NDArray[np.uint8]
    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

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
