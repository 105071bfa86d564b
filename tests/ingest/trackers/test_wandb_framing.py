"""Damaged, cut and hostile ``.wandb`` files, and the array reader against plain decoding."""

import json
import time

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from wandb_writer import HEADER, ended, framed, history, logged_points, output, pb, read, written

from analyzer.ingest.base import Match
from analyzer.ingest.formats.wandb.wandb_columns import ItemColumns
from analyzer.ingest.formats.wandb.wandb_framing import BLOCK_BYTES, FrameReader
from analyzer.ingest.formats.wandb.wandb_items import items, logged_numbers
from analyzer.ingest.formats.wandb.wandb_log import WandbLog
from analyzer.ingest.walk import make_candidate


def small_file():
    run = pb.Record(num=1, run=pb.RunRecord(run_id="abc", host="h"))
    run.run.config.update.add(key="lr", value_json="1e-5")
    rows = [history(i, **{"train/loss": float(i), "n__x": i}) for i in range(4)]
    return [run, *rows, output("half a "), output("line\n"), ended(3)]


def test_truncation_at_every_byte_keeps_all_whole_records(tmp_path):
    records = [record.SerializeToString() for record in small_file()]
    ends = [len(framed(records[:count])) for count in range(len(records) + 1)]
    for cut in range(1, ends[-1] + 1):
        path = tmp_path / "run-x.wandb"
        path.write_bytes(framed(records, cut=cut))
        run = read(path)
        whole = sum(cut >= end for end in ends[1:])

        assert len(logged_points(run).get("train/loss", ())) == min(max(whole - 1, 0), 4), cut
        assert bool(run.events.of("tracker_no_exit_record")) == (whole < len(records)), cut
        lost = cut - max([end for end in ends if end <= cut], default=0) if cut > 7 else 0
        assert sum("hold no intact record: the file was cut there" in gap.reason for gap in run.gaps) == (
            lost > 0
        ), cut


def test_a_file_cut_at_a_block_edge_says_how_much_is_lost(tmp_path):
    rows = [history(i, loss=float(i), text="x" * 900) for i in range(100)]
    run = read(written(tmp_path, rows, cut=2 * BLOCK_BYTES))
    (gap,) = run.gaps
    points = logged_points(run)["loss"]

    assert [p[2] for p in points] == [float(i) for i in range(len(points))]
    assert 60 < len(points) < 100
    assert gap.reason.endswith("the file was cut there")
    assert gap.ref.line == len(points) + 1


def _of_200_rows():
    rows = [history(i, loss=float(i), text="x" * 900) for i in range(200)]
    return framed([row.SerializeToString() for row in rows])


def _kept(tmp_path, data):
    path = tmp_path / "run-x.wandb"
    path.write_bytes(data)
    run = read(path)
    return [p[2] for p in logged_points(run)["loss"]], [gap.reason for gap in run.gaps]


def test_a_flipped_bit_costs_one_record_wherever_it_is(tmp_path):
    """In the data, the length, the kind or the checksum of a frame."""
    data = _of_200_rows()
    for at in range(2 * BLOCK_BYTES + 5_000, 2 * BLOCK_BYTES + 6_000, 31):
        changed = bytearray(data)
        changed[at] ^= 0x10
        kept, gaps = _kept(tmp_path, changed)

        assert kept == sorted(kept)
        assert len(kept) >= 198, at
        assert len(gaps) == 1
        assert "bytes from byte" in gaps[0]
        assert "cut" not in gaps[0]


def test_a_flipped_bit_in_the_only_block_of_a_file_is_no_cut(tmp_path):
    rows = [history(i, loss=float(i)) for i in range(50)]
    data = bytearray(framed([row.SerializeToString() for row in rows]))
    data[200] ^= 1
    kept, gaps = _kept(tmp_path, data)

    assert len(kept) == 49
    assert "cut" not in gaps[0]


def test_a_hole_in_a_block_costs_what_lay_in_it(tmp_path):
    data = bytearray(_of_200_rows())
    data[BLOCK_BYTES + 3_000 : BLOCK_BYTES + 9_000] = bytes(6_000)
    kept, gaps = _kept(tmp_path, data)

    assert 190 <= len(kept) < 199
    assert len(gaps) == 1


def test_the_search_behind_damage_has_a_bound():
    began = time.process_time()
    frames = FrameReader([HEADER, b"\x01" * (8 * BLOCK_BYTES * 32)])

    assert list(frames) == []
    assert time.process_time() - began < 10


