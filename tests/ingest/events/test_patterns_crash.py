"""Lines by which a crash is told apart: each gives its event with typed fields, and its look-alike does not."""

from __future__ import annotations

import pytest
from log_reading import only, read_text

from analyzer.ingest.text.events.patterns import all_patterns, match_pattern


def events(line: str) -> dict[str, dict[str, object]]:
    """Kind to fields of every pattern that a line matches, found through its literals as in the scan."""
    found: dict[str, dict[str, object]] = {}
    for pattern in all_patterns():
        if any(literal in line for literal in pattern.literals):
            fields = match_pattern(pattern, line)
            if fields is not None:
                found[pattern.kind] = {**fields, **found.get(pattern.kind, {})}  # one line, one event
    return found


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 1 has a total capacity of 40.00 GiB of which 128.00 MiB is free. "


def test_oom_of_today_tells_idle_reserve_and_other_process() -> None:
    line = OOM + (
        "Process 4711 has 20.00 GiB memory in use. Including non-PyTorch memory, this process has 19.50 GiB memory in use. Of the "
        "allocated memory 18.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated."
    )
    fields = events(line)["cuda_oom"]
    assert fields["other_process_gib"] == 20.0
    assert fields["unallocated_gib"] == 1.0
    assert fields["allocated_gib"] == 18.0
    assert fields["tried_gib"] == 0.5
    assert "reserved_gib" not in fields  # that word means a total which includes what is allocated


def test_oom_of_old_torch_tells_the_total_reserve() -> None:
    line = (
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 24.00 GiB total capacity; 10.00 GiB already allocated; "
        "0 bytes free; 12.00 GiB reserved in total by PyTorch)"
    )
    fields = events(line)["cuda_oom"]
    assert fields["reserved_gib"] == 12.0
    assert fields["free_gib"] == 0.0
    assert "unallocated_gib" not in fields


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (79, "xid_off_bus"),
        (48, "xid_memory"),
        (94, "xid_memory_contained"),
        (74, "xid_nvlink"),
        (119, "xid_gsp"),
        (31, "xid_application"),
    ],
)
def test_each_deciding_xid_has_its_own_event(code: int, kind: str) -> None:
    found = events(f"[ 12.5] NVRM: Xid (PCI:0000:65:00): {code}, pid=12, name=python, text")
    assert set(found) == {"gpu_xid", kind}
    assert found["gpu_xid"]["code"] == code


def test_digits_in_the_bus_address_are_no_code() -> None:
    assert "xid_off_bus" not in events("NVRM: Xid (PCI:0000:79:00): 13, pid=1")


def test_label_and_lookup_out_of_range_are_told_apart() -> None:
    assert events("IndexError: Target 19 is out of bounds.") == {"label_out_of_range": {"label": 19}}
    assert events("IndexError: index out of range in self") == {"index_out_of_range": {"table": "self"}}
    assert events("IndexError: index 5 is out of bounds for dimension 0 with size 3") == {
        "index_out_of_range": {}
    }


def test_empty_stored_weights_are_no_other_configuration() -> None:
    empty = "\tsize mismatch for a.weight: copying a param with shape torch.Size([0]) from checkpoint, the shape in current model is torch.Size([4, 8])."
    other = "\tsize mismatch for a.weight: copying a param with shape torch.Size([2, 8]) from checkpoint, the shape in current model is torch.Size([4, 8])."
    assert events(empty) == {"empty_stored_weight": {"parameter": "a.weight"}}
    assert events(other) == {
        "state_dict_mismatch": {"parameter": "a.weight", "stored": "2, 8", "wanted": "4, 8"}
    }


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation", "autograd_misuse"),
        ("RuntimeError: Trying to backward through the graph a second time", "autograd_misuse"),
        ("ImportError: /opt/x/attn.so: undefined symbol: _ZN3c104", "library_mismatch"),
        ("ModuleNotFoundError: No module named 'einops'", "module_missing"),
        ("ModuleNotFoundError: No module named 'torch._six'", "import_failed"),
        ("ImportError: cannot import name 'PreTrainedModel' from 'transformers'", "import_failed"),
        ("Killed", "sigkill"),
        ("./run.sh: line 3: 12345 Killed                  python train.py", "sigkill"),
        ("[1]+  Killed                  python train.py", "sigkill"),
        ("WARNING:agent:Received 1 death signal, shutting down workers", "sighup"),
        ("W0101 api.py] Sending process 7 closing signal SIGHUP", "sighup"),
        ("train.py: error: unrecognized arguments: --fast", "argument_rejected"),
        ("UserWarning: Failed to clone() tensor with name lm_head.weight on rank 1.", "state_dict_clone_failed"),
        ("[rank1]: RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: X(SequenceNumber=31", "mismatched_collective"),
        ("Running tokenizer on dataset:  88%|####9 | 3837/4336 [29:55<03:25, 24.7 examples/s]", "dataset_work_at_timeout"),
    ],
)  # fmt: skip
def test_crash_lines_are_known(line: str, kind: str) -> None:
    assert kind in events(line)


