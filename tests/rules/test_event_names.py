"""Rules look only at kinds and fields that some reader emits, and never at advice."""

import re
from pathlib import Path

import pytest

from analyzer.facts.catalog import EVENT_FACTS
from analyzer.ingest.text.events.load import all_patterns
from analyzer.rules.load import load_rules

INGEST = Path(__file__).parents[2] / "analyzer" / "ingest"
SOURCE = "".join(
    path.read_text(encoding="utf-8") for path in sorted([*INGEST.rglob("*.py"), *INGEST.rglob("*.yaml")])
)
WORDS = set(re.findall(r'"([a-z][a-z0-9_]{2,60})"', SOURCE))
ROLES: dict[str, set[str]] = {}
for _pattern in all_patterns():
    ROLES.setdefault(_pattern.kind, set()).add(_pattern.role)
USED = sorted(
    {
        name
        for rule in load_rules().rules
        for _, condition in rule.conditions()
        for name in condition.names
        if name.startswith("event.")
    }
)


@pytest.mark.parametrize("name", USED)
def test_an_event_that_a_rule_looks_at_can_occur(name):
    _, kind, fact = name.split(".")

    assert kind in ROLES or kind in WORDS, "no pattern and no grammar emits this kind"
    assert fact in EVENT_FACTS or fact in WORDS or f"?P<{fact}>" in SOURCE, "no reader fills this field"


def test_advice_is_never_evidence():
    advice = {kind for kind, roles in ROLES.items() if roles == {"advice"}}

    assert advice
    assert [name for name in USED if name.split(".")[1] in advice] == []
