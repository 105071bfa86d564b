"""The one word for a run, where several things are true at once."""

from __future__ import annotations

import pytest

import analyzer
from analyzer.render.sentences import first_failure_note
from analyzer.rules.status import outcome


def diagnose(tmp_path, text):
    path = tmp_path / "train.log"
    path.write_text(text)
    return analyzer.diagnose(path)


def flat_run(end):
    rows = "".join(
        f"{{'loss': 2.30{step % 3}, 'learning_rate': 1e-5, 'epoch': {step / 100}}}\n" for step in range(60)
    )
    return rows + end


def test_a_run_that_died_has_failed_whatever_else_was_poor(tmp_path):
    crash = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    main()\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15\n'
    dx = diagnose(tmp_path, flat_run(crash))
    alone = diagnose(tmp_path, flat_run(""))

    assert alone.status == "degraded"
    assert dx.status == "failed"


def test_a_failure_that_no_rule_explains_is_told_with_its_line(tmp_path):
    dx = diagnose(tmp_path, "bash: trian: command not found\n")

    assert dx.status == "failed"
    assert "command not found" in dx.summary
    assert first_failure_note(dx) == "first failure: [train.log:1]"


def test_the_host_that_wrote_of_a_time_limit_has_not_failed(tmp_path):
    line = "slurmstepd: error: *** JOB 7 ON node-a CANCELLED AT 2024-05-27T21:42:11 DUE TO TIME LIMIT ***\n"
    dx = diagnose(tmp_path, flat_run(line))

    assert dx.first_failure is not None
    assert first_failure_note(dx) == ""


@pytest.mark.parametrize(
    ("zeros", "still", "rl", "failed"),
    [
        (0.87, 0.97, False, True),
        (0.87, 0.97, True, False),
        (0.6, 0.5, False, False),
        (0.1, 1.0, False, False),
    ],
)
def test_a_run_without_loss_and_gradient_has_failed(zeros, still, rl, failed):
    seen = outcome({"signal.loss_zero.share": zeros, "signal.grad_norm.zero_share": still, "run.rl": rl})

    assert bool(seen.failed) is failed


def short_run(losses):
    return "".join(
        f"{{'loss': {loss}, 'learning_rate': 1e-05, 'epoch': {at / 10}}}\n" for at, loss in enumerate(losses)
    )


def test_a_loss_that_is_zero_at_once_is_no_learning(tmp_path):
    sudden = diagnose(tmp_path, short_run([2.7, 2.6, 2.5, 0.0, 0.0]))
    learned = diagnose(tmp_path, short_run([0.5, 0.1, 0.01, 0.0001, 0.0]))

    assert sudden.status == "failed"
    assert learned.status != "failed"


def test_a_training_loss_that_rises_is_not_called_healthy(tmp_path):
    rising = diagnose(
        tmp_path, short_run([1.40, 1.41, 1.43, 1.45, 1.47, 1.49, 1.51, 1.53, 1.56, 1.58, 1.60, 1.61])
    )

    assert rising.status == "insufficient"
    assert "above its start" in rising.summary
