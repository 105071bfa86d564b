"""Two runs beside each other: which settings differ and how much they could explain, and where the curves part."""

from __future__ import annotations

import numpy as np

from analyzer.model.diagnosis import Diagnosis
from analyzer.model.ranked import median_of
from analyzer.model.run import Run
from analyzer.model.wording import counted, percent
from analyzer.record import NamedTuple
from analyzer.render.curves import Line, Panel, panels_of
from analyzer.render.page import Page, Style
from analyzer.render.plot import plot_rows

PARTED = 0.05
"""Curves of equal runs on other kernels stay within one percent; five is a difference of substance."""

NOISES = 4.0
"""Times the usual jump from point to point that a difference must exceed: one in thousands by chance."""

IN_A_ROW = 3
"""Points that must lie apart one after another: a spike is no parting."""

IN_SHORT = 3
"""Differences that a screen of a single run has room for."""

NAMED = 12
"""Differences that are named; those beyond explain nothing."""


class Difference(NamedTuple):
    """A setting or version in which the runs differ."""

    key: str  # canonical key
    good: str  # its value in the run that worked; empty if it is not stated there
    bad: str  # its value in the other run
    # probability of the cause that it bears on, times its part of that cause's evidence; 0 if no rule uses it
    weight: float
    cause: str  # that cause; empty if none


class Parting(NamedTuple):
    """Where a curve of two runs parts."""

    panel: Panel  # which curve
    shared: int  # steps that both logged
    step: float | None  # first step of the parting; None if they stay together


def differences(good: Run, bad: Run, diagnosis: Diagnosis) -> list[Difference]:
    """What differs, that first which bears most on what is probably wrong with the bad run."""
    found = []
    for key in sorted({*good.config, *bad.config}):
        ours, theirs = (str(run.config.value(key)) if key in run.config else "" for run in (bad, good))
        if ours != theirs:
            weight, cause = _weight(key, diagnosis)
            found.append(Difference(key, theirs, ours, weight, cause))
    return sorted(found, key=lambda item: (-item.weight, not (item.good and item.bad), item.key))


def _weight(key: str, diagnosis: Diagnosis) -> tuple[float, str]:
    best, cause = 0.0, ""
    for finding in diagnosis.findings:
        whole = sum(abs(line.bits) for line in finding.evidence if line.counted) or 1.0
        mine = sum(
            abs(line.bits)
            for line in finding.evidence
            if line.counted and line.bits > 0 and _bears_on(key, [*line.values])
        )
        if finding.probability * mine / whole > best:
            best, cause = finding.probability * mine / whole, finding.cause.id
    return best, cause


def _bears_on(key: str, names: list[str]) -> bool:
    """Whether a fact is this setting, or the precision that it decides."""
    decides = key.partition(".")[0] in {"fp16", "bf16", "amp"} and "config.precision" in names
    return decides or f"config.{key}" in names


def partings(good: Run, bad: Run) -> list[Parting]:
    """Of each curve that both runs logged over steps the first step at which they part."""
    theirs = {panel.key: panel for panel in panels_of(good)}
    found = []
    for panel in panels_of(bad):
        other = theirs.get(panel.key)
        if other is None or not (panel.by_step and other.by_step):
            continue
        step, shared = _parting(other.lines[0], panel.lines[0])
        if shared:
            second = other.lines[0]._replace(label="good")
            both = panel._replace(
                lines=(panel.lines[0]._replace(label="bad"), second), log=panel.log and other.log
            )
            found.append(Parting(both, shared, step))
    return found


def _parting(good: Line, bad: Line) -> tuple[float | None, int]:
    shared, ours, theirs = np.intersect1d(bad.x, good.x, return_indices=True)
    if not shared.size:
        return None, 0
    a, b = bad.y[ours], good.y[theirs]
    jumps = np.abs(np.diff(b[np.isfinite(b)]))
    noise = float(median_of(jumps)) if jumps.size else 0.0
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b) > np.maximum(PARTED * np.abs(b), NOISES * noise)
    broken = ~np.isfinite(a) & np.isfinite(b)
    needed = min(IN_A_ROW, shared.size)
    for i in range(shared.size):
        if broken[i] or (apart[i : i + needed].all() and i + needed <= shared.size):
            return float(shared[i]), int(shared.size)
    return None, int(shared.size)


def _unread(good: Run, bad: Run) -> str:
    """That nothing can be said of settings, where those of a run were not read."""
    missing = [run for run in (good, bad) if not len(run.config)]
    which = "both runs" if len(missing) > 1 else "one of the runs"
    return f"whether settings differ is unknown: of {which} none was read" if missing else ""


def in_short(good: Run, bad: Run, diagnosis: Diagnosis) -> tuple[str, ...]:
    """What ``analyzer compare`` tells of two runs, in two sentences: what differs, and where the curves part."""
    rows = differences(good, bad, diagnosis)
    shown = [
        f"{row.key} {row.good or 'not stated'} there, {row.bad or 'not stated'} here"
        for row in rows[:IN_SHORT]
    ]
    more = f" and {len(rows) - IN_SHORT} more" if len(rows) > IN_SHORT else ""
    settings = (
        f"{counted(len(rows), 'setting')} differ{'s' if len(rows) == 1 else ''}"
        if rows
        else _unread(good, bad) or "no setting differs"
    )
    found = partings(good, bad)
    parted = [f"{p.panel.title.lower()} from step {p.step:.0f} on" for p in found if p.step is not None]
    together = [p.panel.title.lower() for p in found if p.step is None]
    curves = [f"apart: {', '.join(parted)}"] if parted else []
    curves += [f"together: {', '.join(together)}"] if together else []
    return (
        f"{settings}{': ' if shown else ''}{'; '.join(shown)}{more}",
        "; ".join(curves) or "no curve has steps in common",
    )


def render_comparison(good: Run, bad: Run, diagnosis: Diagnosis, style: Style, *, plots: bool = True) -> str:
    """Both runs beside each other as text; the curve of the bad run is drawn, ``o`` marks the good one."""
    page = Page(style)
    page.add(f"{bad.root}: {diagnosis.status}, beside {good.root}", colour="1")
    page.add(diagnosis.summary, indent=2)
    rows = differences(good, bad, diagnosis)
    page.add()
    unread = "" if rows else _unread(good, bad)
    page.add(
        (unread or f"{counted(len(rows), 'setting')} differ{'s' if len(rows) == 1 else ''}")
        + (", those first that bear on the cause" if rows else ""),
        colour="1",
    )
    for row in rows[:NAMED]:
        why = f"  (bears on {row.cause}, {percent(row.weight)})" if row.weight else ""
        page.add(
            f"{row.key}: {row.good or 'not stated'} in the good run, {row.bad or 'not stated'} in this{why}",
            indent=2,
            hang=4,
        )
    if len(rows) > NAMED:
        page.add(f"… and {len(rows) - NAMED} that no rule uses", indent=2)
    for parting in partings(good, bad):
        page.add()
        when = "stay together" if parting.step is None else f"part at step {parting.step:.0f}"
        page.add(
            f"{parting.panel.title}: the curves {when} ({counted(parting.shared, 'shared step')})", colour="1"
        )
        if parting.step is not None and plots:
            for line in plot_rows(parting.panel, style.width, 4, parting.step, both=True):
                page.raw(line.replace("o validation", "  o good run"))
    return page.text()
