"""What is told beside how a run ended: what it waited for as somebody gave up, and what words alone suggest."""

import pytest

import analyzer
from analyzer import pipeline
from analyzer.model.diagnosis import WORDS
from tests.shipped_samples import SAMPLES, studied

TORCH = "/opt/lib/python3.11/site-packages/torch/distributed"
ROWS = "".join(f"step {n} loss {1 + 3 * 0.96**n:.4f}\n" for n in range(1, 60))


@pytest.mark.parametrize(
    ("before", "call", "file", "function", "causes"),
    [
        ("", "dist.init_process_group()", f"{TORCH}/rendezvous.py", "_create_c10d_store", ["rendezvous-timeout", "user-cancelled"]),
        (ROWS, "dist.barrier()", f"{TORCH}/distributed_c10d.py", "barrier", ["training-stall", "user-cancelled"]),
        (ROWS, "loss.backward()", "/opt/lib/python3.11/site-packages/torch/_tensor.py", "backward", ["user-cancelled"]),
    ],
)  # fmt: skip
def test_who_gives_up_on_a_wait_is_told_what_it_waited_for(tmp_path, before, call, file, function, causes):
    (tmp_path / "train.log").write_text(
        f'{before}^CTraceback (most recent call last):\n  File "/srv/job/fit.py", line 9, in <module>\n    {call}\n'
        f'  File "{file}", line 210, in {function}\n    wait()\nKeyboardInterrupt\n'
    )
    dx = analyzer.diagnose(tmp_path)

    assert [finding.cause.id for finding in dx.findings] == causes


@pytest.mark.parametrize(("words", "cut", "behind"), [(0.4, 0.6, 2), (0.4, 0.4, 2), (0.45, 0.3, 0)])
def test_what_words_alone_suggest_stands_behind_a_log_that_is_likelier_cut_off(words, cut, behind):
    first = studied(SAMPLES[0]).diagnosis.findings[0]
    line = first.evidence[0]._replace(id=WORDS, values={})
    by_words = first._replace(probability=words, evidence=(line,))
    ends = first._replace(
        probability=cut, cause=first.cause._replace(id="log-truncated", kind="lifecycle"), severity="advisory"
    )

    assert pipeline._says_less(by_words, (ends, by_words), "insufficient") == behind


@pytest.mark.parametrize(("raised", "by_numbers"), [("TypeError", False), ("AcmeNumericsError", True)])
def test_a_call_that_python_refuses_does_not_follow_from_a_loss_that_ran_away(tmp_path, raised, by_numbers):
    losses = "".join(f"step {n} loss {2 + n * 0.8:.3f}\n" for n in range(1, 90))
    (tmp_path / "train.log").write_text(
        f'{losses}Traceback (most recent call last):\n  File "/srv/job/fit.py", line 9, in <module>\n    model.update(x)\n'
        f"{raised}: update() did not take it\n"
    )
    first = analyzer.diagnose(tmp_path).findings[0]

    assert first.cause.id == "loss-divergence"
    assert ("user-code-exception" in str(first.explains)) == by_numbers


KILLS = {"process-sigkilled", "host-oom-kill"}


@pytest.mark.parametrize(("code", "killed"), [(1, False), (-9, True)])
def test_a_worker_that_ended_with_a_code_of_its_own_was_not_killed(tmp_path, code, killed):
    (tmp_path / "train.log").write_text(
        f'  File "{TORCH}/launcher/api.py", line 264, in launch_agent\n    raise ChildFailedError(\n'
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
        f"{'=' * 60}\nfit.py FAILED\n{'-' * 60}\nFailures:\n  <NO_OTHER_FAILURES>\n{'-' * 60}\n"
        f"Root Cause (first observed failure):\n[0]:\n  time      : 2026-06-06_03:48:09\n  host      : node-0\n"
        f"  rank      : 0 (local_rank: 0)\n  exitcode  : {code} (pid: 3339)\n  error_file: <N/A>\n"
        "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n"
    )
    told = {finding.cause.id for finding in analyzer.diagnose(tmp_path).findings}

    assert bool(told & KILLS) == killed


def test_a_part_that_an_installed_package_lacks_is_no_package_that_nobody_installed(tmp_path):
    (tmp_path / "train.log").write_text(
        'Traceback (most recent call last):\n  File "/srv/job/fit.py", line 9, in <module>\n    import acme_kernels\n'
        '  File "/opt/lib/python3.11/site-packages/acme_kernels/__init__.py", line 3, in <module>\n'
        "    from acme.utils.helpers import tile\nModuleNotFoundError: No module named 'acme.utils.helpers'\n"
    )
    causes = [finding.cause.id for finding in analyzer.diagnose(tmp_path).findings]

    assert causes[0] == "library-abi-mismatch"
    assert "package-missing" not in causes
