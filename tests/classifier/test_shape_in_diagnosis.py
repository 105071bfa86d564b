"""The classifier inside a diagnosis: on runs of the held-out part of the excerpt, which no training saw."""

from pathlib import Path

import pytest

from analyzer import diagnose
from analyzer.classifier.excerpt import read_excerpt

EXCERPT = Path(__file__).parents[2] / "samples" / "lab" / "excerpt.parquet"


@pytest.fixture(scope="module")
def diagnosed(causes_only):
    held_out = [pair for pair in read_excerpt(EXCERPT) if pair[0]["part"] == "held-out"]
    faulty = [pair for pair in held_out if pair[0]["label"] != "healthy"]
    return [(row, diagnose(run)) for row, run in faulty[::6]]


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
