"""Words that all pages share: hours, shares, verdicts on hosts."""

from __future__ import annotations

from analyzer.model.wording import counted
from analyzer.triage.nodes import NodeVerdict
from analyzer.triage.summary import Tally


def hours(tally: Tally) -> str:
    """GPU-hours of the failed runs, with how much is not known.

    >>> hours(Tally("x", failed=3, gpu_hours=12.34, hours_unknown=1))
    '12.3 (1 unknown)'
    >>> hours(Tally("x", failed=2, hours_unknown=2)), hours(Tally("x"))
    ('unknown', '0')
    """
    if not tally.failed:
        return "0"
    if tally.hours_unknown == tally.failed:
        return "unknown"
    shown = number(tally.gpu_hours)
    return f"{shown} ({tally.hours_unknown} unknown)" if tally.hours_unknown else shown


def number(value: float) -> str:
    """A number of hours in three digits.

    >>> number(0.00123), number(12.345), number(12345.6)
    ('0.0012', '12.3', '12346')
    """
    if value == 0:
        return "0"
    if value < 0.01:
        return f"{value:.2g}"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def verdict(node: NodeVerdict) -> str:
    """Why a host is accused, or why it is not."""
    seen = f"in {node.failures} failures of {counted(node.jobs, 'job')}"
    if node.first:
        seen += f", first to fail in {node.first}"
    if node.p is None:
        return f"{seen}; chance cannot be tested"
    judged = "more than chance" if node.bad else "chance explains it"
    return f"{seen}; {judged} (p = {node.p:.2g}, {node.question})"
