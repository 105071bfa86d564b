"""TFRecord framing: whole records of a file in bounded memory, and a way back in after damage.

Not for what is in a record: that is ``tensorboard_event``. The frame of one record::

    18 00 00 00 00 00 00 00   u64 length of the payload
    a3 7f 4b 22               masked CRC-32C of the eight bytes above
    09 00 00 80 b6 …          payload
    6f 1c 2e 91               masked CRC-32C of the payload

There is no sync marker. Where a header does not fit, the scanner looks for the next offset at which both
checksums do and reports what lies between. The checksum of a payload is left to the reader, who knows a
faster way for many alike; ``payload_is_intact`` is the plain one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import google_crc32c
import numpy as np

from analyzer.ingest.base import OpenSource, TruncatedSourceError
from analyzer.model.arrays import Integers
from analyzer.record import NamedTuple, dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

HEADER_BYTES = 12
FRAME_BYTES = 16
"""Header and trailing checksum."""

WINDOW_BYTES = 4 << 20
"""Bytes read at once. Larger windows were no faster: their columns no longer fit a processor's cache."""

MAX_RECORD_BYTES = 64 << 20
"""Largest record that is waited for. Scalars need 100 bytes, images and graphs a few MiB; what is larger is
reported as lost, so that a length alone can never make the reader allocate."""

MAX_LOSSES = 1000
"""Damaged stretches after which the rest of a file is given up; a real file has one or two."""

PADDING = 8
"""Zero bytes behind a window, so that the last record's last 8-byte word can be loaded whole."""

NO_CHECKSUM = 0x062DC0B3
"""What SageMaker Debugger stores in place of a payload's checksum unless told otherwise."""

_VECTOR_SCAN_BYTES = 1 << 18
"""Below this the tables of the vectorised scan cost more than a walk in Python (about 150 ns per record)."""

_LARGE_RECORD_BYTES = 1024
"""Mean record size from which walking from header to header beats looking at every byte."""

_BLOCK_BYTES = 1 << 18

_MORE_BYTES_NEEDED = "more bytes are needed"
_DAMAGED_RECORD = "a damaged record"

_HEADER = np.dtype(
    {"names": ["length", "checksum"], "formats": ["<u4", "<u4"], "offsets": [0, 8], "itemsize": 12}
)
_U64 = struct.Struct("<Q").unpack_from
_U32 = struct.Struct("<I").unpack_from


def payload_is_intact(buffer: bytes, offset: int, length: int) -> bool:
    """Whether the payload of the record whose header is at ``offset`` fits its checksum, if it has one."""
    stop = offset + HEADER_BYTES + length
    stored: int = _U32(buffer, stop)[0]
    return stored in (masked_checksum(buffer[offset + HEADER_BYTES : stop]), NO_CHECKSUM)


def header_length(buffer: bytes, offset: int) -> int | None:
    """Payload length that the header at ``offset`` declares; None if the header does not fit its checksum.

    >>> header_length(bytes.fromhex("1800000000000000a37f4b22"), 0)
    24
    """
    if masked_checksum(buffer[offset : offset + 8]) != _U32(buffer, offset + 8)[0]:
        return None
    length: int = _U64(buffer, offset)[0]
    return length


class Loss(NamedTuple):
    """A stretch that could not be read."""

    record: int  # 1-based number of the record that begins there; the whole stretch counts as one record
    offset: int  # first byte
    size_bytes: int  # bytes lost
    reason: str  # what is wrong with it


class Window(NamedTuple):
    """Whole records of one window; their payload checksums are not verified yet."""

    buffer: bytes  # the bytes, with ``PADDING`` more behind the last record
    offsets: Integers  # int64, shape (n_records,): where each header begins; increasing
    lengths: Integers  # int64, shape (n_records,): payload bytes
    numbers: Integers  # int64, shape (n_records,): 1-based record number in the file
    losses: list[Loss]  # what could not be read before, between or behind them


