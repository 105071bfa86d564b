"""Tracebacks as other printers than CPython write them, chains, carried exceptions, and fault dumps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_reading import only, read_text

from analyzer.ingest.text.failures.traceback_frames import phase_of


def kinds(source, kind):
    return [event.kind for event in source.events.of(kind)]


def raised(text):
    return [(e.role, e.fields["exception"]) for e in read_text(text).events.of("python_traceback")]


def trace(exception, file="train.py", function="main", header="Traceback (most recent call last):"):
    return f'{header}\n  File "{file}", line 9, in {function}\n    run()\n{exception}\n'


DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
BECAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"


def test_the_first_exception_of_a_chain_is_the_root():
    text = (
        trace("FileNotFoundError: x") + BECAUSE + trace("RuntimeError: y") + DURING + trace("KeyError: 'z'")
    )

    assert raised(text) == [
        ("root_candidate", "FileNotFoundError"),
        ("cascade", "RuntimeError"),
        ("cascade", "KeyError"),
    ]


def test_an_empty_queue_is_not_the_root_of_a_chain():
    text = (
        trace("_queue.Empty")
        + DURING
        + trace("RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.")
    )

    assert raised(text) == [("symptom", "_queue.Empty"), ("root_candidate", "RuntimeError")]


def test_what_follows_an_interruption_is_its_consequence():
    assert raised(trace("KeyboardInterrupt") + DURING + trace("ValueError: x"))[1] == (
        "cascade",
        "ValueError",
    )


@pytest.mark.parametrize(
    "message",
    [
        "[gloo/transport/tcp/pair.cc:1] Connection closed by peer [127.0.0.1]:1",
        "[1] is setting up NCCL communicator: wait timeout after 600000ms",
    ],
)
def test_an_exception_about_lost_peers_is_a_symptom(message):
    assert raised(trace(f"RuntimeError: {message}")) == [("symptom", "RuntimeError")]


def test_a_loader_gives_its_place_to_the_exception_of_its_worker():
    text = trace("RuntimeError: Caught IndexError in DataLoader worker process 0.") + trace(
        "IndexError: list index out of range",
        "data.py",
        "__getitem__",
        "Original Traceback (most recent call last):",
    )

    fields = only(read_text(text), "python_traceback")
    assert (fields["exception"], fields["file"], fields["phase"]) == ("IndexError", "data.py", "data_loading")
    assert fields["carried_by"] == "RuntimeError"


def test_a_spawned_process_gives_its_place_too():
    outer = trace("torch.multiprocessing.spawn.ProcessRaisedException: ").rstrip() + "\n\n"
    text = outer + "-- Process 1 terminated with the following error:\n" + trace("ValueError: bad shard")

    assert raised(text) == [("root_candidate", "ValueError")]


def test_a_carrier_whose_log_ends_is_still_told():
    text = (
        trace("RuntimeError: Caught IndexError in DataLoader worker process 0.")
        + "Original Traceback (most recent call last):\n"
    )

    assert raised(text) == [("root_candidate", "RuntimeError")]


def test_a_ray_task_gives_its_place_to_the_users_exception():
    text = (
        trace("ray.exceptions.RayTaskError(ValueError): ray::Worker.train() (pid=1, ip=10.0.0.1)")
        + '  File "/data/run/train.py", line 90, in step\n    raise ValueError("x")\nValueError: x\n'
    )

    assert raised(text) == [("root_candidate", "ValueError")]


def test_a_group_is_a_consequence_of_its_members():
    text = (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "train.py", line 10, in <module>\n  |     raise ExceptionGroup("failed", errors)\n'
        "  | ExceptionGroup: failed (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
        '    | Traceback (most recent call last):\n    |   File "data.py", line 2, in load\n    |     raise ValueError("empty shard")\n'
        "    | ValueError: empty shard\n    +------------------------------------\n"
    )

    assert raised(text) == [("cascade", "ExceptionGroup"), ("root_candidate", "ValueError")]
    assert read_text(text).events.of("python_traceback")[1].fields["message"] == "empty shard"


def test_a_pool_prints_the_exception_of_its_worker_first():
    text = (
        'multiprocessing.pool.RemoteTraceback: \n"""\n'
        + trace("KeyError: 'a'", "work.py")
        + '"""\n'
        + BECAUSE
        + trace("KeyError: 'a'")
    )

    assert raised(text) == [("root_candidate", "KeyError"), ("cascade", "KeyError")]


