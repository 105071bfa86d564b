"""Results behind a URL, and runs that are fetched from one."""

import os

import pytest
from fleets import OOM, ROWS, content, write_fleet

from analyzer.errors import InputError
from analyzer.triage.campaign import Campaign, run_campaign
from analyzer.triage.places import open_place
from analyzer.triage.plan import make_plan
from analyzer.triage.specs import Options
from analyzer.triage.store import Dataset

fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")


def triage(sources, out, **settings):
    campaign = Campaign(open_place(out), Options(), **{"workers": 0, **settings})
    return run_campaign(campaign, make_plan(sources), lambda *_: None)


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


def test_results_in_an_object_store_are_those_of_a_directory(tmp_path, memory):
    root = write_fleet(tmp_path / "fleet", 9)
    triage([str(root)], str(tmp_path / "out"))
    triage([str(root)], "memory://bucket/out")
    memory.get("/bucket/out", str(tmp_path / "copy"), recursive=True)

    assert content(tmp_path / "copy") == content(tmp_path / "out")
    assert triage([str(root)], "memory://bucket/out", resume=True).kept == 9
    assert Dataset(open_place("memory://bucket/out")).manifest["runs"] == 9


def test_runs_in_an_object_store_are_found_and_fetched(memory, tmp_path):
    memory.pipe_file("/bucket/exp/a/train.log", (ROWS + OOM).encode())
    memory.pipe_file("/bucket/exp/a/ds_config.json", b'{"train_batch_size": 8}')
    memory.pipe_file("/bucket/exp/a/model/weights.bin", b"0" * 4096)
    memory.pipe_file("/bucket/exp/slurm-101.out", ROWS.encode())
    memory.pipe_file("/bucket/exp/slurm-102.out", (ROWS + OOM).encode())
    memory.pipe_file("/bucket/exp/data/part-0.parquet", b"PAR1")
    plan = make_plan(["memory://bucket/exp"])
    triage(["memory://bucket/exp"], str(tmp_path / "out"))
    rows = {row["location"]: row for row in Dataset(open_place(str(tmp_path / "out"))).runs()}

    assert [run.location for run in plan.runs] == [
        "memory:///bucket/exp/a", "memory:///bucket/exp/slurm-101.out", "memory:///bucket/exp/slurm-102.out",
    ]  # fmt: skip
    assert "part-0.parquet" in plan.skipped[0].reason
    assert [row["status"] for row in rows.values()].count("failed") == 2
    failed = rows["memory:///bucket/exp/a"]
    assert failed["evidence_place"].startswith("train.log:")
    assert "OutOfMemory" in failed["evidence_text"]
    assert os.sep + "tmp" not in str(failed)


def test_fetched_runs_are_diagnosed_by_worker_processes_too(tmp_path):
    root = write_fleet(tmp_path / "fleet", 4)
    triage([f"local://{root}"], str(tmp_path / "out"), workers=2)
    triage([f"local://{root}"], str(tmp_path / "serial"))

    assert content(tmp_path / "out") == content(tmp_path / "serial")
    assert {row["kind"] for row in Dataset(open_place(str(tmp_path / "out"))).runs(["kind"])} == {"remote"}


def test_a_changed_object_is_read_again(memory, tmp_path):
    memory.pipe_file("/b/slurm-101.out", ROWS.encode())
    memory.pipe_file("/b/slurm-102.out", ROWS.encode())
    triage(["memory://b"], str(tmp_path / "out"))
    memory.pipe_file("/b/slurm-102.out", (ROWS + OOM).encode())

    assert triage(["memory://b"], str(tmp_path / "out"), resume=True).done == 1


def test_a_key_that_leads_out_of_the_directory_is_not_written(memory, tmp_path):
    memory.store["/b/run/train.log"] = memory.open("/b/run/train.log", "wb")
    memory.pipe_file("/b/run/train.log", (ROWS + OOM).encode())
    memory.pipe_file("/b/run/../../../evil.log", b"x")
    triage(["memory://b/run"], str(tmp_path / "out"))

    assert not list(tmp_path.rglob("evil.log"))


def test_without_the_network_a_url_is_an_error():
    with pytest.raises(InputError, match="--offline forbids"):
        make_plan(["memory://bucket/exp"], offline=True)
