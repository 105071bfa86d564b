"""What a program or its wrapper says of an end, above and below an exception."""

import pytest

import analyzer


def rows(first, last):
    return "".join(
        f"step {n}/400 loss {1 + 3 * 0.985**n + n % 3 / 100:.4f}\n" for n in range(first, last + 1)
    )


def raised(call, error):
    return (
        'Traceback (most recent call last):\n  File "/srv/job/fit.py", line 90, in <module>\n    main()\n'
        f'  File "/srv/job/fit.py", line 71, in main\n    {call}\n{error}\n'
    )


def cancelled(reason=""):
    return (
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
        f"slurmstepd: error: *** STEP 77.3 ON node-3 CANCELLED AT 2025-02-11T01:34:24 {reason}***\n"
    )


FAULT = raised("update(batch)", "ValueError: expected 8 heads, got 6")
STORE = raised("dist.new_group(ranks)", "torch.distributed.DistStoreError: Socket Timeout")
ABORT = "terminate called after throwing an instance of 'c10::Error'\nFatal Python error: Aborted\n"
DONE = "Training completed!\n"
LEFT = "srun: error: node-3: task 5: Exited with exit code 1\n"


@pytest.mark.parametrize(
    ("text", "state", "status"),
    [
        (rows(1, 300) + FAULT + DONE, "crashed", "failed"),  # the shell goes on behind a program that died
        (f"{rows(1, 300)}{FAULT}ENDING TIMING RUN\nRESULT,job,88\n{cancelled()}", "crashed", "failed"),
        (rows(1, 100) + FAULT + rows(101, 400) + DONE, "completed", "healthy"),  # it was caught
        (rows(1, 400) + DONE + FAULT + DONE, "completed", "degraded"),  # its own word stands above
        (rows(1, 400) + DONE + ABORT, "completed", "degraded"),
        (rows(1, 400) + DONE + STORE, "completed", "healthy"),  # peers that leave
        (rows(1, 400) + DONE + STORE + cancelled(), "crashed", "failed"),  # and one that waits for them, until it is told to end
        (rows(1, 400) + DONE + STORE + LEFT + cancelled(), "completed", "failed"),  # by its exit code
        (rows(1, 400) + DONE, "completed", "healthy"),
    ],
)  # fmt: skip
def test_a_word_of_success_counts_that_no_exception_of_the_program_stands_above(
    tmp_path, text, state, status
):
    (tmp_path / "train.log").write_text(text)
    dx = analyzer.diagnose(tmp_path)

    assert (dx.ended.state, dx.status) == (state, status)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (cancelled(), "ended from outside: Slurm cancelled its step"),
        (cancelled("DUE TO TIME LIMIT "), "ended from outside: Slurm cancelled the job (reason: time limit)"),
    ],
)
def test_a_cancelled_step_is_an_end_from_outside_and_its_reason_is_told(tmp_path, text, words):
    (tmp_path / "train.log").write_text(rows(1, 300) + text)
    dx = analyzer.diagnose(tmp_path)

    assert dx.status == "interrupted"
    assert words in dx.summary


def test_a_step_that_was_cancelled_before_another_trained_is_no_end(tmp_path):
    (tmp_path / "train.log").write_text(rows(1, 300) + cancelled() + rows(1, 400))

    assert analyzer.diagnose(tmp_path).status == "healthy"
