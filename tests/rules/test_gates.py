"""Named conditions and lists by vocabulary: what they stand for, their own cases, and how mistakes are told."""

import jsonschema
import pytest

from analyzer.errors import RuleError, RuleSyntaxError
from analyzer.expr import compile_condition, evaluate
from analyzer.rules.causes import rules_root
from analyzer.rules.gates import (
    FILE_NAME,
    bundled_gates,
    gate_schema,
    gates_for,
    holds,
    naming,
    read_gates,
    run_gate_cases,
)
from analyzer.rules.load import load_rules, parse_rule
from analyzer.rules.status import NUMERIC_SIGNS, outcome
from analyzer.vocabulary.events import event_specs
from analyzer.vocabulary.marked import load_marked

BUNDLED = load_marked((rules_root() / FILE_NAME).read_text(encoding="utf-8"), FILE_NAME)
RULE = next(iter(rules_root().glob("precision/*/rule.yaml"))).read_text(encoding="utf-8")


def condition(text):
    return compile_condition(text, "x.yaml:3:5", naming(bundled_gates()))


def test_the_file_is_as_its_schema_says_and_each_case_comes_out():
    jsonschema.Draft202012Validator(gate_schema()).validate(BUNDLED.data)
    outcomes = list(run_gate_cases(BUNDLED, bundled_gates()))

    assert [error for error in outcomes if error is not None] == []
    assert all(len(gate["cases"]) >= 2 for gate in BUNDLED.data["gates"].values())


def test_a_case_that_does_not_come_out_is_told_with_its_place():
    text = "gates:\n  mine:\n    says: x\n    when: run.completed\n    cases:\n    - {says: y, facts: {run.completed: true}, holds: no}"
    file = load_marked(text, "x.yaml")
    (error,) = run_gate_cases(file, read_gates(file, {}))

    assert str(error) == "x.yaml:6:7: gate mine (y) holds: yes"


def test_every_gate_is_mentioned_by_rules():
    texts = [found.text for rule in load_rules().rules for _, found in rule.conditions()]
    texts += [gate.when.text for gate in bundled_gates().values()]

    assert [name for name in bundled_gates() if not any(f"gate.{name}" in text for text in texts)] == []


def test_a_gate_is_what_it_stands_for_and_its_facts_are_known():
    found = condition("not gate.training_broke and run.completed")

    assert "signal.loss.diverged" in found.names
    assert evaluate(found, {"event.nan_stop.seen": True, "run.completed": True}) is False
    assert evaluate(found, {"run.completed": True}) is None


def test_a_list_by_vocabulary_holds_every_such_event():
    numeric = [kind for kind, spec in event_specs().items() if spec.family == "numeric"]

    assert condition('event.any(family="numeric")').names == tuple(f"event.{kind}.seen" for kind in numeric)
    narrower = condition('event.any(topic=["storage", "disks"], role="root_candidate")').names
    assert "event.disk_full.seen" in narrower


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gate.numeric_broke", "no gate is called 'numeric_broke'; did you mean 'numerics_broke'?"),
        ("gate.a.b", "no gate is called 'a.b'"),
        ('event.any(family="huge")', "no event has 'huge'"),
        ('event.any(size="huge")', "no event has 'size'"),
        ("event.any()", "event.any chooses events by"),
        ('event.any("numeric")', "event.any chooses events by"),
        ("event.any(family=run.completed)", "event.any: "),
        ('event.all(family="numeric")', "is not allowed"),
    ],
)
def test_a_name_that_is_not_declared_is_refused_with_its_place(text, says):
    with pytest.raises(RuleError) as caught:
        condition(text)

    assert str(caught.value).startswith("x.yaml:3:5: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("gates", "says"),
    [
        ("numerics_broke: {says: x, when: run.completed, cases: []}", "has a name of its own"),
        ("mine: {says: x, when: gate.later, cases: []}", "no gate is called 'later'"),
        ("mine: {says: x, when: run.completd, cases: []}", "did you mean 'run.completed'?"),
        ("mine: {says: x, when: run.completed}", "lacks the key 'cases'"),
        ("mine: {says: x, when: run.completed, cases: [{says: y, facts: {}, holds: maybe}]}", "'maybe' is not one"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_of_gates_is_told_with_its_place(gates, says):
    with pytest.raises(RuleError, match=r"^x\.yaml:2:") as caught:
        read_gates(load_marked(f"gates:\n  {gates}", "x.yaml"), bundled_gates())

    assert says in str(caught.value)


def test_a_pack_has_gates_of_its_own_beside_the_bundled_ones(tmp_path):
    (tmp_path / "pack.yaml").write_text("prefix: acme\n", encoding="utf-8")
    (tmp_path / FILE_NAME).write_text(
        "gates:\n  acme_mine:\n    says: x\n    when: gate.scale_fell or run.completed\n    cases: []\n",
        encoding="utf-8",
    )
    known = gates_for(tmp_path / "my-rule")

    assert set(known) == {*bundled_gates(), "acme_mine"}
    rule = parse_rule(RULE.replace("  when: ", "  when: gate.acme_mine and ", 1), "rule.yaml", known)
    assert "run.completed" in rule.when.names


def test_gates_that_double_each_other_are_refused_before_they_grow():
    text = "gates:\n"
    for number in range(20):
        when = " or ".join([f"gate.g{number - 1}"] * 40) if number else "event.cuda_oom.seen"
        text += f"  g{number}:\n    says: x\n    when: {when}\n    cases: []\n"
    with pytest.raises(RuleSyntaxError, match="stands for too much"):
        read_gates(load_marked(text, FILE_NAME), {})


@pytest.mark.parametrize("content", [b"gates: \xff\xfe", b"gates: 3", b"- a", b"x: " + b"a" * 300_000])
def test_gates_that_are_none_are_an_error_of_the_pack(tmp_path, content):
    (tmp_path / "gates.yaml").write_bytes(content)
    with pytest.raises(RuleError):
        gates_for(tmp_path)


@pytest.mark.parametrize(("fact", "words"), NUMERIC_SIGNS)
def test_rules_and_status_agree_on_what_broke_the_numerics(fact, words):
    assert holds("numerics_broke", {fact: True})
    assert outcome({fact: True}).failed == (words,)
