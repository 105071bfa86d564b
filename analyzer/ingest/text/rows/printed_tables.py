"""Tables that grow by a line for each step or epoch: fastai, skorch, the notebook table of HF Trainer, CSV.

    epoch     train_loss  valid_loss  accuracy  time          Step    Training Loss    Validation Loss
    0         2.250000    2.125000    0.250000  00:10         100     2.250000         2.125000
    1         2.000000    1.875000    0.375000  00:10         200     2.000000         1.875000

    epoch,step,loss,lr
    0,10,2.25,0.001

A head counts only if its first column is a step or an epoch and all its names are known, one of them a loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.ingest.lazy_regex import LazyRegex
from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.log_line import Fed
from analyzer.ingest.text.rows.general_rows import GeneralRows
from analyzer.ingest.text.rows.printed_numbers import parse_number

if TYPE_CHECKING:
    from analyzer.ingest.text.log_line import LogLine, LogState

MAX_HEAD_CHARACTERS = 300
"""A head is a line of a dozen words."""

MAX_OTHER_LINES = 20
"""Lines between two rows: bars and warnings; a table that is that long silent is over."""

_CELLS = LazyRegex(r"[^\s,|][^,|\t\n]*?(?=\s{2,}|\s*[,|\t]|\s*$)")
_WORDS = LazyRegex(r"[^\s,|]+")
_COUNTERS = frozenset({"epoch", "step", "iter", "iteration", "global_step", "iters", "it"})
_OTHERS = frozenset(
    {"time", "dur", "elapsed", "eta", "cp", "secs", "seconds", "epoch_time", "epoch", "batch", "runtime"}
)
_RULE = LazyRegex(r"^[-=+|: ]{3,}$")


class PrintedTables:
    """Begins a table at its head."""

    literals = (
        "train_loss",
        "Training Loss",
        "step,loss",
        "epoch,loss",
        "epoch,step,",
        "val_loss",
        "valid_loss",
    )

    def __init__(self) -> None:
        self._read = GeneralRows("table")

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        text = line.text.strip()
        if len(text) > MAX_HEAD_CHARACTERS:
            return False
        columns = _columns(text)
        if columns is None:
            return False
        log.captures.append(_Table(columns, self._read))
        return True

    def finish(self, log: LogState) -> None:
        """Say how much was read by this reader."""
        self._read.tell(log)


def _columns(text: str) -> list[str] | None:
    """Names of the columns of a head, None if the line is none.

    >>> _columns("epoch     train_loss  valid_loss  time")
    ['epoch', 'train_loss', 'valid_loss', 'time']
    >>> _columns("the train_loss and the valid_loss of step 3") is None
    True
    """
    names = [cell.lower().replace(" ", "_") for cell in _CELLS.findall(text)]
    if len(names) < 2 or names[0] not in _COUNTERS or len(set(names)) < len(names):
        return None
    # The notebook table of HF Trainer holds whatever was logged, such as "rewards / format".
    known = [
        name
        for name in names[1:]
        if canonical_metric(name) in METRICS
        or name.endswith("loss")
        or name.startswith(("rewards_/_", "logps_/_", "logits_/_"))
    ]
    if len(known) + sum(name in _OTHERS | _COUNTERS for name in names[1:]) < len(names) - 1:
        return None
    return names if any(canonical_metric(name) in {"loss", "eval_loss"} for name in known) else None


class _Table:
    """A table in progress."""

    def __init__(self, columns: list[str], read: GeneralRows) -> None:
        self._columns = columns
        self._read = read
        self._others = 0

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        text = line.text.strip()
        cells = _CELLS.findall(text)
        if len(cells) != len(self._columns):
            cells = _WORDS.findall(text)  # numbers that grew into the gap between two columns
        if len(cells) == len(self._columns) and cells[0].isdecimal() and len(cells[0]) <= 12:
            self._others = 0
            return self._row(cells, line, log)
        if not text or _RULE.match(text):
            return Fed.PASSED
        self._others += 1
        return Fed.PASSED | Fed.ENDED if self._others > MAX_OTHER_LINES or _columns(text) else Fed.PASSED

    def _row(self, cells: list[str], line: LogLine, log: LogState) -> Fed:
        values: dict[str, float] = {}
        place: dict[str, int] = {}
        for name, cell in zip(self._columns, cells, strict=True):
            number = parse_number(cell)
            if name in _COUNTERS:
                if number is None or not 0 <= number < 1e15:
                    return Fed.PASSED
                place[name] = int(number)
            elif name not in _OTHERS and number is not None:
                values[name] = number
        step = next((at for name, at in place.items() if name != "epoch"), None)
        if step is not None:
            log.saw_step(step)
        for name, value in values.items():
            log.metric(name, value, line, step)
        self._read.note(line, values, step)
        return Fed.OWNED

    def finish(self, log: LogState) -> None:
        """Rows are written as they come."""
