"""The fixes that were tried in the fault lab: what rules claim, and what the table of results bears out."""

import ast
import sys
from pathlib import Path

import pytest

from analyzer.model.diagnosis import LAB, Fix
from analyzer.render.sentences import fix_note
from analyzer.rules.lint import lab_rows, lint_rule, proven_strengths
from analyzer.rules.load import load_rules

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from samples.lab.fixes_table import FIX_TRIALS  # noqa: E402

SAMPLES = ROOT / "samples"
RULES = {rule.slug: rule for rule in load_rules().rules}
ROWS = {(row["fault"], row["rule"], row["fix"]): row for row in lab_rows(SAMPLES)}
COUNTS = ("cured", "mitigated", "no_effect")


def fix_of(slug, fix_id):
    return next((fix for fix in RULES[slug].fixes if fix.id == fix_id), None)


def planted_faults():
    """Names given to the decorator ``fault`` in the lab's modules, which need torch to be imported."""
    for path in (SAMPLES / "lab").glob("faults_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fault":
                yield node.args[0].value, node.args[1].value


def classes_of(path):
    return {
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }


def test_every_trial_names_a_fault_a_rule_a_fix_and_hooks_that_exist():
    faults = {name for name, _ in planted_faults()}
    hooks = classes_of(SAMPLES / "lab" / "fixes_hooks.py")
    wrong = [
        trial.key
        for trial in FIX_TRIALS
        if trial.fault not in faults
        or trial.rule not in RULES
        or fix_of(trial.rule, trial.fix) is None
        or not {trial.hooks, trial.planted} <= hooks
    ]

    assert len(faults) > 40
    assert wrong == []


def test_no_trial_is_there_twice_and_none_tries_a_mere_diagnosis():
    keys = [trial.key for trial in FIX_TRIALS]
    diagnoses = [t.key for t in FIX_TRIALS if fix_of(t.rule, t.fix).strength == "diagnoses"]

    assert len(keys) == len(set(keys))
    assert diagnoses == []


def test_the_table_of_results_holds_every_trial_and_nothing_else():
    assert set(ROWS) == {(trial.fault, trial.rule, trial.fix) for trial in FIX_TRIALS}
    for row in ROWS.values():
        assert sum(int(row[name]) for name in COUNTS) == int(row["repeats"])


def test_a_fix_says_that_it_is_verified_exactly_where_the_table_bears_it_out():
    proven = {
        (slug, fix_id)
        for (_, slug, fix_id), row in ROWS.items()
        if fix_of(slug, fix_id).strength in proven_strengths(row)
    }
    for slug, fix_id in proven:
        assert fix_of(slug, fix_id).verified_by, f"{slug} {fix_id} is verified in the lab and does not say so"
    for rule in RULES.values():
        for fix in rule.fixes:
            if fix.verified_by.startswith(LAB):
                row = ROWS[fix.verified_by.removeprefix(LAB), rule.slug, fix.id]
                assert fix.strength in proven_strengths(row), f"{rule.slug} {fix.id}"


@pytest.mark.parametrize(
    ("cured", "mitigated", "no_effect", "strengths"),
    [
        (3, 0, 0, {"cures", "mitigates"}),
        (2, 1, 0, {"mitigates"}),
        (2, 0, 1, set()),
        (0, 0, 0, set()),
        (1, 0, 0, set()),
    ],
)
def test_what_a_row_bears_out(cured, mitigated, no_effect, strengths):
    runs = cured + mitigated + no_effect
    row = {"repeats": runs, "cured": cured, "mitigated": mitigated, "no_effect": no_effect}

    assert proven_strengths({name: str(value) for name, value in row.items()}) == strengths


def test_a_claim_that_the_table_does_not_bear_out_is_a_lint_message():
    rule = next(rule for rule in RULES.values() if any(fix.verified_by.startswith(LAB) for fix in rule.fixes))
    folder = Path(rule.slug)
    claimed = rule._replace(fixes=tuple(fix._replace(verified_by="lab/never-planted") for fix in rule.fixes))

    assert "R016" not in " ".join(lint_rule(rule, folder, [], SAMPLES))
    assert "R016" in " ".join(lint_rule(claimed, folder, [], SAMPLES))


def test_a_reader_is_told_that_a_fix_was_tried_in_the_lab_and_not_sent_to_a_sample():
    note = fix_note(Fix("lower", "Lower the rate", "cures", "restart", verified_by="lab/lr-too-high"))

    assert note == "cures it; tried on a fault planted on purpose: lr-too-high"
