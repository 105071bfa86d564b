"""Python tracebacks: where they end, whose they are, and which of them is a consequence."""

from pathlib import Path

import pytest
from log_reading import only, read_text

from analyzer import diagnose

TRACE = """Traceback (most recent call last):
  File "/home/user/train.py", line 90, in backward
    loss.backward()
  File "/opt/venv/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward
    torch.autograd.backward(
           ^^^^^^^^^^^^^^^^^
RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.
"""


def tracebacks(run):
    return run.events.of("python_traceback")


def test_the_event_stands_at_the_exception_and_names_the_users_frame():
    run = read_text("step 1 loss 2.0\n" + TRACE)

    (event,) = tracebacks(run)
    assert (event.ref.line, event.role, event.step) == (8, "root_candidate", 1)
    assert (
        event.fields["exception"],
        event.fields["file"],
        event.fields["line"],
        event.fields["function"],
    ) == (
        "RuntimeError",
        "/home/user/train.py",
        90,
        "backward",
    )
    assert event.fields["message"].startswith("Function 'LogBackward0' returned nan")


def test_the_exception_line_is_read_by_its_pattern_too():
    run = read_text(TRACE)

    assert only(run, "autograd_anomaly") == {"function": "LogBackward0", "output_index": 0}


def test_code_in_a_traceback_is_not_taken_for_a_message():
    text = TRACE.replace(
        "loss.backward()", 'raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")'
    )

    assert not read_text(text).events.of("cuda_oom")


@pytest.mark.parametrize("prefix", ["[rank{}]: ", "{}: ", "[default{}]:[rank{}]:"])
def test_tracebacks_of_several_ranks_are_told_apart(prefix):
    first = TRACE.splitlines()
    second = TRACE.replace("RuntimeError", "ValueError").replace("90", "91").splitlines()
    lines = [
        prefix.format(rank, rank) + line
        for pair in zip(first, second, strict=True)
        for rank, line in enumerate(pair)
    ]

    events = tracebacks(read_text("\n".join(lines) + "\n"))

    assert [(e.rank, e.fields["exception"], e.fields["line"]) for e in events] == [
        (0, "RuntimeError", 90),
        (1, "ValueError", 91),
    ]


def test_chained_tracebacks_keep_their_order():
    text = (
        TRACE.replace("RuntimeError", "KeyError")
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + TRACE
    )

    events = tracebacks(read_text(text))

    assert [(e.fields["exception"], e.fields.get("chained", False)) for e in events] == [
        ("KeyError", False),
        ("RuntimeError", True),
    ]


@pytest.mark.parametrize(
    ("exception", "role"),
    [
        ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "cascade"),
        ("subprocess.CalledProcessError: Command '['python']' returned non-zero exit status 1.", "cascade"),
        (
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 15",
            "cascade",
        ),
        ("KeyboardInterrupt", "teardown"),
        ("FatalError: `Segmentation fault` is detected by the operating system.", "cascade"),
        ("FatalError: `Termination signal` is detected by the operating system.", "teardown"),
        ("FatalError: the kernel is not registered", "root_candidate"),
        ("torch.distributed.DistBackendError: NCCL error", "symptom"),
        ("tensorflow.python.framework.errors_impl.UnavailableError: Socket closed", "symptom"),
        ("torch.OutOfMemoryError: CUDA out of memory.", "root_candidate"),
        ("botocore.exceptions.EndpointConnectionError: x", "root_candidate"),
        ("AssertionError", "root_candidate"),
        ("MyProjectBroke: by itself", "root_candidate"),
    ],
)
def test_role_of_an_exception(exception, role):
    text = TRACE.rpartition("RuntimeError")[0] + exception + "\n"

    assert [event.role for event in tracebacks(read_text(text))] == [role]


def test_a_traceback_without_indentation_is_read():
    text = "\n".join(line.strip() for line in TRACE.splitlines()) + "\n"

    (event,) = tracebacks(read_text(text))

    assert (event.fields["exception"], event.fields["line"]) == ("RuntimeError", 90)


def test_a_traceback_inside_torchruns_report_is_read():
    text = "  traceback : " + TRACE.replace("\n", "\n  ").rstrip() + "\n"

    assert [event.fields["exception"] for event in tracebacks(read_text(text))] == ["RuntimeError"]


def test_a_traceback_in_a_box_is_read():
    text = (
        "╭─────────── Traceback (most recent call last) ───────────╮\n"
        "│ /home/user/train.py:90 in backward                      │\n"
        "│                                                         │\n"
        "│ ❱ 90 │   loss.backward()                                │\n"
        "╰─────────────────────────────────────────────────────────╯\n"
        "ValueError: no data\n"
    )

    (event,) = tracebacks(read_text(text))

    assert (event.fields["exception"], event.fields["file"], event.fields["line"]) == (
        "ValueError",
        "/home/user/train.py",
        90,
    )


def test_lines_of_others_inside_a_traceback_do_not_end_it():
    lines = TRACE.splitlines()
    lines.insert(5, " 50%|#####     | 5/10 [00:01<00:01]")
    lines.insert(3, "[2023-04-18 01:46:52,554] [INFO] [x.py:1:f] something else")

    assert len(tracebacks(read_text("\n".join(lines) + "\n"))) == 1


def test_a_log_that_ends_inside_a_traceback_is_told():
    run = read_text(TRACE.rpartition("RuntimeError")[0])

    assert not tracebacks(run)
    assert "without an exception line" in run.gaps[0].reason


