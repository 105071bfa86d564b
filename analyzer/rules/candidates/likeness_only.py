"""Candidates where no rule speaks: what labelled public runs with such numbers turned out to be.

Beside a rule that speaks the likeness adds nothing: on the labelled runs, with and without its bits in the ledgers of
rules, the same answers come first. Where none does, it names the right cause first in one of three.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from analyzer.detect.likeness.answer import PLACES
from analyzer.expr import compile_condition
from analyzer.model.diagnosis import LIKENESS
from analyzer.model.tables import Scalar
from analyzer.rules.load import RuleSet
from analyzer.rules.schema import EvidenceLine, Rule
from analyzer.rules.score import LedgerLine, Scored

AT_MOST = 0.45
"""What other runs turned out to be never makes a cause likelier than not: it is a candidate."""

BREAKDOWN = "numerical_breakdown"
"""Causes of this kind need a value that is not finite; where every value is, they are none."""

STANDS = "loss-plateau"
FALLEN = 0.3
"""Share of its first value that a loss has lost of which nobody would say that it does not move."""

SAYS = "its numbers are like those of runs that failed for known reasons"
BECAUSE = "labelled public runs with such numbers had this cause; no rule bears it out here"


def likeness_only(
    facts: Mapping[str, Scalar], rules: RuleSet, considered: Collection[str]
) -> Iterator[Scored]:
    """The candidates, the likeliest first.

    The rule of a cause lends its text and fixes; its own evidence, which was not found, is left out.

    Args:
        facts: Known facts of the run.
        rules: Rules in use.
        considered: Causes that rules have weighed for this run: they saw more.
    """
    for place in PLACES:
        cause, share, bits = (facts.get(f"likeness.{place}{part}") for part in ("", "_probability", "_bits"))
        if not isinstance(cause, str) or not isinstance(share, float) or not isinstance(bits, float):
            return
        rule = rules.by_id(cause)
        if rule is None or cause in considered:
            continue
        if _refuted(rule, facts):
            continue
        line = EvidenceLine(
            LIKENESS, compile_condition(f'likeness.{place} == "{cause}"', LIKENESS), BECAUSE, bits, 0.0
        )
        ledger = (LedgerLine(line, verdict=True, bits=bits, counted=True),)
        yield Scored(replace(rule, says=SAYS), ledger, bits, min(share, AT_MOST))


def _refuted(rule: Rule, facts: Mapping[str, Scalar]) -> bool:
    """Whether the curves say the opposite of what the cause says of them."""
    fallen = facts.get("signal.progress.fall_share")
    return (rule.entry.symptom_kind == BREAKDOWN and facts.get("signal.exact.all_finite") is True) or (
        rule.entry.id == STANDS
        and facts.get("signal.progress.learned") is True
        and isinstance(fallen, float)
        and fallen >= FALLEN
    )
