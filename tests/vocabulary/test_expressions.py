"""Regular expressions whose compiled lists are kept between runs: the same matches, and never a failure."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from analyzer.lazy_regex import LazyRegex
from analyzer.vocabulary import cache
from analyzer.vocabulary.expressions import WORTH_WRITING, kept_expressions

TEXT = "Epoch 3: Loss=0.25 loß=1e-3 NaN\n" * 2
FORMS = [
    r"(?i)(?P<name>l\w{1,3})=(?P<value>[-\d.e]+)",
    r"(?m)^epoch|(?<=: )(?i:l)oss",
    r"(?P<a>E)?(?P=a)poch|n[^\x00-@\u2000-\u2bff]N",
    *(rf"(\d){{1,{n}}}(?:{n}|\.)" for n in range(1, WORTH_WRITING)),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path))
    return tmp_path


def found() -> list[list[object]]:
    regexes = [LazyRegex(form) for form in FORMS]
    with kept_expressions():
        return [[(m.span(), m.groups(), m.groupdict()) for m in regex.finditer(TEXT)] for regex in regexes]


def test_kept_expressions_find_what_compiled_ones_find(folder: Path) -> None:
    expected = [[(m.span(), m.groups(), m.groupdict()) for m in re.finditer(form, TEXT)] for form in FORMS]
    assert found() == expected
    (kept,) = folder.glob("expressions-*.json")
    before = kept.stat().st_mtime_ns
    assert found() == expected
    assert kept.stat().st_mtime_ns == before  # nothing new: not written again


@pytest.mark.parametrize("numbers", [[], [1, 2, 3], [99_999] * 8, "no list"])
def test_a_list_that_the_interpreter_refuses_is_compiled_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch, numbers: object
) -> None:
    expected = found()
    wrong = json.dumps([32, numbers, 9, {}, [None]]).encode()
    monkeypatch.setattr(cache, "read_with_texts", lambda *_: (FORMS, [wrong] * len(FORMS)))
    assert found() == expected


@pytest.mark.usefixtures("folder")
def test_a_wrong_expression_raises_as_ever() -> None:
    with kept_expressions(), pytest.raises(re.error, match="unterminated"):
        LazyRegex("(a").search("a")
