"""Errors that a program tells of and passes by: a sound run is not accused of them, and an end in the same words is told."""

from __future__ import annotations

import pytest

import analyzer

OPENING = "Namespace(lr=0.0001, epochs=40)"
PLANNED_END = "Training completed in 1:02:03"
PASSED_BY = (
    "WARNING: CUDA out of memory caught; halving batch size to 32 and retrying",
    "| WARNING: ran out of memory with exception: CUDA out of memory. Tried to allocate 1.2 GiB; attempting to recover",
    "Error reading image /data/img/412.jpg: cannot identify image file; skipped",
    "ModuleNotFoundError: No module named 'apex'; using torch's own norm",
    'Unexpected key(s) in state_dict: "fc.weight" -- ignored (strict=False)',
    "UserWarning: Could not load libacme.so, going on without it",
    "ssh: connect to host github.com port 22: Connection refused",
    "amdgpu 0000:2b:00.0: amdgpu: [gfxhub0] retry page fault (src_id:0 ring:24 vmid:8 pasid:32770)",
    "kernel: amdgpu 0000:2b:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24), for process Xorg pid 7",
    "remote rank 5 heartbeat restored",
    'W rpc/grpc_remote_master.cc:157] RPC failed with status = "Unavailable: Socket closed" and grpc_error_string = "", maybe retrying the RPC',
    "config: gdr_pin_buffer: true, pyxis: false, power brake: 400 W",
    "UserWarning: Error checking compiler version for cl: [WinError 2] The system cannot find the file specified",
    "slow path after KeyError: no such kernel, falling back to the loop",
    'prompt: How do I fix "RuntimeError: CUDA out of memory"? response: reduce the batch size',
    'question: What does "Segmentation fault (core dumped)" mean? answer: a process touched memory that is not its own',
)
OF_THE_SHELL = (
    "mkdir: cannot create directory 'runs': File exists",
    "bash: /etc/profile.d/modules.sh: No such file or directory",
    "sh: git: command not found",
    "slurmstepd: error: couldn't chdir to `/workspace': No such file or directory: going to /tmp instead",
    "[INFO|2026-01-01 10:00:00] pkg.valuehead:157 >> Provided path (out/sft) does not contain value head weights: out/sft does not appear to have a file named value_head.bin.",
)
ENDS = (
    "RuntimeError: CUDA out of memory. Tried to allocate 1.2 GiB",
    "Error reading image /data/img/412.jpg: cannot identify image file",
    'RuntimeError: Error(s) in loading state_dict: Unexpected key(s) in state_dict: "fc.weight"',
    "Segmentation fault (core dumped)",
)


def rows(first: int, last: int) -> list[str]:
    losses = {step: 2.3 * 0.93**step + 0.1 for step in range(first, last)}
    return [
        f"Epoch {step}/40 train_loss: {loss:.4f} val_loss: {loss * 1.05:.4f} val_acc: {0.3 + 0.016 * step:.4f}"
        for step, loss in losses.items()
    ]


def status_of(folder, lines: list[str]) -> str:
    log = folder / "train.log"
    log.write_text("\n".join([OPENING, *lines]) + "\n", encoding="utf-8")
    return analyzer.diagnose(log).status


@pytest.mark.parametrize("line", [*PASSED_BY, *OF_THE_SHELL])
def test_a_sound_run_is_not_accused_of_what_its_program_passed_by(tmp_path, line):
    assert status_of(tmp_path, [*rows(1, 41), line, PLANNED_END]) == "healthy"
    assert status_of(tmp_path, [*rows(1, 41), PLANNED_END, line]) not in {"failed", "degraded"}


@pytest.mark.parametrize("line", ENDS)
def test_the_same_words_at_the_end_of_a_run_are_told(tmp_path, line):
    assert status_of(tmp_path, [*rows(1, 14), line]) == "failed"


def test_a_retry_that_led_to_an_exception_is_told(tmp_path):
    raised = ["Traceback (most recent call last):", '  File "train.py", line 9, in <module>', "    step()"]
    lines = [
        *rows(1, 14),
        PASSED_BY[0],
        *raised,
        "RuntimeError: CUDA out of memory. Tried to allocate 1.2 GiB",
    ]

    assert status_of(tmp_path, lines) == "failed"


CAUGHT = ["Traceback (most recent call last):", '  File "/srv/job/loader.py", line 41, in read', "    picture = Image.open(path)", "PIL.UnidentifiedImageError: cannot identify image file '/data/img/412.jpg'"]  # fmt: skip


def test_one_row_and_the_planned_end_below_an_error_show_that_it_was_caught(tmp_path):
    assert status_of(tmp_path, [*rows(1, 40), *CAUGHT, *rows(40, 41), PLANNED_END]) not in {
        "failed",
        "degraded",
    }
    assert status_of(tmp_path, [*rows(1, 14), *CAUGHT, *rows(14, 15)]) == "failed"
    assert status_of(tmp_path, [*rows(1, 41), PLANNED_END, *CAUGHT]) == "failed"


def test_a_held_out_loss_that_is_nan_beside_finite_training_is_no_broken_forward_pass(tmp_path):
    stop = "Monitored metric val_loss = nan is not finite. Previous best value was inf. Signaling Trainer to stop."
    trained = [f"Epoch {n}: train_loss={2.3 - n / 20:.4f}, val_loss=nan" for n in range(6)]
    log = tmp_path / "train.log"
    log.write_text("\n".join([*trained, stop]) + "\n", encoding="utf-8")

    assert analyzer.diagnose(log).findings[0].cause.id == "eval-only-nan"
    log.write_text(
        "\n".join([*trained, "Epoch 6: train_loss=nan, val_loss=nan", stop]) + "\n", encoding="utf-8"
    )
    assert analyzer.diagnose(log).findings[0].cause.id == "nonfinite-forward"


def test_the_word_of_a_script_after_a_program_that_never_trained_hides_nothing(tmp_path):
    assert (
        status_of(
            tmp_path, ["python: can't open file 'train.py': [Errno 2] No such file or directory", PLANNED_END]
        )
        != "healthy"
    )


def test_a_handler_that_could_not_write_ends_no_run(tmp_path):
    complaint = ["--- Logging error ---", "Traceback (most recent call last):", '  File "/usr/lib/python3.10/logging/__init__.py", line 1100, in emit', "    stream.write(msg)", "UnicodeEncodeError: 'ascii' codec can't encode character"]  # fmt: skip

    assert status_of(tmp_path, [*rows(1, 41), PLANNED_END, *complaint]) == "healthy"


def test_a_log_of_two_starts_without_a_step_is_no_job_left_standing(tmp_path):
    first = "2025-01-04 17:18:06,410 - ERROR - Can't load tokenizer for 'a/b': [Errno 2] No such file or directory: 'a/b'"
    later = "2025-01-07 19:40:01,454 - ERROR - [Errno 2] No such file or directory: 'a/c'"
    log = tmp_path / "train.log"
    log.write_text(f"{first}\n{later}\n", encoding="utf-8")

    assert "job-not-torn-down" not in {finding.cause.id for finding in analyzer.diagnose(log).findings}
