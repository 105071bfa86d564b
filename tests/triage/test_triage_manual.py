"""The manual of the dataset names every column, and its examples of engines are those that exist."""

import re
from pathlib import Path

import pytest

import analyzer.triage
from analyzer.triage import store

MANUAL = (Path(analyzer.triage.__file__).parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("table", "columns"), list(store.COLUMNS.items()))
def test_every_column_is_described_as_in_the_schema(table, columns):
    section = re.search(rf"^### {table}\n(.*?)(?=^##)", MANUAL, re.MULTILINE | re.DOTALL).group(1)
    rows = re.findall(r"^\| `(\w+)` \| ([\w:]+) \| (.*) \|$", section, re.MULTILINE)

    assert rows == [tuple(column) for column in columns]


def test_the_queries_of_the_manual_run(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    from fleets import write_fleet

    from analyzer.triage.campaign import Campaign, run_campaign
    from analyzer.triage.places import open_place
    from analyzer.triage.plan import make_plan
    from analyzer.triage.specs import Options

    root = write_fleet(tmp_path / "fleet", 6)
    run_campaign(
        Campaign(open_place(str(tmp_path / "out")), Options(), workers=0),
        make_plan([str(root)]),
        lambda *_: None,
    )
    queries = re.findall(r"^```sql\n(.*?)^```", MANUAL, re.MULTILINE | re.DOTALL)

    assert len(queries) == 3
    for query in queries:
        assert duckdb.sql(query.replace("OUT/", f"{tmp_path}/out/")).fetchall()


def test_the_adapter_of_the_manual_is_an_executor():
    code = re.search(r"^```python\n(class .*?)^```", MANUAL, re.MULTILINE | re.DOTALL).group(1)
    names = {}
    exec(compile(code.replace("import ray", "ray = None"), "README.md", "exec"), names)

    assert hasattr(names["RayExecutor"], "submit")
