"""Strict reading of rule files: every mistake is told with file, line and column."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.errors import RuleCaseError, RuleError, RuleSyntaxError, UnknownFactError
from analyzer.rules.cases import cases_of, run_facts_case
from analyzer.rules.lint import lint_rule
from analyzer.rules.load import load_rule, load_rules
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import load_marked

GOOD = """\
schema: 1
id: TEST001
slug: my-rule
title: Something is wrong
cause_id: nonfinite-gradients
status: experimental
severity: fatal
family: precision
prior: uncommon
symptom:
  kind: crash
  when: run.completed == False
  says: "ended at {run.last_step}"
evidence:
  - id: one
    test: config.precision == "fp16"
    because: a reason
    if_true: 2
    if_false: -3
cause: a mechanism
fixes:
  - id: fix
    title: Change it
    strength: cures
    cost: restart
    change: {hf-trainer: {fp16: false, learning_rate: "= config.train.learning_rate / 3"}}
references: [somewhere]
"""


def write(tmp_path, text):
    path = tmp_path / "my-rule" / "rule.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_good_rule_is_read(tmp_path):
    rule = load_rule(write(tmp_path, GOOD))

    assert rule.entry.kind == "symptom-class"
    assert rule.evidence[0].if_false == -3
    assert rule.restart_advice == rule.entry.restart_advice


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ("title: Something", "titel: Something", ":4:1", "unknown key 'titel'"),
        ("severity: fatal", "severity: bad", ":7:1", "'bad' is not one of fatal"),
        ("cause_id: nonfinite-gradients", "cause_id: bad-luck", ":5:1", "not in the catalogue"),
        ("id: TEST001", "id: test1", ":2:1", "family code"),
        ("if_true: 2", "if_true: 9", ":18:5", "beyond 8 bits"),
        ("if_true: 2", "if_true: .nan", ":18:5", "must be a number"),
        (
            'test: config.precision == "fp16"',
            "test: config.precison == 'fp16'",
            ":16:5",
            "did you mean 'config.precision'",
        ),
        ("test: config", "test: open('x') ", ":16:5", "not allowed"),
        ("title: Something is wrong", "title: Something is wrong\ntitle: again", ":5:1", "repeated"),
        ("references: [somewhere]", "references: &a [x]\naliases: *a", ":", "anchors and aliases"),
        ("schema: 1", "schema: 7", ":1:1", "not known"),
        ("references: [somewhere]", "", ":1:1", "lacks the key 'references'"),
        ("cause: a mechanism", "cause: [unclosed", ":", "not valid YAML"),
        ("hf-trainer: {fp16", "hf-trainr: {fp16", ":26:14", "did you mean 'hf-trainer'?"),
        (
            "{fp16: false, ",
            "{fp61: false, ",
            ":26:27",
            "hf-trainer has no setting 'fp61'; did you mean 'fp16'?",
        ),
        (
            'test: config.precision == "fp16"',
            "test: event.cuda_ooom.seen",
            ":16:5",
            "no fact is called 'event.cuda_ooom.seen'; did you mean 'event.cuda_oom.seen'?",
        ),
        (
            'test: config.precision == "fp16"',
            "test: event.nan_stop.stepp > 3",
            ":16:5",
            "no fact is called 'event.nan_stop.stepp'; did you mean 'event.nan_stop.step'?",
        ),
        ("change: {hf-trainer: {fp16: false,", "change: {hf-trainer: {fp16: [1],", ":26:14", "scalar values"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, old, new, place, says):
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))

    with pytest.raises(RuleError) as caught:
        load_rule(path)

    assert says in str(caught.value)
    assert f"rule.yaml{place}" in str(caught.value)


def test_numbers_are_numbers_and_words_stay_words():
    data = load_marked("a: 1e-5\nb: no\nc: 0755\nd: '1'\ne: true\nf: 12:30:00", "x").data

    assert data == {"a": 1e-5, "b": "no", "c": 755, "d": "1", "e": True, "f": "12:30:00"}


def test_an_alias_bomb_is_refused():
    text = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]"

    with pytest.raises(RuleSyntaxError, match="aliases"):
        load_marked(text, "bomb")


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 20_000 + "x", "{a: " * 5_000])
def test_deep_nesting_is_refused_before_it_can_end_the_process(text):
    with pytest.raises(RuleSyntaxError):
        load_marked(text, "deep")


def test_cached_rules_are_the_rules_and_a_changed_file_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path / "cache"))
    path = write(tmp_path, GOOD)
    first = load_rules([path.parent], bundled=False)
    second = load_rules([path.parent], bundled=False)
    path.write_text(GOOD.replace("if_true: 2", "if_true: 3"), encoding="utf-8")
    third = load_rules([path.parent], bundled=False)

    assert second.rules[0].evidence == first.rules[0].evidence
    assert second.rules[0].when.names == ("run.completed",)
    assert third.rules[0].evidence[0].if_true == 3
    assert third.digest != first.digest


def test_a_damaged_or_unwritable_cache_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path / "cache"))
    path = write(tmp_path, GOOD)
    load_rules([path.parent], bundled=False)
    for file in (tmp_path / "cache").iterdir():
        file.write_text("[", encoding="utf-8")

    assert len(load_rules([path.parent], bundled=False).rules) == 1
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(path))
    assert len(load_rules([path.parent], bundled=False).rules) == 1


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text):
    try:
        load_marked(text, "x")
    except RuleSyntaxError:
        return


def test_a_pack_may_not_reuse_an_id(tmp_path):
    first = write(tmp_path / "", GOOD)
    other = tmp_path / "other" / "rule.yaml"
    other.parent.mkdir()
    other.write_text(first.read_text(encoding="utf-8"), encoding="utf-8")

    with pytest.raises(RuleError, match="already used"):
        load_rules([tmp_path], bundled=False)


def test_a_missing_pack_is_an_error(tmp_path):
    with pytest.raises(RuleError, match="no such rule pack"):
        load_rules([tmp_path / "nothing"], bundled=False)


def case(tmp_path, expect, facts="run.completed: false"):
    rule = load_rule(write(tmp_path, GOOD))
    path = tmp_path / "my-rule" / "cases.yaml"
    path.write_text(f"one:\n  says: a run\n  expect: {expect}\n  facts: {{{facts}}}\n", encoding="utf-8")
    return rule, cases_of(rule, path.parent)[0]


def test_a_case_that_holds_passes_and_one_that_does_not_says_why(tmp_path):
    rule, good = case(
        tmp_path, "{finding: top, p_min: 0.1}", 'run.completed: false, config.precision: "fp16"'
    )
    run_facts_case(good, [rule])

    _, bad = case(tmp_path, "{finding: absent}")
    with pytest.raises(RuleCaseError, match=r"cases.yaml:3.*should not be considered .*TEST001 0\.06"):
        run_facts_case(bad, [rule])


@pytest.mark.parametrize("facts", ["no.such.fact: 1", "run.completed: 3", "run.last_step: true"])
def test_a_case_with_a_wrong_fact_is_refused(tmp_path, facts):
    with pytest.raises(RuleCaseError):
        case(tmp_path, "{finding: top}", facts)


def test_an_unknown_fact_error_is_a_rule_error_with_exit_code_4():
    assert issubclass(UnknownFactError, RuleError)
    assert RuleError.exit_code == 4


def linted(tmp_path, evidence):
    head, _, rest = GOOD.partition("  - id: one\n")
    path = write(tmp_path, head + evidence + "cause:" + rest.partition("\ncause:")[2])
    return [message.split()[1] for message in lint_rule(load_rule(path), path.parent, [], None)]


LINE = "  - {{id: {id}, test: '{test}', because: a reason, if_true: {yes}, if_false: {no}}}\n"


def test_a_line_that_speaks_the_same_way_either_way_is_refused(tmp_path):
    same = LINE.format(id="a", test='config.precision == "fp16"', yes=5, no=3)
    one_way = LINE.format(id="a", test='config.precision == "fp16"', yes=5, no=0)

    assert "R017" in linted(tmp_path, same)
    assert "R017" not in linted(tmp_path, one_way)


def test_the_gate_has_one_weight(tmp_path):
    gate = LINE.format(id="gate", test="run.completed == False", yes=2, no=0)
    again = LINE.format(id="again", test="run.completed == False", yes=1, no=0)

    assert "R018" in linted(tmp_path, gate + again)
    assert "R018" not in linted(tmp_path, gate)


def test_caches_that_other_versions_left_are_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path))
    old = [tmp_path / f"rules-{number:024x}.json" for number in range(cache.KEPT + 5)]
    torn, under_way = tmp_path / "events-abcdefgh.tmp", tmp_path / "events-hgfedcba.tmp"
    others = [
        tmp_path / name for name in ("rules-mine.json", "wandb", "rules-0123456789abcdef01234567.json.bak")
    ]
    for age, path in enumerate([torn, *old, *others, under_way]):
        path.write_text("{}")
        os.utime(path, (1e9 + age, 1e9 + age))
    os.utime(under_way)
    link = tmp_path / f"rules-{99:024x}.json"
    link.symlink_to(tmp_path / "wandb")

    cache.write("rules", "f" * 64, {"a": 1})

    assert cache.read("rules", "f" * 64) == {"a": 1}
    assert [path for path in old if path.exists()] == old[-(cache.KEPT - 1) :]
    assert not torn.exists()
    assert all(path.exists() for path in (*others, under_way))
    assert link.is_symlink()


def test_lines_that_read_the_same_facts_do_not_add_up(tmp_path):
    """Twenty percent and more, fifty and more: one fact, told twice; against the cause, or of another fact, it is not."""
    few = LINE.format(id="few", test="signal.data.unknown_percent >= 20", yes=3, no=0)
    many = LINE.format(id="many", test="signal.data.unknown_percent >= 50", yes=5, no=0)
    against = LINE.format(id="none", test="signal.data.unknown_percent < 1", yes=-5, no=0)
    other = LINE.format(id="other", test="run.last_step >= 50", yes=5, no=0)

    assert "R020" in linted(tmp_path, few + many)
    assert "R020" not in linted(tmp_path, (few + many).replace("if_false: 0", "if_false: 0, group: share"))
    assert "R020" not in linted(tmp_path, few + against + other)
