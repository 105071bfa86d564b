"""The answer in a few lines, for the case that a renderer fails: what was found is never lost with the page."""

from __future__ import annotations

import json
from collections.abc import Callable

from analyzer.guard import Guard
from analyzer.model.diagnosis import Diagnosis


def rendered_or_plain(diagnosis: Diagnosis, format_name: str, make: Callable[[], str]) -> str:
    """The page of a renderer, or the answer in a few lines if the renderer raises.

    Args:
        diagnosis: What is shown.
        format_name: Of the renderer; a failed ``json`` stays JSON.
        make: Calls the renderer.
    """
    guard = Guard()
    page = guard.value(f"renderer {format_name}", None, make)
    if page is not None:
        return page
    return (
        _short_json(diagnosis, guard.faults)
        if format_name == "json"
        else _short_text(diagnosis, guard.faults)
    )


def _short_text(diagnosis: Diagnosis, faults: list[str]) -> str:
    causes = [
        f"{finding.probability:.0%} {finding.cause.title}  [{finding.cause.id}]"
        for finding in diagnosis.findings
    ]
    gaps = [f"gap: {gap.reason}" for gap in diagnosis.gaps]
    first = f"{diagnosis.status.upper()}  {diagnosis.root}"
    return "\n".join([first, diagnosis.summary, *causes, *gaps, *(f"gap: {fault}" for fault in faults), ""])


def _short_json(diagnosis: Diagnosis, faults: list[str]) -> str:
    answer = {
        "status": diagnosis.status,
        "root": diagnosis.root,
        "summary": diagnosis.summary,
        "findings": [
            {"cause": {"id": finding.cause.id}, "probability": finding.probability}
            for finding in diagnosis.findings
        ],
        "gaps": [{"path": "analyzer", "line": None, "reason": fault} for fault in faults],
    }
    return json.dumps(answer, indent=2) + "\n"
