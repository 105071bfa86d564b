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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from analyzer.ingest.log_line import BAR, CONTEXT_BYTES
from analyzer.ingest.metric_lines.hf_steps import Bar, Row, infer_steps, usual_gap
from analyzer.ingest.metric_lines.python_dicts import find_dicts, parse_dict

if TYPE_CHECKING:
    import re

    from analyzer.ingest.log_line import LogLine, LogState

_NOT_METRICS = frozenset({"epoch", "step", "global_step", "total_flos", "max_steps"})

# A row is the trainer's if it holds one of these; any other dict of numbers is not.
_SIGNS = frozenset({"loss", "eval_loss", "train_runtime", "learning_rate", "grad_norm", "eval_runtime"})


@dataclass
class HfConsole:
    """Collects rows; their steps are worked out when the log is complete."""

    literals = ("'epoch': ", "{'loss': ", "{'eval_loss'", "'train_runtime': ", "'grad_norm': ")

    rows: list[Row] = field(default_factory=list)
    _repeat: Row | None = None
    _repeats: int = 0

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        found = False
        above: Bar | None = None
        for match in find_dicts(line.raw):
            values = parse_dict(match[0])
            if values.keys().isdisjoint(_SIGNS) and not any(key.startswith("eval_") for key in values):
                continue
            if not found:
                above = _bar_above(line, match.start())
            found = True
            self._add(line, match, values, above, log)
        return found

    def _add(
        self,
        line: LogLine,
        match: re.Match[str],
        values: dict[str, float],
        above: Bar | None,
        log: LogState,
    ) -> None:
        stated = values.get("step", values.get("global_step"))
        row = Row(
            line.origin(),
            values,
            int(stated) if stated is not None and abs(stated) < 1e15 else None,
            above,
            _bar_below(line, match.end()),
        )
        if self._is_second_print(row):
            return
        self.rows.append(row)
        log.out.framework("hf-trainer")
        reached = row.after or row.before
        if reached is not None and row.is_training:
            log.total_steps = log.total_steps or reached[1]
            log.saw_step(reached[0])
        if "train_runtime" in values:
            log.event("training_completed", "info", line, _summary_fields(values))

    def _is_second_print(self, row: Row) -> bool:
        """Whether a row was printed by the progress bar's callback and now again by a logger.

        That makes two equal rows. A third shows that the run itself repeats: a dead loss stays at 0.0.
        """
        previous = self.rows[-1] if self.rows else None
        if previous is None or previous.values != row.values or previous.origin.rank != row.origin.rank:
            self._repeats, self._repeat = 0, None
            return False
        if "train_runtime" in row.values:
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
        if not self.rows:
            return
        infer_steps(self.rows, log.total_steps, log.epochs, log.logging_steps)
        window = log.logging_steps or usual_gap([row.step for row in self.rows if row.is_training])
        if window is not None and window > 1:
            log.out.loss_window(window)
        for row in self.rows:
            self._write(row, log)

    def _write(self, row: Row, log: LogState) -> None:
        final = "train_runtime" in row.values
        for name, value in row.values.items():
            if name in _NOT_METRICS or (final and name != "train_loss"):
                continue
            log.metric("train_loss_mean" if final else name, value, row.origin, row.step)


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
