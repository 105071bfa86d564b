"""Messages that no pattern knows: their words give a candidate, below one half, and nothing where nothing failed."""

import pytest

import analyzer
from analyzer.detect.base import RunView
from analyzer.detect.failures.message_features import masked, pieces
from analyzer.detect.failures.unknown_message import FIRST_LEAST, shipped_messages, words_of
from analyzer.errors import InputError
from analyzer.ingest.discover import load_run
from analyzer.ingest.text.failures.error_lines import error_lines, is_plain_error
from analyzer.rules.candidates.pooled import WORDING, pooled
from analyzer.rules.load import load_rules
from analyzer.rules.score import Scored
from analyzer.rules.telling import telling
from analyzer.rules.tree import JUST_BELOW_HALF


def diagnosed(folder, text):
    log = folder / "train.log"
    log.write_text(text, encoding="utf-8")
    return analyzer.diagnose(log)


@pytest.mark.parametrize(
    ("message", "causes"),
    [
        ("Error: the process was ended by the operating system, which ran low on memory", {"host-oom-kill", "process-sigkilled"}),
        ("invalid header length 0 in model.safetensors, file seems incomplete", {"corrupt-checkpoint", "checkpoint-write-failed"}),
    ],
)  # fmt: skip
def test_a_message_that_no_pattern_knows_gets_a_candidate(tmp_path, message, causes):
    diagnosis = diagnosed(tmp_path, f"loading configuration\n{message}\n")

    first = diagnosis.findings[0]
    assert first.cause.id in causes
    assert first.probability <= 0.59
    assert first.words_only
    assert first.evidence[0].refs[0].line == 2


def test_where_nothing_wrong_was_seen_words_alone_make_nothing_likelier_than_not(tmp_path):
    (found,) = diagnosed(
        tmp_path, "loading configuration\ninvalid header length 0 in model.safetensors\n"
    ).findings[:1]
    alike = found._replace(probability=JUST_BELOW_HALF)

    assert found.words_only
    assert telling([alike], "failed").finding(alike).probability >= 0.5
    assert telling([alike], "insufficient").finding(alike).probability < 0.5


ROWS = "".join(f"iteration {n * 10}/5000 | loss {3.2 - 0.02 * n:.4f} | lr 1.0e-04\n" for n in range(1, 20))
SLURM = """srun: error: node-01: task 0: Exited with exit code 1
slurmstepd: error: *** STEP 4242.0 ON node-01 CANCELLED AT 2026-01-02T03:04:20 ***
srun: error: node-02: tasks 4-7: Terminated
"""
DEEPSPEED = """[2026-01-02 03:04:12,001] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 4242
[2026-01-02 03:04:12,201] [ERROR] [launch.py:325:sigkill_handler] ['python', 'train.py', '--local_rank=1'] exits with return code = 1
"""


@pytest.mark.parametrize("reports", [SLURM, DEEPSPEED], ids=["slurm", "deepspeed"])
def test_reports_of_launchers_and_curves_do_not_drown_the_words_of_an_error(tmp_path, reports):
    message = "invalid header length 0 in model.safetensors, file seems incomplete"

    diagnosis = diagnosed(tmp_path, ROWS + message + "\n" + reports)

    first = next(finding for finding in diagnosis.findings if finding.cause.kind != "benign")
    assert first.cause.id in {"corrupt-checkpoint", "checkpoint-write-failed"}
    assert first.evidence[0].refs[0].line == 20


def said(place, cause, score):
    """What the reader of messages says of one cause; its share tells only what is printed."""
    return {
        f"message.{place}": cause,
        f"message.{place}_score": score,
        f"message.{place}_probability": min(score, 1.0),
    }


DISK = {**said("first", "disk-full", 0.9), "failure.seen": True}


def pool(facts, weighed=()):
    rules = load_rules()
    known = {cause: Scored(rules.by_id(cause), (), 0.0, share) for cause, share in weighed}
    return {item.rule.entry.id: item.probability for item in pooled(facts, rules, known, WORDING)}


def test_what_sound_logs_print_too_names_no_cause_unless_something_failed():
    quiet = {**DISK, "message.sound": 0.7, "failure.seen": False}

    assert not pool(quiet)
    assert pool({**quiet, "message.sound": 0.2})
    assert pool({**quiet, "failure.seen": True})


def test_a_cause_that_no_rule_found_stays_below_one_half():
    assert pool(DISK) == {"disk-full": JUST_BELOW_HALF}


def test_plain_words_outvote_what_rules_hold_for_likely_and_faint_ones_do_not():
    """Of failures with words that nearly say it, rules that call another cause likely are mostly wrong."""

    def first(score):
        found = pool(
            {**said("first", "local-disk-fault", score), "failure.seen": True}, [("disk-full", 0.85)]
        )
        return max(found, key=found.__getitem__)

    assert first(0.8) == "local-disk-fault"
    assert first(0.2) == "disk-full"


