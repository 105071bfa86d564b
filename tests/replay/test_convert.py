"""The open format: written, read back, converted, described; what is damaged is told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from command_line import call
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.api import load
from analyzer.errors import InputError
from analyzer.replay.convert import convert
from analyzer.replay.files import ReplayWriter, arrow_schema, json_schema

ROWS = [
    {
        "replay_id": "r", "source_format": "torch_hooks", "step": 7, "rank": 0, "seq": seq, "pass": "fwd",
        "module": f"layers.{seq}.mlp", "tensor_role": "output[0]", "dtype": "float16", "shape": [2, seq],
        "numel": 2 * seq, "absmax": 1.5 * seq, "nonfinite": seq == 3, "nan_count": 0, "extra": '{"a": 1}',
    }
    for seq in range(5)
]  # fmt: skip
COMM = [
    {"rank": 1, "seq": 4, "op": "all_reduce", "pg": "default", "in_sizes": [[2, 3], []], "state": "started"}
]
FORMS = ("trace.parquet", "trace.jsonl", "trace.jsonl.gz")


def write(path, rows=ROWS, table="replay", **header):
    with ReplayWriter(path, table, header) as out:
        for row in rows:
            out.write(row)
    return path


def rows_of(path):
    return list(load(path).replay.rows())


def expected():
    return [{**row, "schema_version": "1.0", "shape": tuple(row["shape"])} for row in ROWS]


@pytest.mark.parametrize("name", FORMS)
def test_what_is_written_is_read_back(tmp_path, name):
    assert rows_of(write(tmp_path / name)) == expected()
    path = write(tmp_path / f"comm-{name}", COMM, "comm")
    assert list(load(path).collectives_trace.rows()) == [{**COMM[0], "in_sizes": ((2, 3), ())}]


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_every_form_converts_into_every_other(tmp_path, first, second):
    source, target = write(tmp_path / first), tmp_path / f"to-{second}"
    done = convert(source, target)
    assert (done.rows, done.gaps, done.files) == (5, (), (target,))
    assert [{k: v for k, v in row.items() if k != "source_file"} for row in rows_of(target)] == expected()


def test_collectives_go_beside_the_tensors(tmp_path):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in/a.jsonl")
    write(tmp_path / "in/b.jsonl", COMM, "comm")
    done = convert(tmp_path / "in", tmp_path / "out.parquet")
    assert [path.name for path in done.files] == ["out.parquet", "out.comm.parquet"]
    assert len(load(tmp_path / "out.comm.parquet").collectives_trace) == 1


@pytest.mark.parametrize(
    ("target", "words"),
    [("out.csv", "suffix"), ("none/out.jsonl", "cannot be written"), ("in/a.jsonl", "itself part")],
)
def test_what_cannot_be_written_is_one_clear_line(tmp_path, target, words):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in/a.jsonl")
    with pytest.raises(InputError, match=words):
        convert(tmp_path / "in", tmp_path / target)


def test_a_log_without_any_trace_says_so(tmp_path):
    (tmp_path / "train.log").write_text("step 1 loss 2.0\nstep 2 loss 1.9\n")
    with pytest.raises(InputError, match="no replay trace"):
        convert(tmp_path / "train.log", tmp_path / "out.jsonl")


def test_another_major_version_is_refused_and_another_minor_one_is_read(tmp_path):
    for version, count in (("1.7", 1), ("2.0", 0)):
        path = tmp_path / f"v{version}.jsonl"
        path.write_text(json.dumps({**ROWS[0], "schema_version": version}) + "\n" + json.dumps(COMM[0]))
        if count:
            assert len(rows_of(path)) == 1
        else:
            with pytest.raises(InputError, match=r"version 2\.0"):
                load(path)


def test_rows_that_are_none_and_unknown_columns_are_told_with_their_line(tmp_path):
    path = write(tmp_path / "a.jsonl")
    with path.open("a") as file:
        file.write(
            "{broken\n[1]\n"
            + json.dumps({**ROWS[0], "seq": None})
            + "\n"
            + json.dumps({**ROWS[0], "colour": 1})
        )
    run = load(path)
    assert len(run.replay) == 6
    told = {gap.reason: gap.ref.line for gap in run.gaps}
    assert told["3 lines are no rows of a replay trace, or lack a required column"] == 7
    assert any("colour" in reason for reason in told)


@pytest.mark.parametrize("name", FORMS)
def test_a_cut_at_any_byte_never_raises(tmp_path, name):
    whole = write(tmp_path / name).read_bytes()
    path = tmp_path / f"cut-{name}"
    for cut in range(1, len(whole), max(1, len(whole) // 150)):
        path.write_bytes(whole[:cut])
        try:
            assert len(load(path).replay) <= 5
        except InputError:
            continue


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(0, 255))
def test_a_flipped_byte_never_raises(tmp_path_factory, at, value):
    folder = tmp_path_factory.mktemp("flip")
    for name in FORMS[:2]:
        data = bytearray(write(folder / name).read_bytes())
        data[at % len(data)] = value
        (folder / name).write_bytes(data)
        try:
            load(folder / name)
        except InputError:
            continue


def test_hostile_values_do_not_reach_the_file(tmp_path):
    row = {
        **ROWS[0], "module": "a\x1b[31m\u202eb", "absmax": float("nan"), "step": 10**40, "rank": 2**31, "seq": 1,
        "nonfinite": "yes", "shape": "2x3",
    }  # fmt: skip
    for name in FORMS:
        (found,) = rows_of(write(tmp_path / name, [row]))
        assert found["module"] == "ab"
        assert found.keys().isdisjoint({"absmax", "step", "rank", "nonfinite", "shape"})


def test_a_bomb_is_read_line_by_line_and_a_long_line_left_out(tmp_path):
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(json.dumps(ROWS[0]) + "\n")
        for _ in range(40):
            file.write(" " * (1 << 20))
        file.write("\n" + json.dumps(ROWS[1]) + "\n")
    run = load(path)
    assert len(run.replay) == 2
    assert any("left out" in gap.reason for gap in run.gaps)


def test_the_schemas_describe_what_is_written(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json_schema())
    for table, rows in (("replay", ROWS), ("comm", COMM)):
        for line in write(tmp_path / f"{table}.jsonl", rows, table).read_text().splitlines():
            validator.validate(json.loads(line))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"seq": "x"})


def test_the_arrow_schema_is_that_of_the_file(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    found = pq.read_schema(write(tmp_path / "a.parquet", time_base="unix"))
    assert found.equals(arrow_schema("replay"))
    assert json.loads(found.metadata[b"analyzer_replay"]) == {
        "analyzer_replay": "1.0", "table": "replay", "time_base": "unix",
    }  # fmt: skip
    assert not found.field("seq").nullable
    assert found.field("module").nullable


def run_cli(*arguments):
    return call(*arguments, cwd=Path(__file__).parents[2])


def test_the_command_converts_and_a_diagnosis_takes_the_trace_from_elsewhere(tmp_path):
    trace = write(tmp_path / "a.jsonl")
    done = run_cli("replay", "convert", trace, tmp_path / "b.parquet")
    assert done.stdout == f"{tmp_path / 'b.parquet'}: 5 tensor events\n"
    log = tmp_path / "run" / "train.log"
    log.parent.mkdir()
    log.write_text(
        "".join(f"step {i} loss {3 - i / 10}\n" for i in range(1, 8)) + "step 8 loss nan\nstep 9 loss nan\n"
    )
    with_trace = run_cli(
        "diagnose", log.parent, "--replay", tmp_path / "b.parquet", "--format", "json", "--all"
    )
    assert "layers.3.mlp" in with_trace.stdout
    assert "layers.3.mlp" not in run_cli("diagnose", log.parent, "--format", "json", "--all").stdout


def test_the_schema_is_published():
    assert json.loads(run_cli("schema", "replay").stdout)["title"] == "analyzer-replay/1"
    assert "  seq: int64 not null" in run_cli("schema", "replay", "--arrow").stdout
