"""What shares are worth is learned from answers for unseen runs, and is told without a change of order."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import analyzer
from analyzer.casebook.fitting import Answer, fit, fit_with_proof, held_out, read_answers
from analyzer.cli.app import app
from analyzer.errors import InputError
from analyzer.model.wording import LIKELY, REPORTED
from analyzer.rules.calibration import Calibration, shipped_calibration
from analyzer.rules.telling import Leader, Telling

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "samples" / "casebook" / "answers.csv"
HEAD = "set,source,status,cause,said,right\n"
SHARES = st.floats(0.0, 1.0)
FITTED = Calibration(0.2, 0.8, {"failed": 0.6, "degraded": -0.5}, {"memory": 1.2, "optimisation": -0.7})


def answers(count, group, status, cause, said, right_in_ten):
    return [Answer(group, "", status, cause, said, i % 10 < right_in_ten) for i in range(count)]


def test_answers_are_told_at_what_such_answers_were_worth():
    """Written failures are right more often than said, courses of curves less often."""
    seen = answers(200, "a", "failed", "disk-full", 0.55, 9) + answers(
        200, "b", "degraded", "overfitting", 0.9, 4
    )
    found = fit(seen)

    assert found.told(0.55, "failed", "storage") == pytest.approx(0.9, abs=0.03)
    assert found.told(0.9, "degraded", "optimisation") < 0.6


def test_a_few_answers_move_little():
    many = answers(200, "a", "failed", "disk-full", 0.6, 8)
    few = fit(many + answers(2, "b", "failed", "overfitting", 0.6, 0))

    assert few.fitted(0.6, "failed", "optimisation") > 0.6


@given(
    SHARES,
    SHARES,
    st.sampled_from(["failed", "degraded"]),
    st.sampled_from(["memory", "optimisation", "new"]),
)
def test_a_larger_share_is_never_told_lower_and_words_keep_their_side(one, other, status, family):
    low, high = sorted((one, other))
    told = FITTED.told(high, status, family)

    assert FITTED.told(low, status, family) <= told
    assert told >= REPORTED if high >= REPORTED else told < 0.5
    assert told < LIKELY or told >= (0.75 if high >= 0.5 else 0.85)
    assert 0.0 <= told <= 1.0


def test_a_status_without_answers_is_told_as_it_is():
    assert FITTED.told(0.8, "healthy", "memory") == 0.8


def test_an_answer_that_is_right_in_two_of_three_is_not_called_likely():
    assert 0.6 < FITTED.fitted(0.9, "degraded", "optimisation") < 0.75
    assert FITTED.told(0.9, "degraded", "optimisation") < LIKELY


def test_no_set_helps_to_fit_its_own_answers():
    right, wrong = (answers(50, name, "failed", "disk-full", 0.8, n) for name, n in (("a", 10), ("b", 0)))
    told = held_out(right + wrong)

    assert max(told[:50]) < 0.5 < min(told[50:])


def test_the_shipped_numbers_are_those_of_the_table():
    found, shipped = fit_with_proof(read_answers(TABLE)), shipped_calibration()

    for name, value in found._asdict().items():
        assert getattr(shipped, name) == pytest.approx(value, abs=0.01), name
    assert shipped.error < shipped.error_by_hand / 2
    assert shipped.sure_right > 0.9


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", ":1"),
        ("a,b\n", ":1"),
        (HEAD + "s,u,failed,disk-full,0.5\n", ":2"),
        (HEAD + "s,u,failed,disk-full,0.5,1\ns,u,failed,no-such-cause,0.5,1\n", ":3"),
        (HEAD + "s,u,lost,disk-full,0.5,1\n", ":2"),
        (HEAD + "s,u,failed,disk-full,nan,1\n", ":2"),
        (HEAD + "s,u,failed,disk-full,0.5,yes\n", ":2"),
    ],
)
def test_a_bad_table_is_named_by_its_line(tmp_path, text, where):
    table = tmp_path / "answers.csv"
    table.write_text(text)

    with pytest.raises(InputError, match=f"answers.csv{where}"):
        read_answers(table)


def test_fit_from_the_command_line(tmp_path):
    lone, some, written = tmp_path / "lone.csv", tmp_path / "some.csv", tmp_path / "calibration.json"
    lone.write_text(HEAD + "s,u,failed,disk-full,0.5,1\n")
    head, *rows = TABLE.read_text(encoding="utf-8").splitlines()
    some.write_text("\n".join([head, *rows[::8]]))
    runner = CliRunner()

    refused = runner.invoke(app, ["rules", "fit", str(lone)])
    fitted = runner.invoke(app, ["rules", "fit", str(some), "-o", str(written)])

    assert "two sets" in str(refused.exception)
    assert "calibration error" in fitted.output
    assert Calibration(**json.loads(written.read_text())["fit"]).answers == len(rows[::8])


@given(st.lists(SHARES, min_size=1, max_size=5).filter(lambda parts: sum(parts) <= 1.0), SHARES)
def test_rivals_share_what_the_leader_leaves(parts, probability):
    shares = sorted(parts, reverse=True)
    told = Telling({"crash": Leader("c0", {"c0": shares[0]}, shares[0], probability, shares[0])})
    found = [told.of("crash", f"c{i}", share) for i, share in enumerate(shares)]

    assert found[0] == probability
    assert all(later <= first + 1e-9 for first, later in pairwise(found))
    assert sum(found) + told.other("crash", 1.0 - sum(shares)) <= 1.0 + 1e-9
    assert told.of("hang", "c0", 0.4) == 0.4


def test_causes_of_a_class_that_leads_are_moved_together():
    told = Leader("whole", {"one": 0.4, "two": 0.15, "whole": 0.05}, 0.6, 0.9, 0.4)

    assert told.of("two", 0.15) == pytest.approx(0.225)
    assert told.of("one", 0.4) < 0.5  # what held no half alone heads no answer
    assert sum(told.of(name, share) for name, share in told.causes.items()) == pytest.approx(0.9)
    assert told.of("rival", 0.3) + told.rest(0.1) == pytest.approx(0.1)


def test_the_answer_tells_both_the_share_and_what_it_is_worth():
    runs = sorted((ROOT / "samples" / "failed").iterdir())
    leaders = [found for run in runs[:12] for found in analyzer.diagnose(run).findings[:1]]
    found = next(each for each in leaders if abs(each.share - each.probability) >= 0.01)

    assert found.calibrated
    assert "a share of" in found.ledger()
