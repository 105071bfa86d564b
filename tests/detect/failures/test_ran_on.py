"""What a run came through, with its own end far below: the crash of a helper program, an exception that waits in vain for its traceback."""

from __future__ import annotations

import pytest
from make_run import RunMaker

import analyzer

pytestmark = pytest.mark.usefixtures("causes_only")
CRASHED = "helper: exit code: -4, Illegal instruction (core dumped)\n"
LIMIT = "slurmstepd: error: *** JOB 77 ON node-a CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***\n"
FRAMES = (
    'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    main()\n'
    '  File "train.py", line 5, in main\n    run()\n'
)


def first(folder, text):
    log = folder / "train.log"
    log.write_text("loading configuration\n" + text, encoding="utf-8")
    return analyzer.diagnose(log).findings[0].cause.id


@pytest.mark.parametrize(
    ("lines", "cause"), [(500, "scheduler-time-limit"), (20, "native-crash")], ids=["ran-on", "hung"]
)
def test_a_crash_that_the_job_ran_on_after_did_not_end_it(tmp_path, lines, cause):
    served = "".join(f"request {number} served in 3 ms\n" for number in range(lines))
    assert first(tmp_path, CRASHED + served + LIMIT) == cause


def test_later_programs_are_read_by_themselves_below_a_traceback_whose_exception_is_lost(tmp_path):
    torn = FRAMES + FRAMES + "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    later = FRAMES + "NotImplementedError: no such algorithm: fast\n"
    last = FRAMES + "FileNotFoundError: [Errno 2] No such file or directory: '/data/a.csv'\n"
    assert first(tmp_path, torn + later * 4 + last) == "missing-input-path"


LSF = """------------------------------------------------------------
Sender: LSF System <lsfadmin@node-a>
Subject: Job 4711: <small> in cluster <one> Exited

Your job looked like:

------------------------------------------------------------
# LSBATCH: User input
#BSUB -R "rusage[mem=1G]"
python train.py
------------------------------------------------------------

TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.
Exited with exit code 137.

Resource usage summary:

    CPU time :                                   3.00 sec.
    Max Memory :                                 1024 MB
    Average Memory :                             717.67 MB
    Total Requested Memory :                     1024.00 MB
    Delta Memory :                               0.00 MB
    Max Swap :                                   -
"""


@pytest.mark.parametrize("name", ["job.out", "small_0.5.md"])
def test_the_summary_of_a_batch_system_is_no_training_and_tells_a_log_whatever_its_name(tmp_path, name):
    (tmp_path / name).write_text(LSF, encoding="utf-8")
    assert analyzer.diagnose(tmp_path / name).findings[0].cause.id == "host-oom-kill"


def test_a_page_that_quotes_a_job_is_no_log(tmp_path):
    (tmp_path / "notes.md").write_text("# Memory\n\n    Sender: LSF System <a@b>\n", encoding="utf-8")
    with pytest.raises(analyzer.AnalyzerError):
        analyzer.diagnose(tmp_path / "notes.md")


@pytest.mark.parametrize(("apart", "survived"), [(20, False), (400, True)])
def test_what_peers_print_of_a_lost_rank_is_no_life_of_the_program(apart, survived):
    maker = RunMaker().event("cuda_oom", path="out.log", line=1, rank=0, tried_gib=2.0)
    for place in range(1, 41):
        maker.event("connection_lost", path="out.log", line=1 + apart * place, role="cascade", rank=1)
    maker.event("launcher_exit_code", path="out.log", line=40 * apart + 9, role="cascade", code=-11)
    plain = maker.facts().plain

    assert plain["event.cuda_oom.survived"] is survived


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        ("sighup", {}, "run.sh: line 57: 4711 Hangup    ( deepspeed fit.py )"),
        ("launcher_exit_code", {"code": -11}, "ssh exited with exit code 245"),
    ],
)
def test_what_a_shell_or_launcher_says_of_a_program_that_ended_is_later_than_its_exception(
    kind, fields, text
):
    maker = RunMaker().event(
        "python_traceback", path="out.log", line=5, role="root_candidate", exception="OddError", rank=4
    )
    role = "root_candidate" if kind == "sighup" else "cascade"
    maker.event(kind, path="out.log", line=40, role=role, text=text, **fields)

    assert maker.facts().plain["failure.first.kind"] == "python_traceback"


def test_what_made_a_run_slow_is_told_behind_the_error_that_ended_it(tmp_path):
    rows = "".join(
        f"[2026/01/02 07:{number // 60:02d}:{number % 60:02d}] root INFO: epoch: [1/900], iter: {2 * number}, lr: 0.000{100 + number}, "
        f"loss: {6.4 - 0.01 * number:.6f}, reader_cost: 0.2{number % 7}711 s, batch_cost: 0.43{number % 9}50 s, ips: 8.9{number % 10}860\n"
        for number in range(60)
    )
    log = tmp_path / "train.log"
    log.write_text(rows + FRAMES + "OSError: (External) Cuda error(998), an odd state of the device.\n")

    causes = [finding.cause.id for finding in analyzer.diagnose(log).findings]

    assert causes[0] != "data-loading-bottleneck" == causes[-1]


