"""Metrics as one JSON object per line: LLaMA-Factory, mmengine, mmcv 1.x, and home-made loggers.

    {"current_steps": 10, "total_steps": 60, "loss": 2.4, "lr": 5e-05, "epoch": 0.1}     trainer_log.jsonl
    {"lr": 0.005, "loss": NaN, "grad_norm": Infinity, "memory": 5037, "step": 10}        vis_data/*.json
    {"mode": "train", "epoch": 1, "iter": 50, "lr": 0.001, "loss": 1.1}                  *.log.json
    {"training_iteration": 1, "info": {"learner": {"default_policy": ...}}, "config": ..}  RLlib result.json
    [{"step": 10, "loss": 2.4}, {"step": 20, "loss": 2.1}]     the same rows as one list, on a line or on many

Not for datasets, structured text logs or W&B's summary, which are JSON lines too.
"""

from __future__ import annotations

import filecmp
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from analyzer.ingest.base import HEAD_BYTES, Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.metric_columns import (
    EPISODES,
    METRIC_FILE,
    STEP_NAMES,
    TAGS,
    TIME_NAMES,
    MetricColumns,
    common_spacing,
    counter_column,
    first_named,
    is_known_metric,
    is_known_score,
    of_held_out,
    says_held_out,
    unix_seconds,
)
from analyzer.ingest.scalar_text import json_object, metric_value, whole_step
from analyzer.ingest.source_text import bounded_lines, decode, read_text
from analyzer.ingest.text.rows.printed_numbers import step_of_total
from analyzer.ingest.text.text_log import TextLog, is_console
from analyzer.lazy_regex import LazyRegex

MAX_LIST_BYTES = 32 << 20
"""A list is read whole: ten thousand rows of twenty metrics have ten megabytes."""

_SNIFF_ROWS = 20
_MAX_NESTING = 4
_MAX_KEY = 200
_MAX_DAMAGED = 20
"""Damaged lines noted one by one; further ones are counted in one gap."""

_STAMPED = LazyRegex(r"\d{8}_\d{6}\.json")
_MMENGINE_PATH = LazyRegex(r"(?:^|/)vis_data/(?:\d{8}_\d{6}|scalars)\.json$")
_LEARNER = LazyRegex(r"^(?:info/learner|learners)/default_policy/(?:learner_stats/)?")
_SUFFIX = LazyRegex(r"\.\w{1,8}$")
_NOT_METRICS = frozenset({"current_steps", "total_steps", "percentage", "mode", "iter"})
_OF_A_MEAN = {"num", "mean", "std"}
_COCO, _COCO_VALUES, _COCO_FIRST = "coco_eval_", 12, ("AP", "AP50", "AP75")
"""What DETR and its kin log of an evaluation, as pycocotools sums it up: twelve numbers, the first three over objects of any size."""
_LIST_START = 4096
_LIST = LazyRegex(r"[\ufeff\s]{0,20}\[\s{0,20}\{")
_BETWEEN_ROWS = LazyRegex(r"[\ufeff\s]{0,99}+[\[,]\s{0,99}+(?=\{)")
Row = dict[str, Any]


SURE_ROWS = 3
"""Rows that count and measure in the head of a file: one or two may be the settings and a summary of a run."""