@dataclass(slots=True)
class _Chain:
    """Records that follow one another without a gap, and the offset behind the last."""

    offsets: Integers
    lengths: Integers
    stop: int

    def drop_last(self) -> None:
        self.stop = int(self.offsets[-1])
        self.offsets, self.lengths = self.offsets[:-1], self.lengths[:-1]


def _all_headers(buffer: bytes, start: int, stop: int) -> tuple[Integers, Integers]:
    """``_headers`` of lengths below 64 KiB, block by block: temporaries of a block stay in the cache."""
    parts = [
        _headers(buffer, at, min(at + _BLOCK_BYTES + HEADER_BYTES - 1, stop), 2)
        for at in range(start, stop, _BLOCK_BYTES)
    ]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _headers(buffer: bytes, start: int, stop: int, length_bytes: int) -> tuple[Integers, Integers]:
    """Offsets in ``[start, stop - 12]`` where a header with its checksum stands, and the lengths it declares.

    A header shows by the zero bytes that end its length. Those are looked for with byte-wise operations on
    the whole range, and only what they leave is checked. Empty records are not found.

    Args:
        buffer: Window.
        start: First offset.
        stop: End of the bytes to look at.
        length_bytes: Bytes of the length that may be other than zero, 2 or 4.
    """
    count = stop - start - HEADER_BYTES + 1
    if count < 1:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    zero = np.frombuffer(buffer, np.uint8, stop - start, start) == 0
    pairs = zero[:-1] & zero[1:]
    fours = pairs[:-2] & pairs[2:]
    end_of_length = fours if length_bytes == 4 else fours[:-2] & pairs[4:]
    # Four zero bytes in front are an empty length or the inside of a run of zeros, such as an empty histogram.
    found = np.flatnonzero(end_of_length[length_bytes : length_bytes + count] & ~fours[:count])
    headers: npt.NDArray[Any] = np.ndarray((count,), _HEADER, buffer, start, (1,))[found]
    length = headers["length"]
    fits = masked_length_checksums(length) == headers["checksum"]
    return found[fits] + start, length[fits].astype(np.int64)


