"""How a program or a session ends: who sent which signal, and what only echoes the end of another process."""

from __future__ import annotations

import pytest
from log_reading import only, read_text

LOADER = "RuntimeError: DataLoader worker (pid 4711) is killed by signal: "
SPAWN = "/opt/venv/lib/python3.11/multiprocessing/spawn.py"


def kinds(text: str) -> set[str]:
    return {event.kind for event in read_text(text + "\n").events}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("2026-01-02 03:04:05 - INFO - Keyboard interruption. Leaving early", "keyboard_interrupt"),
        ("Training stopped by keyboard interrupt", "keyboard_interrupt"),
        ("Command '['python', 'train.py']' returned non-zero exit status 3221225786.", "keyboard_interrupt"),
        (LOADER + "Hangup. ", "sighup"),
        ("ProcessExitedException: process 2 terminated with signal SIGHUP", "sighup"),
        (
            "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGTERM",
            "process_terminated",
        ),
        ("Command '['python', 'train.py']' returned non-zero exit status 3221225477.", "segfault"),
        ("status 3221225725.", "segfault"),
        ("Command '['python', 'train.py']' returned non-zero exit status 3221226505.", "sigabrt"),
    ],
)
def test_a_line_about_an_end_names_the_signal(line: str, kind: str) -> None:
    assert kind in kinds(line)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Press Ctrl+C to stop (keyboard interrupt)", "keyboard_interrupt"),
        ("Keyboard interrupt handler registered", "keyboard_interrupt"),
        (LOADER + "Hangup. ", "dataloader_worker_killed"),
        (LOADER + "Killed. ", "sighup"),
        ("job status 32212254", "segfault"),
    ],
)
def test_a_line_that_is_no_such_end_does_not(line: str, kind: str) -> None:
    assert kind not in kinds(line)


def trace(frame: str, exception: str) -> str:
    return f'Traceback (most recent call last):\n  File "{frame}", line 9, in _main\n    load(pipe)\n{exception}\n'


@pytest.mark.parametrize(
    "exception", ["_pickle.UnpicklingError: pickle data was truncated", "EOFError: Ran out of input"]
)
def test_a_child_that_was_being_started_only_echoes_the_end_of_its_parent(exception: str) -> None:
    run = read_text(
        trace("train.py", "AttributeError: Can't pickle local object 'f.<locals>.g'")
        + trace(SPAWN, exception)
    )
    assert [event.role for event in run.events.of("python_traceback")] == ["root_candidate", "cascade"]
    assert not run.events.of("checkpoint_corrupt")


def test_the_same_words_about_a_checkpoint_are_a_broken_checkpoint() -> None:
    run = read_text(
        trace("/opt/venv/lib/python3.11/site-packages/torch/serialization.py", "EOFError: Ran out of input")
    )
    assert run.events.of("checkpoint_corrupt")


def test_a_pinning_thread_that_loses_its_worker_blames_no_peer() -> None:
    header = "Exception in thread Thread-1 (_pin_memory_loop):\n"
    frame = "/opt/venv/lib/python3.11/multiprocessing/connection.py"
    chained = "\nDuring handling of the above exception, another exception occurred:\n\n"
    run = read_text(
        header
        + trace(frame, "ConnectionRefusedError: [Errno 111] Connection refused")
        + chained
        + trace(frame, "ConnectionResetError: [Errno 104] Connection reset by peer")
    )
    assert not run.events.of("connection_lost")
    assert not run.events.of("python_traceback")
    assert run.events.of("ignored_exception")


def test_a_rank_that_loses_a_peer_still_says_so() -> None:
    run = read_text(trace("train.py", "ConnectionResetError: [Errno 104] Connection reset by peer"))
    assert run.events.of("connection_lost")


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: element 0 of variables does not require grad and does not have a grad_fn",
        "RuntimeError: none of output has requires_grad=True, this checkpoint() is not necessary",
    ],
)
def test_a_loss_without_a_graph_is_told_in_every_wording(line: str) -> None:
    assert "loss_detached" in kinds(line)


def test_a_picture_that_opencv_could_not_read_is_told() -> None:
    line = "cv2.error: OpenCV(4.9.0) color.cpp:196: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'"
    assert only(read_text(trace("data.py", line)), "record_undecodable")["what"] == "OpenCV got no picture"