class JsonLines:
    """Reads metrics that stand one JSON object a line."""

    def sniff(self, candidate: Candidate) -> Match:
        """The first lines are objects that hold a step and a metric."""
        name = candidate.name.rpartition("/")[2]
        if name.startswith("wandb-") and name != "wandb-history.jsonl":
            return Match.NO
        rows = _head_rows(candidate)
        if not rows:
            return Match.NO
        dialect = _dialect(candidate.name, rows)
        if dialect != "other":
            return Match.SURE
        named = [row for row in rows if first_named(row.keys(), (*STEP_NAMES, "epoch"))]
        measured = sum(map(_measures, named))
        if measured:  # the settings may stand in the first line, and a file of settings holds one object
            first = decode(candidate.head).lstrip().partition("\n")[0].rstrip()
            is_row = first.startswith("{") and first.endswith("}")
            return Match.SURE if is_row and measured >= SURE_ROWS else Match.LIKELY
        # Only a file that is named for it, with a column that counts or rows that measure the same, is taken.
        is_named = METRIC_FILE.search(_SUFFIX.sub("", candidate.name)) is not None
        alike = len(rows) >= SURE_ROWS and all(row.keys() == rows[0].keys() for row in rows)
        return (
            Match.LIKELY
            if is_named and (named or (alike and _measures(rows[0])) or _counter(rows))
            else Match.NO
        )

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Every number of a row becomes a point; the row's own step counter tells where."""
        dialect = _dialect(source.name, _head_rows(source.candidate))
        if dialect in {"llamafactory", "mmengine"}:
            out.framework(dialect)
        if dialect == "llamafactory":
            out.framework("hf-trainer")
        if _is_copy(source):
            return
        if dialect == "other" and is_console(source):
            TextLog().read(source, out)
            return
        if dialect == "rllib":
            out.framework("ray")
        head = _head_rows(source.candidate)
        rows = _Rows(out, dialect, _counter(head), _still(head))
        for line, row in _rows(source, out):
            rows.add(row, line)
        rows.finish()


def _measures(row: Row) -> bool:
    """Whether a row holds a known metric or score."""
    return any(is_known_metric(key) or is_known_score(key) for key in row)


def _head_rows(candidate: Candidate) -> list[Row]:
    """Flattened rows of the first lines; empty if most lines are something else. Some may be damaged."""
    if _LIST.match(decode(candidate.head[:_LIST_START])):
        if candidate.size_bytes > MAX_LIST_BYTES:
            return []
        listed = islice(_listed(decode(candidate.head)), _SNIFF_ROWS)
        return [dict(_numbers(_named(row))) for _, row in listed if row is not None]
    lines = decode(candidate.head).split("\n")
    if len(candidate.head) >= HEAD_BYTES:
        lines = lines[:-1]
    lines = [line for line in lines if line.strip()][:_SNIFF_ROWS]
    rows: list[Row] = []
    for text in lines:
        row = json_object(text) if text.lstrip().startswith("{") else None
        if row is not None:
            rows.append(dict(_numbers(_named(row))))
    return rows if 2 * len(rows) >= len(lines) else []


def _dialect(name: str, rows: list[Row]) -> str:
    keys = {key for row in rows for key in row}
    if {"current_steps", "total_steps"} <= keys:
        return "llamafactory"
    if {"mode", "epoch", "iter"} <= keys:
        return "mmcv"
    if "training_iteration" in keys and keys & {
        "timesteps_total",
        "time_total_s",
        "num_env_steps_sampled_lifetime",
    }:
        return "rllib"
    if "step" in keys and (_MMENGINE_PATH.search(name) or {"data_time", "time", "memory"} <= keys):
        return "mmengine"
    return "other"


def _counter(rows: list[Row]) -> str | None:
    """The column that counts the rows of an unknown file, if no column is named for it."""
    if not rows or any(first_named(row.keys(), (*STEP_NAMES, "epoch")) for row in rows):
        return None
    names = [name for name in rows[0] if all(name in row for row in rows)]
    return counter_column(names, [[metric_value(row[name]) for name in names] for row in rows])


def _still(rows: list[Row]) -> frozenset[str]:
    """Counters that stay while another moves: how many steps are planned or each evaluation had, and not where the run is."""
    named = {name for row in rows for name in row if name.lower() in {*STEP_NAMES, "epoch"}}
    values = {name: {row.get(name) for row in rows} for name in named}
    moves = any(len(found) == len(rows) > 1 for found in values.values())
    return frozenset(name for name, found in values.items() if moves and len(found) == 1)


