r"""Protocol buffer wire format: the fields of one message, without a schema and without generated code.

Event files and ``.wandb`` records are proto3 messages. A message is a row of (key, value) pairs::

    09 8d976e1283c0f33f   field 1, wire type 1 (8 bytes)            -> b"\x8d\x97…"
    10 07                 field 2, wire type 0 (varint)             -> 7
    1a 03 61 62 63        field 3, wire type 2 (length-delimited)   -> b"abc"
    25 0000803f           field 4, wire type 5 (4 bytes)            -> b"\x00\x00\x80?"

>>> [(number, wire, value if isinstance(value, int) else bytes(value))
...  for number, wire, value in fields(bytes.fromhex("10071a03616263"))]
[(2, 0, 7), (3, 2, b'abc')]
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5

_MASK64 = (1 << 64) - 1
_FIXED_BYTES = {FIXED64: 8, FIXED32: 4}


class WireError(Exception):
    """The bytes are not a protocol buffer message: cut short, or a key that cannot be."""


def varint(buffer: bytes | memoryview, at: int) -> tuple[int, int]:
    """Read an unsigned varint.

    Returns:
        The value, reduced to 64 bits as every protobuf library does, and the offset behind it.

    Raises:
        WireError: The buffer ends inside it, or it has more than 10 bytes.
    """
    value = 0
    for index, byte in enumerate(buffer[at : at + 10]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value & _MASK64, at + index + 1
    raise WireError(f"varint at byte {at} does not end")


def signed(value: int) -> int:
    """The int64 or int32 that an unsigned varint stands for (two's complement over 64 bits)."""
    return value - (1 << 64) if value >> 63 else value


def spans(buffer: bytes | memoryview, start: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
    """Fields of the message in ``buffer[start:stop]`` by place, in the order of the bytes.

    Yields:
        Field number, wire type, and the offsets of the value's first byte and of the byte behind it; a
        length-delimited value without its length.

    Raises:
        WireError: A field reaches beyond ``stop``, or its key is invalid (number 0, group, unknown type).
    """
    at = start
    while at < stop:
        key = buffer[at]
        at += 1
        if key >= 0x80:  # one-byte varints are read here: a call for each doubles the time
            key, at = varint(buffer, at - 1)
        wire = key & 7
        if wire == BYTES:
            size = buffer[at] if at < stop else 0x80
            at += 1
            if size >= 0x80:
                size, at = varint(buffer, at - 1)
        elif wire == VARINT:
            size = varint(buffer, at)[1] - at
        elif wire in _FIXED_BYTES:
            size = _FIXED_BYTES[wire]
        else:
            raise WireError(f"wire type {wire} of field {key >> 3} before byte {at}")
        if not 0 < key >> 3 < 1 << 29:
            raise WireError(f"field number {key >> 3} before byte {at}")
        if size > stop - at:
            raise WireError(f"field {key >> 3} at byte {at} has {size} bytes, {stop - at} are left")
        yield key >> 3, wire, at, at + size
        at += size


def fields(buffer: bytes | memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Fields of one message, in the order of the bytes; nothing is copied.

    Yields:
        Field number, wire type and value: an unsigned int for ``VARINT``, else a view of the bytes
        (8 for ``FIXED64``, 4 for ``FIXED32``, little-endian).

    Raises:
        WireError: A field reaches beyond the buffer, or its key is invalid (number 0, group, unknown type).
    """
    view = buffer if isinstance(buffer, memoryview) else memoryview(buffer)
    for number, wire, start, stop in spans(view, 0, len(view)):
        yield number, wire, varint(view, start)[0] if wire == VARINT else view[start:stop]
