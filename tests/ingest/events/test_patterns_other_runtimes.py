"""Failures in the words of older and other libraries than today's torch."""

from __future__ import annotations

import pytest
from log_reading import only, read_text

from analyzer.ingest.text.events.patterns import all_patterns, match_pattern


def fields_of(kind: str, line: str) -> dict[str, object] | None:
    """Fields of the first pattern of a kind that a line matches, found through its literals as in the scan."""
    for pattern in all_patterns():
        if pattern.kind == kind and any(literal in line for literal in pattern.literals):
            fields = match_pattern(pattern, line)
            if fields is not None:
                return dict(fields)
    return None


@pytest.mark.parametrize(
    "line",
    [
        "THCudaCheck FAIL file=/src/THC/generic/THCStorage.cu line=58 error=2 : out of memory",
        "RuntimeError: cuda runtime error (2) : out of memory at /src/THC/generic/THCStorage.cu:58",
        "CUDA Error: out of memory: File exists",
        "F0101 10:00:00.000000  12 syncedmem.cpp:71] Check failed: error == cudaSuccess (2 vs. 0)  out of memory",
        "src/storage/./pooled_storage_manager.h:157: cudaMalloc failed: out of memory",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 9.0G of 8.0G hbm.",
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,024 bytes (allocated so far: 512 bytes).",
    ],
)
def test_a_runtime_error_that_is_only_passed_on_is_a_full_gpu(line: str) -> None:
    assert fields_of("cuda_oom", line) is not None


def test_paddle_tells_what_was_asked_for_and_what_was_free() -> None:
    line = (
        "Out of memory error on GPU 1. Cannot allocate 512.000000MB memory on GPU 1, 7.900000GB memory has been allocated and "
        "available memory is only 64.000000MB."
    )
    assert fields_of("cuda_oom", line) == {"gpu": 1, "tried_gib": 0.5, "free_gib": 0.0625}


def test_mindspore_names_the_device() -> None:
    line = "#dmsg#Memory not enough:#dmsg#Device(id:3) memory isn't enough and alloc failed, kernel name: Default/Conv, alloc size: 4096B."
    assert fields_of("cuda_oom", line) == {"gpu": 3}


def test_a_distributed_checkpoint_of_another_shape_is_a_mismatch() -> None:
    line = "CheckpointingException: Global shape mismatch for loaded ((1024, 768)) and expected ((512, 768)) tensor for key model.position.weight"
    assert fields_of("state_dict_mismatch", line) == {
        "stored": "1024, 768",
        "wanted": "512, 768",
        "parameter": "model.position.weight",
    }


@pytest.mark.parametrize(
    "line",
    [
        "KeyError: 'RotatedHead is not in the models registry'",
        "KeyError: \"No object named 'RotatedHead' found in 'META_ARCH' registry!\"",
    ],
)
def test_a_name_that_no_registry_knows_is_a_rejected_argument(line: str) -> None:
    assert fields_of("argument_rejected", line) is not None


def test_what_may_have_ended_a_worker_of_ray_is_no_crash_of_native_code() -> None:
    line = (
        "A worker died or was killed while executing a task. Worker exit type: SYSTEM_ERROR Worker exit detail: End of file. "
        "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer. (3) It crashed due to SIGSEGV."
    )
    assert fields_of("segfault", line) is None
    found = fields_of("ray_worker_died", line)
    assert found is not None
    assert found["exit_type"] == "SYSTEM_ERROR"


def test_a_stream_of_ascend_that_times_out_is_a_collective_timeout() -> None:
    assert (
        fields_of("hccl_timeout", "rtDeviceSynchronize execute failed, reason=[stream sync timeout]")
        is not None
    )


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: cuda runtime error (101) : invalid device ordinal at /src/torch/csrc/cuda/Module.cpp:59",
        "THCudaCheck FAIL file=/src/torch/csrc/cuda/Module.cpp line=33 error=10 : invalid device ordinal",
    ],
)
def test_a_numbered_runtime_error_tells_its_message(line: str) -> None:
    assert fields_of("cuda_error", line) == {"message": "invalid device ordinal"}


