"""Tables that are told by the line below their names: the scoring history of H2O, what an evaluation harness scored, and YOLACT's precision by overlaps.

        timestamp            duration    number_of_trees    training_rmse    training_logloss
    --  -------------------  ----------  -----------------  ---------------  ------------------
        2026-01-01 10:10:10  0.000 sec   0                  nan              nan
        2026-01-01 10:10:11  1.250 sec   1                  0.5              0.625

    |  Tasks  |Version|Filter|n-shot| Metric |   |Value |   |Stderr|
    |---------|------:|------|-----:|--------|---|-----:|---|-----:|
    |arc_easy |      1|none  |     0|acc     |   |0.5000|±  |0.0100|
    |         |       |none  |     0|acc_norm|   |0.2500|±  |0.0100|

           |  all  |  .50  |  .75  |
    -------+-------+-------+-------+
       box | 31.50 | 52.25 | 33.00 |
      mask | 29.25 | 49.50 | 30.75 |

Cells may be empty. Before the first tree or iteration nothing was measured, so what is NaN there is none. A score of one task
is no score of the model; those of one task and metric are a course where a log evaluates again and again.
"""

from __future__ import annotations

from math import isnan

from analyzer.ingest.text.log_line import Fed, LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.lazy_regex import LazyRegex

_HEAD = LazyRegex(r"^\s{1,12}timestamp {12}duration {2,20}(?=[a-z]\w{2,40}(?:\s|$))")
_RULE = LazyRegex(r"^\s{0,4}--{1,4} {2,4}-{19}(?: {2}-{4,60}){2,60}\s{0,4}$")
_STROKES = LazyRegex(r"-{2,60}")
_ROW = LazyRegex(r"^\s{1,12}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}")
_COUNTERS = ("number_of_trees", "iterations", "epochs")
"""What counts in tables of trees, of networks and of linear models; the first that is there is the step."""
_MEASURED = ("training_", "validation_", "objective", "negative_log_likelihood")
_RATE = "training_speed"


class RuledTables(WritesAtOnce):
    """Begins a table at its head."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if _HEAD.match(line.raw) is None:
            return False
        log.captures.append(_Table(line.raw))
        return True


def _cells(line: LogLine) -> list[str]:
    """What stands between the bars of a line; one at either end parts nothing."""
    return [cell.strip() for cell in line.text.strip().removeprefix("|").removesuffix("|").split("|")]


class TaskTables(WritesAtOnce):
    """Begins a table of an evaluation harness, in which a row is the score of a task."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        names = [name.lower() for name in _cells(line)]
        if not ({"metric", "value"} <= {*names} and names[0] in _TASKS):
            return False
        log.captures.append(_Tasks(names, log.step))
        return True


_TASKS = frozenset({"task", "tasks", "groups"})


class _Tasks(WritesAtOnce):
    """Scores of tasks in progress.

    Args:
        names: The columns.
        step: Where the training was.
    """

    def __init__(self, names: list[str], step: int | None) -> None:
        self._names = names
        self._step = step
        self._task = ""

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        found = _cells(line)
        if not line.text.lstrip().startswith("|") or len(found) != len(self._names):
            return Fed.PASSED | Fed.ENDED
        cells = dict(zip(self._names, found, strict=True))
        self._task = found[0].strip(" -") or self._task
        value = parse_number(cells["value"])
        if value is not None and self._task and cells["metric"]:
            kept = cells.get("filter", "none")
            name = "_".join([self._task.replace(" ", "_"), cells["metric"], *([kept] * (kept != "none"))])
            log.metric(f"part/val_{name}", value, line, self._step)
        return Fed.OWNED


class OverlapTables(WritesAtOnce):
    """Begins a table of mean precisions at several overlaps, in which a row is of boxes or of masks."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        names = _cells(line)
        if names[0] != "all" or not all(_OVERLAP.match(name) for name in names[1:]):
            return False
        log.captures.append(_Overlaps(names, log.step))
        return True


_OVERLAP = LazyRegex(r"^0?\.\d\d$")
_KEPT = ("all", "50", "75")
"""Overlaps that others tell of a detector."""


class _Overlaps(WritesAtOnce):
    """Precisions in progress.

    Args:
        names: The columns behind the first.
        step: Where the training was.
    """

    def __init__(self, names: list[str], step: int | None) -> None:
        self._names = [name.removeprefix("0").removeprefix(".") for name in names]
        self._step = step

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        if not line.text.strip(" -+"):
            return Fed.PASSED
        of, *found = _cells(line)
        if of not in {"box", "mask"} or len(found) != len(self._names):
            return Fed.PASSED | Fed.ENDED
        for name, cell in zip(self._names, found, strict=True):
            value = parse_number(cell)
            if value is not None and name in _KEPT:
                log.metric(f"val_{of}_map{name.removeprefix('all')}", value, line, self._step)
        return Fed.OWNED


class _Table(WritesAtOnce):
    """A table in progress.

    Args:
        head: The line with the names, as it was printed.
    """

    def __init__(self, head: str) -> None:
        self._head = head
        self._columns: list[tuple[str, int, int]] = []

    def feed(self, line: LogLine, log: LogState) -> Fed:
        """See ``Capture.feed``."""
        if not self._columns:
            if _RULE.match(line.raw) is None:
                return Fed.PASSED | Fed.ENDED
            begins = [match.start() for match in _STROKES.finditer(line.raw)]
            ends = [*begins[1:], len(line.raw) + len(self._head)]
            self._columns = [
                (self._head[begin:end].strip(), begin, end)
                for begin, end in zip(begins[1:], ends[1:], strict=True)
            ]
            return Fed.OWNED
        if _ROW.match(line.raw) is None:
            # of a long table only the ends are shown, with strokes between them
            return Fed.OWNED if not line.raw.strip(" -\t") and line.raw.strip() else Fed.PASSED | Fed.ENDED
        self._write(line, log)
        return Fed.OWNED

    def _write(self, line: LogLine, log: LogState) -> None:
        cells = {name: line.raw[begin:end].strip() for name, begin, end in self._columns}
        counter = next((name for name in _COUNTERS if name in cells), "")
        count = parse_number(cells.get(counter, ""))
        step = int(count) if count is not None and 0 <= count < 1e15 else None
        if step is not None:
            log.saw_step(step)
        for name, cell in cells.items():
            value = parse_number(cell)
            if (
                value is None
                or name == _RATE
                or not name.startswith(_MEASURED)
                or (not step and isnan(value))
            ):
                continue
            log.metric(name, value, line, step)
