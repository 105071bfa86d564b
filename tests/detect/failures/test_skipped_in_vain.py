"""A batch that is left out for memory: survived where rows follow, not where the next line is an exception."""

from __future__ import annotations

from analyzer import diagnose

SKIP = "THCudaCheck FAIL file=/src/THCStorage.cu line=58 error=2 : out of memory\n| WARNING: ran out of memory, skipping batch\n"
RAISED = (
    'Traceback (most recent call last):\n  File "train.py", line 29, in <module>\n    main(args)\n'
    '  File "/srv/job/trainer.py", line 189, in step\n    p.grad.data.div_(n)\n'
    "AttributeError: 'NoneType' object has no attribute 'data'\n"
)


def test_the_exception_right_behind_it_is_its_consequence(tmp_path):
    (tmp_path / "train.log").write_text(SKIP + RAISED)

    assert diagnose(tmp_path).findings[0].cause.id == "gpu-out-of-memory"


def test_rows_that_follow_show_that_it_was_survived(tmp_path):
    rows = "".join(f"step {n} loss {3 - n / 100:.3f}\n" for n in range(40))
    (tmp_path / "train.log").write_text(rows[:200] + "\n" + SKIP + rows + RAISED)
    answer = diagnose(tmp_path)

    assert all(
        finding.cause.id != "gpu-out-of-memory" or finding.probability < 0.2 for finding in answer.findings
    )
