"""The fleet as Markdown, for an issue or a chat."""

from __future__ import annotations

from analyzer.ingest.masking import clean_text
from analyzer.model.wording import counted
from analyzer.render.markdown import escape
from analyzer.triage.pages.words import hours, verdict
from analyzer.triage.summary import FleetSummary

ROWS = 30


def _text(value: object) -> str:
    return " ".join(escape(clean_text(str(value))).split())


def render_markdown(summary: FleetSummary, group_by: str) -> str:
    """The fleet as Markdown that ends with a newline."""
    counts = ", ".join(f"{count} {name}" for name, count in sorted(summary.statuses.items()))
    parts = [f"# Triage of {counted(summary.runs, 'run')}", "", f"{counts}."]
    if summary.all_failed.failed:
        parts += ["", f"GPU-hours of failed runs: {hours(summary.all_failed)}."]
    parts += ["", f"| {group_by} | runs | failed | GPU-hours lost | example |", "|---|---:|---:|---:|---|"]
    parts += [
        f"| {_text(tally.name)} | {tally.runs} | {tally.failed} | {hours(tally)} | {_text(tally.examples[0])} |"
        for tally in summary.grouped(group_by)[:ROWS]
    ]
    if summary.restarts:
        parts += ["", "## Restart", ""]
        parts += [f"- {_text(name)}: {count}" for name, count in sorted(summary.restarts.items())]
    if groups := summary.shared_failures():
        parts += ["", "## Runs that share one root failure", ""]
        parts += [
            f"- {group['runs']} runs, {_text(group['cause'])}: {_text(group['text']) or 'no line quoted'}"
            + (f" (users: {_text(', '.join(group['users']))})" if len(group["users"]) > 1 else "")
            for group in groups[:ROWS]
        ]
    if nodes := summary.nodes():
        parts += ["", "## Hosts in several failures", ""]
        parts += [
            f"- {'**bad** ' if node.bad else ''}{_text(node.host)}: {verdict(node)}" for node in nodes[:ROWS]
        ]
    if shapes := summary.shapes():
        parts += ["", "## No rule explains", ""]
        parts += [
            f"- {counted(shape.runs, 'run')}, {shape.shape}: {_text(shape.template)} (e.g. {_text(shape.location)})"
            for shape in shapes[:ROWS]
        ]
    for title, problems in (
        ("Could not be diagnosed", summary.problems),
        ("Could not be read", summary.unreadable),
    ):
        if problems:
            parts += ["", f"## {title}", ""]
            parts += [f"- {_text(item['location'])}: {_text(item['problem'])}" for item in problems[:ROWS]]
    return "\n".join(parts) + "\n"