def _is_copy(source: OpenSource) -> bool:
    """Whether the same rows stand in ``<time stamp>.json`` beside ``scalars.json``: mmengine writes both."""
    if not source.name.endswith("/scalars.json"):  # given alone, it has no directory and is all there is
        return False
    copies = [path for path in source.path.parent.glob("*_*.json") if _STAMPED.fullmatch(path.name)]
    try:
        return any(not copy.is_symlink() and filecmp.cmp(copy, source.path, shallow=False) for copy in copies)
    except OSError:  # then the other cannot be read, and this copy is all there is
        return False


def _listed(text: str) -> Iterator[tuple[int, Row | None]]:
    """The rows of a list with their lines; at the end None, if what follows is no row and the list not closed."""
    decoder, line, at = json.JSONDecoder(), 1, 0
    while between := _BETWEEN_ROWS.match(text, at):
        line += between[0].count("\n")
        try:
            row, end = decoder.raw_decode(text, between.end())
        except (ValueError, RecursionError):
            break
        yield line, row
        line += text.count("\n", between.end(), end)
        at = end
    if not text[at:].strip().startswith("]"):
        yield line, None


def _rows(source: OpenSource, out: SourceWriter) -> Iterator[tuple[int, Row]]:
    if _LIST.match(decode(source.candidate.head[:_LIST_START])):
        for line, listed in _listed(read_text(source, out, MAX_LIST_BYTES)):
            if listed is not None:
                yield line, _named(listed)
            else:
                out.gap("the list of rows ends within a row", line=line, rows_lost=1)
        return
    damaged = 0
    for line, data in bounded_lines(source, out):
        text = decode(data).strip()
        if not text:
            continue
        if (row := json_object(text)) is not None:
            yield line, _named(row)
            continue
        damaged += 1
        if damaged <= _MAX_DAMAGED:
            cut = "" if data.endswith(b"\n") else "; it has no line end: the writer was cut off"
            out.gap(f"line is not a JSON object{cut}", line=line, rows_lost=1)
    if damaged > _MAX_DAMAGED:
        out.gap("further lines that are not JSON objects", rows_lost=damaged - _MAX_DAMAGED)


