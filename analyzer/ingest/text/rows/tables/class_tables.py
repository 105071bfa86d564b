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

from collections.abc import Iterable, Sequence
from math import isfinite, isnan

from analyzer.ingest.text.log_line import Fed, LogLine, LogState
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import word_set, words_of
from analyzer.model.score_words import HALVES, OVERLAP, SHARE_OF_ALL, read_score
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple

LEAST_CLASSES, MOST_CLASSES = 2, 2_000
"""Rows that make a table of classes, and of the largest data sets."""

NAMED = 5
"""Classes that the event names."""

NAME_CHARACTERS = 40
"""What a report shows of the name of a class; a longer one is a sentence."""

LEAST_SAMPLES = 10
"""Samples from which on a class counts: of fewer, a model that knows the class may well miss all."""

_RULE = LazyRegex(r"^[-=+|: \u2500-\u257f]{3,}$")
_GAP = LazyRegex(r"\s{2,}|\t")
_MEANS = frozenset({"mean", "average", "avg", "all", "total", "overall", "miou", "map", "mdice", "macc", "macro", "global", "macro avg", "weighted avg"})  # fmt: skip
_NOT_JUDGED = frozenset({"background", "bg", "void", "unlabeled", "unlabelled", "ignore", "ignored", "other", "others", "unknown"})  # fmt: skip
"""Classes that many evaluations leave out or that no model has to name."""
_COUNTS = word_set(
    "gts gt support instances labels targets n count counts num number images samples pixels objects boxes total positives"
)
_ABOUT_COUNTS = word_set("of test val")
_BARE = frozenset({"score"})
"""Beside a label the word says how sure the model is of it, for one sample."""


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
        self._highest = 0.0

    def miss(self) -> None:
        """A class of which no sample is there."""
        self._absent += 1

    def see(self, shares: Iterable[float]) -> None:
        """Scores of a row, of whatever column and row: one above 1 says that all are in percent."""
        self._highest = max((self._highest, *shares))

    def add(self, label: str, score: float) -> None:
        """One class, unless it is none that a model has to name."""
        if label.lower() not in _MEANS | _NOT_JUDGED and len(self._found) < MOST_CLASSES:
            self._found.append(ClassScore(label[:NAME_CHARACTERS], score))

    def tell(self, log: LogState) -> None:
        """Write the event of the evaluation."""
        if not self._found or len(self._found) + self._absent < LEAST_CLASSES:
            return
        best = max(found.score for found in self._found)
        whole = 100.0 if self._highest > 1 else 1.0
        none = [found.label for found in self._found if found.score == 0]
        fields: dict[str, Scalar] = {
            "metric": self._measure,
            "classes": len(self._found),
            "at_zero": len(none),
            "without_error": sum(found.score == whole for found in self._found),
            "without_samples": self._absent,
            "best": best / whole,
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
        self._counts = [at for at, name in enumerate(names) if at and _counts_samples(name)]
        self._shares = [
            at
            for at, name in enumerate(names)
            if name == self._measure or read_score(name).kind & (SHARE_OF_ALL | OVERLAP)
        ]
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
            counts = (parse_number(values[place - 1].replace(",", "")) for place in self._counts)
            few = any(count is not None and count < LEAST_SAMPLES for count in counts)
            if score is None and values[at - 1].lower() not in {"-", "none", ""}:
                return False
            shares = (parse_number(values[place - 1].rstrip("%")) for place in self._shares)
            self._scores.see(share for share in shares if share is not None and isfinite(share))
            if score is not None and isnan(score):
                self._scores.miss()
            elif score is not None and score >= 0 and not few:
                self._scores.add(label, score)
        return True


def _counts_samples(name: str) -> bool:
    words = set(words_of(name)) - _ABOUT_COUNTS
    return bool(words) and words <= _COUNTS


def measure_of(names: Sequence[str]) -> str:
    """The column by which a class is judged: one that weighs both kinds of errors, else any score; empty if there is none.

    A score that is said of nothing (``label``, ``score``) is that of a guess about one sample.

    >>> measure_of(("class", "recall", "ap")), measure_of(("class", "iou", "acc")), measure_of(("class", "images"))
    ('ap', 'iou', '')
    >>> measure_of(("label", "score"))
    ''
    """
    scores = {
        name: kind
        for name in names[1:]
        if read_score(name).better > 0 and not (kind := read_score(name).kind) <= _BARE
    }
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
