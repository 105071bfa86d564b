"""Fixes that rules share: written out when a rule is read, with their values; mistakes are told with their place."""

from collections import Counter

import jsonschema
import pytest

from analyzer.errors import RuleError
from analyzer.rules.causes import rules_root
from analyzer.rules.fixing.shared_fixes import (
    FILE_NAME,
    bundled_fixes,
    fix_schema,
    read_shared_fixes,
    with_shared,
)
from analyzer.rules.load import load_rules, rule_files
from analyzer.vocabulary.marked import load_marked

SHARED = {
    "slower": {"says": "x", "change": {"hf-trainer": {"learning_rate": "= lr / ${by}"}}, "code": "print(1)"}
}


def rule(fix):
    return load_marked(f"fixes:\n- {{id: slow, {fix}}}\n", "rule.yaml")


def test_the_file_is_as_its_schema_says_and_each_fix_is_shared():
    text = (rules_root() / FILE_NAME).read_text(encoding="utf-8")
    jsonschema.Draft202012Validator(fix_schema()).validate(load_marked(text, FILE_NAME).data)
    used = Counter(
        fix["use"]
        for path in rule_files(rules_root())
        for fix in load_marked(path.read_text(encoding="utf-8"), path.name).data["fixes"]
        if "use" in fix
    )

    assert set(used) == set(bundled_fixes())
    assert min(used.values()) >= 2


def test_what_is_shared_is_written_out_and_the_rule_goes_before_it():
    (fix,) = with_shared(rule("use: slower, with: {by: 3}, code: pass"), SHARED).data["fixes"]

    assert fix["change"] == {"hf-trainer": {"learning_rate": "= lr / 3"}}
    assert (fix["id"], fix["code"]) == ("slow", "pass")
    assert "says" not in fix


@pytest.mark.parametrize(
    ("fix", "says"),
    [
        ("use: slow", "rule.yaml:2:14: no fix is called 'slow'; did you mean 'slower'?"),
        ("use: slower", "fix 'slower' needs a value of 'by' in 'with'"),
    ],
)
def test_a_mistake_is_told_with_its_place(fix, says):
    with pytest.raises(RuleError) as caught:
        with_shared(rule(fix), SHARED)

    assert says in str(caught.value)


def test_a_file_of_fixes_is_checked():
    with pytest.raises(RuleError, match="lacks the key 'says'"):
        read_shared_fixes(load_marked("fixes:\n  slow: {change: {}}", "fixes.yaml"))


def test_a_rule_that_is_read_holds_the_settings():
    fixes = [fix for rule in load_rules().rules for fix in rule.fixes if fix.id == "bf16"]

    assert fixes
    assert all(fix.change["hf-trainer"]["bf16"] is True for fix in fixes if "hf-trainer" in fix.change)
