"""The screen: at most about 40 lines by default, 80 columns, colours only where the caller allows them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from analyzer.model.diagnosis import Diagnosis, Evidence, Finding, Fix
from analyzer.model.wording import share
from analyzer.render.sentences import fix_note, headline, reason_against, shown_findings

WIDTH = 88
LINES_SHOWN = 3
ALSO_SHOWN = 5
GAPS_SHOWN = 3
_STATUS_COLOUR = {"failed": "31;1", "degraded": "33;1", "healthy": "32;1"}


@dataclass(frozen=True, slots=True)
class Style:
    """Whether to colour, and how wide to write."""

    colour: bool
    width: int = WIDTH

    def paint(self, text: str, code: str) -> str:
        """Text in an ANSI colour, or as it is."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


class _Page:
    def __init__(self, style: Style) -> None:
        self.style = style
        self.lines: list[str] = []

    def add(self, text: str = "", *, indent: int = 0, hang: int = 0, colour: str = "") -> None:
        wrapped = textwrap.wrap(
            text,
            self.style.width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
        self.lines.extend(self.style.paint(line, colour) if colour else line for line in wrapped)

    def raw(self, text: str, colour: str = "") -> None:
        self.lines.append(self.style.paint(text, colour) if colour else text)


def render_terminal(diagnosis: Diagnosis, style: Style, *, show_all: bool = False, top: int = 3) -> str:
    """The diagnosis as text for a terminal, ending with a newline."""
    page = _Page(style)
    subject = f"{diagnosis.root}" + (f" [{diagnosis.subject}]" if diagnosis.subject else "")
    page.add(f"{diagnosis.status.upper()}  {subject}", colour=_STATUS_COLOUR.get(diagnosis.status, "1"))
    page.add(_sentence(diagnosis.summary), indent=2)
    leading, rest = shown_findings(diagnosis, show_all=show_all, top=top)
    for finding in leading:
        page.add()
        _write_finding(page, finding, show_all=show_all)
    _write_rest(page, diagnosis, list(rest), show_all=show_all)
    _write_next_checks(page, diagnosis)
    _write_seen(page, diagnosis, show_all=show_all)
    return "\n".join(page.lines) + "\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _write_finding(page: _Page, finding: Finding, *, show_all: bool) -> None:
    page.add(f"{finding.cause.id}  {headline(finding)}  [{finding.rule_id}, {finding.severity}]", colour="1")
    page.add(finding.cause.title, indent=2)
    page.add(finding.cause.text, indent=2)
    limit = None if show_all else LINES_SHOWN
    for sign, lines in (("+", finding.speaks_for()), ("-", finding.speaks_against())):
        for line in lines[:limit]:
            _write_evidence(page, sign, line)
    if finding.explains:
        page.add(f"also explains: {', '.join(finding.explains)}", indent=2, hang=4)
    shown = finding.fixes if show_all else finding.fixes[:2]
    for number, fix in enumerate(shown, start=1):
        _write_fix(page, number, fix, with_code=show_all or number == 1)
    hidden = finding.fixes[len(shown) :]
    if hidden:
        page.add(f"more: {'; '.join(fix.title for fix in hidden)}", indent=2, hang=2)


def _write_evidence(page: _Page, sign: str, line: Evidence) -> None:
    places = ", ".join(str(place) for place in line.refs[:2])
    where = f"  [{places}]" if places else ""
    page.add(f"{sign}{abs(line.bits):g} {line.observed()}: {line.because}{where}", indent=2, hang=3)
    quoted = next((place.text for place in line.refs if place.text), "")
    if quoted and line is not None:
        room = page.style.width - 7
        page.raw(f"     | {quoted if len(quoted) <= room else quoted[: room - 1] + '…'}", colour="2")


def _write_fix(page: _Page, number: int, fix: Fix, *, with_code: bool) -> None:
    page.add(f"fix {number}: {fix.title} ({fix_note(fix)})", indent=2, hang=3, colour="36")
    diffed = False
    for change in fix.changes:
        if change.diff and not diffed:
            diffed = True
            for line in change.diff.splitlines():
                code = "32" if line.startswith("+") else "31" if line.startswith("-") else ""
                page.raw(f"     {line}", colour=code)
        elif change.path is None:
            page.add(f"{change.framework}: {change.key} = {change.new}", indent=5, hang=2)
        elif not diffed:
            old = f"{change.old} -> " if change.old is not None else ""
            page.add(f"{change.path}:{change.line or '?'}  {change.key}: {old}{change.new}", indent=5, hang=2)
    if fix.code and with_code:
        for line in fix.code.splitlines():
            page.raw(f"     {line}")


def _write_rest(page: _Page, diagnosis: Diagnosis, rest: list[Finding], *, show_all: bool) -> None:
    if not rest:
        return
    winner = diagnosis.findings[0] if diagnosis.findings else None
    page.add()
    page.add("considered and ranked below", colour="1")
    shown = rest if show_all else rest[:ALSO_SHOWN]
    for finding in shown:
        page.add(f"{share(finding.probability):>4} {finding.cause.id}: {reason_against(finding, winner)}", indent=2, hang=5)
    if len(rest) > len(shown):
        page.add(f"… {len(rest) - len(shown)} more with --all", indent=2)


def _write_next_checks(page: _Page, diagnosis: Diagnosis) -> None:
    if not diagnosis.next_checks:
        return
    page.add()
    page.add("to be surer", colour="1")
    for check in diagnosis.next_checks:
        moves = f"{check.cause_id}: yes {share(check.if_true)}, no {share(check.if_false)}"
        page.add(f"{check.how or check.meaning}  ({moves})", indent=2, hang=2)


def _write_seen(page: _Page, diagnosis: Diagnosis, *, show_all: bool) -> None:
    coverage = diagnosis.coverage
    page.add()
    formats = sorted({name for name in (note.format for note in coverage.sources)})
    step = f", last step {coverage.last_step}" if coverage.last_step is not None else ""
    page.add(
        f"read: {len(coverage.sources)} files ({', '.join(formats)}), {sum(coverage.metrics.values())} metric points, "
        f"{coverage.events} log events, {coverage.config_keys} settings{step}",
        hang=2,
    )
    if coverage.missing:
        page.add(f"not seen: {', '.join(coverage.missing)}", hang=2)
    if diagnosis.others:
        page.add(f"other runs here, not looked at: {', '.join(diagnosis.others[:5])}", hang=2)
    limit = None if show_all else GAPS_SHOWN
    for gap in diagnosis.gaps[:limit]:
        place = gap.path + (f":{gap.line}" if gap.line else "")
        page.add(f"gap: {place + ': ' if place else ''}{gap.reason}", hang=2, colour="33")
    if limit is not None and len(diagnosis.gaps) > limit:
        page.add(f"… {len(diagnosis.gaps) - limit} more gaps with --all", hang=2)
    page.add(
        "shares weigh the evidence by hand-set odds; they are not calibrated yet"
        if diagnosis.findings
        else "",
        colour="2",
    )
    while page.lines and not page.lines[-1].strip():
        page.lines.pop()
