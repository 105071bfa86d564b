"""Charts as SVG within the page: drawn here, so that they are there without a script, in print and for a screen reader.

A library was compared: the smallest that the package index delivers whole with its JavaScript (Bokeh 3.9) adds
1.3 MB to every page and draws on a canvas, which has no text, no links and no sharp print; Plotly's is above 3 MB;
Altair delivers none. A page of ours is some 50 to 300 KB.
"""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from analyzer.model.wording import format_scalar
from analyzer.record import NamedTuple
from analyzer.render.curves import Line, Panel, cited, part, thinned, value_in_words

BUCKETS = 250
"""Parts of the axis of which the extremes are kept: one is narrower than three pixels of a usual screen."""

TABLE_ROWS = 40
"""Rows of the table beside a chart; the curve itself holds more."""

TOP = 70.0
"""Height of the strip at the top in which non-finite points are drawn, of 1000."""

SIZE = 1000.0
MOST_DOTS = 60
"""Points of a curve up to which each is marked: on a screen they stand some ten pixels apart."""

CITED_POINTS = 12
"""Points of evidence that are marked in one chart; those beyond are in the ledger."""


class Marks(NamedTuple):
    """What is marked in every chart."""

    domain: tuple[float, float] | None  # first and last step of the shared axis; None if no panel has steps
    onset: float | None  # step at which trouble began, or None
    # by key of a panel the anchor of each line that its evidence cites
    places: Mapping[str, Mapping[tuple[str, int], str]]


MARGIN = 0.015
"""Part of the axis left free at both ends: a dot at the first step would stand on the axis and be cut by it."""


def shared_domain(panels: Sequence[Panel]) -> tuple[float, float] | None:
    """First and last step of all panels that are drawn over steps, with a margin."""
    lines = [line for panel in panels if panel.by_step for line in panel.lines]
    return _ends(lines) if lines else None


def _ends(lines: Sequence[Line]) -> tuple[float, float]:
    low, high = min(float(line.x.min()) for line in lines), max(float(line.x.max()) for line in lines)
    margin = MARGIN * (high - low) or 0.5
    return low - margin, high + margin


def chart(panel: Panel, marks: Marks) -> tuple[str, dict[str, Any]]:
    """One chart as HTML, and its points for the script."""
    places = marks.places.get(panel.key, {})
    lines = [part(line, thinned(line, BUCKETS)) for line in panel.lines]
    domain = marks.domain if panel.by_step and marks.domain else _ends(panel.lines)
    scale = _Scale.of(panel, domain)
    drawn = [
        _attempts(panel.lines[0], scale),
        *(f'<path class="grid" d="M0 {scale.y(value):.1f}H{SIZE:.0f}"/>' for value in scale.ticks()),
    ]
    has_bad = False
    for number, (line, whole) in enumerate(zip(lines, panel.lines, strict=True)):
        drawn.append(_curve(line, scale, number))
        bad = _bad(whole, scale)
        has_bad = has_bad or bool(bad)
        drawn.append(bad)
    onset = (
        marks.onset
        if panel.by_step and marks.onset is not None and domain[0] <= marks.onset <= domain[1]
        else None
    )
    if onset is not None:
        drawn.append(f'<path class="onset" d="M{scale.x(onset):.1f} 0V{SIZE:.0f}"/>')
    evidence = _evidence(panel.lines, scale, places)
    drawn.append(evidence)
    labels = "".join(
        f'<span class="tick ty" style="top:{scale.y(value) / 10:.1f}%">{format_scalar(value)}</span>'
        for value in scale.ticks()
    )
    if onset is not None:
        left = " left" if scale.x(onset) > 600 else ""
        labels += f'<span class="on{left}" data-x="{onset:.0f}" style="left:{scale.x(onset) / 10:.1f}%">onset {onset:.0f}</span>'
    if scale.empty:
        labels += '<span class="none">no finite value</span>'
    labels += f'<span class="tick ty axis">{panel.word}</span>'
    margin = (domain[1] - domain[0]) * MARGIN / (1 + 2 * MARGIN)
    ends = "".join(
        f'<span class="tick tx" style="left:{scale.x(value) / 10:.1f}%">{value:.0f}</span>'
        for value in (domain[0] + margin, domain[1] - margin)
    )
    figure = (
        f'<figure id="chart-{panel.key}">{_caption(panel, has_bad=has_bad, has_evidence=bool(evidence))}'
        f'<div class="plot" tabindex="0" role="group" aria-label="{_spoken(panel)}">'
        f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="false">{"".join(drawn)}</svg>'
        f'{labels}{ends}<div class="cursor"></div><div class="brush"></div><div class="tip"></div></div>'
        f"{_table(panel, lines, places)}</figure>"
    )
    points = [_points(line) for line in lines]
    return figure, {"domain": list(domain), "shared": panel.by_step, "word": panel.word, "lines": points}


