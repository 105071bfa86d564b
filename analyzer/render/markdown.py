"""Markdown for issues and chat: the same content as the terminal, with fenced diffs."""

from __future__ import annotations

import re

from analyzer.lazy_regex import LazyRegex
from analyzer.model.diagnosis import Diagnosis, Evidence, Finding, Fix
from analyzer.model.wording import counted, percent
from analyzer.render.sentences import (
    amounts_read,
    arrange,
    ended_words,
    explained,
    fix_note,
    headline,
    made_by,
    notes_of,
    others_notes,
    reason_against,
    restart_note,
    telling,
)
from analyzer.render.words import grounds

_SPECIAL = LazyRegex(r"([\\`*_{}\[\]<>#|~&])")
_ADDRESS = LazyRegex(r"(?i)\b(https?|ftp|mailto|xmpp)(:)|\b(www)(\.)")
_MENTION = LazyRegex(r"(?<!\w)@(?=\w)")


def escape(text: str) -> str:
    r"""Text that Markdown shows as it is: in one line, with no element, link, or name of somebody to be told.

    >>> escape("<b> see https://x.example")
    '\\<b\\> see https\\://x.example'
    """
    text = _SPECIAL.sub(r"\\\1", " ".join(text.split("\n")))
    text = _ADDRESS.sub(lambda found: f"{found[1] or found[3]}\\{found[2] or found[4]}", text)
    return _MENTION.sub("\uff20", text)  # a service looks for mentions after all escapes are gone


def code(text: str) -> str:
    """Text as code within a line, which no backtick of its own can end."""
    text = " ".join(text.split("\n")).replace("|", "¦")
    if "`" not in text:
        return f"`{text}`"
    mark = "`" * (max(len(run) for run in re.findall("`+", text)) + 1)
    return f"{mark} {text} {mark}"


def _fence(text: str, language: str) -> str:
    """A fenced block that no backtick of its content can close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{text.rstrip()}\n{mark}"


def render_markdown(diagnosis: Diagnosis, *, show_all: bool = False, top: int = 3) -> str:
    """The diagnosis as Markdown, ending with a newline."""
    words = ended_words(diagnosis)
    head = f"## {diagnosis.status}: {escape(diagnosis.root)}" + (f" ({words})" if words else "")
    parts = [head, "", escape(diagnosis.summary), ""]
    for note in (*others_notes(diagnosis), *notes_of(diagnosis)):
        parts += [escape(note), ""]
    layout = arrange(diagnosis, show_all=show_all, top=top)
    for finding in layout.full:
        parts += _finding(finding, show_all=show_all)
    parts += [f"Note: {escape(note.cause.title)} (`{note.cause.id}`).\n" for note in layout.notes]
    rows = ["| probability | cause | why not |", "|---|---|---|"]
    rows += [
        f"| {percent(item.probability)} | `{item.cause.id}` | {escape(reason_against(item))} |"
        for item in layout.rivals
    ]
    parts += _folded("Considered and ranked below", rows if layout.rivals else [])
    if diagnosis.next_checks:
        parts += ["### To be more certain", ""]
        for check in diagnosis.next_checks:
            moves = f"`{check.cause_id}`: yes {percent(check.if_true)}, no {percent(check.if_false)}"
            parts.append(f"- {escape(check.how or check.meaning)} ({moves})")
        parts.append("")
    parts += _seen(diagnosis)
    return "\n".join(parts).rstrip() + "\n"


def _finding(finding: Finding, *, show_all: bool) -> list[str]:
    parts = [
        f"### `{finding.cause.id}`: {headline(finding)}",
        "",
        f"**{escape(finding.cause.title)}.** {escape(finding.cause.text)}",
        "",
    ]
    hidden: list[str] = []
    for sign, lines in (("for", finding.speaks_for()), ("against", finding.speaks_against())):
        shown = telling(lines, show_all=show_all)[: len(lines) if show_all else 3]
        parts += [_evidence(sign, line) for line in shown]
        hidden += [_evidence(sign, line) for line in lines if line not in shown]
    if finding.explains:
        parts.append(f"- it also explains {escape(', '.join(explained(finding)))}")
    parts.append("")
    parts += _folded(counted(len(hidden), "weaker line of evidence", "weaker lines of evidence"), hidden)
    parts += [line for fix in finding.fixes[:1] for line in _fix(1, fix)]
    others = [line for number, fix in enumerate(finding.fixes[1:], start=2) for line in _fix(number, fix)]
    parts += _folded(counted(len(finding.fixes) - 1, "further fix", "further fixes"), others)
    return [*parts, f"Restart: {escape(restart_note(finding))}.", ""]


def _folded(summary: str, rows: list[str]) -> list[str]:
    """Rows that open at a click, where GitHub and GitLab show them; nothing if there are none."""
    return ["<details>", f"<summary>{summary}</summary>", "", *rows, "", "</details>", ""] if rows else []


def _evidence(sign: str, line: Evidence) -> str:
    places = ", ".join(code(str(place)) for place in line.refs[:2])
    return f"- {sign} ({line.bits:+g} bits): {escape(grounds(line))} {places}".rstrip()


def _fix(number: int, fix: Fix) -> list[str]:
    parts = [f"{number}. **{escape(fix.title)}** ({escape(fix_note(fix))})", ""]
    diff = next((change.diff for change in fix.changes if change.diff), "")
    if diff:
        parts += [_fence(diff, "diff"), ""]
    for change in fix.changes:
        if change.path is None:
            parts += [f"   {change.framework}: {code(change.in_words())}", ""]
        elif not diff:
            parts += [
                f"   {code(f'{change.path}:{change.line or 0}')} {escape(f'{change.key}: {change.old} → {change.new}')}",
                "",
            ]
    if fix.code:
        parts += [_fence(fix.code, "python"), ""]
    return parts


def _seen(diagnosis: Diagnosis) -> list[str]:
    coverage = diagnosis.coverage
    parts = ["### What was read", "", f"{counted(len(coverage.sources), 'file')}, {amounts_read(coverage)}."]
    if coverage.passed and diagnosis.status in {"healthy", "insufficient"}:
        parts.append(f"Tested and passed: {escape('; '.join(coverage.passed))}.")
    if coverage.missing:
        parts.append(f"Not seen: {escape(', '.join(coverage.missing))}.")
    parts += [
        f"- gap: {escape(gap.path)}{f':{gap.line}' if gap.line else ''} {escape(gap.reason)}"
        for gap in diagnosis.gaps
    ]
    return [*parts, "", f"{escape(made_by(diagnosis))}."]
