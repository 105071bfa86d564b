"""The screen: at most about 40 lines by default, 80 columns, colours only where the caller allows them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from analyzer.model.diagnosis import Diagnosis, Evidence, Finding, Fix
from analyzer.model.wording import share
from analyzer.render.sentences import (
    arrange,
    device_time_note,
    ended_note,
    ended_words,
    first_failure_note,
    fix_note,
    headline,
    odds_note,
    open_lines,
    reason_against,
    restart_note,
    resume_note,
    something_else,
    telling,
)

WIDTH = 100
LINES_SHOWN = 3
FIXES_SHOWN = 2
RIVALS_SHOWN = 4
CHECKS_SHOWN = 2
GUESSES_SHOWN = 4
GAPS_SHOWN = 3
MECHANISM_CHARACTERS = 200
_SETTINGS = (".yaml", ".yml", ".json", ".py")
"""A setting is quoted by its value already."""
_STATUS_COLOUR = {"failed": "31;1", "degraded": "33;1", "interrupted": "33;1", "healthy": "32;1"}


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
    words = ended_words(diagnosis)
    page.raw(
        f"{diagnosis.status.upper()}  {subject}" + (f"  ({words})" if words else ""),
        _STATUS_COLOUR.get(diagnosis.status, "1"),
    )
    if diagnosis.others:
        total = len(diagnosis.others) + 1
        names = ", ".join(diagnosis.others[:3]) + (f" and {total - 4} more" if total > 4 else "")
        note = f"1 of {total} runs found here, the last to start; not looked at: {names}"
        page.add(note, indent=2, hang=2, colour="33")
    page.add(
        _sentence(diagnosis.findings[0].symptom if _is_fault(diagnosis) else diagnosis.summary), indent=2
    )
    for note in (
        ended_note(diagnosis),
        resume_note(diagnosis),
        first_failure_note(diagnosis),
        device_time_note(diagnosis),
    ):
        if note:
            page.add(note, indent=2, hang=2)
    layout = arrange(diagnosis, show_all=show_all, top=top)
    if (lines := open_lines(diagnosis)) and layout.full:
        page.add()
        page.add(lines[0], hang=2, colour="1")
        page.add(lines[1], indent=2)
    for finding in layout.full:
        page.add()
        _write_finding(page, finding, show_all=show_all)
    for finding in layout.notes:
        page.add()
        page.add(f"note: {finding.cause.title} ({finding.cause.id}, {share(finding.probability)})", hang=6)
    other = something_else(diagnosis) if layout.full else ""
    _write_rivals(page, layout.rivals, other, show_all=show_all)
    _write_next_checks(page, diagnosis, show_all=show_all)
    _write_seen(page, diagnosis, show_all=show_all)
    return "\n".join(page.lines) + "\n"


def _is_fault(diagnosis: Diagnosis) -> bool:
    """Whether the summary would only repeat the headline of the first finding."""
    return bool(diagnosis.findings) and diagnosis.summary.startswith(diagnosis.findings[0].symptom)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _write_finding(page: _Page, finding: Finding, *, show_all: bool) -> None:
    page.add(f"{headline(finding)}: {finding.cause.title}  [{finding.cause.id}]", hang=2, colour="1")
    page.add(finding.cause.text if show_all else _first_sentences(finding.cause.text), indent=2)
    limit = None if show_all else LINES_SHOWN
    for sign, lines in (("+", finding.speaks_for()), ("-", finding.speaks_against())):
        for line in telling(lines, show_all=show_all)[: limit if sign == "+" else limit and 1]:
            _write_evidence(page, sign, line)
    if finding.seen_before:
        page.add(f"{finding.seen_before} (your casebook, {finding.casebook_bits:+g} bits)", indent=2, hang=3)
    if finding.explains:
        page.add(f"also explains: {', '.join(finding.explains)}", indent=2, hang=4)
    for number, fix in enumerate(finding.fixes, start=1):
        if show_all or number <= FIXES_SHOWN:
            _write_fix(page, number, fix, in_full=show_all or number == 1)
    hidden = 0 if show_all else len(finding.fixes) - FIXES_SHOWN
    if hidden > 0:
        page.add(f"… {hidden} more fixes with --all", indent=2)
    page.add(f"restart: {restart_note(finding)}", indent=2, hang=3)


def _first_sentences(text: str) -> str:
    """The beginning of a text, whole sentences up to about two lines."""
    end = 0
    for match in re.finditer(r"\.(?= |$)", text):
        if match.end() > MECHANISM_CHARACTERS and end:
            break
        end = match.end()
    return text[:end] if end else text


def _write_evidence(page: _Page, sign: str, line: Evidence) -> None:
    where = f"  [{line.refs[0]}]" if line.refs else ""
    page.add(f"{sign}{abs(line.bits):g} {line.observed()}: {line.because}{where}", indent=2, hang=3)
    if line.refs and line.refs[0].text and not line.refs[0].path.endswith(_SETTINGS):
        page.raw(f"     | {_cut(line.refs[0].text, page.style.width - 7)}", colour="2")


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _write_fix(page: _Page, number: int, fix: Fix, *, in_full: bool) -> None:
    title = f"fix {number}: {fix.title} ({fix_note(fix)})"
    if not in_full:
        page.raw(f"  {_cut(title, page.style.width - 2)}", colour="36")
        return
    page.add(title, indent=2, hang=3, colour="36")
    diffs = [change.diff for change in fix.changes if change.diff]
    for line in "".join(diffs).splitlines():
        code = "32" if line.startswith("+") else "31" if line.startswith("-") else ""
        page.raw(f"     {line}", colour=code)
    for change in fix.changes:
        if change.path is None:
            page.add(f"{change.framework}: {change.key} = {change.new}", indent=5, hang=2)
        elif not diffs:
            old = f"{change.old} -> " if change.old is not None else ""
            page.add(f"{change.path}:{change.line or '?'}  {change.key}: {old}{change.new}", indent=5, hang=2)
    for line in fix.code.splitlines():
        page.raw(f"     {line}")


def _write_rivals(page: _Page, rivals: Sequence[Finding], other: str, *, show_all: bool) -> None:
    if not rivals and not other:
        return
    page.add()
    page.add("considered and ranked below", colour="1")
    shown = rivals if show_all else rivals[:RIVALS_SHOWN]
    for finding in shown:
        line = f"{share(finding.probability):>4} {finding.cause.id}: {reason_against(finding)}"
        if show_all:
            page.add(line, indent=2, hang=5)
        else:
            page.raw(f"  {_cut(line, page.style.width - 2)}")
    if len(rivals) > len(shown):
        page.add(f"… {len(rivals) - len(shown)} more, and the reasons in full, with --all", indent=2)
    if other:
        page.add(f"{other:>4} something else", indent=2)


def _write_next_checks(page: _Page, diagnosis: Diagnosis, *, show_all: bool) -> None:
    if not diagnosis.next_checks:
        return
    page.add()
    page.add("to be surer", colour="1")
    for check in diagnosis.next_checks if show_all else diagnosis.next_checks[:CHECKS_SHOWN]:
        moves = f"{check.cause_id}: yes {share(check.if_true)}, no {share(check.if_false)}"
        page.add(f"{check.how or check.meaning}  ({moves})", indent=2, hang=2)


def _write_seen(page: _Page, diagnosis: Diagnosis, *, show_all: bool) -> None:
    coverage = diagnosis.coverage
    page.add()
    formats = sorted({note.format for note in coverage.sources})
    step = f", last step {coverage.last_step}" if coverage.last_step is not None else ""
    by_name = f" ({coverage.rows_by_name} rows read by their names alone)" if coverage.rows_by_name else ""
    page.add(
        f"read: {len(coverage.sources)} files ({', '.join(formats)}), {sum(coverage.metrics.values())} metric points{by_name}, "
        f"{coverage.events} log events, {coverage.config_keys} settings{step}",
        hang=2,
    )
    if coverage.guesses:
        taken = [f"{logged} as {metric}" for logged, metric in coverage.guesses.items()]
        more = (
            f" and {len(taken) - GUESSES_SHOWN} more" if len(taken) > GUESSES_SHOWN and not show_all else ""
        )
        shown = taken if show_all else taken[:GUESSES_SHOWN]
        page.add(f"taken by the words of its name: {', '.join(shown)}{more} (--metric chooses)", hang=2)
    if coverage.missing:
        page.add(f"not seen: {', '.join(coverage.missing)}", hang=2)
    limit = None if show_all else GAPS_SHOWN
    for gap in diagnosis.gaps[:limit]:
        place = gap.path + (f":{gap.line}" if gap.line else "")
        page.add(f"gap: {place + ': ' if place else ''}{gap.reason}", hang=2, colour="33")
    if limit is not None and len(diagnosis.gaps) > limit:
        page.add(f"… {len(diagnosis.gaps) - limit} more gaps with --all", hang=2)
    page.add(odds_note(diagnosis), hang=2, colour="2")
    while page.lines and not page.lines[-1].strip():
        page.lines.pop()
