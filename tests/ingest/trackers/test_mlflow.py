"""MLflow's file store and database: points, parameters, how a run ended; hostile files end in a gap."""

import math
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_reading import read_directory, read_files, sniff

from analyzer.ingest.base import Match
from analyzer.ingest.discover import load_run
from analyzer.ingest.formats.metrics.mlflow_stores import MlflowDatabase, MlflowFiles

RUN = "mlruns/1/" + "0123456789abcdef" * 2
OTHER = "mlruns/1/" + "f" * 32
META = "artifact_uri: file:///data/run\nend_time: 1779197593000\nlifecycle_stage: active\nrun_id: x\nstart_time: {start}\nstatus: {status}\n"


def store(status=4, start=1779197000000, run=RUN):
    return {
        f"{run}/meta.yaml": META.format(status=status, start=start),
        f"{run}/metrics/train/loss": "1779197592000 2.5 10\n1779197593000 nan 20\n",
        f"{run}/metrics/grad_norm": "1779197592000 inf 10 data 0a1b\n1779197593000 1.5\n",
        f"{run}/params/learning_rate": "1e-05",
        f"{run}/params/lr_scheduler_type": "cosine",
        f"{run}/tags/mlflow.user": "somebody",
    }


def points(run, name):
    series = run.metrics.series(name)
    return [(series.step_at(i), float(series.value[i]), float(series.time_s[i])) for i in range(len(series))]


def test_a_run_of_the_file_store():
    run = read_files(store(), MlflowFiles())

    (first, second) = points(run, "loss")
    assert first == (10, 2.5, 1779197592.0)
    assert math.isnan(second[1])
    assert points(run, "grad_norm") == [(10, math.inf, 1779197592.0), (None, 1.5, 1779197593.0)]
    assert {entry.key_in_source: entry.value for entry in run.config.entries} == {
        "learning_rate": 1e-05,
        "lr_scheduler_type": "cosine",
    }
    (attempt,) = run.attempts
    assert (attempt.exit_code, attempt.start_s, attempt.end_s) == (1, 1779197000.0, 1779197593.0)
    (event,) = run.events.of("tracker_status")
    assert (event.fields["status"], event.role, event.ref.line) == ("FAILED", "cascade", 6)


@pytest.mark.parametrize(("status", "code"), [(1, None), (3, 0), (4, 1), (5, None)])
def test_the_status_tells_how_the_run_ended(status, code):
    assert read_files(store(status), MlflowFiles()).attempts[0].exit_code == code


def test_of_several_runs_the_one_that_started_last_is_the_subject(tmp_path):
    files = (
        store(start=1779197000000)
        | store(3, 1779190000000, OTHER)
        | {"mlruns/1/meta.yaml": "experiment_id: '1'\nartifact_location: x\n"}
    )
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    loaded = load_run(tmp_path)
    assert (loaded.subject, loaded.others) == (RUN, (OTHER,))
    assert load_run(tmp_path / RUN).run.metrics.series("loss").step.tolist() == [10, 20]


def test_other_small_files_are_not_taken():
    assert sniff(MlflowFiles(), "params/learning_rate", b"1e-05") == Match.NO
    assert sniff(MlflowFiles(), f"{RUN}/artifacts/log.txt", b"a") == Match.NO
    assert sniff(MlflowFiles(), f"{RUN}/metrics/loss", b"\0\1") == Match.NO


def test_files_cut_at_any_byte_never_invent_a_point():
    text = store()[f"{RUN}/metrics/train/loss"]
    for cut in range(1, len(text)):
        run = read_files({f"{RUN}/metrics/loss": text[:cut]}, MlflowFiles())
        assert {v for v in run.metrics.value.tolist() if not math.isnan(v)} <= {2.5}
    meta = store()[f"{RUN}/meta.yaml"]
    for cut in range(1, len(meta)):
        read_files({f"{RUN}/meta.yaml": meta[:cut]}, MlflowFiles())


def make_database(
    path,
    *,
    metrics="metrics(key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN)",
    journal="delete",
):
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"PRAGMA journal_mode = {journal}")
        base.execute(
            "CREATE TABLE runs(run_uuid TEXT, status TEXT, start_time BIGINT, end_time BIGINT, lifecycle_stage TEXT)"
        )
        base.execute("CREATE TABLE params(key TEXT, value TEXT, run_uuid TEXT)")
        base.execute("CREATE TABLE latest_metrics(key TEXT)")
        base.execute(f"CREATE TABLE {metrics}" if "VIEW" not in metrics else metrics)
        base.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", [
            ("a", "FINISHED", 1779190000000, 1779191000000, "active"),
            ("b'; DROP TABLE runs; --", "FAILED", 1779197000000, 1779197593000, "active"),
            ("c", "FINISHED", 1779198000000, None, "deleted"),
        ])  # fmt: skip
        base.execute("INSERT INTO params VALUES ('learning_rate', '1e-05', ?)", ("b'; DROP TABLE runs; --",))
        base.commit()
    return path


def fill(path, rows):
    with closing(sqlite3.connect(path)) as base:
        base.executemany(
            "INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)",
            [(k, v, 1779197592000, "b'; DROP TABLE runs; --", s, n) for k, v, s, n in rows],
        )
        base.commit()


def test_the_last_run_of_a_database(tmp_path):
    path = make_database(tmp_path / "mlflow.db")
    fill(
        path,
        [
            ("loss", 2.5, 10, 0),
            ("loss", 0.0, 20, 1),
            ("grad_norm", 1.7976931348623157e308, 10, 0),
            ("grad_norm", "x", 20, 0),
        ],
    )
    before = path.read_bytes()
    run = read_directory(tmp_path, MlflowDatabase())

    assert points(run, "loss")[0] == (10, 2.5, 1779197592.0)
    assert math.isnan(points(run, "loss")[1][1])
    assert points(run, "grad_norm")[0][1] == math.inf
    assert run.attempts[0].exit_code == 1
    assert [entry.value for entry in run.config.entries] == [1e-05]
    assert sorted(gap.reason for gap in run.gaps) == [
        "a point without a number",
        "the database holds 3 runs; only the one that started last is read",
    ]
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["mlflow.db"]


def test_a_view_in_place_of_a_table_is_not_run(tmp_path):
    endless = "VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS value FROM n"
    make_database(tmp_path / "mlflow.db", metrics=f"CREATE {endless}")

    assert "no table metrics" in read_directory(tmp_path, MlflowDatabase()).gaps[0].reason


def test_garbage_with_the_magic_of_a_database_is_a_gap(tmp_path):
    for content in (
        b"SQLite format 3\0",
        b"SQLite format 3\0" + b"\xff" * 5000,
        b"SQLite format 3\0" + bytes(range(256)) * 20,
    ):
        (tmp_path / "mlflow.db").write_bytes(content)
        assert read_directory(tmp_path, MlflowDatabase()).gaps


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_damaged_database_never_raises(tmp_path_factory, data):
    path = make_database(tmp_path_factory.mktemp("db") / "mlflow.db")
    fill(path, [("loss", 2.5, 10, 0)])
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 30))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    read_directory(path.parent, MlflowDatabase())