def test_a_message_goes_on_in_indented_lines_and_known_hints():
    text = (
        trace("RuntimeError: Error(s) in loading state_dict for Net:")
        + "\tsize mismatch for a\n\tsize mismatch for b\nepoch 1\n"
    )
    assert only(read_text(text), "python_traceback")["message"].split("\n")[1:] == [
        "size mismatch for a",
        "size mismatch for b",
    ]

    text = (
        trace("RuntimeError: CUDA error: misaligned address")
        + "Compile with `TORCH_USE_CUDA_DSA`.\nepoch 1\n"
    )
    assert only(read_text(text), "python_traceback")["message"].endswith("TORCH_USE_CUDA_DSA`.")


def test_tracebacks_written_into_one_another_are_all_told():
    first, second = trace("ValueError: a").splitlines(), trace("KeyError: b").splitlines()
    mixed = [first[0], first[1], second[0], second[1], first[2], first[3], second[2], second[3]]

    run = read_text("\n".join(mixed) + "\n")
    assert [e.fields["exception"] for e in run.events.of("python_traceback")] == ["ValueError", "KeyError"]
    assert all(e.fields["interleaved"] for e in run.events.of("python_traceback"))
    assert not run.gaps


def test_a_notebook_prints_frames_in_its_own_way():
    text = (
        "---------------------------------------------------------------------------\n"
        "RuntimeError                              Traceback (most recent call last)\n"
        "Cell In[5], line 2\n      1 x = 1\n----> 2 trainer.train()\n\n"
        "File /usr/lib/python3.11/site-packages/lib/trainer.py:1645, in Trainer.train(self, **kwargs)\n   1644     pass\n-> 1645     inner()\n\n"
        "RuntimeError: stack expects each tensor to be equal size\n"
    )

    fields = only(read_text(text), "python_traceback")
    assert (fields["file"], fields["line"]) == ("Cell In[5]", 2)


def test_a_path_that_rich_breaks_is_put_together():
    text = (
        "╭──── Traceback (most recent call last) ────╮\n"
        "│ /home/user/a/very/long/path/to/the/traini │\n"
        "│ ng.py:90 in backward                      │\n"
        "│ ❱ 90 │   loss.backward()                  │\n"
        "│ ╭──── locals ────╮                        │\n"
        "│ │ error = 'x'    │                        │\n"
        "╰───────────────────────────────────────────╯\n"
        "ValueError: no data\n"
    )

    assert (
        only(read_text(text), "python_traceback")["file"] == "/home/user/a/very/long/path/to/the/training.py"
    )


def test_a_syntax_error_has_no_header():
    text = 'step 1 loss 2.0\nstep 2 loss 2.0\n  File "train.py", line 3\n    def f(:\n          ^\nSyntaxError: invalid syntax\n'

    assert only(read_text(text), "python_traceback")["file"] == "train.py"


@pytest.mark.parametrize(
    "above",
    [
        "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f>",
        "Error in atexit._run_exitfuncs:",
        "Exception in thread Thread-4 (_pin_memory_loop):",
        "COMET ERROR: Streaming error",
        "comet.ml error: failed to report experiment status",
    ],
)
def test_an_exception_that_python_only_reports_ends_nothing(above):
    run = read_text(f"{above}\n" + trace("AssertionError: can only test a child process"))
    assert [(e.role, e.fields["exception"]) for e in run.events.of("ignored_exception")] == [
        ("teardown", "AssertionError")
    ]
    assert not run.events.of("python_traceback")
    assert (
        raised("Exception in thread Thread-4 (train):\n" + trace("ValueError: x"))[0][0] == "root_candidate"
    )


