"""Console rows of the Hugging Face trainers: HF Trainer, TRL, Axolotl, Unsloth, LLaMA-Factory.

transformers 4 prints a dict of bare floats, 5 one of quoted strings with four digits::

     10%|#         | 10/100 [00:01<00:09, 9.0it/s]{'loss': 1.5303, 'grad_norm': nan, 'learning_rate': 6.4e-05, 'epoch': 0.02}
    {'loss': '1.53', 'grad_norm': 'nan', 'learning_rate': '6.4e-05', 'epoch': '0.0246'}
    {'train_runtime': '9.708', 'train_samples_per_second': '41.2', 'train_loss': '4.538', 'epoch': '0.625'}

The row names no step. It is taken from the progress bar, which is redrawn right after the row (exact) or
was drawn right before it (may lag); else from the epoch and the number of steps per epoch. Where neither
is known the points have no step, only their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzer.ingest.text.log_line import BAR, CONTEXT_BYTES, Learnable, LogLine, LogState, Written
from analyzer.ingest.text.rows.learned.row_batches import Alike, Batch
from analyzer.ingest.text.rows.tables.python_dicts import find_dicts, parse_dict
from analyzer.ingest.text.rows.trainers.hf_blocks import HfBatch
from analyzer.ingest.text.rows.trainers.hf_rows import Bar, Row, RowBatch, RowColumns, is_summary
from analyzer.ingest.text.rows.trainers.hf_steps import StepModel, fit_steps, usual_gap
from analyzer.ingest.text.text_layer import Block
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import NULL_INT

# A row is the trainer's if it holds one of these; any other dict of numbers is not.
_SIGNS = frozenset(
    {"loss", "eval_loss", "train_runtime", "learning_rate", "grad_norm", "eval_runtime", "objective/kl"}
)

_QUOTES = {0x2018: "'", 0x2019: "'"}

MAX_ROWS = 65_536
"""Rows, and the rest of a block, kept until their steps are worked out. What they tell about bars and epochs then holds for the rest."""

MAX_HEAD = 40
"""Characters before a dict in which the word for its data stands."""

_HELD_OUT = LazyRegex(
    r"(?i)(?<![a-z])(?:val(?:id(?:ation)?)?|eval(?:uation)?|test|dev)(?: (?:results?|metrics?|scores?|set))?['\"]? ?[:=] {0,3}$"
)
"""What stands before a dict of held-out data whose names do not say so: ``val: {'loss': 0.5}``."""

_PLACED = LazyRegex(
    r"(?i)(?<![a-z])(?:global[ _])?(?:step|iter(?:ation)?)[ :=#]{1,3}\d{1,12}(?:/\d{1,12})?\]? ?[:=,|-]{1,2} {0,3}$|\(steps_completed=\d{1,12}, metrics=$"
    r"|\bafter \d{1,12} (?:examples|samples): $"
)
"""A step, or how many samples were seen, that another program states before its dict: ``step 100: {'loss': 0.5}``."""

MAX_HEADING = 100
"""Characters of a line above a dict that is its heading, with what a logger puts in front of it."""

_HELD_OUT_ABOVE = LazyRegex(
    r"(?i)(?:^|[\s\]:|>])(?:val(?:id(?:ation)?)?|eval(?:uation)?|test|dev)(?: (?:res(?:ults?)?|metrics?|scores?|set))?[\s:=*#-]{0,12}$"
)
"""The same on a line of its own."""


class HfConsole(Learnable):
    """Collects rows; their steps are worked out when the log is complete, or when there are very many rows.

    Attributes:
        rows: Rows whose steps are open.
    """

    literals = (
        "'epoch': ",
        "{'loss': ",
        "{'eval_loss'",
        "'train_runtime': ",
        "'grad_norm': ",
        "'objective/kl': ",
        "\u2019epoch\u2019: ",
        "\u2018epoch\u2019: ",
    )

    def __init__(self) -> None:
        self.rows = RowColumns()
        self._previous: Row | None = None
        self._repeat: Row | None = None
        self._repeats = 0
        self._model: StepModel | None = None
        self._last_step = NULL_INT
        self._below_headings = False

    def batch(self, parts: Sequence[Alike], block: Block) -> Batch:
        """See ``Keeper``."""
        return HfBatch(parts, block, self)

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        found = False
        above: Bar | None = None
        # A forum or a mail program turned the quotes into typographic ones.
        text = line.raw.translate(_QUOTES) if "\u2019: " in line.raw else line.raw
        for match in find_dicts(text):
            values = parse_dict(match[0])
            own = any(key.startswith("eval_") for key in values)
            if not own and (
                values.keys().isdisjoint(_SIGNS)
                or _HELD_OUT.search(text, max(0, match.start() - MAX_HEAD), match.start())
                or self._is_below_heading(values, line)
                or (
                    "epoch" not in values
                    and _PLACED.search(text, max(0, match.start() - MAX_HEAD), match.start())
                )
            ):
                continue
            if not found:
                above = _bar_above(line, match.start())
            found = True
            below = _bar_below(line, match.end())
            row = Row(
                line.number, line.rank, line.time_s, tuple(values), tuple(values.values()), above, below
            )
            if not self.add(row, log):
                continue
            if is_summary(values):
                log.event("training_completed", "info", line, _summary_fields(values))
            if log.written is not None and not line.raw[match.end() :].strip():
                log.written += [Written(name, value, None, line.rank, line.time_s) for name, value in values.items()]  # fmt: skip
        return found

    def _is_below_heading(self, values: Mapping[str, float], line: LogLine) -> bool:
        """Whether the line above says that a dict is of held-out data; the trainer's own rows hold their epoch."""
        if "epoch" in values or "grad_norm" in values:
            return False
        above = line.before().rstrip().rpartition("\n")[2]
        below = len(above) <= MAX_HEADING and _HELD_OUT_ABOVE.search(above) is not None
        self._below_headings = self._below_headings or below
        return below

    @property
    def rows_stand_alone(self) -> bool:
        """See ``Learnable``; where headings tell the data, dicts of one wording are of several."""
        return not self._below_headings

    def add(self, row: Row, log: LogState) -> bool:
        """Keep a row; False if it is only printed a second time."""
        if self._is_second_print(row):
            return False
        if not self._previous:
            log.out.framework("hf-trainer")
        self._keep(row, log)
        reached = row.below or row.above
        if reached is not None and "loss" in row.names:
            log.total_steps = log.total_steps or reached[1]
            log.saw_step(reached[0])
        return True

    def may_add_all(self, first: Row) -> bool:
        """Whether rows are no second print of the row before."""
        previous = self._previous
        return previous is not None and not is_summary(previous.names) and not previous.same_print(first)

    def add_all(self, rows: RowBatch, last: Row, log: LogState) -> None:
        """Do what ``add`` does with each row, but for the step of the log."""
        self._repeats, self._repeat = 0, None
        self._previous = last
        self.rows.extend(rows, last)
        if not log.total_steps:
            bars = rows.bars[(rows.bars[:, [0, 2]] != NULL_INT).any(axis=1)]
            if bars.size:
                log.total_steps = int(bars[0, 1] if bars[0, 2] == NULL_INT else bars[0, 3])
        if len(self.rows) >= MAX_ROWS:
            self._write(log)

    def _keep(self, row: Row, log: LogState) -> None:
        if self._previous is not None and is_summary(self._previous.names) and "loss" in row.names:
            self._write(log)  # another training in the same log: its steps begin anew
            self._model, self._last_step = None, NULL_INT
        self._previous = row
        self.rows.append(row)
        if len(self.rows) >= MAX_ROWS:
            self._write(log)

    def _is_second_print(self, row: Row) -> bool:
        """Whether a row was printed by the progress bar's callback and now again by a logger.

        That makes two equal rows. A third shows that the run itself repeats: a dead loss stays at 0.0.
        """
        previous = self._previous
        if previous is None or not previous.same_print(row):
            self._repeats, self._repeat = 0, None
            return False
        if is_summary(row.names):
            return True
        self._repeats += 1
        if self._repeats == 1:
            self._repeat = row
            return True
        if self._repeat is not None:
            self.rows.append(self._repeat)
            self._repeat = None
        return False

    def finish(self, log: LogState) -> None:
        """See ``LineGrammar.finish``."""
        self._write(log)

    def _write(self, log: LogState) -> None:
        """Work out the steps of the rows and write them."""
        rows, self.rows = self.rows, RowColumns()
        if not len(rows):
            return
        first = self._model is None
        if self._model is None:
            self._model = fit_steps(rows, log.total_steps, log.epochs, log.logging_steps)
        steps = self._model.steps(rows, self._last_step)
        self._last_step = int(steps[-1])
        window = log.logging_steps or usual_gap(steps[rows.training()])
        if first and window is not None and window > 1:
            log.out.loss_window(window)
        rows.write(steps, log)


