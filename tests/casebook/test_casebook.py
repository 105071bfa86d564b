"""Records hold no text of a log, bad ones are named, and figures judge what an answer is headed by."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from analyzer.casebook.figures import Contest, agreement, calibration_error, contests, figures
from analyzer.casebook.from_run import record_of
from analyzer.casebook.record import CaseRecord, good_records, parse_record, read_casebook, typed_facts
from analyzer.cli.app import app
from analyzer.errors import InputError
from analyzer.rules.load import load_rules

SAMPLES = Path(__file__).parents[2] / "samples"
RUN = SAMPLES / "failed" / "qwen2-fp16-sft-loss-zero"
APART = ("disk-full", "rendezvous-port-in-use")  # causes without a class in common


def test_a_record_holds_no_sentence_and_no_path_of_the_run():
    record = record_of(SAMPLES / "failed" / "ddp-8-ranks-bad-record", "undecodable-record")
    texts = [value for value in record.facts.values() if isinstance(value, str)]

    assert record.facts
    assert not [text for text in texts if " " in text or "/" in text or len(text) > 64]


def test_a_record_ranks_its_cause_as_the_diagnosis_does():
    record = record_of(RUN, "bf16-pretrained-model-in-fp16")
    (contest,) = contests([record], load_rules(()))

    assert contest.kind == "numerical_breakdown"
    assert contest.causes[0] == "bf16-pretrained-model-in-fp16"
    assert contest.right[0]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "no JSON object"),
        ('{"schema":"other"}', "no record of"),
        (
            '{"schema":"analyzer.case/1","id":"a","label":"no-such-cause"}',
            "no cause is called 'no-such-cause'",
        ),
        ('{"schema":"analyzer.case/1","id":"a","label":"healthy","facts":[]}', "'facts' must be an object"),
        ('{"schema":"analyzer.case/1","id":"a","label":"healthy","note":"x"}', "unknown key 'note'"),
        ('{"schema":"analyzer.case/1","id":7,"label":"healthy"}', "'id' is missing"),
        ("[" * 100_000, "no JSON object"),
    ],
)
def test_a_bad_record_is_named_with_its_place(line, what):
    with pytest.raises(InputError, match=what) as error:
        parse_record(line, "book.jsonl:3")

    assert str(error.value).startswith("book.jsonl:3")


def test_one_bad_line_loses_no_other_record(tmp_path):
    good = CaseRecord("a", "healthy").to_json()
    (tmp_path / "book.jsonl").write_text(f"{good}\nnonsense\n{CaseRecord('b', 'healthy').to_json()}\n")
    found = [record for _, record in read_casebook([tmp_path])]

    assert [getattr(record, "id", None) for record in found] == ["a", None, "b"]


@given(
    st.dictionaries(
        st.text(max_size=20), st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=99))
    )
)
def test_what_may_stand_in_a_record_survives_its_line(facts):
    kept = typed_facts(facts)
    line = CaseRecord("a", "healthy", facts=kept).to_json()

    assert json.loads(line).get("facts", {}) == kept
    assert all(not isinstance(v, str) or " " not in v for v in kept.values())


def test_a_harmless_explanation_of_a_sound_run_is_no_error():
    facts = record_of(RUN, "healthy").facts
    sound, failed = (CaseRecord("a", label, facts=facts) for label in ("healthy", "outside"))
    rules = load_rules(())
    benign = [c for r in (sound, failed) for c in contests([r], rules)]

    assert [any(c.right) for c in benign] == [
        any(rules.by_id(cause).entry.kind == "benign" for cause in benign[0].causes),
        False,
    ]


def test_something_else_counts_in_the_log_loss():
    missed = Contest("c", "c", "crash", APART[:1], (0.0,), (False,))

    assert missed.loss_bits() == pytest.approx(1.0)


def test_of_a_sound_run_a_harmless_explanation_and_something_else_are_right():
    noise = Contest("c", "c", "eval_gap", ("eval-set-too-small",), (0.0,), (True,), sound=True)

    assert noise.loss_bits() == 0.0


def test_figures_count_what_is_wrong_and_sure():
    sure_and_wrong = Contest("c", "c", "crash", APART, (6.0, 0.0), (False, True))
    found = figures([sure_and_wrong])

    assert (found.top1, found.top3, found.wrong_sure, found.wrong_very_sure) == (0.0, 1.0, 1.0, 1.0)
    assert calibration_error([(1.0, True), (0.05, False)]) == pytest.approx(0.025)


def test_figures_judge_what_the_answer_is_headed_by():
    """Three causes of one class hold less than a half each; the class that is told is right if one of them is."""
    causes = ("oom-activations", "oom-fragmentation", "gpu-out-of-memory")
    told = Contest("c", "c", "oom", causes, (1.0, 1.0, 0.0), (False,) * 3, classes=frozenset(causes[2:]))
    other = replace(told, classes=frozenset())
    said, right = told.answer()

    assert said == pytest.approx(5 / 6)
    assert right
    assert other.answer() == (said, False)
    assert figures([other]).wrong_sure == 1.0
    assert figures([told]).wrong_sure == 0.0


def test_which_kind_leads_is_chosen_without_a_look_at_the_label():
    facts = record_of(RUN, "healthy").facts
    labels = ("healthy", "outside", "bf16-pretrained-model-in-fp16", "disk-full")
    kinds = {c.kind for c in contests([CaseRecord(x, x, facts=facts) for x in labels], load_rules(()))}

    assert kinds == {"numerical_breakdown"}


def test_add_check_stats_and_benchmark_from_the_command_line(tmp_path):
    book = tmp_path / "book.jsonl"
    runner = CliRunner()
    added = runner.invoke(
        app, ["casebook", "add", str(RUN), "bf16-pretrained-model-in-fp16", "--to", str(book)]
    )
    refused = runner.invoke(app, ["casebook", "add", str(RUN), "no-such-cause", "--to", str(book)])
    judged = runner.invoke(app, ["benchmark", str(book)])

    assert added.exit_code == 0, added.output
    assert refused.exit_code != 0
    assert len(good_records([book])) == 1
    assert "1 sound records, 0 bad" in runner.invoke(app, ["casebook", "check", str(book)]).output
    assert "bf16-pretrained-model-in-fp16" in runner.invoke(app, ["casebook", "stats", str(book)]).output
    assert "numerical_breakdown" in judged.output


def test_agreement_counts_labels_that_are_accepted_and_not_only_equal_ones():
    def twice(label, *second, acceptable=()):
        return CaseRecord(id=label + "-".join(second), label=label, acceptable=acceptable, second=second)

    found = agreement(
        [
            twice("overfitting", "overfitting"),
            twice("overfitting", "too-many-epochs", "overfitting"),
            twice("loss-plateau", "underfitting", acceptable=("underfitting",)),
            twice("healthy", "overfitting"),
            CaseRecord(id="once", label="healthy"),
        ]
    )

    assert (found.runs, found.same, found.accepted, found.same_verdict) == (4, 1, 3, 3)
    assert found.kappa < 0.25
    assert agreement([CaseRecord(id="once", label="healthy")]) is None


def test_a_second_label_that_is_no_cause_is_refused():
    with pytest.raises(InputError, match="no-such-cause"):
        parse_record(
            '{"schema":"analyzer.case/1","id":"a","label":"healthy","second":["no-such-cause"]}', "x:1"
        )


def test_a_casebook_is_built_anew_from_labelled_runs(tmp_path):
    (tmp_path / "labels.csv").write_text(
        "id,root_cause,second\n"
        "qwen2-fp16-sft-loss-zero,bf16-pretrained-model-in-fp16,fp16-activation-overflow|cosmic rays\n"
    )
    book = tmp_path / "book.jsonl"
    result = CliRunner().invoke(
        app, ["casebook", "build", str(tmp_path / "labels.csv"), str(SAMPLES / "failed"), "--to", str(book)]
    )

    assert "1 records" in result.output
    (record,) = good_records([book])
    assert record.label == "bf16-pretrained-model-in-fp16"
    assert record.second == ("fp16-activation-overflow", "outside")
    stats = CliRunner().invoke(app, ["casebook", "stats", str(book)])
    assert "1 runs labelled twice: the same label in 0 %" in stats.output
