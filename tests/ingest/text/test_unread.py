"""A run that cannot be read: its last lines that look like errors are quoted, and what would help is said."""

import re
from shutil import make_archive

import pytest

from analyzer.api import diagnose, load
from analyzer.errors import UnreadableFileError


def test_the_last_errors_of_an_unknown_log_are_quoted(tmp_path):
    (tmp_path / "out.txt").write_text(
        "starting\nphase alpha ok\nquux: warning: fatal: the widget reported status 77\nwarning: giving up after 3 attempts, token=hf_abcdefghijklmnopqrstuvwxyzABCDEF\n",
        encoding="utf-8",
    )
    with pytest.raises(UnreadableFileError) as raised:
        load(tmp_path)

    text = str(raised.value)
    assert "out.txt:3: quux: warning: fatal: the widget reported status 77" in text
    assert "what would help: the console log" in text
    assert "hf_abcdef" not in text


def test_the_last_words_of_a_log_that_holds_nothing_known_are_compared_with_known_ones(tmp_path):
    words = "pending: waiting for resources, GPUs not available in queue\n"
    (tmp_path / "job.out").write_text(words, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("It was a bright cold day in April.\n", encoding="utf-8")

    answer = diagnose(tmp_path / "job.out")

    assert answer.status == "insufficient"
    assert answer.findings[0].cause.id == "resources-unavailable"
    with pytest.raises(UnreadableFileError):
        load(tmp_path / "notes.txt")


def test_last_words_that_tell_nothing_are_no_answer(tmp_path):
    (tmp_path / "job.out").write_text("It was a bright cold day in April.\n", encoding="utf-8")

    with pytest.raises(UnreadableFileError, match="nothing could be parsed"):
        diagnose(tmp_path / "job.out")
    archive = make_archive(str(tmp_path / "runs"), "zip", tmp_path, "job.out")
    with pytest.raises(UnreadableFileError, match=rf"^{re.escape(archive)}: nothing could be parsed"):
        diagnose(archive)


def test_a_log_in_words_of_sound_runs_is_too_little_to_judge_and_not_refused(tmp_path):
    log = tmp_path / "serve.log"
    log.write_text(
        "I0306 10:00:01.000001 4711 serve.py:51] Using 4 workers for the search\n"
        "I0306 10:00:02.000001 4711 serve.py:93] Started the search over the first collection\n"
        "I0306 10:00:09.000001 4711 serve.py:97] Finished the search over the first collection in 7.0 seconds\n"
        "I0306 10:00:11.000001 4711 serve.py:120] Loading weights for model 2, then running it\n",
        encoding="utf-8",
    )

    answer = diagnose(log)

    assert (answer.status, answer.findings) == ("insufficient", ())


def test_a_log_of_warnings_alone_is_too_little_to_judge(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        'train.py:36: UserWarning: Output "aux" missing from loss dictionary.\n  model.compile(loss=losses)\n202\n209\n',
        encoding="utf-8",
    )

    answer = diagnose(log)

    assert (answer.status, answer.findings) == ("insufficient", ())
    assert "holds warnings and nothing else" in answer.summary


def test_no_warning_is_noted_beside_what_is_known(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        "a.py:3: UserWarning: old name\nINFO:tensorflow:Loss for final step: 0.2.\n", encoding="utf-8"
    )

    assert "warning_line" not in load(log).events.kinds()


STARTED = "[02:11:40] Device: [0] Tesla T4\nNCCL version 2.21.5+cuda12.4\n"


@pytest.mark.parametrize("below", [0, 30])
def test_an_error_below_what_a_program_says_while_it_starts_is_not_passed_over(tmp_path, below):
    stack = "".join(f"  [bt] ({at}) libboost_own.so(+0x{at}f2) [0x7f{at}]\n" for at in range(below))
    (tmp_path / "train.log").write_text(
        f"{STARTED}[02:11:41] gpu_hist.cu:41: Check failed: n_columns == 1 \n{stack}"
    )

    dx = diagnose(tmp_path / "train.log")

    assert dx.status == "failed"
    assert dx.first_failure.place.line == 3


def test_the_diary_of_a_trackers_client_is_no_log_of_a_run(tmp_path):
    rows = "".join(
        f'{{"time":"2026-02-03T04:05:{second:02}.1+01:00","level":"ERROR","msg":"sender: api: failed sending: giving up"}}\n'
        for second in range(20)
    )
    (tmp_path / "0_debug-internal.log").write_text(rows, encoding="utf-8")
    with pytest.raises(UnreadableFileError, match="the client of a tracker keeps this diary of itself"):
        diagnose(tmp_path / "0_debug-internal.log")

    (tmp_path / "train.log").write_text(rows, encoding="utf-8")
    assert diagnose(tmp_path / "train.log").status == "failed"
