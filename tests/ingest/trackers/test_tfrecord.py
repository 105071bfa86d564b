"""Framing: every intact record is found, whatever the windows and whatever is broken around it."""

import struct
import tracemalloc

import pytest
from event_files import frame
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.summary.writer.record_writer import RecordWriter

from analyzer.ingest.base import Candidate, OpenSource
from analyzer.ingest.formats.tensorboard import tfrecord
from analyzer.ingest.formats.tensorboard.tfrecord import RecordScanner, masked_checksum, payload_is_intact


class Memory:
    """A source in memory."""

    name = "memory"

    def __init__(self, data):
        self.data = data

    def chunks(self, size_bytes=1 << 20):
        for at in range(0, len(self.data), size_bytes):
            yield self.data[at : at + size_bytes]


def scan(data, window_bytes=1 << 20):
    """Intact payloads by record number, and the losses."""
    payloads, losses = {}, []
    for window in RecordScanner(Memory(data), window_bytes).windows():
        losses += window.losses
        columns = window.offsets.tolist(), window.lengths.tolist(), window.numbers.tolist()
        for offset, length, number in zip(*columns, strict=True):
            if payload_is_intact(window.buffer, offset, length):
                start = offset + tfrecord.HEADER_BYTES
                payloads[number] = window.buffer[start : start + length]
    return payloads, losses


PAYLOADS = st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=12)


@given(PAYLOADS, st.integers(1, 300))
def test_records_do_not_depend_on_the_window(payloads, window_bytes):
    data = b"".join(map(frame, payloads))

    assert scan(data, window_bytes) == (dict(enumerate(payloads, 1)), [])


def test_frames_are_those_of_tensorboard(tmp_path):
    path = tmp_path / "records"
    with path.open("wb") as stream:
        writer = RecordWriter(stream)
        for size in (1, 100, 70_000, 3):
            writer.write(bytes(size))
    candidate = Candidate(path, path.name, path.stat().st_size, b"")
    windows = list(RecordScanner(OpenSource(candidate, 0)).windows())

    assert [length for window in windows for length in window.lengths.tolist()] == [1, 100, 70_000, 3]


@pytest.mark.parametrize("sizes", [[40] * 20_000, [40, 70_000] * 20, [40] * 9_000 + [80_000] + [40] * 9_000])
def test_the_vectorised_scan_finds_what_a_walk_finds(sizes, monkeypatch):
    payloads = [(index % 251).to_bytes(1, "little") * size for index, size in enumerate(sizes)]
    data = b"".join(map(frame, payloads))
    vectorised = scan(data)
    monkeypatch.setattr(tfrecord, "_VECTOR_SCAN_BYTES", 1 << 60)

    assert vectorised == scan(data) == (dict(enumerate(payloads, 1)), [])


@given(PAYLOADS, st.data())
@settings(max_examples=200)
def test_one_flipped_bit_costs_the_record_that_it_hits_and_no_other(payloads, data):
    whole = b"".join(map(frame, payloads))
    place = data.draw(st.integers(0, len(whole) - 1))
    broken = bytearray(whole)
    broken[place] ^= 1 << data.draw(st.integers(0, 7))
    ends = [len(b"".join(map(frame, payloads[: count + 1]))) for count in range(len(payloads))]
    hit = 1 + sum(place >= end for end in ends)
    expected = {number: payload for number, payload in enumerate(payloads, 1) if number != hit}

    found, losses = scan(bytes(broken), data.draw(st.integers(1, 300)))

    assert found == expected
    assert all(loss.record == hit for loss in losses)


@given(PAYLOADS, st.data())
def test_a_file_cut_anywhere_gives_its_whole_records_and_names_the_rest(payloads, data):
    whole = b"".join(map(frame, payloads))
    cut = data.draw(st.integers(0, len(whole)))
    found, losses = scan(whole[:cut], data.draw(st.integers(1, 300)))
    count = len(found)
    used = len(b"".join(map(frame, payloads[:count])))

    assert found == dict(enumerate(payloads[:count], 1))
    assert cut - used < len(frame(payloads[min(count, len(payloads) - 1)]))
    assert sum(loss.size_bytes for loss in losses) == cut - used
    assert all("the file ends inside" in loss.reason for loss in losses)


def test_a_second_file_behind_a_torn_one_is_found():
    first, second = [b"a" * 50] * 3, [b"b" * 40] * 4
    data = b"".join(map(frame, first))[:-30] + b"".join(map(frame, second))
    found, losses = scan(data)

    assert list(found.values()) == first[:2] + second
    assert [(loss.record, loss.offset, loss.size_bytes) for loss in losses] == [(3, 132, 36)]


def test_zeros_of_a_hole_in_the_file_are_skipped():
    data = frame(b"before") + bytes(3_000_000) + frame(b"behind")
    found, losses = scan(data, 1 << 18)

    assert list(found.values()) == [b"before", b"behind"]
    assert [loss.size_bytes for loss in losses] == [3_000_000]


@pytest.mark.parametrize("declared", [1 << 20, 1 << 27, 1 << 40, (1 << 64) - 1])
def test_a_huge_declared_length_allocates_nothing(declared):
    header = struct.pack("<Q", declared)
    data = frame(b"before") + header + struct.pack("<I", masked_checksum(header)) + frame(b"behind" * 10)
    tracemalloc.start()
    try:
        found, losses = scan(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert list(found.values()) == [b"before", b"behind" * 10]
    assert len(losses) == 1
    assert peak < 5_000_000


def test_many_false_headers_cost_linear_time(monkeypatch):
    """Every header of a hostile file may be right and every payload wrong."""
    checked = []

    def count(buffer, offset, length):
        checked.append(length)
        return payload_is_intact(buffer, offset, length)

    monkeypatch.setattr(tfrecord, "payload_is_intact", count)
    monkeypatch.setattr(tfrecord, "MAX_RECORD_BYTES", 100_000)
    header = struct.pack("<Q", 60_000)
    data = (header + struct.pack("<I", masked_checksum(header)) + b"xxxx") * 20_000
    scan(data)

    assert sum(checked) < 40 * len(data)


def test_a_file_that_is_damage_all_over_is_given_up_with_a_word():
    record = bytearray(frame(b"0123456789"))
    record[0] ^= 1
    data = (bytes(record) + frame(b"good")) * (tfrecord.MAX_LOSSES + 100)
    found, losses = scan(data)

    assert len(found) < tfrecord.MAX_LOSSES + 1
    assert "the rest of the file is not read" in losses[-1].reason