def test_who_interrupts_a_job_that_hangs_has_not_ended_it(tmp_path):
    failed = FRAMES + "ValueError: box 7 has no corners\n"
    of_a_rank = "".join(f"[rank1]: {line}\n" for line in failed.splitlines())

    assert first(tmp_path, of_a_rank + "^C" + FRAMES + "KeyboardInterrupt\n") == "user-code-exception"
    assert first(tmp_path, FRAMES + "KeyboardInterrupt\n") == "user-cancelled"


@pytest.mark.parametrize(
    "failed",
    [
        FRAMES + "RuntimeError: DataLoader worker (pid 41) exited unexpectedly\n",
        FRAMES + "EOFError\n",
        'Traceback (most recent call last):\n  File "rows.py", line 5, in read\n    raise ValueError(box)\nValueError: box 7 has no corners\n',
    ],
    ids=["a-worker-got-it-first", "a-pipe-was-left", "caught"],
)
def test_what_an_interrupt_leaves_in_other_ranks_and_what_was_caught_are_not_the_cause(tmp_path, failed):
    of_a_rank = "".join(f"[rank1]: {line}\n" for line in failed.splitlines())

    assert first(tmp_path, "^C\n" + of_a_rank + FRAMES + "KeyboardInterrupt\n") == "user-cancelled"


ASKED = 'Traceback (most recent call last):\n  File "/home/a/judge.py", line 9, in score\n    answer = post(url)\n'
POOL = "HTTPSConnectionPool(host='{}', port=443): Read timed out. (read timeout=30)\n"


@pytest.mark.parametrize(
    ("host", "cause"),
    [
        ("api.judge-models.example", "service-unreachable"),
        ("files.example", "object-store-throttling"),
        ("api.figshare.com", "object-store-throttling"),
    ],
)
def test_a_server_that_answers_calls_is_no_store(tmp_path, host, cause):
    assert first(tmp_path, ASKED + "requests.exceptions.ReadTimeout: " + POOL.format(host)) == cause


def test_the_client_of_a_tracker_speaks_of_its_server(tmp_path):
    frame = '  File "/opt/lib/python3.11/site-packages/visdom/__init__.py", line 7, in _send\n    return post(url)\n'
    refused = "HTTPConnectionPool(host='localhost', port=8097): Max retries exceeded with url: /env/main\n"

    assert (
        first(tmp_path, ASKED + frame + f"requests.exceptions.ConnectionError: {refused}")
        == "tracker-unreachable"
    )


NO_JSON = (
    'Traceback (most recent call last):\n  File "/home/a/{file}", line 9, in {function}\n    return json.load(file)\n'
    '  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode\n    raise JSONDecodeError("Expecting value")\n'
    "json.decoder.JSONDecodeError: Expecting value: line 3 column 1 (char 41)\n"
)


@pytest.mark.parametrize(
    ("file", "function", "cause"),
    [
        ("run.py", "load_config", "invalid-config-argument"),
        ("options.py", "read", "invalid-config-argument"),
        ("options.py", "load_dataset_config", "undecodable-record"),
        ("options.py", "read_lines", "undecodable-record"),
        ("run.py", "load_chat", "undecodable-record"),
        ("options.py", "load_captions", "undecodable-record"),
        ("turns.py", "load_chat", "undecodable-record"),
        ("data.py", "__getitem__", "undecodable-record"),
    ],
)
def test_whose_text_is_no_json_is_told_by_the_function_that_reads_it(tmp_path, file, function, cause):
    assert first(tmp_path, NO_JSON.format(file=file, function=function)) == cause


ROWS = "".join(
    f"epoch {number} train_loss {0.9 * 0.8**number:.4f} val_loss {0.95 * 0.82**number:.4f}\n"
    for number in range(9)
)


@pytest.mark.parametrize(
    "notice", ["[1]+  Killed                  {}", "go.sh: line 4: 811 Killed                  {}"]
)
def test_a_helper_that_the_shell_lost_is_not_the_training(tmp_path, notice):
    for program, killed in (("tensorboard --logdir out", False), ("python fit.py --epochs 9", True)):
        log = tmp_path / "train.log"
        log.write_text("$ ./go.sh\n" + ROWS + notice.format(program) + "\n", encoding="utf-8")
        found = analyzer.diagnose(log)
        assert (found.status == "failed") is killed
        assert (
            any(told.cause.id == "process-sigkilled" and told.probability >= 0.6 for told in found.findings)
            is killed
        )


def test_a_module_that_the_program_does_without_has_not_ended_it(tmp_path):
    missing = (
        'Traceback (most recent call last):\n  File "/a/net.py", line 3, in <module>\n    import fastattn\n'
    )
    missing += "ModuleNotFoundError: No module named 'fastattn'\n"
    log = tmp_path / "train.log"
    for text, state in (
        (missing + "fastattn is missing, plain attention is used\n" + ROWS, "insufficient healthy"),
        (missing, "failed"),
    ):
        log.write_text("loading\n" + text, encoding="utf-8")
        assert analyzer.diagnose(log).status in state.split()
