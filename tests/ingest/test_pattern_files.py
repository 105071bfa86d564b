"""Files of log patterns: strict reading, pieces and tables, one schema, nothing lost in the cache."""

from pathlib import Path

import jsonschema
import pytest

from analyzer.errors import RuleSyntaxError
from analyzer.ingest.text.events import load
from analyzer.ingest.text.events.load import all_patterns, pattern_schema, read_patterns
from analyzer.ingest.text.events.patterns import match_pattern
from analyzer.vocabulary.marked import load_marked

FILES = sorted(Path(load.__file__).parent.glob("*.yaml"))

GOOD = r"""
pieces:
  HOST: '(?P<host>\w{1,20})'
  WHO:
  - 'by ${HOST}'
  - 'pid (?P<pid>\d{1,9})'
tables:
  reasons: {'7': 'it was full'}
patterns:
- kind: disk_refused
  role: root_candidate
  literals: ['disk refused']
  regex:
  - 'disk refused: (?P<reason>\d{1,4})'
  - 'disk refused (?P<size>${SIZE})'
  fields: {pid: int, size: gib}
  more: ['${WHO}']
  unless: 'only a test'
  words: {reason: reasons}
"""


def test_pieces_tables_and_alternatives_are_filled_in():
    (pattern,) = (load._pattern(row) for row in read_patterns(load_marked(GOOD, "disks.yaml")))

    assert match_pattern(pattern, "disk refused: 7 by node1, pid 12") == {
        "reason": "it was full",
        "host": "node1",
        "pid": 12,
    }
    assert match_pattern(pattern, "disk refused 2 GiB") == {"size": 2.0}
    assert match_pattern(pattern, "disk refused: 7, only a test") is None


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ("role: root_candidate", "role: boss", ":11:3", "'boss' is not one of root_candidate"),
        ("literals:", "literal:", ":12:3", "unknown key 'literal' in patterns"),
        ("pid: int", "pid: integer", ":16:12", "'integer' is not one of int"),
        ("${SIZE}", "${SIZES}", ":13:3", "no piece is called 'SIZES'"),
        ("['${WHO}']", "['${WHOM}']", ":17:3", "no piece is called 'WHOM'"),
        ("{reason: reasons}", "{reason: causes}", ":19:11", "no table is called 'causes'"),
        ("unless: 'only", "unless: '(only", ":18:3", "not a regular expression"),
        ("  role: root_candidate\n", "", ":10:3", "lacks the key 'role'"),
    ],
)
def test_a_mistake_is_told_with_its_place(old, new, place, says):
    assert old in GOOD

    with pytest.raises(RuleSyntaxError) as caught:
        list(read_patterns(load_marked(GOOD.replace(old, new), "disks.yaml")))

    assert says in str(caught.value)
    assert f"disks.yaml{place}" in str(caught.value)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_file_is_as_the_schema_says(path):
    data = load_marked(path.read_text(encoding="utf-8"), path.name).data

    jsonschema.Draft202012Validator(pattern_schema()).validate(data)


def test_patterns_from_the_cache_are_the_patterns_of_the_files(tmp_path, monkeypatch):
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path))
    first = all_patterns.__wrapped__()
    (kept,) = tmp_path.glob("events-*.json")
    second = all_patterns.__wrapped__()
    kept.write_text("[", encoding="utf-8")
    third = all_patterns.__wrapped__()

    assert first == second == third
    assert len(first) == sum(
        len(load_marked(path.read_text(encoding="utf-8"), path.name).data["patterns"]) for path in FILES
    )
