"""What ``import analyzer`` offers stays what it is, whatever was used before."""

import types
from pathlib import Path

import analyzer

SAMPLE = Path(__file__).parents[1] / "samples" / "healthy" / "qwen2-bf16-sft"


def test_no_submodule_takes_the_place_of_a_public_name():
    dx = analyzer.diagnose(SAMPLE)

    assert analyzer.report(dx).startswith("HEALTHY")
    for name in analyzer.__all__:
        assert not isinstance(getattr(analyzer, name), types.ModuleType), name
