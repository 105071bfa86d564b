"""What somebody else wrote does not become markup: links, mentions, elements, tables, formulas, escapes."""

import csv
import io
import json
import re

import pytest

from analyzer import api
from analyzer.errors import RuleError
from analyzer.render.markdown import code, escape
from analyzer.rules.load import load_rules
from analyzer.triage.pages import render_fleet
from analyzer.triage.store import RUN_COLUMNS
from analyzer.triage.summary import FleetSummary
from analyzer.vocabulary import cache

EVIL = "<script>alert(1)</script> ![x](http://x.example/i.png) @team https://x.example www.x.example `a` |b\n# head"


def test_markdown_shows_foreign_text_as_it_is():
    shown = escape(EVIL)

    assert "\n" not in shown
    assert not re.search(r"(?<!\\)[<>`|#]", shown)
    assert not re.search(r"(?<!\\)!?\[", shown)
    assert "@" not in shown
    assert "https://" not in shown
    assert "www." not in shown


@pytest.mark.parametrize("text", ["plain", "a`b", "``", "`", "a|b", "x\ny"])
def test_no_backtick_ends_a_piece_of_code(text):
    shown = code(text)
    mark = re.match("`+", shown)[0]

    assert shown.endswith(mark)
    assert mark not in shown[len(mark) : -len(mark)]
    assert "|" not in shown
    assert "\n" not in shown


def test_a_run_whose_every_text_is_markup(tmp_path):
    config = {"fp16": {"enabled": True}, EVIL: EVIL, "model_name_or_path": EVIL, "learning_rate": EVIL}
    (tmp_path / "ds_config.json").write_text(json.dumps(config), encoding="utf-8")
    rows = "".join(
        f"{{'loss': nan, 'grad_norm': nan, 'learning_rate': 0.1, 'epoch': {i}}}\n" for i in range(1, 9)
    )
    (tmp_path / "`x` @team.log").write_text(rows + f"RuntimeError: {EVIL}\n", encoding="utf-8")
    shown = api.report(api.diagnose(tmp_path), "markdown", show_all=True)
    outside = re.sub(r"(?s)(`{1,9})(?!`).*?(?<!`)\1(?!`)", "", shown)

    assert "<script>" not in outside
    assert not re.search(r"(?<!\w)@\w", outside)
    assert "http://x" not in outside


def test_the_csv_of_a_triage_holds_no_escape_and_no_formula():
    row = dict.fromkeys(
        (name for name, _, _ in RUN_COLUMNS), "=cmd|' /C calc'!A0\x1b]52;c;aGk=\x07\u202e\x9b"
    )
    text = render_fleet(FleetSummary(), lambda: iter([{"run": row, "findings": []}]), "csv")
    cells = next(iter(list(csv.reader(io.StringIO(text)))[1:]))

    assert all(cell.startswith("'=") for cell in cells)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


@pytest.mark.parametrize("bad", [r'"a\e]52;c;aGk=\a"', '"a\u202eb"', r'"\x9b31m"', "9" * 5000])
def test_a_rule_pack_cannot_write_to_the_terminal_nor_end_the_reader(tmp_path, bad):
    (tmp_path / "rule.yaml").write_text(f"id: {bad}\ntitle: {bad}\n", encoding="utf-8")

    with pytest.raises(RuleError):
        load_rules((tmp_path,))


def test_a_pipe_or_a_device_as_a_rule_is_refused(tmp_path):
    import os

    os.mkfifo(tmp_path / "rule.yaml")
    with pytest.raises(RuleError, match=r"regular file|no rule"):
        load_rules((tmp_path,))
    (tmp_path / "rule.yaml").unlink()
    (tmp_path / "rule.yaml").symlink_to("/dev/zero")
    with pytest.raises(RuleError, match=r"regular file|no rule"):
        load_rules((tmp_path,))


def test_a_rule_of_ten_megabytes_is_refused(tmp_path):
    (tmp_path / "rule.yaml").write_text("id: X\nwhen: " + "a or " * 2_000_000 + "b\n", encoding="utf-8")
    with pytest.raises(RuleError, match="more than"):
        load_rules((tmp_path,))


def test_a_cache_with_one_flipped_bit_is_no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path))
    cache.write("words", "k" * 64, {"a": [1, 2, 3]})
    (path,) = tmp_path.iterdir()
    assert cache.read("words", "k" * 64) == {"a": [1, 2, 3]}
    assert path.stat().st_mode & 0o077 == 0
    content = path.read_bytes()
    for bit in range(8 * len(content)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        assert cache.read("words", "k" * 64) is None
    path.write_bytes(content[:-1])
    assert cache.read("words", "k" * 64) is None


def test_a_cache_that_others_may_write_or_that_is_no_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path))
    cache.write("words", "k" * 64, [1])
    (path,) = tmp_path.iterdir()
    path.chmod(0o666)
    assert cache.read("words", "k" * 64) is None
    path.chmod(0o600)
    monkeypatch.setattr("analyzer.vocabulary.cache.os.geteuid", lambda: 12345)
    assert cache.read("words", "k" * 64) is None
    path.unlink()
    import os

    os.mkfifo(path)
    assert cache.read("words", "k" * 64) is None