class _Rows:
    """What the rows of one file add up to."""

    def __init__(
        self, out: SourceWriter, dialect: str, counter: str | None = None, still: frozenset[str] = frozenset()
    ) -> None:
        self._out = out
        self._counter = counter
        self._still = still
        self._dialect = dialect
        self._columns = MetricColumns(out)
        self._last_step: int | None = None
        self._last: tuple[int, Row] | None = None
        self._by_epoch = False

    def add(self, row: Row, line: int) -> None:
        if self._dialect == "mmcv" and "mode" not in row:
            return  # the first row describes the machine and the configuration
        flat = self._of_rllib(row, line) if self._dialect == "rllib" else dict(_numbers(row))
        step_name = first_named(flat.keys() - self._still, STEP_NAMES) or (
            self._counter if self._counter in flat else None
        )
        if step_name == "steps":  # beside an episode it tells how long that was
            step_name = next((name for name in flat if name.lower() in EPISODES), step_name)
        step = whole_step(flat[step_name]) if step_name else step_of_total(row)
        step = self._step_of(row, step)
        time_name = first_named(flat.keys(), TIME_NAMES)
        time_s = unix_seconds(metric_value(flat[time_name])) if time_name else float("nan")
        skipped = {step_name, time_name if time_s == time_s else None}  # noqa: PLR0124  (NaN: not a time)
        held_out = says_held_out(row)
        for name, value in flat.items():
            number = None if name in skipped or name in _NOT_METRICS else metric_value(value)
            if number is not None:
                self._columns.add(
                    of_held_out(name) if held_out else name, number, step=step, line=line, time_s=time_s
                )
        self._last = (line, row)

    def _of_rllib(self, row: Row, line: int) -> Row:
        """Numbers of one iteration; every row repeats the configuration, which is noted once."""
        configuration = row.get("config")
        if self._last is None and isinstance(configuration, dict):
            for key, value in _numbers(configuration):
                if not isinstance(value, str) or len(value) < _MAX_KEY:
                    self._out.config(
                        key.replace("/", "."), value, framework="rllib", layer="runtime_echo", line=line
                    )
        flat = dict(_numbers({name: value for name, value in row.items() if name != "config"}))
        return {
            _LEARNER.sub("", name).replace("grad_gnorm", "grad_norm"): value for name, value in flat.items()
        }

    def _step_of(self, row: Row, step: int | None) -> int | None:
        """Validation rows of mmengine and mmcv count epochs or their own batches: they stand at the last step."""
        if self._dialect not in {"mmengine", "mmcv"}:
            return step
        is_training = row.get("mode") == "train" if self._dialect == "mmcv" else "lr" in row or "loss" in row
        if not is_training:
            return self._last_step
        if self._dialect == "mmcv" and None not in (step, self._last_step) and step <= self._last_step:  # type: ignore[operator]
            self._by_epoch = True
        self._last_step = step
        return step

    def finish(self) -> None:
        window = common_spacing(self._columns.steps_of("loss"))
        if window is not None and self._dialect != "other":
            self._out.loss_window(window)
        if self._by_epoch:
            self._out.gap("steps start again in every epoch, so that the number of the step is unknown")
        self._columns.flush(with_steps=not self._by_epoch)
        if self._dialect == "llamafactory" and self._last is not None:
            self._state_progress(*self._last)

    def _state_progress(self, line: int, row: Row) -> None:
        current, total = whole_step(row.get("current_steps")), whole_step(row.get("total_steps"))
        if current is None or total is None:
            return
        self._out.config("max_steps", total, framework="llamafactory", layer="runtime_echo", line=line)
        self._out.event(
            "not_finished" if current < total else "training_completed",
            f"current_steps: {current}, total_steps: {total}",
            role="info",
            line=line,
            step=current,
            fields={"current_steps": current, "total_steps": total},
        )


def _named(row: Row) -> Row:
    """A record of one value by the name that it holds, the value in a part of its own or not; other rows as they are.

    >>> _named({"name": "loss", "value": 0.5, "step": 3}), _named({"data": {"value": 0.5, "step": 3}, "name": "loss"})
    ({'step': 3, 'loss': 0.5}, {'step': 3, 'loss': 0.5})
    >>> _named({"name": "fit", "loss": 0.5, "step": 3})
    {'name': 'fit', 'loss': 0.5, 'step': 3}
    """
    parts = (part for part in row.values() if isinstance(part, dict) and "value" in part)
    flat = row if "value" in row else next(({**part, **row} for part in parts), row)
    tag = next((tag for tag in TAGS if isinstance(flat.get(tag), str) and flat[tag]), None)
    if tag is None or metric_value(flat.get("value")) is None:
        return row
    beside = {
        key: value for key, value in flat.items() if key not in {tag, "value"} and not isinstance(value, dict)
    }
    return {**beside, flat[tag]: flat["value"]}


def _numbers(row: Row, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, dict):
            if value.keys() >= _OF_A_MEAN:  # StyleGAN: {"num": 8000, "mean": -1.25, "std": 0.5}
                yield f"{prefix}{key[:_MAX_KEY]}", value["mean"]
            elif depth < _MAX_NESTING:
                yield from _numbers(value, f"{prefix}{key[:_MAX_KEY]}/", depth + 1)
        elif isinstance(value, list) and len(value) == _COCO_VALUES and _COCO in key:
            named = key[:_MAX_KEY].replace(_COCO, "")
            yield from ((f"{named}_{score}", value[at]) for at, score in enumerate(_COCO_FIRST))
        elif value is not None and not isinstance(value, bool | list):
            yield f"{prefix}{key[:_MAX_KEY]}", value
