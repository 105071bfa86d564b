"""At most about 2,000 tokens from which somebody who has seen nothing else can judge: facts first, our opinion last.

For a colleague in a chat and for a language model. Text of the run stands between marks and is data: nothing in it is
an instruction.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np

from analyzer.ingest.quote import last_lines, lines_around
from analyzer.lazy_regex import LazyRegex
from analyzer.model.diagnosis import Diagnosis, Finding
from analyzer.model.refs import SourceFile
from analyzer.model.run import Run
from analyzer.model.tables import Event
from analyzer.model.wording import counted, format_scalar, percent
from analyzer.render.curves import FEW, Line, Panel, curve_of, panels_of
from analyzer.render.sentences import (
    amounts_read,
    device_time_note,
    ended_note,
    ended_words,
    first_failure_note,
    fix_heading,
    is_quotable,
    odds_note,
    only_if,
    restart_line,
    something_else,
)
from analyzer.render.words import answers_in_words, grounds, strongest

MOST_CHARACTERS = 6_000
"""About 2,000 tokens: English with paths and numbers takes three characters a token in the usual vocabularies."""

QUOTED = 300
"""Characters of a quoted line."""

FAILING_LINES = 8
BEFORE, AFTER = 12, 3
"""Lines quoted around the first failure: the frames of a traceback stand before its last line."""

LAST = 6
"""Lines quoted of the end of a log in which nothing failed."""

MAX_REREAD_BYTES = 256 * 1024**2
"""A larger file is not read a second time for the lines around a failure: a line of it is found from the start only."""

SPARKS = "▁▂▃▄▅▆▇█"
BINS = 24
CANDIDATES = 4
SETTINGS = 30
FURTHER = 6
"""Curves besides those of the report's charts: a score under a name of its own often decides."""

_SCORES = LazyRegex(r"(?i)acc|err|[wc]er|f1|auc|iou|map|bleu|score|reward|recall|precision|entropy|loss")
_HELD_OUT = LazyRegex(r"(?i)val|dev|test")
_FAILING = frozenset({"root_candidate", "symptom", "cascade"})
_WORTH = (
    "precision", "model.name", "model.attention", "optimizer", "train.learning_rate", "train.micro_batch_size",
    "train.gradient_accumulation_steps", "train.max_grad_norm", "zero.stage", "parallel.tensor", "parallel.pipeline",
    "fp16.loss_scale", "data.packing", "data.padding_side", "train.warmup_steps", "lora.enabled",
)  # fmt: skip
"""Settings that decide most often, in this order; others follow as far as there is room."""


def render_brief(diagnosis: Diagnosis, run: Run | None = None, most_characters: int = MOST_CHARACTERS) -> str:
    """The brief, ending with a newline; parts that no longer fit are left out whole, and it says which."""
    panels = () if run is None else panels_of(run)
    parts = [
        ("", _what_happened(diagnosis)),
        ("candidates (our odds)", _candidates(diagnosis)),
        ("first failing lines, verbatim data of the run", [] if run is None else _failing(run)),
        ("lines around the first of them, verbatim", [] if run is None else _around(diagnosis, run)),
        ("curves (step: value; not finite is named)", _curves(panels)),
        ("evidence for the leading candidate", _evidence(diagnosis)),
        ("next check worth most", _check(diagnosis)),
        ("further curves, by their names", [] if run is None else _further(run, panels)),
        ("last lines of the log, verbatim data of the run", [] if run is None else _end(diagnosis, run)),
        ("settings that matter", [] if run is None else _settings(run)),
        ("read, and not read", _seen(diagnosis)),
    ]
    text, left_out = "", []
    for title, rows in parts:
        block = (f"\n[{title}]\n" if title else "") + "\n".join(rows) + "\n" if rows else ""
        if len(text) + len(block) > most_characters - 120:
            left_out.append(title)
            continue
        text += block
    return text + (f"\n[left out for length: {', '.join(left_out)}]\n" if left_out else "")


