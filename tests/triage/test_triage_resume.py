"""What is done is kept: resume, Ctrl-C, a supervisor that is killed, a journal with a torn end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import call
from fleets import OOM, ROWS, arm, content, harmful, write_fleet, write_run

from analyzer.errors import InputError
from analyzer.triage.campaign import Campaign, run_campaign
from analyzer.triage.places import open_place
from analyzer.triage.plan import make_plan
from analyzer.triage.specs import Options
from analyzer.triage.store import Dataset


def triage(root, out, *, resume=False, options=None):
    """Result of a triage in this process, and the locations that were read."""
    seen = []
    campaign = Campaign(open_place(str(out)), options or Options(), workers=0, resume=resume)
    result = run_campaign(campaign, make_plan([str(root)]), lambda phase, *_: seen.append(phase))
    return result, seen


def start(root, out):
    """A triage in a process of its own, killed or interrupted by the test."""
    command = [
        sys.executable,
        "-m",
        "analyzer",
        "triage",
        str(root),
        "--out",
        str(out),
        "--workers",
        "2",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture(autouse=True)
def _interrupts_reach_children():
    """A shell that runs the tests in the background has SIGINT ignored, and children would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def wait_for(condition, limit_s=60):
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_resume_reads_nothing_that_is_up_to_date_and_gives_the_same_bytes(tmp_path):
    root = write_fleet(tmp_path / "fleet", 9)
    triage(root, tmp_path / "out")
    before = content(tmp_path / "out")
    result, seen = triage(root, tmp_path / "out", resume=True)

    assert (result.done, result.kept, seen) == (0, 9, [])
    assert content(tmp_path / "out") == before


def test_resume_reads_what_changed_or_is_new_and_forgets_what_is_gone(tmp_path):
    root = write_fleet(tmp_path / "fleet", 9)
    triage(root, tmp_path / "out")
    users = root / "users"
    (users / "alice" / "run000" / "train.log").write_text(ROWS, encoding="utf-8")
    write_run(users / "bob" / "run100", ROWS + OOM)
    for file in (users / "bob" / "run001").iterdir():
        file.unlink()
    (users / "bob" / "run001").rmdir()
    result, _ = triage(root, tmp_path / "out", resume=True)
    triage(root, tmp_path / "fresh")

    assert (result.done, result.kept) == (2, 7)
    assert content(tmp_path / "out") == content(tmp_path / "fresh")


def test_other_rules_make_everything_out_of_date(tmp_path):
    root = write_fleet(tmp_path / "fleet", 3)
    triage(root, tmp_path / "out")
    pack = tmp_path / "pack"
    example = next((Path(__file__).parents[2] / "rules").glob("*/*/rule.yaml"))
    text = example.read_text(encoding="utf-8").split("\n")
    pack.mkdir()
    lines = ["id: ZZZ999" if line.startswith("id:") else line for line in text]
    (pack / "rule.yaml").write_text("\n".join(lines), encoding="utf-8")
    result, _ = triage(root, tmp_path / "out", resume=True, options=Options(rules=(str(pack),)))

    assert (result.done, result.kept) == (3, 0)


def test_a_directory_that_holds_a_triage_is_not_overwritten_by_accident(tmp_path):
    root = write_fleet(tmp_path / "fleet", 3)
    triage(root, tmp_path / "out")

    with pytest.raises(InputError, match="--resume"):
        triage(root, tmp_path / "out")


def test_a_run_that_could_not_be_diagnosed_is_tried_again(tmp_path, monkeypatch):
    root = write_fleet(tmp_path / "fleet", 3)
    real = sys.modules["analyzer.triage.worker"].load_run

    def broken(path, extra=()):
        if "run001" in str(path):
            raise ZeroDivisionError
        return real(path, extra)

    monkeypatch.setattr("analyzer.triage.worker.load_run", broken)
    first, _ = triage(root, tmp_path / "out")
    monkeypatch.undo()
    second, _ = triage(root, tmp_path / "out", resume=True)

    assert [len(result.summary.problems) for result in (first, second)] == [1, 0]
    assert second.done == 1


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_done_and_resume_goes_on(tmp_path, monkeypatch, end):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 6)
    for number in range(40):
        harmful(root, f"slow{number:02d}", "sleep")
    process = start(root, tmp_path / "out")
    wait_for(lambda: list((tmp_path / "out").glob("journal/*.jsonl")) or process.poll() is not None)
    process.send_signal(end)
    _, errors = process.communicate(timeout=60)
    done = Dataset(open_place(str(tmp_path / "out"))).manifest

    assert process.returncode == 130, errors.decode()
    assert b"Traceback" not in errors
    assert b"--resume" in errors
    assert 0 < done["runs"] < 46
    assert done["complete"] is False
    resumed = call("triage", root, "--out", tmp_path / "out", "--resume", "--workers", "0")
    assert resumed.returncode == 0, resumed.stderr
    assert Dataset(open_place(str(tmp_path / "out"))).manifest["runs"] == 46
    assert f"{done['runs']} of 46 runs were up to date" in resumed.stderr


def test_a_killed_supervisor_loses_little_and_leaves_no_process(tmp_path, monkeypatch):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 6)
    for number in range(40):
        harmful(root, f"slow{number:02d}", "sleep")
    process = start(root, tmp_path / "out")
    wait_for(lambda: list((tmp_path / "out").glob("journal/*.jsonl")))
    children = _children(process.pid)
    process.kill()
    process.communicate()
    kept = sum(len(path.read_bytes().splitlines()) for path in (tmp_path / "out").glob("journal/*.jsonl"))
    result, _ = triage(root, tmp_path / "out", resume=True)

    assert (result.kept, result.done) == (kept, 46 - kept)
    wait_for(lambda: not any(_alive(child) for child in children))


def _children(pid):
    if not sys.platform.startswith("linux"):
        return []
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_torn_line_of_the_journal_costs_one_run(tmp_path):
    root = write_fleet(tmp_path / "fleet", 4)
    triage(root, tmp_path / "whole")
    records = list(Dataset(open_place(str(tmp_path / "whole"))).records())
    lines = [json.dumps(record) for record in records]
    journal = tmp_path / "out" / "journal"
    journal.mkdir(parents=True)
    (journal / "000001.jsonl").write_text("\n".join(lines)[:-20] + "\n", encoding="utf-8")
    result, _ = triage(root, tmp_path / "out", resume=True)

    assert (result.kept, result.done) == (3, 1)
    assert not journal.exists()
