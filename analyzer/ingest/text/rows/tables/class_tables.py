"""Tables of an evaluation with a row for each class.

    +----------+-------+-------+        | category | AP     | category | AP     |
    |  Class   |  IoU  |  Acc  |        |:---------|:-------|:---------|:-------|
    +----------+-------+-------+        | cup      | 12.250 | fork     | 0.000  |
    |   road   | 91.25 | 94.50 |
    |   pole   |  0.0  |  0.0  |
    +----------+-------+-------+

What stands for one class is no score of the model, so no series is made of it. How many classes there are, and which of
them are never found, is one event for each evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from analyzer.ingest.text.log_line import Fed, LogLine, LogState
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import word_set
from analyzer.model.score_words import HALVES, OVERLAP, read_score
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple

LEAST_CLASSES, MOST_CLASSES = 2, 2_000
"""Rows that make a table of classes, and of the largest data sets."""

_WHOLE = (1.0, 100.0)
NAMED = 5
"""Classes that the event names."""

_RULE = LazyRegex(r"^[-=+|: \u2500-\u257f]{3,}$")
_GAP = LazyRegex(r"\s{2,}|\t")
_MEANS = frozenset({"mean", "average", "avg", "all", "total", "overall", "miou", "map", "mdice", "macc", "macro", "global", "macro avg", "weighted avg"})  # fmt: skip
_NOT_JUDGED = frozenset({"background", "bg", "void", "unlabeled", "unlabelled", "ignore", "ignored", "other", "others", "unknown"})  # fmt: skip
"""Classes that many evaluations leave out or that no model has to name."""
_COUNTS = word_set("gts gt support instances labels targets n count num")


class ClassScore(NamedTuple):
    """What a table says of one class."""

    label: str
    score: float


class ClassScores:
    """The classes of one evaluation.

    Args:
        measure: The name of the score.
        line: Where the table begins.
    """

    def __init__(self, measure: str, line: LogLine) -> None:
        self._measure = measure
        self._line = line.without_block()
        self._found: list[ClassScore] = []
        self._absent = 0

    def miss(self) -> None:
        """A class of which no sample is there."""
        self._absent += 1

    def add(self, label: str, score: float) -> None:
        """One class, unless it is none that a model has to name."""
        if label.lower() not in _MEANS | _NOT_JUDGED and len(self._found) < MOST_CLASSES:
            self._found.append(ClassScore(label, score))

    def tell(self, log: LogState) -> None:
        """Write the event of the evaluation."""
        if not self._found or len(self._found) + self._absent < LEAST_CLASSES:
            return
        best = max(found.score for found in self._found)
        none = [found.label for found in self._found if found.score == 0]
        fields: dict[str, Scalar] = {
            "metric": self._measure,
            "classes": len(self._found),
            "at_zero": len(none),
            "without_error": sum(found.score == best for found in self._found) if best in _WHOLE else 0,
            "without_samples": self._absent,
            "best": best / 100 if best > 1 else best,
            "names": ", ".join(none[:NAMED]),
        }
        log.event("class_scores", "info", self._line, fields)


class ClassTable:
    """A table in progress, below its head.

    Args:
        names: The columns of one class; a row may hold several classes side by side.
        line: The head.
    """

    def __init__(self, names: Sequence[str], line: LogLine) -> None:
        self._names = tuple(names)
        self._measure = measure_of(names)
        self._counts = [at for at, name in enumerate(names) if name.lstrip("#") in _COUNTS]
        self._scores = ClassScores(self._measure, line)
        self._rows = 0

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        text = line.text.strip()
        if not text or _RULE.match(text):
            if text or not self._rows:
                return Fed.PASSED
        elif self._row(text):
            self._rows += 1
            return Fed.OWNED
        self._scores.tell(log)
        return Fed.PASSED | Fed.ENDED

    def finish(self, log: LogState) -> None:
        """See ``Capture.finish``."""
        self._scores.tell(log)

    def _row(self, text: str) -> bool:
        """Take the classes of a row; whether it is one."""
        cells = [cell.strip() for cell in (text.strip("|").split("|") if "|" in text else _GAP.split(text))]
        width, at = len(self._names), self._names.index(self._measure)
        groups = [cells[first : first + width] for first in range(0, len(cells), width)]
        for label, *values in groups:
            if len(values) != width - 1:
                return False
            score = parse_number(values[at - 1].rstrip("%"))
            absent = any(values[place - 1] == "0" for place in self._counts)
            if score is None and values[at - 1].lower() not in {"-", "none", ""}:
                return False
            if score is not None and isnan(score):
                self._scores.miss()
            elif score is not None and score >= 0 and not absent:
                self._scores.add(label, score)
        return True


def measure_of(names: Sequence[str]) -> str:
    """The column by which a class is judged: one that weighs both kinds of errors, else any score; empty if there is none.

    >>> measure_of(("class", "recall", "ap")), measure_of(("class", "iou", "acc")), measure_of(("class", "images"))
    ('ap', 'iou', '')
    """
    scores = {name: read_score(name).kind for name in names[1:] if read_score(name).better > 0}
    weighing = [name for name, kind in scores.items() if kind & (OVERLAP - HALVES)]
    return next(iter([*weighing, *scores]), "")


def columns_of_a_class(names: Sequence[str]) -> tuple[str, ...]:
    """The columns of one class, which the first names, where another scores it; a head may name them again and again.

    >>> columns_of_a_class(("category", "ap", "category", "ap")), columns_of_a_class(("class", "iou")), columns_of_a_class(("class", "color"))
    (('category', 'ap'), ('class', 'iou'), ())
    """
    width = next((at for at in range(1, len(names)) if names[at] == names[0]), len(names))
    columns = tuple(names[:width])
    again = len(names) % width == 0 and columns * (len(names) // width) == tuple(names)
    return columns if again and len(set(columns)) == width and measure_of(columns) else ()
