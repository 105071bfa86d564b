"""Follows the epochs that a log counts, whoever reads them: those of one training never begin again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from analyzer.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from analyzer.ingest.text.log_line import LogLine, LogState

EPOCHS_OF_A_TRAINING = 2
"""Epochs passed before a fall back to the first one begins another training; tables of results count up to two anew."""

LATE_EPOCHS, LINES_APART, WIDER = 5, 8, 2
"""In a log that lacks its first epoch another training begins five epochs after the first of all, behind lines that a preparation or an evaluation writes: eight, and twice as many as ever stood between two rows."""

OF_ROWS_FAR_APART = 10
"""Where rows come every so many epochs, the first one stands within a tenth of those that were passed."""

_TRAINING = LazyRegex(
    r"(?i)(?<![\w/-])(?:fold|seed|trial|run|experiment|split|repeat|repetition|subject|configuration|config|stage|task)"
    r"(?:[ _](?:no\.?|idx|id))?[ :=#]{1,3}(?P<number>\d{1,9})(?![\w.])(?: {0,2}(?:/|of) {0,2}\d{1,6}(?![\w.]))?"
)
"""Which of several trainings a line is of: ``Fold 2``, ``seed: 43``, ``Trial 7/20``."""

_APART = LazyRegex(r"(?i)(?:fold|seed|split|repeat|repetition|subject|config)")
"""Trainings of one model on other data or from other weights: what each ends with is no course. Stages and tasks follow each other, and some call an episode a run or a trial."""

_FRAME = " \t=-*#_~:|>[]."


def is_bare_heading(text: str) -> bool:
    """Whether a line says nothing else than which training comes.

    >>> is_bare_heading("Fold 2"), is_bare_heading("== Run 2/5 =="), is_bare_heading("fold 2 loss 0.5")
    (True, True, False)
    """
    return _TRAINING.fullmatch(text.strip(_FRAME)) is not None


class Trainings:
    """Follows the epochs of a log: those of one training never begin again."""

    def __init__(self) -> None:
        self._training = self._told_training = ""
        self._epoch: int | None = None
        self._first_epoch: int | None = None
        self._line = self._widest = 0
        self._names: frozenset[str] = frozenset()
        self._named: tuple[int, int] | None = None
        self._results: dict[frozenset[str], tuple[int, bool]] = {}

    def note_heading(self, text: str, line: LogLine, log: LogState) -> None:
        """A line that may name the training that comes; a bare ``Fold 2`` is too short to be looked for as an event."""
        if (training := _TRAINING.search(text)) is not None:
            self._training = training[0]
            if _APART.match(training[0]):
                self._named = (line.number, int(training["number"]))
            if is_bare_heading(text):
                log.event("training_heading", "info", line, {"number": int(training["number"])}, None)

    def tells_result(self, values: Mapping[str, float], line: LogLine, log: LogState) -> bool:
        """Write what a further fold ended with, as parts: a row without a place, where no two of its kind in turn are of the same fold.

        The first such row stays what it says, as what is known of all of them.
        """
        if self._named is None or self._named[0] != line.number:
            return False
        number = self._named[1]
        told = {name: value for name, value in values.items() if value != number or not _APART.search(name)}
        if not told:
            return False  # no more than which fold it is
        kind = frozenset(told)
        before, is_course = self._results.get(kind, (None, False))
        is_course = is_course or number == before
        self._results[kind] = (number, is_course)
        if before is None or is_course:
            return False
        for name, value in told.items():
            log.metric(f"part/{name}", value, line, log.step)
        return True

    def _starts_again(self, epoch: int, last: int, first: int, *, apart: bool) -> bool:
        """Whether an epoch is the first of another training than that of the last one."""
        is_another = self._training != self._told_training
        if epoch < first:  # the log began within a fold or a stage, and this is the next one's first epoch
            return is_another or (epoch <= 1 and last >= epoch + LATE_EPOCHS and apart)
        return (epoch == first and is_another) or (
            epoch <= max(first + 1, last // OF_ROWS_FAR_APART) and last >= epoch + EPOCHS_OF_A_TRAINING
        )

    def note(self, epoch: int, line: LogLine, log: LogState, names: frozenset[str] = frozenset()) -> None:
        """A row or a heading of an epoch; tell where the epochs start again.

        A file that lists one value after another, each for all epochs, names another one where it starts again.
        """
        another = bool(names) and names.isdisjoint(self._names)
        self._names |= names
        if another:
            self._first_epoch = epoch if self._first_epoch is None else self._first_epoch
        elif self._epoch is None or self._first_epoch is None:
            self._first_epoch = epoch
        else:
            apart = line.number - self._line >= max(LINES_APART, WIDER * self._widest)
            self._widest = max(self._widest, line.number - self._line)
            if self._starts_again(epoch, self._epoch, self._first_epoch, apart=apart):
                log.event("training_begins_again", "info", line, {"epoch": epoch}, None)
            self._first_epoch = min(epoch, self._first_epoch)
        self._epoch, self._told_training, self._line = epoch, self._training, line.number
