"""Triage of W&B projects: listed with filters, fetched by the workers, resumed by what the server says of a run."""

import json

import pytest
from command_line import call
from stored_runs import SAMPLES, stored

CASES = ("failed/qwen2-fp16-sft-loss-zero", "healthy/qwen2-bf16-sft", "fixed/qwen2-bf16-sft-fixed")


@pytest.fixture(scope="module")
def project(backend, environment):
    for case, state in zip(CASES, ("crashed", "finished", "finished"), strict=True):
        backend.add(
            stored(next((SAMPLES / case / "wandb").glob("offline-run-*")), state=state), project="fleet"
        )
    return f"{backend.url}/acme/fleet"


def triage(*arguments):
    return call("triage", *arguments, "--workers", "2")


def restarts(out):
    lines = (out / "restart.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["location"].rpartition("/")[2]: line for line in map(json.loads, lines)}


def test_a_project_is_triaged_and_resumed(project, tmp_path):
    first = triage(project, "--out", tmp_path / "out")
    again = triage(project, "--out", tmp_path / "out", "--resume")

    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("3 runs: 1 failed, 2 healthy")
    assert "2 as finished run of the W&B project" in first.stderr
    assert all(line["location"].startswith(project) for line in restarts(tmp_path / "out").values())
    assert again.stdout == first.stdout
    assert "(Parquet)" in again.stderr


def test_only_runs_in_the_wanted_state_are_taken(project):
    result = triage(project, "--state", "crashed,failed", "--plan")

    assert len([line for line in result.stdout.splitlines() if not line.startswith("#")]) == 1


def test_a_single_address_and_a_run_that_is_not_there(project, backend):
    result = triage(f"{project}/runs/nosuchrun")

    assert result.returncode == 5
    assert "could not be diagnosed" in result.stdout
    assert "Traceback" not in result.stderr


def test_a_wrong_state_is_one_line(project):
    result = triage(project, "--state", "sleeping")

    assert result.returncode == 3
    assert "unknown state 'sleeping'" in result.stderr
