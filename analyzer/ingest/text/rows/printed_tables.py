"""Tables that grow by a line for each step or epoch: fastai, skorch, spaCy, Chainer, the notebook table of HF Trainer, CSV.

    epoch     train_loss  valid_loss  accuracy  time          | Step | Training Loss | Validation Loss |
    0         2.250000    2.125000    0.250000  00:10         |------|---------------|-----------------|
    1         2.000000    1.875000    0.375000  00:10         | 100  | 2.250000      | 2.125000        |

    E    #       LOSS TOK2VEC  LOSS NER  ENTS_F               epoch,step,loss,lr
      0     200         12.50   1225.50   50.50               0,10,2.25,0.001

A head counts only if a column is a step or an epoch and another one, by its words, a loss, an accuracy or a reward;
no cell of it may be a number. A row has as many cells as the head, and a whole number in its counter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.ingest.lazy_regex import LazyRegex
from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.log_line import Fed
from analyzer.ingest.text.rows.general_rows import GeneralRows
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.model.name_words import read_name

if TYPE_CHECKING:
    from analyzer.ingest.text.log_line import LogLine, LogState

MAX_HEAD_CHARACTERS = 400
"""A head is a line of a dozen words."""

MAX_OTHER_LINES = 20
"""Lines between two rows: bars and warnings; a table that is that long silent is over."""

MAX_NAME_CHARACTERS = 40
"""Characters of the name of a column; longer cells are sentences."""

_STROKES = str.maketrans("\u2502\u2503\u2551", "|||")
_CELLS = LazyRegex(r"[^\s,|][^,|\t\n]*?(?=\s{2,}|\s*[,|\t]|\s*$)")
_WORDS = LazyRegex(r"[^\s,|]+")
_EPOCHS = frozenset({"epoch", "epochs", "e", "itn", "round", "ep"})
_STEPS = frozenset({"step", "steps", "iter", "iteration", "global_step", "iters", "it", "#", "update", "updates", "num_updates", "batch"})  # fmt: skip
_COUNTERS = _EPOCHS | _STEPS
_OTHERS = frozenset(
    {"time", "dur", "elapsed", "elapsed_time", "eta", "cp", "secs", "seconds", "epoch_time", "batch", "runtime", "remaining_time", "trial_name", "status", "ts", "total_time_(s)", "loc", "cpu_wps", "gpu_wps"}
)  # fmt: skip
_RULE = LazyRegex(r"^[-=+|: \u2500-\u257f]{3,}$")
_HEADER_CELL = LazyRegex(r"^[^\W\d][\w /.()%@#*-]{0,39}$")
_MEASURED = frozenset({"loss", "accuracy", "perplexity", "reward_mean", "loss_like"})


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
        columns = _columns(line.text)
        if columns is None:
            return False
        log.captures.append(_Table(columns, self._read))
        return True

    def wants(self, text: str) -> bool:
        """See ``Curious.wants``."""
        return _columns(text) is not None

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
    text = text.strip()
    if not 8 <= len(text) <= MAX_HEAD_CHARACTERS:
        return None
    text = text.translate(_STROKES)
    cells = _CELLS.findall(text)
    names = [cell.lower().replace(" ", "_") for cell in cells]
    if len(names) < 2 or len(set(names)) < len(names) or not any(name in _COUNTERS for name in names):
        return None
    # Outside of a table with strokes the counter stands first, so that a sentence is no head.
    if names[0] not in _COUNTERS and "|" not in text:
        return None
    if not all(_HEADER_CELL.match(cell) or cell == "#" for cell in cells):
        return None
    measured = [name for name in names if name not in _COUNTERS | _OTHERS and _is_measured(name)]
    unknown = [
        name
        for name in names
        if name not in _COUNTERS | _OTHERS | set(measured) and canonical_metric(name) not in METRICS
    ]
    separated = "|" in text or "\t" in text or "  " in text
    return names if measured and (separated or not unknown) else None


def _is_measured(name: str) -> bool:
    reading = read_name(name.replace("main/", ""))
    return reading.quantity in _MEASURED and not reading.setting


class _Table:
    """A table in progress."""

    def __init__(self, columns: list[str], read: GeneralRows) -> None:
        self._columns = columns
        self._read = read
        self._others = 0

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        text = line.text.translate(_STROKES).strip()
        cells = _CELLS.findall(text)
        if len(cells) != len(self._columns):
            cells = _WORDS.findall(text)  # numbers that grew into the gap between two columns
        if len(cells) == len(self._columns) and self._counts(cells):
            self._others = 0
            return self._row(cells, line, log)
        if not text or _RULE.match(text):
            return Fed.PASSED
        self._others += 1
        return Fed.PASSED | Fed.ENDED if self._others > MAX_OTHER_LINES or _columns(text) else Fed.PASSED

    def _counts(self, cells: list[str]) -> bool:
        return all(
            cell.isdecimal() and len(cell) <= 12
            for name, cell in zip(self._columns, cells, strict=True)
            if name in _COUNTERS
        )

    def _row(self, cells: list[str], line: LogLine, log: LogState) -> Fed:
        values: dict[str, float] = {}
        place: dict[str, int] = {}
        for name, cell in zip(self._columns, cells, strict=True):
            number = parse_number(cell)
            if name in _COUNTERS:
                place[name] = int(cell)
            elif name not in _OTHERS and number is not None:
                values[name.removeprefix("main/").replace("validation/main/", "validation/")] = number
        step = next((at for name, at in place.items() if name not in _EPOCHS), None)
        if step is not None:
            log.saw_step(step)
        for name, value in values.items():
            log.metric(name, value, line, step)
        self._read.note(line, values, step)
        return Fed.OWNED

    def finish(self, log: LogState) -> None:
        """Rows are written as they come."""
