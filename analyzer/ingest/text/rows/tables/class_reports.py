"""Reports of a classifier, class by class, of which the last rows are of all classes.

                  precision    recall  f1-score   support

               0       0.81      0.77      0.79        41
               1       0.70      0.75      0.72        29

        accuracy                           0.76        70
       macro avg       0.75      0.76      0.75        70

A single report is the result of a model; those of a training come again with other numbers. What stands for one class is
no score of the model and stays unread.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import Fed, LogLine, LogState
from analyzer.ingest.text.rows.learned.general_rows import GeneralRows
from analyzer.ingest.text.rows.tables.class_tables import LEAST_SAMPLES, ClassScores, measure_of
from analyzer.lazy_regex import LazyRegex
from analyzer.model.score_words import read_score
from analyzer.record import NamedTuple

REPORTS = 2
"""Reports that a training needs; a single one may be that of a test."""

_ROW = LazyRegex(
    r"^\s{0,60}(?P<of>\S[^\r\n]{0,60}?)\s{1,60}(?P<values>(?:\d{1,3}\.\d{1,8}\s{1,60}){1,4})(?P<samples>\d{1,12})(?:\.\d{1,4})?\s{0,8}$"
)
_MEANS = {"macro avg": "macro", "weighted avg": "weighted", "micro avg": "micro", "samples avg": "samples", "avg / total": "weighted", "micro": "micro", "macro": "macro", "weighted": "weighted"}  # fmt: skip


class _Row(NamedTuple):
    """A row of a report that is of all classes."""

    values: dict[str, float]
    line: LogLine
    step: int | None


class Reports:
    """The reports of a log, until there are enough.

    Args:
        read: Counts what was read.
    """

    def __init__(self, read: GeneralRows) -> None:
        self._read = read
        self._rows: list[_Row] = []
        self.begun = 0

    def add(self, row: _Row, log: LogState) -> None:
        """Keep a row in mind, or write it with those before."""
        self._rows.append(row)
        if self.begun < REPORTS:
            return
        for values, line, step in self._rows:
            for name, value in values.items():
                log.metric(name, value, line, step)
            self._read.note(line, values, step)
        self._rows = []


class ClassReport:
    """A report in progress, below its head.

    Args:
        names: The columns without the last, the count of samples.
        reports: Those of the log.
        head: The line of the head.
    """

    def __init__(self, names: tuple[str, ...], reports: Reports, head: LogLine) -> None:
        # The column of the classes may have a name, too.
        self._names = names if read_score(names[0]).better else names[1:]
        self._reports = reports
        self._measure = measure_of(("class", *self._names))
        self._classes = ClassScores(self._measure, head)
        reports.begun += 1

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        match = _ROW.match(line.text)
        if match is None:
            return Fed.PASSED if not line.text.strip() else self._end(log)
        found, of = [float(value) for value in match["values"].split()], match["of"].lower()
        if of == "accuracy" and len(found) == 1:
            values = {"val_accuracy": found[0]}
        elif of in _MEANS and len(found) == len(self._names):
            values = {
                f"val_{_MEANS[of]}_{name}": value for name, value in zip(self._names, found, strict=True)
            }
        elif len(found) == len(self._names):
            self._classes.see(found)
            if self._measure and int(match["samples"]) >= LEAST_SAMPLES:
                self._classes.add(match["of"], found[self._names.index(self._measure)])
            return Fed.OWNED
        else:
            return self._end(log)
        self._reports.add(_Row(values, line.detached(), log.step), log)
        return Fed.OWNED

    def _end(self, log: LogState) -> Fed:
        self._classes.tell(log)
        return Fed.PASSED | Fed.ENDED

    def finish(self, log: LogState) -> None:
        """See ``Capture.finish``."""
        self._classes.tell(log)
