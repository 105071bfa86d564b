"""The tensors of a replay around the first bad one: what went in, what came out, and how near it was to the end of its range."""

from __future__ import annotations

import html

import numpy as np

from analyzer.detect.replay.replay_origin import bad_rows, origins
from analyzer.model.float_formats import LARGEST
from analyzer.model.replay import TEXT_FORMATS, ReplayTable
from analyzer.model.run import Run
from analyzer.model.wording import format_scalar, percent
from analyzer.render.html.excerpts import breakable

BEFORE, AFTER = 8, 6
"""Rows around the first bad one: an operator has some four tensors, so its neighbours are seen."""

LARGEST_SHOWN = 12
"""Rows where none is bad: those that came nearest to the end of their range."""

NEAR = 0.1
"""Share of a range from which it is named; below, nothing comes near an overflow."""

e = html.escape


def tensors_section(run: Run) -> str:
    """The section; empty without tensors of a recorded step."""
    table = run.replay
    measured = ~table.mask("source_format", *TEXT_FORMATS) & ~table.mask("pass", "rerun")
    measured &= np.array([bool(table.text("tensor_role", row)) for row in range(len(table))], dtype=bool)
    if not measured.any():
        return ""
    bad = bad_rows(table)
    found = [(course.origin.row, course.origin.step) for course in origins(table).values() if course.origin]
    known = [row for row, _ in found if measured[row]]
    if known:
        first = min(known, key=lambda row: (table["step"][row], table["seq"][row]))
        rows = _around(table, first, measured)
        step, rank = table.integer("step", first), table.integer("rank", first)
        where = " of ".join(part for part in (_named("step", step), _named("rank", rank)) if part)
        head = f"The first tensor that is not finite is marked{', ' + where if where else ''}; what was measured just before and after it."
    else:
        first, rows = -1, _nearest(table, measured)
        head = "No recorded tensor is bad; these came nearest to the end of their range."
    body = "".join(_row(table, row, first=row == first, bad=bool(bad[row])) for row in rows)
    return (
        f'<section><h2 id="tensors">Tensors of the recorded step</h2><p>{head}</p><table class="wide flow"><thead><tr><th>pass</th>'
        "<th>where</th><th>tensor</th><th>kind</th><th>largest</th><th>not finite</th></tr></thead>"
        f"<tbody>{body}</tbody></table><p class=soft>{int(measured.sum())} tensors were recorded, {int((bad & measured).sum())} of them bad.</p></section>"
    )


def _named(word: str, value: int | None) -> str:
    return "" if value is None else f"{word} {value}"


def _around(table: ReplayTable, first: int, measured: np.ndarray) -> list[int]:
    """Rows of the same recording in order of execution."""
    same = measured.copy()
    for column in ("source_format", "step", "rank", "source"):
        same &= table[column] == table[column][first]
    rows = np.flatnonzero(same)
    rows = rows[np.argsort(table["seq"][rows], kind="stable")]
    at = int(np.flatnonzero(rows == first)[0])
    return [int(row) for row in rows[max(0, at - BEFORE) : at + AFTER + 1]]


def _nearest(table: ReplayTable, measured: np.ndarray) -> list[int]:
    rows = np.flatnonzero(measured & np.isfinite(table["absmax"]))
    return sorted(rows.tolist(), key=lambda row: -(_share(table, row) or 0.0))[:LARGEST_SHOWN]


def _share(table: ReplayTable, row: int) -> float | None:
    """Largest element over the largest number of its format."""
    largest, end = table.number("absmax", row), LARGEST.get(table.text("dtype", row) or "")
    return None if largest is None or end is None else largest / end


def _row(table: ReplayTable, row: int, *, first: bool, bad: bool) -> str:
    module, op = table.text("module", row), table.text("op", row)
    kind = table.text("module_type", row)
    place = breakable(module or "(the model itself)") + (
        f" <span class=soft>{e(op or kind or '')}</span>" if op or kind else ""
    )
    sizes = table.sizes("shape", row)
    shape = "" if sizes is None else " x ".join(str(size) for size in sizes) or "scalar"
    largest, share = table.number("absmax", row), _share(table, row)
    near = f" <b>({percent(share)} of its range)</b>" if share is not None and share >= NEAR else ""
    counts = [
        f"{format_scalar(count)} {word}"
        for column, word in (("nan_count", "NaN"), ("inf_count", "inf"))
        if (count := table.integer(column, row))
    ]
    wrong = ", ".join(counts) or ("yes" if bad else "no")
    name = table.text("tensor_name", row) or table.text("tensor_role", row) or ""
    mark = ' class="hit"' if first else ""
    return (
        f"<tr{mark}><td>{e(table.text('pass', row) or '')}</td><td>{place}</td><td><code>{breakable(name)}</code></td>"
        f"<td>{e(table.text('dtype', row) or '')} {shape}</td><td>{'' if largest is None else format_scalar(largest)}{near}</td>"
        f"<td{' class=against' if bad else ''}>{wrong}</td></tr>"
    )
