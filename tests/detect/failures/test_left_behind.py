"""What workers, pools and feeding threads print when the process is gone that they work for, and the tracebacks beside it."""

import pytest
from log_reading import only, read_text

import analyzer


def kinds(source, kind):
    return [event.kind for event in source.events.of(kind)]


def trace(exception, file="train.py", function="main"):
    header = "Traceback (most recent call last):"
    return f'{header}\n  File "{file}", line 9, in {function}\n    run()\n{exception}\n'


WORKER_LEFT = """Process Process-3:
Traceback (most recent call last):
  File "/usr/lib/python3.8/multiprocessing/process.py", line 258, in _bootstrap
    self.run()
  File "/opt/venv/lib/python3.8/site-packages/torch/utils/data/dataloader.py", line 96, in _worker_loop
    r = index_queue.get(timeout=5)
  File "/opt/venv/lib/python3.8/site-packages/torch/multiprocessing/reductions.py", line 151, in rebuild_storage_fd
    fd = df.detach()
  File "/usr/lib/python3.8/multiprocessing/connection.py", line 494, in Client
    answer_challenge(c, authkey)
"""


def test_a_worker_that_loses_its_parent_is_no_lost_worker():
    source = read_text(WORKER_LEFT + "ConnectionResetError: [Errno 104] Connection reset by peer\n")

    assert only(source, "dataloader_teardown") == {"where": "_worker_loop"}
    assert not kinds(source, "dataloader_worker_killed") + kinds(source, "python_traceback")


def test_a_thread_that_feeds_a_queue_nobody_reads_ends_nothing():
    frame = trace("", file="/usr/lib/python3.8/multiprocessing/queues.py", function="_feed").rstrip() + "\n"
    pipe = '  File "/usr/lib/python3.8/multiprocessing/connection.py", line 368, in _send\n    n = write(self._handle, buf)\n'
    left = read_text(frame + pipe + "BrokenPipeError: [Errno 32] Broken pipe\n")
    unsent = read_text(frame + "AttributeError: Can't pickle local object 'main.<locals>.keep'\n")

    assert only(left, "dataloader_teardown") == {"where": "_feed"}
    assert not kinds(left, "python_traceback")
    assert kinds(unsent, "python_traceback")


POOL_LEFT = """Process ForkPoolWorker-2:
Traceback (most recent call last):
  File "/usr/lib/python3.8/multiprocessing/pool.py", line 125, in worker
    put((job, i, result))
  File "/usr/lib/python3.8/multiprocessing/connection.py", line 397, in _send_bytes
    self._send(header)
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (POOL_LEFT, "ignored_exception"),
        (POOL_LEFT.replace("in worker\n", "in <module>\n"), "traceback_cut"),
        (
            POOL_LEFT.replace("/usr/lib/python3.8/multiprocessing/pool.py", "/home/user/fill.py"),
            "traceback_cut",
        ),
    ],
    ids=["child", "program", "own-code"],
)
def test_a_child_cut_off_in_the_pipe_to_its_parent_tells_of_no_failure_of_its_own(text, kind):
    source = read_text(text)

    assert kinds(source, "ignored_exception") + kinds(source, "traceback_cut") == [kind]


def test_what_steps_of_training_need_below_a_validation_is_no_evaluations():
    frames = trace("MemoryError: no room", function="validate").replace(
        "    run()\n", '    run()\n  File "net.py", line 7, in train\n    step(batch)\n'
    )
    mode = frames.replace('"net.py"', '"/opt/venv/torch/nn/modules/module.py"')

    assert "phase" not in only(read_text(frames), "python_traceback")
    assert only(read_text(mode), "python_traceback")["phase"] == "evaluation"


def test_an_exception_whose_class_is_private_is_read():
    text = trace("grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:")

    assert only(read_text(text), "python_traceback")["exception"] == "grpc._channel._InactiveRpcError"


FEEDER = """Traceback (most recent call last):
  File "/usr/lib/python3.8/multiprocessing/queues.py", line 245, in _feed
    send_bytes(obj)
  File "/usr/lib/python3.8/multiprocessing/connection.py", line 368, in _send
    n = write(self._handle, buf)
