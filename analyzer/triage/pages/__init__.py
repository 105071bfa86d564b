"""A fleet as text for a terminal, Markdown, JSON, CSV, or one HTML page. Nothing is computed here."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from analyzer.ingest.masking import clean_text
from analyzer.render.machine import spreadsheet_cell
from analyzer.triage.pages.html import render_page
from analyzer.triage.pages.markdown import render_markdown
from analyzer.triage.pages.terminal import render_terminal
from analyzer.triage.store import RUN_COLUMNS
from analyzer.triage.summary import FleetSummary

FORMATS = ("terminal", "json", "markdown", "html", "csv")

Records = Callable[[], Iterable[Mapping[str, Any]]]
"""Gives the records of the dataset, in order, as often as it is called."""


def render_fleet(
    summary: FleetSummary,
    records: Records,
    format_name: str,
    *,
    group_by: str = "cause",
    colour: bool = False,
    width: int = 100,
    reports: Collection[str] = (),
) -> str:
    """The fleet as text that ends with a newline.

    Args:
        summary: What was collected.
        records: The runs and their findings.
        format_name: One of ``FORMATS``.
        group_by: One of ``summary.GROUPINGS``, for terminal and Markdown.
        colour: Whether the terminal shows colours.
        width: Columns of the terminal.
        reports: Keys of the runs that have a page of their own beside the HTML page.
    """
    if format_name == "json":
        return json.dumps(summary.to_dict(), indent=2) + "\n"
    if format_name == "csv":
        return _csv(record["run"] for record in records())
    if format_name == "html":
        return render_page(summary, records(), reports)
    if format_name == "markdown":
        return render_markdown(summary, group_by)
    return render_terminal(summary, group_by, colour=colour, width=width)


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    names = [name for name, _, _ in RUN_COLUMNS]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in names])
    return out.getvalue()


MAX_CELL = 32_000
"""Characters of a cell; spreadsheets hold 32,767."""


def _cell(value: Any) -> Any:
    """A value as a spreadsheet may open it: lists joined."""
    if isinstance(value, list):
        value = " | ".join(str(item) for item in value)
    if not isinstance(value, str):
        return value
    return spreadsheet_cell(clean_text(value, MAX_CELL))
