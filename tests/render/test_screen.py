"""The first screen: short, in plain words, with the curve that decides; links, colours and progress only where wanted."""

import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import analyzer
from analyzer.api import study
from analyzer.cli.output import Format, chosen_format, wants_colour
from analyzer.cli.study import reading
from analyzer.facts.catalog import spec_of
from analyzer.model.diagnosis import LIKENESS, WORDS, Candidate, Evidence, Headline, NextCheck, Place
from analyzer.render import Style, render_terminal
from analyzer.render.curves import Line, Panel, deciding, panels_of, thinned
from analyzer.render.page import quoted_line
from analyzer.render.plot import plot_rows
from analyzer.render.words import (
    answers_in_words,
    fact_in_words,
    grounds,
    ledger_in_words,
    question_in_words,
    seen_in_words,
)
from tests.shipped_samples import SAMPLES, studied

ROOT = Path(__file__).parent.parent.parent


def line(y, x=None):
    y = np.array(y, dtype=np.float64)
    x = np.arange(1, y.size + 1, dtype=np.float64) if x is None else np.array(x, dtype=np.float64)
    return Line("l", "l", x, y, ("a.log",) * y.size, np.arange(y.size), np.zeros(y.size, dtype=np.int64))


def evidence(because, values, refs=()):
    return Evidence("e", "a", True, 3.0, counted=True, because=because, values=values, refs=refs)


def panel(*lines, log=False):
    return Panel("loss", "Loss", "", log, True, lines)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_screen_has_at_most_40_lines_and_no_jargon(sample):
    found = studied(sample)
    screen = render_terminal(found.diagnosis, Style(colour=False), panels=panels_of(found.run))

    assert screen.count("\n") <= 40
    assert not re.search(r"^\s*[+-]\d|\d+ more\b.*--all|yes \d+%", screen, re.MULTILINE)
    assert "signal." not in screen
    if found.diagnosis.status == "failed":
        assert re.search(r"^  restart: ", screen, re.MULTILINE)
        assert re.search(r"[<>]?\d+%\s+for\s+something\s+else", screen)


