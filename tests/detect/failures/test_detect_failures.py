"""The first failure, not the last: order by time, rank and role."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_run import RunMaker, falling

import analyzer
from analyzer.facts.build import Facts
from analyzer.model.run import LogEnd


def traceback(maker: RunMaker, exception: str, **kwargs) -> RunMaker:
    role = kwargs.pop("role", "root_candidate")
    return maker.event("python_traceback", role=role, exception=exception, **kwargs)


def facts_of(maker: RunMaker) -> Facts:
    return maker.facts()


def sixty_four_ranks(dead: int) -> RunMaker:
    """One rank runs out of memory at 1000 s; 63 watchdogs speak 600 s later; the launcher cleans up."""
    maker = RunMaker()
    for rank in range(64):
        path = f"rank_{rank}.log"
        if rank == dead:
            maker.event(
                "cuda_oom", path=path, line=40, role="root_candidate", time_s=1000.0, rank=rank, host="node-c"
            )
            traceback(maker, "torch.OutOfMemoryError", path=path, line=40, time_s=1000.0, rank=rank)
        else:
            maker.event("nccl_timeout", path=path, line=40, time_s=1602.0, rank=rank, ran_ms=600_017)
            maker.event("communicator_abort", path=path, line=41, role="cascade", time_s=1602.5, rank=rank)
    return maker


def test_the_line_that_takes_a_process_down_is_not_what_did_it():
    maker = RunMaker().event("communicator_abort", path="out.log", line=1, role="cascade")
    maker.event("nccl_timeout", path="out.log", line=5, rank=0, ran_ms=600_017)
    plain = facts_of(maker).plain

    assert plain["failure.first.kind"] == "nccl_timeout"
    assert plain["event.nccl_timeout.is_consequence"] is False


def test_the_number_of_the_only_process_says_nothing():
    plain = facts_of(RunMaker().event("cuda_oom", path="out.log", line=5, rank=0, tried_gib=2.0)).plain

    assert plain["failure.first.rank"] == 0
    assert "failure.first.where" not in plain


@pytest.mark.parametrize("dead", [0, 5, 63])
def test_one_dead_rank_explains_63_watchdogs(dead):
    plain = facts_of(sixty_four_ranks(dead)).plain

    assert plain["failure.first.kind"] == "cuda_oom"
    assert plain["failure.first.rank"] == dead
    assert plain["failure.first.where"] == f"rank {dead} on node-c"
    assert plain["event.nccl_timeout.is_consequence"] is True
    assert plain["event.communicator_abort.is_consequence"] is True
    assert plain["event.cuda_oom.is_first_failure"] is True
    assert plain["failure.ranks"] == 64


def test_a_timeout_counts_from_the_moment_at_which_the_waiting_began():
    maker = RunMaker()
    maker.event("nccl_timeout", path="rank_1.log", line=9, time_s=2000.0, rank=1, ran_ms=600_000)
    traceback(maker, "ValueError", path="rank_0.log", line=9, time_s=1900.0, rank=0)

    plain = facts_of(maker).plain

    # the peers had been waiting since 1400: the exception came later and may be the consequence
    assert plain["event.nccl_timeout.is_consequence"] is False


def test_out_of_memory_kill_that_the_scheduler_reports_at_the_end_came_first():
    maker = RunMaker()
    traceback(maker, "RuntimeError", line=100, role="symptom")
    maker.event("connection_lost", line=90, role="cascade").event(
        "slurm_oom", line=200, role="root_candidate"
    )

    plain = facts_of(maker).plain

    assert plain["failure.first.kind"] == "slurm_oom"
    assert plain["event.connection_lost.is_consequence"] is True


def test_caught_error_is_no_failure():
    maker = RunMaker().log({"loss": falling(30)})
    traceback(maker, "OSError", line=35)

    plain = facts_of(maker).plain

    assert "failure.seen" not in plain
    assert plain["failure.survived"] == 1


@pytest.mark.parametrize(("below", "seen"), [(40, False), (3, True)])
def test_a_warning_of_every_checkpoint_is_no_failure_where_it_stands_last(below, seen):
    maker = RunMaker().log({"loss": falling(60)})
    for line in (105, 205, 305, 601):
        maker.event("missing_path", line=line, role="root_candidate")
    maker.file().log_end(LogEnd(0, 601 + below, "test accuracy: 0.9", torn=False))

    assert ("failure.seen" in facts_of(maker).plain) is seen


def test_warning_long_before_the_real_error_is_not_the_first_failure():
    maker = RunMaker().event("import_failed", line=3, role="root_candidate", module="apex")
    maker.event("cuda_oom", line=2_000, role="root_candidate")

    assert facts_of(maker).plain["failure.first.kind"] == "cuda_oom"


def test_lost_peers_alone_are_no_root():
    maker = RunMaker().event("connection_lost", line=5, role="cascade")
    maker.event("launcher_kill", line=9, role="teardown")

    plain = facts_of(maker).plain

    assert plain["failure.root_seen"] is False
    assert plain["failure.first.family"] == "peers"


def test_launcher_that_names_another_rank_is_contradicted_only_where_the_order_is_known():
    maker = RunMaker()
    maker.event("torchrun_failure", path="agent.log", line=80, exitcode=-6, rank=0, signal="SIGABRT")
    traceback(maker, "ValueError", path="rank_5.log", line=20, rank=5)

    assert facts_of(maker).plain["failure.launcher.misreported"] is True

    traceback(maker, "KeyError", path="rank_0.log", line=20, rank=0)

    assert "failure.launcher.misreported" not in facts_of(maker).plain


def test_worker_that_somebody_killed_comes_before_the_peers_that_lost_it():
    maker = RunMaker().event("nccl_error", line=10, error="ncclRemoteError", rank=1)
    maker.event("torchrun_failure", line=60, exitcode=-9, rank=6)

    plain = facts_of(maker).plain

    assert plain["failure.first.rank"] == 6
    assert plain["event.nccl_error.is_consequence"] is True


def test_xid_that_only_records_a_clean_up_is_no_hardware_failure():
    maker = RunMaker().event("gpu_xid", line=3, role="root_candidate", code=45)
    traceback(maker, "IndexError", line=9)

    assert facts_of(maker).plain["failure.first.kind"] == "python_traceback"


@given(st.permutations(range(8)), st.integers(0, 7), st.booleans())
def test_order_of_files_never_changes_the_first_failure(order, dead, stamped):
    maker = RunMaker()
    for rank in order:
        when = (1000.0 if rank == dead else 1700.0) if stamped else None
        if rank == dead:
            maker.event(
                "disk_full", path=f"r{rank}.log", line=7, role="root_candidate", rank=rank, time_s=when
            )
        else:
            maker.event("nccl_error", path=f"r{rank}.log", line=7, rank=rank, time_s=when)

    plain = facts_of(maker).plain

    assert plain["failure.first.rank"] == dead
    assert plain["event.nccl_error.is_consequence"] is True


def test_ranks_that_fail_alike_follow_nobody():
    maker = RunMaker()
    for rank in range(8):
        maker.event("argument_rejected", path=f"r{rank}.log", line=9, role="root_candidate", rank=rank)
    maker.event("torchrun_failure", path="agent.log", line=80, exitcode=1, rank=6)

    plain = facts_of(maker).plain

    assert plain["failure.alike"] == 7
    assert "failure.followers" not in plain
    assert "failure.launcher.misreported" not in plain


def clean_up(exitcode: int) -> RunMaker:
    """Only the launcher speaks: it ends seven processes, then tells which one had ended by itself."""
    maker = RunMaker()
    for line in range(1, 8):
        maker.event("sigterm", line=line, role="cascade")
    maker.event("torchrun_worker_failed", line=8, role="cascade", exitcode=exitcode, local_rank=6)
    traceback(maker, "ChildFailedError", line=20, role="cascade")
    for rank in (0, 1, 2, 3, 4, 5, 7):
        maker.event("torchrun_peer_failure", line=21 + rank, role="cascade", rank=rank, exitcode=-15)
    return maker.event("torchrun_failure", line=40, role="cascade", rank=6, exitcode=exitcode)


def test_process_that_the_launcher_names_is_first_if_nothing_else_was_written():
    aborted = clean_up(-6).event("sigabrt", line=40).plain()
    ended = clean_up(-15).plain()

    assert aborted["failure.first.rank"] == 6
    assert aborted["failure.followers"] == 7
    assert aborted["event.sigabrt.is_consequence"] is False
    assert aborted["event.torchrun_worker_failed.is_consequence"] is False
    assert aborted["event.sigterm.is_consequence"] is True
    assert ended["failure.first.kind"] == "sigterm"


def test_what_the_message_of_an_exception_says_on_its_next_line_is_no_second_failure():
    maker = RunMaker()
    traceback(
        maker, "AssertionError", path="a.log", line=9, message="the driver is too old\nplease update it"
    )
    maker.event("cuda_driver_mismatch", path="a.log", line=10, role="root_candidate")

    plain = facts_of(maker).plain

    assert plain["event.cuda_driver_mismatch.is_consequence"] is False
    assert plain["exception.plain"] is False


def test_the_clean_up_below_an_exception_is_not_part_of_its_message():
    maker = RunMaker()
    traceback(maker, "KeyError", path="a.log", line=9, message="'labels'")
    maker.event("dataloader_teardown", path="a.log", line=10, role="teardown")

    plain = facts_of(maker).plain

    assert plain["exception.plain"] is True
    assert plain["failure.root_seen"] is True


@pytest.mark.parametrize(("code", "root"), [(-9, True), (-11, True), (1, False)])
def test_the_launcher_prints_the_code_of_the_process_that_ended_first(code, root):
    maker = RunMaker()
    maker.event("launcher_kill", path="a.log", line=8, role="teardown", pid=4711)
    maker.event("launcher_exit_code", path="a.log", line=9, role="cascade", code=code)

    assert facts_of(maker).plain["failure.root_seen"] is root


def test_memory_that_ran_out_in_an_earlier_launch_of_the_file_is_past():
    maker = RunMaker().event("cuda_oom", path="out.log", line=40, role="root_candidate")
    traceback(maker, "KeyError", path="out.log", line=900)

    facts = maker.plain()

    assert facts["event.cuda_oom.survived"] is True
    assert facts["failure.first.family"] == "exception"


def test_memory_that_ran_out_just_before_another_exception_is_not():
    maker = RunMaker().event("cuda_oom", path="out.log", line=40, role="root_candidate")
    facts = traceback(maker, "KeyError", path="out.log", line=90).plain()

    assert facts["event.cuda_oom.survived"] is False


def test_a_program_that_could_not_be_read_is_no_earlier_launch_of_a_cancelled_job():
    maker = traceback(RunMaker(), "SyntaxError", path="out.log", line=40)
    facts = maker.event("slurm_cancelled", path="out.log", line=41).plain()

    assert facts["exception.ended_run"] is True


def test_a_shell_goes_on_after_a_command_that_it_does_not_find():
    maker = RunMaker().event(
        "command_not_found", path="job.out", line=1, role="root_candidate", command="module"
    )
    traceback(maker, "IndexError", path="job.out", line=7)
    plain = facts_of(maker).plain

    assert plain["failure.first.kind"] == "python_traceback"
    assert plain["event.command_not_found.survived"] is True


def test_a_command_that_is_not_found_is_the_failure_where_nothing_ran_after_it():
    maker = RunMaker().event(
        "command_not_found", path="job.out", line=1, role="root_candidate", command="python"
    )

    assert facts_of(maker).plain["failure.first.kind"] == "command_not_found"


@pytest.mark.parametrize(
    ("ready", "followed", "survived"),
    [(65, None, True), (None, None, False), (65, 40, False), (10, None, False)],
    ids=["then-ready", "never-ready", "failed-before-it-was", "in-the-run"],
)
def test_what_nccl_warns_of_on_its_way_to_a_communicator_ended_nothing(ready, followed, survived):
    maker = RunMaker().event(
        "driver_library_mismatch",
        path="out.log",
        line=23,
        role="root_candidate",
        text="gpu:1:2 [0] NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch",
    )
    if ready is not None:
        maker.event("nccl_ready", path="out.log", line=ready, role="info")
    if followed is not None:
        traceback(maker, "RuntimeError", path="out.log", line=followed)

    assert facts_of(maker).plain["event.driver_library_mismatch.survived"] is survived


ROWS = [f"Epoch [{epoch}/300] train_loss: {2.3 * 0.98**epoch + 0.1:.4f}\n" for epoch in range(1, 268)]
CAUGHT = """Traceback (most recent call last):
  File "train.py", line 33, in upload
    push(table)
