"""Timing traces are read in every form to the same columns, and summed up as plain arithmetic says."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timelines import Timeline, recomputed, step

from analyzer.ingest.discover import load_run
from analyzer.ingest.formats.timing import kineto, kineto_lines, kineto_stream
from analyzer.ingest.formats.timing.kineto_lines import CATEGORIES, NONE
from analyzer.ingest.formats.timing.kineto_stream import read_columns
from analyzer.ingest.formats.timing.trace_summary import summarise

PUBLIC = Path(__file__).parents[3] / ".." / "shared" / "data" / "public" / "kineto-trace"
FILES = sorted(PUBLIC.rglob("*.json*")) if PUBLIC.is_dir() else []
COLUMNS = ("start_ns", "duration_ns", "name", "category", "stream", "correlation", "external", "record")
NO_LIMIT = 1 << 40


def pieces(data, size=1 << 20):
    return (data[start : start + size] for start in range(0, len(data), size))


def read(data, size=1 << 20):
    return read_columns(pieces(data, size), NO_LIMIT, NO_LIMIT)


def some_steps(count=4, **parts):
    timeline, at = Timeline(rank=3, world_size=8), 1_000_000.25
    for number in range(count):
        at = step(timeline, at, number=number, **parts)
    return timeline


def rows(columns):
    """Events as comparable tuples, names resolved."""
    values = [getattr(columns, name).tolist() for name in COLUMNS]
    values[2] = [columns.names[code] for code in values[2]]
    values[3] = [columns.categories[code] for code in values[3]]
    return list(zip(*values, strict=True))


def expected(events):
    """The same from parsed JSON."""

    def whole(value):
        return value if isinstance(value, int) and 0 <= value < 1 << 31 else NONE

    found = []
    for event in events:
        if event.get("ph") == "X":
            args, category = event.get("args", {}), event.get("cat", "")
            ids = [
                whole(args.get(key)) for key in ("stream", "correlation", "External id", "Record function id")
            ]
            if "external id" in args:
                ids[2] = whole(args["external id"])
            times = [round(event["ts"] * 1000), round(event.get("dur", 0) * 1000)]
            found.append(
                (*times, event["name"][: kineto_lines.MAX_NAME], CATEGORIES.get(category, category), *ids)
            )
    return found


class TestForms:
    @pytest.mark.parametrize("form", ["lines", "spread"])
    def test_lines_of_pytorch_need_no_parser(self, form):
        timeline = some_steps()
        columns, progress = read(getattr(timeline, form)())

        assert rows(columns) == expected(timeline.events)
        # Only the last event of a file is left to the parser, which also sees the end of the list.
        assert progress.slow_events <= 1
        assert progress.complete

    def test_compact_json_is_the_same(self):
        timeline = some_steps()

        assert rows(read(timeline.compact())[0]) == rows(read(timeline.lines())[0])

    @pytest.mark.parametrize("size", [1, 7, 4096])
    def test_block_borders_do_not_matter(self, size, monkeypatch):
        monkeypatch.setattr(kineto_stream, "BLOCK_BYTES", 5000)
        timeline = some_steps(1, kernels=20)

        for data in (timeline.lines(), timeline.spread(), timeline.compact()):
            assert rows(read(data, size)[0]) == expected(timeline.events)

    @pytest.mark.parametrize(
        "name",
        [
            'a "quoted" one',
            "back\\slash",
            "ends in \\",
            'fake "ts": 5, "dur": 6',
            "größer\tx",
            '"ph": "X"',
            "}\n  },\n  {",
        ],
    )
    def test_names_are_text_whatever_they_hold(self, name):
        timeline = some_steps(1, kernels=5)
        timeline.host(name, 2_000_000.5, 3.25)
        timeline.host("after", 2_000_010.5, 3)

        assert rows(read(timeline.lines())[0]) == expected(timeline.events)

    @settings(max_examples=50, deadline=None)
    @given(
        st.lists(
            st.tuples(st.text(max_size=12), st.integers(0, 10**15), st.integers(0, 10**9)),
            min_size=1,
            max_size=30,
        )
    )
    def test_any_names_and_times(self, calls):
        timeline = Timeline()
        for name, start, duration in calls:
            timeline.host(name, start, duration / 1000)

        for data in (timeline.lines(), timeline.spread(), timeline.compact()):
            assert rows(read(data)[0]) == expected(timeline.events)

    def test_nanoseconds_on_the_clock_of_the_epoch_are_exact(self):
        timeline = some_steps(1, kernels=5)
        data = timeline.lines().replace(b'"ts": 1000000.25,', b'"ts": 1712195495519689.047,')
        first = read(data)[0]

        assert 1712195495519689047 in first.start_ns.tolist()

    def test_events_that_begin_and_end_apart_are_paired(self):
        events = [
            {"ph": "B", "name": "outer", "cat": "x", "ts": 10, "pid": 1, "tid": 1},
            {"ph": "B", "name": "inner", "cat": "x", "ts": 12, "pid": 1, "tid": 1},
            {"ph": "E", "name": "inner", "cat": "x", "ts": 15, "pid": 1, "tid": 1},
            {"ph": "E", "name": "outer", "cat": "x", "ts": 20, "pid": 1, "tid": 1},
        ]
        columns, _ = read(json.dumps(events).encode())

        assert [row[:3] for row in rows(columns)] == [(12_000, 3_000, "inner"), (10_000, 10_000, "outer")]


class TestDamage:
    @pytest.mark.parametrize("form", ["lines", "spread", "compact"])
    def test_every_cut_keeps_the_events_before_it(self, form):
        timeline = some_steps(1, kernels=1)
        data = getattr(timeline, form)()
        everything = expected(timeline.events)
        for length in range(len(data)):
            columns, progress = read(data[:length])
            found = rows(columns)

            assert found == everything[: len(found)]
            assert progress.complete or progress.damage
        assert len(found) == len(everything)

    def test_a_killed_export_is_a_gap_and_still_a_trace(self, tmp_path):
        data = some_steps().lines()
        (tmp_path / "rank-3.pt.trace.json").write_bytes(data[: len(data) * 2 // 3])

        run = load_run(tmp_path).run

        assert run.timings[0].complete is False
        assert run.timings[0].kernels > 100
        assert "ends in the middle" in run.gaps[0].reason

    def test_a_torn_archive_too(self, tmp_path):
        data = gzip.compress(some_steps(40).lines(), 1)
        (tmp_path / "t.pt.trace.json.gz").write_bytes(data[: len(data) // 2])

        run = load_run(tmp_path).run

        assert run.timings[0].complete is False
        assert run.timings[0].kernels > 100

    def test_limits_are_told(self, tmp_path, monkeypatch):
        for rank in range(3):
            (tmp_path / f"rank-{rank}.json").write_bytes(some_steps(3 + rank).lines())
        monkeypatch.setattr(kineto, "CHUNK_BYTES", 10_000)
        monkeypatch.setattr(kineto, "MAX_RUN_BYTES", len(some_steps(3).lines()) + 50_000)

        run = load_run(tmp_path).run

        assert len(run.timings) == 2
        assert {"only the first" in gap.reason or "not read" in gap.reason for gap in run.gaps} == {True}

    @settings(max_examples=60, deadline=None)
    @given(st.binary(max_size=200))
    def test_any_bytes_end(self, tail):
        for head in (b'{"traceEvents": [', b"[", b'{"traceEvents": [\n  {\n    "ph": "X", '):
            read(head + tail)


class TestSummary:
    @pytest.mark.parametrize(
        "parts", [{}, {"exposed": 900.0}, {"copy": 2000.0}, {"gap": 4000.0}, {"data": 5000.0, "gap": 10.0}]
    )
    def test_parts_equal_plain_arithmetic(self, parts):
        timeline = some_steps(**parts)
        columns, _ = read(timeline.lines())
        trace = summarise(columns, 0, 3, complete=True)

        for name, value in recomputed(timeline.events).items():
            assert getattr(trace, name) == pytest.approx(value, abs=2e-9), name
        assert trace.steps == 4
        assert trace.top_operator in {"aten::add", "aten::mm"}

    def test_names_in_the_summary_are_clean(self):
        timeline = some_steps(1, kernels=5)
        timeline.host("late", 3_000_000, 5000.0)
        timeline.device("gemm\x1b[31m\u202e", 3_000_000, 9e6, launch_ts=3_000_000)
        trace = summarise(read(timeline.lines())[0], 0, None, complete=True)

        assert trace.top_kernel == "gemm"

    def test_idle_time_is_split_by_the_launch(self):
        timeline = Timeline()
        timeline.device("a", 100, 10, launch_ts=90)
        timeline.device("b", 200, 10, launch_ts=150)  # 40 us before the host issued it, then 50 us

        trace = summarise(read(timeline.lines())[0], 0, None, complete=True)

        assert trace.host_wait_s == pytest.approx(40e-6)
        assert trace.kernel_wait_s == pytest.approx(50e-6)

    def test_a_trace_of_the_host_has_no_device(self):
        timeline = Timeline()
        timeline.host("aten::mm", 1, 5)

        trace = summarise(read(timeline.lines())[0], 0, None, complete=True)

        assert (trace.window_s, trace.idle_s, trace.kernels) == (None, None, 0)


@pytest.mark.skipif(not FILES, reason="public traces are not at hand")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name[:16]}-{path.name[-28:]}")
def test_public_traces_equal_an_independent_recomputation(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    parsed = json.loads(data, parse_float=Decimal)
    events = parsed if isinstance(parsed, list) else parsed["traceEvents"]
    columns, progress = read(data)

    assert progress.complete
    whole = [event for event in events if event.get("ph") == "X"]
    if whole:
        assert rows(columns) == expected(events)
    trace = summarise(columns, 0, None, complete=True)
    for name, value in recomputed(events).items():
        assert getattr(trace, name) == pytest.approx(value, abs=2e-9), name


def test_a_name_for_every_event_stays_within_bounds(monkeypatch):
    monkeypatch.setattr(kineto_lines, "MAX_NAMES", 100)
    timeline = Timeline()
    for number in range(500):
        timeline.host(f"op {number}", 10 * number, 5)

    for data in (timeline.lines(), timeline.compact()):
        columns, _ = read(data)
        assert len(columns) == 500
        assert len(columns.names) == 101
        assert columns.names[-1] == kineto_lines.OTHER_NAME
