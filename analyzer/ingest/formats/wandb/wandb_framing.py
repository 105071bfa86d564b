"""The framing of a ``.wandb`` file: blocks, checksums, and how to go on behind a damaged place.

A file starts with seven bytes; the rest is a LevelDB log whose blocks of 32 768 bytes are counted from the
start of the file, so that the first block holds seven bytes less::

    3a 57 26 42  e1 be  00               ":W&B", magic 0xBEE1, version 0
    68 9e 4e 5b  0d 00  01  08 01 ca…    crc32, length 13, type 1 (whole record), 13 bytes of data

Types 2, 3 and 4 are the first, middle and last part of a record that spans blocks. The checksum is the plain
CRC-32 of type byte and data, not LevelDB's masked CRC-32C. Fewer than seven bytes at the end of a block are
zero padding. Not for what a record means: see ``wandb_log``.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator

from analyzer.ingest.base import SourceWriter, TruncatedSourceError
from analyzer.record import NamedTuple

MAGIC = b":W&B\xe1\xbe"
FILE_HEADER_BYTES = 7
BLOCK_BYTES = 32_768

MAX_RECORD_BYTES = 64 * 1024**2
"""Longest record put together from parts. The largest real ones (a config, a table's row) stay under 1 MiB."""

MAX_SEARCH_BYTES = 64 * 1024**2
"""Bytes looked at in the search behind damaged places of one file, some seconds; a damaged block costs up to 4 MB."""

_HEADER = struct.Struct("<IHB")
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_SEED = tuple(zlib.crc32(bytes([kind])) for kind in range(5))


class Loss(NamedTuple):
    """Bytes that gave no record."""

    offset: int  # where in the file the loss begins
    size_bytes: int  # how many bytes were passed over
    record: int  # number that the first lost record would have had
    at_end: bool  # no intact record follows: the file ends inside the lost one


class FrameReader:
    """Iterates over the intact records of a file; ``losses`` tells what lay between them.

    Attributes:
        count: Records found so far.
        losses: Damaged or cut places, in file order; complete once the iteration has ended.
        archive_error: Why the bytes themselves ended early, for a damaged gzip or zstd file; else empty.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.count = 0
        self.losses: list[Loss] = []
        self.archive_error = ""
        self._chunks = chunks
        self._parts: list[memoryview] = []
        self._parts_at = self._parts_bytes = 0
        self._lost_at = self._lost_bytes = self._search_bytes = 0

    def __iter__(self) -> Iterator[memoryview]:
        for start, window in self._windows():
            view = memoryview(window)
            for block in range(0, len(window), BLOCK_BYTES):
                stop = min(block + BLOCK_BYTES, len(window))
                records, at = self._block(view, block if start or block else FILE_HEADER_BYTES, stop, start)
                if stop - at >= _HEADER.size or (at < stop and stop % BLOCK_BYTES):
                    self._drop_parts()
                    self._lose(start + at, stop - at)
                yield from records
        self._drop_parts()
        self._note_loss(at_end=True)

    def _block(self, view: memoryview, at: int, stop: int, start: int) -> tuple[list[memoryview], int]:
        """Records that end in one block, and where its first damaged frame or its padding begins."""
        unpack, crc32, header, seed = _HEADER.unpack_from, zlib.crc32, _HEADER.size, _SEED
        records: list[memoryview] = []
        is_plain = not (self._parts or self._lost_bytes)
        count = self.count
        while at + header <= stop:
            checksum, size, kind = unpack(view, at)
            end = at + header + size
            data = view[at + header : end]
            if end > stop or not _WHOLE <= kind <= _LAST or crc32(data, seed[kind]) != checksum:
                self.count = count + len(records)
                found = self._next_intact(view, at, stop)
                if found is None:
                    break
                self._drop_parts()
                self._lose(start + at, found - at)
                is_plain, at = False, found
                continue
            if kind == _WHOLE and is_plain:
                records.append(data)
            else:
                self.count = count + len(records)
                record = self._joined(kind, start + at, data)
                if record is not None:
                    records.append(record)
                is_plain = not (self._parts or self._lost_bytes)
            at = end
        self.count = count + len(records)
        return records, at

    def _next_intact(self, view: memoryview, at: int, stop: int) -> int | None:
        """Where the next intact frame of a block begins behind a damaged one, None if there is none.

        First where the damaged frame says that it ends, for a bit that flipped in its data; then everywhere, for one
        that flipped in its length. A checksum of 32 bits that fits by chance is one in four billions.
        """
        stated: int = at + _HEADER.size + _HEADER.unpack_from(view, at)[1]
        for candidate in (stated, *range(at + 1, stop - _HEADER.size + 1)):
            if self._search_bytes > MAX_SEARCH_BYTES:
                break
            self._search_bytes += _HEADER.size
            if candidate + _HEADER.size > stop:
                continue
            checksum, size, kind = _HEADER.unpack_from(view, candidate)
            end = candidate + _HEADER.size + size
            if not _WHOLE <= kind <= _LAST or end > stop or not checksum:
                continue
            self._search_bytes += size
            if zlib.crc32(view[candidate + _HEADER.size : end], _SEED[kind]) == checksum:
                return int(candidate)
        return None

    def _joined(self, kind: int, offset: int, data: memoryview) -> memoryview | None:
        """The record that a frame completes, if it completes one."""
        if kind in (_WHOLE, _FIRST):
            self._drop_parts()
            self._parts_at = offset
        elif not self._parts:  # its beginning is lost
            self._lose(offset, len(data))
            return None
        self._parts.append(data)
        self._parts_bytes += len(data)
        if self._parts_bytes > MAX_RECORD_BYTES:
            self._drop_parts()
        if kind not in (_WHOLE, _LAST) or not self._parts:
            return None
        record = memoryview(b"".join(self._parts))
        self._parts, self._parts_bytes = [], 0
        self._note_loss(at_end=False)
        return record

    def _drop_parts(self) -> None:
        if self._parts:
            self._lose(self._parts_at, self._parts_bytes)
            self._parts, self._parts_bytes = [], 0

    def _lose(self, offset: int, size_bytes: int) -> None:
        if not self._lost_bytes:
            self._lost_at = offset
        self._lost_bytes += size_bytes

    def _note_loss(self, *, at_end: bool) -> None:
        if self._lost_bytes:
            self.losses.append(Loss(self._lost_at, self._lost_bytes, self.count + 1, at_end))
            self._lost_bytes = 0

    def _windows(self) -> Iterator[tuple[int, bytes]]:
        """Offset and bytes of pieces that hold whole blocks; only the last one may end within a block."""
        start = 0
        carry = b""
        try:
            for chunk in self._chunks:
                window = carry + chunk if carry else chunk
                whole = len(window) - len(window) % BLOCK_BYTES
                carry = window[whole:]
                if whole:
                    yield start, window[:whole]
                    start += whole
        except TruncatedSourceError as error:
            self.archive_error = str(error)
        if carry:
            yield start, carry


def note_losses(frames: FrameReader, out: SourceWriter) -> None:
    """Tell what the records did not hold as gaps; call it once the iteration has ended."""
    for loss in frames.losses:
        what = f"{loss.size_bytes} bytes from byte {loss.offset} on hold no intact record"
        why = ": the file was cut there" if loss.at_end else ""
        out.gap(what + why, line=loss.record)
    if frames.archive_error:
        out.gap(f"the rest of the file cannot be read: {frames.archive_error}", line=frames.count + 1)
