"""Sentences that all renderers share: reasons against a cause, notes of a fix, what to show in full."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.model.diagnosis import Diagnosis, Finding, Fix
from analyzer.model.wording import REPORTED, share, word_for

def reason_against(finding: Finding, winner: Finding | None) -> str:
    """Why a cause is not the answer, in one clause."""
    against = finding.speaks_against()
    if against:
        line = against[0]
        return f"{line.observed()} ({line.because})"
    if winner is not None and finding is not winner:
        undecided = [line for line in finding.evidence if line.verdict is None]
        if undecided:
            return f"nothing seen speaks for it; undecided: {undecided[0].because}"
    return "weaker evidence than the cause above"


def headline(finding: Finding) -> str:
    """``83% likely``, with the honest note that shares are judgement, not frequency."""
    return f"{share(finding.probability)} {word_for(finding.probability)}"


def fix_note(fix: Fix) -> str:
    """Condition and proof of a fix."""
    notes = [fix.strength]
    if fix.requires:
        notes.append(f"if {fix.requires}")
    if fix.verified_by:
        notes.append(f"reproduced: samples/{fix.verified_by}")
    return ", ".join(notes)


def shown_findings(diagnosis: Diagnosis, *, show_all: bool, top: int) -> tuple[Sequence[Finding], Sequence[Finding]]:
    """Findings to show in full, and those to name in one line each."""
    if not diagnosis.findings:
        return (), diagnosis.ruled_out if show_all else ()
    if show_all:
        return diagnosis.findings[:top], (*diagnosis.findings[top:], *diagnosis.ruled_out)
    leading: list[Finding] = []
    for finding in diagnosis.findings:
        first_of_kind = all(finding.symptom_kind != other.symptom_kind for other in leading)
        if first_of_kind and (finding.probability >= REPORTED or not leading):
            leading.append(finding)
    leading = leading[:top]
    rest = [f for f in (*diagnosis.findings, *diagnosis.ruled_out) if f not in leading]
    return leading, rest
