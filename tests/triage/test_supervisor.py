"""Runs that harm their worker: each costs only itself, is tried again alone once, and is reported with the reason."""

import json

import pytest
from fleets import ROWS, arm, harmful, write_fleet, write_run

from analyzer.errors import AnalyzerError
from analyzer.triage.plan import make_plan
from analyzer.triage.specs import Options, Task
from analyzer.triage.supervisor import Supervisor


def outcomes(root, workers=2, **options):
    """Name of each run to its row."""
    tasks = [Task(run) for run in make_plan([str(root)]).runs]
    supervisor = Supervisor(Options(**options), workers)
    rows = [json.loads(payload)["run"] for _, payload in supervisor.run(tasks)]
    pids = supervisor.pids
    supervisor.close()

    assert len(rows) == len(tasks) == len({row["key"] for row in rows})
    assert len(pids) <= workers
    return {row["location"].rpartition("/")[2]: row for row in rows}


def test_all_runs_are_diagnosed(tmp_path):
    rows = outcomes(write_fleet(tmp_path))

    assert {row["outcome"] for row in rows.values()} == {"diagnosed"}
    assert {row["status"] for row in rows.values()} == {"failed", "healthy"}


HARMS = {
    "kill": "killed by SIGKILL",
    "segfault": "killed by SIGSEGV",
    "exit": "exit code 3",
    "bug": "internal error: ZeroDivisionError: a detector divided by nothing",
}


def test_runs_that_end_their_worker_cost_only_themselves(tmp_path, monkeypatch):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 20)
    for what in HARMS:
        harmful(root, f"poison-{what}", what)
    rows = outcomes(root)

    problems = {name: row["problem"] for name, row in rows.items() if row["outcome"] != "diagnosed"}
    assert sorted(problems) == sorted(f"poison-{what}" for what in HARMS)
    for what, reason in HARMS.items():
        assert reason in problems[f"poison-{what}"]


def test_a_run_that_hangs_is_ended_and_named(tmp_path, monkeypatch):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 8)
    harmful(root, "hanging", "hang")
    rows = outcomes(root, timeout_s=6.0)

    assert [name for name, row in rows.items() if row["outcome"] == "failed"] == ["hanging"]
    assert "no answer within 6 s (limit --timeout)" in rows["hanging"]["problem"]


def test_a_run_that_eats_memory_is_ended_and_named(tmp_path, monkeypatch):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 8)
    harmful(root, "greedy", "eat")
    rows = outcomes(root, memory_bytes=128 * 1024**2)

    assert [name for name, row in rows.items() if row["outcome"] == "failed"] == ["greedy"]
    assert "needs more than 0.125 GiB of memory (limit --mem)" in rows["greedy"]["problem"]


def test_a_worker_that_is_killed_once_loses_no_run(tmp_path, monkeypatch):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 8)
    harmful(root, "victim", "kill", once=tmp_path / "killed-once")
    rows = outcomes(root)

    assert (tmp_path / "killed-once").exists()
    assert {row["outcome"] for row in rows.values()} == {"diagnosed"}


def test_what_a_library_prints_does_not_disturb_the_answers(tmp_path, monkeypatch):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 4)
    harmful(root, "talkative", "print")

    assert outcomes(root)["talkative"]["outcome"] == "diagnosed"


def test_what_cannot_be_read_is_not_tried_again(tmp_path):
    write_run(tmp_path / "odd", "zyx wvu tsr\n", config=None)
    supervisor = Supervisor(Options(), 1)
    ((_, payload),) = supervisor.run([Task(run) for run in make_plan([], [str(tmp_path / "odd")]).runs])
    supervisor.close()
    row = json.loads(payload)["run"]

    assert (row["outcome"], row["status"]) == ("unreadable", "unreadable")
    assert supervisor.deaths == 0


def test_workers_that_never_start_are_an_error_and_not_an_endless_loop(tmp_path, monkeypatch):
    write_run(tmp_path / "run", ROWS)
    (tmp_path / "arms").mkdir()
    (tmp_path / "arms" / "sitecustomize.py").write_text("import os\nos._exit(9)\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "arms"))
    supervisor = Supervisor(Options(), 2)

    with pytest.raises(AnalyzerError, match="no worker can be started"):
        list(supervisor.run([Task(run) for run in make_plan([str(tmp_path)]).runs]))
    assert supervisor.pids == []


def test_a_supervisor_serves_one_batch_after_another(tmp_path):
    tasks = [Task(run) for run in make_plan([str(write_fleet(tmp_path, 4))]).runs]
    supervisor = Supervisor(Options(), 1)
    first = dict(supervisor.run(tasks))
    pids = supervisor.pids
    second = dict(supervisor.run(tasks))

    assert first == second
    assert supervisor.pids == pids
    supervisor.close()
