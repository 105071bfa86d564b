"""Sentences as somebody reads them who does not know the tool: none contradicts another, none is stated that is only a candidate."""

import os
import re
from dataclasses import replace

import pytest

import analyzer
from analyzer.api import study
from analyzer.model.diagnosis import ALIKE, SOUND_ALIKE, WORDS, Evidence, Finding, Place, RootCause
from analyzer.model.wording import word_for
from analyzer.render import Style, render_terminal
from analyzer.render.brief import render_brief
from analyzer.render.sentences import because_here, first_failure_note, is_quotable
from analyzer.render.words import strongest
from analyzer.rules.causes import catalogue
from analyzer.rules.status import Verdict

LOGS = {
    "fault of a page": """\
Epoch 1/20
2024-01-02 10:00:01.100000: I tensorflow/core/kernels/conv_grad_input_ops.cc:1023] running auto-tune for Backward-Data
Memory access fault by GPU node-2 (Agent handle: 0x55d0c0de0) on address 0x7f0000000. Reason: Page not present or supervisor privilege.
Aborted (core dumped)
""",
    "clash of packages": """\
Traceback (most recent call last):
  File "/home/ann/shop/train.py", line 12, in <module>
    model.fit(rows, epochs=2)
  File "/opt/env/lib/python3.11/site-packages/keras/src/trainers/trainer.py", line 410, in _logs_as_python
    for key, value in sorted(logs.items()):
AttributeError: 'ArrayImpl' object has no attribute 'items'. Did you mean: 'item'?
""",
    "exception": """\
Traceback (most recent call last):
  File "/home/ann/shop/train.py", line 40, in <module>
    main()
  File "/home/ann/shop/train.py", line 31, in main
    rows = table[0]
TypeError: 'NoneType' object is not subscriptable
""",
    "storage": "".join(f"epoch {n} - loss: {2.0 - n / 100:.3f}\n" for n in range(1, 9))
    + "OSError: [Errno 5] Input/output error\n",
    "argument": """\
Traceback (most recent call last):
  File "fit.py", line 9, in <module>
    model.fit(pool)
  File "/opt/env/lib/python3.8/site-packages/catboost/core.py", line 734, in _check_params
    raise CatboostError("Invalid param `{}`.".format(param))
_catboost.CatboostError: Invalid param `host_cache_size`.
""",
    "flat": "".join(f"step {n} loss {0.6931 + n % 3 / 1000:.4f}\n" for n in range(1, 9)),
}


@pytest.fixture(scope="module", params=LOGS)
def found(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "train.log").write_text(LOGS[request.param], encoding="utf-8")
    return study(folder)


def test_the_summary_is_as_sure_as_the_percentage_beside_it(found):
    diagnosis = found.diagnosis
    named = re.search(r"; ([a-z ]+): ([a-z0-9-]+)$", diagnosis.summary)
    if named is not None:
        told = {finding.cause.id: word_for(finding.probability) for finding in diagnosis.findings}
        assert told[named[2]] == named[1]
    if diagnosis.findings and diagnosis.findings[0].probability >= 0.6:
        assert "no rule explains" not in diagnosis.summary


def test_advice_on_a_candidate_says_that_it_is_one(found):
    screen = render_terminal(found.diagnosis, Style(colour=False))
    brief = render_brief(found.diagnosis, found.run)
    said = ("no cause stands out", "no rule explains it;", "no rule finds a fault;")
    candidates = any(words in screen for words in said)
    for text in (screen, brief):
        for line in text.splitlines():
            if re.match(r" *(?:fix|find out first|restart)\b", line):
                assert (", if it is " in line) == candidates, line


def test_a_written_failure_lacks_no_gradient_norm_and_asks_for_none(found):
    diagnosis = found.diagnosis
    if diagnosis.status != "failed":
        return
    assert not {"gradient norm", "the precision"} & set(diagnosis.coverage.missing)
    kinds = {finding.cause.id: finding.symptom_kind for finding in diagnosis.findings}
    for check in diagnosis.next_checks:
        assert kinds.get(check.cause_id, "crash") in {"crash", diagnosis.findings[0].symptom_kind}


def test_nothing_is_said_twice_beside_the_verdict(tmp_path):
    rows = (f"step {n} loss {2.5 * 0.97**n + n % 3 / 500:.4f} lr 0.001\n" for n in range(1, 120))
    (tmp_path / "train.log").write_text("".join(rows) + "training finished\n", encoding="utf-8")
    diagnosis = study(tmp_path).diagnosis
    assert diagnosis.status == "healthy"

    screen = render_terminal(diagnosis, Style(colour=False))
    assert screen.count("gradient norm") == 1


def test_the_exception_of_the_summary_is_not_quoted_again(tmp_path):
    (tmp_path / "train.log").write_text(LOGS["argument"], encoding="utf-8")

    unexplained = replace(study(tmp_path).diagnosis, findings=())

    assert "host_cache_size" in unexplained.summary
    assert first_failure_note(unexplained) == "it stands in [train.log:6]"


