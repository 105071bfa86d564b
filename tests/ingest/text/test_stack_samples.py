"""Stacks that py-spy prints of running processes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_reading import only, read_text

DUMP = (
    "Process 4711: python train.py\nPython v3.11.9 (/usr/bin/python3.11)\n\n"
    'Thread 4711 (idle): "MainThread"\n'
    "    wait (threading.py:355)\n"
    "    0x7f0000000000 (libcuda.so.1)\n"
    "    get_result (torch/_inductor/async_compile.py:436)\n"
    "    main (train.py:90)\n"
    'Thread 4720 (idle): "tqdm_monitor"\n    run (tqdm/_monitor.py:69)\n'
)


def test_the_main_thread_tells_where_a_process_stands():
    assert only(read_text(DUMP), "stack_taken") == {
        "state": "idle",
        "file": "train.py",
        "line": 90,
        "function": "main",
        "phase": "compile",
    }


def test_every_process_is_one_stack():
    assert len(read_text(DUMP * 3).events.of("stack_taken")) == 3


@pytest.mark.parametrize(
    "line",
    [
        'INFO worker started ("MainThread")\n',
        '2024-01-01 (idle): "MainThread" resumes\n',
        "wait (threading.py:355)\n",
    ],
)
def test_other_lines_that_name_threads_are_no_stacks(line):
    assert not read_text(line * 3 + "{'loss': 1.0, 'epoch': 1}\n").events.of("stack_taken")


@given(st.integers(0, len(DUMP)))
def test_a_dump_that_is_cut_anywhere_is_read_as_far_as_it_goes(length):
    assert len(read_text(DUMP[:length]).events.of("stack_taken")) <= 1
