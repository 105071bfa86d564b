"""Silence is earned: every rule over every run that is known to be healthy, and no fault may be found.

A finding that is right although the run counts as healthy stands in ``healthy_exceptions.json`` with its reason:
run -> cause id -> reason. An entry that is no longer needed fails too.
"""

import json
from pathlib import Path

import pytest
from public_files import PUBLIC, manifest

import analyzer
from analyzer.errors import InputError

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"
EXCEPTIONS = json.loads((Path(__file__).parent / "healthy_exceptions.json").read_text(encoding="utf-8"))
FAULTS = {"fatal", "degrading"}
REPORTED = 0.3


def healthy_samples():
    return [
        path.relative_to(SAMPLES).as_posix()
        for kind in ("healthy", "fixed")
        for path in sorted((SAMPLES / kind).iterdir())
    ]


def healthy_public_files():
    return [row["local_path"] for row in manifest() if row["outcome_class"] == "healthy"]


def faults_of(path):
    """Cause ids of faults, or None if the file is refused with a reason."""
    try:
        dx = analyzer.diagnose(path)
    except InputError:
        return None
    # Below, a cause is a candidate where too little was seen for a verdict, and no alarm.
    return {
        f.cause.id
        for f in dx.findings
        if f.severity in FAULTS and f.probability >= REPORTED and not f.by_likeness
    }


def check(path, name):
    found = faults_of(path)
    if found is None:
        return
    allowed = set(EXCEPTIONS.get(name, {}))

    assert found - allowed == set(), "a fault is found in a healthy run"
    assert allowed - found == set(), "an exception is no longer needed"


@pytest.mark.parametrize("name", healthy_samples())
def test_a_healthy_sample_shows_no_fault(name):
    check(SAMPLES / name, f"samples/{name}")


@pytest.mark.skipif(not healthy_public_files(), reason="the public run files are not here")
@pytest.mark.parametrize("name", healthy_public_files(), ids=lambda name: name[-60:])
def test_a_healthy_public_run_shows_no_fault(name):
    check(PUBLIC / name, f"public/{name}")


def test_every_exception_names_a_known_run_and_a_reason():
    known = {f"samples/{name}" for name in healthy_samples()} | {
        f"public/{name}" for name in healthy_public_files()
    }
    for name, causes in EXCEPTIONS.items():
        if name.startswith("samples/") or healthy_public_files():
            assert name in known
        assert causes
        assert all(len(reason) > 20 for reason in causes.values())
