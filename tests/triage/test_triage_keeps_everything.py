"""No run is lost and none stands twice: orders that change, other sources, two triages, damaged and missing parts."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from command_line import call
from fleets import OOM, ROWS, content, write_fleet, write_run

from analyzer.errors import InputError
from analyzer.triage.campaign import Campaign, merge_shards, run_campaign
from analyzer.triage.places import PlaceInUseError, open_place
from analyzer.triage.plan import make_plan
from analyzer.triage.specs import Options
from analyzer.triage.store import Dataset


def triage(root, out, *, resume=False, shard=None):
    campaign = Campaign(open_place(str(out)), Options(), workers=0, resume=resume, shard=shard)
    return run_campaign(campaign, make_plan([str(root)]), lambda *_: None)


def merge(out):
    return merge_shards(Campaign(open_place(str(out)), Options(), workers=0), lambda *_: None)


def locations(out):
    return [row["location"] for row in Dataset(open_place(str(out))).runs(["location"])]


def names(out):
    return sorted(location.rpartition("/")[2] for location in locations(out))


def test_a_source_that_is_spelled_otherwise_loses_no_run(tmp_path, monkeypatch):
    write_fleet(tmp_path / "b-fleet", 4)
    write_fleet(tmp_path / "a-fleet", 4)
    monkeypatch.chdir(tmp_path)
    campaign = Campaign(open_place("out"), Options(), workers=0)
    run_campaign(campaign, make_plan(["b-fleet", str(tmp_path / "a-fleet")]), lambda *_: None)
    campaign = Campaign(open_place("out"), Options(), workers=0, resume=True)
    result = run_campaign(campaign, make_plan(["./a-fleet", "b-fleet"]), lambda *_: None)

    assert (result.kept, result.done) == (8, 0)
    assert len(locations("out")) == 8
    assert Dataset(open_place("out")).manifest["runs"] == 8


def test_a_run_that_vanishes_before_its_turn_is_named_and_costs_only_itself(tmp_path):
    root = write_fleet(tmp_path / "fleet", 4)
    plan = make_plan([str(root)])
    gone = plan.runs[1].location
    shutil.rmtree(gone)
    campaign = Campaign(open_place(str(tmp_path / "out")), Options(), workers=0)
    run_campaign(campaign, plan, lambda *_: None)
    rows = list(Dataset(open_place(str(tmp_path / "out"))).runs())

    assert [row["location"] for row in rows if row["outcome"] != "diagnosed"] == [gone]
    assert len(rows) == 4


def test_rows_in_another_order_are_found_by_their_key(tmp_path):
    root = write_fleet(tmp_path / "fleet", 5)
    triage(root, tmp_path / "out")
    expected = content(tmp_path / "out")
    from analyzer.triage.store import Writer

    place = open_place(str(tmp_path / "out"))
    records = list(Dataset(place).records())
    manifest = Dataset(place).manifest
    writer = Writer(place)
    for record in reversed(records):
        writer.add(record)
    writer.finish({key: value for key, value in manifest.items() if key not in {"schema", "parts"}})
    triage(root, tmp_path / "out", resume=True)

    assert content(tmp_path / "out") == expected


def test_what_was_not_asked_about_stays(tmp_path):
    first, second = write_fleet(tmp_path / "a", 3), write_fleet(tmp_path / "b", 4)
    triage(first, tmp_path / "out")
    result = triage(second, tmp_path / "out", resume=True)

    assert (result.done, result.others) == (4, 3)
    assert len(locations(tmp_path / "out")) == 7
    assert triage(first, tmp_path / "out", resume=True).kept == 3


def test_runs_of_a_directory_that_cannot_be_entered_stay(tmp_path, monkeypatch):
    root = write_fleet(tmp_path / "fleet", 4)
    triage(root, tmp_path / "out")
    real = os.scandir

    def closed(path):
        if str(path).endswith("alice"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("analyzer.triage.plan.os.scandir", closed)
    result = triage(root, tmp_path / "out", resume=True)

    assert result.others == 2
    assert len(locations(tmp_path / "out")) == 4


def test_two_triages_into_one_place_are_one_clear_line(tmp_path):
    root = write_fleet(tmp_path / "fleet", 2)
    out = tmp_path / "out"
    with open_place(str(out)).alone():
        with pytest.raises(PlaceInUseError, match="another triage is writing there"):
            triage(root, out)
        done = call("triage", root, "--out", out)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith(
        f"analyzer: {out}: another triage is writing there (process "
    )
    assert len(locations(triage(root, out) and out)) == 2
    assert not (out / ".lock").exists()


def test_a_lock_whose_owner_died_is_no_lock(tmp_path):
    root = write_fleet(tmp_path / "fleet", 2)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".lock").write_text("process 1 on gone", encoding="utf-8")
    triage(root, tmp_path / "out")

    assert len(locations(tmp_path / "out")) == 2


RUNS = 30
"""Runs are dealt by a hash of their path: of so many the second of three shards is empty once in 200,000 times."""


@pytest.fixture(scope="module")
def three_shards(tmp_path_factory):
    """A fleet that was triaged in three parts, once for all tests that damage a copy of them."""
    place = tmp_path_factory.mktemp("shards")
    root = write_fleet(place / "fleet", RUNS)
    for part in (1, 2, 3):
        triage(root, place / "out" / "shards" / f"{part:05d}-of-00003", shard=(part, 3))
    return place / "out"


@pytest.fixture
def shards(three_shards, tmp_path):
    return shutil.copytree(three_shards, tmp_path / "out")


def test_a_shard_killed_before_its_manifest_is_missing_and_no_reason_to_refuse(shards):
    (shards / "shards" / "00002-of-00003" / "manifest.json").unlink()
    result = merge(shards)

    assert result.missing == [2]
    assert 0 < len(locations(shards)) < RUNS


@pytest.mark.parametrize("damage", ["bit", "cut", "manifest", "gone"])
def test_a_damaged_shard_is_told_and_the_others_are_merged(shards, damage):
    folder = shards / "shards" / "00002-of-00003"
    part = next((folder / "runs").glob("*.parquet"))
    data = bytearray(part.read_bytes())
    if damage == "bit":
        data[len(data) // 2] ^= 4
        part.write_bytes(data)
    elif damage == "cut":
        part.write_bytes(data[: len(data) // 2])
    elif damage == "gone":
        part.unlink()
    else:
        (folder / "manifest.json").write_text('{"schema": "analyzer.triage/1"}', encoding="utf-8")
    result = merge(shards)

    assert result.missing == [2]
    assert len(result.damaged) == 1
    assert 0 < len(locations(shards)) < RUNS


def test_shards_that_overlap_give_each_run_once(tmp_path, monkeypatch):
    root = write_fleet(tmp_path / "fleet", 6)
    monkeypatch.chdir(tmp_path)
    for part, source in ((1, str(root)), (2, "fleet")):
        plan = make_plan([source])
        campaign = Campaign(
            open_place(f"out/shards/{part:05d}-of-00002"), Options(), workers=0, shard=(part, 2)
        )
        run_campaign(campaign, plan, lambda *_: None)
        manifest = tmp_path / "out" / "shards" / f"{part:05d}-of-00002" / "manifest.json"
        campaign = Campaign(open_place(str(manifest.parent)), Options(), workers=0, resume=True)
        run_campaign(campaign, plan, lambda *_: None)
        state = json.loads(manifest.read_text(encoding="utf-8")) | {"shard": [part, 2]}
        manifest.write_text(json.dumps(state), encoding="utf-8")
    merge(tmp_path / "out")

    assert names(tmp_path / "out") == [f"run{number:03d}" for number in range(6)]


def test_a_damaged_part_is_read_again_on_resume(tmp_path):
    root = write_fleet(tmp_path / "fleet", 4)
    triage(root, tmp_path / "out")
    expected = content(tmp_path / "out")
    part = next((tmp_path / "out" / "findings").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-100])
    result = triage(root, tmp_path / "out", resume=True)

    assert (result.done, len(result.damaged)) == (4, 1)
    assert content(tmp_path / "out") == expected


def test_foreign_files_in_the_journal_are_not_looked_at(tmp_path):
    root = write_fleet(tmp_path / "fleet", 3)
    journal = tmp_path / "out" / "journal"
    journal.mkdir(parents=True)
    (journal / "notes.txt").write_text("mine", encoding="utf-8")
    lines = [
        '{"run": {"key": 1}}',
        "[" * 100_000,
        '{"run": {"key": "x", "location": null}, "findings": 3}',
        "\x00",
    ]
    (journal / "000001.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    triage(root, tmp_path / "out", resume=True)

    assert len(locations(tmp_path / "out")) == 3
    assert [path.name for path in journal.iterdir()] == ["notes.txt"]


def test_a_pipe_in_the_place_of_a_result_does_not_hang(tmp_path):
    root = write_fleet(tmp_path / "fleet", 2)
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / "manifest.json")

    with pytest.raises(InputError, match="not a regular file"):
        triage(root, tmp_path / "out")


def test_nothing_to_triage_ends_like_a_diagnosis_of_nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    ends = [
        subprocess.run(
            [sys.executable, "-m", "analyzer", command, str(tmp_path / "empty")],
            check=False,
            capture_output=True,
        ).returncode
        for command in ("triage", "diagnose")
    ]

    assert ends == [3, 3]


def test_an_empty_source_does_not_empty_the_results(tmp_path):
    """As an unmounted file system is."""
    root = write_fleet(tmp_path / "fleet", 2)
    triage(root, tmp_path / "out")
    root.rename(tmp_path / "elsewhere")
    root.mkdir()
    with pytest.raises(InputError, match="no run was found"):
        triage(root, tmp_path / "out", resume=True)

    assert len(locations(tmp_path / "out")) == 2


def test_a_run_that_became_several_is_not_kept_beside_them(tmp_path):
    run = write_run(tmp_path / "fleet" / "job", ROWS + OOM)
    triage(tmp_path / "fleet", tmp_path / "out")
    for name in ("one", "two"):
        write_run(run / name, ROWS + OOM)
    for file in ("train.log", "ds_config.json"):
        (run / file).unlink()
    triage(tmp_path / "fleet", tmp_path / "out", resume=True)

    assert names(tmp_path / "out") == ["one", "two"]


def test_halves_of_files_that_a_killed_triage_left_are_removed(tmp_path):
    root = write_fleet(tmp_path / "fleet", 2)
    triage(root, tmp_path / "out")
    for name in (".summary.json.1.half", "runs/.part-00000-000000000000.parquet.1.half"):
        (tmp_path / "out" / name).write_bytes(b"half")
    triage(root, tmp_path / "out", resume=True)

    assert not list((tmp_path / "out").rglob(".*"))
