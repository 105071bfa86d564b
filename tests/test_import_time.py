"""Start-up time is a feature: heavy packages are imported only where they are used."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = (
    "pandas",
    "pyarrow",
    "sklearn",
    "scipy",
    "wandb",
    "tensorboard",
    "matplotlib",
    "pydantic",
    "rich",
    "google.protobuf",
)
PROBE = """
import sys
sys.argv = ["analyzer", *{arguments!r}]
from analyzer.cli.app import main
try:
    main()
except SystemExit as end:
    assert end.code in (0, None), end.code
print("LOADED", sorted(name for name in {heavy!r} if name in sys.modules), "numpy" in sys.modules)
"""


def loaded(*arguments):
    probe = PROBE.format(arguments=list(arguments), heavy=list(HEAVY))
    result = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return result.stdout.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["diagnose", "--help"], ["version"]])
def test_help_and_version_import_nothing_heavy(arguments):
    assert loaded(*arguments) == "LOADED [] False"


def test_a_diagnosis_imports_numpy_only():
    assert (
        loaded("diagnose", str(ROOT / "samples" / "failed" / "qwen2-fp16-sft-loss-zero")) == "LOADED [] True"
    )
