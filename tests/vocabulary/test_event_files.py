"""Files of events: strict reading, pieces and tables, nothing lost in the cache."""

import pytest

from analyzer.errors import RuleSyntaxError
from analyzer.ingest.text.events.patterns import Pattern, match_pattern
from analyzer.vocabulary import events
from analyzer.vocabulary.events import read_events
from analyzer.vocabulary.marked import load_marked

FILES = [load_marked(path.read_text(encoding="utf-8"), path.name).data for path in events.event_files()]

GOOD = r"""
events:
  disk_refused:
    says: a disk refused
    role: root_candidate
    fields: {reason: str, size: gib, pid: int}
pieces:
  HOST: '(?P<host>\w{1,20})'
  WHO:
  - 'by ${HOST}'
  - 'pid (?P<pid>\d{1,9})'
tables:
  reasons: {'7': 'it was full'}
patterns:
- kind: disk_refused
  literals: ['disk refused']
  regex:
  - 'disk refused: (?P<reason>\d{1,4})'
  - 'disk refused (?P<size>${SIZE})'
  more: ['${WHO}']
  unless: 'only a test'
  words: {reason: reasons}
  example: 'disk refused: 7'
"""


def test_pieces_tables_and_alternatives_are_filled_in():
    (row,) = read_events([load_marked(GOOD, "disks.yaml")])["patterns"]
    pattern = Pattern(*row)

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
        ("role: root_candidate", "role: boss", ":5:5", "'boss' is not one of root_candidate"),
        ("literals:", "literal:", ":16:3", "unknown key 'literal' in patterns"),
        ("pid: int", "pid: integer", ":6:38", "'integer' is not one of int"),
        ("pid: int", "pid: int, count: int", ":6:48", "every event has a fact 'count'"),
        ("reason: str, size", "reasn: str, size", ":17:3", "no field 'reason'; did you mean 'reasn'?"),
        ("kind: disk_refused", "kind: disk_refuse", ":15:3", "did you mean 'disk_refused'?"),
        ("${SIZE}", "${SIZES}", ":17:3", "no piece is called 'SIZES'"),
        ("['${WHO}']", "['${WHOM}']", ":20:3", "no piece is called 'WHOM'"),
        ("{reason: reasons}", "{reason: causes}", ":22:11", "no table is called 'causes'"),
        ("unless: 'only", "unless: '(only", ":21:3", "not a regular expression"),
        ("    says: a disk refused\n", "", ":3:3", "lacks the key 'says'"),
    ],
)
def test_a_mistake_is_told_with_its_place(old, new, place, says):
    assert old in GOOD

    with pytest.raises(RuleSyntaxError) as caught:
        read_events([load_marked(GOOD.replace(old, new), "disks.yaml")])

    assert says in str(caught.value)
    assert f"disks.yaml{place}" in str(caught.value)


def test_events_from_the_cache_are_those_of_the_files(tmp_path, monkeypatch):
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path))
    first = events._data.__wrapped__()
    (kept,) = tmp_path.glob("events-*.json")
    second = events._data.__wrapped__()
    kept.write_text("[", encoding="utf-8")
    third = events._data.__wrapped__()

    assert first == second == third
    assert len(first["patterns"]) == sum(len(data.get("patterns", [])) for data in FILES)
