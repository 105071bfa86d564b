"""What comes from a server: all of it, within bounds, once, and into its own folder only."""

import io
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from wandb_server import Fault, StoredRun

from analyzer.api import load
from analyzer.errors import FetchError
from analyzer.fetch.address import parse_address
from analyzer.fetch.cache import CachedRun
from analyzer.fetch.limits import Limits
from analyzer.fetch.runs import fetch_run
from analyzer.vocabulary.cache import cache_directory

ROOT = Path(__file__).parents[2]


def rows(count, *, first=0, **values):
    return [
        {"_step": step, "_timestamp": 1.7e9 + step, "_runtime": step, "loss": 2.5, **values}
        for step in range(first, first + count)
    ]


def kept(directory, kind):
    (log,) = directory.glob("run-*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line[kind] for line in lines if kind in line]


def fetched(url, session, **options):
    return fetch_run(parse_address(url), session=session, **options)


def test_history_is_complete_and_never_the_sample(backend, session):
    history = rows(2_345)
    url = backend.add(StoredRun("long", history=history))

    directory = fetched(url, session)

    assert [row["_step"] for row in kept(directory, "history")] == list(range(2_345))
    assert "RunSampledHistory" not in backend.operations()
    assert kept(directory, "run")[0]["gaps"] == []


def test_steps_far_apart_cost_few_requests(backend, session):
    history = [{"_step": step * 10**9, "tokens_seen": step} for step in range(40)]
    url = backend.add(StoredRun("tokens", history=history))

    directory = fetched(url, session)

    assert [row["tokens_seen"] for row in kept(directory, "history")] == list(range(40))
    assert backend.operations().count("HistoryPage") < 5


def export(table_rows):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist(table_rows), sink)
    return sink.getvalue()


def test_parquet_exports_are_used_when_they_are_complete(backend, session):
    first = [{"_step": step, "_timestamp": 1.7e9, "loss": 0.5, "eval/acc": None} for step in range(10)]
    # The same metric is text in the next file, for a NaN was stored as one; a column is sparse.
    second = [
        {"_step": step, "_timestamp": 1.7e9, "loss": "NaN", "eval/acc": 1.0 if step == 12 else None}
        for step in range(10, 20)
    ]
    history = [{"_step": step} for step in range(20)]
    run = StoredRun("exported", history=history, parquet=[export(second), export(first)], exported_steps=20)
    url = backend.add(run)

    found = kept(fetched(url, session), "history")

    assert "HistoryPage" not in backend.operations()
    assert [row["_step"] for row in found] == list(range(20))
    assert (found[3]["loss"], found[12]["loss"], found[12]["eval/acc"], "eval/acc" in found[13]) == (
        0.5,
        "NaN",
        1.0,
        False,
    )


def test_a_half_finished_export_is_completed_by_a_scan(backend, session):
    history = rows(30)
    exported = [
        {key: float(value) if key == "loss" else value for key, value in row.items()} for row in history[:20]
    ]
    url = backend.add(
        StoredRun("halfway", history=history, parquet=[export(exported)], exported_steps=20, state="running")
    )

    found = kept(fetched(url, session), "history")

    assert [row["_step"] for row in found] == list(range(30))


def test_odd_values_reach_the_metrics(backend, session):
    history = rows(6)
    history[1] |= {
        "loss": "NaN",
        "nested": {"a": 1, "b": "Infinity"},
        "note": "text",
        "image": {"_type": "image-file", "size": 5},
    }
    history[2] |= {"loss": "-Infinity"}
    history[3] |= {"loss": 3}
    history[4].pop("loss")
    for row, step in zip(history, [10, 20, 30, 10, 20, 30], strict=True):  # the trainer's steps go back
        row["train/global_step"] = step
    url = backend.add(StoredRun("odd", history=history))

    run = load(str(fetched(url, session)))
    names = list(run.metrics.names)
    points = {
        name: [
            (int(run.metrics.step[i]), float(run.metrics.value[i]))
            for i in range(len(run.metrics.value))
            if names[run.metrics.metric[i]] == name
        ]
        for name in names
    }

    assert [step for step, _ in points["loss"]] == [10, 20, 30, 10, 30]
    assert [str(value) for _, value in points["loss"]] == ["2.5", "nan", "-inf", "3.0", "2.5"]
    assert [value for _, value in points["nested.a"]] == [1.0]
    assert "image.size" not in points
    assert "note" not in points


