"""Expressions that Python compiled are taken over from earlier runs, and are the same."""

import re

import pytest

from analyzer import lazy_regex
from analyzer.ingest.text.events.patterns import all_patterns
from analyzer.lazy_regex import LazyRegex, compiled
from analyzer.vocabulary import compiled as kept
from analyzer.vocabulary.compiled import kept_expressions, parts_of


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch, tmp_path):
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kept, "WORTH_WRITING", 2)
    before = dict(lazy_regex.KEPT), dict(lazy_regex.ANEW)
    lazy_regex.KEPT.clear()
    lazy_regex.ANEW.clear()
    yield
    for known, content in zip((lazy_regex.KEPT, lazy_regex.ANEW), before, strict=True):
        known.clear()
        known.update(content)


def test_all_patterns_of_events_can_be_kept_and_are_equal():
    for pattern in all_patterns():
        made = re.compile(pattern.regex)
        again = lazy_regex.built(pattern.regex, *parts_of(made))
        assert again == made
        assert again.groupindex == made.groupindex


def test_a_second_run_compiles_nothing(monkeypatch):
    texts = (r"(?i)(?P<word>épo(?:ch|que))\s(\d+)", "[^a-z]{3}", "(?s)a.b")
    with kept_expressions():
        first = [compiled(text) for text in texts]
    lazy_regex.KEPT.clear()

    with kept_expressions():
        monkeypatch.setattr(re, "compile", None)
        assert [compiled(text) for text in texts] == first
        assert LazyRegex(texts[0]).search("Époque 7")["word"] == "Époque"
    assert not lazy_regex.ANEW


def test_what_python_does_not_take_is_compiled():
    lazy_regex.KEPT["a+"] = (32, 0, {}, b"AAAA")
    assert compiled("a+") == re.compile("a+")
    assert not lazy_regex.KEPT


def test_an_interpreter_without_the_interface_keeps_nothing(monkeypatch):
    monkeypatch.setattr(kept, "import_module", lambda name: object())
    with kept_expressions():
        assert compiled("a+b") == re.compile("a+b")
        assert compiled("a+c") == re.compile("a+c")
    assert parts_of(re.compile("a+b")) is None


def test_the_file_does_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(kept, "MOST", 3)
    for names in ("ab", "cd"):
        with kept_expressions():
            for name in names:
                compiled(name)
        lazy_regex.KEPT.clear()
    with kept_expressions():
        assert sorted(lazy_regex.KEPT) == ["c", "d"]
