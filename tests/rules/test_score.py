"""Ledgers, groups, competition and next checks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.rules.schema import read_rule
from analyzer.rules.score import ledger, probabilities_of, questions, rank, total_bits
from analyzer.vocabulary.marked import load_marked

RULE = """
schema: 1
id: {id}
slug: some-rule
title: Something is wrong
cause_id: {cause}
status: experimental
severity: fatal
family: precision
prior: uncommon
symptom: {{kind: numerical_breakdown, when: signal.nonfinite_grad.seen, says: "seen"}}
evidence:
  - {{id: first, test: signal.loss_scale.at_floor, because: why, if_true: 3, if_false: -3, group: scale}}
  - {{id: second, test: signal.loss_scale.full_ladder, because: why, if_true: 5, if_false: -1, group: scale}}
  - {{id: third, test: config.precision == "fp16", because: why, if_true: 2, if_false: -8}}
cause: because of it
fixes: []
references: [somewhere]
"""


def make(rule_id="PREC001", cause="nonfinite-gradients"):
    return read_rule(load_marked(RULE.format(id=rule_id, cause=cause), "rule.yaml"))


def test_of_a_group_only_the_strongest_line_counts():
    rule = make()
    facts = {
        "signal.loss_scale.at_floor": True,
        "signal.loss_scale.full_ladder": True,
        "config.precision": "fp16",
    }
    lines = ledger(rule, facts, facts)

    assert [line.counted for line in lines] == [False, True, True]
    assert total_bits(rule, lines) == -4 + 5 + 2


def test_an_unknown_line_adds_nothing():
    rule = make()

    assert total_bits(rule, ledger(rule, {}, {})) == -4


def test_a_rule_whose_gate_is_unknown_is_not_considered():
    assert rank([make()], {}).kinds == {}


def test_competitors_share_one_probability_with_something_else():
    facts = {"signal.nonfinite_grad.seen": True, "config.precision": "fp16"}
    ranking = rank([make(), make("PREC002", "nonfinite-forward")], facts)
    items = ranking.kinds["numerical_breakdown"]

    assert sum(item.probability for item in items) + ranking.other["numerical_breakdown"] == pytest.approx(1)
    assert items[0].probability == pytest.approx(items[1].probability) == pytest.approx(0.25 / 1.5)


@given(st.lists(st.floats(-60, 60), max_size=8))
def test_shares_are_probabilities(scores):
    parts, other = probabilities_of(scores)

    assert all(0 <= part <= 1 for part in parts)
    assert sum(parts) + other == pytest.approx(1)


def test_the_question_asked_first_is_the_one_whose_answer_tells_most():
    facts = {"signal.nonfinite_grad.seen": True, "signal.loss_scale.at_floor": True}
    items = rank([make()], facts).kinds["numerical_breakdown"]
    asked = questions(items, facts)

    assert [question.line.id for question in asked] == ["third", "second"]
    assert asked[0].information_bits > asked[1].information_bits


def test_a_line_of_a_settled_group_is_not_asked_for():
    facts = {
        "signal.nonfinite_grad.seen": True,
        "signal.loss_scale.full_ladder": True,
        "config.precision": "fp16",
    }
    items = rank([make()], facts).kinds["numerical_breakdown"]

    assert questions(items, facts) == []


LINES = """
schema: 1
id: STOR001
slug: full
title: The disk is full
cause_id: disk-full
status: experimental
severity: fatal
family: storage
prior: common
symptom: {kind: crash, when: event.disk_full.seen or event.checkpoint_write_failed.seen, says: "seen"}
evidence:
  - {id: errno, test: event.disk_full.seen, because: why, if_true: 7, if_false: 0}
  - {id: reset, test: event.link_flap.seen, because: why, if_true: -6, if_false: 0}
cause: because of it
fixes: []
references: [somewhere]
"""


def ranked(facts):
    (items,) = rank([read_rule(load_marked(LINES, "rule.yaml"))], facts).kinds.values()
    return {entry.line.id: entry.bits for entry in items[0].lines if entry.bits}


def test_what_training_survived_is_the_cause_of_no_end_whatever_the_rule():
    seen = {"event.disk_full.seen": True, "event.disk_full.survived": True}

    assert ranked(seen) == {"errno": 7, "survived": -7}
    assert ranked({**seen, "event.disk_full.survived": False}) == {"errno": 7}
    assert ranked({"event.disk_full.seen": True}) == {"errno": 7}


def test_a_second_line_of_the_rule_that_was_not_survived_still_speaks():
    seen = {"event.disk_full.seen": True, "event.disk_full.survived": True}
    other = {"event.checkpoint_write_failed.seen": True, "event.checkpoint_write_failed.survived": False}

    assert ranked(seen | other) == {"errno": 7}


def test_what_training_survived_speaks_against_no_other_cause():
    seen = {"event.disk_full.seen": True, "event.disk_full.survived": False, "event.link_flap.seen": True}

    assert ranked(seen | {"event.link_flap.survived": True}) == {"errno": 7}
    assert ranked(seen | {"event.link_flap.survived": False}) == {"errno": 7, "reset": -6}