def test_where_no_cause_stands_out_the_candidates_are_named_with_what_is_known_of_them():
    found = study(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero").diagnosis
    several = tuple(Candidate(f"cause-{i}", f"Sentence {i}", 0.2) for i in range(3))
    open_one = replace(found, headline=Headline("open", "", "", 0.6, several, 0.0, 0.4))
    of_class = replace(
        found, headline=Headline("class", "the-class", "Its sentence", 0.7, several[:1], 0.5, 0.3)
    )
    first, second = (render_terminal(which, Style(colour=False)) for which in (open_one, of_class))

    assert (
        "no cause stands out: none reaches 50%, 40% for something else; the likeliest\n  20% Sentence 0"
        in first
    )
    assert "what speaks for bf16-pretrained-model-in-fp16:" in first
    assert "fix, if it is bf16-pretrained-model-in-fp16: " in first
    assert "other causes" not in first
    assert "70% likely: Its sentence  [the-class]\n  of this, 20% Sentence 0  [cause-0]" in second
    assert "for the other 50% nothing that was read tells" in second


def test_a_flat_curve_has_ends_that_differ():
    rows = plot_rows(panel(line([1.9112, 1.9105, 1.9105, 1.9105])), 100, 2)

    assert "1.9112" in rows[0]
    assert "1.9105" in rows[1]


def test_the_screen_names_a_few_tests_that_a_run_passed_and_all_names_every_one():
    found = analyzer.diagnose(ROOT / "samples/healthy/qwen2-bf16-sft")
    few, every = (
        re.sub(r"\s+", " ", render_terminal(found, Style(colour=False), show_all=whole))
        for whole in (False, True)
    )

    assert f"checks passed: {'; '.join(found.coverage.passed[:4])}; others with --all" in few
    assert f"checks passed: {'; '.join(found.coverage.passed)} " in every
    assert "it ends near its best" in few


def test_all_shows_the_bits_and_every_cause():
    found = analyzer.diagnose(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero")
    text = render_terminal(found, Style(colour=False), show_all=True)

    assert "+4 model.bf16_born_by_config=yes" in text
    assert all(finding.cause.id in text for finding in found.ruled_out)


def test_paths_are_shown_from_where_the_user_stands_and_links_lead_to_the_file(tmp_path):
    locations = {"train_config.yaml": str(tmp_path / "run" / "train_config.yaml")}
    found = analyzer.diagnose(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero")
    plain = render_terminal(found, Style(colour=False, locations=locations, here=str(tmp_path)))
    linked = render_terminal(found, Style(colour=False, locations=locations, here=str(tmp_path), links=True))

    assert "(run/train_config.yaml:7)" in plain
    assert "\x1b]8;;file:///" in linked
    assert re.sub(r"\x1b\]8;;[^\x1b]*\x1b\\", "", linked) == plain


def test_the_words_of_facts_and_questions():
    assert fact_in_words("config.data.padding_side", "left") == "data padding side: left"
    assert fact_in_words("event.oom.seen", value=True) == ""
    rises = fact_in_words("signal.loss.rises", value=False)
    assert rises.startswith("median of the last fifth")
    assert rises.endswith(": no")
    check = NextCheck(
        "signal.x.y", "its meaning", "", "c", 0.9, 0.1, test="config.a == 'b' and signal.x.y >= 2"
    )
    assert question_in_words(check) == "its meaning is at least 2"
    assert answers_in_words(check) == "if its meaning is at least 2: 90% for c; if not: 10%"


def test_the_words_of_a_list_are_marked_so_that_none_turns_the_question_round():
    test = 'signal.x.y in ["not_precision", "kernel", 3]'
    check = NextCheck("signal.x.y", "one of many words, " * 9, "", "c", 0.2, 0.9, test=test)

    assert question_in_words(check) == "the x y is “not_precision”, “kernel” or 3"


@pytest.mark.parametrize(
    ("sign", "words"),
    [("!=", "it tells where the tensor arose"), ("==", "it does not tell where the tensor arose")],
)
def test_a_question_whether_something_is_told_names_no_empty_value(sign, words):
    check = NextCheck(
        "signal.x.y", "where the tensor arose, in words", "", "c", 0.9, 0.2, test=f'signal.x.y {sign} ""'
    )

    assert question_in_words(check) == words


def test_two_bounds_of_one_number_name_it_once_and_what_it_may_be_is_left_out():
    test = "signal.x.y >= 0.3 and signal.x.y < 1"
    check = NextCheck("signal.x.y", "the precision: fp16, bf16 or fp32", "", "c", 0.2, 0.9, test=test)

    assert question_in_words(check) == "the precision is at least 0.3 and below 1"


def test_a_comparison_of_two_facts_is_told_in_the_words_of_both():
    least, median = "signal.embedding.special_row_rms_min", "signal.embedding.median_row_rms"
    spec = spec_of(least)
    check = NextCheck(least, spec.meaning, "", "c", 0.9, 0.1, test=f"{least} < 0.01 * {median}")

    assert question_in_words(check) == (
        "the smallest root mean square among the special tokens' rows is below 0.01 times "
        "the median root mean square of the ordinary rows"
    )


def test_a_setting_is_told_beside_its_reason_also_where_the_reason_names_its_value():
    because = "fp16 ends at 65504"

    assert seen_in_words(evidence(because, {"config.precision": "fp16"})) == "precision: fp16"


def test_a_reason_is_not_said_twice_and_what_is_not_so_leaves_the_word_to_the_quoted_line():
    same = {"signal.stall.no_progress": True}
    quoted = (Place("a.log", 7, "KeyError: 'caption'"),)

    assert (
        seen_in_words(evidence("eight evaluations agree to one percent and training falls no further", same))
        == ""
    )
    assert seen_in_words(evidence("nothing caught it", {"run.completed": False}, quoted)) == ""
    assert seen_in_words(evidence("nothing caught it", {"run.completed": False})).endswith(": no")
    assert seen_in_words(evidence("no rule bears it out", {"likeness.first": "overfitting"})) == ""


def test_the_ledger_names_facts_in_words_and_those_of_log_lines_too():
    values = {"event.cpu_oom.seen": True, "event.cpu_oom.tried_gib": 9.5, "config.data.padding_side": "left"}

    assert ledger_in_words(evidence("", values)) == [
        "a line says: the host refused memory",
        "tried gib: 9.5",
        "data padding side: left",
    ]


def test_a_first_fix_that_only_tells_more_is_not_called_a_fix():
    found = study(ROOT / "samples/failed/ddp-8-ranks-one-killed").diagnosis
    screen = render_terminal(found, Style(colour=False))

    assert "\n  find out first: Look for the sender" in screen
    assert "(tells more, cures nothing)" in re.sub(r"\s+", " ", screen)
    assert not re.search(r"^\s*fix: ", screen, re.MULTILINE)


def test_long_names_stand_on_lines_of_their_own_and_are_counted_where_they_are_many():
    found = study(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero").diagnosis
    others = tuple(f"deep/{'x' * 60}/{number}" for number in range(4))
    screen = render_terminal(replace(found, subject="y" * 90, others=others), Style(colour=False))
    plain = re.sub(r"\s+", " ", screen)

    assert screen.splitlines()[1] == f"  run {'y' * 90}"
    assert f"not looked at: {others[0]} and 3 more; all of them: analyzer triage" in plain
    assert others[1] not in plain


def test_a_reason_says_so_where_what_it_tells_was_not_seen():
    line = evidence("the curve falls beneath its swing", {})._replace(
        verdict=False, if_true=-4.0, if_false=1.5
    )

    assert grounds(line) == "not so here: the curve falls beneath its swing"
    assert grounds(line._replace(if_true=0.0)) == "the curve falls beneath its swing"  # written for this case
    assert grounds(line._replace(verdict=True)) == "the curve falls beneath its swing"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2019-05-09 14:49:11.3: W tf/common_runtime/bfc_allocator.cc:267] Allocator ran out", "… Allocator ran out"),
        ("[rank0]:[E1018 10:22:33.123456 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught it", "… Watchdog caught it"),
        ("(raylet) A worker died or was killed by something", "… A worker died or was killed by something"),
        ("RuntimeError: a text that begins at once and is long", "RuntimeError: a text that begins at once and is…"),
        ("ERROR short", "ERROR short"),
    ],
)  # fmt: skip
def test_of_a_long_line_the_loggers_own_words_go_first(text, shown):
    assert quoted_line(text, 48) == shown


def test_a_question_of_alternatives_asks_for_the_unknown_one():
    check = NextCheck("signal.x.y", "the loss was NaN", "", "c", 0.03, 0.67, test="signal.x.y or signal.a.b")

    assert (
        answers_in_words(check)
        == "if the loss was NaN: another cause is likelier, only 3% for c; if not: 67%"
    )


def test_a_question_of_many_parts_is_not_spelled_out():
    check = NextCheck(
        "signal.x.y",
        "its meaning",
        "",
        "c",
        0.2,
        0.9,
        test="not signal.x.z and (signal.x.y or signal.a.b >= 2)",
    )

    assert answers_in_words(check) == "depending on what it shows, c is then 90% or 20% probable"


def test_of_several_findings_the_screen_says_what_happened_and_not_twice_why():
    found = study(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero").diagnosis
    both = replace(found, summary="another trouble; and this one; very likely: bf16-pretrained-model-in-fp16")

    assert "\n  Another trouble; and this one\n" in render_terminal(both, Style(colour=False))


def cut_off(first, probability):
    """The finding that the log breaks off, beside another."""
    cause = first.cause._replace(id="log-truncated", title="Cut off")
    return first._replace(symptom_kind="crash", probability=probability, cause=cause)


def test_that_a_log_breaks_off_is_said_once_beside_a_fault():
    found = study(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero").diagnosis
    first = found.findings[0]
    cut = cut_off(first, 0.55)

    assert "Cut off" not in render_terminal(replace(found, findings=(first, cut)), Style(colour=False))
    assert "Cut off" in render_terminal(replace(found, findings=(cut,)), Style(colour=False))


def test_thinning_keeps_every_extreme_and_every_kind_of_non_finite_point():
    values = np.sin(np.arange(50_000) / 500.0)
    values[[123, 40_001]] = [99.0, -99.0]
    values[[7_000, 7_001, 30_000]] = [np.nan, np.inf, -np.inf]
    kept = thinned(line(values), 100)

    assert kept.size <= 900
    assert list(kept) == sorted(set(kept))
    assert {0, 123, 7_000, 7_001, 30_000, 40_001, 49_999} <= set(kept.tolist())


def test_a_plot_marks_points_that_are_not_finite_the_onset_and_the_ends():
    rows = plot_rows(panel(line([4.0, 3.0, 2.0, np.nan, np.inf, 1.0])), 100, 4, onset=4.0)

    assert rows[0].startswith("  loss           4 │")
    assert rows[3].startswith("                 1 │")
    assert "not finite │" in rows[4]
    assert rows[4].count(chr(0xD7)) == 2
    assert re.search(r"└step 1 .*▲ 4 .*6$", rows[5])


def test_a_plot_joins_no_points_across_one_that_is_not_finite():
    whole = plot_rows(panel(line([1.0, 1.0, 2.0, 2.0, 2.0])), 100, 2)
    broken = plot_rows(panel(line([1.0, np.nan, 2.0, 2.0, 2.0])), 100, 2)

    assert sum(len(row.strip()) for row in broken[:2]) < sum(len(row.strip()) for row in whole[:2])


def test_nothing_is_drawn_where_there_is_no_room_or_no_curve():
    assert plot_rows(panel(line([1.0, 2.0, 3.0, 4.0])), 40, 4) == []
    assert plot_rows(panel(line([1.0, 2.0])), 100, 4) == []
    assert plot_rows(panel(line([np.nan] * 9)), 100, 4) == []
    assert plot_rows(panel(line([1.0, 2.0, 3.0, 4.0], [5, 5, 5, 5])), 100, 4) == []


def test_the_deciding_curve_is_the_one_that_the_evidence_rests_on():
    found = study(ROOT / "samples/failed/tinyllama-fp16-unpacked-grad-nan")
    killed = study(ROOT / "samples/failed/ddp-8-ranks-one-killed")

    assert deciding(panels_of(found.run), found.diagnosis.findings[0]).key == "grad_norm"
    assert deciding(panels_of(killed.run), killed.diagnosis.findings[0]) is None


def test_rewards_are_drawn_where_they_decide(tmp_path):
    rows = (
        f"{{'loss': {0.01 + i % 3 / 500:.4f}, 'reward': {0.7 + i % 5 / 100}, 'kl': 0.1, 'step': {i}}}\n"
        for i in range(120)
    )
    (tmp_path / "grpo.log").write_text("".join(rows))
    found = study(tmp_path)
    stands = (
        found.diagnosis.findings[0]._replace(symptom_kind="plateau") if found.diagnosis.findings else None
    )

    assert {"loss", "reward", "kl"} <= {panel.key for panel in panels_of(found.run)}
    assert stands is None or deciding(panels_of(found.run), stands).key == "reward"


def test_what_is_slow_by_its_settings_is_drawn_in_no_curve():
    found = study(ROOT / "samples/failed/tinyllama-fp16-unpacked-grad-nan")
    slow = found.diagnosis.findings[0]._replace(symptom_kind="slow", evidence=())

    assert deciding(panels_of(found.run), slow) is None


def test_the_suffix_decides_the_format_and_a_contradiction_is_refused():
    assert chosen_format(None, None) is Format.terminal
    assert chosen_format(None, Path("a.md")) is Format.markdown
    assert chosen_format(Format.json, Path("a.unknown")) is Format.json
    with pytest.raises(Exception, match="contradicts the suffix"):
        chosen_format(Format.json, Path("a.md"))


def test_colour_follows_no_color_force_color_and_the_terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert wants_colour(terminal=True)
    assert not wants_colour(terminal=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_colour(terminal=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(terminal=True)


def test_progress_is_drawn_while_a_large_log_is_read_and_is_gone_afterwards(tmp_path, monkeypatch):
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {i} loss: {2 + 1 / (i + 1):.4f}\n" for i in range(20_000)))
    shown = io.StringIO()
    monkeypatch.setattr("analyzer.cli.study.FIRST_S", 0.0)
    monkeypatch.setattr("analyzer.cli.study.REDRAWN_S", 0.01)
    monkeypatch.setattr("sys.stderr", shown)
    with reading(visible=True):
        study(log)

    assert re.search(r"reading: \d+ of \d+ MB, file 1 of 1, \d+ MB/s.*train\.log", shown.getvalue())
    assert shown.getvalue().endswith("\r\x1b[K")


def test_where_too_little_is_known_what_is_missing_leads_and_not_how_the_log_ends(tmp_path):
    (tmp_path / "train.log").write_text(
        "UserWarning: the default value changed\nStarting training...\n", encoding="utf-8"
    )
    dx = analyzer.diagnose(tmp_path)
    shown = analyzer.report(dx, "terminal")

    assert dx.findings[-1].cause.id == "log-truncated"
    assert shown.index("needs 5 points") < shown.index("note: The program was stopped")
    assert "[log-truncated]" not in shown


def test_what_is_told_at_length_stands_in_the_list_above_it_and_says_whether_words_or_numbers_were_alike():
    found = study(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero").diagnosis
    first = found.findings[0]
    end = cut_off(first, 0.3)
    line = first.evidence[0]._replace(id=WORDS, values={"message.first": first.cause.id})
    numbers = line._replace(id=LIKENESS, values={"likeness.second": "overfitting"})
    by_words = first._replace(probability=0.23, evidence=(line,))
    by_numbers = first._replace(
        probability=0.1, evidence=(numbers,), cause=first.cause._replace(id="overfitting")
    )
    few = replace(found, status="insufficient", headline=None, findings=(end, by_words, by_numbers))
    shown = render_terminal(few, Style(colour=False))

    assert "labelled logs with such words that had one turned out to be\n  23%" in shown
    assert shown.index(f"[{first.cause.id}]") < shown.index(f"what speaks for {first.cause.id}")
    assert "note: Cut off" in shown


def test_what_the_log_itself_shows_stands_above_what_labelled_runs_lend():
    first = study(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero").diagnosis.findings[0]
    own = first.speaks_for()[0]
    lent = own._replace(id=WORDS, bits=own.bits + 3)
    both = first._replace(evidence=(lent, own))

    assert [line.id for line in both.speaks_for()] == [own.id, WORDS]