class RecordScanner:
    """Cuts a source into windows of whole records, by default of ``WINDOW_BYTES``. Use once."""

    def __init__(self, source: OpenSource, window_bytes: int | None = None) -> None:
        self._source = source
        self._window_bytes = window_bytes or WINDOW_BYTES
        self._base = 0
        self._next_number = 1
        self._lost: tuple[int, str] | None = None
        self._losses = 0
        self._known_headers: dict[bytes, int] = {}
        self._mean_bytes = 0.0
        self._resync_budget_bytes = 4 * MAX_RECORD_BYTES

    def windows(self) -> Iterator[Window]:
        """Windows in file order; memory is bounded by ``window_bytes`` plus the largest record.

        Raises:
            UnreadableFileError: The file cannot be opened.
        """
        carry = b""
        blocks = self._source.chunks(self._window_bytes)
        final = False
        while not final:
            end_note = ""
            try:
                block = next(blocks, b"")
            except TruncatedSourceError as error:
                block, end_note = b"", f"the rest of the file cannot be read: {error}"
            final = not block
            buffer = b"".join((carry, block, bytes(PADDING)))
            end = len(buffer) - PADDING
            # Every look-ahead after damage is paid from what was read, so a hostile file costs linear time.
            self._resync_budget_bytes += 16 * len(block)
            window, used = self._scan(buffer, end, final)
            self._base += used
            carry = buffer[used:end]
            if self._losses >= MAX_LOSSES and not final:
                end_note, final = (
                    f"more than {MAX_LOSSES} damaged places: the rest of the file is not read",
                    True,
                )
            if end_note:
                window.losses.append(Loss(self._next_number, self._base, len(carry), end_note))
            yield window

    def _scan(self, buffer: bytes, end: int, final: bool) -> tuple[Window, int]:
        """Whole records of a window, and how many of its bytes are done with."""
        chains: list[tuple[_Chain, int]] = []
        losses: list[Loss] = []
        at = 0
        while at < end and self._losses < MAX_LOSSES:
            if self._lost is None:
                chain = self._chain(buffer, at, end)
                reason = self._why_it_ends(buffer, chain, end, final)
                # The last record may have been cut short, so that its length covers good ones: it is passed on only
                # once its successor is known, and looked into if none follows.
                if chain.offsets.size and reason in (_MORE_BYTES_NEEDED, _DAMAGED_RECORD):
                    chain.drop_last()
                chains.append((chain, self._next_number))
                self._next_number += chain.offsets.size
                at = chain.stop
                if reason in ("", _MORE_BYTES_NEEDED):
                    break
                self._lost = self._base + at, reason
                at += 1
            at, intact = self._find_intact(buffer, at, end, final)
            if not intact:
                break
            losses.append(self._end_loss(at))
        if final and self._lost is not None:
            losses.append(self._end_loss(end))
        return _window(buffer, chains, losses), at

    def _end_loss(self, at: int) -> Loss:
        assert self._lost is not None
        offset, reason = self._lost
        self._lost = None
        self._losses += 1
        self._next_number += 1
        return Loss(self._next_number - 1, offset, self._base + at - offset, reason)

    def _chain(self, buffer: bytes, at: int, end: int) -> _Chain:
        """Records from ``at`` on for as long as each header fits and each record is whole."""
        offsets = lengths = np.zeros(0, np.int64)
        if end - at >= _VECTOR_SCAN_BYTES and self._mean_bytes < _LARGE_RECORD_BYTES:
            offsets, lengths = _all_headers(buffer, at, end)
            behind = offsets + lengths + FRAME_BYTES
            follows = np.concatenate((np.array([at]), behind[:-1]))[: offsets.size] == offsets
            count = int(np.argmin(np.append(follows & (behind <= end), False)))  # up to the first break
            offsets, lengths = offsets[:count], lengths[:count]
            at = int(behind[count - 1]) if count else at
        walked = self._walk(buffer, at, end)
        if walked.offsets.size or not offsets.size:
            offsets = np.concatenate((offsets, walked.offsets))
            lengths = np.concatenate((lengths, walked.lengths))
        if offsets.size:
            self._mean_bytes = float(lengths.mean()) + FRAME_BYTES
        return _Chain(offsets, lengths, walked.stop)

    def _walk(self, buffer: bytes, at: int, end: int) -> _Chain:
        """The same, one by one: for small windows, large records, and what the vectorised scan cannot see."""
        offsets: list[int] = []
        lengths: list[int] = []
        known = self._known_headers
        while at + FRAME_BYTES <= end:
            header = buffer[at : at + HEADER_BYTES]
            length = known.get(header)
            if length is None:
                length = header_length(buffer, at)
                if length is None:
                    break
                if len(known) < 4096:  # a file has a few hundred lengths; more need no memory
                    known[header] = length
            if at + FRAME_BYTES + length > end:
                break
            offsets.append(at)
            lengths.append(length)
            at += FRAME_BYTES + length
        return _Chain(np.array(offsets, np.int64), np.array(lengths, np.int64), at)

    @staticmethod
    def _why_it_ends(buffer: bytes, chain: _Chain, end: int, final: bool) -> str:
        """Why no whole record begins where a chain stops; empty if the file ends there."""
        at = chain.stop
        if at == end:
            return "" if final else _MORE_BYTES_NEEDED
        length = header_length(buffer, at) if end - at >= HEADER_BYTES else 0
        if not final and length is not None and length <= MAX_RECORD_BYTES:
            return _MORE_BYTES_NEEDED
        if chain.offsets.size and not payload_is_intact(
            buffer, int(chain.offsets[-1]), int(chain.lengths[-1])
        ):
            return _DAMAGED_RECORD
        if end - at < HEADER_BYTES:
            return "the file ends inside the header of a record"
        if length is None:
            return "a damaged record header"
        if length > MAX_RECORD_BYTES:
            return (
                f"a record that declares {length} bytes, more than the {MAX_RECORD_BYTES} that are waited for"
            )
        return f"the file ends inside a record ({end - at} of its {length + FRAME_BYTES} bytes are there)"

    def _find_intact(self, buffer: bytes, at: int, end: int, final: bool) -> tuple[int, bool]:
        """Next offset from ``at`` on with a record whose checksums both fit.

        Returns:
            The offset and True; or False and the offset from which more bytes are needed to decide.
        """
        block_bytes = 4096  # grows: the next record is mostly near
        while at + HEADER_BYTES <= end:
            stop = min(at + block_bytes + HEADER_BYTES - 1, end)
            offsets, lengths = _headers(buffer, at, stop, 4)
            for offset, length in zip(offsets.tolist(), lengths.tolist(), strict=True):
                if length > MAX_RECORD_BYTES:
                    continue
                if offset + FRAME_BYTES + length > end:
                    if final:
                        continue
                    return offset, False
                self._resync_budget_bytes -= length
                if self._resync_budget_bytes > 0 and payload_is_intact(buffer, offset, length):
                    return offset, True
            at = stop - HEADER_BYTES + 1
            block_bytes = min(2 * block_bytes, 1 << 20)
        return (end if final else at), False


