"""The README and the guides are true: every command in them runs and prints what they show; every option is named."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.cli import exit_codes

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
CONSOLE = re.compile(r"^```console\n\$ (.*)\n((?:(?!^```).*\n)*)```$", re.MULTILINE)
CLI, CLASSIFIER = (ROOT / "analyzer" / room / "README.md" for room in ("cli", "classifier"))
GUIDE = CLI.read_text(encoding="utf-8")
COMMANDS = CONSOLE.findall(TEXT + GUIDE + CLASSIFIER.read_text(encoding="utf-8"))


def run(command):
    """Output of a README command; `analyzer` and `python` are those of this environment."""
    bin_directory = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_directory}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_commands_to_check():
    assert len(COMMANDS) >= 4


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command[:60] for command, _ in COMMANDS])
def test_a_command_prints_what_the_readme_shows(command, shown):
    assert run(command) == shown


def test_the_python_example_runs(capsys, monkeypatch):
    code = re.search(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL).group(1)
    monkeypatch.chdir(ROOT)
    fleet = '["samples/failed", "samples/healthy"]'
    assert fleet in code  # two of them are enough here: tests/test_samples.py looks at all
    code = code.replace(
        fleet, '["samples/failed/qwen2-fp16-sft-loss-zero", "samples/healthy/qwen2-bf16-sft"]'
    )
    exec(compile(code, "README.md", "exec"), {})

    assert "bf16-pretrained-model-in-fp16" in capsys.readouterr().out


def test_the_set_up_of_the_readme_is_what_ci_does():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert 'pip install -e ".[test]"' in TEXT
    assert re.search(r'pip install .*-e "\.\[test', script)
    assert re.search(r"^pytest", script, re.MULTILINE)


def test_nothing_tells_a_reader_to_fetch_the_package_from_the_index():
    paths = [README, *ROOT.glob("analyzer/**/*.md"), *ROOT.glob("samples/*.md"), *ROOT.glob("samples/agents/**/*.md"),
             *ROOT.glob("samples/hooks/*")]  # fmt: skip
    named = re.compile(r"pip3? install [^`&\n]*(?<![\w/.])(?:training-)?analyzer(?![\w/-])")
    told = {path.name: named.findall(path.read_text(encoding="utf-8")) for path in paths if path.is_file()}

    assert {name: found for name, found in told.items() if found} == {}
    hints = [
        path for path in ROOT.glob("analyzer/**/*.py") if "training-analyzer[" in path.read_text("utf-8")
    ]
    assert hints == []  # nor does an error message
    assert named.search('pip install "training-analyzer[mcp]"')
    assert "**It is not on the\npackage index**" in TEXT


def test_every_exit_code_is_documented():
    codes = [value for name, value in vars(exit_codes).items() if name.isupper()]

    assert [code for code in codes if f"| {code} |" not in GUIDE] == []


@pytest.mark.parametrize(
    "command", ["diagnose", "explain", "rules list", "rules new", "schema diagnosis", "version"]
)
def test_every_option_of_the_main_command_is_named_in_its_guide_and_every_command_has_help(command):
    text = run(f"analyzer {command} --help")

    assert "Usage:" in text
    if command == "diagnose":
        options = set(re.findall(r"--[a-z-]+", text)) - {"--help"}
        assert {option for option in options if option not in GUIDE} == set()


def test_every_file_that_the_readme_or_a_guide_links_to_exists():
    linked = [
        page.parent / link
        for page in (README, CLI, CLASSIFIER)
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    ]

    assert [str(link) for link in linked if not link.exists()] == []


def test_the_commands_of_the_readme_are_safe_to_split():
    for command, _ in COMMANDS:
        assert shlex.split(command)
