"""A run gives the same diagnosis from its server as from its offline directory."""

import pytest
from command_line import call
from stored_runs import ROOT, SAMPLES, stored

from analyzer import api
from analyzer.fetch.address import parse_address
from analyzer.fetch.runs import fetch_run
from analyzer.model.diagnosis import ALIKE, LIKENESS

CASES = ("failed/qwen2-fp16-sft-loss-zero", "healthy/qwen2-bf16-sft", "fixed/qwen2-bf16-sft-fixed")
PUBLIC = ROOT / ".." / "shared" / "data" / "public" / "wandb"


def offline_directories():
    found = [next((SAMPLES / case / "wandb").glob("offline-run-*")) for case in CASES]
    public = sorted({path.parent for path in PUBLIC.rglob("*.wandb") if path.stat().st_size > 200})
    return found, public


def by_rules(findings):
    """Those that no labelled runs moved: a server keeps fewer facts, and a fact more or less moves what such runs had."""
    return [f for f in findings if not any(line.id in {ALIKE, LIKENESS} for line in f.evidence)]


def told(diagnosis):
    """All that a diagnosis says except where the evidence stands."""
    return {
        "status": diagnosis.status,
        "findings": [
            (
                finding.cause.id,
                finding.rule_id,
                round(finding.probability, 6),
                finding.severity,
                finding.restart_advice,
            )
            for finding in by_rules(diagnosis.findings)
        ],
        "evidence": [
            [(line.id, line.verdict, line.bits, line.counted) for line in finding.evidence]
            for finding in by_rules(diagnosis.findings)
        ],
        "ruled_out": sorted(finding.cause.id for finding in by_rules(diagnosis.ruled_out)),
        "summary": diagnosis.summary,
    }


def test_the_server_and_the_offline_directory_tell_the_same(backend, session):
    samples, public = offline_directories()
    directories = [*samples, *public[:4]]
    urls = {}
    for directory in directories:
        urls[backend.add(stored(directory), project=f"p{len(urls)}")] = directory

    for url, directory in urls.items():
        fetch_run(parse_address(url), session=session)
        assert told(api.diagnose(url, offline=True)) == told(api.diagnose(directory)), directory.name


@pytest.fixture
def url(backend, environment):
    return backend.add(stored(next((SAMPLES / CASES[0] / "wandb").glob("offline-run-*"))))


def test_the_command_line_takes_an_address_for_the_run_and_for_its_baseline(backend, url):
    baseline = backend.add(stored(next((SAMPLES / CASES[1] / "wandb").glob("offline-run-*"))))
    result = call("diagnose", f"{url}/logs?nw=nwuserada&apiKey=0123456789", "--baseline", baseline, cwd=ROOT)

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[0] == f"FAILED  {url}  (completed, 60 of 60 steps)"
    assert "bf16-pretrained-model-in-fp16" in result.stdout
    assert "0123456789" not in result.stdout
