"""Dumps of the flight recorder are read, and a pickle never runs anything."""

from __future__ import annotations

import contextlib
import pickle

import pytest
from flight_dumps import tensor_parallel
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.discover import load_run
from analyzer.ingest.encodings.plain_pickle import PlainPickleError, loads

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner, inner, inner),
    max_leaves=20,
)


class Hostile:
    """Calls a function when unpickled."""

    def __reduce__(self):
        return (print, ("it ran",))


class TestPlainPickle:
    @given(plain, st.integers(2, 5))
    def test_plain_data_is_read_as_pickle_reads_it(self, value, protocol):
        assert loads(pickle.dumps(value, protocol)) == value

    @pytest.mark.parametrize("protocol", range(6))
    def test_nothing_is_imported_or_called(self, protocol, capsys):
        with pytest.raises(PlainPickleError):
            loads(pickle.dumps({"entries": [Hostile()]}, protocol))

        assert capsys.readouterr().out == ""

    @pytest.mark.parametrize(
        "data",
        [
            b"\x80\x02X\xff\xff\xff\xff.",  # a text of 4 GB that is not there
            b"\x80\x02\x8b\xff\xff\xff\x7f.",  # a number of 2 GB
            b"\x80\x02]r\xff\xff\xff\xff(e",  # a memo at 4 billion
            b"\x80\x02}](K\x01K\x02u.",  # a list as a dict
            b"e.",
            b"\x80\x02.",
            b"",
        ],
    )
    def test_broken_programs_end_with_a_reason(self, data):
        with pytest.raises(PlainPickleError):
            loads(data)

    @given(st.binary(max_size=60))
    def test_any_bytes_end(self, tail):
        with contextlib.suppress(PlainPickleError):
            loads(b"\x80\x02" + tail)


class TestDump:
    def test_every_cut_is_a_gap_and_no_error(self, tmp_path):
        whole = tensor_parallel(4).write(tmp_path, keep_finished=True) / "nccl_trace_rank_1"
        data = whole.read_bytes()
        for other in tmp_path.glob("nccl_trace_rank_[023]"):
            other.unlink()
        (tmp_path / "train.log").write_text("{'loss': 1.0, 'epoch': 0.1}\n")
        for length in range(3, len(data), len(data) // 23):
            whole.write_bytes(data[:length])

            run = load_run(tmp_path).run

            assert not run.flight
            assert run.gaps or "flight-recorder" not in {source.ingestor for source in run.sources}

    def test_collectives_and_counters(self, tmp_path):
        job = tensor_parallel(4)
        job.call("tp0", "_all_gather_base", elements=77, dtype="BFloat16", finished=False)
        run = load_run(job.write(tmp_path)).run

        assert [dump.rank for dump in run.flight] == [0, 1, 2, 3]
        row = run.collectives_trace.row(0)
        assert (row["op"], row["pg_desc"], row["seq"], row["dtype"]) == (
            "_all_gather_base",
            "TENSOR_GROUP",
            41,
            "bfloat16",
        )
        assert row["frames"] == "/job/model.py:12 forward"
        group = next(group for group in run.flight[0].groups if group.name == "tp0")
        assert (group.enqueued, group.completed, group.ranks) == (41, 40, (0, 1, 2, 3))

    def test_name_that_contradicts_the_groups_gives_no_rank(self, tmp_path):
        tensor_parallel(4).write(tmp_path, without=[0, 2, 3])
        (tmp_path / "nccl_trace_rank_1").rename(tmp_path / "dump_77")

        run = load_run(tmp_path).run

        assert run.flight[0].rank is None
        assert "unknown rank" in run.gaps[0].reason

    def test_dump_before_counters_existed(self, tmp_path):
        job = tensor_parallel(4)
        job.call("0", finished=False)
        dump = job.dump(0)
        del dump["pg_status"]
        (tmp_path / "nccl_trace_rank_0").write_bytes(pickle.dumps(dump, protocol=2))

        status = load_run(tmp_path).run.flight[0].statuses[0]

        assert (status.enqueued, status.completed) == (41, None)
