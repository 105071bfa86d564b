"""A diagnosis where Python shows it by itself: a line at the prompt, a short card in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from analyzer.model.wording import percent

if TYPE_CHECKING:
    from analyzer.model.diagnosis import Diagnosis, Finding

_COLOURS = {"failed": "#b3261e", "degraded": "#8a5300", "interrupted": "#8a5300", "healthy": "#146c2e"}


def line_of(diagnosis: Diagnosis) -> str:
    """``<Diagnosis runs/7b: failed, 97% bf16-pretrained-model-in-fp16>``."""
    leads = _leading(diagnosis)
    cause = f", {percent(leads.probability)} {leads.cause.id}" if leads else ""
    return f"<Diagnosis {diagnosis.root}: {diagnosis.status}{cause}>"


def card_of(diagnosis: Diagnosis) -> str:
    """A few lines of HTML; colours of text only, so that light and dark notebooks both do."""
    e = html.escape
    colour = _COLOURS.get(diagnosis.status, "inherit")
    rows = [
        f'<b style="color:{colour}">{e(diagnosis.status.upper())}</b> <code>{e(diagnosis.root)}</code>',
        e(diagnosis.summary),
    ]
    leads = _leading(diagnosis)
    if leads is not None:
        rows.append(
            f"<b>{percent(leads.probability)}</b> {e(leads.cause.title)} <code>{e(leads.cause.id)}</code>"
        )
        places = [place for line in leads.speaks_for() for place in line.refs[:1]]
        rows += [
            f"evidence: {', '.join(f'<code>{e(str(place))}</code>' for place in dict.fromkeys(places[:3]))}"
        ]
        rows += [f"fix: {e(fix.title)}" for fix in leads.fixes[:1]]
        rows += [
            f"<pre>{e(change.diff)}</pre>" for fix in leads.fixes[:1] for change in fix.changes if change.diff
        ]
    return f"<div>{'<br>'.join(rows)}</div>"


def _leading(diagnosis: Diagnosis) -> Finding | None:
    return diagnosis.findings[0] if diagnosis.findings and diagnosis.status != "healthy" else None
