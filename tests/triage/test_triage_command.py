"""The command as people and scripts meet it: exit codes, formats, what it says about the plan."""

import csv
import io
import json

import pytest
from command_line import call
from fleets import ROWS, arm, harmful, write_fleet


def run(*arguments, stdin=""):
    return call("triage", *arguments, stdin=stdin.encode(), COLUMNS="100")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """One triage with an output directory, and that directory."""
    folder = tmp_path_factory.mktemp("fleet")
    root = write_fleet(folder / "fleet", 12)
    return run(root, "--out", folder / "out", "--workers", "2"), folder


def test_the_summary_is_printed_and_the_results_are_written(done):
    result, folder = done

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("12 runs: 8 failed, 4 healthy")
    assert "found 12 runs: 12 as run directory" in result.stderr
    assert {path.name for path in (folder / "out").iterdir()} == {
        "findings", "manifest.json", "report.html", "reports", "restart.jsonl", "runs", "skipped.jsonl", "summary.json",
    }  # fmt: skip


def test_each_failed_run_has_a_page_with_curves_that_the_fleet_links_to(done):
    out = done[1] / "out"
    pages = {path.name for path in (out / "reports").iterdir()}
    failed = {
        f"{line['key']}.html"
        for line in map(json.loads, (out / "restart.jsonl").read_text().splitlines())
        if line["status"] == "failed"
    }
    fleet = (out / "report.html").read_text(encoding="utf-8")

    assert pages == failed
    assert all(f"reports/{name}" in fleet for name in pages)
    assert 'id="chart-loss"' in (out / "reports" / min(pages)).read_text(encoding="utf-8")


@pytest.mark.parametrize(("choice", "count"), [("none", 0), ("all", 12)])
def test_which_runs_get_a_page_can_be_chosen(done, tmp_path, choice, count):
    run(done[1] / "fleet", "--out", tmp_path / "out", "--report", choice, "--workers", "0")

    assert len(list((tmp_path / "out").glob("reports/*.html"))) == count


def test_restart_advice_is_a_list_that_a_script_reads(done):
    lines = [json.loads(line) for line in (done[1] / "out" / "restart.jsonl").read_text().splitlines()]

    assert len(lines) == 12
    assert {line["decision"] for line in lines} >= {"no-action", "fix-then-restart"}
    assert set(lines[0]) == {
        "location", "key", "job", "status", "decision", "because", "resume_from", "exclude_hosts", "cause", "probability",
    }  # fmt: skip


@pytest.mark.parametrize("grouping", ["cause", "node", "user", "model"])
def test_the_table_follows_the_grouping(done, grouping):
    result = run(done[1] / "fleet" / "users" / "alice", "--group-by", grouping, "--workers", "0")

    assert f"by {grouping}" in result.stdout
    if grouping == "user":
        assert "alice" in result.stdout


def test_every_format_is_written(done, tmp_path):
    folder = done[1] / "fleet" / "users" / "alice"
    texts = {}
    for name in ("json", "markdown", "csv", "html"):
        run(folder, "--format", name, "--workers", "0", "--output", tmp_path / name)
        texts[name] = (tmp_path / name).read_text(encoding="utf-8")

    assert json.loads(texts["json"])["schema"] == "analyzer.triage-summary/1"
    assert texts["markdown"].startswith("# Triage of 6 runs")
    assert len(list(csv.DictReader(io.StringIO(texts["csv"])))) == 6
    assert texts["html"].startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(("level", "code"), [("never", 0), ("likely", 1)])
def test_fail_on_decides_the_exit_code(done, level, code):
    alice = done[1] / "fleet" / "users" / "alice"

    assert run(alice, "--fail-on", level, "--workers", "0").returncode == code


def test_a_run_that_could_not_be_diagnosed_is_named_and_exits_with_5(tmp_path, monkeypatch):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 3)
    harmful(root, "poison", "kill")
    result = run(root, "--workers", "2")

    assert result.returncode == 5
    assert "could not be diagnosed" in result.stdout
    assert "poison\n      its worker was killed by SIGKILL" in result.stdout


def test_shards_and_merge(tmp_path):
    root = write_fleet(tmp_path / "fleet", 6)
    for part in (1, 2):
        assert run(root, "--shard", f"{part}/2", "--out", tmp_path / "out", "--workers", "0").returncode == 0
    result = run("merge", tmp_path / "out", "--workers", "0")

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("6 runs: 4 failed, 2 healthy")


def test_sources_come_from_a_list_or_standard_input(tmp_path):
    root = write_fleet(tmp_path / "fleet", 3)
    runs = "\n".join(str(path) for path in sorted(root.glob("users/*/*")))
    (tmp_path / "list").write_text(runs, encoding="utf-8")

    assert run("--from", tmp_path / "list", "--workers", "0").stdout.startswith("3 runs")
    assert run("--from", "-", "--workers", "0", stdin=runs).stdout.startswith("3 runs")


def test_the_plan_alone_reads_no_run_and_can_be_given_back(tmp_path):
    root = write_fleet(tmp_path / "fleet", 3)
    plan = run(root, "--plan").stdout

    assert [line.split("\t")[1] for line in plan.splitlines()] == ["run directory: holds train.log"] * 3
    assert run("--from", "-", "--plan", stdin=plan).stdout == plan


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "give at least one source"),
        (["/nowhere/at/all"], 3, "/nowhere/at/all: no such file or directory"),
        (["--glob", "/nowhere/*"], 3, "/nowhere/*: no file or directory matches"),
        (["."," --shard", "5/4"], 3, "no such file"),
        ([".", "--shard", "5/4", "--out", "x"], 2, "give I/N"),
        ([".", "--shard", "1/4"], 2, "--shard needs --out"),
        ([".", "--timeout", "soon"], 2, "give a time"),
        ([".", "--mem", "1MB"], 2, "at least 128MiB"),
        (["merge", "nowhere"], 3, "no shards to merge"),
    ],
)  # fmt: skip
def test_wrong_usage_is_said_without_a_traceback(tmp_path, monkeypatch, arguments, code, text):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)

    assert result.returncode == code, result.stderr
    assert text in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "nowhere").exists()


def test_a_source_without_runs_exits_as_diagnose_does_and_says_so(tmp_path):
    (tmp_path / "notes.rst").write_text(ROWS, encoding="utf-8")
    result = run(tmp_path)

    assert result.returncode == 3
    assert "found no runs" in result.stderr
