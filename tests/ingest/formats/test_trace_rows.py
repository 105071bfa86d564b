"""A trace of any length is held in bounded memory, and what a diagnosis needs is still there."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.formats.dumps.trace_rows import CONTEXT_ROWS, TraceRows
from analyzer.model.replay import REPLAY_COLUMNS, ReplayTable
from analyzer.model.tables import NULL_INT

BASE = {"step": 1, "rank": 0, "pass": "fwd", "dtype": "float16"}


def collected(count, special, head_rows=100):
    rows = TraceRows(ReplayTable, head_rows)
    for seq in range(count):
        rows.add(
            0, seq + 1, {**BASE, "seq": seq, "module": f"m{seq % 7}", "absmax": 1.0, **special.get(seq, {})}
        )
    return rows


def test_bad_rows_are_kept_with_the_rows_before_them_in_order():
    rows = collected(5000, {3000: {"nonfinite": True, "absmax": None}, 4000: {"absmax": 60000.0}})
    table = rows.finish()
    kept = table["seq"].tolist()
    assert kept == sorted(kept)
    assert kept[:100] == list(range(100))
    assert set(range(3000 - CONTEXT_ROWS, 3001)) <= set(kept)
    assert 4000 in kept
    assert kept[-1] == 4999
    assert len(kept) + table.dropped == 5000
    assert rows.dropped() == {0: table.dropped}


def test_a_trace_of_bad_rows_only_does_not_grow_without_bound():
    assert len(collected(20_000, {i: {"nonfinite": True} for i in range(20_000)}).finish()) < 1_000


def test_sources_are_kept_apart():
    rows = TraceRows(ReplayTable, 2)
    for source in (1, 0, 1, 0):
        rows.add(source, 1, {**BASE, "seq": source})
    assert rows.finish()["source"].tolist() == [0, 0, 1, 1]


def test_what_is_unknown_stays_unknown():
    rows = TraceRows(ReplayTable)
    rows.add(0, 0, {"seq": 0})
    table = rows.finish()
    assert table.row(0) == {"seq": 0}
    assert table.text("module", 0) is None
    assert table.sizes("shape", 0) is None
    assert table.truth("nonfinite", 0) is None
    assert table.integer("step", 0) is None
    assert table["step"][0] == NULL_INT
    assert np.isnan(table["absmax"][0])
    assert table.ref(0).line is None


def test_a_scalar_has_an_empty_shape_and_not_none():
    rows = TraceRows(ReplayTable)
    rows.add(0, 1, {"seq": 0, "shape": []})
    rows.add(0, 2, {"seq": 1, "shape": [2, 3]})
    table = rows.finish()
    assert table.sizes("shape", 0) == ()
    assert table.sizes("shape", 1) == (2, 3)


anything = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.lists(st.integers(), max_size=3)
)


@given(st.lists(st.dictionaries(st.sampled_from([c.name for c in REPLAY_COLUMNS]), anything), max_size=5))
def test_values_of_any_type_and_size_are_taken_or_left_out(found):
    rows = TraceRows(ReplayTable)
    for row in found:
        rows.add(0, 1, row)
    table = rows.finish()
    assert len(table) == len(found)
    for row in table.rows():
        assert all(np.isfinite(value) for value in row.values() if isinstance(value, float))


def test_what_a_recorder_noted_is_an_object_or_nothing():
    texts = ['{"a": 1}', "[1]", "{", "[" * 2_000]
    table = collected(5, {seq: {"extra": text} for seq, text in enumerate(texts)}).finish()

    assert [table.noted(row) for row in range(5)] == [{"a": 1}, {}, {}, {}, {}]
