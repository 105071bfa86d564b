"""Start-up time is a feature: heavy packages are imported only where they are used."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.__main__ import source_alone

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
    "numpy.ma",
    "google.protobuf",
    "tarfile",
    "analyzer.cli.triage",
    "analyzer.detect.replay.replay_numeric",
    "analyzer.detect.compare",
)
NEEDLESS = ("typer", "zipfile", "shutil", "yaml")
"""Which the plain ``diagnose RUN`` does without: the parser of options, archives, and YAML of several levels."""
MOST_MODULES, MOST_OF_A_CRASH = 292, 244
"""Modules of analyzer for a small run, and for a log that holds a traceback only: each costs a third of a millisecond and more."""
PROBE = """
import sys
sys.argv = ["analyzer", *{arguments!r}]
from analyzer.__main__ import main
try:
    main()
except SystemExit as end:
    assert end.code in (0, None), end.code
print(sum(name.startswith("analyzer") for name in sys.modules))
print("LOADED", sorted(name for name in {heavy!r} if name in sys.modules), "numpy" in sys.modules)
"""


def loaded(*arguments, heavy=HEAVY):
    probe = PROBE.format(arguments=list(arguments), heavy=list(heavy))
    result = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True
    )
    *_, modules, found = result.stdout.splitlines()
    return found, int(modules)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache that no other process writes: a write imports what the test says is not needed."""
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("arguments", [["diagnose", "--help"], ["version"]])
def test_help_and_version_import_nothing_heavy(arguments):
    assert loaded(*arguments)[0] == "LOADED [] False"


def test_the_help_of_all_commands_imports_what_describes_them_only():
    assert loaded("--help")[0] == "LOADED ['analyzer.cli.triage'] False"


@pytest.mark.usefixtures("own_cache")
def test_a_diagnosis_imports_numpy_only():
    run = str(ROOT / "samples" / "failed" / "qwen2-fp16-sft-loss-zero")
    loaded("diagnose", run)  # fills the cache: making it takes more modules than reading it
    found, modules = loaded("diagnose", run, heavy=(*HEAVY, *NEEDLESS))

    assert found == "LOADED [] True"
    assert modules <= MOST_MODULES


@pytest.mark.usefixtures("own_cache")
def test_a_crash_without_rows_loads_no_curves(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        "Traceback (most recent call last):\n"
        '  File "/w/train.py", line 88, in main\n'
        "    out = model(batch)\n"
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    loaded("diagnose", str(log))
    found, modules = loaded("diagnose", str(log), heavy=(*HEAVY, *NEEDLESS, "analyzer.detect.shapes.forest"))

    assert found == "LOADED [] True"
    assert modules <= MOST_OF_A_CRASH


def test_an_option_or_a_configuration_is_parsed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert source_alone(["diagnose", "run.log"]) == "run.log"
    assert source_alone(["diagnose", "-"]) == "-"
    for arguments in (["diagnose", "--help"], ["diagnose", "a", "--all"], ["explain", "run.log"], []):
        assert source_alone(arguments) is None
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\ndependencies = ["analyzer"]  # a tool\n')
    assert source_alone(["diagnose", "run.log"]) == "run.log"
    for told in ("[tool.analyzer]\n", "[tool]\nanalyzer = {}\n", "tool.analyzer.diagnose = {}\n"):
        project.write_text(told + "\n")
        assert source_alone(["diagnose", "run.log"]) is None, told
    project.unlink()
    (tmp_path / "analyzer.toml").write_text('[diagnose]\nformat = "json"\n')
    assert source_alone(["diagnose", "run.log"]) is None


def test_the_end_at_once_leaves_nothing_behind_and_loses_nothing(tmp_path):
    run = ROOT / "samples" / "failed" / "qwen2-fp16-sft-loss-zero"
    packed = shutil.make_archive(str(tmp_path / "run"), "gztar", run)
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    result = subprocess.run(
        [sys.executable, "-m", "analyzer", "diagnose", packed],
        cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip

    assert result.stdout.startswith("FAILED")
    assert result.stdout.endswith("\n")
    assert list(scratch.iterdir()) == []
