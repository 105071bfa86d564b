"""What labelled runs with such numbers turned out to be: candidates where no rule speaks, and never more than that."""

from __future__ import annotations

import math

import pytest

import analyzer
from analyzer.casebook.record import CaseRecord
from analyzer.classifier.likeness import labelled_marks, train_likeness
from analyzer.detect.likeness.answer import ENOUGH_MARKS, MAX_BITS, likeness, read_likeness, shipped_likeness
from analyzer.detect.likeness.marks import marks_of
from analyzer.detect.linear import write_linear
from analyzer.errors import InputError
from analyzer.model.signal import FactValue, Signal
from analyzer.render.sentences import opening
from analyzer.rules.candidates.likeness_only import AT_MOST, likeness_only
from analyzer.rules.causes import catalogue
from analyzer.rules.load import load_rules
from analyzer.rules.score import Scored


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
    assert model.labels[int(model.shares(marks).argmax())] == "loss-divergence"
    assert float(model.shares(marks).sum()) == pytest.approx(1.0)


def test_a_crash_without_numbers_has_no_marks_and_too_few_runs_are_refused():
    assert marks_of({"event.oom.seen": True, "run.last_step": 5}) == []
    with pytest.raises(InputError, match="50 are needed"):
        labelled_marks(casebook()[:20])


def test_texts_never_become_marks():
    facts = {"signal.loss.points": 5, "event.python_traceback.message": "secret", "config.model.name": "x"}
    assert marks_of(facts) == ["signal.loss.points@1"]


def test_the_shipped_model_names_causes_of_the_catalogue_and_bounds_its_word():
    model = shipped_likeness()
    assert set(model.labels) <= {*catalogue(), "healthy", "outside"}
    marks = [name for name in model.place if name.endswith("=T")]
    facts = {name.removesuffix("=T"): FactValue(True, ()) for name in marks}
    found = likeness([Signal("all", facts)])
    assert found is not None
    plain = {name: fact.value for name, fact in found.facts.items()}
    assert 0 <= plain["likeness.first_bits"] <= MAX_BITS
    assert plain["likeness.first_probability"] >= plain.get("likeness.second_probability", 0.0)
    few = dict(list(facts.items())[: ENOUGH_MARKS - 1])
    assert likeness([Signal("few", few)]) is None


def test_candidates_decide_no_status_and_stay_below_one_half(tmp_path):
    rows = (f"epoch {n + 1} loss {2.3 - 0.035 * n:.4f} val_loss {2.29 - 0.033 * n:.4f}\n" for n in range(12))
    (tmp_path / "train.log").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "config.json").write_text('{"num_classes": 10}', encoding="utf-8")

    found = analyzer.diagnose(tmp_path)

    assert found.status == "insufficient"
    by_likeness = [f for f in found.findings if any(line.id == "likeness" for line in f.evidence)]
    assert by_likeness, "a run of which no rule speaks names candidates"
    assert all(f.probability <= AT_MOST and math.isfinite(f.probability) for f in by_likeness)


def test_a_candidate_lends_the_text_of_the_rule_that_bears_its_name_and_is_not_told_as_an_answer(tmp_path):
    rows = (f"epoch {n + 1} loss {2.3 - 0.035 * n:.4f} val_loss {2.29 - 0.033 * n:.4f}\n" for n in range(12))
    (tmp_path / "train.log").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "config.json").write_text('{"num_classes": 10}', encoding="utf-8")

    found = analyzer.diagnose(tmp_path)

    assert found.findings[0].likeness_only
    above = opening(found)
    assert above is not None
    assert above.head.startswith("no rule explains it")
    assert len(above.rows) == sum(finding.by_likeness for finding in found.findings)
    plateau = load_rules(()).by_id("loss-plateau")
    assert plateau is not None
    assert plateau.slug == "loss-plateau"


