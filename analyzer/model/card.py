"""A diagnosis where Python shows it by itself: a line at the prompt, a short card in a notebook, plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from analyzer.model.wording import percent

_COLOURS = {"failed": "#b3330a", "degraded": "#8a5300", "interrupted": "#8a5300", "healthy": "#00694f"}
"""Behind the word, which is white: readable in light and dark notebooks, and the same as in the report."""


def prompt_line(diagnosis: Any) -> str:
    """``<Diagnosis runs/7b: failed, 97% bf16-pretrained-model-in-fp16>``."""
    leads = _leads(diagnosis)
    cause = f", {percent(leads.probability)} {leads.cause.id}" if leads else ""
    return f"<Diagnosis {diagnosis.root}: {diagnosis.status}{cause}>"


def notebook_card(diagnosis: Any) -> str:
    """A few lines of HTML; all but the status in the colours of the notebook."""
    from html import escape as e  # noqa: PLC0415  (few diagnoses are shown in a notebook)

    colour = _COLOURS.get(diagnosis.status, "#57606a")
    rows = [
        f'<b style="background:{colour};color:#fff;padding:0 .5em;border-radius:.8em">{e(diagnosis.status.upper())}</b> <code>{e(diagnosis.root)}</code>',
        e(diagnosis.summary),
    ]
    if leads := _leads(diagnosis):
        cause = leads.cause
        rows.append(f"<b>{percent(leads.probability)}</b> {e(cause.title)} <code>{e(cause.id)}</code>")
        places = dict.fromkeys(str(place) for line in leads.speaks_for() for place in line.refs[:1])
        if places:
            rows.append(f"evidence: {', '.join(f'<code>{e(place)}</code>' for place in tuple(places)[:3])}")
        for fix in leads.fixes[:1]:
            rows.append(f"fix: {e(fix.title)}")
            rows += [f"<pre>{e(change.diff)}</pre>" for change in fix.changes if change.diff]
    return f"<div>{'<br>'.join(rows)}</div>"


def _leads(diagnosis: Any) -> Any:
    """The leading finding of a run that is not healthy, None without one."""
    return diagnosis.findings[0] if diagnosis.findings and diagnosis.status != "healthy" else None


def plain_data(value: Any) -> Any:
    """Records, mappings and tuples as objects and lists; NaN and infinities become strings."""
    if is_dataclass(value):
        return {item.name: plain_data(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain_data(item) for name, item in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain_data(item) for item in value]
    if isinstance(value, float):
        if math.isfinite(value):
            return float(f"{value:.6g}")  # six digits: more would only show the noise of the platform
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value
