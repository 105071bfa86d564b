"""Checks beyond the schema: what makes a rule hard to trust, each message ``path:line:column CODE text``.

R001 no line speaks against the cause       R002 a line that cannot change the ranking
R003 a group of one                         R004 title names a fix or is a question
R005 no reference                           R006 title, or cause without suffix in its slug, used twice by one kind
R007 fewer than one positive or near miss   R008 stable without its entry conditions
R009 template names an unknown fact         R010 folder name is not the slug
R011 text too long                          R012 two lines with the same test or id
R013 verified_by names no sample            R014 a text of the skeleton was not replaced
R015 a fault without restart_because        R016 the fault lab does not bear out what the fix claims
R017 a line that speaks the same way whether true or false: no rates of hits and false alarms give such bits
R018 two lines that only repeat the gate: the gate's own weight is one number
R019 a sentence that would say "an unknown value"
R020 two lines for the cause that read the same facts and add up: one group counts the larger, with the bits of both
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from analyzer.expr.conditions import Tree
from analyzer.facts.catalog import no_fact, spec_of
from analyzer.lazy_regex import LazyRegex
from analyzer.model.diagnosis import LAB
from analyzer.rules.cases import Case
from analyzer.rules.scaffold import UNFILLED
from analyzer.rules.schema import Rule, RuleFix
from analyzer.rules.template import UNKNOWN, fill, holes

LAB_TABLE = "lab/fixes_verified.csv"
"""Below the samples: fault, rule, fix, in how many runs it cured, mitigated, had no effect."""

LAB_RUNS = 3
"""Different configurations in which a fix must have worked: one or two may be luck."""

MAX_TEXT = 700
"""Characters of mechanism text: six lines of a report."""

_NAMES_A_FIX = LazyRegex(
    r"(?i)^(use|set|lower|raise|switch|disable|enable|turn|try|fix|check|increase|reduce)\b|\?$"
)


def lint_rule(rule: Rule, directory: Path, cases: Sequence[Case], samples: Path | None) -> Iterator[str]:
    """Messages about one rule.

    Args:
        rule: The rule.
        directory: Its folder.
        cases: Its cases.
        samples: The directory of samples, or None outside a checkout.
    """
    if not any(min(line.if_true, line.if_false) < 0 for line in rule.evidence):
        yield f"{rule.where('evidence')} R001 no line speaks against the cause"
    yield from _lint_lines(rule)
    if _NAMES_A_FIX.search(rule.title):
        yield f"{rule.where('title')} R004 the title states the cause as a sentence, not a fix or a question"
    if not rule.references:
        yield f"{rule.where('references')} R005 at least one public reference is needed"
    yield from _lint_cases(rule, cases)
    yield from _lint_skeleton(rule)
    for keys, text in ((("symptom", "says"), rule.says), (("restart_because",), rule.restart_because)):
        for name in holes(text):
            if spec_of(name) is None:
                yield f"{rule.where(*keys)} R009 {no_fact(name)}"
        if UNKNOWN in fill(text, {}):
            yield f"{rule.where(*keys)} R019 where a fact is unknown the sentence needs {{fact|other words}} or [ …{{fact}}]"
    if rule.severity in {"fatal", "degrading"} and not rule.restart_because:
        yield f"{rule.where('restart_advice')} R015 a fault needs restart_because, the reason of its restart advice"
    if directory.name != rule.slug:
        yield f"{rule.where('slug')} R010 folder is {directory.name!r} but the slug is {rule.slug!r}"
    if len(rule.text) > MAX_TEXT:
        yield f"{rule.where('cause')} R011 mechanism has {len(rule.text)} characters; at most {MAX_TEXT}"
    yield from _lint_fixes(rule, samples)


def _lint_skeleton(rule: Rule) -> Iterator[str]:
    """Texts that ``analyzer rules new`` wrote and nobody replaced."""
    texts: dict[tuple[str | int, ...], str] = {
        ("title",): rule.title,
        ("symptom", "says"): rule.says,
        ("cause",): rule.text,
        ("restart_because",): rule.restart_because,
        **{("evidence", at, "because"): line.because for at, line in enumerate(rule.evidence)},
        **{("fixes", at, "title"): fix.title for at, fix in enumerate(rule.fixes)},
    }
    for keys, text in texts.items():
        if text.startswith(UNFILLED):
            yield f"{rule.where(*keys)} R014 the text of the skeleton is still there: {text.strip()!r}"


def _lint_lines(rule: Rule) -> Iterator[str]:
    groups = Counter(line.group for line in rule.evidence if line.group)
    ids = Counter(line.id for line in rule.evidence)
    tests = Counter(line.test.text for line in rule.evidence)
    gate = _conjuncts(rule.when.tree) | {str(rule.when.tree)}
    repeats = [line.id for line in rule.evidence if _conjuncts(line.test.tree) <= gate]
    if len(repeats) > 1:
        yield f"{rule.where('evidence')} R018 lines {', '.join(repeats)} are true whenever the rule is considered; one may be"
    for one, other in combinations(rule.evidence, 2):
        same = set(one.test.names) == set(other.test.names) and not (one.group and one.group == other.group)
        if same and min(one.if_true, other.if_true) > 0:
            yield f"{rule.where('evidence')} R020 lines {one.id}, {other.id} count the same facts twice; give them one group"
    for index, line in enumerate(rule.evidence):
        where = rule.where("evidence", index)
        if line.if_true == line.if_false:
            yield f"{where} R002 line {line.id!r} adds the same bits either way"
        if line.group and groups[line.group] == 1:
            yield f"{where} R003 group {line.group!r} has one line only"
        if ids[line.id] > 1 or tests[line.test.text] > 1:
            yield f"{where} R012 line {line.id!r} repeats an id or a test"
        if line.if_true * line.if_false > 0:
            yield f"{where} R017 line {line.id!r} speaks the same way whether it is true or false"


def _conjuncts(tree: Tree) -> set[str]:
    """The parts of a condition that must all hold, each written out."""
    return set().union(*map(_conjuncts, tree[1:])) if tree[0] == "and" else {str(tree)}


def _lint_cases(rule: Rule, cases: Sequence[Case]) -> Iterator[str]:
    positive = sum(case.expect["finding"] == "top" for case in cases)
    negative = len(cases) - positive
    if not positive or not negative:
        yield f"{rule.where()} R007 needs a positive case and a near miss (has {positive} and {negative})"
    elif rule.status == "stable" and (positive < 2 or negative < 2):
        yield f"{rule.where('status')} R008 stable needs 2 positives and 2 near misses (has {positive} and {negative})"


def _lint_fixes(rule: Rule, samples: Path | None) -> Iterator[str]:
    for index, fix in enumerate(rule.fixes):
        if samples is not None and fix.verified_by.startswith(LAB):
            if not _borne_out(rule, fix, samples):
                yield (
                    f"{rule.where('fixes', index, 'verified_by')} R016 {fix.verified_by!r} has no row in "
                    f"{LAB_TABLE} in which this fix always {fix.strength}"
                )
        elif fix.verified_by and samples is not None and not (samples / fix.verified_by).is_dir():
            yield f"{rule.where('fixes', index, 'verified_by')} R013 there is no sample {fix.verified_by!r}"


def _borne_out(rule: Rule, fix: RuleFix, samples: Path) -> bool:
    """Whether the table of tried fixes has this fix on that fault, with the strength that it claims in every run."""
    fault = fix.verified_by.removeprefix(LAB)
    return any(
        (row["fault"], row["rule"], row["fix"]) == (fault, rule.slug, fix.id)
        and fix.strength in proven_strengths(row)
        for row in lab_rows(samples)
    )


def proven_strengths(row: Mapping[str, str]) -> frozenset[str]:
    """Strengths that a row of the table of tried fixes bears out."""
    runs, cured, useless = int(row["repeats"]), int(row["cured"]), int(row["no_effect"])
    if runs < LAB_RUNS or useless:
        return frozenset()
    return frozenset({"cures", "mitigates"} if cured == runs else {"mitigates"})


def lab_rows(samples: Path) -> list[dict[str, str]]:
    """The fixes that were tried in the fault lab; none if its table is not there."""
    path = samples / LAB_TABLE
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def lint_set(rules: Sequence[Rule]) -> Iterator[str]:
    """Messages about the whole set: titles and causes used twice among competitors."""
    seen: dict[tuple[str, str], Rule] = {}
    for rule in rules:
        for what, key in (
            ("title", rule.title.lower()),
            ("cause_id", f"{rule.symptom_kind} {rule.entry.id}"),
        ):
            first = seen.setdefault((what, key), rule)
            another_face = what == "cause_id" and rule.slug.startswith(f"{rule.entry.id}-")
            if first is not rule and not another_face:
                yield f"{rule.where(what)} R006 {what} is already that of {first.id}"
