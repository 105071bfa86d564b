"""The screen: one of at most 40 lines at 100 columns in plain words; ``--all`` gives everything instead."""

from __future__ import annotations

import re
from collections.abc import Sequence

from analyzer.guard import OUR_FAULT
from analyzer.model.diagnosis import Diagnosis, Evidence, Finding, Place
from analyzer.model.wording import counted, percent
from analyzer.record import NamedTuple
from analyzer.render.curves import Panel, deciding
from analyzer.render.page import Page, Style, quoted_line, write_beginning, write_beside, write_change
from analyzer.render.plot import plot_rows
from analyzer.render.sentences import (
    amounts_read,
    arrange,
    explained,
    fix_heading,
    headline,
    is_quotable,
    odds_note,
    only_if,
    opening,
    restart_line,
    something_else,
)
from analyzer.render.words import answers_in_words, grounds, rivals_worth_naming, strongest

MOST_LINES = 40
"""Of a screen; what is beyond scrolls away before it is read."""

GUESSES = 4
PASSED = 4
"""Tests of health that are named: those that lead say most of what the others do."""

MECHANISM_CHARACTERS = 200
_SETTINGS = (".yaml", ".yml", ".json", ".py", ".toml")
"""A setting is quoted by its value already."""


ADVISED = 0.4
"""Share below which a cause that only runs with such numbers had is named, and no fix of it told: of four such fixes three would be for nothing."""

PROBABLE = 0.5
"""Share from which a slow pace is told beside a failure."""


class _Room(NamedTuple):
    """How much of each part is shown."""

    plot: int  # rows of the plot
    change: int  # lines of the change
    evidence: int  # lines of evidence
    mechanism: bool  # whether the cause is explained
    explains: bool  # whether consequences are named
    gaps: int  # gaps in full


_ROOMS = (
    _Room(4, 18, 3, mechanism=True, explains=True, gaps=2),
    _Room(3, 18, 3, mechanism=True, explains=False, gaps=1),
    _Room(3, 18, 3, mechanism=True, explains=False, gaps=0),
    _Room(3, 18, 3, mechanism=False, explains=False, gaps=0),
    _Room(0, 18, 3, mechanism=False, explains=False, gaps=0),
    _Room(0, 18, 2, mechanism=False, explains=False, gaps=0),
    _Room(0, 12, 2, mechanism=False, explains=False, gaps=0),
    _Room(0, 6, 1, mechanism=False, explains=False, gaps=0),
)
"""How a page becomes shorter until it fits: what a reader misses least goes first, a change is cut last."""


def render_terminal(
    diagnosis: Diagnosis,
    style: Style,
    *,
    show_all: bool = False,
    top: int = 3,
    panels: tuple[Panel, ...] = (),
    beside: tuple[str, ...] = (),
) -> str:
    """The diagnosis as text for a terminal, ending with a newline.

    Args:
        diagnosis: What to show.
        style: How to write.
        show_all: Everything, instead of one screen.
        top: Causes in full, with ``show_all``.
        panels: Curves of the run; the deciding one is drawn.
        beside: What stands beside a baseline, in sentences; see ``beside.in_short``.
    """
    if show_all:
        from analyzer.render.full_page import render_everything  # noqa: PLC0415  (asked for by --all)

        return render_everything(diagnosis, style, top=top, beside=beside)
    text = ""
    for room in _ROOMS:
        text = _screen(diagnosis, style, panels, room, beside)
        if text.count("\n") <= MOST_LINES:
            break
    return text


def _screen(
    diagnosis: Diagnosis, style: Style, panels: tuple[Panel, ...], room: _Room, beside: tuple[str, ...]
) -> str:
    page = Page(style)
    write_beginning(page, diagnosis)
    layout = arrange(diagnosis, show_all=False, top=3)
    if layout.full:
        _write_cause(page, diagnosis, layout.full[0], room)
        _write_plot(page, diagnosis, panels, layout.full[0], room.plot)
        _write_fix(page, diagnosis, layout.full[0], room.change)
        _write_else(page, diagnosis, layout.full)
    above = opening(diagnosis)
    named = " ".join(above.rows) if above is not None else ""
    for finding in layout.notes:
        if f"[{finding.cause.id}]" in named:
            continue
        page.add()
        page.add(f"note: {finding.cause.title} ({finding.cause.id}, {percent(finding.probability)})", hang=6)
    _write_check(page, diagnosis)
    write_beside(page, beside)
    _write_seen(page, diagnosis, room.gaps)
    return page.text()


def _write_cause(page: Page, diagnosis: Diagnosis, finding: Finding, room: _Room) -> None:
    page.add()
    above = opening(diagnosis)
    if above is not None:
        page.add(above.head, hang=2, colour="1")
        for row in above.rows:
            page.add(row, indent=2, hang=4)
        if finding.likeness_only:
            return  # of this run nothing speaks for any of them
        if not finding.speaks_for():
            return
        if not above.leads:
            page.add(f"what speaks for {finding.cause.id}:", hang=2)
    else:
        page.add(f"{headline(finding)}: {finding.cause.title}  [{finding.cause.id}]", hang=2, colour="1")
    if room.mechanism:
        page.add(_first_sentences(finding.cause.text), indent=2)
    known: set[str] = set()
    quoted: set[Place] = set()
    for line in strongest(finding, room.evidence):
        _write_evidence(page, line, known, quoted)
        known.update(line.values)
    if finding.seen_before:
        page.add(f"{finding.seen_before} (your casebook)", indent=2, hang=3)
    if finding.explains and room.explains:
        page.add(f"it also explains {', '.join(explained(finding))}", indent=2, hang=4)


