"""Everything that was considered, on as many lines as it takes: ``--all``."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.model.diagnosis import Diagnosis, Evidence, Finding
from analyzer.model.wording import counted, percent
from analyzer.render.page import Page, Style, quoted_line, write_beginning, write_beside, write_change
from analyzer.render.sentences import (
    amounts_read,
    arrange,
    because_here,
    explained,
    headline,
    made_by,
    odds_note,
    opening,
    reason_against,
    restart_note,
    something_else,
)

_SETTINGS = (".yaml", ".yml", ".json", ".py")
"""A setting is quoted by its value already."""


def render_everything(
    diagnosis: Diagnosis, style: Style, *, top: int = 3, beside: tuple[str, ...] = ()
) -> str:
    """Every cause with its evidence in bits, every fix, rival, check and gap."""
    page = Page(style)
    write_beginning(page, diagnosis)
    layout = arrange(diagnosis, show_all=True, top=top)
    if (above := opening(diagnosis)) and layout.full:
        page.add()
        page.add(above.head, hang=2, colour="1")
        for row in above.rows:
            page.add(row, indent=2, hang=4)
    for finding in layout.full:
        page.add()
        _write_finding(page, finding)
    for finding in layout.notes:
        page.add()
        page.add(f"note: {finding.cause.title} ({finding.cause.id}, {percent(finding.probability)})", hang=6)
    _write_rivals(page, layout.rivals, something_else(diagnosis) if layout.full else "")
    _write_next_checks(page, diagnosis)
    write_beside(page, beside)
    write_seen(page, diagnosis)
    return page.text()


def _write_finding(page: Page, finding: Finding) -> None:
    page.add(f"{headline(finding)}: {finding.cause.title}  [{finding.cause.id}]", hang=2, colour="1")
    page.add(finding.cause.text, indent=2)
    for sign, lines in (("+", finding.speaks_for()), ("-", finding.speaks_against())):
        for line in lines:
            _write_evidence(page, sign, line)
    if finding.seen_before:
        page.add(f"{finding.seen_before} (your casebook, {finding.casebook_bits:+g} bits)", indent=2, hang=3)
    if finding.explains:
        page.add(f"it also explains {', '.join(explained(finding))}", indent=2, hang=4)
    for number, fix in enumerate(finding.fixes, start=1):
        write_change(page, f"fix {number}", fix)
    page.add(f"restart: {restart_note(finding)}", indent=2, hang=3)


def _write_evidence(page: Page, sign: str, line: Evidence) -> None:
    where = f"  [{page.place(line.refs[0])}]" if line.refs else ""
    page.add(f"{sign}{abs(line.bits):g} {line.observed()}: {because_here(line)}{where}", indent=2, hang=3)
    if line.refs and line.refs[0].text and not line.refs[0].path.endswith(_SETTINGS):
        page.raw(f"     | {quoted_line(line.refs[0].text, page.style.width - 7)}", colour="2")


def _write_rivals(page: Page, rivals: Sequence[Finding], other: str) -> None:
    if not rivals and not other:
        return
    page.add()
    page.add("considered and ranked below", colour="1")
    for finding in rivals:
        page.add(
            f"{percent(finding.probability):>4} {finding.cause.id}: {reason_against(finding)}",
            indent=2,
            hang=5,
        )
    if other:
        page.add(f"{other:>4} something else", indent=2)


def _write_next_checks(page: Page, diagnosis: Diagnosis) -> None:
    if not diagnosis.next_checks:
        return
    page.add()
    page.add("to be more certain", colour="1")
    for check in diagnosis.next_checks:
        moves = f"{check.cause_id}: yes {percent(check.if_true)}, no {percent(check.if_false)}"
        page.add(f"{check.how or check.meaning}  ({moves})", indent=2, hang=2)


def write_seen(page: Page, diagnosis: Diagnosis) -> None:
    """What was read, what was not, and how far the probabilities were measured."""
    coverage = diagnosis.coverage
    page.add()
    write_read(page, diagnosis)
    if coverage.guesses:
        taken = [f"{logged} as {metric}" for logged, metric in coverage.guesses.items()]
        page.add(f"read by name: {', '.join(taken)} (--metric corrects it)", hang=2)
    if coverage.passed and diagnosis.status in {"healthy", "insufficient"}:
        page.add(f"checks passed: {'; '.join(coverage.passed)}", hang=2)
    if coverage.missing:
        page.add(f"not seen: {', '.join(coverage.missing)}", hang=2)
    for gap in diagnosis.gaps:
        place = gap.path + (f":{gap.line}" if gap.line else "")
        page.add(f"gap: {place + ': ' if place else ''}{gap.reason}", hang=2, colour="33")
    page.add(odds_note(diagnosis), hang=2, colour="2")
    page.add(made_by(diagnosis), hang=2, colour="2")


def write_read(page: Page, diagnosis: Diagnosis) -> None:
    """Files, points, events and settings that were read."""
    coverage = diagnosis.coverage
    formats = sorted({note.format for note in coverage.sources})
    files = counted(len(coverage.sources), "file")
    page.add(f"read: {files} ({', '.join(formats)}), {amounts_read(coverage)}", hang=2)
