r"""Jupyter notebooks: what the cell that trained printed, read as a console; tables that it drew, row by row.

    {"cells": [{"cell_type": "code", "outputs": [{"name": "stdout", "text": ["Epoch 1/9 loss: 2.3\n", ...]}], ...}], ...}
    <th>epoch</th><th>train_loss</th> … <td>0</td><td>1.93</td>                 fastai and Hugging Face draw HTML

A notebook often trains several models, one to a cell. Two runs are never one series: the last cell that trained is the
run, with what the cells below it scored on held-out data; the others are named. Where logs lie beside it, a notebook is
not read (``walk.discover``): most look at runs.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.source_text import read_text
from analyzer.ingest.text.rows.learned.line_masks import mask
from analyzer.ingest.text.rows.learned.wordings import learn
from analyzer.ingest.text.text_layer import strip_escapes
from analyzer.ingest.text.text_log import read_lines
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

MAX_BYTES = 64 << 20
"""A notebook holds its pictures; with a hundred of them it has some twenty megabytes."""

COUNTED_LINES = 2
"""Lines with a counter that make a cell's output a training: an evaluation prints its losses without one."""

LOOKED_AT = 100
"""Lines of a cell whose wordings are looked at: a training shows its first rows in them."""

_COUNTED = LazyRegex(
    r"(?i)\b(?:epochs?|steps?|iter(?:ation)?s?)\b\W{0,6}\d|^\W{0,4}\d+ ?/ ?\d+\]|^\d+(?:\t(?:[\d.:eE%+-]{1,40}|No log|nan|inf))+\t?$"
    r"|^(?:\[\d{1,7}\]|\d{1,7}:)\s{1,4}[a-z][\w' -]{0,40}:"  # boosted trees
    r"|^\s{1,12}\d+(?:\s{2,20}\d{1,12}\.\d{1,12}s?){3,12}\s*$"
    r"|^\s{0,12}\d{1,6}/\d{1,6}\s{2,12}(?:\d{1,4}(?:\.\d{1,6})?[GM]\s{2,12})?\d{1,9}\.\d"  # YOLO
)
_SCORED = LazyRegex(
    r"(?i)^\W{0,9}(?:(?:the |final |model |mean |average )?(?:test(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?)\b)[\w -]{0,30}(?:loss|acc|accuracy|error|score|mse|mae|rmse|f1|auc)\b[^\d:=]{0,20}[:=] ?\[?\d"
)
"""A line that tells by its name what was scored on held-out data, in a cell of its own."""
MAX_SCORED = 20
"""Such lines below one training; more are those of a comparison."""
_UNDEFINED = "NameError: name "
MOST_NAMED, MOST_SAID = 5, 120
"""Cells that are named, and characters of what the last one says."""

_LOSS = LazyRegex(r"(?i)(?:(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval|dev)[_ -]?)?loss")
_COUNTERS = frozenset({"epoch", "epochs", "step", "steps", "iteration"})
_ROW = LazyRegex(r"(?i)</tr\s*>")
_CELL = LazyRegex(r"(?is)<t[hd]\b[^>]{0,200}>(.{0,200}?)</t[hd]\s*>")
_TAG = LazyRegex(r"<[^<>]{0,200}>")


Numbered = tuple[int, str]
"""A line with its place among all lines that were printed."""


class Part(NamedTuple):
    """What one cell printed, and what the cells below it scored, up to the next part."""

    place: int
    lines: list[Numbered]
    scored: list[Numbered]