def test_frames_that_end_a_log_below_a_lost_header_are_a_cut_traceback():
    frames = TRACE.rpartition("RuntimeError")[0].partition("\n")[2]
    rows = "".join(f"step {step} loss {3 - step / 10:.2f}\n" for step in range(8))

    run = read_text(rows + frames)

    assert [event.kind for event in run.events if event.kind == "traceback_cut"] == ["traceback_cut"]
    assert not [event for event in read_text(rows + frames + rows).events if event.kind == "traceback_cut"]


@pytest.mark.parametrize(
    ("file", "function", "needs"),
    [
        ("/opt/lib/python3.11/site-packages/torch/cuda/__init__.py", "_lazy_init", "device"),
        ("/opt/lib/python3.11/ctypes/__init__.py", "__init__", "library"),
        ("<frozen os>", "makedirs", "folder"),
        ("/opt/lib/python3.11/site-packages/torch/nn/functional.py", "embedding", "table"),
        ("/opt/lib/python3.11/site-packages/torch/nn/functional.py", "linear", None),
        ("/home/ann/tables.py", "embedding", None),
    ],
)
def test_a_cut_traceback_tells_what_its_last_frame_needed(
    file: str, function: str, needs: str | None
) -> None:
    head = 'Traceback (most recent call last):\n  File "/home/ann/train.py", line 4, in main\n    run()\n'
    run = read_text(f'{head}  File "{file}", line 9, in {function}\n    call()\n')

    assert only(run, "traceback_cut").get("needs") == needs


def test_a_second_traceback_cuts_the_first():
    run = read_text(TRACE.rpartition("RuntimeError")[0] + TRACE)

    assert len(tracebacks(run)) == 1
    assert len(run.gaps) == 1


def test_a_traceback_glued_to_a_progress_bar_is_found():
    text = " 50%|#####     | 5/10 [00:01<00:01,  9.02it/s]" + TRACE

    assert len(tracebacks(read_text(text))) == 1


def test_a_folder_that_a_finaliser_cannot_remove_is_clean_up():
    log = (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/multiprocessing/util.py", line 303, in _run_finalizers\n'
        "    finalizer()\n"
        '  File "/usr/lib/python3.11/shutil.py", line 679, in _rmtree_safe_fd\n'
        "    os.unlink(entry.name, dir_fd=topfd)\n"
        "OSError: [Errno 16] Device or resource busy: '.nfs000000000a1b2c3d00000042'\n"
    )

    (event,) = read_text(log).events.rows

    assert (event.kind, event.role) == ("ignored_exception", "teardown")


@pytest.mark.parametrize(
    ("last", "role"),
    [
        ("/home/user/nets.py", "root_candidate"),
        ("/opt/venv/lib/python3.11/site-packages/acme/loops.py", "symptom"),
    ],
)
def test_an_end_of_iteration_is_a_failure_where_the_program_itself_asked_for_more(last, role):
    run = read_text(
        "Traceback (most recent call last):\n"
        '  File "/home/user/train.py", line 9, in main\n'
        "    net(x)\n"
        f'  File "{last}", line 42, in forward\n'
        "    first = next(self.parts)\n"
        "StopIteration\n"
    )

    assert [event.role for event in tracebacks(run)] == [role]


ROWS = "".join(f"epoch {epoch} loss {2.0 / epoch:.4f}\n" for epoch in range(1, 31))


def said(tmp_path: Path, text: str) -> list[str]:
    log = tmp_path / "run.log"
    log.write_text(text)
    return [finding.cause.id for finding in diagnose(log).findings if finding.cause.kind != "benign"]


def test_an_exception_that_a_sentence_quotes_is_read_where_nothing_else_is_told(tmp_path: Path) -> None:
    asked = "With the old release I get `TypeError: fit() got an unexpected keyword argument 'scale'`. Why?\n"
    assert said(tmp_path, asked)


def test_an_exception_that_a_sentence_quotes_beside_rows_ended_nothing(tmp_path: Path) -> None:
    quoted = (
        "note: `TypeError: fit() got an unexpected keyword argument 'scale'` was mended in the last release\n"
    )
    assert "user-code-exception" not in said(tmp_path, quoted + ROWS)


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: parallel_for failed: out of memory, falling back to the host",
        "  xla_label: custom-call",
        "warning: Host key verification failed for a mirror",
        "WARNING ssh: connect to host node7 port 22: Connection refused, will retry in 5 s",
        "License expires in 3 days, please renew it",
        "Removed shared tensor {'head.weight'} while saving. This should be OK",
        "WARNING: MlflowException: HTTPConnectionPool(host=t), retrying",
    ],
)
def test_what_only_warned_above_rows_that_go_on_accuses_nothing(tmp_path: Path, line: str) -> None:
    (tmp_path / "run.log").write_text(line + "\n" + ROWS)
    assert diagnose(tmp_path / "run.log").status not in ("failed", "degraded")


def test_the_frames_of_an_import_that_numpy_warns_of_are_no_traceback_that_was_cut():
    frames = '  File "/a/b.py", line 3, in <module>\n    import c\n  File "/a/c.py", line 4, in <module>\n    import d\n'
    warned = f"may crash. To support both versions\n\nTraceback (most recent call last):{frames.rstrip()}\nstep 1 loss 0.5\n"
    lost = f"Traceback (most recent call last):\n{frames}"

    assert not read_text(warned).events.of("traceback_cut")
    assert read_text(lost).events.of("traceback_cut")


def test_the_frames_of_colab_are_links():
    link = "[/usr/local/lib/python3.11/dist-packages/acme/auto.py](https://localhost:8080/#) in find(name)\n"
    text = f"KeyError          Traceback (most recent call last)\n{link}----> 3     return kinds[name]\n\nKeyError: 'x'\n"

    assert only(read_text(text), "python_traceback")["raised_in"].endswith("acme/auto.py")
