"""CONTRIBUTING.md is true: its paths exist, its commands are commands, and its example of a log line works."""

import re
import shutil
from pathlib import Path

from typer.testing import CliRunner

from analyzer.cli.app import app
from analyzer.facts.catalog import COLUMNS
from analyzer.ingest.text.events.patterns import Pattern, match_pattern
from analyzer.rules.causes import KINDS
from analyzer.vocabulary.events import read_events
from analyzer.vocabulary.marked import load_marked
from analyzer.vocabulary.packs import use

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_path_exists():
    named = re.findall(r"(?:analyzer|tests|rules)/[\w/.]+", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))

    assert named
    assert [path for path in named if not (ROOT / path.rstrip("./")).exists()] == []


def test_the_example_of_a_log_line_works():
    (block,) = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
    (row,) = read_events([load_marked(block, "scratch.yaml")])["patterns"]

    found = match_pattern(Pattern(*row), "scratch quota reached on /scratch/u7, 12 MiB left")

    assert found == {"path": "/scratch/u7", "free_gib": 12 / 1024}


def test_a_new_rule_is_two_files(tmp_path):
    result = CliRunner().invoke(app, ["rules", "new", "PREC", "my-rule", "--dir", str(tmp_path)])

    assert result.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "my-rule").iterdir()) == ["cases.yaml", "rule.yaml"]


def test_a_new_rule_of_a_pack_asks_for_its_cause_in_the_words_of_the_pack(tmp_path):
    (tmp_path / "pack.yaml").write_text("prefix: hop\n")
    new = ["rules", "new", "HOP", "hop-jam", "--dir", str(tmp_path)]
    said = CliRunner().invoke(app, new).output.splitlines()

    assert f"{tmp_path / 'causes.yaml'} below `causes:`" in said[-2]
    (tmp_path / "causes.yaml").write_text(f"causes:\n{said[-1]}\n")
    shutil.rmtree(tmp_path / "hop-jam")
    assert "no cause is called" not in CliRunner().invoke(app, new).output
    use(())


def test_the_words_of_the_page_are_those_of_the_code():
    rooms = sorted(path.name for path in (ROOT / "analyzer/ingest/text/events").iterdir() if path.is_dir())
    (named,) = re.findall(r"\(rooms ([^)]*)\)", TEXT)
    (kinds,) = re.findall(r"`kind` is ([^;]*);", TEXT.replace("\n", " "))
    (columns,) = re.findall(r"\((name \|[^)]*)\)", TEXT)

    assert sorted(re.findall(r"\w+", named)) == [room for room in rooms if room != "__pycache__"]
    assert re.findall(r"[\w-]+", kinds.replace(" or ", " ")) == list(KINDS)
    assert [column.strip() for column in columns.split("|")] == list(COLUMNS)


def test_a_pasted_line_is_told_as_the_page_says():
    def told(line):
        return CliRunner().invoke(app, ["rules", "list", "--grep", line]).output

    assert "read as a row of metrics: loss 2.5 at step 10" in told("step 10 loss 2.5")
    assert "read as disk_full (root_candidate)" in told("OSError: [Errno 28] No space left on device")
