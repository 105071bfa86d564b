"""Every entry of the catalogue has a rule or a stated reason, and the table says which."""

import json
from types import SimpleNamespace

import pytest

from analyzer.errors import RuleError
from analyzer.rules.causes import catalogue, rules_root
from analyzer.rules.coverage import coverage_page, lint_coverage, uncovered
from analyzer.rules.load import load_rules

RULES = load_rules().rules


def test_every_entry_has_a_rule_or_a_reason():
    assert list(lint_coverage(RULES, rules_root())) == []


def test_at_least_180_entries_have_a_rule():
    assert len({rule.entry.id for rule in RULES}) >= 180


def test_page_lists_every_entry_once():
    page = coverage_page(RULES, rules_root())

    assert all(page.count(f"| `{cause}` |") == 1 for cause in catalogue())


def test_an_entry_with_rule_and_reason_and_one_with_neither_are_told(tmp_path):
    (tmp_path / "uncovered.json").write_text(
        json.dumps({"disk-full": "nobody prints it", "no-such-cause": "x"})
    )
    some = [SimpleNamespace(entry=catalogue()["disk-full"])]

    messages = "\n".join(lint_coverage(some, tmp_path))

    assert "'disk-full' has a rule by now" in messages
    assert "'no-such-cause' is not in the catalogue" in messages
    assert "'oom-capacity' has neither a rule nor a reason" in messages


@pytest.mark.parametrize("text", ["", "[1]", '{"disk-full": ""}', "{"])
def test_damaged_reasons_are_refused(tmp_path, text):
    (tmp_path / "uncovered.json").write_text(text)

    with pytest.raises(RuleError):
        uncovered(tmp_path)
