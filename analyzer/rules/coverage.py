"""Which entries of the catalogue have a rule, and why the others have none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from analyzer.errors import RuleError
from analyzer.rules.causes import CauseEntry, catalogue
from analyzer.rules.schema import Rule

UNCOVERED_FILE = "uncovered.json"
"""Cause id -> why no rule can speak for it; beside ``causes.json``."""


def uncovered(root: Path) -> dict[str, str]:
    """Entries that no rule speaks for, each with the reason.

    Raises:
        RuleError: The file is not a JSON object of texts.
    """
    path = root / UNCOVERED_FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RuleError(f"cannot be read as JSON ({error})", str(path)) from error
    if not isinstance(data, dict) or not all(isinstance(reason, str) and reason for reason in data.values()):
        raise RuleError("must map cause ids to reasons", str(path))
    return data


def lint_coverage(rules: Sequence[Rule], root: Path) -> Iterator[str]:
    """R016: an entry without rule and reason, with both, or a reason for what the catalogue does not hold."""
    covered = {rule.entry.id for rule in rules}
    reasons = uncovered(root)
    for cause_id in catalogue():
        if cause_id not in covered and cause_id not in reasons:
            yield f"{UNCOVERED_FILE} R016 {cause_id!r} has neither a rule nor a reason"
        if cause_id in covered and cause_id in reasons:
            yield f"{UNCOVERED_FILE} R016 {cause_id!r} has a rule by now"
    for cause_id in reasons:
        if cause_id not in catalogue():
            yield f"{UNCOVERED_FILE} R016 {cause_id!r} is not in the catalogue"


def coverage_page(rules: Sequence[Rule], root: Path) -> str:
    """Markdown: counts by family and kind, then one row per entry."""
    by_cause: dict[str, list[Rule]] = {}
    for rule in rules:
        by_cause.setdefault(rule.entry.id, []).append(rule)
    reasons = uncovered(root)
    entries = catalogue()
    parts = [
        "# Coverage of the catalogue",
        "",
        f"{len(by_cause)} of {len(entries)} entries have a rule. The others are listed with the reason.",
        "",
        *_counts(by_cause, entries),
        "",
        "| cause | kind | rule, or why there is none |",
        "|---|---|---|",
    ]
    for cause_id, entry in sorted(entries.items(), key=lambda item: (item[1].family, item[0])):
        named = ", ".join(f"{rule.id} ({rule.status})" for rule in by_cause.get(cause_id, []))
        parts.append(f"| `{cause_id}` | {entry.kind} | {named or reasons.get(cause_id, '')} |")
    return "\n".join([*parts, ""])


def _counts(by_cause: Mapping[str, Sequence[Rule]], entries: Mapping[str, CauseEntry]) -> list[str]:
    every = Counter(entry.family for entry in entries.values())
    covered = Counter(entry.family for cause_id, entry in entries.items() if cause_id in by_cause)
    rows = [f"| {family} | {covered[family]} | {total} |" for family, total in sorted(every.items())]
    return ["| family | with a rule | entries |", "|---|---|---|", *rows]
