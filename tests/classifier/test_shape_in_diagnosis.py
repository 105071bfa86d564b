"""The classifier inside a diagnosis: on runs of the held-out part of the excerpt, which no training saw."""

from pathlib import Path

import pytest

from analyzer import diagnose
from analyzer.classifier.excerpt import read_excerpt
from analyzer.render import report
from analyzer.rules.load import RuleSet

EXCERPT = Path(__file__).parents[2] / "samples" / "lab" / "excerpt.parquet"
HEALTHY = 60
"""Enough of the healthy runs to see a rate of false alarms; the report has all."""


@pytest.fixture(scope="module")
def diagnosed(causes_only):
    held_out = [pair for pair in read_excerpt(EXCERPT) if pair[0]["part"] == "held-out"]
    faulty = [pair for pair in held_out if pair[0]["label"] != "healthy"]
    healthy = [pair for pair in held_out if pair[0]["label"] == "healthy"]
    return [(row, diagnose(run)) for row, run in (*faulty[::2], *healthy[:HEALTHY])]


def shape_findings(diagnosis):
    return [finding for finding in diagnosis.findings if finding.shape_only]


def test_healthy_runs_are_not_accused_by_their_shape(diagnosed):
    accused = [
        row["run_id"]
        for row, diagnosis in diagnosed
        if row["label"] == "healthy"
        for finding in shape_findings(diagnosis)
        if finding.severity != "advisory"
    ]

    assert len(accused) <= 0.03 * sum(row["label"] == "healthy" for row, _ in diagnosed) + 1, accused


def test_a_finding_by_shape_says_so_everywhere(monkeypatch):
    """Where no rule speaks; on the excerpt some rule always does, so none is asked."""
    monkeypatch.setattr(RuleSet, "in_question", lambda *_: [])
    held_out = [
        run for row, run in read_excerpt(EXCERPT) if row["part"] == "held-out" and row["label"] != "healthy"
    ]
    told = map(diagnose, held_out[::4])  # what is not finite is a failure without any rule
    found = [each for each in told if shape_findings(each) and each.status != "failed"]
    assert found

    for diagnosis in found:
        finding = shape_findings(diagnosis)[0]
        assert finding.calibrated
        assert "shape of the curves only" in report(diagnosis, "terminal")
        assert "no rule speaks" in diagnosis.explain(finding.cause.id)
        assert '"shape_only": true' in report(diagnosis, "json")


def test_a_rule_that_speaks_is_not_joined_by_the_shape(diagnosed):
    for _, diagnosis in diagnosed:
        if shape_findings(diagnosis):
            others = [f for f in diagnosis.findings if not f.shape_only and f.severity != "advisory"]
            assert all(finding.probability < 0.3 for finding in others)


def test_the_ledger_shows_the_classifiers_line_with_places(diagnosed):
    lines = [
        line
        for _, diagnosis in diagnosed
        for finding in diagnosis.findings
        for line in finding.evidence
        if line.id == "classifier" and line.verdict
    ]

    assert lines
    assert all(abs(line.bits) <= 3 for line in lines)
    assert all(line.refs for line in lines)
