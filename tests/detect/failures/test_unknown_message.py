"""Messages that no pattern knows: their words give a candidate, below one half, and nothing where nothing failed."""

import pytest

import analyzer
from analyzer.detect.failures.message_features import masked, pieces
from analyzer.detect.failures.unknown_message import LEAST, shipped_messages
from analyzer.errors import InputError
from analyzer.ingest.text.failures.error_lines import error_lines, is_plain_error
from analyzer.rules.candidates.message_only import AT_MOST, FIRST_AT_LEAST, message_only
from analyzer.rules.load import load_rules


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
    assert first.probability <= AT_MOST
    assert [line.id for line in first.evidence] == ["words"]
    assert first.evidence[0].refs[0].line == 2


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


def test_nothing_is_said_of_a_log_without_an_error():
    facts = {"message.cause": "disk-full", "message.probability": 0.9, "message.bits": 3.0}

    assert not list(message_only(facts, load_rules()))
    assert list(message_only({**facts, "failure.seen": True}, load_rules()))


def test_a_cause_that_rules_have_weighed_is_left_to_them():
    facts = {
        "failure.seen": True,
        "message.cause": "disk-full",
        "message.probability": 0.9,
        "message.bits": 3.0,
    }

    second = {
        "message.second": "local-disk-fault",
        "message.second_probability": 0.08,
        "message.second_bits": 1.2,
    }

    assert not list(message_only(facts, load_rules(), {"disk-full"}))
    named = list(message_only({**facts, **second}, load_rules(), {"disk-full"}))
    assert [(item.rule.entry.id, item.probability) for item in named] == [("local-disk-fault", 0.08)]


def test_a_first_answer_is_no_less_likely_than_such_answers_were_right():
    facts = {
        "failure.seen": True,
        "message.cause": "disk-full",
        "message.probability": 0.1,
        "message.bits": 1.5,
    }

    assert [item.probability for item in message_only(facts, load_rules())] == [FIRST_AT_LEAST]


def test_words_of_no_message_get_no_answer():
    model = shipped_messages()

    assert model.probabilities(["zyx wvu tsr"]).max() < LEAST


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
