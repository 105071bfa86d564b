"""The counts beside the bits: what labelled runs say of each line of evidence."""

from analyzer.casebook.counts import LineCount, line_counts, records_at_hand
from analyzer.casebook.record import CaseRecord
from analyzer.rules.load import load_rules

RULES = load_rules(())


def flushes(label, count):
    facts = {"event.cache_flush.count": count, "event.cache_flush.seen": True}
    return CaseRecord(id=f"{label}{count}", label=label, facts=facts)


def test_only_runs_that_bring_the_rule_into_question_are_counted():
    rule = RULES.by_id("allocator-thrash")
    records = [
        flushes("allocator-thrash", 9),
        flushes("allocator-thrash", 3),
        flushes("slow-dataloader", 6),
        flushes("allocator-thrash", 1),  # one flush: the gate is closed
        CaseRecord(id="other", label="healthy", facts={"run.last_step": 5}),
    ]

    counts = line_counts(rule, records)

    assert counts["again-and-again"] == LineCount(1, 2, 1, 1)
    assert counts["ended-in-oom"] == LineCount(0, 0, 0, 0)  # nothing is known of it


def test_an_acceptable_cause_counts_as_the_cause():
    rule = RULES.by_id("allocator-thrash")
    record = CaseRecord("a", "gpu-out-of-memory", ("allocator-thrash",), facts={"event.cache_flush.count": 7})

    assert line_counts(rule, [record])["again-and-again"].with_cause == 1


def test_the_casebook_that_is_shipped_is_at_hand():
    assert len(records_at_hand()) > 300
