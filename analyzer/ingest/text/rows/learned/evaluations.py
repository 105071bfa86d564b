"""Which rows are about held-out data although no word of theirs says so: those below the heading of an evaluation.

    Eval begin...                                             testing in eval mode
    step 10/88 - loss: 0.15 - acc: 0.77                       epoch: 0,  loss is: 0.48, acc is: 0.83

An evaluation counts its own batches, so its rows stand at the step that the training has reached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from analyzer.ingest.names import canonical_metric
from analyzer.ingest.text.rows.learned.line_masks import counted
from analyzer.ingest.text.rows.learned.line_phases import BOTH_PARTS, part_of
from analyzer.ingest.text.rows.learned.quantities import as_held_out
from analyzer.ingest.text.rows.learned.wordings import WordedRow
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name

HELD_OUT_LINES = 4
"""Rows below a heading such as "Evaluation results:" that belong to it."""

EPOCH_LINES = 2
"""Lines below a heading in which a row that names an epoch is the result of the evaluation, and not the next epoch."""

KEPT_STEPS = 64
"""Steps of training rows that are kept in mind; an evaluation at a step follows the row of that step."""

_PART = LazyRegex(r"(?i)(?<![a-z])(dev|test(?:ing)?|val(?:id(?:at(?:ion|e|ing))?)?)(?![a-z])")


class Evaluations:
    """Follows the evaluations of a log.

    Attributes:
        open: A heading was met, and no row of the training since.
        own_rows: Rows were held to be of an evaluation for its heading alone.
    """

    def __init__(self) -> None:
        self._at: int | None = None
        self.open = False
        self._reached = -1
        self._batches: int | None = None
        self._epoch: int | None = None
        self._named_epoch = False
        self._steps: deque[int] = deque(maxlen=KEPT_STEPS)
        self._part = self._first_part = ""
        self._told: set[str] = set()
        self.own_rows = False

    def begin(self, number: int, text: str) -> None:
        """A heading of an evaluation stands at a line."""
        self._at, self.open, self._reached = number, True, -1
        found = _PART.search(text)
        self._part = part_of(found[1]) if found else ""
        self._told = set()
        self._first_part = self._first_part or self._part

    def end(self) -> None:
        """A heading of training data follows."""
        self._at, self.open = None, False

    def is_above(self, number: int) -> bool:
        """Whether a line stands right below such a heading."""
        return self._at is not None and number - self._at <= HELD_OUT_LINES

    def held_out(self, values: Mapping[str, float]) -> dict[str, float]:
        """Values below the heading of an evaluation; those of a second part of the data (dev, then test) are a series of their own."""
        part = f"part/{self._part}_" if self._part not in {"", self._first_part} else ""
        return {part + as_held_out(name): value for name, value in values.items()}

    def below(self, number: int, values: Mapping[str, float]) -> dict[str, float]:
        """The same of a line right below the heading; one that tells something new goes on with the list that it ends."""
        if self._at is not None and self._told.isdisjoint(values):
            self._at = max(self._at, number + 1 - HELD_OUT_LINES)
        self._told.update(values)
        return self.held_out(values)

    def parted(self, row: WordedRow, values: dict[str, float]) -> dict[str, float]:
        """Values of a row; those that its words or their names say to be of a second part of the data are series of their own."""
        if not row.part:
            return values
        found: dict[str, float] = {}
        for name, value in values.items():
            held_out = read_name(name).phase == "eval" and not name.startswith("part/")
            part = (part_of(name) if row.part == BOTH_PARTS else row.part) if held_out else ""
            self._first_part = self._first_part or part
            named = (
                part_of(name) == part
            )  # "test_rmse" is no other set's, and no loss that a training is judged by
            if part in {"", self._first_part} or (named and not canonical_metric(name).startswith("eval_")):
                found[name] = value
            else:
                found["part/" + name if named else f"part/{part}_{name}"] = value
        return found

    def holds(self, row: WordedRow, numbers: list[str], number: int) -> bool:
        """Whether a row that names a place, but no phase, is one of the evaluation."""
        place = row.place
        total = counted(numbers[place.total]) if place.total >= 0 and place.step >= 0 else ""
        epoch = int(counted(numbers[place.epoch]) or 0) if place.epoch >= 0 else None
        inside = False
        step = int(counted(numbers[place.step]) or 0) if total else 0
        if total and epoch is None and self._named_epoch and (not self.open or step <= self._reached):
            # Each row of the training names its epoch: what counts another number of batches without one is no training.
            # It begins anew with each part of the data that is evaluated.
            self.open, self._reached = self._batches is not None and int(total) < self._batches, -1
        if self.open and total:
            # Its batches go on to the end; what begins anew is the next epoch, however long that is.
            inside = self._batches is not None and int(total) != self._batches and step > self._reached
            self.open, self._reached = inside and step < int(total), step
        elif self.open and place.step < 0 and epoch is not None and self._at is not None:
            inside = number - self._at <= EPOCH_LINES and epoch == self._epoch
            self.open = False
        if not inside:
            self._note(total, epoch, counted(numbers[place.step]) if place.step >= 0 else "")
        self.own_rows = self.own_rows or inside
        return inside

    def _note(self, total: str, epoch: int | None, step: str) -> None:
        self._batches = int(total) if total else self._batches
        self._epoch = epoch if epoch is not None else self._epoch
        self._named_epoch = epoch is not None
        if step:
            self._steps.append(int(step))

    def trained(self, row: WordedRow, numbers: list[str]) -> None:
        """A row says that it is of the training: what it counts tells the batches of evaluations apart."""
        place = row.place
        total = counted(numbers[place.total]) if place.total >= 0 and place.step >= 0 else ""
        epoch = int(counted(numbers[place.epoch]) or 0) if place.epoch >= 0 else None
        self._note(total, epoch, counted(numbers[place.step]) if place.step >= 0 else "")

    def counts_its_own(self, row: WordedRow, numbers: list[str]) -> bool:
        """Whether the step of a row of held-out data counts its evaluations or their batches, not steps of the training."""
        if row.place.step < 0 or not self._steps:
            return False
        step = int(counted(numbers[row.place.step]) or 0)
        total = counted(numbers[row.place.total]) if row.place.total >= 0 else ""
        own = step < self._steps[-1] and step not in self._steps
        if total and self._batches is not None:
            own = own or int(total) != self._batches
        self.own_rows = self.own_rows or own
        return own


_OWN_BATCH = LazyRegex(
    r"(?i)^\W{0,8}(?:eval|valid|test)[a-z]{0,7} (?:iter(?:ation)?|batch|step)[ :=#]{1,3}(\d{1,9})\W{0,8}$"
)


def counts_batches(text: str, reached: int | None) -> bool:
    """Whether a heading counts the batches of an evaluation: the training has come further.

    >>> counts_batches("Validation iteration 2", 900), counts_batches("Validation step 900", 900), counts_batches("(1/8) Test size: 9", 90)
    (True, False, False)
    """
    own = _OWN_BATCH.match(text)
    return own is not None and reached is not None and int(own[1]) < reached