def _window(buffer: bytes, chains: list[tuple[_Chain, int]], losses: list[Loss]) -> Window:
    if not chains:
        nothing = np.zeros(0, np.int64)
        return Window(buffer, nothing, nothing, nothing, losses)
    numbers = [np.arange(first, first + chain.offsets.size, dtype=np.int64) for chain, first in chains]
    return Window(
        buffer,
        np.concatenate([chain.offsets for chain, _ in chains]),
        np.concatenate([chain.lengths for chain, _ in chains]),
        np.concatenate(numbers),
        losses,
    )


_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8


def masked_checksum(message: bytes) -> int:
    """CRC-32C of a message as it is stored: rotated right by 15 bits, plus a constant.

    >>> hex(masked_checksum(b"123456789"))
    '0xc78ab0e5'
    """
    checksum: int = google_crc32c.value(message)
    return (((checksum >> 15) | (checksum << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def mask_checksums(checksums: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Plain checksums as they are stored; uint32, any shape."""
    return ((checksums >> np.uint32(15)) | (checksums << np.uint32(17))) + np.uint32(_MASK_DELTA)


@lru_cache(maxsize=1)
def _byte_tables() -> list[npt.NDArray[np.uint32]]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1).astype(np.uint32)
    return [table]


def byte_table(bytes_behind: int) -> npt.NDArray[np.uint32]:
    """What one byte of a message adds to its plain checksum, given how many bytes follow it.

    Returns:
        uint32, shape (256,), indexed by the byte's value; the entry of 0 is 0.
    """
    tables = _byte_tables()
    while len(tables) <= bytes_behind:
        last = tables[-1]
        tables.append(tables[0][last & 255] ^ (last >> np.uint32(8)))
    return tables[bytes_behind]


@lru_cache(maxsize=1)
def _length_tables() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    index = np.arange(1 << 16)
    low, high = index & 255, index >> 8
    zero = np.uint32(google_crc32c.value(bytes(8)))
    return byte_table(7)[low] ^ byte_table(6)[high] ^ zero, byte_table(5)[low] ^ byte_table(4)[high]


def masked_length_checksums(lengths: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """``masked_checksum`` of lengths below 2**32, each written as eight little-endian bytes; shape kept."""
    low, high = _length_tables()
    return mask_checksums(low[lengths & np.uint32(0xFFFF)] ^ high[lengths >> np.uint32(16)])
