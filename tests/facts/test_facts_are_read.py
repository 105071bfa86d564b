"""Every fact is read by a rule, a detector, a model or a report, or is listed with the reason why it is kept."""

from pathlib import Path

import yaml

from analyzer.detect.likeness.answer import shipped_likeness
from analyzer.detect.likeness.marks import KNOWN
from analyzer.facts.catalog import catalog
from analyzer.rules.load import load_rules
from analyzer.rules.template import holes

ROOT = Path(__file__).parents[2]
UNREAD = yaml.safe_load((Path(__file__).parent / "unread_facts.yaml").read_text(encoding="utf-8"))


def in_question():
    """Facts that no rule and no line of code names and that the model of likeness does not know."""
    rules = load_rules().rules
    read = {name for rule in rules for _, condition in rule.conditions() for name in condition.names}
    read |= {name for rule in rules for name in (*holes(rule.says), *holes(rule.restart_because))}
    read |= {mark.removesuffix(KNOWN) for mark in shipped_likeness().place if mark.endswith(KNOWN)}
    shared = (ROOT / "rules" / name for name in ("fixes.yaml", "health.yaml"))
    rule_files = sorted((ROOT / "rules").glob("*/*/rule.yaml"))
    texts = [path.read_text(encoding="utf-8") for path in (*rule_files, *shared)]
    texts += [
        path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "analyzer").rglob("*.py"))
        if "tables" not in path.parts
    ]
    written = "\n".join(texts)
    return {name for name in catalog() if name not in read and name not in written}


def test_every_fact_is_read_or_listed_with_its_reason():
    listed = [name for names in UNREAD.values() for name in names]

    assert len(listed) == len(set(listed))
    assert sorted(in_question() - set(listed)) == [], (
        "read it, remove it, or list it with its reason in tests/facts/unread_facts.yaml"
    )
    assert sorted(set(listed) - in_question()) == [], "it is read, or is no fact: take it off the list"
