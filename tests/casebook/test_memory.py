"""A cluster that confirms its failures is helped by them, within bounds; nobody else is touched."""

import math
import random
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

import analyzer
from analyzer.casebook import memory
from analyzer.casebook.confirmed_only import AT_MOST, confirmed_only
from analyzer.casebook.from_run import record_of
from analyzer.casebook.memory import LEAST_BITS, MOST_BITS, remember, signs
from analyzer.casebook.record import CaseRecord
from analyzer.cli.app import app
from analyzer.rules.load import load_rules
from analyzer.rules.score import Ranking, probabilities_of, rank

RUN = Path(__file__).parents[2] / "samples" / "failed" / "ddp-8-ranks-one-killed"
TODAY = date(2026, 6, 1)
FACTS = {
    "event.sigkill.seen": True,
    "event.torchrun_worker_failed.seen": True,
    "failure.first.kind": "sigkill",
}
CAUSES = ("process-sigkilled", "host-oom-kill", "user-code-exception", "native-crash")


def _confirmed(count, label="host-oom-kill", day="2026-05-01", **more):
    return [CaseRecord(f"{label}{i}", label, facts=FACTS, day=day, **more) for i in range(count)]


@pytest.fixture
def casebook(tmp_path, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, str(tmp_path / "book"))
    memory._records_at.cache_clear()
    yield tmp_path / "book"
    memory._records_at.cache_clear()


def test_without_confirmed_cases_nothing_moves():
    assert remember([], FACTS, CAUSES, TODAY) == {}


def test_what_is_often_confirmed_rises_and_the_others_fall_within_bounds():
    found = remember(_confirmed(500), FACTS, CAUSES, TODAY)

    assert 1.0 < found["host-oom-kill"].bits <= MOST_BITS
    assert LEAST_BITS <= found["native-crash"].bits < 0.0


def test_old_cases_fade():
    new = remember(_confirmed(10), FACTS, CAUSES, TODAY)["host-oom-kill"].bits
    old = remember(_confirmed(10, day="2024-05-01"), FACTS, CAUSES, TODAY)["host-oom-kill"].bits

    assert old < new / 2


def test_one_wrong_record_hardly_moves_anything():
    assert remember(_confirmed(1), FACTS, CAUSES, TODAY)["host-oom-kill"].bits < 0.4


def test_the_sentence_counts_alike_cases_and_what_cured_them():
    records = _confirmed(3, fix="more-memory", worked=True) + _confirmed(
        1, label="native-crash", fix="x", worked=False
    )
    found = remember(records, FACTS, CAUSES, TODAY)

    assert found["host-oom-kill"].sentence() == (
        "confirmed 3 times here since 2026-05-01, 3 of them alike; 3 cured by more-memory"
    )
    assert found["native-crash"].sentence() == "confirmed once here since 2026-05-01, 1 of them alike"


def test_a_run_of_another_kind_is_not_called_alike():
    other = {"event.cuda_oom.seen": True, "exception.type": "OutOfMemoryError"}

    assert remember(_confirmed(5), other, CAUSES, TODAY)["host-oom-kill"].alike == 0
    assert signs(other) == {"event.cuda_oom.seen", "exception.type=OutOfMemoryError"}


def test_confirm_keeps_a_case_that_the_next_diagnosis_names(casebook):
    before = analyzer.diagnose(RUN).findings[0]
    for _ in range(2):
        kept = CliRunner().invoke(
            app, ["confirm", str(RUN), "process-sigkilled", "--fix", "find-sender", "--worked", "yes"]
        )
        assert kept.exit_code == 0, kept.output
    memory._records_at.cache_clear()
    after = analyzer.diagnose(RUN).findings[0]

    assert len(list(casebook.glob("*.jsonl"))) == 2
    assert after.seen_before.startswith("confirmed 2 times here since")
    assert after.seen_before.endswith("2 cured by find-sender")
    assert before.seen_before == ""
    assert 0.0 < after.casebook_bits <= MOST_BITS


def _confirm(cause, times):
    for _ in range(times):
        kept = CliRunner().invoke(app, ["confirm", str(RUN), cause])
        assert kept.exit_code == 0, kept.output
    memory._records_at.cache_clear()


