"""Ctrl-C while a rank waits for the others: what it waited for is told beside who stopped it."""

import pytest

import analyzer

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