def test_a_cuda_call_that_fails_inside_nccl_is_told_apart_by_its_message() -> None:
    assert fields_of("cuda_oom", "Cuda failure 2 'out of memory'") is not None
    assert fields_of("cuda_error", "node-a:1:2 [0] NCCL WARN Cuda failure 999 'unknown error'") == {
        "message": "unknown error"
    }
    assert fields_of("cuda_oom", "Cuda failure 999 'unknown error'") is None


def test_the_status_of_cudnn_is_read_behind_its_name() -> None:
    found = fields_of("cudnn_error", "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED")
    assert found == {"status": "CUDNN_STATUS_NOT_INITIALIZED"}


def test_mpirun_names_the_exit_code_of_the_first_process() -> None:
    assert fields_of("launcher_exit_code", "  Exit code:    137") == {"code": 137}


def test_a_traceback_that_begins_behind_a_bar_of_yolo_is_read() -> None:
    run = read_text(
        "     Epoch   gpu_mem      GIoU       obj       cls     total   targets  img_size\n"
        "       0/4     4.72G    0.1325   0.03671   0.05608    0.2252        60       640:   2%|#  | 12/537 [00:07<03:35,  2.44it/s]"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 407, in <module>\n'
        "    train(hyp)\n"
        "AssertionError: Image Not Found ../images/train/0001.jpeg\n"
    )
    assert only(run, "python_traceback")["exception"] == "AssertionError"
    assert only(run, "missing_path")["image"] == "../images/train/0001.jpeg"


BAR = " 12%|#2        | 12/100 [00:07<03:35,  2.44it/s]"


def test_the_shell_reports_a_kill_right_behind_a_bar() -> None:
    assert fields_of("sigkill", BAR + "Killed") is not None
    assert fields_of("sigkill", "process 3 of the old job was Killed") is None


def test_a_traceback_of_a_rank_begins_behind_the_bar_of_another() -> None:
    run = read_text(
        BAR + "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "/data/run/train.py", line 3, in <module>\n'
        "[rank1]:     main()\n"
        "[rank1]: ValueError: a batch of no length\n"
    )
    (event,) = run.events.of("python_traceback")
    assert (event.rank, event.fields["exception"]) == (1, "ValueError")


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("sigkill", "srun: error: node-a: tasks 0-7: Killed"),
        ("sigkill", "fish: Job 1, 'python train.py' terminated by signal SIGKILL (Forced quit)"),
        ("sigabrt", "Aborted (core dumped)"),
        ("segfault", "zsh: segmentation fault  python train.py"),
        ("segfault", "Windows fatal exception: access violation"),
        ("segfault", "Process finished with exit code -1073741819 (0xC0000005)"),
        ("sigabrt", "Process finished with exit code -1073740791 (0xC0000409)"),
        ("launcher_exit_code", "Process finished with exit code 1"),
        ("host_oom_kill", "Your session crashed after using all available RAM."),
        ("cpu_oom", "OSError: [WinError 1455] The paging file is too small for this operation to complete."),
    ],
)
def test_each_shell_and_system_has_its_own_words_for_an_end(kind: str, line: str) -> None:
    assert fields_of(kind, line) is not None


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("sigkill", "2 stale workers were killed  before the start"),
        ("sigkill", "queue [1]  4321 killed  by hand, 3 left"),
        ("segfault", "on_error = [ segmentation fault , abort ]"),
        ("sigabrt", "Download Abgebrochen (Zeit abgelaufen)"),
        ("bus_error", "reader: no bus error  in 400 frames"),
        ("hccl_timeout", "codes that are tried again: (EI0002), (EI0006)"),
    ],
)
def test_words_that_a_shell_would_use_are_an_end_only_in_its_form(kind: str, line: str) -> None:
    assert fields_of(kind, line) is None


