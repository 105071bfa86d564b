"""Candidates where no rule speaks: what labelled public runs with such numbers turned out to be.

Beside a rule that speaks the likeness adds nothing: on the labelled runs, with and without its bits in the ledgers of
rules, the same answers come first. Where none does, it names the right cause first in one of three.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from analyzer.detect.likeness.answer import PLACES
from analyzer.expr import compile_condition
from analyzer.model.tables import Scalar
from analyzer.rules.load import RuleSet
from analyzer.rules.schema import EvidenceLine
from analyzer.rules.score import LedgerLine, Scored

AT_MOST = 0.45
"""What other runs turned out to be never makes a cause likelier than not: it is a candidate."""

BREAKDOWN = "numerical_breakdown"
"""Causes of this kind need a value that is not finite; where every value is, they are none."""

LINE_ID = "likeness"
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
        if rule.entry.symptom_kind == BREAKDOWN and facts.get("signal.exact.all_finite") is True:
            continue
        line = EvidenceLine(
            LINE_ID, compile_condition(f'likeness.{place} == "{cause}"', LINE_ID), BECAUSE, bits, 0.0
        )
        ledger = (LedgerLine(line, verdict=True, bits=bits, counted=True),)
        yield Scored(replace(rule, says=SAYS), ledger, bits, min(share, AT_MOST))