def test_a_missing_package_is_no_disagreement_of_libraries() -> None:
    assert events("ModuleNotFoundError: No module named 'einops'") == {
        "module_missing": {"exception": "ModuleNotFoundError", "module": "einops"}
    }


@pytest.mark.parametrize(
    "line",
    [
        "Running tokenizer on dataset:  88%|####9 | 3837/4336 [12:07<03:25, 24.7 examples/s]",
        "W0101 api.py] Sending process 7 closing signal SIGTERM",
        "subprocess.CalledProcessError: Command 'cc -c a.c' died with <Signals.SIGHUP: 1>.",
        "Killed 3 stale workers",
        "loss 0.3 lr 1e-5",
        "2024-01-01 INFO error: none",
    ],
)
def test_look_alikes_are_not(line: str) -> None:
    assert not {"dataset_work_at_timeout", "sighup", "argument_rejected", "autograd_misuse"} & set(
        events(line)
    )


def frame(file: str, function: str) -> str:
    return f'  File "{file}", line 7, in {function}\n    call()\n'


SITE = "/opt/venv/lib/python3.11/site-packages/"


@pytest.mark.parametrize(
    ("frames", "phase"),
    [
        ([("train.py", "main"), (SITE + "torch/optim/adamw.py", "step")], "optimizer"),
        ([("train.py", "main"), (SITE + "torch/optim/lr_scheduler.py", "wrapper")], None),
        ([("train.py", "main"), (SITE + "torch/_tensor.py", "backward"), ("m.py", "forward")], "forward"),
        ([("train.py", "main"), (SITE + "t/trainer.py", "evaluation_loop"), (SITE + "t/pt_utils.py", "nested_concat")], "evaluation_gather"),
        ([("train.py", "main"), (SITE + "t/trainer.py", "evaluate"), ("m.py", "forward")], "evaluation"),
        ([("train.py", "main"), (SITE + "t/trainer.py", "_save_checkpoint"), (SITE + "x.py", "forward")], "saving"),
        ([("train.py", "main")], None),
    ],
)  # fmt: skip
def test_a_stack_tells_what_was_running(frames: list[tuple[str, str]], phase: str | None) -> None:
    text = (
        "Traceback (most recent call last):\n"
        + "".join(frame(*f) for f in frames)
        + "RuntimeError: it failed\n"
    )
    assert only(read_text(text), "python_traceback").get("phase") == phase