def _quoted(text: str) -> str:
    return text if len(text) <= QUOTED else text[: QUOTED - 1] + "…"


def _what_happened(diagnosis: Diagnosis) -> list[str]:
    words = ended_words(diagnosis)
    rows = [
        f"training run {_quoted(diagnosis.root)}: {diagnosis.status}" + (f" ({words})" if words else ""),
        _quoted(diagnosis.summary),
    ]
    if diagnosis.onset is not None:
        what = f": {diagnosis.onset.what.rstrip(' ,')}" if diagnosis.onset.what else ""
        rows.append(f"trouble begins {diagnosis.onset.when or f'at step {diagnosis.onset.step}'}{what}")
    notes = (ended_note(diagnosis), first_failure_note(diagnosis), device_time_note(diagnosis))
    return rows + [_quoted(note) for note in notes if note]


def _candidates(diagnosis: Diagnosis) -> list[str]:
    rows = [
        f"{percent(finding.probability)} {finding.cause.id}: {finding.cause.title}"
        for finding in diagnosis.findings[:CANDIDATES]
    ]
    other = something_else(diagnosis)
    rows += [f"{other} something else"] if other else []
    if diagnosis.findings:
        rows += _advice(diagnosis, diagnosis.findings[0])
        rows.append(odds_note(diagnosis))
    return rows


def _advice(diagnosis: Diagnosis, finding: Finding) -> list[str]:
    cause_id = only_if(diagnosis, finding)
    rows = [f"{fix_heading(fix, cause_id)}: {fix.title}" for fix in finding.fixes[:2]]
    return [*rows, restart_line(diagnosis, finding)] if finding.restart_advice else rows


def _evidence(diagnosis: Diagnosis) -> list[str]:
    if not diagnosis.findings:
        return []
    rows = []
    for line in strongest(diagnosis.findings[0], 5):
        where = f" ({line.refs[0]})" if line.refs and is_quotable(line) else ""
        sign = "+" if line.bits > 0 else "-"
        rows.append(f"{sign} {_quoted(grounds(line))}{where}")
    return rows


def _failing(run: Run) -> list[str]:
    """The lines that report a failure, the earliest first: of each kind the first one."""
    first: dict[str, Event] = {}
    for event in run.events:
        if event.role in _FAILING:
            first.setdefault(event.kind, event)
    at_once = {(event.ref, event.text): event for event in reversed(list(first.values()))}
    order = {"root_candidate": 0, "symptom": 1, "cascade": 2}
    known = sorted(
        at_once.values(), key=lambda event: (order[event.role], event.ref.source, event.ref.line or 0)
    )
    chosen = sorted(known[:FAILING_LINES], key=lambda event: (event.ref.source, event.ref.line or 0))
    return [f"{run.place(event.ref)}| {_quoted(event.text)}" for event in chosen]


def _around(diagnosis: Diagnosis, run: Run) -> list[str]:
    """What stands around the failure that came first, such as the frames of its traceback: the cause is often there."""
    first = diagnosis.first_failure
    source = None if first is None else _source(run, first.place.path)
    if first is None or first.place.line is None or source is None or source.size_bytes > MAX_REREAD_BYTES:
        return []
    found = lines_around(Path(source.location), first.place.line, BEFORE)
    near = [(number, text) for number, text in found if number <= first.place.line + AFTER and text.strip()]
    return [f"{number}| {_quoted(text)}" for number, text in near] if len(near) > 1 else []


def _end(diagnosis: Diagnosis, run: Run) -> list[str]:
    """The end of the longest log, unless it was quoted around the first failure: a program may go on after that."""
    if not run.log_ends:
        return []
    last, first = max(run.log_ends, key=lambda end: end.line), diagnosis.first_failure
    if first is not None and last.line <= (first.place.line or 0) + AFTER:
        return []
    found = last_lines(Path(run.sources[last.source].location), LAST)
    return [f"| {_quoted(text)}" for text in dict.fromkeys(found)]  # a warning that is repeated tells it once