def _summary_fields(values: dict[str, float]) -> dict[str, float]:
    kept = ("train_runtime", "train_loss", "train_steps_per_second")
    return {name: values[name] for name in kept if name in values and abs(values[name]) < float("inf")}


def _bar_above(line: LogLine, start: int) -> Bar | None:
    """The last bar drawn before a row that begins at a position of its line.

    A bar begins its record, so it is either what this record begins with or stands in an earlier one.
    """
    match = BAR.match(line.raw, 0, min(start, CONTEXT_BYTES)) if "%|" in line.raw[:CONTEXT_BYTES] else None
    if match:
        return int(match[1]), int(match[2])
    if line.block.find(b"%|", max(0, line.start - CONTEXT_BYTES), line.start) < 0:
        return None
    bars = BAR.findall(line.before())
    return (int(bars[-1][0]), int(bars[-1][1])) if bars else None


def _bar_below(line: LogLine, end: int) -> Bar | None:
    """The bar that is redrawn under a row; nothing but blank may stand in between."""
    rest = line.raw[end : end + CONTEXT_BYTES]
    if not rest.strip():
        if line.block.find(b"%|", line.end, line.end + CONTEXT_BYTES) < 0:
            return None
        rest += line.after()
    elif "%|" not in rest:
        return None
    match = BAR.match(rest.lstrip())
    return (int(match[1]), int(match[2])) if match else None