BrokenPipeError: [Errno 32] Broken pipe
"""


def test_a_complaint_that_is_known_to_be_harmless_stands_above_what_words_alone_suggest(tmp_path):
    (tmp_path / "train.log").write_text(FEEDER, encoding="utf-8")
    dx = analyzer.diagnose(tmp_path)

    assert dx.status == "insufficient"
    assert dx.findings[0].cause.id == "dataloader-teardown-noise"


def test_the_exception_that_ended_the_last_launch_is_the_one_that_is_quoted(tmp_path):
    ended = 'Traceback (most recent call last):\n  File "/job/fill.py", line 9, in <module>\n    run()\n'
    shown = "".join(f"filling shelf {number} with samples of part {number % 7}\n" for number in range(400))
    text = f"{ended}KeyError: 'shelf'\n{shown}{ended}NameError: name 'shelves' is not defined\n"
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    dx = analyzer.diagnose(tmp_path)

    told = [evidence for evidence in dx.findings[0].evidence if evidence.bits]
    quoted = [place.text for evidence in told for place in evidence.refs]
    assert dx.findings[0].cause.id == "user-code-exception"
    assert not [line for line in quoted if "KeyError" in line]


ROWS = "".join(f"epoch {n}/40 loss {4.0 * 0.9**n:.4f} accuracy {1 - 0.9**n:.4f}\n" for n in range(1, 41))
STOPPED = 'Traceback (most recent call last):\n  File "train.py", line 81, in <module>\n    plt.show()\nKeyboardInterrupt\n'


@pytest.mark.parametrize(
    ("text", "accused"),
    [(ROWS + "Training complete.\n" + STOPPED, False), (ROWS + STOPPED + "Training complete.\n", True)],
    ids=["behind-the-end", "stopped-by-hand"],
)
def test_who_closes_a_window_that_training_left_open_cancels_no_run(tmp_path, text, accused):
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    named = {found.cause.id for found in analyzer.diagnose(tmp_path).findings if found.probability >= 0.5}

    assert ("user-cancelled" in named) == accused


SPAWNED = """Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/opt/py/lib/multiprocessing/spawn.py", line 105, in spawn_main
    exitcode = _main(fd)
  File "/opt/py/lib/multiprocessing/spawn.py", line 136, in _check_not_importing_main
    raise RuntimeError(text)
RuntimeError:
        An attempt has been made to start a new process before the
        current process has finished its bootstrapping phase.
"""
LOST = trace(
    "RuntimeError: DataLoader worker (pid(s) 81) exited unexpectedly",
    "/opt/venv/lib/python3.9/site-packages/torch/utils/data/dataloader.py",
    "_try_get_data",
)


def test_workers_that_run_an_unguarded_program_are_no_killed_workers(tmp_path):
    (tmp_path / "train.log").write_text(SPAWNED + LOST)
    unguarded = analyzer.diagnose(tmp_path).findings[0]
    (tmp_path / "train.log").write_text(LOST)

    assert unguarded.cause.id == "user-code-exception"
    assert analyzer.diagnose(tmp_path).findings[0].cause.id == "dataloader-worker-killed"


def test_help_that_quotes_an_error_is_no_error():
    quoted = read_text("  --batch-size N  lower it when you see CUDA out of memory.\n")
    wrapped = read_text(" " * 24 + "a smaller one helps against CUDA out of memory.\n")
    raised = read_text("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    of_a_rank = read_text("-Rank 0 RuntimeError: CUDA out of memory.\n")

    assert not kinds(quoted, "cuda_oom") + kinds(wrapped, "cuda_oom")
    assert kinds(raised, "cuda_oom")
    assert kinds(of_a_rank, "cuda_oom")


LOADER_THREAD = """Exception in thread Thread-{0} (results_loop):
Traceback (most recent call last):
  File "/opt/py/lib/threading.py", line 953, in run
    self._target(*self._args, **self._kwargs)
  File "/opt/py/site-packages/batchgenerators/dataloading/nondet_multi_threaded_augmenter.py", line 103, in results_loop
    raise RuntimeError("One or more background workers are no longer alive. Exiting.")
RuntimeError: One or more background workers are no longer alive. Exiting.
"""
TRACKER_SUMMARY = """wandb: Run history:
wandb: train/loss ▁▂▃
wandb: Run summary:
wandb: train/loss 0.25
wandb:   val/loss 0.5
wandb:   val/dice 0.75
wandb:   lr 0.01
"""


@pytest.mark.parametrize("between", ["", TRACKER_SUMMARY], ids=["at once", "below a tracker's summary"])
@pytest.mark.parametrize(
    ("exception", "cause"),
    [
        ("RuntimeError: shape '[3, 4]' is invalid for input of size 9", "user-code-exception"),
        ("OSError: [Errno 28] No space left on device", "disk-full"),
    ],
)
def test_threads_of_a_loader_that_miss_workers_after_the_end_killed_nothing(
    tmp_path, between, exception, cause
):
    log = tmp_path / "train.log"
    rows = "".join(f"step {n} loss {2.5 - n / 20:.3f}\n" for n in range(24))
    ended = f'Traceback (most recent call last):\n  File "/app/train.py", line 20, in main\n    step()\n{exception}\n'
    log.write_text(rows + ended + between + LOADER_THREAD.format(7) + LOADER_THREAD.format(40))

    assert analyzer.diagnose(log).findings[0].cause.id == cause


def test_a_loader_that_misses_workers_first_is_what_ended_the_run(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("step 1 loss 2.5\n" + LOADER_THREAD.format(7))

    assert analyzer.diagnose(log).findings[0].cause.id == "dataloader-worker-killed"
