"""What a run came through, with its own end far below: the crash of a helper program, an exception that waits in vain for its traceback."""

from __future__ import annotations

import pytest

import analyzer

pytestmark = pytest.mark.usefixtures("causes_only")
CRASHED = "helper: exit code: -4, Illegal instruction (core dumped)\n"
LIMIT = "slurmstepd: error: *** JOB 77 ON node-a CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***\n"
FRAMES = (
    'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    main()\n'
    '  File "train.py", line 5, in main\n    run()\n'
)


def first(folder, text):
    log = folder / "train.log"
    log.write_text("loading configuration\n" + text, encoding="utf-8")
    return analyzer.diagnose(log).findings[0].cause.id


@pytest.mark.parametrize(
    ("lines", "cause"), [(500, "scheduler-time-limit"), (20, "native-crash")], ids=["ran-on", "hung"]
)
def test_a_crash_that_the_job_ran_on_after_did_not_end_it(tmp_path, lines, cause):
    served = "".join(f"request {number} served in 3 ms\n" for number in range(lines))
    assert first(tmp_path, CRASHED + served + LIMIT) == cause


def test_later_programs_are_read_by_themselves_below_a_traceback_whose_exception_is_lost(tmp_path):
    torn = FRAMES + FRAMES + "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    later = FRAMES + "NotImplementedError: no such algorithm: fast\n"
    last = FRAMES + "FileNotFoundError: [Errno 2] No such file or directory: '/data/a.csv'\n"
    assert first(tmp_path, torn + later * 4 + last) == "missing-input-path"
