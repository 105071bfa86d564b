"""Look-alikes of a failing index on the GPU or CPU: which table it was, or that only the class is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.rules.load import load_rules
from analyzer.rules.score import rank

RULES = load_rules()

GROUP = {
    "label-out-of-range", "vocab-embedding-mismatch", "position-table-overflow", "embedding-index-out-of-range",
    "sampling-probability-nonfinite", "illegal-memory-access", "device-side-assert",
}  # fmt: skip
CLASSES = {
    "device-side-assert",
    "embedding-index-out-of-range",
    "illegal-memory-access",
    "sampling-probability-nonfinite",
}

# what Python shows of any of them
ENDED = {
    "event.python_traceback.seen": True,
    "event.python_traceback.exception": "torch.AcceleratorError",
    "exception.ended_run": True,
    "exception.plain": False,
    "failure.seen": True,
    "failure.root_seen": True,
    "failure.first.family": "device",
    "run.completed": False,
}
ASSERTED = {**ENDED, "event.device_side_assert.seen": True}


def check(expression, name=None):
    facts = {**ASSERTED, "event.index_assert.seen": True, "event.index_assert.expression": expression}
    return {**facts, "event.index_assert.check": name} if name else facts


LOOKUP = check("srcIndex < srcSelectDimSize", "lookup")
SAMPLED = {**ENDED, "event.sampling_nonfinite.seen": True, "signal.sampling_error.seen": True}

# cause: facts that the run shows anyway, and the facts that decide
MEMBERS = {
    "label-out-of-range": (ASSERTED, check("t >= 0 && t < n_classes", "label")),
    "vocab-embedding-mismatch": (
        LOOKUP,
        {
            "config.tokenizer.size": 32005,
            "config.model.vocab_size": 32000,
            "config.tokenizer.added_tokens": 5,
        },
    ),
    "position-table-overflow": (
        LOOKUP,
        {
            "config.data.max_length": 1024,
            "config.model.max_positions": 512,
            "run.last_step": 180,
            "config.tokenizer.size": 30522,
            "config.model.vocab_size": 30522,
        },
    ),
    "embedding-index-out-of-range": (ASSERTED, LOOKUP),
    "sampling-probability-nonfinite": (ASSERTED, SAMPLED),
    "illegal-memory-access": (ENDED, {"event.illegal_memory_access.seen": True}),
    "device-side-assert": (ENDED, {"event.device_side_assert.seen": True}),
}


def crash(facts):
    """Cause and share of the considered causes of a crash, the first one first."""
    return [
        (item.rule.entry.id, item.probability)
        for item in rank(RULES.in_question(facts), facts).kinds.get("crash", ())
    ]


@pytest.mark.parametrize("cause", MEMBERS)
def test_each_member_leads_on_its_own_evidence(cause):
    shown, deciding = MEMBERS[cause]

    leader, share = crash({**shown, **deciding})[0]

    assert leader == cause
    assert share >= 0.5


@given(st.sampled_from(sorted(MEMBERS)), st.sampled_from([None, 0, 3, 400]), st.booleans())
def test_without_its_deciding_facts_no_cause_of_the_group_is_claimed(cause, last_step, blocking):
    facts = dict(MEMBERS[cause][0])
    if last_step is not None:
        facts["run.last_step"] = last_step
    if blocking:
        facts["run.world_size"] = 1

    wrong = [(name, share) for name, share in crash(facts) if name in GROUP - CLASSES and share >= 0.6]

    assert not wrong


@given(
    st.sampled_from(
        [
            "idx_dim >= 0 && idx_dim < index_size",
            "-sizes[i] <= index && index < sizes[i]",
            "input_val >= zero",
        ]
    )
)
def test_an_assertion_that_names_no_table_gives_the_class(expression):
    leader, share = crash(check(expression))[0]

    assert leader == "device-side-assert"
    assert share >= 0.5


@pytest.mark.parametrize(
    "first",
    [
        {"event.xid_off_bus.seen": True, "event.gpu_off_bus.seen": True, "failure.first.family": "hardware"},
        {"event.ecc_error.seen": True, "event.xid_memory.seen": True, "failure.first.family": "hardware"},
    ],
)
def test_hardware_comes_before_an_illegal_address(first):
    facts = {
        **ENDED,
        "event.illegal_memory_access.seen": True,
        "event.illegal_memory_access.is_consequence": True,
        **first,
    }

    assert crash(facts)[0][0] not in GROUP


def test_an_index_error_of_the_users_own_list_is_no_table():
    facts = {
        **ENDED,
        "event.python_traceback.exception": "IndexError",
        "event.index_out_of_range.seen": True,
        "exception.type": "IndexError",
        "exception.plain": True,
        "failure.first.family": "exception",
    }

    assert crash(facts)[0][0] == "user-code-exception"
