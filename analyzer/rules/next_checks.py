"""What to look at next: the facts that nobody logged and that would move the answer most."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.facts.build import Facts
from analyzer.model.diagnosis import Finding, NextCheck
from analyzer.model.wording import LIKELY, REPORTED
from analyzer.rules.calibration import told
from analyzer.rules.fixing.words import foreign
from analyzer.rules.folding import Folding
from analyzer.rules.score import Question, Ranking, questions
from analyzer.rules.shape_line import POOLED

NEXT_CHECKS = 3
"""More questions than that are not answered by anyone at two in the morning."""

WORTH_ASKING = 0.3
"""Share below which a cause stays with either answer, so that whoever looked would know no more of what to do."""


def next_checks(
    facts: Facts, ranking: Ranking, status: str, folded: Folding, findings: Sequence[Finding]
) -> tuple[NextCheck, ...]:
    """The questions whose answers would tell most about the findings, the best first."""
    if status == "healthy":
        return ()
    plain = facts.plain
    found: list[NextCheck] = []
    asked = _kinds_asked_about(status, findings)
    for kind, items in ranking.kinds.items():
        if kind in folded["*"] or all(item.rule.severity == "advisory" for item in items[:1]):
            continue
        if asked and kind not in asked:
            continue
        checks = (_check(question, facts, status) for question in questions(items, plain))
        found += [check for check in checks if check and max(check.if_true, check.if_false) >= WORTH_ASKING]
    found.sort(key=lambda check: -check.information_bits)
    once: dict[str, NextCheck] = {}
    for check in found:
        once.setdefault(check.how or check.meaning, check)
    return tuple(once.values())[:NEXT_CHECKS]


def _check(question: Question, facts: Facts, status: str) -> NextCheck | None:
    """The question as a check; None where nobody could answer it for this run."""
    unknown = [name for name in question.line.test.names if name not in facts.plain]
    fact = next((name for name in unknown if not name.startswith("event.")), None)
    if fact is None:  # nobody can obtain a log line that was not written
        return None
    how = question.line.check or facts.how(fact)
    if not how or foreign(how, facts.plain):  # only the log itself can tell, or another library
        return None
    return NextCheck(
        fact=fact,
        meaning=facts.meaning(fact),
        how=how,
        cause_id=question.rule.entry.id,
        if_true=told(question.if_true, status, question.rule.entry.family),
        if_false=told(question.if_false, status, question.rule.entry.family),
        information_bits=question.information_bits,
        test=question.line.test.text,
    )


def _kinds_asked_about(status: str, findings: Sequence[Finding]) -> frozenset[str]:
    """Kinds of causes whose checks bear on the answer; empty for all of them.

    What ended in a written failure is made no surer by a question about its learning rate or its pace.
    """
    if status != "failed" or not findings or findings[0].symptom_kind in POOLED:
        return frozenset()
    others = () if findings[0].probability >= LIKELY else findings[1:]
    return frozenset(
        f.symptom_kind
        for f in (findings[0], *others)
        if f is findings[0] or (f.probability >= REPORTED and f.symptom_kind != "slow")
    )
