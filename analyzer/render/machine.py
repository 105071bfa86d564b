"""Formats for other programs: SARIF 2.1.0 for code hosts, JUnit for build servers, CSV for tables."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from analyzer.lazy_regex import LazyRegex
from analyzer.model.diagnosis import Diagnosis, Finding, Place
from analyzer.model.wording import REPORTED, percent
from analyzer.render.sentences import because_here, restart_note

_LEVELS = {"fatal": "error", "degrading": "error", "wasteful": "warning", "advisory": "note"}
_NO_XML = LazyRegex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold."""


def told(diagnosis: Diagnosis) -> list[Finding]:
    """Findings that are at least possible."""
    return [finding for finding in diagnosis.findings if finding.probability >= REPORTED]


def render_sarif(diagnosis: Diagnosis) -> str:
    """SARIF 2.1.0: a result for each cause, at the line of the configuration that its fix changes or at its evidence."""
    found = told(diagnosis)
    rules = {
        finding.rule_id: {
            "id": finding.rule_id,
            "name": finding.cause.id,
            "shortDescription": {"text": finding.cause.title},
            "fullDescription": {"text": finding.cause.text},
            **({"helpUri": finding.cause.references[0]} if finding.cause.references else {}),
        }
        for finding in found
    }
    driver = {"name": "analyzer", "version": diagnosis.tool_version, "rules": list(rules.values())}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(finding) for finding in found]}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _result(finding: Finding) -> dict[str, Any]:
    places = [Place(c.path, c.line) for fix in finding.fixes[:1] for c in fix.changes if c.path is not None]
    cited = [line.refs[0] for line in finding.speaks_for() if line.refs]
    fix = f" Fix: {finding.fixes[0].title}." if finding.fixes else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule_id,
        "level": _LEVELS[finding.severity],
        "rank": round(100 * finding.probability, 1),
        "message": {
            "text": f"{finding.cause.title} ({percent(finding.probability)}). {finding.symptom}.{fix}"
        },
        "locations": [_location(place) for place in (places or cited)[:1]],
    }
    related = [_location(place) for place in (*places[1:], *cited)][:10]
    return {**result, "relatedLocations": related} if related else result


def _location(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(place.path)}}
    if place.line:
        physical["region"] = {"startLine": place.line}
    return {"physicalLocation": physical}


def render_junit(diagnosis: Diagnosis) -> str:
    """JUnit XML: the run is a test case, which a fault fails and of which too little evidence makes a skipped one."""
    findings = [finding for finding in told(diagnosis) if finding.severity in {"fatal", "degrading"}]
    failed = diagnosis.status in {"failed", "degraded"}
    skipped = diagnosis.status in {"insufficient", "unreadable"}
    body = ""
    if failed:
        title = findings[0].cause.id if findings else "unexplained"
        rows = [diagnosis.summary]
        for finding in findings:
            rows.append(f"{percent(finding.probability)} {finding.cause.title} [{finding.cause.id}]")
            rows += [
                f"  + {because_here(line)}" + (f" ({line.refs[0]})" if line.refs else "")
                for line in finding.speaks_for()[:3]
            ]
            rows += [f"  fix: {fix.title}" for fix in finding.fixes[:1]]
            rows.append(f"  restart: {restart_note(finding)}")
        body = f"<failure message={_attribute(diagnosis.summary)} type={_attribute(title)}>{_text(chr(10).join(rows))}</failure>"
    elif skipped:
        body = f"<skipped message={_attribute(diagnosis.summary)}/>"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites><testsuite name="analyzer" tests="1" failures="{int(failed)}" skipped="{int(skipped)}" errors="0">'
        f'<testcase classname="training" name={_attribute(diagnosis.root)}>{body}</testcase></testsuite></testsuites>\n'
    )


def _attribute(text: str) -> str:
    return quoteattr(_NO_XML.sub("", text))


def _text(text: str) -> str:
    return escape(_NO_XML.sub("", text))


CSV_COLUMNS = (
    "root", "status", "rule_id", "cause_id", "cause_title", "severity", "probability", "symptom", "place", "first_fix", "restart",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render_csv(diagnosis: Diagnosis) -> str:
    """A row for each finding; one with empty columns if there is none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    head = (diagnosis.root, diagnosis.status)
    for finding in diagnosis.findings:
        cited = next((str(line.refs[0]) for line in finding.speaks_for() if line.refs), "")
        fix = finding.fixes[0].title if finding.fixes else ""
        row = (
            *head, finding.rule_id, finding.cause.id, finding.cause.title, finding.severity, f"{finding.probability:.6g}",
            finding.symptom, cited, fix, finding.restart_advice,
        )  # fmt: skip
        writer.writerow([spreadsheet_cell(cell) for cell in row])
    if not diagnosis.findings:
        writer.writerow([*map(spreadsheet_cell, head), *[""] * (len(CSV_COLUMNS) - 2)])
    return out.getvalue()


def spreadsheet_cell(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