def test_system_metrics_console_and_files_come_with_their_times(backend, session):
    run = StoredRun(
        "all",
        state="failed",
        history=rows(3),
        system=[{"_timestamp": 1.7e9, "_runtime": 1, "system.gpu.0.temp": 80}],
        console=[("2026-11-21T06:45:01.250000", "error", "Traceback (most recent call last):")],
        files={
            "output.log": b"step 1\n",
            "conf/train.yaml": b"lr: 1\n",
            "media/images/a.json": b"{}",
            "model.pt": b"x",
        },
        config={"lr": 0.001, "nested": {"a": [1, 2]}},
        summary={"loss": "NaN"},
        heartbeat="2024-02-01T00:00:00Z",
    )
    directory = fetched(backend.add(run), session)

    assert kept(directory, "system")[0]["system.gpu.0.temp"] == 80
    assert kept(directory, "console") == [
        {"line": "Traceback (most recent call last):", "time_s": 1795243501.25, "level": "error"}
    ]
    names = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}
    assert names == {
        "run-all.jsonl",
        "files/output.log",
        "files/conf/train.yaml",
        "files/config.yaml",
        "files/wandb-summary.json",
    }
    loaded = load(str(directory))
    assert {source.ingestor for source in loaded.sources} >= {
        "wandb-download",
        "wandb-config",
        "wandb-summary",
    }
    assert loaded.attempts[-1].exit_code == 1
    # A copy made now is no sign of life now.
    assert min(source.age_s for source in loaded.sources) > 86_400


def test_names_that_lead_out_of_the_folder_are_left_out(backend, session, tmp_path):
    evil = [
        "../../escaped.log",
        "/tmp/absolute.log",
        "a/../../b.log",
        "back\\slash.log",
        "x/./y.log",
        "~/home.log",
        "new\nline.log",
    ]
    files = dict.fromkeys(evil, b"evil") | {"good.log": b"fine"}
    directory = fetched(backend.add(StoredRun("hostile", history=rows(2), files=files)), session)

    assert [path.name for path in (directory / "files").rglob("*.log")] == ["good.log"]
    assert kept(directory, "run")[0]["gaps"] == [
        f"files: {len(evil)} left out because their names lead out of the folder"
    ]
    assert not list(
        CachedRun(parse_address(f"{backend.url}/acme/llm/runs/hostile")).directory.parent.glob("*escaped*")
    )