def test_an_excerpt_that_begins_inside_a_traceback_is_read() -> None:
    run = read_text(
        frame("train.py", "main") + frame(SITE + "torch/optim/adamw.py", "step") + "RuntimeError: it failed\n"
    )
    assert only(run, "python_traceback") == {
        "exception": "RuntimeError", "message": "it failed", "file": "train.py", "line": 7, "function": "main", "phase": "optimizer",
        "raised_in": SITE + "torch/optim/adamw.py",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("frames", "asked"),
    [
        ([("train.py", "main"), (SITE + "torch/nn/modules/module.py", "__getattr__")], None),
        ([("train.py", "main"), (SITE + "torch/nn/modules/module.py", "_wrapped_call_impl"), (SITE + "torch/nn/modules/module.py", "_call_impl")], None),
        ([("train.py", "main"), (SITE + "transformers/trainer.py", "compute_loss"), (SITE + "torch/nn/modules/module.py", "_call_impl")], "transformers/trainer.py"),
        ([("train.py", "main"), (SITE + "torch/nn/functional.py", "linear")], "torch/nn/functional.py"),
        ([("train.py", "main"), (SITE + "torch/nn/modules/module.py", "load_state_dict")], "torch/nn/modules/module.py"),
    ],
)  # fmt: skip
def test_what_a_module_hands_on_was_asked_for_by_the_frame_before(
    frames: list[tuple[str, str]], asked: str | None
) -> None:
    text = (
        "Traceback (most recent call last):\n"
        + "".join(frame(*f) for f in frames)
        + "TypeError: forward() missing 1 required positional argument: 'mask'\n"
    )
    raised_in = only(read_text(text), "python_traceback").get("raised_in")
    assert raised_in == (None if asked is None else SITE + asked)


@pytest.mark.parametrize(
    "builder",
    ["hydra/_internal/instantiate/_instantiate2.py", "mmengine/registry/build_functions.py", "gin/config.py"],
)
def test_what_a_configuration_names_is_called_with_the_runs_own_arguments(builder: str) -> None:
    text = (
        "Traceback (most recent call last):\n"
        + frame(SITE + builder, "_call_target")
        + "TypeError: __init__() got an unexpected keyword argument 'width'\n"
    )
    assert "raised_in" not in only(read_text(text), "python_traceback")


@pytest.mark.parametrize("exception", ["cv2.error", "socket.timeout", "struct.error", "socket.gaierror"])
def test_an_exception_whose_name_begins_small_is_read_below_its_frames(exception: str) -> None:
    text = "Traceback (most recent call last):\n" + frame("train.py", "main") + f"{exception}: it failed\n"
    assert only(read_text(text), "python_traceback")["exception"] == exception


def test_a_small_word_without_a_module_below_frames_is_no_exception() -> None:
    text = "Traceback (most recent call last):\n" + frame("train.py", "main") + "error: 0.5\nValueError: no\n"
    assert only(read_text(text), "python_traceback")["exception"] == "ValueError"


def test_a_traceback_cut_before_its_exception_is_a_gap_and_an_event() -> None:
    run = read_text(
        "Traceback (most recent call last):\n"
        + frame("train.py", "evaluate")
        + frame("u.py", "nested_concat")
    )
    assert only(run, "traceback_cut")["phase"] == "evaluation_gather"
    assert not run.events.of("python_traceback")
    assert [gap.ref.line for gap in run.gaps if gap.ref] == [1]


def test_frames_of_a_warning_are_no_traceback() -> None:
    run = read_text("start\n" * 5 + "warning: slow call\n" + frame("train.py", "main") + "loss 0.5\n")
    assert not run.events.of("python_traceback")
    assert not run.events.of("traceback_cut")


@pytest.mark.parametrize(
    "line",
    [
        "NaN gradient detected in Gemma3MLP's input gradient",
        "NaN gradient detected in Linear4bit's output gradient",
    ],
)
def test_a_hook_that_prints_the_class_of_the_module_is_a_gradient_report(line: str) -> None:
    assert events(line)["nonfinite_hook"]["module"] in {"Gemma3MLP", "Linear4bit"}


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("Step at 4 with Perplexity: nan", True),
        ("pass 2 tensor(nan, device='cuda:0', grad_fn=<CopyBackwards>)", True),
        ("Step at 4 with Perplexity: 12.5", False),
        ("tensor(nan, device='cuda:0')", False),  # any tensor, not a loss
        ("train/explained_variance tensor(nan)", False),
    ],
)
def test_a_printed_loss_or_perplexity_that_is_not_finite_is_told(line: str, seen: bool) -> None:
    assert ("nonfinite_loss_message" in events(line)) is seen
