"""Nothing that lies in a directory of runs ends in a crash, a hang, a full memory, or an output that does harm."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_inputs import CASES

from analyzer.guard import OUR_FAULT
from analyzer.ingest.discover import load_run
from analyzer.ingest.masking import safe_name
from analyzer.triage.plan import make_plan

HERE = Path(__file__).parent
MOST_CPU_S = 20
"""Of one input. The slowest takes 5 s on a machine that is busy; one that explodes takes minutes."""


@pytest.fixture(scope="session")
def ends(tmp_path_factory):
    """How each hostile input ends, all in one process of bounded memory."""
    root = tmp_path_factory.mktemp("hostile")
    for name, fill in CASES.items():
        (root / name).mkdir()
        fill(str(root / name))
    done = subprocess.run(
        [sys.executable, str(HERE / "drive.py"), str(root)],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    found = {entry["name"]: entry for entry in map(json.loads, done.stdout.splitlines())}
    return root, found, done.stderr[-2000:]


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_input_does_no_harm(ends, name):
    root, found, errors = ends
    assert name in found, f"the process did not survive: {errors}"
    end = found[name]

    assert not end["error"] or end["status"] == "error", end["error"]
    assert end["status"] not in {"", "error"}, end["error"]
    assert not [gap for gap in end["gaps"] if OUR_FAULT in gap], end["gaps"]
    assert end["unsafe"] == []
    assert end["cpu_s"] < MOST_CPU_S
    assert not (root / name / "EXECUTED").exists()


def test_a_fix_for_a_file_that_cannot_be_shown_has_no_diff_and_no_crash(ends):
    _, found, _ = ends

    assert "overflow" in found["a_configuration_without_a_suffix"]["texts"]["terminal"].lower()


def test_each_hostile_input_can_be_planned(ends):
    root, _, _ = ends
    plan = make_plan([str(root)])

    assert len(plan.runs) >= len(CASES) - 3
    for item in (*plan.runs, *plan.skipped):
        json.dumps(str(item)).encode()


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), FileNotFoundError(2, "gone"), OSError(5, "I/O")]
)
def test_an_entry_that_cannot_be_looked_at_ends_neither_a_diagnosis_nor_a_triage(
    tmp_path, monkeypatch, error
):
    CASES["deep_directories"](str(tmp_path))
    (tmp_path / "closed.log").write_text("x", encoding="utf-8")
    real = os.stat

    def stat(path, *args, **kwargs):
        if str(path).endswith("closed.log"):
            raise error
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", stat)
    assert load_run(tmp_path).run.sources
    assert make_plan([str(tmp_path)]).runs


def test_names_are_shown_without_what_a_terminal_obeys():
    shown = safe_name("\x1b]52;c;aGk=\x07\u202egol\n\udce4.log")

    assert shown == r"\x1b]52;c;aGk=\x07\u202egol\n\xe4.log"
    assert shown.isprintable()
