"""How full the host was, and what a compiler counted: tables beside a log as facts."""

from __future__ import annotations

import pytest

from analyzer import diagnose

LOG = "step 100 loss 3.2\nstep 200 loss 3.0\nstep 300 loss 2.9\nKilled\n"
FREE = "              total        used        free      shared  buff/cache   available\n"


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        (
            "Mem:          125Gi       122Gi       1.1Gi       2.0Gi       2.1Gi       800Mi\n",
            "host-oom-kill",
        ),
        (
            "Mem:      131891712   129891712      900000      100000     1100000      800000\n",
            "host-oom-kill",
        ),
        (
            "Mem:          125Gi        20Gi       100Gi       2.0Gi       5.0Gi       104Gi\n",
            "process-sigkilled",
        ),
        (
            "Mem:            125          20         100           2           5           0\n",
            "host-oom-kill",
        ),
    ],
)
def test_a_table_of_free_names_the_sender_of_a_kill(tmp_path, row, cause):
    (tmp_path / "train.log").write_text(LOG)
    (tmp_path / "free.txt").write_text(FREE + row)

    assert diagnose(tmp_path).findings[0].cause.id == cause


def test_deepspeed_s_print_of_the_host_is_read(tmp_path):
    (tmp_path / "train.log").write_text(
        "[2026-05-01 10:00:00,125] [INFO] [utils.py:808:see_memory_usage] CPU Virtual Memory:  used = 480.11 GB, percent = 95.3%\n"
        "[2026-05-01 10:02:00,125] [ERROR] [launch.py:322:sigkill_handler] ['python', '-u', 'train.py'] exits with return code = -9\n"
    )
    assert "host-oom-kill" in [finding.cause.id for finding in diagnose(tmp_path).findings[:2]]


def test_what_the_compiler_counted_decides(tmp_path):
    head = (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in "
        "memory space hbm. Used 22.13G of 15.48G hbm. Exceeded hbm capacity by 6.65G.\n"
    )
    (tmp_path / "train.log").write_text(head)
    assert diagnose(tmp_path).findings[0].cause.id == "oom-capacity"

    table = "Total hbm usage >= 22.65G:\n    reserved        530.00M \n    program          22.13G \n    arguments            0B \n"
    (tmp_path / "train.log").write_text(head + "\n" + table)
    assert diagnose(tmp_path).findings[0].cause.id == "oom-activations"
