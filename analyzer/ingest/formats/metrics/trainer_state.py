"""HF Trainer's ``trainer_state.json``: the metrics of a run as of its last save.

Written at checkpoints and at the end, so a crash loses what came after the last save; the console log has
it. Rows of the history are of three kinds: training, evaluation, and one final summary::

    {"log_history": [
      {"epoch": 0.01, "grad_norm": NaN, "learning_rate": 0.0, "loss": 0.0, "step": 1},
      {"epoch": 0.50, "eval_loss": 1.25, "eval_runtime": 3.1, "step": 50},
      {"epoch": 1.00, "train_loss": 0.99, "train_runtime": 61.0, "step": 100}],
     "global_step": 100, "logging_steps": 1, "max_steps": 100}

``all_results.json`` and ``train_results.json`` repeat the final row; they exist only if the run ended well.
"""

from __future__ import annotations

import re
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.encodings.json_positions import JsonReader, JsonTextError
from analyzer.ingest.metric_columns import MetricColumns, common_spacing
from analyzer.ingest.scalar_text import json_object, metric_value, whole_step
from analyzer.ingest.source_text import read_text

MAX_BYTES = 256 << 20
"""A row has about 200 bytes: room for a million rows."""

_ECHOED = ("max_steps", "num_train_epochs", "train_batch_size", "logging_steps")
_STATE = re.compile(rb'"log_history"\s*:\s*\[')
_RESULTS = re.compile(rb'"train_runtime"\s*:')
_FRAMEWORK = "hf-trainer"
_NO_OBJECT = "a row of the history is not an object"


def _many(row: str) -> re.Pattern[str]:
    """Rows that look alike, many at a time: a hostile file holds millions. Bounded, for the match needs memory."""
    return re.compile(
        rf"{row}(?:[ \t\n\r]{{0,99}},[ \t\n\r]{{0,99}}{row}){{0,9999}}(?=[ \t\n\r]{{0,99}}[,\]])"
    )


_EMPTY_ROWS = _many(r"\{[ \t\n\r]{0,99}\}")
_NO_ROWS = _many(r"(?:(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?|true|false|null|\[\])")


class TrainerState:
    """Reads the state and result files of HF Trainer."""

    def sniff(self, candidate: Candidate) -> Match:
        """By content: one real ``trainer_state.json`` is called ``error.py``."""
        head = candidate.head
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return Match.NO
        if _STATE.search(head):
            return Match.SURE if b'"global_step"' in head else Match.LIKELY
        return Match.SURE if _is_results(head) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Rows become metrics, the run's own echo of its arguments becomes configuration."""
        text = read_text(source, out, MAX_BYTES)
        out.framework(_FRAMEWORK)
        reader = JsonReader(text)
        history = _History(out)
        results: dict[str, Any] = {}
        logging_steps: int | None = None
        try:
            for key in reader.members():
                line = reader.key_line
                if key == "log_history" and reader.peek() == "[":
                    history.read(reader)
                    continue
                value = results[key] = reader.value()
                if key in _ECHOED and metric_value(value) is not None:
                    out.config(key, value, framework=_FRAMEWORK, layer="runtime_echo", line=line)
                if key == "global_step" and whole_step(value) is not None:
                    out.config("hf.global_step", value, framework=_FRAMEWORK, layer="runtime_echo", line=line)
                if key == "logging_steps":
                    logging_steps = whole_step(value)
        except JsonTextError as error:
            out.gap(f"the file stops being JSON here ({error}); what stands before was read", line=error.line)
        if "train_runtime" in results:
            history.final_row(results, None, dict.fromkeys(results, 0))
        history.finish(logging_steps)


def _is_results(head: bytes) -> bool:
    """One object with the final row's keys; small, so it is parsed: rows of a JSONL log may hold them too."""
    if not _RESULTS.search(head) or b'"train_loss"' not in head:
        return False
    return json_object(head) is not None


class _History:
    """The rows of ``log_history``."""

    def __init__(self, out: SourceWriter) -> None:
        self._out = out
        self._columns = MetricColumns(out)

    def read(self, reader: JsonReader) -> None:
        for line in reader.elements():
            if empty := _EMPTY_ROWS.match(reader.text, reader.position):
                reader.position = empty.end()
                continue
            if other := _NO_ROWS.match(reader.text, reader.position):
                reader.position = other.end()
                self._out.gap(_NO_OBJECT, line=line, rows_lost=other[0].count(",") + 1)
                continue
            start = reader.position
            row = reader.value()
            if not isinstance(row, dict):
                self._out.gap(_NO_OBJECT, line=line, rows_lost=1)
                continue
            self._row(row, _lines_of(row, line, reader.text.count("\n", start, reader.position)))

    def _row(self, row: dict[str, Any], lines: dict[str, int]) -> None:
        step = whole_step(row.get("step"))
        if "train_runtime" in row and "loss" not in row:
            self.final_row(row, step, lines)
            return
        for name, value in row.items():
            number = None if name == "step" else metric_value(value)
            if number is not None:
                self._columns.add(name, number, step=step, line=lines[name])

    def final_row(self, row: dict[str, Any], step: int | None, lines: dict[str, int]) -> None:
        """The summary that the trainer writes after its last step; its ``train_loss`` is a mean over the run."""
        mean = metric_value(row.get("train_loss"))
        if mean is not None:
            self._columns.add("train_loss_mean", mean, step=step, line=lines["train_loss"])
        runtime = metric_value(row["train_runtime"])
        self._out.event(
            "training_completed",
            f"train_runtime: {row['train_runtime']}, train_loss: {row.get('train_loss')}",
            role="info",
            line=lines["train_runtime"] or None,
            step=step,
            fields={} if runtime is None else {"train_runtime_s": runtime},
        )

    def finish(self, logging_steps: int | None) -> None:
        """Hand the points over, with the number of steps that each printed loss is a mean of."""
        window = common_spacing(self._columns.steps_of("loss")) or logging_steps
        if window is not None and window > 0:
            self._out.loss_window(window)
        self._columns.flush()


def _lines_of(row: dict[str, Any], line: int, line_ends: int) -> dict[str, int]:
    """Line of each key: HF writes one key a line; in any other layout, the line on which the row begins."""
    if line_ends == len(row) + 1:
        return {name: line + 1 + index for index, name in enumerate(row)}
    return dict.fromkeys(row, line)