def test_colours_and_arrows_of_other_printers_do_not_matter():
    coloured = trace("\x1b[1;35mValueError\x1b[0m: \x1b[35mx\x1b[0m").replace(
        '"train.py"', '\x1b[35m"train.py"\x1b[0m'
    )
    assert only(read_text(coloured), "python_traceback")["file"] == "train.py"

    loguru = 'Traceback (most recent call last):\n\n> File "train.py", line 9, in main\n    run()\n    └ <function>\n\nValueError: x\n'
    assert only(read_text(loguru), "python_traceback")["line"] == 9


def test_a_lone_frame_of_a_warning_is_nothing():
    text = 'a\nb\n  File "train.py", line 3\n    x\nstep: 7, loss: 2.0\nRuntimeError: later\nstep: 8, loss: 1.9\n'

    assert not read_text(text).events.of("python_traceback")
    assert not read_text(text).gaps


def test_jax_names_the_exception_inside_its_own():
    text = trace(
        "jax._src.traceback_util.UnfilteredStackTrace: FloatingPointError: invalid value (nan) encountered in add"
    )
    assert raised(text) == [("root_candidate", "FloatingPointError")]

    note = trace("jax.errors.SimplifiedTraceback: For simplicity, JAX has removed its internal frames.")
    assert raised(note + BECAUSE + trace("ValueError: x")) == [("root_candidate", "ValueError")]


def test_a_compiler_failure_is_known_by_its_class():
    fields = only(read_text(trace("torch._dynamo.exc.Unsupported: call_function")), "python_traceback")
    assert fields["phase"] == "compile"


def test_a_collectors_time_before_every_line_keeps_the_indentation():
    stamp = "2026-05-19T13:33:12.123Z "
    text = "".join(
        f"{stamp}{line}\n"
        for line in trace("ValueError: a\nx")
        .replace("run()", 'raise RuntimeError("CUDA out of memory")')
        .splitlines()
    )

    run = read_text(text)
    assert [e.fields["exception"] for e in run.events.of("python_traceback")] == ["ValueError"]
    assert not run.events.of("cuda_oom")


FAULT = (
    "Fatal Python error: Segmentation fault\n\n"
    'Thread 0x00007f0000000001 (most recent call first):\n  File "/usr/lib/python3.11/threading.py", line 320 in wait\n\n'
    "Current thread 0x00007f0000000002 (most recent call first):\n"
    '  File "/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 114 in forward\n'
    '  File "/home/user/model.py", line 40 in forward\n  File "/home/user/train.py", line 90 in main\n\n'
    "Extension modules: numpy\n"
)


def test_a_fault_dump_names_the_innermost_frame_of_the_user():
    fields = only(read_text(FAULT), "fatal_python_error")

    assert fields == {
        "error": "Segmentation fault",
        "file": "/home/user/model.py",
        "line": 40,
        "function": "forward",
        "phase": "forward",
    }


def test_a_timeout_dump_tells_where_a_run_hangs():
    text = 'Timeout (0:30:00)!\nThread 0x00007f0000000001 (most recent call first):\n  File "train.py", line 3 in all_reduce\n'

    assert only(read_text(text), "hang_stack_dump") == {
        "error": "0:30:00",
        "file": "train.py",
        "line": 3,
        "function": "all_reduce",
    }


