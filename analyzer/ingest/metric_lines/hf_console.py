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

from analyzer.ingest.lazy_regex import LazyRegex
from analyzer.ingest.log_line import BAR
from analyzer.ingest.metric_lines.hf_steps import Bar, Row, infer_steps, usual_gap
from analyzer.ingest.metric_lines.printed_numbers import parse_number

if TYPE_CHECKING:
    import re

    from analyzer.ingest.log_line import LogLine, LogState

_ROW = LazyRegex(r"\{'[^{}\n]{1,20000}\}")
_ITEM = LazyRegex(r"'([^'\n]{1,120})': (?:'([^'\n]{0,40})'|(?:tensor\()?([^,'}\s\[\]()]{1,40}))")
_STEP_KEYS = ("step", "global_step")
_NOT_METRICS = frozenset({"epoch", "step", "global_step", "total_flos", "max_steps"})

# A row is the trainer's if it holds one of these; any other dict of numbers is not.
_SIGNS = frozenset({"loss", "eval_loss", "train_runtime", "learning_rate", "grad_norm", "eval_runtime"})


@dataclass
class HfConsole:
    """Collects rows; their steps are worked out when the log is complete."""

    literals = ("'epoch': ", "{'loss': ", "{'eval_loss'", "'train_runtime': ", "'grad_norm': ")

    rows: list[Row] = field(default_factory=list)

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        found = False
        for match in _ROW.finditer(line.raw):
            values = parse_row(match[0])
            if values.keys().isdisjoint(_SIGNS) and not any(key.startswith("eval_") for key in values):
                continue
            found = True
            self._add(line, match, values, log)
        return found

    def _add(self, line: LogLine, match: re.Match[str], values: dict[str, float], log: LogState) -> None:
        stated = next((values[key] for key in _STEP_KEYS if key in values), None)
        row = Row(
            line.detached(),
            values,
            int(stated) if stated is not None and abs(stated) < 1e15 else None,
            _last_bar(line.before() + line.raw[: match.start()]),
            _first_bar(line.raw[match.end() :] + line.after()),
        )
        previous = self.rows[-1] if self.rows else None
        if previous is not None and previous.values == values and previous.line.rank == line.rank:
            return  # printed twice: by the progress bar's callback and by a logger
        self.rows.append(row)
        log.out.framework("hf-trainer")
        reached = row.after or row.before
        if reached is not None and row.is_training:
            log.total_steps = log.total_steps or reached[1]
            log.saw_step(reached[0])
        if "train_runtime" in values:
            log.event("training_completed", "info", line, _summary_fields(values))

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
            log.metric("train_loss_mean" if final else name, value, row.line, row.step)


def parse_row(text: str) -> dict[str, float]:
    """Numbers of a printed dict; entries that are no numbers are left out.

    >>> parse_row("{'loss': '1.23', 'grad_norm': nan, 'note': 'x', 'epoch': 0.1}")
    {'loss': 1.23, 'grad_norm': nan, 'epoch': 0.1}
    """
    values: dict[str, float] = {}
    for name, quoted, bare in _ITEM.findall(text):
        number = parse_number(quoted or bare)
        if number is not None:
            values[name] = number
    return values


def _summary_fields(values: dict[str, float]) -> dict[str, float]:
    kept = ("train_runtime", "train_loss", "train_steps_per_second")
    return {name: values[name] for name in kept if name in values and abs(values[name]) < float("inf")}


def _last_bar(text: str) -> Bar | None:
    bars = BAR.findall(text)
    return (int(bars[-1][0]), int(bars[-1][1])) if bars else None


def _first_bar(text: str) -> Bar | None:
    """The bar that is redrawn under a row; nothing but blank may stand in between."""
    match = BAR.search(text)
    return (int(match[1]), int(match[2])) if match and not text[: match.start()].strip() else None
