"""A log of counters and numbers without names, or of such numbers alone, as people print a loss.

    760 41.249886            Epoch 1/12: 0.7112            0, 120, 16.54, 10.79, 3.78            11.6471710
    761 41.244041            Epoch 2/12: 0.7096            1, 0, 16.41, 10.66, 3.77              9.6641559

It counts only if nothing else of the log was a metric, a counter runs on evenly (or batches within one that never falls), and the
first number does not rise beyond its scatter, nor stands still before others that may be the loss: what falls or stays
beside a counter is most likely what the loop minimises. Beside a counter that a word calls an epoch or a step fewer rows are enough, and a
number that rises is one too, but no stand-in for the loss. ``Epoch 3: 9280 / 10000`` is the share of a test set that was right.
Numbers without a counter are no stand-in either unless they fall, or end in values that are none. The series is called ``unnamed``, those of further columns ``unnamed_2`` and so on.
Counters with one number below a line such as ``Accuracy of every epoch:`` are rows of what that names, however few and whatever their course.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.ingest.text.rows.learned.field_names import trimmed
from analyzer.ingest.text.rows.learned.line_masks import FLOAT, INT
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, read_name
from analyzer.model.ranked import median_of

MIN_ROWS = 10
"""Rows of such a log; a few pairs of numbers may be anything."""

MIN_NAMED = 3
"""Rows below a line that names them, each with a counter that runs on evenly."""

MIN_COUNTED, MIN_BETTER = 5, 3
"""Rows whose counter a word calls an epoch or a step, beside it a number is printed for its course; fewer where it falls, or breaks."""

MIN_ALONE, MIN_FALLING = 30, 10
"""Numbers without a counter that make a course, and lines of one number each that do if they fall beyond their scatter."""

MIN_BROKEN = 5
"""Values at the end that are NaN or infinite, where numbers need neither names nor a course to be what broke."""

NUMBER = "number"
"""What a number is called that rises beside an epoch, or does not fall where it stands alone."""

LEAP = 1000.0
"""One row among ten and more at a thousand times what the others are worth: scores are bounded and counts do not leap, losses do."""

MOST_BEHIND = 3
"""Numbers of a row that begins with what it tells: the batch and the epoch stand behind."""

MAX_DIGITS = 12
MAX_ROWS = 100_000
"""Rows that are kept in mind."""

COLUMNS = LazyRegex(
    rf"(?i)^(?::\s{{1,8}}|\s{{0,2}})(?:(?P<word>(?:[a-z][a-z-]{{1,11}} )?[\[(]?(?:epoch|iter|iteration|step|round|batch)s?[ :#]{{1,3}})?{INT}(?:/{INT})?[\])]?"
    rf"(?:\s{{0,3}}[:,;|]\s{{0,3}}|\s{{1,3}})(?:(?:(?:batch|iter|iteration|step)[ :#]{{1,3}})?{INT}(?:/{INT})?[:,;\s]\s{{0,8}})?(?=.{{0,400}}{FLOAT}))?\[?\s{{0,2}}{FLOAT}(?:(?:[,;\s]| \|)\s{{0,8}}{FLOAT}){{0,11}}(?:[,;\s]\s{{0,8}}{INT}(?:[,;\s]\s{{0,8}}[{INT}{FLOAT}])?)?[,;]?\s{{0,2}}\]?$"
)
RIGHT = LazyRegex(
    rf"(?i)^\s{{0,2}}(?:[a-z]{{2,10}} )?epoch[ \t:#]{{1,3}}{INT}(?:\s?/\s{{0,2}}{INT})?\s?[:,|] {{0,3}}{INT} ?/ ?{INT}$"
)
"""How many of a test set an epoch got right, and nothing else: ``Epoch 3: 9280 / 10000``, ``epoch 3/100 | 9280 / 10000``."""

_HISTORY = LazyRegex(r"\bHistory \((?P<name>loss|accuracy), (?:distributed|centralized)\):$")
"""Above the loss of each round of a federated training."""


class UnnamedColumns:
    """Collects counters with the numbers beside them, and numbers alone."""

    def __init__(self) -> None:
        self._rows: list[tuple[tuple[int, ...], list[float], LogLine]] = []
        self._name = ""
        self._counted = False
        self._shares: list[tuple[int, int, int, LogLine]] = []
        self._alone: list[tuple[float, LogLine]] = []

    def head(self, text: str) -> None:
        """Note a line without a number; it may name the numbers below it."""
        history = _HISTORY.search(text)
        name = trimmed(text.strip()[:-1].rstrip(), most=1) if text.rstrip().endswith(":") else ""
        name = history["name"] if history else name
        if name and not self._rows and (is_score(name) or read_name(name).quantity in {"loss", "accuracy"}):
            self._name = name

    def add_share(self, numbers: list[str], line: LogLine) -> None:
        """Note how many samples an epoch got right, if it is that."""
        epoch, *_, right, total = (int(number.replace(",", "")) for number in numbers)
        if len(self._shares) < MAX_ROWS:
            self._shares.append((epoch, right, total, line.detached()))

    def add(self, numbers: list[str], line: LogLine, *, counted: bool = False) -> bool:
        """Note a row; it is read when the log is complete."""
        values = [value for n in numbers if not n.isdecimal() and (value := parse_number(n)) is not None]
        first = next((at for at, number in enumerate(numbers) if not number.isdecimal()), len(numbers))
        counters = tuple(int(number) for number in numbers[:first] if len(number) <= MAX_DIGITS)
        if not counters and len(numbers) <= MOST_BEHIND and all(map(str.isdecimal, numbers[1:])):
            counters = tuple(int(number) for number in reversed(numbers[1:]))  # "0.5 100 3"
        if not counters and len(values) == 1 and len(self._alone) < MAX_ROWS:
            self._alone.append((values[0], line.detached()))
        like = not self._rows or [len(part) for part in self._rows[0][:2]] == [len(counters), len(values)]
        if counters and values and like and len(self._rows) < MAX_ROWS:
            self._rows.append((counters, values, line.detached()))
            self._counted = counted
        return False

    def tell(self, log: LogState) -> None:
        """Write the series, if the log is one."""
        if not log.is_empty:
            return
        self._tell_shares(log)
        if not self._rows:
            self._tell_alone(log)
        first = [values[0] for _, values, _ in self._rows]
        ends_broken = len(first) >= MIN_BROKEN and not np.isfinite(first[-1:]).any()
        named = (self._name or log.measures) if first and len(self._rows[0][1]) == 1 else ""
        falls = self._counted and len(first) >= MIN_BETTER and not first[-1] >= first[0]
        least = MIN_NAMED if named else MIN_BETTER if falls else MIN_COUNTED if self._counted else MIN_ROWS
        enough = len(first) >= least or ends_broken
        steps = self._steps() if enough else None
        is_setting = len(set(first)) == 1 and len(self._rows[0][1]) > 1 if self._rows else False
        rises = not (ends_broken or named or _leaps(first)) and self._rise(first) > 0
        if steps is None or is_setting or (rises and not (self._counted and len(self._rows[0][1]) == 1)):
            return
        # What rises beside an epoch may be a score or a likelihood: no stand-in for the loss.
        named = NUMBER if rises else named
        for step, (_, values, line) in zip(steps, self._rows, strict=True):
            for at, value in enumerate(values):
                log.metric(f"unnamed_{at + 1}" if at else named or "unnamed", value, line, step)
        if steps[-1] is not None:
            log.saw_step(steps[-1])

    def _tell_alone(self, log: LogState) -> None:
        """Write a column of numbers: what falls, or breaks, stands for a loss; what does not is read and stands for nothing."""
        alone = [value for value, _ in self._alone]
        broken = len(alone) >= MIN_BROKEN and not np.isfinite(alone[-MIN_BROKEN:]).any()
        falls, lines = self._rise(alone) < 0, {line.number for _, line in self._alone}
        if not broken and len(alone) < MIN_ALONE and not (falls and len(lines) >= MIN_FALLING):
            return
        name = "unnamed" if broken or falls else NUMBER
        for value, line in self._alone:
            log.metric(name, value, line, None)

    def _tell_shares(self, log: LogState) -> None:
        """Write the share of samples that each epoch got right: of always as many, one row an epoch, and no count of batches."""
        epochs, right, totals = (list(column) for column in zip(*(row[:3] for row in self._shares), strict=True)) if self._shares else ([], [], [])  # fmt: skip
        even = len({after - before for before, after in pairwise(epochs)}) == 1
        counts = len({after - before for before, after in pairwise(right)}) == 1
        within = all(part <= whole for part, whole in zip(right, totals, strict=True))
        if len(epochs) < MIN_NAMED or not even or epochs[1] <= epochs[0] or counts or not within or len(set(totals)) > 1:  # fmt: skip
            return
        for epoch, part, whole, line in self._shares:
            log.metric("accuracy", part / max(whole, 1), line, epoch)

    def _steps(self) -> list[int] | list[None] | None:
        """The counter that runs on evenly; none where batches begin anew within a counter that never falls; None if nothing counts.

        A counter that comes back to its first number begins another launch in the same file.
        """
        columns = list(zip(*(counters for counters, _, _ in self._rows), strict=True))
        for column in columns:
            if column[1] > column[0] and len({after - before for before, after in pairwise(column)}) == 1:
                return list(column)
        if len(columns) > 1 and all(before <= after for before, after in pairwise(columns[0])):
            return [None] * len(self._rows)
        first = columns[0]
        strides = {after - before for before, after in pairwise(first) if after != first[0]}
        return list(first) if len(strides) == 1 and min(strides) > 0 else None

    @staticmethod
    def _rise(values: list[float]) -> float:
        """By how much the numbers rise from the first fifth to the last; 0 within their scatter."""
        told = np.array([value for value in values if np.isfinite(value)])
        part = max(len(told) // 5, 3)
        if len(told) <= part:
            return 0.0
        rise = float(median_of(told[-part:]) - median_of(told[:part]))
        return rise if abs(rise) > float(median_of(np.abs(np.diff(told)))) else 0.0


def _leaps(values: list[float]) -> bool:
    """Whether one number is out of all proportion to the others.

    >>> _leaps([-5.5] * 9 + [40000.0, -1.5]), _leaps([5.5, 7.0, 9.0])
    (True, False)
    """
    sizes = np.abs([value for value in values if np.isfinite(value)])
    if sizes.size < MIN_ROWS:
        return False
    usual = float(median_of(sizes))
    return 0 < LEAP * usual <= float(sizes.max()) and int((sizes > usual * LEAP).sum()) == 1
