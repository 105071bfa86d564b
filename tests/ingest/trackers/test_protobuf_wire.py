"""The wire decoder reads what protobuf writes, and refuses everything else in one way."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.encodings.protobuf_wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    WireError,
    fields,
    signed,
    spans,
)


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


ONE_FIELD = st.one_of(
    st.tuples(st.just(VARINT), st.integers(0, 2**64 - 1)),
    st.tuples(st.just(BYTES), st.binary(max_size=200)),
    st.tuples(st.just(FIXED64), st.binary(min_size=8, max_size=8)),
    st.tuples(st.just(FIXED32), st.binary(min_size=4, max_size=4)),
)
MESSAGES = st.lists(st.tuples(st.integers(1, 2**29 - 1), ONE_FIELD), max_size=8)


def encode(message):
    out = b""
    for number, (wire, value) in message:
        out += varint(number << 3 | wire)
        if wire == BYTES:
            out += varint(len(value))
        out += varint(value) if wire == VARINT else value
    return out


def plain(found):
    return [(number, (wire, value if wire == VARINT else bytes(value))) for number, wire, value in found]


@given(MESSAGES)
def test_every_field_comes_back_in_order(message):
    assert plain(fields(encode(message))) == message


@given(MESSAGES, st.data())
def test_a_message_cut_anywhere_yields_a_prefix_or_a_wire_error(message, data):
    encoded = encode(message)
    cut = encoded[: data.draw(st.integers(0, len(encoded)))]
    found = []
    with contextlib.suppress(WireError):
        for number, wire, value in fields(cut):
            found += plain([(number, wire, value)])

    assert found == message[: len(found)]


@given(st.binary(max_size=300))
def test_arbitrary_bytes_raise_nothing_but_a_wire_error(junk):
    with contextlib.suppress(WireError):
        assert all(0 <= start <= stop <= len(junk) for _, _, start, stop in spans(junk, 0, len(junk)))


@pytest.mark.parametrize(
    "junk", [b"\x00\x01", b"\x0b", b"\x0f", b"\x12\xff\xff\xff\xff\x7f", b"\x08" + b"\xff" * 11, b"\x09\x00"]
)
def test_impossible_keys_and_sizes_are_refused(junk):
    with pytest.raises(WireError):
        list(fields(junk))


def test_a_field_may_not_reach_beyond_the_message_that_holds_it():
    inner_too_long = b"\x0a\x03\x0a\x05ab\x10\x01"

    with pytest.raises(WireError):
        list(spans(inner_too_long, 2, 5))


def test_negative_numbers_are_ten_byte_varints():
    encoded = b"\x10" + varint(struct.unpack("<Q", struct.pack("<q", -3))[0])

    assert [signed(value) for _, _, value in fields(encoded)] == [-3]
