"""The history of Keras' ``fit`` as people save it: one list for each metric, one value for each epoch.

{"loss": [2.1, 1.4], "accuracy": [0.31, 0.52], "val_loss": [2.0, 1.6]}
{"loss": {"0": 2.1, "1": 1.4}}                                              pandas.DataFrame(history).to_json()
{"train_metrics": [{"loss": 2.1, "acc": 0.3}, …], "dev_metrics": […]}       a row for each epoch, by the phase
{"seed": 1, "history": [{"epoch": 1, "train_loss": 2.1}, …]}                  a row for each epoch, with its counter
{"train_losses": {"g": [2.1, 1.4]}, "config": {…}}                            lists below a key that names their quantity
{"epochs": [1, 2], "train_loss": [2.1, 1.4]}                                the counter first
{"train": [2.1, 1.4], "val": [2.0, 1.6]} or [2.1, 1.4, 1.2]                 in a file that is named for the loss
{"epochs": 50, "train_loss": [2.1, 1.4, 1.2]}        among settings and results, in a file that is named for the course
{"1": {"loss": 2.1, "val": {"loss": 2.0}}, "2": {…}}                        epochs by their numbers, in such a file
{"scores": {"train_1": {"loss": 2.1}, "valid_1": {"loss": 2.0}, "train_2": {…}, …}}      phases by their epochs, in any file
{"val_loss_history": {"0": 2.1, "500": 1.4}}                                values by their steps
{"config": {…}, "history": {"loss": [2.1, 1.4, 1.2], "val_loss": [2.0, 1.6, 1.5]}}      lists of several metrics, in any file
{"epoch": 9, "training_loss": 2.1, "validation_loss": 2.0}                  what an epoch ended with, in such a file
"{'loss': [2.1, 1.4], 'val_loss': [2.0, 1.6]}"                                 the history as Python shows it, as one string

Of a file that was cut at its end what stands in it is read.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.metric_columns import STEP_NAMES, first_named, is_known_metric
from analyzer.ingest.scalar_text import metric_value
from analyzer.ingest.source_text import read_text
from analyzer.ingest.text.rows.epochs_again import EPOCHS_OF_A_TRAINING
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import words_of

MAX_BYTES = 32 << 20
"""A history of a thousand epochs and fifty metrics has one megabyte."""

_START = 4096

_OF_LOSSES = LazyRegex(r"(?i)(?:^|[/_.-])loss(?:es)?(?:[_-]?(?:history|log|curves?|values?))?\.json$")
_PHASES = frozenset({"train", "training", "val", "valid", "validation", "test", "eval", "dev"})
_COUNTER = LazyRegex(
    r"""(?i)\{\s{0,20}["'](?:epochs?|steps?|iterations?)["']\s{0,9}:\s{0,9}\[[\s\d.,]{1,4000}\]\s{0,9},"""
)
"""The list that counts the rows may come first."""
_NAMED_FOR_IT = LazyRegex(r"(?i)histor|metric|loss|curve|progress|results?\b|(?:^|[/_.-])(?:train|log)")
_COURSE = LazyRegex(
    r'"([A-Za-z][\w/ .-]{0,60})"\s{0,9}:\s{0,9}\[\s{0,40}-?\d[\d.eE+-]{0,30}(?:\s{0,40},\s{0,40}-?\d[\d.eE+-]{0,30}){2}'
)
"""A name with three numbers behind it."""
_FIRST_NUMBERS = LazyRegex(r"\[\s{0,20}-?\d[\d.eE+-]{0,30}\s{0,20},\s{0,20}-?\d")


class HistoryJson:
    """Reads a history of epochs."""

    def sniff(self, candidate: Candidate) -> Match:
        """An object whose first key is a metric and begins a list or an index of numbers."""
        text = candidate.head[:_START].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
        if candidate.size_bytes > MAX_BYTES:
            return Match.NO
        of_losses = _OF_LOSSES.search(candidate.name) is not None
        if of_losses and _FIRST_NUMBERS.match(text):
            return Match.LIKELY
        text = _unquoted(text)
        if not text.startswith("{"):
            return Match.NO
        if counter := _COUNTER.match(text):
            text = "{" + text[counter.end() :]
        key, _, rest = text[1:].partition(":")
        start = "".join(rest[:400].split())
        name = key.strip().strip("\"'")
        if start.startswith('[{"') and _phase(name):
            return Match.LIKELY if is_known_metric(start[3:].partition('"')[0]) else Match.NO
        if below := _BELOW.match(start):
            return Match.LIKELY if _is_history(name) or is_known_metric(below[1]) else Match.NO
        known = is_known_metric(name) or (of_losses and name.lower() in _PHASES)
        if known and start.startswith(("[", '{"0":')):
            if _NUMBERED_VALUE.match(start):
                return Match.SURE  # whatever settings stand behind it
            plain = start[1:2] not in {"{", "[", '"'} or start.startswith('{"0":')
            return Match.LIKELY if plain else Match.NO
        return Match.SURE if _holds_a_course(candidate) else Match.NO  # no configuration holds one

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Each list becomes the points of its metric, epoch by epoch."""
        text = _unquoted(read_text(source, out, MAX_BYTES))
        try:
            data = json.loads(text, strict=False)
        except (ValueError, RecursionError) as error:
            out.gap(f"not a whole JSON object: {error}", evidence=True)
            data = _cut(text)
            if data is None:
                return
        of_losses = _OF_LOSSES.search(source.name) is not None
        if isinstance(data, dict) and _is_result(data):
            for name, value in data.items():
                told = is_known_metric(name) or (_phase(name) and isinstance(value, float))
                if told and (number := metric_value(value)) is not None:
                    out.metrics(name[:250], steps=[int(data["epoch"])], values=[number], lines=[1])
            return
        columns = _by_metric(data) if isinstance(data, dict) else {"loss": data}
        courses = {name: values for name, column in columns.items() if (values := _values(column))}
        if unrun := _rows_not_run(courses.values()):
            courses = {name: values[:-unrun] for name, values in courses.items()}
            out.gap(
                f"the last {unrun} rows are empty in every list: taken for epochs that were not run",
                evidence=True,
            )
        began, again = _last_begin(courses)
        if began:
            same = len(next(iter(courses.values())))
            courses = {name: values[began:] for name, values in courses.items() if len(values) == same}
            out.gap(f"the last of {again} trainings was read: the epochs are counted from the first again")
        # Lists of settings stand beside those of the course, and are not as long as any of it.
        mixed = isinstance(data, dict) and any(
            isinstance(value, str | int | float) for value in data.values()
        )
        rows = {len(values) for name, values in courses.items() if mixed and is_known_metric(str(name))}
        for name, values in courses.items():
            if not rows or len(values) in rows:
                steps = _steps(columns[name], len(values) + unrun)[: len(values)]
                named = f"{name}_loss" if of_losses and str(name).lower() in _PHASES else str(name)
                out.metrics(named[:250], steps=steps, values=values, lines=[1] * len(values))
        if isinstance(data, dict) and any(str(name).startswith("val_") for name in data):
            out.framework("keras")


def _last_begin(courses: Mapping[str, Sequence[float]]) -> tuple[int, int]:
    """Where the list that counts the epochs begins anew for the last time, and how many trainings that makes.

    >>> _last_begin({"epoch": [1.0, 2.0, 3.0, 1.0, 2.0], "loss": [0.5] * 5}), _last_begin({"epoch": [1.0, 2.0, 2.0]})
    ((3, 2), (0, 1))
    """
    counted = next((values for name, values in courses.items() if name.lower() in {"epoch", "epochs"}), ())
    begins = [
        at
        for at in range(1, len(counted))
        if counted[at] == counted[0] and counted[at - 1] >= counted[0] + EPOCHS_OF_A_TRAINING
    ]
    return (begins[-1] if begins else 0), len(begins) + 1


_NO_NUMBER = LazyRegex(r"(?<=[\[ ])(-?)(nan|inf)(?=[,\]])")


def _unquoted(text: str) -> str:
    r"""What ``json.dump(str(history))`` made a string of, as JSON; any other text as it is.

    >>> _unquoted("\"{'loss': [0.5, nan, -inf]}\"")
    '{"loss": [0.5, NaN, -Infinity]}'
    """
    if not text.startswith("\"{'"):
        return text
    plain = text.strip().strip('"').replace("'", '"')
    return _NO_NUMBER.sub(lambda m: m[1] + {"nan": "NaN", "inf": "Infinity"}[m[2]], plain)


_TOKENS = LazyRegex(r'"(?:[^"\\]|\\.){0,100000}(?:"|\Z)|[\[\]{},]')
_CLOSES = {"[": "]", "{": "}"}


def _cut(text: str) -> Any:
    """What stands in JSON that was cut at its end; None if it is no such thing.

    >>> _cut('{"loss": [2.0, 1.5, 1.2'), _cut('{"a": {"0": 2, "5": 1}, "b": [{"c": 3}, {"c'), _cut("loss]")
    ({'loss': [2.0, 1.5]}, {'a': {'0': 2, '5': 1}, 'b': [{'c': 3}]}, None)
    """
    opened, whole = list[str](), ""
    for token in _TOKENS.finditer(text):
        sign = token[0]
        if sign in _CLOSES:
            opened.append(_CLOSES[sign])
        elif sign in {"]", "}"}:
            if not opened or opened.pop() != sign:
                break
            whole = text[: token.end()] + "".join(reversed(opened))
        elif sign == "," and opened:
            whole = text[: token.start()] + "".join(reversed(opened))
    try:
        return json.loads(whole, strict=False)
    except (ValueError, RecursionError):
        return None


def _is_result(data: dict[str, Any]) -> bool:
    """Whether an object tells what one epoch ended with, in training and on held-out data."""
    known = [name for name, value in data.items() if is_known_metric(name) and isinstance(value, int | float)]
    return isinstance(data.get("epoch"), int) and {_phase(name) in _TRAINED for name in known if _phase(name)} == {True, False}  # fmt: skip


_TRAINED = frozenset({"train", "training"})


def _holds_a_course(candidate: Candidate) -> bool:
    """Whether a file holds a list of a metric among other things: of one in a file that is named for it, of several in any."""
    text = candidate.head.decode("utf-8", "replace")
    lists = {name[1].strip() for name in _COURSE.finditer(text)}
    known = set(filter(is_known_metric, lists))
    if len(known) > 1 and any("loss" in words_of(name) for name in known):
        return True
    if (row := _FIRST_OF_PHASE.search(text)) and any(map(is_known_metric, _KEY.findall(row[1]))):
        return True
    if _NAMED_FOR_IT.search(candidate.name) is None:
        return False
    if known:
        return True
    keys = _KEY.findall(text)
    phases = {_phase(key) in _TRAINED for key in keys if _phase(key) and is_known_metric(key)}
    if phases == {True, False} and "epoch" in keys and "[" not in text and text.count("{") == 1:
        return True
    if (row := _FIRST_NUMBERED.match(text)) and any(map(is_known_metric, _KEY.findall(row[1]))):
        return True
    rows = (
        set(_KEY.findall(row[2])) for row in _ROWS.finditer(text) if _is_history(row[1]) or _phase(row[1])
    )
    return any(_counted(keys) and any(map(is_known_metric, keys)) for keys in rows)


def _counted(keys: Collection[str]) -> bool:
    """Whether a row says which epoch, step or round it is of."""
    return first_named(keys, (*STEP_NAMES, "epoch", "round", "episode")) is not None


_ROWS = LazyRegex(r'"([A-Za-z][\w -]{0,40})"\s{0,9}:\s{0,9}\[\s{0,40}\{([^{}\[\]]{1,2000})\}')
_FIRST_NUMBERED = LazyRegex(
    r'\s{0,40}\{(?:\s{0,40}"\w{1,40}"\s{0,9}:\s{0,9}\{)?\s{0,40}"[01]"\s{0,9}:\s{0,9}\{([^\[\]]{1,2000}?)\}\s{0,9},\s{0,40}"[12]"\s{0,9}:'
)
_FIRST_OF_PHASE = LazyRegex(
    r'"(?:train|training|val|valid|validation|dev|test)[_-][01]"\s{0,9}:\s{0,9}\{([^{}\[\]]{1,2000})\}'
)
_PHASE_AND_NUMBER = LazyRegex(r"([A-Za-z]{3,10})[_-](\d{1,6})")
_KEY = LazyRegex(r'"([^"\\]{1,80})"\s{0,9}:')


_NUMBERED_VALUE = LazyRegex(r'\{"0":-?\d[\d.eE+-]{0,30},"\d{1,12}":-?\d')
_BELOW = LazyRegex(r'\{"([^"]{1,80})":\[-?\d[\d.eE+-]{0,30}[,\]]')
MAX_DEPTH = 4
"""Levels of a history that are opened: wrapper, phase, part and metric."""

_WRAPPERS = frozenset(
    {"history", "train_history", "training_history", "training_log", "train_log", "metrics", "log", "logs", "curves", "epochs", "rounds"}
)  # fmt: skip


def _is_history(name: str) -> bool:
    """Whether lists below a key are the course of a run: ``train_losses``, ``history``.

    >>> _is_history("train_losses"), _is_history("history"), _is_history("sizes")
    (True, True, False)
    """
    singular = (name.lower().removesuffix(ending) for ending in ("", "s", "es"))
    return name.lower() in _WRAPPERS or any(map(is_known_metric, singular))


def _phase(name: str) -> str:
    """The phase that a key names by its first word; empty if it names none."""
    first = words_of(name)[:1]
    return first[0] if first and first[0] in _PHASES else ""


def _by_metric(data: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """A column for each metric, at any depth; rows below the name of a phase become columns of that phase."""
    columns: dict[str, Any] = {}
    if by_phase := _by_phase(data):
        return _by_metric(by_phase, depth=depth)
    for key, rows in (_turned(list(data.values())) if _numbered(data) else data).items():
        name, phase = f"{prefix}{key}", _phase(str(key))
        is_table = isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) for row in rows)
        if isinstance(rows, dict) and rows and depth < MAX_DEPTH and (not _is_index(rows) or _numbered(rows)):
            columns |= _by_metric(rows, prefix if str(key).lower() in _WRAPPERS else f"{name}/", depth + 1)
        elif not is_table or not (phase or _counted(rows[0])):
            columns[name] = rows
        else:
            columns |= {f"{prefix}{phase}/{inner}" if phase else f"{prefix}{inner}": column for inner, column in _turned(rows).items()}  # fmt: skip
    return columns


def _by_phase(data: dict[str, Any]) -> dict[str, list[Any]]:
    """Rows below a phase and the number of their epoch, as a list for each phase; empty if a key is of another kind.

    >>> _by_phase({"train_1": {"loss": 2}, "valid_1": {"loss": 3}, "train_2": {"loss": 1}})
    {'train': [{'loss': 2}, {'loss': 1}], 'valid': [{'loss': 3}]}
    >>> _by_phase({"train_1": {"loss": 2}, "lr": 0.1}), _by_phase({"fold_1": {"loss": 2}})
    ({}, {})
    """
    found: dict[str, list[Any]] = {}
    for key, row in data.items():
        match = _PHASE_AND_NUMBER.fullmatch(key)
        if match is None or not _phase(match[1]) or not isinstance(row, dict):
            return {}
        found.setdefault(match[1], []).append(row)
    return found


def _numbered(data: dict[str, Any]) -> bool:
    """Whether rows stand below their numbers, from 0 or 1 on; a lone one counts nothing."""
    first = 0 if "0" in data else 1
    return len(data) > 1 and all(key == str(first + at) and isinstance(row, dict) for at, (key, row) in enumerate(data.items()))  # fmt: skip


def _turned(rows: list[Any]) -> dict[str, Any]:
    """A column for each key of rows; a row within a row becomes columns below its key."""
    columns = {key: {str(at + 1): row[key] for at, row in enumerate(rows) if key in row} for key in dict.fromkeys(key for row in rows for key in row)}  # fmt: skip
    return {key: _turned_column(column, len(rows)) for key, column in columns.items()}


def _turned_column(column: dict[str, Any], rows: int) -> Any:
    """A list where each row has the key; values below the numbers of their rows where some lack it."""
    cells = list(column.values())
    if all(isinstance(cell, dict) for cell in cells) and len(cells) == rows:
        return _turned(cells)
    return cells if len(cells) == rows else column


def _is_index(column: dict[str, Any]) -> bool:
    """Whether values stand below the numbers of their rows, or below their steps."""
    return "0" in column or (len(column) > 1 and all(key.isdecimal() and not isinstance(value, dict | list) for key, value in column.items()))  # fmt: skip


def _in_order(column: dict[str, Any]) -> list[str]:
    return sorted(column, key=int) if all(map(str.isdecimal, column)) else list(column)


def _steps(column: Any, rows: int) -> list[int]:
    """Where values stand: at the numbers above them, unless these only number the rows."""
    numbers = [int(key) for key in _in_order(column) if key.isdecimal()] if isinstance(column, dict) else []
    counts = list(range(rows))
    return numbers if len(numbers) == rows and numbers != counts else [at + 1 for at in counts]


def _rows_not_run(courses: Collection[Sequence[float]]) -> int:
    """How many rows at the end are empty in every one of several lists of one length.

    A loss that became NaN leaves the accuracy, the rate or the time beside it finite.

    >>> _rows_not_run([[2.0, 1.0, math.nan], [1.5, math.nan, math.nan]]), _rows_not_run([[1.0, math.nan]])
    (1, 0)
    """
    if len(courses) < 2 or len({len(values) for values in courses}) > 1:
        return 0
    empty = min(sum(1 for _ in itertools.takewhile(math.isnan, reversed(values))) for values in courses)
    return empty if empty < len(next(iter(courses))) else 0


def _values(column: Any) -> Sequence[float]:
    """The numbers of a list, or of an index of rows; empty if it holds anything else."""
    if isinstance(column, dict):
        column = [column[key] for key in _in_order(column)] if _is_index(column) else None
    if not isinstance(column, list):
        return []
    values = [
        math.nan if value is None else metric_value(value)
        for value in column
        if not isinstance(value, list | dict)
    ]
    return [value for value in values if value is not None] if len(values) == len(column) else []
