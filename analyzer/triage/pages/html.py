r"""The fleet as one HTML file: no network, no library; sortable and filterable table, charts as inline SVG.

The data stands in the page as JSON in which every ``<`` is written as ``\u003c``; the script of the page puts text of
logs into the document as text, never as markup. A content security policy forbids everything else.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from analyzer.digest import policy_digest
from analyzer.model.wording import percent
from analyzer.triage.pages.words import hours, verdict
from analyzer.triage.summary import GROUPINGS, FleetSummary

MAX_RUNS = 5_000
"""Rows of the page, about 1 kB each; a browser sorts that many at once, and the dataset holds all."""

REPORTS = "reports"
"""Directory of the pages of single runs, beside the page of the fleet."""

EVIDENCE_LINES = 4
MAX_HOSTS = 30
MAX_DAYS = 120
_WORST_FIRST = {
    "failed": 0,
    "degraded": 1,
    "": 2,
    "interrupted": 3,
    "unreadable": 4,
    "insufficient": 5,
    "healthy": 6,
}


def render_page(
    summary: FleetSummary, records: Iterable[Mapping[str, Any]], reports: Collection[str] = ()
) -> str:
    """The page; ``reports`` are keys of the runs of which ``reports/KEY.html`` stands beside it."""
    rows = []
    by_status: dict[int, int] = {}
    for record in records:
        rank = _WORST_FIRST.get(record["run"]["status"], 5)
        # Of each status no more than the whole page holds: memory stays flat however many runs there are.
        if by_status.get(rank, 0) < MAX_RUNS:
            by_status[rank] = by_status.get(rank, 0) + 1
            rows.append((rank, _run(record, reports)))
    rows.sort(key=lambda item: item[0])
    data = {
        "runs": [row for _, row in rows[:MAX_RUNS]],
        "total": summary.runs,
        "statuses": dict(summary.statuses),
        "lost": hours(summary.all_failed),
        "causes": [
            {"name": t.name, "title": t.title, "runs": t.runs, "failed": t.failed, "hours": round(t.gpu_hours, 4), "shown": hours(t)}
            for t in summary.causes()
        ],
        "days": dict(list(summary.days().items())[-MAX_DAYS:]),
        "matrix": dict(list(summary.matrix().items())[:MAX_HOSTS]),
        "hosts": len(summary.matrix()),
        "nodes": [{"host": node.host, "bad": node.bad, "verdict": verdict(node)} for node in summary.nodes()[:MAX_HOSTS]],
        "groups": summary.shared_failures()[:50],
        "shapes": [asdict(shape) for shape in summary.shapes()[:50]],
        "restarts": dict(summary.restarts),
        "by": {
            grouping: [{"name": t.name, "runs": t.runs, "failed": t.failed, "shown": hours(t)} for t in summary.grouped(grouping)[:50]]
            for grouping in GROUPINGS
        },
    }  # fmt: skip
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # "<" could end the script element; the two separators are line ends to some parsers
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    style, script = _resource("page.css"), _resource("page.js")
    page = _resource("page.html")
    parts = {
        "@STYLE_HASH@": f"sha256-{policy_digest(style)}",
        "@SCRIPT_HASH@": f"sha256-{policy_digest(script)}",
        "@STYLE@": style,
        "@SCRIPT@": script,
        "@DATA@": text.encode("utf-8", "replace").decode(),
    }
    for mark, value in parts.items():  # the data last: a log may hold any of the marks
        page = page.replace(mark, value, 1)
    return page


def _resource(name: str) -> str:
    return (files("analyzer.triage.pages") / name).read_text(encoding="utf-8")


def _run(record: Mapping[str, Any], reports: Collection[str]) -> dict[str, Any]:
    run = record["run"]
    ended = run.get("end_s")
    return {
        "key": run["key"],
        "report": f"{REPORTS}/{run['key']}.html" if run["key"] in reports else "",
        "location": run["location"],
        "status": run["status"] or "not diagnosed",
        "cause": run.get("cause_id") or "",
        "share": "" if run.get("probability") is None else percent(run["probability"]),
        "p": run.get("probability") or 0,
        "user": run.get("user") or "",
        "model": run.get("model") or "",
        "host": run.get("first_host") or (run["hosts"][0] if len(run["hosts"] or ()) == 1 else ""),
        "hours": run.get("gpu_hours"),
        "restart": run.get("restart") or "",
        "ended": "" if ended is None else datetime.fromtimestamp(ended, UTC).strftime("%Y-%m-%d %H:%M"),
        "fingerprint": run.get("fingerprint") or "",
        "summary": run["summary"],
        "title": run.get("cause_title") or "",
        "because": run.get("restart_because") or "",
        "resume": run.get("resume_from") or "",
        "words": run.get("last_words") or "",
        "baseline": run.get("baseline") or "",
        "evidence": [_evidence(line) for line in _leading_evidence(record)],
        "fixes": (record["findings"][0]["fixes"] or [])[:3]
        if record["findings"] and run.get("cause_id")
        else [],
    }


def _leading_evidence(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cause = record["run"].get("cause_id")
    for finding in record["findings"]:
        if finding["cause_id"] == cause:
            lines: list[Mapping[str, Any]] = finding["evidence"]
            return lines[:EVIDENCE_LINES]
    return []


def _evidence(line: Mapping[str, Any]) -> dict[str, Any]:
    first = (line["places"] or [None])[0]
    place, text = "", ""
    if first:
        place = first["path"] if first["line"] is None else f"{first['path']}:{first['line']}"
        text = (first["text"] or "")[:300]
    return {
        "bits": line["bits"],
        "because": f"{line['observed']}: {line['because']}",
        "place": place,
        "text": text,
    }
