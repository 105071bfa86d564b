"""Every engine finds the same literals, and none needs its cache or its package."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.text import scan
from analyzer.ingest.text.scan import ENGINES, LiteralScanner, PatientScanner, fast_prefilter

LETTERS = st.lists(st.sampled_from([b"a", b"b", b"\0", b".", b"\\", b"\xff", b"["]), min_size=1, max_size=9)
LITERALS = st.lists(LETTERS.map(b"".join), min_size=1, max_size=6, unique=True).map(tuple)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("ANALYZER_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    scan.fast_prefilter.cache_clear()
    yield
    scan.fast_prefilter.cache_clear()
    patch.undo()


def make(engine, literals):
    prefilter = fast_prefilter(literals, (engine,))
    if prefilter is None:
        pytest.skip(f"{engine} is not installed")
    return prefilter


@pytest.mark.parametrize("engine", ENGINES)
@given(literals=LITERALS, data=st.data())
def test_all_engines_find_the_same(engine, literals, data):
    pieces = data.draw(st.lists(st.sampled_from([*literals, b"a", b"ab", b"\n", b"\0"]), max_size=30))
    text = b"".join(pieces)

    assert make(engine, literals).find(text) == LiteralScanner(literals).find(text)


@given(literals=LITERALS, data=st.data())
def test_what_is_small_is_searched_with_the_same_hits(literals, data):
    pieces = data.draw(st.lists(st.sampled_from([*literals, b"a", b"ab", b"\n", b"\0"]), max_size=30))
    text = b"".join(pieces)

    assert PatientScanner(literals).find(text) == LiteralScanner(literals).find(text)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_literal_across_two_pieces_is_found_once(engine):
    literals = (b"needle", b"le")
    text = (b"x" * 65_533 + b"needle") * 3 + b"needle"

    assert make(engine, literals).find(text) == LiteralScanner(literals).find(text)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_to_find_is_no_error(engine):
    assert make(engine, (b"abc",)).find(b"") == []
    assert LiteralScanner(()).find(b"abc") == []


def test_a_damaged_or_foreign_cache_file_is_made_again(tmp_path, monkeypatch):
    pytest.importorskip("hyperscan")
    from analyzer.ingest.text.scan_hyperscan import make_prefilter

    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path))
    literals = (b"OVERFLOW!", b"Traceback")
    text = b"a Traceback, an OVERFLOW! "
    expected = make_prefilter(literals).find(text)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()

    assert make_prefilter(literals).find(text) == expected  # from the file
    for damaged in (b"", whole[:-1], whole[:40] + b"\0" + whole[41:], b"\x80\x04K\x01.", b"x" * len(whole)):
        file.write_bytes(damaged)
        assert make_prefilter(literals).find(text) == expected
        assert file.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    pytest.importorskip("hyperscan")
    from analyzer.ingest.text.scan_hyperscan import make_prefilter

    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(blocked / "below"))

    assert make_prefilter((b"abc",)).find(b"xabc") == [(1, 0)]


def test_without_packages_the_numpy_scan_remains(monkeypatch):
    for engine in ENGINES:
        monkeypatch.setitem(sys.modules, engine, None)
        monkeypatch.delitem(sys.modules, f"analyzer.ingest.text.scan_{engine}", raising=False)

    assert fast_prefilter((b"abc",)) is None