def test_a_loader_dropped_while_its_workers_abort_is_no_failure_of_theirs() -> None:
    header = "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f00>\n"
    frame = "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/signal_handling.py"
    run = read_text(
        header
        + trace(frame, LOADER + "Aborted. ")
        + trace("train.py", "TypeError: forward() takes 3 arguments")
    )
    assert not run.events.of("dataloader_worker_killed")
    assert [event.fields["exception"] for event in run.events.of("python_traceback")] == ["TypeError"]


def test_a_worker_that_aborts_while_steps_run_is_a_failure() -> None:
    run = read_text(trace("train.py", LOADER + "Aborted. "))
    assert only(run, "dataloader_worker_killed")["signal"].strip() == "Aborted"


@pytest.mark.parametrize(
    ("length", "maximum", "seen"),
    [
        (1183, 512, True),
        (529, 514, True),
        (504, 448, True),
        (90, 77, True),
        (1024, 512, True),  # truncated to more than the table holds
        (1280, 1024, False),  # widths of two models
        (768, 512, False),
        (300, 512, False),  # shorter than the table
        (1024, 2048, False),
    ],
)
def test_a_size_is_that_of_a_sample_only_if_it_can_be(length: int, maximum: int, seen: bool) -> None:
    line = f"RuntimeError: The size of tensor a ({length}) must match the size of tensor b ({maximum}) at non-singleton dimension 1"
    assert ("position_size_mismatch" in kinds(line)) is seen


@pytest.mark.parametrize(
    ("frame", "lost"),
    [
        ("/usr/lib/python3.11/multiprocessing/connection.py", False),
        ("/opt/venv/lib/python3.11/site-packages/torch/distributed/rendezvous.py", True),
    ],
)
def test_a_pipe_to_a_child_is_no_connection_to_another_rank(frame: str, lost: bool) -> None:
    run = read_text(trace(frame, "ConnectionResetError: [Errno 104] Connection reset by peer"))

    assert ("connection_lost" in {event.kind for event in run.events}) is lost
    assert all(event.role != "root_candidate" for event in run.events)


YOLO = """      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
       1/20         0G      2.888      30.52      4.322         22        640: 100%|##########| 300/300 [13:00<00:00,  2.60s/it]
"""
OF_TRAINING = "       2/20         0G      2.700      20.52      4.122         22        640:  40%|####      | 120/300 [05:00<07:00,  2.60s/it]"
OF_EVALUATION = "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95):   0%|          | 0/19 [00:00<?, ?it/s]"


@pytest.mark.parametrize("bar", [OF_TRAINING, OF_EVALUATION], ids=["training", "evaluation"])
@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ("Killed", "sigkill"),
        ("Segmentation fault (core dumped)", "segfault"),
        ("RuntimeError: CUDA out of memory. Tried to allocate 1.2 GiB", "cuda_oom"),
        ("/Library/MPSNDArrayGatherND.mm:256: failed assertion `Rank of updates array'", "native_check_failed"),
    ],
)  # fmt: skip
def test_what_stands_right_behind_a_bar_of_a_table_is_read(bar: str, last: str, kind: str) -> None:
    assert kind in kinds(YOLO + bar + last)


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        ("ImportError: sys.meta_path is None, Python is likely shutting down", False),
        ("RuntimeError: cannot schedule new futures after interpreter shutdown", False),
        ("tensorflow.errors_impl.CancelledError: Enqueue operation was cancelled", False),
        ("OSError: [Errno 16] Device or resource busy: '/scratch/a/.nfs00000000000f46", False),
        ("OSError: [Errno 16] Device or resource busy: '/scratch/a/rows.bin'", True),
        ("RuntimeError: the pump is likely shutting down", True),
    ],
)
@pytest.mark.parametrize("is_bare", [True, False])
def test_what_an_interpreter_says_that_ends_already_is_no_cause_of_it(
    error: str, ends: bool, is_bare: bool
) -> None:
    found = read_text(f"{error}\n" if is_bare else trace("train.py", error)).events

    assert bool(found.of("python_traceback")) == ends
    assert not found.of("import_failed")


@pytest.mark.parametrize(
    ("left", "step", "steps"),
    [("1:20:00", 59, 9700), ("0:00:00", 9999, 10000), ("2 days, 1:00:00", 19, 350000)],
)
def test_the_time_that_is_left_tells_how_many_steps_were_planned(left, step, steps):
    row = f"[06/01 10:00:00 d2.utils.events]:  eta: {left}  iter: {step}  total_loss: 1.5  time: 0.5  data_time: 0.01\n"
    end = read_text(row).log_ends[0]

    assert (end.step, end.steps) == (step, steps)
