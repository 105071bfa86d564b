"""The stored form of a fetched run is read whole or in part, and never raises."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analyzer.ingest.discover import load_run

ABOUT = {
    "format": 1,
    "run_id": "r1",
    "state": "crashed",
    "start_s": 1.7e9,
    "heartbeat_s": 1.7e9 + 50,
    "gaps": ["history: half"],
}
ROWS = [
    {"run": ABOUT},
    *({"history": {"_step": step, "_timestamp": 1.7e9 + step, "loss": 2.0 - step / 10, "train/global_step": 10 * step}} for step in range(6)),
    {"history": {"_step": 6, "loss": "NaN", "huge": 10**400, "yes": True, "table": {"_type": "table", "nrows": 3}}},
    {"system": {"_timestamp": 1.7e9 + 3, "_runtime": 3, "system.gpu.0.temp": 81}},
    {"console": {"line": "RuntimeError: CUDA error: out of memory", "time_s": 1.7e9 + 40, "level": "error"}},
]  # fmt: skip
DATA = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def read(directory, data=DATA):
    path = directory / "run-r1.jsonl"
    path.write_bytes(data)
    return load_run(path).run


def points(run, name):
    series = run.metrics.series(name)
    return list(zip(series.line.tolist(), series.step.tolist(), series.value.tolist(), strict=True))


def test_each_point_knows_its_line_and_the_trainers_step(tmp_path):
    run = read(tmp_path)

    assert points(run, "loss")[:2] == [(2, 0, 2.0), (3, 10, 1.9)]
    assert math.isnan(points(run, "loss")[-1][2])
    assert math.isinf(points(run, "huge")[0][2])
    assert points(run, "system.gpu.0.temp")[0][::2] == (9, 81.0)
    assert {"yes", "table.nrows"}.isdisjoint(run.metrics.names)


def test_the_state_and_what_was_not_fetched_are_told(tmp_path):
    run = read(tmp_path)

    (event,) = [event for event in run.events if event.kind == "tracker_no_exit_record"]
    assert event.text.startswith("W&B state crashed: ")
    assert (run.attempts[-1].exit_code, run.attempts[-1].start_s, run.attempts[-1].end_s) == (
        None,
        1.7e9,
        1.7e9 + 50,
    )
    assert [gap.reason for gap in run.gaps] == ["not fetched in full: history: half"]


def test_console_lines_are_read_as_a_log_is(tmp_path):
    (event,) = [event for event in read(tmp_path).events if "out of memory" in event.text]
    assert (event.ref.line, event.time_s) == (10, 1.7e9 + 40)


@pytest.mark.parametrize(
    ("state", "code"), [("finished", 0), ("failed", 1), ("killed", None), ("running", None)]
)
def test_states(tmp_path, state, code):
    run = read(tmp_path, DATA.replace(b"crashed", state.encode()))
    assert run.attempts[-1].exit_code == code
    assert any(event.kind == "tracker_no_exit_record" for event in run.events) == (code is None)


def test_a_cut_at_any_byte_keeps_the_rows_before_it(tmp_path):
    for cut in range(DATA.index(b"\n", 600), len(DATA), 7):
        whole = DATA[:cut].count(b'{"history"') - (b"\n" not in DATA[cut - 1 : cut])
        run = read(tmp_path, DATA[:cut])
        assert len(run.metrics) >= 0
        assert whole < 2 or points(run, "loss")[0][2] == 2.0


@given(st.binary(max_size=300))
@example(b'"traceEvents"')  # the word of a timing trace makes none of it
def test_damage_never_raises(tmp_path_factory, junk):
    run = read(tmp_path_factory.mktemp("junk"), DATA[:400] + junk + DATA[400:])
    assert run.sources[0].ingestor == "wandb-download"