def test_a_loss_that_fell_is_not_like_one_that_does_not_move():
    facts = {
        "likeness.first": "loss-plateau",
        "likeness.first_probability": 0.3,
        "likeness.first_bits": 1.0,
        "signal.progress.learned": True,
    }
    named = [
        [
            item.rule.entry.id
            for item in likeness_only({**facts, "signal.progress.fall_share": share}, load_rules(()), {})
        ]
        for share in (0.05, 0.8)
    ]
    assert named == [["loss-plateau"], []]


@pytest.mark.parametrize(
    ("cause", "facts", "few_points", "named"),
    [
        ("gan-discriminator-dominates", {"signal.progress.last": 0.5}, False, False),
        ("gan-discriminator-dominates", {"signal.gan.discriminator_won": False}, False, True),
        ("rl-policy-collapse", {"run.rl": False}, False, False),
        ("loss-plateau", {}, True, False),
        ("loss-plateau", {"signal.progress.learned": False}, True, True),
        ("loss-plateau", {"signal.progress.learned": False, "run.last_step": 9}, False, False),
        (
            "loss-plateau",
            {"signal.progress.learned": False, "event.training_completed.reason": "success"},
            False,
            False,
        ),
    ],
)
def test_no_cause_is_a_candidate_of_whose_symptom_nothing_is_known(cause, facts, few_points, named):
    likely = {"likeness.first": cause, "likeness.first_probability": 0.3, "likeness.first_bits": 1.0}
    found = likeness_only({**likely, **facts}, load_rules(()), {}, few_points=few_points)

    assert [item.rule.entry.id for item in found] == [cause] * named


def scored(cause, probability):
    rule = load_rules(()).by_id(cause)
    assert rule is not None
    return Scored(rule, (), 0.0, probability)


@pytest.mark.parametrize(
    ("cause", "bits", "named"),
    [("overfitting", -12.0, False), ("overfitting", -3.0, True), ("loss-plateau", -12.0, True)],
)
def test_a_cause_that_its_own_rule_weighed_out_is_no_candidate_and_a_symptom_still_is(cause, bits, named):
    likely = {"likeness.first": cause, "likeness.first_probability": 0.4, "likeness.first_bits": 2.0}
    weighed = {cause: scored(cause, 0.005)._replace(bits=bits)}
    found = likeness_only(likely, load_rules(()), weighed, 0.9)

    assert [item.rule.entry.id for item in found] == [cause] * named


def test_likeness_shares_out_what_rules_leave_to_something_else():
    facts = {
        "likeness.first": "overfitting",
        "likeness.first_probability": 0.5,
        "likeness.first_bits": 1.0,
        "likeness.second": "loss-divergence",
        "likeness.second_probability": 0.2,
        "likeness.second_bits": 1.0,
    }
    weighed = {"loss-divergence": scored("loss-divergence", 0.2)}
    first, second = likeness_only(facts, load_rules(()), weighed, other=0.8)
    assert first.probability == pytest.approx(0.4), "half of what is left"
    assert second.probability == pytest.approx(0.2 + 0.8 * 0.2), (
        "what the rule gave it, and its part of the rest"
    )

    convinced = {"overfitting": scored("overfitting", 0.7)}
    assert [item.rule.entry.id for item in likeness_only(facts, load_rules(()), convinced, other=0.3)] == [
        "loss-divergence"
    ], "a cause that a rule found is no candidate"


def test_a_cause_that_a_rule_found_stays_first_and_likelier_than_its_likeness(tmp_path):
    held = (0.9, 0.8, 0.75, 0.74, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
    rows = (f"epoch {n + 1} loss {2.3 * 0.7**n:.4f} val_loss {held[n]:.4f}\n" for n in range(12))
    (tmp_path / "train.log").write_text("".join(rows), encoding="utf-8")
    found = analyzer.diagnose(tmp_path).findings
    assert found[0].cause.id == "overfitting"
    assert not found[0].by_likeness
    assert all(f.probability <= found[0].probability for f in found if f.by_likeness)