@pytest.mark.parametrize(
    ("file", "function", "phase"),
    [
        ("/x/torch/utils/data/dataloader.py", "__next__", "data_loading"),
        ("/x/torch/utils/data/_utils/collate.py", "default_collate", "data_loading"),
        ("/x/torch/serialization.py", "_legacy_save", "saving"),
        ("/x/torch/serialization.py", "load", "loading"),
        ("/x/torch/distributed/distributed_c10d.py", "init_process_group", "setup"),
        ("/x/torch/nn/parallel/distributed.py", "__init__", "setup"),
        ("/x/torch/nn/parallel/distributed.py", "forward", "forward"),
        ("/x/horovod/torch/functions.py", "broadcast_parameters", "setup"),
        ("/x/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py", "sync", "meeting"),
        ("/x/torch/distributed/distributed_c10d.py", "_store_based_barrier", "meeting"),
        ("/x/torch/distributed/distributed_c10d.py", "barrier", "waiting"),
        ("/x/torch/_inductor/graph.py", "compile_to_module", "compile"),
        ("/x/torch/_dynamo/eval_frame.py", "_fn", ""),
        ("/x/common/vec_env/subproc_vec_env.py", "step_wait", "environments"),
        ("/x/tianshou/env/worker/subproc.py", "recv", "environments"),
        ("/x/lib/python3.12/multiprocessing/queues.py", "put", "returning_result"),
        ("/x/vectorised_text/reader.py", "read", ""),
        ("/x/transformers/generation/utils.py", "generate", "generation"),
        ("/x/lightning/loops.py", "_run_sanity_check", "evaluation"),
        ("train.py", "save_checkpoint", "saving"),
        ("train.py", "fsdp_save_ckpt", "saving"),
        ("/x/torch/distributed/fsdp/_state_dict_utils.py", "_common_unshard_pre_state_dict_hook", "saving"),
        ("/x/torch/distributed/fsdp/_state_dict_utils.py", "_full_pre_load_state_dict_hook", ""),
        ("/x/accelerate/optimizer.py", "step", "optimizer"),
        ("/x/torch/optim/optimizer.py", "_use_grad", "optimizer"),
        ("/x/torch/optim/optimizer.py", "wrapper", ""),
        ("train.py", "main", ""),
    ],
)
def test_phase_of_a_frame(file, function, phase):
    assert phase_of(file, function) == phase


EVERYTHING = (
    FAULT
    + trace("RuntimeError: Caught KeyError in DataLoader worker process 0.")
    + trace("KeyError: 'a'", header="Original Traceback (most recent call last):")
)


def test_a_log_cut_at_any_byte_is_survived():
    for cut in range(len(EVERYTHING)):
        read_text(EVERYTHING[:cut])


LINES = [
    *EVERYTHING.splitlines(),
    *DURING.splitlines(),
    "[rank1]: ValueError: a",
    "│ /a/b.py:1 in f │",
    "╰──╯",
    "| x",
    "ray::f()",
]


