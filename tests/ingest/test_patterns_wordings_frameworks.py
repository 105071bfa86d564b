"""Lines that hold the words of ``programs/wordings_frameworks.yaml`` and say something else."""

from __future__ import annotations

import pytest
from log_reading import read_text

LOOK_ALIKES = [
    ("library_mismatch", "I cpu_feature_guard.cc] optimized to use AVX2 in critical operations"),
    ("no_accelerator", "WARNING No GPU device found, falling back to the CPU"),
    ("module_missing", "INFO apex is not installed; please install apex for speed"),
    ("missing_path", "WARNING lmdb.Error: /cache/a: No such file or directory, skipping"),
    ("state_dict_mismatch", "INFO the class weights file is not a file in the archive list"),
    ("cuda_oom", "INFO memory_pool: 12 GB free"),
]


@pytest.mark.parametrize(("kind", "line"), LOOK_ALIKES)
def test_a_line_with_the_same_words_is_not_taken(kind, line):
    assert not read_text(line + "\n").events.of(kind)
