"""A pasted log line finds the rules that look at it."""

import pytest

from analyzer.rules.load import load_rules
from analyzer.rules.search import metrics_in, readings, with_words

RULES = load_rules().rules


@pytest.mark.parametrize(
    ("line", "kind", "cause"),
    [
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB",
            "cuda_oom",
            "gpu-out-of-memory",
        ),
        ("[12345.678] NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.", "xid_off_bus", "gpu-fell-off-bus"),
        ("OSError: [Errno 28] No space left on device", "disk_full", "disk-full"),
        ("ranks: 3 pytorch allocator cache flushes since last step. this happens", "cache_flush", "allocator-thrash"),
    ],
)  # fmt: skip
def test_a_log_line_leads_to_the_rules_whose_gate_it_opens(line, kind, cause):
    found = {reading.kind: reading for reading in readings(line, RULES)}

    assert kind in found
    assert cause in [rule.entry.id for rule in found[kind].rules[:8]]


def test_rules_that_a_line_brings_into_question_come_before_those_that_merely_look_at_it():
    reading = next(
        r for r in readings("CUDA out of memory. Tried to allocate 2.00 GiB", RULES) if r.kind == "cuda_oom"
    )
    opened = [any(name.startswith("event.cuda_oom.") for name in rule.when.names) for rule in reading.rules]

    assert opened == sorted(opened, reverse=True)


def test_prose_is_read_as_nothing():
    assert readings("we had a lovely training yesterday", RULES) == ()


def test_words_are_found_whatever_their_case():
    assert [rule.entry.id for rule in with_words("SPECIAL TOKEN", RULES)]


def test_a_cause_is_found_by_the_rule_that_bears_its_name_not_by_a_second_face():
    rules = load_rules(())
    own = {rule.slug for rule in rules.rules} & {rule.entry.id for rule in rules.rules}

    assert "loss-plateau" in own
    assert [cause for cause in own if rules.by_id(cause).slug != cause] == []


def test_a_pasted_row_of_metrics_is_told_with_what_it_is_read_as():
    assert metrics_in("[trn] step=10 | loss=2.5 | lr=1e-4") == (
        "loss 2.5 at step 10",
        "learning_rate 0.0001 at step 10",
    )
    assert metrics_in("{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.5}")[0] == "loss 2.5"
    assert metrics_in("we had a lovely training yesterday") == ()
