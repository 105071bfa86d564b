"""Lines that look like those of a crash, a refused call or a net that does not fit, and tell of none."""

from __future__ import annotations

import pytest

from analyzer.ingest.text.events.patterns import all_patterns, match_pattern
from analyzer.ingest.text.prefixes import peel

FAILURES = frozenset(
    {
        "segfault", "sigabrt", "sigkill", "illegal_instruction", "arithmetic_trap", "bus_error", "process_terminated", "cuda_oom",
        "argument_rejected", "state_dict_mismatch", "missing_path", "module_missing", "version_drift", "program_missing",
        "nccl_connect_failed", "connection_lost", "rendezvous_failure", "device_lost", "gpu_ring_timeout",
    }
)  # fmt: skip


def kinds(line: str) -> set[str]:
    text = peel(line).text
    return {
        pattern.kind
        for pattern in all_patterns()
        if any(literal in text for literal in pattern.literals) and match_pattern(pattern, text) is not None
    }


@pytest.mark.parametrize(
    "line",
    [
        "node 139: 8 devices are ready",
        "trainer-0 exited with code 1",
        "the evaluation exited with code -1",
        "exit code 1390 is none",
        "episode 12: 11880 killed monsters, 3 lives left",
        "hunters: 12 killed 60 deer",
        "Received signal 12 from the scheduler, saving",
        "exception: access was granted on the second try",
        "2 pre-built layer types are known: Python, Data",
        "I0917 10:00:00.705237 11568 net.cpp:444] loss <- labels_reshape_split_0",
        "I0917 10:00:00.705237 11568 layer_factory.hpp:77] Creating layer data",
        "registered file system scheme gs",
        "data_dir is gs://bucket/sets, a GCS path",
        "Parameters: { depth: 6, eta: 0.3 } are used for all folds",
        "Call to recv from 10.0.0.2<56843> took 3 ms",
        "[drm] GT0: Engine of class ccs is ready",
        "paddle::memory::allocation uses auto_growth",
        "LightGBM listens on port 12400",
    ],
)
def test_look_alikes_tell_of_no_failure(line):
    assert kinds(line) & FAILURES == set()


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("pod train-3: container trainer exited with code 139", "segfault"),
        ("exitcode=-11", "segfault"),
        ("run.sh: 60: 11880 Killed                python3 fit.py", "sigkill"),
        ("Error: File system scheme '[local]' not implemented (file: 'a')", "missing_path"),
        ("File system scheme 'hdfs' not implemented", "module_missing"),
        ("n3: Net : Call to send to 10.0.0.2<56843> failed : Connection refused", "nccl_connect_failed"),
    ],
)
def test_relatives_are_read(line, kind):
    assert kind in kinds(line)
