"""Rows that name no place: some of one kind are a series, a lone one may be anything.

    train loss: 0.51                    Current learning rate: 0.001
    train loss: 0.48                    epoch accuracy: 0.75

A loss makes a course of its own. What tells one only beside rows of a training (a rate, a score) is kept in mind until such a
row has been read: the first of each epoch's lines stands before it as often as behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from math import isfinite

from analyzer.ingest.names import canonical_metric
from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.ingest.text.rows.learned.general_rows import GeneralRows
from analyzer.ingest.text.rows.learned.line_fields import names_time
from analyzer.ingest.text.rows.learned.quantities import as_held_out
from analyzer.ingest.text.rows.learned.unread_rows import UnreadRows
from analyzer.ingest.text.rows.learned.wordings import WordedRow
from analyzer.model.name_words import (
    JUDGES,
    MAKERS,
    is_score,
    names_host_memory,
    names_memory,
    read_name,
    words_of,
)
from analyzer.model.score_words import read_score

BARE_ROWS, BARE_KINDS, BARE_WORDS = 3, 32, 2
"""Rows without a place that make a series: two of one form may be a summary and its copy; kinds that are kept in
mind; and words beside the pairs, such as a level and a logger."""

SCORES_ALONE = 2
"""Scores on a line that says nothing else which make rows of a log without any other; a report of classes names those."""

ROWS_ALONE = 6
"""Rows of one score, and of nothing else, that make a course in a log without any other row: results of some models are fewer. What is better
of it has to be known: a bound on a likelihood may be printed with either sign."""

WORDED_ROWS = 6
"""Rows of one wording that make a series for all the words beside their pairs: what is told once or twice is a remark."""

MAX_KEPT = 20_000
"""Rows of a kind that are kept in mind."""

BARE_NAMES = 3
"""Known names that make two rows without a place as sure as three."""

WORDS_BESIDE_BOTH = 4
"""Words beside a loss and a loss on held-out data on one line, which only a row of a training has, or beside known names of
an evaluation."""

_COURSES = frozenset({"loss", "reward_mean", "perplexity", "policy_loss", "value_loss"})
_TIMES = frozenset({"step_time_s", "data_time_s"})

BLOCK_LINES = 6
"""Lines of one evaluation, a score on each: results that list more names stand together on a line or in a table."""

Kept = tuple[LogLine, dict[str, float]]


def measures(name: str) -> bool:
    """Whether a name is that of a score, or of an error of any kind: ``Mean RMS Error``, ``label error rate``, ``Energy_MAE``."""
    words = words_of(name)
    is_error = words[-1:] == ("error",) or words[-2:] == ("error", "rate")
    return is_score(name) or is_error or (bool(words) and read_name(words[-1]).quantity == "loss_like")


def play_each_other(names: Iterable[str]) -> bool:
    """Whether names are those of both players of an adversarial training.

    >>> play_each_other(["d1", "d2", "g"]), play_each_other(["d1", "d2"]), play_each_other(["gen", "disc", "t"])
    (True, False, True)
    """
    players = {words[0].rstrip("0123456789") for name in names if (words := words_of(name))}
    return not players.isdisjoint(JUDGES) and not players.isdisjoint(MAKERS)


def _shows_several(kept: Kept) -> bool:
    """Whether a row holds several values, not all of them counts."""
    return len(kept[1]) > 1 and not all(value.is_integer() for value in kept[1].values())


def _tell_a_fault(results: Iterable[Mapping[str, float]]) -> bool:
    """Whether one of some results is no number, or all of them are a score of nothing right.

    >>> _tell_a_fault([{"mAP": 0.0}]), _tell_a_fault([{"mAP": 0.0}, {"mAP": 0.25}]), _tell_a_fault([{"WER": 0.0}])
    (True, False, False)
    """
    found = [(name, value) for values in results for name, value in values.items()]
    better = (read_score(name).better > 0 or read_name(name).quantity == "accuracy" for name, _ in found)
    return not all(isfinite(value) for _, value in found) or (
        not any(value for _, value in found) and all(better)
    )


def is_mean_of_rows(name: str, log: LogState) -> bool:
    """Whether a value below a heading is a mean of what rows of their own show: "Train-perplexity" beside "perplexity"."""
    return read_name(name).phase == "train" and log.has_steps(canonical_metric(name), but=name)


def sums_costs_up(values: Mapping[str, float]) -> bool:
    """Whether a line tells a time and a memory and nothing else, as at the end of a part of the work.

    >>> sums_costs_up({"time": 12.0, "gpu_mem": 0.5}), sums_costs_up({"mem": 0.5}), sums_costs_up({"time": 12.0})
    (True, False, False)
    """
    memory = [name for name in values if names_memory(name)]
    return 0 < len(memory) < len(values) and all(name in memory or names_time(name) for name in values)


class BareRows:
    """Keeps rows without a place until enough of their kind have come.

    Args:
        read: Counts what was read.
        unread: Keeps rows of names of which nothing is known.
    """

    def __init__(self, read: GeneralRows, unread: UnreadRows) -> None:
        self._read, self._unread = read, unread
        self._waiting: dict[tuple[str, ...], list[Kept]] = {}
        self._known: set[tuple[str, ...]] = set()
        self._beside: dict[tuple[str, ...], list[Kept]] = {}
        self._evaluated: set[int] = set()

    @property
    def waits(self) -> bool:
        """Whether any row is kept in mind."""
        return bool(self._waiting or self._beside)

    def first_of(self, values: Iterable[str]) -> list[Kept]:
        """What waited of a kind that turned out to be one."""
        kind = tuple(sorted(values))
        return self._waiting.pop(kind, []) + self._beside.pop(kind, [])

    def add(self, row: WordedRow, known: dict[str, float], values: dict[str, float], line: LogLine, log: LogState, *, rows: int) -> int:  # fmt: skip
        """Keep a row in mind until enough of its kind have come; then they are one series.

        Args:
            row: What its wording says.
            known: Its values whose names are known, which make its kind.
            values: All of its values.
            line: The line.
            log: The log.
            rows: Rows that were read before.

        Returns:
            How many rows were written.
        """
        kind, alone = tuple(sorted(known)), bool(rows or log.has_points) and row.told
        if not self.is_course(kind, known, row, alone=alone):
            later = row.words <= BARE_WORDS and row.told and not alone
            if later and kind and self.is_course(kind, known, row, alone=True):
                self._keep(self._beside, kind, line, values)
            return 0
        if row.words > BARE_WORDS:
            if row.words <= WORDS_BESIDE_BOTH and not all(map(isfinite, known.values())):
                # More words than a row has; where nothing else is read its NaN is told all the same.
                self._keep(self._waiting, kind, line, values)
            return 0
        found = [(line, values)]
        if kind not in self._known:
            self._unread.keep(kind, line, known)
            if kind not in self._waiting and len(self._waiting) >= BARE_KINDS:
                return 0
            waiting = self._waiting.setdefault(kind, self._beside.pop(kind, []))
            waiting.append((line.detached(), values))
            sure = len(kind) >= BARE_NAMES or (row.held_out and waiting[0][1] != values)
            if len(waiting) < (BARE_ROWS - 1 if sure else BARE_ROWS):
                return 0  # a lone line may be anything
            self._known.add(kind)
            found = self._waiting.pop(kind)
        for at, told in found:
            for name, value in told.items():
                log.metric(name, value, at, None)
            self._read.note(at, told, None)
        if row.held_out and len(self._evaluated) < MAX_KEPT:
            self._evaluated.update(at.number for at, _ in found)
        return len(found)

    def results(self, last_row: int) -> list[Kept]:
        """Scores that were told once, behind the last row: of held-out data, since the training was over. None where no row was read."""
        alone = [
            found[0]
            for found in self._waiting.values()
            if len(found) == 1 and 0 < last_row < found[0][0].number
        ]
        return self._of_evaluations() + [
            (line, {as_held_out(name): value for name, value in values.items()})
            for line, values in alone
            if all(measures(name) or read_name(name).quantity == "accuracy" for name in values)
        ]

    def _of_evaluations(self) -> list[Kept]:
        """Scores of held-out data that were told twice, each time in the block of lines that tells its loss."""
        kinds = [
            kind
            for kind, found in chain(self._waiting.items(), self._beside.items())
            if len(found) > 1
            and all(measures(name) and read_name(name).phase == "eval" for name in kind)
            and all(map(self._in_evaluation, (line.number for line, _ in found)))
        ]
        return [kept for kind in kinds for kept in self.first_of(kind)]

    def _in_evaluation(self, number: int) -> bool:
        near = range(number - BLOCK_LINES, number + BLOCK_LINES + 1)
        return not self._evaluated.isdisjoint(near)

    @staticmethod
    def _keep(
        kinds: dict[tuple[str, ...], list[Kept]],
        kind: tuple[str, ...],
        line: LogLine,
        values: dict[str, float],
    ) -> None:
        if kind in kinds or len(kinds) < BARE_KINDS:
            waiting = kinds.setdefault(kind, [])
            waiting += [(line.detached(), values)] if len(waiting) < MAX_KEPT else []

    def is_course(self, kind: tuple[str, ...], values: dict[str, float], row: WordedRow, *, alone: bool) -> bool:  # fmt: skip
        """Whether values of known names, the kind, are those of a course; ``alone`` where rows of one were read."""
        names = {canonical_metric(name) for name in kind}
        readings = [read_name(name) for name in kind]
        lost = not all(map(isfinite, values.values()))
        fitted = any(read_name(n).phase == "train" for k in (*self._waiting, *self._known) for n in k)
        return (
            names >= _TIMES
            or (bool(kind) and all(names_host_memory(name) for name in kind))
            or play_each_other(kind)
            or any(
                r.quantity in _COURSES
                or (r.quantity == "accuracy" and (bool(r.phase) or alone))
                or (r.quantity == "loss_like" and (r.phase == "train" or lost or fitted))
                for r in readings
            )
            or (alone and {canonical_metric(n) for n in kind if not names_time(n)} == {"learning_rate"})
            or (
                all(measures(n) or r.quantity == "accuracy" for n, r in zip(kind, readings, strict=True))
                and (alone or (len(kind) >= SCORES_ALONE and (row.phased or not row.words)))
            )
        )

    def forget(self, kinds: Iterable[tuple[str, ...]]) -> None:
        """Kinds that were read in another way."""
        for kind in kinds:
            self._waiting.pop(kind, None)

    def left(self) -> list[Kept]:
        """What is worth telling of a log without any other row: two of a kind, two names on one, training beside held-out data, loss and accuracy of a test, a NaN, or a score of exactly 0, are no chance."""
        course = {
            kind: rows
            for kind, rows in self._beside.items()
            if len(rows) >= ROWS_ALONE
            and (all(read_score(name).better for name in kind) or all(map(_shows_several, rows)))
            and len({tuple(values.values()) for _, values in rows}) > 1
        }
        broken = {
            kind: rows
            for kind, rows in self._beside.items()
            if all(map(is_score, kind)) and _tell_a_fault(told for _, told in rows)
        }
        # a list of scores is the result of an evaluation, which may be all that a log tells; with errors and accuracies, of a single one
        single = all(len(rows) == 1 for rows in self._beside.values())
        listed = all(
            is_score(name) or (single and (measures(name) or read_name(name).quantity == "accuracy"))
            for name in chain(*self._beside)
        )
        results = self._beside if sum(map(len, self._beside)) >= BARE_NAMES and listed else {}
        waiting = {kind: rows for kind, rows in self._waiting.items() if not play_each_other(kind)} | course | results | broken  # fmt: skip
        faulty = any(_tell_a_fault(values for _, values in rows) for rows in waiting.values())
        told = sum(map(len, waiting)) >= BARE_NAMES or faulty
        phases = {read_name(name).phase for kind in waiting for name in kind}
        told = (
            told
            or phases >= {"train", "eval"}
            or {canonical_metric(name) for kind in waiting for name in kind} >= {"eval_loss", "eval_accuracy"}
            or any(len(kind) > 1 or len(rows) > 1 for kind, rows in waiting.items())
        )
        self._waiting, self._beside = {}, {}
        return [row for rows in waiting.values() for row in rows] if told else []