def test_a_program_that_ends_well_under_an_editor_has_no_failing_code() -> None:
    assert fields_of("launcher_exit_code", "Process finished with exit code 0") is None


def test_the_barrier_of_an_older_jax_is_named() -> None:
    line = "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: checkpoint_3. Timed out task names: /job:jax_worker/task:3"
    assert fields_of("coordination_timeout", line) == {"barrier": "checkpoint_3"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", "cpu_oom"),
        ("Caused by: java.lang.OutOfMemoryError: GC overhead limit exceeded", "cpu_oom"),
        ("java.lang.OutOfMemoryError: unable to create new native thread", "process_limit"),
    ],
)
def test_a_full_heap_of_java_is_host_memory_and_a_thread_that_is_refused_is_not(text, kind):
    assert {event.kind for event in read_text(text + "\n").events} == {kind}


@pytest.mark.parametrize(
    ("status", "is_away"),
    [("400: run config too large", False), ("502: bad gateway", True)],
)
def test_a_tracker_that_refuses_what_it_is_sent_is_there(status, is_away):
    line = f"wandb.errors.errors.CommError: Error uploading run: returned error {status}\n"

    assert ("tracker_unreachable" in {event.kind for event in read_text(line).events}) is is_away


@pytest.mark.parametrize(
    "line",
    [
        "FileNotFoundError: Cannot find the Acme C++ library at /opt/env/lib/python3.11/site-packages/acme/libacme_torch_2.9.1.so",
        "OSError: Could not load library libacme_ops.so.2",
        "ptxas /tmp/tempfile-3f, line 10; fatal   : Unsupported .version 8.3; current version is '8.0'",
    ],
)
def test_a_compiled_part_that_is_not_there_or_newer_than_its_tool_does_not_fit(line: str) -> None:
    assert fields_of("library_mismatch", line) is not None
    assert fields_of("missing_path", line) is None
    assert fields_of("no_kernel_image", line) is None


def test_a_file_of_data_that_is_not_there_is_a_missing_path() -> None:
    line = "FileNotFoundError: Cannot find the list of samples at /data/sounds/train.jsonl"
    assert fields_of("missing_path", line) is not None
    assert fields_of("library_mismatch", line) is None


def test_a_missing_module_is_read_where_a_program_shows_the_exception_that_it_caught() -> None:
    assert fields_of("module_missing", "ModuleNotFoundError(\"No module named 'acme_ops'\")") == {
        "module": "acme_ops"
    }
    assert (
        fields_of(
            "module_missing", "WARNING: ModuleNotFoundError(\"No module named 'acme_ops'\"), falling back"
        )
        is None
    )


def test_an_ascend_device_that_is_not_there_and_one_whose_core_failed() -> None:
    assert fields_of("no_accelerator", "dcmi module initialize failed. ret is -8005") is not None
    assert (
        fields_of("npu_core_fault", "there is an fftsplus aivector error exception, core id is 4") is not None
    )
    assert fields_of("npu_core_fault", "there is an fftsplus task of the aivector core, core id is 4") is None


def test_a_full_card_in_the_words_of_a_technical_language_and_a_bus_error_in_those_of_paddle() -> None:
    assert (
        fields_of(
            "cuda_oom", "Out of memory on device. To view more detail about available memory, ask the device."
        )
        == {}
    )
    assert fields_of("cuda_oom", "The manual lists `Out of memory on device.` among its messages") is None
    told = fields_of(
        "bus_error",
        "FatalError: `Access to an undefined portion of a memory object` is detected by the operating system.",
    )
    assert told == {"paddle": "Access to an undefined portion of a memory object"}
    assert (
        fields_of("bus_error", "FatalError: `Segmentation fault` is detected by the operating system.")
        is None
    )