def test_an_exception_of_the_script_is_likely_only_where_its_words_are_likest_one():
    def told(*words):
        found = pool({**words[0], **words[1], "failure.seen": True}, [("user-code-exception", 0.55)])
        return found["user-code-exception"]

    here, elsewhere = said("first", "user-code-exception", 0.5), said("first", "disk-full", 0.15)
    assert told(here, said("second", "disk-full", 0.1)) > 0.8
    assert told(elsewhere, said("second", "user-code-exception", 0.14)) <= JUST_BELOW_HALF


def test_what_both_say_is_surer_than_what_one_says_and_something_else_is_left():
    facts = {**DISK, **said("second", "local-disk-fault", 0.1)}

    both = pool(facts, [("disk-full", 0.8)])
    rivals = pool(facts, [("disk-full", 0.8), ("user-code-exception", 0.8)])

    assert both["disk-full"] > 0.9
    assert pool(said("first", "disk-full", 0.3), [("disk-full", 0.8)])["disk-full"] < both["disk-full"]
    assert rivals["disk-full"] > rivals["user-code-exception"] > 0.0
    assert sum(both.values()) < 1.0


def test_of_a_log_without_errors_and_rows_the_last_lines_are_asked(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("NCCL version 2.19.3+cuda12.1\n\nwaiting for the other workers\n", encoding="utf-8")
    rows = tmp_path / "rows.log"
    rows.write_text("".join(f"step {n} loss {9 / n:.3f}\n" for n in range(1, 9)), encoding="utf-8")

    assert [line for _, line, _ in words_of(RunView(load_run(log).run))] == [1, 3]
    assert words_of(RunView(load_run(rows).run)) == []


def test_words_of_no_message_get_no_answer():
    model = shipped_messages()

    assert model.scores(["zyx wvu tsr"]).max() < FIRST_LEAST


def test_numbers_paths_and_letters_do_not_matter():
    one = "RuntimeError: /opt/a/lib/x.py:12 rank 3 lost at 0x7f31"
    other = "RuntimeError: /home/u/venv/x.py:977 rank 14 lost at 0x10"

    assert masked(one) == masked(other)
    assert pieces([one]) == pieces([other])


def test_warnings_measured_errors_and_bars_are_no_errors():
    lines = [
        "[W724 18:22:38.9 socket.cpp:200] could not be found",
        "mean squared error: 0.1",
        " 3%|# | 1/30 failed",
        "Missing values: 0",
        "unexpected keys: []",
        "12 passed, 0 failed",
    ]

    assert error_lines(lines) == ()
    assert not any(is_plain_error(line) for line in lines)


def test_a_counter_of_epochs_is_no_lack_of_anything():
    assert error_lines(["Epoch 499 out of 500", "12 out of 80 files read"]) == ()
    assert error_lines(["worker ran out of shared memory", "CUDA out of memory"]) == (0, 1)


def test_prose_is_still_no_log(tmp_path):
    with pytest.raises(InputError):
        diagnosed(tmp_path, "It was a bright cold day in April.\n")


def test_what_a_launcher_reports_is_not_asked(tmp_path):
    diagnosis = diagnosed(
        tmp_path,
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 7)\n",
    )

    assert not diagnosis.findings


def test_an_end_without_an_error_is_no_error(tmp_path):
    rows = "".join(f"Epoch {n} loss: {2.0 / n:.3f}\n" for n in range(1, 12))
    ended = diagnosed(tmp_path, rows + "\nProcess finished with exit code 0\n")

    assert (ended.status, ended.ended.state) == ("healthy", "completed")
    assert error_lines(["Process finished with exit code 0", "child exited with status 0"]) == ()
    assert error_lines(["Process finished with exit code 3", "exit code 0:9"]) == (0, 1)


def test_likeliest_causes_of_several_kinds_share_one_probability(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        "pass 1 of 90\nERROR: the model has no field barrier in its configuration\n", encoding="utf-8"
    )

    found = analyzer.diagnose(log)

    assert len({finding.symptom_kind for finding in found.findings}) > 1
    assert sum(finding.probability for finding in found.findings) <= 1.0


STANDS = "".join(
    f"step: {10 * n}, loss: {7.3 + 0.01 * (n * 7 % 5):.3f}, accuracy: 0.1\n" for n in range(1, 10)
)
FALLS = "".join(f"step: {10 * n}, loss: {7.3 * 0.8**n:.3f}, accuracy: 0.{n}\n" for n in range(1, 10))


@pytest.mark.parametrize(("rows", "asked"), [(STANDS, "such numbers"), (FALLS, "such words")])
def test_a_last_line_that_reads_like_no_known_error_explains_no_course_that_stands(tmp_path, rows, asked):
    found = diagnosed(tmp_path, f"{rows}Example: digits in 4.4328711s is Failed!\n")

    assert asked in "".join(line.because for each in found.findings for line in each.evidence)