class Notebook:
    """Reads the outputs of a notebook."""

    def sniff(self, candidate: Candidate) -> Match:
        """By its name and the fields that each notebook begins with."""
        head = candidate.head
        if not candidate.name.lower().removesuffix(".gz").endswith(".ipynb"):
            return Match.NO
        known = head.lstrip().startswith(b"{") and (b'"cells"' in head or b'"nbformat"' in head)
        return Match.SURE if known and candidate.size_bytes <= MAX_BYTES else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read what the last training printed; a line's number is its place among all lines that were printed."""
        try:
            book = json.loads(read_text(source, out, MAX_BYTES))
        except (ValueError, RecursionError) as error:
            out.gap(f"not a whole notebook: {error}", evidence=True)
            return
        first = 1
        trainings: list[Part] = []
        failed: list[Part] = []
        for place, (printed, ends_in_error) in enumerate(_printed(book)):
            part = Part(place, list(enumerate(printed, first)), [])
            first += len(printed)
            if _is_training(printed):
                trainings.append(part)
            elif ends_in_error:
                failed.append(part)
            elif trainings:
                trainings[-1].scored.extend(line for line in part.lines if _SCORED.match(line[1]))
        if trainings and failed:
            _tell_failed(failed, out)
        trainings = trainings or _decisive(failed)  # what never began to train failed where it stopped
        if len(trainings) > 1:
            others = ", ".join(str(part.place + 1) for part in trainings[-6:-1])
            out.gap(f"the last of {len(trainings)} trainings was read; cells {others} print others")
        below: list[Numbered] = []
        for part in reversed(trainings):
            below = part.scored + below
            read_lines(((at, line, None) for at, line in part.lines), out)
            if out.has_metrics:  # a look at a table counts its rows too
                read_lines(((at, line, None) for at, line in below[:MAX_SCORED]), out)
                return


def _is_training(printed: Sequence[str]) -> bool:
    """Whether a cell printed rows of a course; words for a counter that are rarer than epochs and steps cost more to find."""
    if sum(_COUNTED.search(line) is not None for line in printed) >= COUNTED_LINES:
        return True
    rows = [masked for line in printed[:LOOKED_AT] if (masked := mask(line)).numbers]
    seen = Counter(masked.key for masked in rows)
    again = {masked.key: masked for masked in rows if seen[masked.key] >= COUNTED_LINES}
    return any(row.place for masked in again.values() for row in learn(masked).rows)


def _decisive(failed: list[Part]) -> list[Part]:
    """The last cell that failed; what it does not know may be what a cell above it did not define, because that failed."""
    own = [part for part in failed if not any(line.startswith(_UNDEFINED) for _, line in part.lines)]
    return (own or failed)[-1:]


def _tell_failed(failed: list[Part], out: SourceWriter) -> None:
    """Say which cells ended in an error beside the training that is read, which began all the same or had ended."""
    said = next((text.strip() for _, text in reversed(failed[-1].lines) if text.strip()), "")
    cells = ", ".join(str(part.place + 1) for part in failed[-MOST_NAMED:])
    out.gap(
        f"cells beside the training ended in errors and were not read: {cells}; the last of them says: {said[:MOST_SAID]}"
    )


def _printed(book: Any) -> Iterator[tuple[list[str], bool]]:
    """The lines that each cell printed or drew, and whether it ended in an error."""
    cells = book.get("cells") if isinstance(book, dict) else None
    for cell in cells if isinstance(cells, list) else ():
        held = cell.get("outputs") if isinstance(cell, dict) else None
        outputs = [output for output in (held if isinstance(held, list) else ()) if isinstance(output, dict)]
        printed = "".join(map(_text, outputs))
        # colours stand before words without a space
        lines = strip_escapes(printed.encode()).decode().split("\n")
        yield lines, any(isinstance(output.get("traceback"), list) for output in outputs)


def _text(output: dict[str, Any]) -> str:
    """One output as text that ends with its line: streams as they are, tables of HTML, results, tracebacks."""
    if isinstance(trace := output.get("traceback"), list):
        return "\n".join(line for line in trace if isinstance(line, str)) + "\n"
    data = output.get("data")
    if not isinstance(data, dict):
        return _joined(output.get("text"))
    drawn = _joined(data.get("text/html"))
    text = _table(drawn) if drawn else _joined(data.get("text/plain"))
    return text if text.endswith("\n") else text + "\n"


def _joined(text: Any) -> str:
    """A text, which a notebook may keep as a list of lines."""
    if isinstance(text, list):
        return "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""


def _table(drawn: str) -> str:
    """The rows of tables of HTML, their cells apart by tabs; what else was drawn says nothing of a course."""
    rows = [
        [html.unescape(_TAG.sub("", cell)).strip() for cell in _CELL.findall(row)]
        for row in _ROW.split(drawn)
    ]
    rows = [row for row in rows if row]
    if len(rows) > 1 and not rows[0][0] and rows[1][0] == "0" and any(map(_LOSS.fullmatch, rows[0])):
        counted = any(name.lower() in _COUNTERS for name in rows[0])  # pandas counts the rows before them
        rows = [row[1:] for row in rows] if counted else [["epoch", *rows[0][1:]], *rows[1:]]
    return "\n".join("\t".join(row) for row in rows) + "\n"