def test_a_cause_confirmed_twice_for_such_runs_is_named_where_no_rule_brings_it_up(casebook):
    before = analyzer.diagnose(RUN)
    _confirm("host-oom-kill", 1)
    once = analyzer.diagnose(RUN)
    _confirm("host-oom-kill", 2)
    after = analyzer.diagnose(RUN)
    found = {finding.cause.id: finding for finding in after.findings}
    screen = " ".join(CliRunner().invoke(app, ["diagnose", str(RUN)]).output.split())

    # what logs of others with such words had is no more than a candidate
    assert all(
        f.probability < 0.05 for f in (*before.findings, *once.findings) if f.cause.id == "host-oom-kill"
    )
    told = found["host-oom-kill"]
    assert told.seen_before.startswith("confirmed 3 times here since")
    assert "3 of them alike" in told.seen_before
    assert told.share <= AT_MOST
    assert after.headline.id == "process-sigkilled"
    # the cause refines that class; what the user confirmed replaces what logs of others with such words had
    assert after.headline.other == pytest.approx(before.headline.other, abs=0.05)
    assert after.headline.probability == pytest.approx(before.headline.probability, abs=0.05)
    assert after.summary.startswith("a process was killed by SIGKILL or is gone, sender unknown")
    assert "of this, 49% Host memory is exhausted" in screen
    assert "confirmed 3 times here since" in screen


def test_cases_of_other_runs_and_cases_that_disagree_name_nothing():
    rules, facts = load_rules(()), {**FACTS, "failure.seen": True}
    weighed = rank(rules.in_question(facts), facts)
    nothing = Ranking({}, {})

    def named(records, run=facts, ranking=nothing):
        found = confirmed_only(records, run, rules, ranking, TODAY)
        return found and found[2]

    assert named(_confirmed(2)) == "host-oom-kill"
    assert named(_confirmed(1)) is None
    assert named(_confirmed(2), {**FACTS, "failure.seen": False}) is None
    assert named(_confirmed(2), {"event.cuda_oom.seen": True, "failure.seen": True}) is None
    assert named(_confirmed(9, "process-sigkilled"), ranking=weighed) is None
    assert named([*_confirmed(2), *_confirmed(2, "disk-full"), *_confirmed(2, "native-crash")]) is None


def test_confirm_without_a_casebook_says_what_to_set(monkeypatch):
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    result = CliRunner().invoke(app, ["confirm", str(RUN), "process-sigkilled"])

    assert memory.VARIABLE in str(result.exception)


def test_a_damaged_record_is_skipped_and_deleting_a_file_takes_it_back(casebook):
    casebook.mkdir()
    (casebook / "bad.jsonl").write_text("not a record\n")
    good = casebook / "good.jsonl"
    good.write_text(_confirmed(1, label="process-sigkilled")[0].to_json() + "\n")
    seen = analyzer.diagnose(RUN).findings[0].seen_before
    good.unlink()
    memory._records_at.cache_clear()

    assert seen
    assert analyzer.diagnose(RUN).findings[0].seen_before == ""


def test_fifty_confirmed_failures_help_a_cluster_with_its_own_base_rates():
    """Kills without a word: no line tells the three causes apart, and only the cluster knows that memory is scarce."""
    dice = random.Random(7)
    rates = {"host-oom-kill": 0.8, "process-sigkilled": 0.15, "native-crash": 0.05}

    def draw(count):
        return dice.choices(list(rates), weights=list(rates.values()), k=count)

    confirmed = [CaseRecord(str(i), cause, facts=FACTS, day="2026-05-01") for i, cause in enumerate(draw(50))]
    shift = {cause: found.bits for cause, found in remember(confirmed, FACTS, CAUSES, TODAY).items()}
    alone, _ = probabilities_of([1.0] * len(CAUSES))
    helped, _ = probabilities_of([1.0 + shift.get(cause, 0.0) for cause in CAUSES])
    later = draw(200)

    def loss_bits(probabilities):
        return -sum(math.log2(probabilities[CAUSES.index(cause)]) for cause in later) / len(later)

    assert loss_bits(helped) < loss_bits(alone) - 0.5  # half a bit per failure: 1.41 times the probability


def test_fifty_confirmed_failures_name_a_cause_that_no_line_of_the_log_tells(casebook):
    """The same cluster, whole diagnoses: its kernel's lines are not in the logs, so no rule speaks of memory."""
    dice = random.Random(7)
    rates = {"host-oom-kill": 0.8, "process-sigkilled": 0.15, "native-crash": 0.05}
    facts = record_of(RUN, "process-sigkilled").facts

    def draw(count):
        return dice.choices(list(rates), weights=list(rates.values()), k=count)

    later, day = draw(200), datetime.now(UTC).date().isoformat()

    def loss_bits(found):
        shares = {finding.cause.id: finding.probability for finding in found.findings}
        least = max(found.headline.other, 0.001)  # what is told may leave nothing to something else
        return -sum(math.log2(shares.get(cause, least)) for cause in later) / len(later)

    alone = loss_bits(analyzer.diagnose(RUN))
    for number, cause in enumerate(draw(50)):
        memory.keep(CaseRecord(str(number), cause, facts=facts, day=day))
    memory._records_at.cache_clear()
    helped = analyzer.diagnose(RUN)

    assert {"host-oom-kill", "process-sigkilled"} == {f.cause.id for f in helped.findings[:2]}
    assert helped.headline.id == "process-sigkilled"
    assert loss_bits(helped) < alone - 1.0  # twice the probability and more, a failure