def test_a_damaged_file_header_does_not_cost_the_records(tmp_path):
    path = written(tmp_path, [history(0, loss=1.0)])
    path.write_bytes(b"XXXXXXX" + path.read_bytes()[7:])

    run = read(path)

    assert [p[2] for p in logged_points(run)["loss"]] == [1.0]
    assert "does not begin" in run.gaps[0].reason


def test_files_are_known_by_content_and_foreign_ones_are_not(tmp_path):
    log = written(tmp_path, [history(0, loss=1.0)], name="renamed.bin")
    text = tmp_path / "a.txt"
    text.write_text(":W&B is a tracker")

    assert WandbLog().sniff(make_candidate(log, log.name)) is Match.SURE
    assert WandbLog().sniff(make_candidate(text, text.name)) is Match.NO


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 70_000), max_size=8),
    pieces=st.lists(st.integers(1, 50_000), min_size=1, max_size=5),
)
def test_framing_gives_back_all_records_however_the_bytes_arrive(sizes, pieces):
    records = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    data = framed(records)
    chunks, at = [], 0
    while at < len(data):
        step = pieces[len(chunks) % len(pieces)]
        chunks.append(data[at : at + step])
        at += step
    frames = FrameReader(chunks)

    assert [bytes(record) for record in frames] == records
    assert frames.losses == []


REFUSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"version https://git-lfs.github.com/spec/")
"""How a damaged archive and a Git LFS pointer begin, which are refused in words of their own; the makers of random bytes know
the constants of the code."""


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400), header=st.booleans())
def test_arbitrary_bytes_never_raise(tmp_path_factory, data, header):
    assume(header or not data.startswith(REFUSED))
    path = tmp_path_factory.mktemp("fuzz") / "run-x.wandb"
    path.write_bytes(HEADER + data if header else data + b"\0")
    read(path)
    path.write_bytes(
        framed([data, b"\x12" + bytes([len(data) % 128]) + data, b"\x3a" + bytes([len(data) % 128]) + data])
    )
    read(path)


JSON_TEXTS = st.one_of(
    st.floats().map(json.dumps),
    st.integers().map(json.dumps),
    st.text(max_size=200).map(json.dumps),
    st.sampled_from(
        [
            "null",
            "true",
            "[1, 2]",
            '{"a": 1, "b": {"c": NaN}}',
            '{"_type": "x", "a": 1}',
            "1e",
            "-",
            "",
            "1_0",
            "0x1",
        ]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30),
)
KEYS = st.lists(
    st.one_of(st.sampled_from(["loss", "a", "b", "_type", "x" * 200]), st.text(max_size=9)), max_size=6
)


@st.composite
def payloads(draw):
    record = pb.HistoryRecord()
    for keys, text, is_flat in draw(st.lists(st.tuples(KEYS, JSON_TEXTS, st.booleans()), max_size=5)):
        if is_flat:
            record.item.add(key=".".join(keys), value_json=text)
        else:
            record.item.add(nested_key=keys, value_json=text)
    step = draw(st.none() | st.integers(-5, 2**62))
    if step is not None:
        record.step.num = step
    data = record.SerializeToString()
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


@settings(max_examples=150, deadline=None)
@given(st.lists(payloads(), max_size=12))
def test_array_operations_find_exactly_what_plain_decoding_finds(rows):
    columns = ItemColumns(1)
    wanted, media = {}, set()
    for row, payload in enumerate(rows):
        columns.add(row + 1, memoryview(payload))
        found = items(payload, 1)
        while True:
            try:
                keys, text = next(found)
            except Exception:  # noqa: BLE001  (the end, or the damage at which a cut record ends)
                break
            if len(keys) > 1 and keys[-1] == "_type":
                media.add(".".join(keys[:-1]) + ".")
            for name, number in logged_numbers(".".join(keys), text):
                wanted.setdefault(name, []).append((row, number))
    taken = {
        name: [(int(r), float(v)) for rs, vs in parts for r, v in zip(rs, vs, strict=True)]
        for name, parts in columns.take().items()
    }
    wanted = {name: points for name, points in wanted.items() if not name.startswith(tuple(media))}

    assert taken.keys() == wanted.keys()
    for name, points in wanted.items():
        assert [p[0] for p in taken[name]] == [p[0] for p in points]
        np.testing.assert_array_equal([p[1] for p in taken[name]], [p[1] for p in points])