def finding(*lines):
    cause = RootCause("disk-full", "The disk is full", "cause", None, "storage", "It is full.")
    return Finding("STOR", "fatal", "crash", "the disk is full", 3.0, 0.8, tuple(lines), cause)


def line(name, bits, values):
    because = "of labelled logs and messages with such words, 30% had this cause"
    place = Place("train.log", 3, "Aborted")
    return Evidence(name, "a", True, bits, counted=True, because=because, values=values, refs=(place,))


def test_what_most_like_runs_had_is_never_told_as_said_against_it():
    own = line("said", 6.0, {"event.disk_full.seen": True})
    likeliest = line(ALIKE, -3.0, {"message.first": "disk-full"})
    other = line(ALIKE, -3.0, {"message.first": "checkpoint-missing"})

    assert strongest(finding(own, likeliest)) == [own]
    assert strongest(finding(own, other)) == [own, other]
    assert because_here(other).endswith("less than its rule alone would say")


def test_a_line_is_quoted_only_for_what_it_shows():
    assert is_quotable(line(WORDS, 3.0, {"message.first": "disk-full"}))
    assert not is_quotable(line(ALIKE, -3.0, {"message.second": "disk-full"}))
    assert not is_quotable(line(ALIKE, 3.0, {"likeness.first": "disk-full"}))
    assert not is_quotable(line(SOUND_ALIKE, -3.0, {"likeness.sound": 0.8}))


def test_the_end_of_a_summary_follows_the_findings():
    told = [finding()]

    assert (
        Verdict("failed", "the disk is full", (), cause="disk-full")
        .summary(told)
        .endswith("; likely: disk-full")
    )
    assert Verdict("failed", "the disk is full", (), cause="other-cause").summary(told) == "the disk is full"
    unexplained = Verdict("failed", "it ended in OSError", (), is_unexplained=True)
    assert unexplained.summary(told) == "it ended in OSError"
    assert unexplained.summary(()) == "it ended in OSError; no rule explains it with confidence"


@pytest.mark.parametrize(
    ("cause", "claims"),
    [("host-oom-kill", r"\bkernel\b|cgroup kills"), ("shared-filesystem-hang", r"NFS|Lustre")],
)
def test_a_title_claims_no_more_than_its_weakest_sign_shows(cause, claims):
    """A refused allocation kills nobody, and an input/output error tells nothing of the kind of file system."""
    assert not re.search(claims, catalogue()[cause].title)


def test_a_run_that_could_not_be_read_is_named_once(tmp_path):
    (tmp_path / "train.log").write_text(LOGS["exception"], encoding="utf-8")
    (tmp_path / "check.log").write_text("nothing of interest\n", encoding="utf-8")
    os.utime(tmp_path / "train.log", (1_700_000_000, 1_700_000_000))

    screen = render_terminal(study(tmp_path).diagnosis, Style(colour=False))

    assert screen.count("check.log") == 1


def test_a_loss_that_was_never_a_number_is_said_to_be_so_from_the_first_value(tmp_path):
    rows = (
        f"epoch: {n}/50, train_loss: nan, train_acc: 0.1, test_loss: nan, test_acc: 0.1\n" for n in (1, 2)
    )
    (tmp_path / "train.log").write_text("".join(rows), encoding="utf-8")

    assert "from the first printed value on" in study(tmp_path).diagnosis.summary


def test_a_guess_by_numbers_alone_is_given_no_fix(found):
    screen = render_terminal(found.diagnosis, Style(colour=False))
    first = next(iter(found.diagnosis.findings), None)

    if first is not None and first.likeness_only and first.probability < 0.4:
        assert "fix, if" not in screen
        assert "restart, if" not in screen


def test_what_no_line_speaks_for_has_no_heading_of_what_speaks_for_it(tmp_path):
    text = "ERROR (acme-train[5.5]:Step():acme.cc:222) Factor outside of its range, starting over\n\nacme::Logger::Throw() const\n"
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    screen = render_terminal(analyzer.diagnose(tmp_path), Style(colour=False))

    heading = screen.partition("what speaks for ")[2]
    assert not heading or "\n  + " in heading.partition("\n\n")[0]


def test_the_line_that_is_quoted_for_its_words_is_no_frame(tmp_path):
    frames = '  File "/opt/env/lib/python3.10/site-packages/ray/runner.py", line 9, in run\n    exec(code, names)\n'
    (tmp_path / "train.log").write_text(
        f"(raylet) 1 Workers killed due to memory pressure (OOM) at node 7\nTraceback (most recent call last):\n{frames}",
        encoding="utf-8",
    )
    screen = render_terminal(analyzer.diagnose(tmp_path), Style(colour=False))

    assert "| exec(code" not in screen
    assert "| File " not in screen


def test_a_log_that_may_just_stop_is_not_named_twice(tmp_path):
    (tmp_path / "train.log").write_text(
        "n3:42:43 [2] NCCL INFO Call to connect returned Connection refused, retrying\n", encoding="utf-8"
    )
    screen = render_terminal(analyzer.diagnose(tmp_path), Style(colour=False))

    assert "Ranks cannot reach each other" in screen
    assert screen.count("log-truncated") <= 1
