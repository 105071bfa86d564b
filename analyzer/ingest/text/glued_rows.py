"""A log that is one line: rows that their program parted by no line break.

    Round 0, TestAcc=0.25, Round 1, TestAcc=0.5, Round 2, TestAcc=0.75, …

Each begins where the word that counts them comes again. Rows to which a bare number is glued are left as they are: which
digits are whose cannot be told.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from analyzer.ingest.base import OpenSource, SourceWriter
from analyzer.ingest.source_text import read_text
from analyzer.ingest.text.text_layer import without_torn_number
from analyzer.lazy_regex import LazyRegex

MAX_BYTES = 8 << 20
"""A hundred thousand rows of eighty characters."""

MIN_ROWS = 5
"""Rows of one wording; fewer places on one line may be a sentence about them."""

ALIKE = 0.9
"""Share of the rows that has one wording, and of the counters that run on: a log that was appended to begins anew."""

_PLACE = LazyRegex(
    r"(?i)(?<![A-Za-z0-9_.-])(?P<word>epoch|round|step|iter|iteration|episode|generation)[ :=#]{1,3}(?P<number>\d{1,9})(?![\w.])"
)
_DIGITS = re.compile(r"\d+")


def read_glued(source: OpenSource, out: SourceWriter) -> list[tuple[int, str, None]] | None:
    """The rows of a log of one line; None if it is no such log."""
    return parted(read_text(source, out, MAX_BYTES)) if source.candidate.size_bytes <= MAX_BYTES else None


def parted(text: str) -> list[tuple[int, str, None]] | None:
    """The rows of one line, each with the number of the line; None if they are not alike.

    >>> parted("".join(f"round {n}, acc={n / 8}, " for n in range(5)))[:2], parted("step 3 of 9, step 4 of 9")
    ([(1, 'round 0, acc=0.0', None), (1, 'round 1, acc=0.125', None)], None)
    """
    if "\n" in text.strip() or "\r" in text.strip():
        return None
    places = list(_PLACE.finditer(text))
    word, count = max(
        Counter(place["word"] for place in places).items(), key=lambda pair: pair[1], default=("", 0)
    )
    if count < MIN_ROWS:
        return None
    places = [place for place in places if place["word"] == word]
    begins = [place.start() for place in places]
    rows = [
        text[begin:end].strip(" \t\r\n,;|") for begin, end in zip(begins, [*begins[1:], None], strict=True)
    ]
    ((_, alike),) = Counter(_DIGITS.sub("0", row) for row in rows).most_common(1)
    numbers = [int(place["number"]) for place in places]
    runs_on = sum(before < after for before, after in pairwise(numbers))
    if min(alike, runs_on + 1) < ALIKE * len(rows):
        return None
    if text[-1:].isalnum():
        above = "\n".join(rows[-MIN_ROWS:-1]) + "\n"
        rows[-1] = without_torn_number(rows[-1].encode(), above.encode()).decode()
    before = text[: begins[0]].strip()
    return [(1, row, None) for row in ([before] if before else []) + rows]
