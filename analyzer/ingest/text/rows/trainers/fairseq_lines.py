"""Rows of fairseq and metaseq: JSON whose numbers are strings, or "simple" pairs.

    2020-12-10 12:21:56 | INFO | train_inner | {"epoch": 1, "update": 0.002, "loss": "16.464", "num_updates": "25", "lr": "1.25e-05", "gnorm": "4.464", "loss_scale": "64"}
    epoch 001:    100 / 1000 loss=9.1, ppl=420, num_updates=100, lr=1e-05, gnorm=2.3, loss_scale=128
    2020-12-10 12:21:56 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 8.5 | ppl 362 | num_updates 1000

The loss is in bits (base 2), a mean since the last row. Rows of a whole epoch (``train_loss``) are kept apart: their
means would stand beside the points of the same curve, and are the curve where the log has no other rows.
"""

from __future__ import annotations

from typing import Any

from analyzer.ingest.metric_columns import is_known_score
from analyzer.ingest.scalar_text import json_object
from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.ingest.text.rows.forms.row_forms import StepGaps
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name

_SIMPLE = LazyRegex(rf"\b([a-z]\w{{0,40}})=({NUMBER})(?=[,\s]|$)")
# A row of a whole pass: names and numbers between bars; that of training is left out as its means are.
_BARRED = LazyRegex(rf"\| ([A-Za-z]\w{{0,40}}) ({NUMBER})(?= \||\s{{0,4}}$)")
_VALIDATION = LazyRegex(r"\| (?:valid\w{0,20} \| epoch \d{1,7} \||epoch \d{1,7} \| valid on )")
_KEPT = frozenset(
    {"loss", "nll_loss", "gnorm", "lr", "loss_scale", "ppl", "clip", "accuracy", "wps", "ups", "gb_free"}
    | {
        "skipped_loss_spikes",
        "ewm_loss_ratio",
        "ewm_loss",
        "actv_norm",
        "cuda_gb_allocated",
        "cuda_gb_reserved",
    }
)
# metaseq's names of memory, which its own words do not tell from others.
_NAMES = {"cuda_gb_allocated": "gpu_memory_allocated_gib", "cuda_gb_reserved": "gpu_memory_reserved_gib"}

_TRAINING_ONLY = frozenset({"wps", "ups", "gb_free", "clip"})


MAX_MEANS = 10_000
"""Rows of whole epochs that are kept; no training has as many."""


class FairseqLines:
    """Reads rows of training and of validation."""

    def __init__(self) -> None:
        self._gaps = StepGaps()
        self._means: list[tuple[dict[str, Any], int, LogLine]] = []
        self._rows = 0

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        row = _row(line.raw)
        step = parse_number(str(row.get("num_updates", "")))
        valid_step = parse_number(str(row.get("valid_num_updates", "")))
        if step is not None and 0 <= step < 1e15:
            self._train(row, int(step), line, log)
        elif valid_step is not None and 0 <= valid_step < 1e15:
            self._write(row, "valid_", int(valid_step), line, log)
        elif (end := parse_number(str(row.get("train_num_updates", "")))) is not None and 0 <= end < 1e15:
            if len(self._means) < MAX_MEANS:
                self._means.append((row, int(end), line.detached()))
        elif "train_num_updates" not in row:
            return False
        log.out.framework("fairseq")
        return True

    def _train(self, row: dict[str, Any], step: int, line: LogLine, log: LogState) -> None:
        validation = any(key.startswith("valid_") for key in row)
        if not validation:
            log.saw_step(step)
            self._gaps.add(step)
            self._rows += 1
        self._write(row, "valid_" if validation else "", step, line, log)

    def _write(self, row: dict[str, Any], prefix: str, step: int, line: LogLine, log: LogState) -> None:
        for name in _kept(row, prefix):
            value = parse_number(str(row[prefix + name]))
            if value is not None and not (prefix and name in _TRAINING_ONLY):
                log.metric(prefix + _NAMES.get(name, name), value, line, step)

    def finish(self, log: LogState) -> None:
        """Write the means of epochs, as the curve if there is no other."""
        for row, step, line in self._means:
            for name in _kept(row, "train_"):
                value = parse_number(str(row[f"train_{name}"]))
                if value is not None:
                    log.metric(f"epoch/{name}" if self._rows else name, value, line, step)
        self._gaps.state_window(log)


def _kept(row: dict[str, Any], prefix: str) -> list[str]:
    """Names of a row, without the prefix, that are worth a curve: those above, any part of the loss and any score of answers.

    >>> _kept({"valid_loss": "2", "valid_wer": "31", "valid_ntokens": "70"}, "valid_")
    ['loss', 'wer']
    >>> _kept({"loss_dense_d": "2", "best_loss": "1", "temp": "0.5"}, "")
    ['loss_dense_d']
    """
    names = {key.removeprefix(prefix) for key in row if key.startswith(prefix)}
    return sorted(
        n for n in names if n in _KEPT or _is_part(n) or (is_known_score(n) and "perplexity" not in n)
    )


def _is_part(name: str) -> bool:
    reading = read_name(name)
    return reading.quantity == "loss" and not reading.setting and reading.phase != "other"


def _row(text: str) -> dict[str, Any]:
    start, end = text.find('{"'), text.rfind("}")
    if 0 <= start < end:
        return json_object(text[start : end + 1]) or {}
    if " num_updates=" in text:
        return dict(_SIMPLE.findall(text))
    prefix = "valid_" if _VALIDATION.search(text) else "train_"
    return {prefix + name.removeprefix(prefix): value for name, value in _BARRED.findall(text)}
