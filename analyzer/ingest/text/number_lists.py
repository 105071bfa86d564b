"""A log that is nothing but lists of numbers: a column lying down, read as the column would be, a number a line.

    [1.25, 1.5, 1.75, …]            ['0.7705', '0.5631', …]            loss: [2.5, 2.25, …]            [2.5 2.25
                                                                       val_loss: [2.75, 2.5, …]         2.0  1.75]

Scripts end in ``print(losses)``. A list is named by what stands before it, if that is a metric. Several others (of models, of folds, of
who knows what) are courses of their own, of which none stands for the loss: nothing tells which of them the training made less.
"""

from __future__ import annotations

from collections import Counter

from analyzer.ingest.base import OpenSource, SourceWriter
from analyzer.ingest.scalar_text import metric_number
from analyzer.ingest.source_text import read_text
from analyzer.ingest.text.rows.learned.unnamed_columns import NUMBER
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, read_name

Line = tuple[int, str, None]
"""Number of the line and what it holds, see ``line_blocks``."""

MAX_BYTES = 8 << 20
"""A list of a hundred thousand losses, with all their digits, has two megabytes."""

MIN_NUMBERS = 5
"""Numbers of a list: fewer are a shape, a rate for each group, the means and deviations of three colours."""

_CELL = LazyRegex(r"[^\s,]{1,64}")
_OPENS = LazyRegex(r"[\s,]{0,200}(?:(?P<name>[A-Za-z][\w ./-]{0,60}?) {0,4}[:=]\s{0,4})?\[")


def read_lists(source: OpenSource, out: SourceWriter, measures: str) -> list[Line] | None:
    """The lines that a log of lists would have as a column; None if it is no such log. Lists that stand for nothing are written at once.

    Args:
        source: The log.
        out: Where they go, and where it is told what was not read.
        measures: The metric that the file is named for; empty if it is named for something else.
    """
    if source.candidate.size_bytes > MAX_BYTES:
        return None
    lists = lists_of(read_text(source, out, MAX_BYTES))
    if lists is None:
        return None
    lines: list[Line] = []
    met = Counter[str]()
    for name, numbers in lists:
        told = name or measures
        if told and (is_score(told) or read_name(told).quantity in {"loss", "accuracy"}):
            lines += [(line, f"{told}: {number!r}", None) for line, number in numbers]
        elif all(number.is_integer() for _, number in numbers):
            continue  # it counts, or identifies
        elif len(lists) == 1:
            lines += [(line, repr(number), None) for line, number in numbers]
        elif len(numbers) >= MIN_NUMBERS:
            met[name] += 1
            course = f"{name or NUMBER}_{met[name]}" if met[name] > 1 else name or NUMBER
            for line, number in numbers:
                out.metric(course, number, line=line)
    return lines


def lists_of(text: str) -> list[tuple[str, list[tuple[int, float]]]] | None:
    r"""The name of each list, and its numbers with the line on which each stands; None if other things stand beside them.

    >>> lists_of("acc: [0.5, 0.75]\n['2.5'\n '2.25']"), lists_of("[0.5, 0.75] is the course")
    ([('acc', [(1, 0.5), (1, 0.75)]), ('', [(2, 2.5), (3, 2.25)])], None)
    """
    found: list[tuple[str, list[tuple[int, float]]]] = []
    at, line, counted_to, end = 0, 1, 0, len(text.rstrip())
    while at < end:
        match = _OPENS.match(text, at)
        closes = text.find("]", at)
        if match is None or closes < 0:
            return None
        numbers: list[tuple[int, float]] = []
        for cell in _CELL.finditer(text, match.end(), closes):
            number = metric_number(cell[0].strip("'\""))
            if number is None:
                return None
            line, counted_to = line + text.count("\n", counted_to, cell.start()), cell.start()
            numbers.append((line, number))
        found.append((match["name"] or "", numbers))
        at = closes + 1
    return found
