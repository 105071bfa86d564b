"""Steps printed as one JSON object or Python dict a line by home-made loops, and MLPerf's result lines.

    {"step": 3, "loss": 2.0, "grad_norm": NaN, "loss_scale": 65536.0}
    {"epoch": 3, "train_loss": 2.0, "test_acc1": 50.0}
    Global step 10: {'policy_loss': 0.125, 'reward': 0.5, 'kl': 0.01}
    epoch 3: {'accuracy': 0.5}
    json_stats: {"_type": "train_iter", "epoch": "1/200", "iter": "10/1000", "dt": 0.5, "loss": 2.5}
    {'train/loss': Infinity, 'step': 21}
    :::MLLOG {"time_ms": 1714536247834, "key": "eval_accuracy", "value": 0.72, "metadata": {"step_num": 500}}
    :::MLPv0.5.0 ncf 1541732933.688 (ncf.py:450) eval_accuracy: {"epoch": 0, "value": 0.41}

A row counts only if it states its step or epoch and holds a quantity that is known by name. The third form
is OpenRLHF's, the fourth, a result on held-out data, that of the example scripts of accelerate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.ingest.metric_columns import of_held_out, says_held_out
from analyzer.ingest.names import canonical_metric
from analyzer.ingest.scalar_text import json_object
from analyzer.ingest.text.log_line import Learnable, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import parse_number, step_of_total
from analyzer.ingest.text.rows.tables.python_dicts import find_dicts, parse_dict
from analyzer.lazy_regex import LazyRegex

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
_REINFORCED = _MEASURED | {"policy_loss", "value_loss", "reward_mean", "kl"}
_LOSSES = frozenset({"loss", "eval_loss"})
_MLPERF_KEPT = frozenset(
    {
        "eval_accuracy",
        "eval_error",
        "train_loss",
        "reduced_train_loss",
        "loss",
        "eval_loss",
        "loss_scale",
        "current_lr",
    }
)
# What MLPerf's benchmarks log as their "accuracy" where it is no share of right answers; an area under a curve reads like one.
_MLPERF_SCORES = {
    "rnnt": "eval_wer",
    "ssd": "eval_map",
    "retinanet": "eval_map",
    "maskrcnn": "eval_map",
    "gnmt": "eval_bleu",
    "transformer": "eval_bleu",
    "unet3d": "eval_dice",
    **dict.fromkeys(("gpt3", "llama2_70b_lora", "llama31_8b", "llama31_405b", "flux1"), "eval_loss"),
}
_FIRST_ROUNDS = LazyRegex(r":::MLPv0\S{0,12} .{0,200} (?P<key>\w{1,40}): $")
_MLPERF_STEPS = ("step_num", "iteration", "step")

_BEFORE = LazyRegex(
    r"\b(?P<unit>[Gg]lobal[ _][Ss]tep|[Ss]tep|[Ii]teration|[Ee]poch)[ :=]{1,3}(?P<at>\d{1,12}) ?: ?$"
)
_PLACE = LazyRegex(r"(\d{1,9})/(\d{1,9})$")
# Means of an epoch stand beside the points of the steps, if the log has them.
_SLOWFAST_PREFIX = {
    "train_iter": "",
    "train_iter_": "",
    "train_epoch": "epoch/",
    "val_epoch": "val/",
    "val_iter": "val/",
}
_SLOWFAST_NAMES = {"dt": "step_time_s", "dt_data": "data_time_s", "top1_acc": "acc1"}
_SLOWFAST_DROPPED = frozenset({"time_diff", "dt_net", "eta"})
_RESULTS = frozenset(
    {"accuracy", "f1", "matthews_correlation", "pearson", "spearmanr", "exact_match", "bleu", "rougeL"}
)

MAX_KEYS = 256
"""Metrics taken from one row."""


class JsonLines(Learnable, WritesAtOnce):
    """Reads rows that state their step."""

    literals = ('"loss":', '"train_loss":', '"grad_norm":', '"step":', '"global_step":', '"iter":', '"key": "eval_accuracy"', '"key": "submission_benchmark"', '"key": "eval_error"', '"key": "train_loss"', '"key": "tracked_stats"', ' eval_accuracy: {"',
                "'step': ", "'global_step': ", "'iteration': ", "'iter': ", "'_step': ", "lobal step ", "lobal_step ", "{'accuracy'", "{'f1'", '"epoch": ')  # fmt: skip

    def __init__(self) -> None:
        self._has_steps = False
        self._accuracy = "eval_accuracy"

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if "{'" in line.raw:
            return self._python_dicts(line, log)
        start, end = line.raw.find("{"), line.raw.rfind("}")
        if not 0 <= start < end:
            return False
        row = json_object(line.raw[start : end + 1])
        if row is None:
            return False
        if "_type" in row and "json_stats" in line.raw:
            return self._slowfast(row, line, log)
        if ":::MLLOG" in line.raw:
            return self._mlperf(row, line, log)
        if (first := _FIRST_ROUNDS.search(line.raw, 0, start)) is not None:
            return self._mlperf({"key": first["key"], "value": row.get("value"), "metadata": row}, line, log)
        return self._row(row, line, log, _SIGNS)

    def _python_dicts(self, line: LogLine, log: LogState) -> bool:
        found = False
        for match in find_dicts(line.raw):
            row = parse_dict(match[0])
            before = _BEFORE.search(line.raw, max(0, match.start() - 40), match.start())
            if before is None:
                found = self._row(row, line, log, _MEASURED) or found
            elif before["unit"][0] in "Ee":
                found = self._results(row, line, log) or found
            else:
                found = self._row({**row, "step": int(before["at"])}, line, log, _REINFORCED) or found
        return found

    @staticmethod
    def _results(row: Mapping[str, Any], line: LogLine, log: LogState) -> bool:
        """Scores of an epoch on held-out data."""
        scores = {name: value for name, value in _numbers(row).items() if name in _RESULTS}
        for name, value in scores.items():
            log.metric(f"eval_{name}", value, line, log.step)
        return bool(scores)

    def _slowfast(self, row: Mapping[str, Any], line: LogLine, log: LogState) -> bool:
        """A row of PySlowFast, whose places are "iter": "10/1000" and "epoch": "1/200"."""
        kind = str(row["_type"])
        places = {key: _PLACE.match(str(row.get(key, ""))) for key in ("epoch", "iter")}
        epoch, at = places["epoch"], places["iter"]
        if kind not in _SLOWFAST_PREFIX or epoch is None:
            return False
        step = None if at is None else (int(epoch[1]) - 1) * int(at[2]) + int(at[1])
        if step is not None and kind.startswith("train_iter"):
            self._has_steps = True
            log.saw_step(step)
        prefix = _SLOWFAST_PREFIX[kind] if self._has_steps or kind != "train_epoch" else ""
        for name, value in _numbers(row).items():
            # At the end of an epoch its timers show whatever they stopped at.
            dropped = name in _SLOWFAST_DROPPED or (
                name in {"dt", "dt_data"} and not kind.startswith("train_iter")
            )
            if kind != "val_iter" and not dropped:
                kept = _SLOWFAST_NAMES.get(name, name)
                log.metric(f"{prefix}{kept}", value, line, log.step if kind == "val_epoch" else step)
        return True

    @staticmethod
    def _row(row: Mapping[str, Any], line: LogLine, log: LogState, signs: frozenset[str]) -> bool:
        stated = (_integer(row[key]) for key in _STEP_KEYS if key in row)
        step = next(stated, step_of_total(row))
        numbers = _numbers(row)
        if says_held_out(row):
            numbers = {of_held_out(name): value for name, value in numbers.items()}
        measured = {canonical_metric(name) for name in numbers}
        if signs.isdisjoint(measured) or (
            step is None and ("epoch" not in row or measured.isdisjoint(_LOSSES))
        ):
            return False
        if step is not None:
            log.saw_step(step)
        for name, value in numbers.items():
            log.metric(name, value, line, step)
        return True

    def _mlperf(self, row: dict[str, Any], line: LogLine, log: LogState) -> bool:
        value, metadata = row.get("value"), row.get("metadata")
        if row.get("key") == "submission_benchmark":
            self._accuracy = _MLPERF_SCORES.get(str(value), "eval_accuracy")
            return False
        stated = metadata if isinstance(metadata, dict) else {}
        step = next((_integer(stated[key]) for key in _MLPERF_STEPS if key in stated), None)
        values = value if isinstance(value, dict) else {str(row.get("key")): value}
        for name, number in _numbers(values).items():
            if name in _MLPERF_KEPT:
                log.metric(self._accuracy if name == "eval_accuracy" else name, number, line, step)
        return True


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