@given(st.lists(st.sampled_from(LINES), max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_order_of_such_lines_is_survived(lines):
    read_text("\n".join(lines))


def test_what_ranks_carry_is_read_although_they_write_into_one_another():
    worker = trace(
        "TypeError: 'int' object is not callable",
        "data.py",
        "read",
        "Original Traceback (most recent call last):",
    )
    outer = trace("TypeError: Caught TypeError in DataLoader worker process 0.").splitlines()
    text = "\n".join([*outer[:2], outer[0], *outer[1:], worker])

    told = only(read_text(text), "python_traceback")
    assert (told["message"], told["function"]) == ("'int' object is not callable", "read")
    assert told["phase"] == "data_loading"


def test_below_an_excerpt_whose_first_line_lost_its_indentation_lines_are_read():
    text = (
        'File "/home/user/towers/losses.py", line 22, in __call__\n'
        "      return loss(labels=labels, logits=logits)\n"
        "Node: 'Xent/Xent'\n"
        "Received a label value of 812 which is outside the valid range of [0, 812).\n"
    )

    assert only(read_text(text), "label_out_of_range")["label"] == 812


PIPE_BROKEN = """Traceback (most recent call last):
  File "/home/user/train.py", line 201, in <module>
    main()
  File "/opt/venv/lib/python3.8/site-packages/torch/utils/data/dataloader.py", line 1132, in _try_get_data
    data = self._data_queue.get(timeout=timeout)
  File "/opt/venv/lib/python3.8/site-packages/torch/multiprocessing/reductions.py", line 305, in rebuild_storage_fd
    fd = df.detach()
  File "/usr/lib/python3.8/multiprocessing/connection.py", line 379, in _recv
    chunk = read(handle, remaining)
"""


@pytest.mark.parametrize(
    "exception",
    [
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "socket.error: [Errno 111] Connection refused",
    ],
)
def test_a_batch_that_cannot_be_taken_over_is_a_lost_worker_and_no_lost_rank(exception):
    source = read_text(PIPE_BROKEN + exception + "\n")

    assert only(source, "dataloader_worker_killed") == {}
    assert kinds(source, "connection_lost") == []


@pytest.mark.parametrize(
    "above",
    ["10:15:24 - reader.load - DEBUG - reader 5 is not there", "[reader][DEBUG] - none", "FFmpeg version 7:"],
)
def test_what_a_library_tried_in_vain_and_told_for_the_curious_is_no_failure(above):
    tried = (
        f"{above}\nTraceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.11/site-packages/reader/load.py", line 30, in find\n    load(name)\n'
        "OSError: libreader.so.5: cannot open shared object file: No such file or directory\n"
    )
    ended = tried.replace("in find", "in <module>")

    assert not kinds(read_text(tried), "python_traceback")
    assert not kinds(read_text(tried), "library_mismatch")
    assert kinds(read_text(ended), "python_traceback")
    assert kinds(read_text(ended), "library_mismatch")


def test_a_thread_that_takes_over_batches_while_the_program_ends_reports_no_lost_worker():
    header = "Exception in thread Thread-3 (_pin_memory_loop):\n"
    source = read_text(header + PIPE_BROKEN + "ConnectionResetError: [Errno 104] Connection reset by peer\n")

    assert kinds(source, "dataloader_worker_killed") == []


def test_finalisers_that_write_into_one_another_leave_no_open_traceback():
    frames = (
        '  File "/opt/venv/lib/python3.8/site-packages/torch/utils/data/dataloader.py", line 1324, in __del__\n'
        "    self._shutdown_workers()\n"
    )
    header = "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f>\n"
    trace_header = "Traceback (most recent call last):\n"
    text = (header + trace_header) * 2 + frames * 2 + "AssertionError: can only test a child process\n"

    assert kinds(read_text(text), "traceback_cut") == []


def cut(*code, file="train.py"):
    lines = "".join(f"    {line}\n" for line in code)
    return f'Traceback (most recent call last):\n  File "{file}", line 9, in main\n{lines}'


@pytest.mark.parametrize(
    ("code", "exception", "message"),
    [
        (('raise ValueError("no room for the cache")',), "ValueError", "no room for the cache"),
        (
            ("raise RuntimeError(", 'f"rank {rank} has "', '"no device"'),
            "RuntimeError",
            "rank {rank} has  no device",
        ),
        (("raise OutOfRoomError(",), "OutOfRoomError", ""),
        (("assert args.rows % 4 == 0",), "AssertionError", "args.rows % 4 == 0"),
        (('assert rows, "no rows are left"',), "AssertionError", "no rows are left"),
    ],
)
def test_a_cut_traceback_is_read_by_the_code_that_raises(code, exception, message):
    found = read_text(cut(*code)).events

    assert not found.of("traceback_cut")
    (event,) = found.of("python_traceback")
    assert (event.fields["exception"], event.fields.get("message", "")) == (exception, message)


@pytest.mark.parametrize("code", ["raise ValueError(text)", "run(step)", "raise", "raise error from None"])
def test_a_cut_traceback_whose_code_says_nothing_stays_one(code):
    found = read_text(cut(code)).events

    assert found.of("traceback_cut")
    assert not found.of("python_traceback")


def test_a_cut_traceback_below_an_ignored_exception_is_ignored():
    header = "Exception ignored in: <function Loader.__del__ at 0x7f>\n"
    found = read_text(header + cut('raise ValueError("no room is left")')).events

    assert [event.role for event in found.of("ignored_exception")] == ["teardown"]
    assert not found.of("python_traceback")
    assert not found.of("traceback_cut")


def test_an_assertion_without_a_message_says_its_condition():
    found = only(read_text(cut("assert args.rows % 4 == 0") + "AssertionError\n"), "python_traceback")

    assert (found["exception"], found["message"]) == ("AssertionError", "args.rows % 4 == 0")
