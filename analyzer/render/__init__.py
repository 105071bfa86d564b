"""Show a diagnosis: terminal, JSON, Markdown. Renderers compute nothing anew.

Where one fails, the answer is told in a few lines: what was found is never lost with the page.
"""

from __future__ import annotations

from collections.abc import Callable
from json import dumps  # the name json is that of a module here

from analyzer.guard import Guard
from analyzer.model.diagnosis import Diagnosis
from analyzer.model.run import Run
from analyzer.render.page import Style
from analyzer.render.terminal import render_terminal

FORMATS = ("terminal", "json", "markdown", "html", "brief", "sarif", "junit", "csv")


def report(
    diagnosis: Diagnosis, format_name: str = "terminal", *, show_all: bool = False, top: int = 3
) -> str:
    """The diagnosis as text.

    Args:
        diagnosis: What to show.
        format_name: One of ``FORMATS``; terminal comes without colours.
        show_all: Show every considered cause and the whole ledger.
        top: Causes shown in full.

    Raises:
        ValueError: Unknown format.
    """
    if format_name not in FORMATS:
        raise ValueError(f"unknown format {format_name!r}; known are {', '.join(FORMATS)}")
    return rendered_or_plain(
        diagnosis, format_name, lambda: page_of(diagnosis, format_name, show_all=show_all, top=top)
    )


def page_of(
    diagnosis: Diagnosis,
    format_name: str,
    run: Run | None = None,
    baseline: Run | None = None,
    *,
    show_all: bool = False,
    top: int = 3,
) -> str:
    """What a renderer makes of a diagnosis; html and brief show the run too."""
    if format_name == "json":
        from analyzer.render.json import render_json  # noqa: PLC0415  (each format is imported for those who ask for it)

        return render_json(diagnosis)
    if format_name == "markdown":
        from analyzer.render.markdown import render_markdown  # noqa: PLC0415

        return render_markdown(diagnosis, show_all=show_all, top=top)
    if format_name == "html":
        from analyzer.render.html import render_html  # noqa: PLC0415

        return render_html(diagnosis, run, baseline)
    if format_name == "brief":
        from analyzer.render.brief import render_brief  # noqa: PLC0415

        return render_brief(diagnosis, run)
    if format_name in {"sarif", "junit", "csv"}:
        from analyzer.render import machine  # noqa: PLC0415

        return {"sarif": machine.render_sarif, "junit": machine.render_junit, "csv": machine.render_csv}[
            format_name
        ](diagnosis)
    return render_terminal(diagnosis, Style(colour=False), show_all=show_all, top=top)


def rendered_or_plain(diagnosis: Diagnosis, format_name: str, make: Callable[[], str]) -> str:
    """The page of a renderer, or the answer in a few lines if the renderer raises; a failed ``json`` stays JSON."""
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
    return dumps(answer, indent=2) + "\n"


__all__ = ["FORMATS", "Style", "page_of", "render_terminal", "rendered_or_plain", "report"]
