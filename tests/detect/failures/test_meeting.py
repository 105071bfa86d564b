"""A log that stops where its ranks were to meet."""

import pytest

import analyzer


@pytest.mark.parametrize(
    "below", ["", "4 ranks are here\nbuilding the loaders\n"], ids=["nobody-came", "they-met"]
)
def test_a_log_that_stops_where_ranks_meet_is_told_as_one(tmp_path, below):
    text = f"GPU available: True, used: True\ninitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4\n{below}"
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    dx = analyzer.diagnose(tmp_path)

    borne_out = [
        evidence
        for found in dx.findings
        for evidence in found.evidence
        if evidence.id == "stops-there" and evidence.verdict
    ]
    assert dx.status == "insufficient"
    assert bool(borne_out) == (not below)
