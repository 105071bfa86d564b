"""Whether a log stops while one of its counters was on its way: a bar at 32 of 101, ``[4][2050/2439]``, ``Batch 3 of 13``.

A counter alone does not say where it was to end: rows come every so many steps, and some loops stop short of their bar by
design. So the last count is held against its own spacing, and against where the counter stood when it began again before.
"""

from __future__ import annotations

import re
from itertools import pairwise

from analyzer.lazy_regex import LazyRegex
from analyzer.model.ranked import median_of

BEHIND = 3
"""Records at the end of which one holds the counter: a warning of the system has two lines."""

DONE = 0.9
"""Part of a counter from which on it is as good as full: bars are not drawn at each step, and a last batch is dropped."""

SPACINGS = 1.5
"""Usual distances of two counts that must be left: the next row would still have come."""

COUNTS = 3
"""Counts that rise: what two numbers with a slash between them mean is told by others like them; a bar says it by itself."""

_BAR = LazyRegex(r"\d{1,3}%\|[^|]{0,400}\|\s{0,3}(\d{1,12})/(\d{1,12})\b")
_OTHERS = (
    LazyRegex(r"(?<![\d/.])(\d{1,12})/(\d{1,12})(?: {1,3}\[|[ \t]{0,3}━)"),
    LazyRegex(r"\[[ \t]{0,6}(\d{1,12})/[ \t]{0,6}(\d{1,12})(?=[\] ])"),
    LazyRegex(
        r"(?i)\b(?:(?:mini-?)?batch(?:es)?|steps?|iter(?:ation)?s?|it|idx)\b[ \t]{0,3}[:=\[(]{0,2}[ \t]{0,8}(\d{1,12})[ \t]{0,3}(?:/|of)[ \t]{0,8}(\d{1,12})\b"
    ),
)
"""Counters of Keras and Rich, of rows in brackets, and in words."""

_WARNING = LazyRegex(r"(?i)warn")
"""What may stand behind the last count: the interpreter says it while it goes down."""


def stops_within(tail: str) -> bool:
    r"""Whether the end of a log stands within a count that had further to go.

    >>> rows = [f"[{epoch}][{at}/90] loss 0.5" for epoch in range(3) for at in range(0, 90, 10)]
    >>> stops_within("\n".join(rows[:-4])), stops_within("\n".join(rows))
    (True, False)
    >>> stops_within("30%|###  | 3/10 [00:03<00:07]"), stops_within("30%|###  | 3/10 [00:03<00:07]\nsaved to out/")
    (True, False)
    """
    records = [record for record in re.split(r"[\r\n]+", tail.rstrip()) if record.strip()]
    for behind, record in enumerate(reversed(records[-BEHIND:])):
        for form in (_BAR, *_OTHERS):
            if form.search(record) is not None:
                is_bar = form is _BAR
                return all(map(_WARNING.search, records[len(records) - behind :])) and _is_open(
                    [(int(match[1]), int(match[2])) for match in form.finditer(tail)], is_bar
                )
    return False


def _is_open(counts: list[tuple[int, int]], is_bar: bool) -> bool:
    """Whether the last count stops short of its end, and of where it ended before."""
    last, total = counts[-1]
    alike = [done for done, of in counts if of == total and done <= total]
    rises = [second - first for first, second in pairwise(alike) if second > first]
    if last > total or total < 2 or (not is_bar and len(rises) < COUNTS - 1):
        return False
    every = SPACINGS * float(median_of(rises)) if rises else 1.0
    ends = [first for first, second in pairwise(alike) if second < first]
    usual_end = max(ends, default=total)
    return last < DONE * total and last + every < min(total, usual_end + 1)
