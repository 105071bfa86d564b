"""Steps printed as one JSON object or Python dict a line by home-made loops, and MLPerf's result lines.

    {"step": 3, "loss": 2.0, "grad_norm": NaN, "loss_scale": 65536.0}
    {'train/loss': Infinity, 'step': 21}
    :::MLLOG {"time_ms": 1714536247834, "key": "eval_accuracy", "value": 0.72, "metadata": {"step_num": 500}}

A row counts only if it states its step and holds a quantity that is known by name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from analyzer.ingest.metric_lines.printed_numbers import parse_number
from analyzer.ingest.metric_lines.python_dicts import find_dicts, parse_dict
from analyzer.ingest.names import canonical_metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyzer.ingest.log_line import LogLine, LogState

_STEP_KEYS = (
    "step",
    "global_step",
    "iteration",
    "iter",
    "num_updates",
    "_step",
    "train/global_step",
    "trainer/global_step",
)
_NOT_METRICS = frozenset(
    {*_STEP_KEYS, "time", "timestamp", "time_ms", "_timestamp", "_runtime", "elapsed", "ts", "rank", "pid"}
)
_SIGNS = frozenset({"loss", "eval_loss", "grad_norm", "loss_scale", "learning_rate"})
# A printed dict of settings names a learning rate too, so a Python dict must hold more.
_MEASURED = _SIGNS - {"learning_rate"} | {"perplexity"}
_MLPERF_KEPT = frozenset({"eval_accuracy", "eval_error", "train_loss", "eval_loss"})

MAX_KEYS = 256
"""Metrics taken from one row."""


class JsonLines:
    """Reads rows that state their step."""

    literals = ('"loss":', '"train_loss":', '"grad_norm":', '"step":', '"global_step":', '"iter":', '"key": "eval_accuracy"', '"key": "eval_error"', '"key": "tracked_stats"',
                "'step': ", "'global_step': ", "'iteration': ", "'iter': ", "'_step': ")  # fmt: skip

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if "{'" in line.raw:
            return self._python_dicts(line, log)
        start, end = line.raw.find("{"), line.raw.rfind("}")
        if not 0 <= start < end:
            return False
        try:
            row = json.loads(line.raw[start : end + 1])
        except (ValueError, RecursionError):
            return False
        if not isinstance(row, dict):
            return False
        if ":::MLLOG" in line.raw:
            return self._mlperf(row, line, log)
        return self._row(row, line, log, _SIGNS)

    def _python_dicts(self, line: LogLine, log: LogState) -> bool:
        found = False
        for match in find_dicts(line.raw):
            found = self._row(parse_dict(match[0]), line, log, _MEASURED) or found
        return found

    @staticmethod
    def _row(row: Mapping[str, Any], line: LogLine, log: LogState, signs: frozenset[str]) -> bool:
        step = next((_integer(row[key]) for key in _STEP_KEYS if key in row), None)
        numbers = _numbers(row)
        if step is None or signs.isdisjoint(canonical_metric(name) for name in numbers):
            return False
        log.saw_step(step)
        for name, value in numbers.items():
            log.metric(name, value, line, step)
        return True

    @staticmethod
    def _mlperf(row: dict[str, Any], line: LogLine, log: LogState) -> bool:
        value, metadata = row.get("value"), row.get("metadata")
        stated = metadata if isinstance(metadata, dict) else {}
        step = next((_integer(stated[key]) for key in ("step_num", "iteration") if key in stated), None)
        values = value if isinstance(value, dict) else {str(row.get("key")): value}
        for name, number in _numbers(values).items():
            if name in _MLPERF_KEPT:
                log.metric(name, number, line, step)
        return True

    def finish(self, log: LogState) -> None:
        """Nothing is left to write."""


def _integer(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        return None
    return int(value)


def _as_float(value: float) -> float | None:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits is no measurement
        return None


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """Numeric entries; numbers and non-finite values may also be written as strings."""
    found: dict[str, float] = {}
    for name, value in list(row.items())[:MAX_KEYS]:
        if name in _NOT_METRICS or isinstance(value, bool):
            continue
        if isinstance(value, str):
            number = parse_number(value)
        elif isinstance(value, int | float):
            number = _as_float(value)
        else:
            number = None
        if number is not None:
            found[name] = number
    return found