KeyError: 'url'
"""
UNCAUGHT = """Traceback (most recent call last):
  File "train.py", line 90, in <module>
    main()
  File "train.py", line 71, in main
    step(batch)
KeyError: 'label'
"""


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ([*ROWS[:200], UNCAUGHT, *ROWS[200:]], "crashed"),
        ([*ROWS[:200], ROWS[200][:20] + UNCAUGHT + ROWS[200][20:], *ROWS[201:]], "crashed"),
        ([*ROWS[:200], CAUGHT, *ROWS[200:]], "interrupted"),
        ([*ROWS[:20], UNCAUGHT, *ROWS[20:]], "interrupted"),
        ([*ROWS[:200], UNCAUGHT, *ROWS], "interrupted"),
        ([UNCAUGHT, *ROWS[:40]], "crashed"),
        (["print\n" * 70, UNCAUGHT, *ROWS[:40]], "interrupted"),
        ([*ROWS[:200], UNCAUGHT, *ROWS[200:], "Training completed\n"], "completed"),
    ],
    ids=[
        "flushed",
        "within-a-row",
        "caught",
        "more-than-a-buffer",
        "began-anew",
        "before-all-rows",
        "below-other-text",
        "completed",
    ],
)
def test_rows_below_an_exception_that_nobody_caught_may_come_from_a_buffer(tmp_path, text, state):
    (tmp_path / "train.log").write_text("".join(text), encoding="utf-8")

    assert analyzer.diagnose(tmp_path / "train.log").ended.state == state


@pytest.mark.parametrize(
    ("kind", "role"),
    [("sigkill", "root_candidate"), ("nan_stop", "symptom")],
    ids=["a-host-ended-what-came-before", "its-family-ends-no-run"],
)
def test_what_training_began_below_did_not_end_it(kind, role):
    above = RunMaker().event(kind, line=1, role=role).log({"loss": falling(40)})
    below = RunMaker().log({"loss": falling(40)}).event(kind, line=900, role=role)

    assert facts_of(above).plain[f"event.{kind}.survived"] is True
    assert facts_of(below).plain[f"event.{kind}.survived"] is False


@pytest.mark.parametrize(
    ("warned", "message", "survived"),
    [
        (
            "/lib/pkg/typing.py:86: UserWarning: issue while importing 'x': undefined symbol",
            "mat1 has 3 rows",
            True,
        ),
        ("W tensorflow/core/guard.cc:45] compiled against another ABI", "list index out of range", True),
        ("2025-01-02 10:00:00 WARNING could not load the ops", "inconsistent use of tabs", True),
        (
            "/lib/pkg/typing.py:86: UserWarning: undefined symbol",
            "Failed to get convolution algorithm",
            False,
        ),
        ("ImportError: /lib/ops.so: undefined symbol: _Z1", "list index out of range", False),
    ],
    ids=["python", "tensorflow", "logger", "announced-it", "an-error"],
)
def test_a_warning_is_not_what_a_program_ended_of_whose_exception_speaks_of_something_else(
    warned, message, survived
):
    maker = RunMaker().event("library_mismatch", path="out.log", line=3, role="root_candidate", text=warned)
    traceback(maker, "RuntimeError", path="out.log", line=90, message=message)

    assert facts_of(maker).plain["event.library_mismatch.survived"] is survived


@pytest.mark.parametrize(
    ("message", "first"), [("'lr'", "python_traceback"), ("no kernel image for this GPU", "no_accelerator")]
)
def test_without_a_device_tensorflow_goes_on_so_another_exception_is_what_ended_it(message, first):
    said = "E cuda_driver.cc:313] failed call to cuInit: CUDA_ERROR_NO_DEVICE"
    maker = RunMaker().event("no_accelerator", path="out.log", line=3, role="root_candidate", text=said)
    traceback(maker, "KeyError", path="out.log", line=90, message=message)

    assert facts_of(maker).plain["failure.first.kind"] == first


@pytest.mark.parametrize(("uncaught", "first"), [(True, "python_traceback"), (False, "missing_path")])
def test_what_was_survived_three_times_is_not_what_an_exception_below_it_ended(uncaught, first):
    maker = RunMaker().log({"loss": falling(60)})
    for line in (105, 205, 305, 601):
        maker.event("missing_path", line=line, role="root_candidate")
    traceback(maker, "ZeroDivisionError", line=603, uncaught=uncaught)

    assert facts_of(maker).plain["failure.first.kind"] == first


@pytest.mark.parametrize(
    ("second", "rank", "first"),
    [
        ({"exception": "KeyError", "uncaught": True}, None, "KeyError"),
        ({"exception": "KeyError"}, None, "FileNotFoundError"),
        ({"exception": "subprocess.CalledProcessError", "uncaught": True}, None, "FileNotFoundError"),
        ({"exception": "KeyError", "uncaught": True}, 1, "FileNotFoundError"),
    ],
    ids=["a-later-launch", "in-a-thread", "its-launcher", "another-rank"],
)
def test_one_process_ends_once_so_of_two_ends_the_later_launch_decides(second, rank, first):
    maker = traceback(RunMaker(), "FileNotFoundError", path="out.log", line=9, uncaught=True)
    traceback(maker, second.pop("exception"), path="out.log", line=30, rank=rank, **second)

    assert facts_of(maker).plain["exception.type"] == first


@pytest.mark.parametrize(
    ("text", "raised", "first"),
    [
        ("train.py: error: unrecognized arguments: --lrr 3", "RuntimeError", "python_traceback"),
        (
            "train.py: error: unrecognized arguments: --lrr 3",
            "subprocess.CalledProcessError",
            "argument_rejected",
        ),
        ("ERROR: Could not consume arg: --lrr", "RuntimeError", "argument_rejected"),
    ],
    ids=["a-later-launch", "its-launcher", "no-usage"],
)
def test_a_program_that_printed_its_usage_ended_so_what_raised_below_is_a_later_launch(text, raised, first):
    maker = RunMaker().event("argument_rejected", path="out.log", line=9, role="root_candidate", text=text)
    traceback(maker, raised, path="out.log", line=30, uncaught=True)

    assert facts_of(maker).plain["failure.first.kind"] == first


def test_of_several_exceptions_the_one_that_ended_the_run_speaks():
    maker = traceback(RunMaker(), "KeyError", line=1).log({"loss": falling(40)})
    facts = traceback(maker, "ValueError", line=900).plain()

    assert facts["event.python_traceback.exception"] == "ValueError"


def test_rows_of_epochs_without_steps_tell_as_well_that_training_began_below(tmp_path):
    rows = "".join(f"Epoch {epoch}/40 train_loss: {2.3 * 0.93**epoch + 0.1:.4f}\n" for epoch in range(1, 41))
    for line in (
        "ImagePullBackOff",
        "Signal 9 (SIGKILL) received by PID 7",
        "Loss is nan, stopping training",
    ):
        (tmp_path / "train.log").write_text(
            f"Namespace(lr=0.0001, epochs=40)\n{line}\n{rows}", encoding="utf-8"
        )

        assert analyzer.diagnose(tmp_path / "train.log").status == "healthy", line


@pytest.mark.parametrize(("lines_between", "first"), [(3, "hccl_timeout"), (40, "library_kernel_failed")])
def test_a_task_that_waited_in_vain_did_not_fail_by_itself(lines_between, first):
    maker = RunMaker().event("hccl_timeout", path="out.log", line=100, role="symptom")
    maker.event("library_kernel_failed", path="out.log", line=100 + lines_between, role="symptom")
    assert facts_of(maker).plain["failure.first.kind"] == first

    alone = RunMaker().event("library_kernel_failed", path="out.log", line=4, role="symptom")
    assert facts_of(alone).plain["failure.first.kind"] == "library_kernel_failed"
