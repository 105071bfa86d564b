"""What labelled runs with such numbers turned out to be: candidates where no rule speaks, and never more than that."""

from __future__ import annotations

import math

import pytest

import analyzer
from analyzer.casebook.record import CaseRecord
from analyzer.classifier.likeness import labelled_marks, train_likeness
from analyzer.detect.likeness.answer import ENOUGH_FACTS, likeness, read_likeness, shipped_likeness
from analyzer.detect.likeness.marks import marks_of
from analyzer.detect.linear import write_linear
from analyzer.errors import InputError
from analyzer.expr import compile_condition
from analyzer.model.diagnosis import ALIKE, LIKENESS
from analyzer.model.signal import FactValue, Signal
from analyzer.render.sentences import CANDIDATES_NAMED, opening
from analyzer.rules.candidates.pooled import NUMBERS, TELLING_BITS, pooled
from analyzer.rules.causes import catalogue
from analyzer.rules.load import load_rules
from analyzer.rules.schema import EvidenceLine
from analyzer.rules.score import LedgerLine, Scored
from analyzer.rules.tree import JUST_BELOW_HALF


def record(number, label, **facts):
    known = {f"signal.loss.fact{i}": (number + i) % 7 == 0 for i in range(8)}
    return CaseRecord(
        id=str(number), label=label, group=str(number), facts={"signal.loss.points": 40, **known, **facts}
    )


def casebook():
    """Three labels that one fact each tells apart, among facts that say nothing."""
    labels = ("overfitting", "loss-divergence", "healthy")
    return [
        record(n, labels[n % 3], **{"signal.progress.kept": n % 3 == 2, "signal.progress.broke": n % 3 == 1})
        for n in range(90)
    ]


def test_what_tells_labels_apart_is_learned_and_survives_the_file(tmp_path):
    arrays, figures = train_likeness(labelled_marks(casebook()))
    write_linear(arrays, tmp_path / "model.linear")
    model = read_likeness(tmp_path / "model.linear")

    assert figures["top1"] > 0.95
    marks = marks_of(record(1, "", **{"signal.progress.kept": False, "signal.progress.broke": True}).facts)
    assert model.labels[int(model.scores(marks).argmax())] == "loss-divergence"


def test_what_a_second_judge_said_is_learned_and_counts_as_right_nowhere():
    runs = labelled_marks([record(n, "overfitting")._replace(second=("loss-plateau",)) for n in range(60)])

    assert set(runs.taught) == {("overfitting", "loss-plateau")}
    assert set(runs.right) == {frozenset({"overfitting"})}


def test_a_crash_without_numbers_has_no_marks_and_too_few_runs_are_refused():
    assert marks_of({"event.oom.seen": True, "run.last_step": 5}) == []
    with pytest.raises(InputError, match="50 are needed"):
        labelled_marks(casebook()[:20])


def test_texts_never_become_marks():
    facts = {"signal.loss.points": 5, "event.python_traceback.message": "secret", "config.model.name": "x"}
    assert not any("secret" in mark or "name" in mark for mark in marks_of(facts))


@pytest.mark.parametrize("value", [0, -0.0, 5e-324, -5e-324, 1e308, -1e308, math.inf, math.nan])
def test_every_number_has_a_bounded_list_of_marks(value):
    assert len(marks_of({"signal.loss.points": value})) <= 32


def test_near_numbers_share_nearly_all_marks_and_far_ones_do_not():
    near, far, other = (set(marks_of({"signal.loss.points": value})) for value in (1e-3, 3e-3, 1e3))
    assert len(near ^ far) <= 1
    assert len(near ^ other) >= 10


def test_the_shipped_model_names_causes_of_the_catalogue_and_bounds_its_word():
    model = shipped_likeness()
    assert set(model.labels) <= {*catalogue(), "healthy", "outside"}
    names = [mark.removesuffix("=T") for mark in model.place if mark.endswith("=T")]
    facts = {name: FactValue(True, ()) for name in names}
    found = likeness([Signal("all", facts)])
    assert found is not None
    plain = {name: fact.value for name, fact in found.facts.items()}
    told = [
        plain[f"likeness.{place}_probability"]
        for place in ("first", "second")
        if f"likeness.{place}" in plain
    ]
    assert told == sorted(told, reverse=True)
    assert 0 < sum(told) <= 1.0001
    few = dict(list(facts.items())[: ENOUGH_FACTS - 1])
    assert likeness([Signal("few", few)]) is None


def test_candidates_decide_no_status_and_stay_below_one_half(tmp_path):
    rows = (f"epoch {n + 1} loss {2.3 - 0.035 * n:.4f} val_loss {2.29 - 0.033 * n:.4f}\n" for n in range(12))
    (tmp_path / "train.log").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "config.json").write_text('{"num_classes": 10}', encoding="utf-8")

    found = analyzer.diagnose(tmp_path)

    assert found.status == "insufficient"
    by_likeness = [f for f in found.findings if any(line.id == "likeness" for line in f.evidence)]
    assert by_likeness, "a run of which no rule speaks names candidates"
    assert all(f.probability <= JUST_BELOW_HALF and math.isfinite(f.probability) for f in by_likeness)