class _Scale(NamedTuple):
    """Where a point stands in the picture, of 1000 by 1000."""

    first: float  # left end of the axis
    last: float  # right end
    low: float  # smallest value that is drawn
    high: float  # largest
    log: bool  # whether values are drawn by their logarithm
    only: float | None = None  # the one value of a constant curve, which is all that its axis can name
    empty: bool = False  # whether no value is finite, so that there is no axis

    @classmethod
    def of(cls, panel: Panel, domain: tuple[float, float]) -> _Scale:
        y = np.concatenate([line.y for line in panel.lines])
        y = y[np.isfinite(y)]
        if not y.size:
            return cls(*domain, 0.0, 1.0, log=False, empty=True)
        low, high = float(y.min()), float(y.max())
        if high <= low:
            room = (abs(low) or 1.0) * 0.5
            return cls(*domain, low - room, high + room, panel.log, only=low)
        return cls(*domain, low, high, panel.log)

    def x(self, value: float) -> float:
        return (value - self.first) / ((self.last - self.first) or 1.0) * SIZE

    def y(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return SIZE - 20.0 - (value - low) / (high - low) * (SIZE - TOP - 60.0)

    def ticks(self) -> list[float]:
        """A few round values of the axis; those around a constant would be made up."""
        if self.empty or self.only is not None:
            return [] if self.only is None else [self.only]
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            factors = (1.0, 2.0, 5.0) if len(powers) <= 3 else (1.0,)
            round_ones = [
                factor * 10.0**power for power in powers[:: max(1, len(powers) // 5)] for factor in factors
            ]
            inside = [value for value in round_ones if self.low <= value <= self.high]
            return inside if len(inside) > 1 else [self.low, self.high]
        step = _round_step((self.high - self.low) / 4)
        first = math.ceil(self.low / step) * step
        return [value for i in range(8) if (value := round(first + i * step, 12)) <= self.high]


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)


def _curve(line: Line, scale: _Scale, number: int) -> str:
    strokes: list[list[str]] = [[]]  # what is not finite lifts the pen
    for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
        if math.isfinite(y):
            strokes[-1].append(f"{scale.x(x):.1f} {scale.y(y):.1f}")
        elif strokes[-1]:
            strokes.append([])
    path = "".join(f"M{'L'.join(stroke)}" for stroke in strokes if stroke)
    # of many points dots would hide the curve; one between two gaps has no curve
    marked = [stroke for stroke in strokes if line.y.size <= MOST_DOTS or len(stroke) == 1]
    dots = "".join(f"M{spot}h0" for stroke in marked for spot in stroke)
    return f'<path class="s{number}" d="{path}"/>' + (f'<path class="d{number}" d="{dots}"/>' if dots else "")


def _bad(line: Line, scale: _Scale) -> str:
    """Non-finite points as what they are: a bar at the top over each stretch of them, named when pointed at."""
    bad = np.flatnonzero(~np.isfinite(line.y))
    if not bad.size:
        return ""
    drawn = []
    for run in np.split(bad, np.flatnonzero(np.diff(bad) > 1) + 1)[:400]:
        kinds = sorted({value_in_words(float(line.y[i])) for i in run})
        begin, end = float(line.x[run[0]]), float(line.x[run[-1]])
        word = f"{line.label}: {' and '.join(kinds)}, {begin:.0f}" + (f" to {end:.0f}" if end > begin else "")
        length = scale.x(end) - scale.x(begin)
        drawn.append(
            f'<path class="bad" d="M{scale.x(begin):.1f} 25h{length:.1f}"><title>{html.escape(word)}</title></path>'
        )
    return "".join(drawn)


def _attempts(line: Line, scale: _Scale) -> str:
    """Every second attempt is shaded."""
    changes = np.flatnonzero(np.diff(line.attempt)) + 1
    if not changes.size or changes.size > 50:
        return ""
    edges = [0, *changes.tolist(), line.x.size - 1]
    bands = []
    for number, (begin, end) in enumerate(itertools.pairwise(edges)):
        if number % 2:
            left, right = scale.x(float(line.x[begin])), scale.x(float(line.x[end]))
            bands.append(
                f'<rect class="attempt" x="{left:.1f}" y="0" width="{max(1.0, right - left):.1f}" height="1000"/>'
            )
    return "".join(bands)


def _evidence(lines: Sequence[Line], scale: _Scale, places: Mapping[tuple[str, int], str]) -> str:
    """Points that the evidence cites, each a link to its line."""
    drawn: list[str] = []
    for line in lines:
        for row in cited(line, places)[:CITED_POINTS]:
            x, y = float(line.x[row]), float(line.y[row])
            at = (line.paths[row], int(line.lines[row]))
            top = scale.y(y) if math.isfinite(y) else 25.0
            value = value_in_words(y)
            word = html.escape(f"{line.label} {value} at {x:.0f}, evidence at {at[0]}:{at[1]}")
            drawn.append(
                f'<a href="#{places[at]}" aria-label="{word}"><path class="cited" d="M{scale.x(x):.1f} {top:.1f}h0">'
                f"<title>{word}</title></path></a>"
            )
    return "".join(drawn)


_AXES = {"point": "by its order in the log", "second": "by seconds since the first sample"}


def _caption(panel: Panel, *, has_bad: bool, has_evidence: bool) -> str:
    alone = len(panel.lines) == 1 and panel.lines[0].label.lower() == panel.title.lower()
    keys = [
        f'<span class="k{i}"><i></i>{html.escape(line.label)}</span>'
        for i, line in enumerate(panel.lines)
        if not alone  # its key would repeat the title
    ]
    if has_bad:
        keys.append('<span class="kbad"><i></i>not finite (NaN, inf)</span>')
    if has_evidence:
        keys.append('<span class="kend"><i></i>cited as evidence</span>')
    notes = [panel.unit] if panel.unit else []
    notes += ["logarithmic"] if panel.log else []
    notes += [] if panel.by_step else [_AXES[panel.axis]]
    logged = ", ".join(dict.fromkeys(line.logged_as for line in panel.lines))
    notes.append(f"logged as {logged}")
    return f"<figcaption>{html.escape(panel.title)}{''.join(keys)}<span>{html.escape('; '.join(notes))}</span></figcaption>"


def _spoken(panel: Panel) -> str:
    """The chart in a sentence, for a screen reader."""
    said = []
    for line in panel.lines:
        finite = line.y[np.isfinite(line.y)]
        bad = int(line.y.size - finite.size)
        course = (
            f"from {format_scalar(float(finite[0]))} to {format_scalar(float(finite[-1]))}, smallest "
            f"{format_scalar(float(finite.min()))}, largest {format_scalar(float(finite.max()))}"
            if finite.size
            else "no finite value"
        )
        said.append(f"{line.label} {course}" + (f", {bad} points not finite" if bad else ""))
    return html.escape(
        f"Chart of {panel.title.lower()}: {'; '.join(said)}. Arrow keys read points, plus and minus zoom."
    )


def _table(panel: Panel, lines: Sequence[Line], places: Collection[tuple[str, int]]) -> str:
    body = []
    for line in lines:
        keep = (
            set(thinned(line, max(2, TABLE_ROWS // 5)).tolist())
            if line.y.size > TABLE_ROWS
            else set(range(line.y.size))
        )
        keep |= set(cited(line, places)[:CITED_POINTS].tolist())
        for row in sorted(keep):
            y = float(line.y[row])
            value = value_in_words(y)
            place = html.escape(
                f"{line.paths[row]}:{line.lines[row]}" if line.lines[row] else line.paths[row]
            )
            body.append(
                f'<tr><td>{html.escape(line.label)}</td><td class="n">{line.x[row]:.0f}</td><td class="n">{value}</td>'
                f"<td>{place}</td></tr>"
            )
    return (
        f'<details><summary>Table: first, last, smallest, largest and non-finite points</summary><div class="scroll"><table><thead>'
        f'<tr><th>series</th><th class="n">{panel.word}</th><th class="n">value</th><th>place</th></tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div></details>"
    )


def _points(line: Line) -> dict[str, Any]:
    values = [float(f"{y:.6g}") if math.isfinite(y) else value_in_words(y) for y in line.y.tolist()]
    paths = set(line.paths)
    return {
        "label": line.label, "x": [int(x) if x == int(x) else round(x, 2) for x in line.x.tolist()], "y": values,
        "place": next(iter(paths)) if len(paths) == 1 else "", "line": line.lines.tolist(),
    }  # fmt: skip
