"""Pages that are made of the rules: one per rule, and an index. They are never kept beside the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from analyzer.ingest.masking import clean_text
from analyzer.model.diagnosis import LAB
from analyzer.rules.cases import Case
from analyzer.rules.schema import PRIOR_BITS, Rule, RuleFix


def rule_page(rule: Rule, cases: Sequence[Case]) -> str:
    """Markdown page of one rule: what it looks like, why, how it is told apart, fixes, examples, references."""
    entry = rule.entry
    parent = f", refines `{entry.parent}`" if entry.parent else ""
    parts = [
        f"# {rule.id}: {rule.title}",
        "",
        f"Cause `{entry.id}` ({entry.kind}{parent}) · {rule.severity} · {rule.status} · family {rule.family}",
        "",
        "## What it looks like",
        "",
        f"{rule.says}",
        "",
        f"Considered when `{rule.when.text}`.",
        "",
        "## Why it happens",
        "",
        rule.text,
        "",
        "## How it is told apart",
        "",
        f"Prior: {rule.prior} ({PRIOR_BITS[rule.prior]:+g} bits). A line adds its bits when its test is true or false, nothing when unknown.",
        "",
        "| test | if true | if false | because |",
        "|---|---|---|---|",
    ]
    for line in rule.evidence:
        group = f" (group {line.group})" if line.group else ""
        parts.append(
            f"| `{_cell(line.test.text)}`{group} | {line.if_true:+g} | {line.if_false:+g} | {_cell(line.because)} |"
        )
    parts += ["", "## Fixes", ""]
    for fix in rule.fixes:
        parts += _fix(fix)
    reason = f": {rule.restart_because}" if rule.restart_because else ""
    parts += ["## Restart", "", f"{rule.restart_advice}{reason}", ""]
    parts += _example(cases)
    parts += ["## Cases", ""]
    parts += [f"- {case.name}: {case.says} → {_expected(case)}" for case in cases]
    parts += ["", "## References", "", *[f"- {reference}" for reference in rule.references], ""]
    return "\n".join(parts)


EXAMPLE_LINES = 12
"""Lines of a log shown on a page: enough to recognise it."""

EXAMPLE_WIDTH = 160
MAX_EXAMPLE = 100_000
"""Characters of a file that are looked at for its last lines."""


def _example(cases: Sequence[Case]) -> list[str]:
    """The first positive case, a genuine run before mere facts: what such a run shows."""
    positive = [case for case in cases if case.expect["finding"] == "top"]
    case = min(positive, key=lambda case: case.run_directory is None, default=None)
    if case is None:
        return []
    parts = ["## Example", "", f"{case.says[:1].upper()}{case.says[1:]}:", ""]
    if case.facts is not None:
        return [*parts, *[f"- `{name}` = {_value(value)}" for name, value in case.facts.items()], ""]
    assert case.run_directory is not None
    for path in sorted(path for path in case.run_directory.rglob("*") if path.is_file()):
        lines = clean_text(path.read_text(encoding="utf-8", errors="replace"), MAX_EXAMPLE).splitlines()
        more = [f"… {len(lines) - EXAMPLE_LINES} more lines"] if len(lines) > EXAMPLE_LINES else []
        name = path.relative_to(case.run_directory).as_posix()
        shown = [line[:EXAMPLE_WIDTH] for line in lines[-EXAMPLE_LINES:]]
        return [*parts, f"`{name}`", "", "````text", *shown, "````", *more, ""]
    return []


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _expected(case: Case) -> str:
    word = {"top": "stands first", "not_top": "does not stand first", "absent": "is not considered"}[
        case.expect["finding"]
    ]
    winner = case.expect.get("winner")
    return word + (f" (first is {winner})" if winner else "")


def _fix(fix: RuleFix) -> list[str]:
    notes = [fix.strength, f"cost: {fix.cost}"]
    if fix.requires is not None:
        notes.append(f"only if `{fix.requires.text}`")
    if fix.verified_by.startswith(LAB):
        notes.append(f"tried on the fault `{fix.verified_by.removeprefix(LAB)}` of the fault lab")
    elif fix.verified_by:
        notes.append(f"reproduced in `samples/{fix.verified_by}`")
    parts = [f"**{fix.title}** ({'; '.join(notes)})", ""]
    for framework, pairs in fix.change.items():
        settings = ", ".join(f"`{key}: {_value(value)}`" for key, value in pairs.items())
        parts.append(f"- {framework}: {settings}")
    if fix.change:
        parts.append("")
    if fix.code:
        parts += ["```python", fix.code, "```", ""]
    if fix.verify:
        parts += [f"Then check: {fix.verify}", ""]
    return parts


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def page_path(rule: Rule) -> str:
    """Where the page of a rule stands, relative to the index."""
    return f"{rule.family}/{rule.slug}.md"


def index_page(rules: Sequence[Rule], cases: Mapping[str, int]) -> str:
    """``README.md`` of the pages: the weights in brief and one row per rule.

    Args:
        rules: All rules, in the order of the rows.
        cases: Id of a rule to the number of its cases.
    """
    families = Counter(rule.family for rule in rules)
    parts = [
        "# Rules",
        "",
        "Weights are bits, log2 of how much more often a line is seen when the cause is true: "
        "±1 hint (2:1), ±2 moderate (4:1), ±3 strong (8:1), ±5 very strong (32:1), ±8 rules out (256:1). "
        "Priors: " + ", ".join(f"{name} {bits:+g}" for name, bits in PRIOR_BITS.items()) + ". "
        'Rules of one symptom kind compete with each other and with "something else" at 0 bits.',
        "",
        f"{len(rules)} rules, {sum(cases.values())} cases: "
        + ", ".join(f"{family} {n}" for family, n in sorted(families.items()))
        + ". Which causes have none, and why: [COVERAGE.md](COVERAGE.md).",
        "",
        "| id | cause | kind | symptom | severity | status | cases |",
        "|---|---|---|---|---|---|---|",
    ]
    parts += [
        f"| [{rule.id}]({page_path(rule)}) | `{rule.entry.id}` | {rule.entry.kind} | {rule.symptom_kind} | {rule.severity} | {rule.status} | {cases.get(rule.id, 0)} |"
        for rule in rules
    ]
    return "\n".join([*parts, ""])
