"""Events: each is declared, recognised from text, captured with all its fields, and used or kept for a reason."""

import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from analyzer.ingest.text.events.patterns import all_patterns, match_pattern
from analyzer.ingest.text.prefixes import peel
from analyzer.rules.load import load_rules
from analyzer.rules.template import holes
from analyzer.vocabulary.events import COMMON_FIELDS, event_files, event_schema, event_specs
from analyzer.vocabulary.marked import load_marked

ROOT = Path(__file__).parents[2] / "analyzer"
FILES = {path.stem: load_marked(path.read_text(encoding="utf-8"), path.name).data for path in event_files()}
PATTERNS = [pattern for data in FILES.values() for pattern in data.get("patterns", [])]
EXAMPLES = [
    (pattern, compiled, text)
    for pattern, compiled in zip(PATTERNS, all_patterns(), strict=True)
    for text in ([pattern["example"]] if isinstance(pattern["example"], str) else pattern["example"])
]
READERS = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "ingest").rglob("*.py")))
SOURCES = [
    path.read_text(encoding="utf-8")
    for place in ("detect", "rules", "render", "triage", "replay", "facts", "cli", "casebook")
    for path in sorted((ROOT / place).rglob("*.py"))
]
SOURCES += [
    (ROOT / name).read_text(encoding="utf-8")
    for name in (
        "pipeline.py",
        "looked_at.py",
        "ingest/text/log_reader.py",
        "ingest/text/failures/localiser_rows.py",
    )
]
RULES = load_rules().rules
USED = {name for rule in RULES for _, condition in rule.conditions() for name in condition.names}
USED |= {name for rule in RULES for name in (*holes(rule.says), *holes(rule.restart_because))}


def captured(compiled, text):
    found = match_pattern(compiled, text)
    return match_pattern(compiled, peel(text).text) if found is None else found


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_as_the_schema_says(name):
    jsonschema.Draft202012Validator(event_schema()).validate(FILES[name])


def test_each_pattern_recognises_its_example():
    without_literal = [
        text for pattern, _, text in EXAMPLES if not any(literal in text for literal in pattern["literals"])
    ]

    assert without_literal == []  # the scan would pass them over
    assert [text for _, compiled, text in EXAMPLES if captured(compiled, text) is None] == []


def test_each_field_of_a_pattern_is_captured_from_an_example():
    wanted, found = set(), set()
    for pattern, compiled, text in EXAMPLES:
        groups = re.findall(r"\?P<(\w+)>", "".join([compiled.regex, *compiled.more]))
        wanted |= {(pattern["kind"], group) for group in groups if group not in COMMON_FIELDS}
        found |= {(pattern["kind"], group) for group in captured(compiled, text) or ()}

    assert sorted(wanted - found) == []


def test_each_declared_event_and_field_is_written_by_a_pattern_or_a_reader():
    groups = {
        (p.kind, g) for p in all_patterns() for g in re.findall(r"\?P<(\w+)>", "".join([p.regex, *p.more]))
    }
    kinds = {pattern.kind for pattern in all_patterns()}
    words = set(re.findall(r"[a-z][a-z0-9_]{1,60}", READERS))

    assert [kind for kind in event_specs() if kind not in kinds and kind not in words] == []
    assert [
        (kind, field)
        for kind, spec in event_specs().items()
        for field in spec.fields
        if (kind, field) not in groups and field.removeprefix("derived_") not in words
    ] == []


READ_BY = [
    set(re.findall(r'"([a-z][a-z0-9_]{1,60})"', path.read_text(encoding="utf-8")))
    for place in ("detect", "rules", "render", "triage", "replay", "cli", "ingest/text")
    for path in (ROOT / place).rglob("*.py")
]
ALWAYS_READ = {"rank", "step", "exception", "message", "raised_in"}
"""Fields that the table of events, the order of failures and the judge of exceptions take from every event."""
UNUSED = "no rule, detector or report looks at it: use it, or list it with its reason in tests/rules/unread_events.yaml"
UNREAD = yaml.safe_load((Path(__file__).parent / "unread_events.yaml").read_text(encoding="utf-8"))


def test_each_event_is_used_or_kept_for_a_reason():
    words = set(re.findall(r"[a-z][a-z0-9_]{2,60}", "".join(source for source in SOURCES)))
    kept = {kind for kinds in UNREAD["events"].values() for kind in kinds}
    unused = {
        kind for kind in event_specs() if kind not in words and not any(f"event.{kind}." in n for n in USED)
    }

    assert sorted(unused - kept) == [], UNUSED
    assert sorted(kept - set(event_specs())) == [], "no such event is declared"


def test_each_field_is_used_or_kept_for_a_reason():
    unused = {
        f"event.{kind}.{field}"
        for kind, spec in event_specs().items()
        for field in spec.fields
        if f"event.{kind}.{field}" not in USED
        and field not in ALWAYS_READ
        and not any(kind in words and field in words for words in READ_BY)
    }
    kept = {field for fields in UNREAD["fields"].values() for field in fields}

    assert [name for name in sorted(unused) if name.rpartition(".")[2] not in kept] == [], UNUSED
    declared = {field for spec in event_specs().values() for field in spec.fields}
    assert sorted(kept - declared) == [], "no such field is declared"