def _write_evidence(page: Page, line: Evidence, known: set[str], quoted: set[Place]) -> None:
    where = f"  ({page.place(line.refs[0])})" if line.refs and is_quotable(line) else ""
    sign = "+ " if line.bits > 0 else "- against it: "
    page.add(f"{sign}{grounds(line, known)}{where}", indent=2, hang=2)
    if (
        line.refs
        and line.refs[0] not in quoted
        and line.refs[0].text
        and not line.refs[0].path.endswith(_SETTINGS)
        and is_quotable(line)
    ):
        page.raw(f"    | {quoted_line(line.refs[0].text, page.style.width - 6)}", colour="2")
    quoted.update(line.refs[:1])


def _first_sentences(text: str) -> str:
    """The beginning of a text, whole sentences up to about two lines."""
    end = 0
    for match in re.finditer(r"\.(?= |$)", text):
        if match.end() > MECHANISM_CHARACTERS and end:
            break
        end = match.end()
    return text[:end] if end else text


def _write_plot(
    page: Page, diagnosis: Diagnosis, panels: tuple[Panel, ...], finding: Finding, rows: int
) -> None:
    panel = deciding(panels, finding) if rows else None
    if panel is None:
        return
    onset = None if diagnosis.onset is None else float(diagnosis.onset.step)
    drawn = plot_rows(panel, page.style.width, rows, onset, both=finding.symptom_kind == "eval_gap")
    for row in drawn:
        page.raw(row, colour="34")


def _write_fix(page: Page, diagnosis: Diagnosis, finding: Finding, change: int) -> None:
    if finding.likeness_only and diagnosis.status == "insufficient" and finding.probability < ADVISED:
        return
    page.add()
    if finding.fixes:
        heading = fix_heading(finding.fixes[0], only_if(diagnosis, finding))
        write_change(page, heading, finding.fixes[0], change)
    page.add(restart_line(diagnosis, finding), indent=2, hang=3)


def _write_else(page: Page, diagnosis: Diagnosis, full: Sequence[Finding]) -> None:
    page.add()
    above = opening(diagnosis)
    named_above = "" if above is None else "\n".join(above.rows)
    for finding in full[1:]:
        if f"[{finding.cause.id}]" in named_above:
            continue
        if diagnosis.status == "failed" and finding.symptom_kind == "slow" and finding.probability < PROBABLE:
            continue  # who looks for what ended a run is not helped by a guess at its pace
        page.add(f"also found, {headline(finding)}: {finding.cause.title}  [{finding.cause.id}]", hang=2)
    for finding in diagnosis.findings[1:]:
        if finding.seen_before and finding not in full:
            page.add(f"your casebook, {finding.cause.id}: {finding.seen_before}", hang=2)
    if above is not None and not above.leads:
        return  # it has named the others
    rivals = () if above is not None else rivals_worth_naming(diagnosis, full[:1])
    named = [
        f"{percent(finding.probability)} {finding.cause.title} [{finding.cause.id}]" for finding in rivals
    ]
    other = something_else(diagnosis)
    if other:
        named = [
            *named,
            f"{other} for something else" + ("" if named else " (no other known cause comes near)"),
        ]
    if named:
        page.add(f"other causes: {'; '.join(named)}", hang=2)


def _write_check(page: Page, diagnosis: Diagnosis) -> None:
    if not diagnosis.next_checks:
        return
    check = diagnosis.next_checks[0]
    page.add(f"to be more certain: {check.how or check.meaning}", hang=2)
    page.add(answers_in_words(check), indent=2, hang=2)


def _write_seen(page: Page, diagnosis: Diagnosis, gaps: int) -> None:
    coverage = diagnosis.coverage
    page.add()
    page.add(f"read {counted(len(coverage.sources), 'file')}: {amounts_read(coverage)}", hang=2)
    if coverage.guesses:
        taken = [f"{logged} as {metric}" for logged, metric in coverage.guesses.items()]
        more = ", others with --all" if len(taken) > GUESSES else ""
        page.add(f"read by name: {', '.join(taken[:GUESSES])}{more} (--metric corrects it)", hang=2)
    if coverage.passed and diagnosis.status in {"healthy", "insufficient"}:
        more = "; others with --all" if len(coverage.passed) > PASSED else ""
        page.add(f"checks passed: {'; '.join(coverage.passed[:PASSED])}{more}", hang=2)
    lacking = diagnosis.status in {"insufficient", "healthy"}  # there the summary has said it
    unsaid = [what for what in coverage.missing if not (lacking and what in diagnosis.summary)]
    if unsaid:
        page.add(f"not seen: {', '.join(unsaid)}", hang=2)
    ordered = sorted(diagnosis.gaps, key=lambda gap: OUR_FAULT not in gap.reason)
    at_fault = any(
        OUR_FAULT in gap.reason for gap in ordered
    )  # whoever can report it must see it on the first screen
    shown = ordered[: max(gaps, at_fault)]
    for gap in shown:
        place = gap.path + (f":{gap.line}" if gap.line else "")
        page.add(f"gap: {place + ': ' if place else ''}{gap.reason}", hang=2, colour="33")
    if hidden := len(ordered) - len(shown):
        page.add(
            f"{hidden} {'further ' if shown else ''}gap{'s' if hidden > 1 else ''} in what was read, listed by --all",
            colour="33",
        )
    page.add(odds_note(diagnosis), hang=2, colour="2")