def test_what_was_fetched_is_for_its_owner_only(backend, session):
    directory = fetched(backend.add(StoredRun("private", history=rows(2), files={"a.log": b"x"})), session)
    top = cache_directory() / "wandb"

    assert top.stat().st_mode & 0o077 == 0
    for path in (directory, *directory.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_cache_of_somebody_else_is_neither_read_nor_written(backend, session, monkeypatch):
    url = backend.add(StoredRun("theirs", history=rows(2)))
    fetched(url, session)
    monkeypatch.setattr("analyzer.fetch.cache.os.geteuid", lambda: 54321)

    assert CachedRun(parse_address(url)).latest() is None
    with pytest.raises(FetchError, match="another user"):
        fetched(url, session)


def test_a_file_that_is_larger_than_announced_does_not_fill_the_disk(backend, session, monkeypatch):
    run = StoredRun("liar", history=rows(2), files={"endless.log": b"x" * 40_000_000, "good.log": b"fine"})
    monkeypatch.setattr("wandb_server._announced", lambda data: 100 if len(data) > 1_000 else len(data))
    directory = fetched(backend.add(run), session)

    assert [path.name for path in (directory / "files").rglob("*.log")] == ["good.log"]
    assert "endless.log: left out: not what the server announced" in kept(directory, "run")[0]["gaps"][0]


def test_a_file_on_another_host_is_not_fetched(backend, session, monkeypatch):
    other = type(backend)()
    run = StoredRun("elsewhere", history=rows(2), files={"a.log": b"x"})
    monkeypatch.setattr("wandb_server._files_at", lambda url: other.url)
    directory = fetched(backend.add(run), session)
    other.close()

    assert other.requests == []
    assert not list((directory / "files").rglob("*.log"))
    assert "another host" in kept(directory, "run")[0]["gaps"][0]


def test_a_file_that_is_sent_on_to_another_host_takes_no_key_there(backend, session):
    other = type(backend)()
    run = StoredRun("sent-on", history=rows(2), files={"a.log": b"x" * 40})
    other.add(StoredRun("sent-on", files={"a.log": b"step 1 loss 2.5\n"}))
    backend.faults["GET files"] = Fault(
        302, "", {"Location": f"{other.url.replace('127.0.0.1', 'localhost')}/files/sent-on/0"}
    )
    fetched(backend.add(run), session)
    other.close()

    def keys(requests):
        return [headers.get("Authorization") for name, headers in requests if name == "GET /files/sent-on/0"]

    assert all(keys(backend.requests))
    assert keys(other.requests) == [None]


def test_a_run_name_of_the_server_stays_in_the_cache(backend, session):
    url = backend.add(StoredRun("..", history=rows(2)))
    directory = fetched(url.replace("/runs/..", "/runs/%2E%2E"), session)
    assert directory.is_relative_to(
        CachedRun(parse_address(f"{backend.url}/a/b/runs/x")).directory.parents[2]
    )


def test_bounds_become_gaps(backend, session):
    run = StoredRun(
        "big", history=rows(100), console=[("", "", f"line {n}") for n in range(50)], line_count=100
    )
    run.files = {f"part{n}.log": b"x" * 10 for n in range(5)} | {"huge.log": b"y" * 5_000}
    limits = replace(Limits(), history_rows=40, console_lines=10, files=3, log_bytes=1_000)
    directory = fetched(backend.add(run), session, limits=limits)

    assert [row["_step"] for row in kept(directory, "history")] == list(range(60, 100))
    assert len(kept(directory, "console")) == 10
    assert len(list((directory / "files").glob("*.log"))) == 3
    gaps = " | ".join(gap.reason for gap in load(str(directory)).gaps)
    for what in (
        "only the rows from step 60 on",
        "console lines: only the first 10",
        "only the first 3 were",
        "huge.log (0 MiB)",
    ):
        assert what in gaps


def test_rows_that_the_server_counts_but_does_not_give_are_a_gap(backend, session):
    directory = fetched(backend.add(StoredRun("lost", history=rows(5), line_count=9)), session)
    assert kept(directory, "run")[0]["gaps"] == ["history: the server counts 9 rows and gave 5"]


def test_a_part_that_fails_for_good_is_a_gap_and_no_error(backend, session):
    backend.faults["RunFullHistory"] = Fault(200, "events are gone")
    directory = fetched(backend.add(StoredRun("part", history=rows(2))), session)
    assert kept(directory, "run")[0]["gaps"][0].startswith("system metrics: not fetched: ")


def test_the_cache_is_used_until_the_run_changes(backend, session):
    run = StoredRun("cached", history=rows(3), state="running")
    url = backend.add(run)
    first = fetched(url, session)
    backend.requests.clear()

    assert fetched(url, session) == first
    assert backend.operations() == ["Run"]
    assert fetched(url, session, offline=True) == first

    run.history = rows(4)
    run.heartbeat = "2026-11-21T07:00:00Z"
    second = fetched(url, session)
    assert second != first
    assert len(kept(second, "history")) == 4
    assert fetched(url, session, offline=True) == second


def test_a_break_costs_the_piece_that_was_under_way_only(backend, session):
    url = backend.add(
        StoredRun("broken", history=rows(3), console=[("", "", "hello")], files={"a.log": b"1"})
    )
    backend.faults["RunFiles"] = Fault(502, "bad gateway")
    with pytest.raises(Exception, match="HTTP 502"):
        fetched(url, session)
    backend.faults.clear()
    backend.requests.clear()

    directory = fetched(url, session)

    assert "HistoryPage" not in backend.operations()
    assert (directory / "files" / "a.log").read_bytes() == b"1"
    assert not list(directory.parent.glob("parts"))


def test_two_processes_at_once_get_the_same_whole_run(backend, session):
    url = backend.add(StoredRun("both", history=rows(500)))
    code = (
        "import sys; from analyzer.fetch.runs import fetch_run; from analyzer.fetch.address import parse_address;"
        "print(fetch_run(parse_address(sys.argv[1])))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, url], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as other:
        while "Run" not in backend.operations():
            time.sleep(0.01)
        mine = fetched(url, session)
        theirs = other.communicate(timeout=60)[0]

    assert theirs.strip() == str(mine)
    assert len(kept(mine, "history")) == 500
    assert backend.operations().count("HistoryPage") == 1


def test_nothing_is_sent_but_the_questions_about_the_run(backend, session):
    fetched(backend.add(StoredRun("quiet", history=rows(2))), session)
    allowed = {
        # Asked once when a session begins: whose key it is.
        "Viewer",
        "GetDefaultEntity",
        "Run",
        "RunHistoryKeys",
        "RunParquetHistory",
        "HistoryPage",
        "RunFullHistory",
        "RunFiles",
        "RunConsoleLogPage",
    }
    assert set(backend.operations()) <= allowed


def test_nothing_is_left_in_the_temporary_folder(backend, environment, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fetch_run(parse_address(backend.add(StoredRun("tidy", history=rows(2)))))
    assert list(tmp_path.iterdir()) == []
