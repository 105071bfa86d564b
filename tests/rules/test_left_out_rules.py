"""Only rules whose gate mentions a known fact are built; nothing is lost by that."""

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.expr import evaluate
from analyzer.rules.load import load_rules
from analyzer.rules.score import rank

RULES = load_rules()
NAMES = sorted({name for rule in RULES.rules for name in rule.when.names})
VALUES = st.one_of(
    st.booleans(), st.integers(0, 100), st.floats(0, 10), st.sampled_from(["fp16", "forward", "x"])
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=12))
def test_rules_left_out_could_not_have_been_considered(facts):
    chosen = RULES.in_question(facts)
    left_out = [rule for rule in RULES.rules if rule not in chosen]

    assert all(evaluate(rule.when, facts) is not True for rule in left_out)
    some, every = rank(chosen, facts), rank(RULES.rules, facts)
    assert {kind: [(i.rule.id, i.bits) for i in items] for kind, items in some.kinds.items()} == {
        kind: [(i.rule.id, i.bits) for i in items] for kind, items in every.kinds.items()
    }


def test_nothing_known_brings_nothing_into_question():
    assert RULES.in_question({}) == tuple(rule for rule in RULES.rules if not rule.when.names)
