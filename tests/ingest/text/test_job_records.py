"""What schedulers and container runtimes say of a job: records, launch reports, error files."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_reading import only, read_text
from structured_reading import read_files, sniff

from analyzer.ingest.base import Match
from analyzer.ingest.formats.jobs.elastic_error import ElasticError
from analyzer.ingest.formats.jobs.job_status import JobStatus

SACCT = (
    "JobID|JobName|State|ExitCode|DerivedExitCode|Elapsed|Timelimit|MaxRSS|ReqMem|NodeList|End\n"
    "4711|train|TIMEOUT|0:0|0:0|1-00:00:20|1-00:00:00||64G|node[1-4]|2026-05-19T13:33:12\n"
    "4711.batch|batch|CANCELLED|0:15||1-00:00:21||31457280K||node1|2026-05-19T13:33:13\n"
    "4712|train|FAILED|1:0|137:0|00:20:20|UNLIMITED||64G|node5|Unknown\n"
    "4712.0|python|OUT_OF_MEMORY|0:125||00:20:21||61457280K||node5|Unknown\n"
    "4713|train|COMPLETED|0:0|0:0|00:20:20|1-00:00:00||64G|node5|Unknown\n"
    "4714|train|RUNNING|0:0|0:0|00:20:20|1-00:00:00||64G|node5|Unknown\n"
)


def test_sacct_gives_one_event_for_each_job_that_ended():
    run = read_text(SACCT)

    (limit,) = run.events.of("slurm_cancelled")
    assert limit.fields["reason"] == "TIME LIMIT"
    assert (limit.fields["elapsed_s"], limit.fields["limit_s"]) == (86420, 86400)
    assert (limit.fields["max_rss_gib"], limit.fields["requested_memory_gib"]) == (30.0, 64.0)
    assert (limit.ref.line, limit.time_s) == (2, 1779197592.0)
    (memory,) = run.events.of("slurm_oom")
    assert (memory.fields["job"], memory.fields["state"]) == ("4712", "OUT_OF_MEMORY")
    assert "limit_s" not in memory.fields
    assert [event.role for event in run.events.of("job_completed")] == ["info"]
    assert len(run.events) == 3


def test_sacct_in_columns_cuts_its_words():
    text = (
        "       JobID    JobName      State ExitCode \n------------ ---------- ---------- -------- \n"
        "5000              train CANCELLED+      0:0 \n5000.batch        batch OUT_OF_ME+    0:125 \n\n"
    )

    assert only(read_text(text), "slurm_oom")["job"] == "5000"


def test_scontrol_tells_state_code_and_times():
    text = (
        "JobId=100 JobName=train\n   UserId=u(1) GroupId=g(1)\n   JobState=NODE_FAIL Reason=NodeDown Dependency=(null)\n"
        "   Requeue=1 Restarts=0 ExitCode=1:0\n   DerivedExitCode=0:9\n   RunTime=05:30:01 TimeLimit=2-00:00:00\n   NodeList=node[1-2]\n\nstep 1 loss 2.0\n"
    )

    fields = only(read_text(text), "node_failure")
    assert (fields["job"], fields["scheduler_reason"], fields["exit_code"]) == ("100", "NodeDown", 1)
    assert (fields["derived_signal_number"], fields["elapsed_s"], fields["nodes"]) == (9, 19801, "node[1-2]")


DESCRIBED = (
    "Containers:\n  pytorch:\n    Image:         img:1\n    State:          Waiting\n      Reason:       CrashLoopBackOff\n"
    "    Last State:     Terminated\n      Reason:       Error\n      Exit Code:    139\n      Finished:     Tue, 19 May 2026 13:33:12 +0000\n    Ready:          False\n"
)


def test_a_described_pod_tells_code_and_signal_of_its_container():
    fields = only(read_text(DESCRIBED), "job_failed")

    assert fields == {
        "container": "pytorch",
        "attempt_before": True,
        "reason": "Error",
        "exit_code": 139,
        "signal_number": 11,
    }
    assert [event.role for event in read_text(DESCRIBED).events.of("segfault")] == ["symptom"]


POD = (
    "apiVersion: v1\nkind: Pod\nstatus:\n  containerStatuses:\n  - lastState:\n      terminated:\n        exitCode: 137\n"
    '        finishedAt: "2026-05-19T13:33:12Z"\n        reason: OOMKilled\n    name: pytorch\n'
)


def test_a_pod_as_yaml_is_a_status_and_not_a_configuration():
    assert sniff(JobStatus(), "pod.yaml", POD.encode()) == Match.SURE
    assert sniff(JobStatus(), "config.yaml", b"kind: Pod\nlr: 1\n") == Match.NO
    run = read_files({"pod.yaml": POD}, JobStatus())

    (event,) = run.events.of("job_failed")
    assert (event.fields["reason"], event.fields["exit_code"], event.time_s) == (
        "OOMKilled",
        137,
        1779197592.0,
    )
    assert run.events.of("host_oom_kill")


def test_docker_says_oomkilled_false_of_every_other_container():
    text = json.dumps(
        [
            {
                "Name": "/train",
                "State": {"Status": "exited", "OOMKilled": False, "Dead": False, "ExitCode": 1, "Error": ""},
            }
        ],
        indent=4,
    )

    run = read_files({"inspect.json": text}, JobStatus())
    assert dict(run.events.of("job_failed")[0].fields) == {"container": "train", "exit_code": 1}
    assert not run.events.of("host_oom_kill")


@pytest.mark.parametrize("text", [SACCT, DESCRIBED, POD])
def test_records_cut_at_any_byte_are_survived(text):
    for cut in range(len(text)):
        read_text(text[:cut])


@given(
    st.lists(
        st.sampled_from(
            [
                *SACCT.splitlines(),
                *DESCRIBED.splitlines(),
                *POD.splitlines(),
                "|||||||||||",
                "ExitCode=",
                "---- ----",
            ]
        ),
        max_size=30,
    )
)
@settings(max_examples=50, deadline=None)
def test_any_order_of_such_lines_is_survived(lines):
    read_text("\n".join(lines))


def block(rank, exitcode, traceback):
    return (
        f"  time      : 2026-05-19_13:33:12\n  host      : node-a\n  rank      : {rank} (local_rank: {rank})\n  exitcode  : {exitcode} (pid: 1)\n"
        f"  error_file: /tmp/torchelastic_x/none_y/attempt_1/{rank}/error.json\n  traceback : {traceback}\n"
    )


STACK = 'Traceback (most recent call last):\n    File "train.py", line 9, in main\n      run()\n  ValueError: label 12 is out of range\n  '
RULE = "-" * 60 + "\n"
REPORT = (
    f"{'=' * 60}\ntrain.py FAILED\n{RULE}Failures:\n[1]:\n{block(0, -15, 'Signal 15 (SIGTERM) received by PID 7')}[2]:\n{block(2, 1, STACK)}"
    f"{RULE}Root Cause (first observed failure):\n[0]:\n{block(1, 1, STACK)}{'=' * 60}\n"
)


def test_torchrun_lists_every_worker_that_failed():
    run = read_text(REPORT)

    (root,) = run.events.of("torchrun_failure")
    assert (root.rank, root.fields["attempt"], root.fields["exitcode"], root.time_s) == (
        1,
        1,
        1,
        1779197592.0,
    )
    assert [(e.rank, e.role) for e in run.events.of("torchrun_peer_failure")] == [
        (0, "cascade"),
        (2, "cascade"),
    ]


def test_a_traceback_in_the_report_belongs_to_its_rank_and_is_told_once():
    assert [e.rank for e in read_text(REPORT).events.of("python_traceback")] == [2]
    own = "".join(f"[rank1]: {line}\n" for line in STACK.replace("\n  ", "\n").strip().splitlines())

    assert [e.rank for e in read_text(own + REPORT).events.of("python_traceback")] == [1]


def test_a_report_cut_at_any_byte_is_survived():
    for cut in range(0, len(REPORT), 3):
        read_text(REPORT[:cut])


ERROR = {
    "message": {
        "message": "ValueError: label 12 is out of range",
        "extraInfo": {"py_callstack": STACK.replace("\n  ", "\n"), "timestamp": "1779197592"},
    }
}
ERROR_PATH = "none_x/attempt_1/3/error.json"


def test_an_error_file_holds_the_stack_of_its_worker():
    run = read_files({ERROR_PATH: json.dumps(ERROR)}, ElasticError())

    (event,) = run.events.of("python_traceback")
    assert (event.fields["exception"], event.fields["file"], event.time_s) == (
        "ValueError",
        "train.py",
        1779197592.0,
    )


def test_an_error_file_of_a_killed_worker_holds_a_sentence():
    text = json.dumps({"message": "Signal 9 (SIGKILL) received by PID 7"})
    assert sniff(ElasticError(), ERROR_PATH, text.encode()) == Match.LIKELY
    run = read_files({ERROR_PATH: text}, ElasticError())

    (event,) = run.events.of("worker_error")
    assert (event.role, event.fields["local_rank"], event.fields["attempt"]) == ("symptom", 3, 1)


def test_an_error_file_cut_or_hostile_is_a_gap():
    content = json.dumps(ERROR)
    for cut in range(1, len(content)):
        read_files({ERROR_PATH: content[:cut]}, ElasticError())
    deep = '{"message": ' + "[" * 100_000
    assert read_files({ERROR_PATH: deep}, ElasticError()).gaps
    for odd in (
        '{"message": null}',
        '{"message": {"extraInfo": 7}}',
        '{"message": {"message": [1], "extraInfo": {"timestamp": "nan"}}}',
    ):
        read_files({ERROR_PATH: odd}, ElasticError())
