"""The classifier in the ledger: one visible line, capped, never where it gave no answer; and its own findings."""

import pytest

from analyzer.detect.shapes.answer import MAX_BITS, support_bits
from analyzer.rules.load import load_rules
from analyzer.rules.score import ledger
from analyzer.rules.shape_line import AS_OFTEN, LINE_ID, MAX_DOUBT_BITS, MOST_AGAINST, sound_line

RULES = load_rules()
PLATEAU = RULES.by_id("loss-plateau")
ANSWER = {
    "classifier.answered": True,
    "classifier.shape": "no-progress",
    "classifier.probability": 0.97,
    "classifier.bits": 2.5,
    "classifier.because": "the loss fell by 1 %",
}


def lines(rule, facts):
    return {entry.line.id: entry for entry in ledger(rule, facts, facts)}


@pytest.mark.parametrize("probability", [0.0, 0.05, 0.5, 0.9, 0.999999, 1.0])
def test_support_is_capped_and_never_negative(probability):
    assert 0.0 <= support_bits(probability, 0.1) <= MAX_BITS


def test_an_answer_that_is_no_surer_than_the_prior_adds_nothing():
    assert support_bits(0.3, 0.3) == 0.0


def test_an_answer_supports_the_causes_of_its_class_and_is_a_hint_against_others():
    dead = RULES.by_id("dead-network")
    overfitting = RULES.by_id("overfitting")

    for rule, bits in ((dead, 2.5), (overfitting, MAX_DOUBT_BITS)):
        line = lines(rule, ANSWER)[LINE_ID]
        assert line.bits == bits
        assert line.counted


def test_beside_a_line_that_saw_the_same_curves_its_support_counts_half():
    seen = ANSWER | {"signal.loss.at_chance": True}

    assert lines(PLATEAU, ANSWER)[LINE_ID].bits == 2.5
    assert lines(PLATEAU, seen)[LINE_ID].bits == 1.25


def test_the_line_says_what_was_seen():
    line = lines(PLATEAU, ANSWER)[LINE_ID]

    assert "the loss hardly moves" in line.line.because
    assert "the loss fell by 1 %" in line.line.because


def test_without_an_answer_there_is_no_line():
    silent = {"classifier.answered": False, "classifier.members": "healthy, no-progress"}

    assert LINE_ID not in lines(PLATEAU, silent)


def test_a_cause_that_no_class_knows_gets_no_line():
    assert LINE_ID not in lines(RULES.by_id("disk-full"), ANSWER)


@pytest.mark.parametrize(
    ("cause", "facts", "bits"),
    [
        ("overfitting", {"likeness.sound": 0.99}, -MOST_AGAINST),
        ("overfitting", {"likeness.sound": 0.73}, -2.0),
        ("throughput-drop", {"likeness.sound": 0.99}, -MOST_AGAINST),
        ("overfitting", {"likeness.sound": AS_OFTEN}, None),
        ("overfitting", {}, None),
        ("overfitting", {"likeness.sound": 0.99, "failure.seen": True}, None),
        ("gpu-out-of-memory", {"likeness.sound": 0.99}, None),
        ("recovered-loss-spike", {"likeness.sound": 0.99}, None),
        ("recompile-storm", {"likeness.sound": 0.99, "event.recompile_limit.seen": True}, None),
        ("class-imbalance", {"likeness.sound": 0.99, "signal.score.rare_never_found": True}, None),
    ],
)
def test_a_fault_told_by_the_course_of_a_run_is_doubted_where_like_runs_were_sound(cause, facts, bits):
    """Never one that a line of the log tells of, a failure that was written down, or an ordinary explanation."""
    rule = load_rules().by_id(cause)
    assert rule is not None
    line = sound_line(rule, facts)

    assert (None if line is None else line.if_true) == bits
    if line is not None:
        assert f"{facts['likeness.sound']:.0%} were sound" in line.because