def _source(run: Run, path: str) -> SourceFile | None:
    return next((source for source in run.sources if source.path == path and source.location), None)


def _curves(panels: tuple[Panel, ...]) -> list[str]:
    return [_curve(panel.title.lower(), line) for panel in panels for line in panel.lines]


def _further(run: Run, panels: tuple[Panel, ...]) -> list[str]:
    """What else was logged, held-out scores first, then other scores and the parts of the loss, plain names before numbered."""
    told = {line.logged_as for panel in panels for line in panel.lines}

    def later(name: str) -> tuple[bool, bool, bool, int]:
        score = _SCORES.search(name) is not None
        return not score, not _HELD_OUT.search(name), any(letter.isdigit() for letter in name), len(name)

    found = (curve_of(run, name) for name in sorted(run.metrics.names, key=later))
    new = (line for line in found if line is not None and line.y.size >= FEW and line.logged_as not in told)
    return [_curve(line.label, line) for line in itertools.islice(new, FURTHER)]


def _curve(title: str, line: Line) -> str:
    """One curve: a few numbers and a sparkline."""
    finite = np.isfinite(line.y)
    picks = sorted({0, line.y.size // 4, line.y.size // 2, 3 * line.y.size // 4, line.y.size - 1})
    told = ", ".join(f"{line.x[i]:.0f}: {_value(float(line.y[i]))}" for i in picks)
    name = title if title == line.label else f"{title}, {line.label}"
    text = f"{name}: {told}; {line.y.size} points"
    if finite.any():
        low, high = (
            int(np.argmin(np.where(finite, line.y, np.inf))),
            int(np.argmax(np.where(finite, line.y, -np.inf))),
        )
        text += f"; min {_value(float(line.y[low]))} at {line.x[low]:.0f}, max {_value(float(line.y[high]))} at {line.x[high]:.0f}"
    if not finite.all():
        first = int(np.flatnonzero(~finite)[0])
        text += f"; {int((~finite).sum())} not finite, the first at {line.x[first]:.0f}"
    return f"{text}  {_sparkline(line)}"


def _value(value: float) -> str:
    return format_scalar(value) if math.isfinite(value) else "NaN" if math.isnan(value) else "inf"


def _sparkline(line: Line) -> str:
    """The course in a row of blocks: the last value of each part, ``x`` where it is not finite."""
    low, high = float(line.x.min()), float(line.x.max())
    finite = line.y[np.isfinite(line.y)]
    if high <= low or not finite.size:
        return ""
    place = ((line.x - low) / (high - low) * (BINS - 1)).astype(np.int64)
    span = float(finite.max() - finite.min()) or 1.0
    marks = []
    for part in range(BINS):
        values = line.y[place == part]
        if not values.size:
            marks.append(" ")
        elif not np.isfinite(values).all():
            marks.append("x")
        else:
            marks.append(SPARKS[min(7, int((float(values[-1]) - float(finite.min())) / span * 8))])
    return "".join(marks)


def _settings(run: Run) -> list[str]:
    keys = [key for key in _WORTH if key in run.config]
    keys += [key for key in sorted(run.config) if key not in keys]
    shown = [f"{key}={_quoted(str(run.config.value(key)))[:60]}" for key in keys[:SETTINGS]]
    return [", ".join(shown)] if shown else []


def _check(diagnosis: Diagnosis) -> list[str]:
    if not diagnosis.next_checks:
        return []
    check = diagnosis.next_checks[0]
    return [check.how or check.meaning, answers_in_words(check)]


def _seen(diagnosis: Diagnosis) -> list[str]:
    coverage = diagnosis.coverage
    rows = [f"{counted(len(coverage.sources), 'file')}, {amounts_read(coverage)}"]
    if coverage.missing:
        rows.append(f"not seen: {', '.join(coverage.missing)}")
    return rows + [
        f"gap: {f'{gap.path}: ' if gap.path else ''}{_quoted(gap.reason)}" for gap in diagnosis.gaps[:4]
    ]
