"""The lazy registry names readers and refuses nothing that they would take."""

from pathlib import Path

import pytest

from analyzer.errors import UnreadableFileError
from analyzer.ingest.base import Ingestor, Match, Reader
from analyzer.ingest.registry import builtin_ingestors
from analyzer.ingest.walk import make_candidate

ROOT = Path(__file__).parents[2]
PUBLIC = ROOT / ".." / "shared" / "data" / "public"


@pytest.mark.parametrize("lazy", builtin_ingestors(), ids=lambda i: i.name)
def test_each_row_names_a_reader(lazy):
    assert isinstance(lazy.real, Reader)
    assert isinstance(lazy, Ingestor)


def files():
    yield from (path for path in (ROOT / "samples").rglob("*") if path.is_file() and "make" not in path.parts)
    if PUBLIC.is_dir():
        yield from (path for path in PUBLIC.rglob("*") if path.is_file())


def test_the_cheap_test_never_refuses_what_the_ingestor_would_take():
    refused = []
    for path in files():
        try:
            candidate = make_candidate(path, path.name)
        except UnreadableFileError:
            continue
        refused += [
            f"{lazy.name}: {path}"
            for lazy in builtin_ingestors()
            if not lazy.may_match(candidate) and lazy.real.sniff(candidate) > Match.NO
        ]

    assert refused == []