def test_a_candidate_lends_the_text_of_the_rule_that_bears_its_name_and_is_not_told_as_an_answer(tmp_path):
    rows = (f"epoch {n + 1} loss {2.3 - 0.035 * n:.4f} val_loss {2.29 - 0.033 * n:.4f}\n" for n in range(12))
    (tmp_path / "train.log").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "config.json").write_text('{"num_classes": 10}', encoding="utf-8")

    found = analyzer.diagnose(tmp_path)

    assert found.findings[0].likeness_only
    above = opening(found)
    assert above is not None
    assert above.head.startswith("no rule finds a fault")
    assert len(above.rows) == min(CANDIDATES_NAMED, sum(finding.by_likeness for finding in found.findings))
    plateau = load_rules(()).by_id("loss-plateau")
    assert plateau is not None
    assert plateau.slug == "loss-plateau"


def alike(first, share, **others):
    return {
        "likeness.first": first,
        "likeness.first_probability": share,
        "likeness.first_score": share,
        **others,
    }


def causes(facts, weighed, **more):
    return [
        item.rule.entry.id
        for item in pooled(facts, load_rules(()), weighed, NUMBERS, **more)
        if item.probability > 0.1
    ]


@pytest.mark.parametrize(
    ("cause", "facts", "named"),
    [
        ("native-crash", {}, False),
        ("native-crash", {"failure.seen": True}, True),
        ("nonfinite-forward", {"signal.exact.all_finite": True}, False),
        ("nonfinite-forward", {}, True),
    ],
)
def test_what_this_run_cannot_have_had_is_no_candidate(cause, facts, named):
    assert causes({**alike(cause, 0.3), **facts}, {}) == [cause] * named


def scored(cause, probability):
    rule = load_rules(()).by_id(cause)
    assert rule is not None
    return Scored(rule, (), 0.0, probability)


def test_the_pool_hears_rules_and_numbers_and_leaves_room_for_something_else():
    second = {
        "likeness.second": "loss-divergence",
        "likeness.second_probability": 0.2,
        "likeness.second_score": 0.1,
    }
    weighed = {"overfitting": scored("overfitting", 0.8), "loss-plateau": scored("loss-plateau", 0.1)}
    found = {
        item.rule.entry.id: item.probability
        for item in pooled(alike("overfitting", 0.5, **second), load_rules(()), weighed, NUMBERS)
    }
    by_rules = {
        item.rule.entry.id: item.probability
        for item in pooled(alike("loss-divergence", 0.1), load_rules(()), weighed, NUMBERS)
    }

    assert found["overfitting"] > max(found["loss-plateau"], found["loss-divergence"])
    assert found["overfitting"] > by_rules["overfitting"], "such runs had it"
    assert found["loss-divergence"] > 0.0, "no rule weighed it"
    assert sum(found.values()) < 1.0


@pytest.mark.parametrize(
    ("bits", "first"), [(TELLING_BITS, "loss-plateau"), (TELLING_BITS - 1, "overfitting")]
)
def test_a_line_that_tells_much_is_not_outvoted(bits, first):
    """Half of the rules' opinion and one line of 16:1 keep a cause first, whatever most such runs had."""
    line = EvidenceLine("seen", compile_condition("signal.loss.flat", "seen"), "", bits, 0.0)
    lead = scored("loss-plateau", 0.55)._replace(
        lines=(LedgerLine(line, verdict=True, bits=bits, counted=True),)
    )
    found = list(pooled(alike("overfitting", 0.9), load_rules(()), {"loss-plateau": lead}, NUMBERS))

    assert max(found, key=lambda item: item.probability).rule.entry.id == first


def test_what_no_rule_bears_out_is_never_likelier_than_not_and_says_so():
    candidate = next(pooled(alike("overfitting", 0.99), load_rules(()), {}, NUMBERS))
    found = next(
        pooled(
            alike("overfitting", 0.99),
            load_rules(()),
            {"overfitting": scored("overfitting", 0.9)},
            NUMBERS,
        )
    )
    assert candidate.probability == JUST_BELOW_HALF
    assert candidate.lines[-1].line.id == LIKENESS
    assert found.probability > 0.9
    assert found.lines[-1].line.id == ALIKE


def test_a_harmless_explanation_is_not_pooled():
    """The likeness knows benign courses as sound runs, so it has no opinion on one."""
    weighed = {"recovered-loss-spike": scored("recovered-loss-spike", 0.9)}
    assert causes(alike("overfitting", 0.5), weighed) == ["overfitting"]


def test_a_cause_that_rules_and_likeness_name_is_told_with_the_line_of_both(tmp_path):
    held = (0.9, 0.8, 0.75, 0.74, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
    rows = (f"epoch {n + 1} loss {2.3 * 0.7**n:.4f} val_loss {held[n]:.4f}\n" for n in range(12))
    (tmp_path / "train.log").write_text("".join(rows), encoding="utf-8")
    found = analyzer.diagnose(tmp_path).findings
    assert found[0].cause.id == "overfitting"
    assert not found[0].by_likeness
    assert any(line.id == ALIKE for line in found[0].evidence)
