"""Every engine finds the same literals, and none needs its package."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.text.scan import LiteralScanner, PatientScanner, fast_prefilter

LETTERS = st.lists(st.sampled_from([b"a", b"b", b"\0", b".", b"\\", b"\xff", b"["]), min_size=1, max_size=9)
LITERALS = st.lists(LETTERS.map(b"".join), min_size=1, max_size=6, unique=True).map(tuple)


def make(literals):
    prefilter = fast_prefilter(literals)
    if prefilter is None:
        pytest.skip("google-re2 is not installed")
    return prefilter


@given(literals=LITERALS, data=st.data())
def test_both_engines_find_the_same(literals, data):
    pieces = data.draw(st.lists(st.sampled_from([*literals, b"a", b"ab", b"\n", b"\0"]), max_size=30))
    text = b"".join(pieces)

    assert make(literals).find(text) == LiteralScanner(literals).find(text)


@given(literals=LITERALS, data=st.data())
def test_what_is_small_is_searched_with_the_same_hits(literals, data):
    pieces = data.draw(st.lists(st.sampled_from([*literals, b"a", b"ab", b"\n", b"\0"]), max_size=30))
    text = b"".join(pieces)

    assert PatientScanner(literals).find(text) == LiteralScanner(literals).find(text)


def test_a_literal_across_two_pieces_is_found_once():
    literals = (b"needle", b"le")
    text = (b"x" * 65_533 + b"needle") * 3 + b"needle"

    assert make(literals).find(text) == LiteralScanner(literals).find(text)


def test_nothing_to_find_is_no_error():
    assert make((b"abc",)).find(b"") == []
    assert LiteralScanner(()).find(b"abc") == []


def test_without_its_package_the_numpy_scan_remains(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    monkeypatch.delitem(sys.modules, "analyzer.ingest.text.scan_re2", raising=False)
    fast_prefilter.cache_clear()

    assert fast_prefilter((b"abc",)) is None

    fast_prefilter.cache_clear()
