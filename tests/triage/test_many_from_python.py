"""``analyzer.diagnose_many``: the tables of a triage without a command."""

from fleets import OOM, ROWS, write_run

import analyzer
from analyzer.triage.store import COLUMNS


def test_the_tables_hold_each_run_and_its_findings(tmp_path):
    write_run(tmp_path / "fleet" / "good", ROWS)
    write_run(tmp_path / "fleet" / "dead", ROWS + OOM)
    runs, findings = analyzer.diagnose_many([tmp_path / "fleet"], workers=0)

    assert list(runs.columns) == [name for name, _, _ in COLUMNS["runs"]]
    assert dict(zip(runs.location.str.rpartition("/")[2], runs.status, strict=True))["dead"] == "failed"
    assert set(findings.key) <= set(runs.key)
    assert findings[findings.severity == "fatal"].evidence.iloc[0][0]["places"][0]["line"] > 0


def test_what_is_kept_is_carried_on(tmp_path):
    write_run(tmp_path / "fleet" / "dead", ROWS + OOM)
    first, _ = analyzer.diagnose_many([tmp_path / "fleet"], out=tmp_path / "out", workers=0)
    write_run(tmp_path / "fleet" / "good", ROWS)
    second, _ = analyzer.diagnose_many([tmp_path / "fleet"], out=tmp_path / "out", workers=0, resume=True)

    assert (len(first), len(second)) == (1, 2)


def test_a_fleet_without_findings_has_its_columns(tmp_path):
    write_run(tmp_path / "fleet" / "good", ROWS)
    _, findings = analyzer.diagnose_many([tmp_path / "fleet"], workers=0)

    assert "evidence" in findings.columns
