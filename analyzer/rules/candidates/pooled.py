"""What rules weighed and what labelled runs with such numbers turned out to be, as one probability of each cause.

A linear pool: the mean of both opinions, weighted by how they did on runs that neither knew. Of 301 faulty runs of eight sets
with numbers to judge, first answers, rules named 63 % first (108 at .6 and more, of those 83 % right), the likeness 76 %, the
pool 77 % (86, 97 % right). A pool of logarithms does the same. Rules alone decide whether a run is accused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from analyzer.detect.likeness.answer import PLACES
from analyzer.expr import compile_condition
from analyzer.model.diagnosis import ALIKE, LIKENESS
from analyzer.model.labels import ORDINARY
from analyzer.model.tables import Scalar
from analyzer.model.wording import LIKELY, REPORTED
from analyzer.rules.load import RuleSet
from analyzer.rules.schema import EvidenceLine, Rule
from analyzer.rules.score import LedgerLine, Scored
from analyzer.rules.shape_line import POOLED, is_plain
from analyzer.rules.tree import JUST_BELOW_HALF

OF_RULES = 0.3
"""Weight of the rules; from .15 to .35 the same runs are right but for three."""

TOLD = (
    "config.",
    "event.",
    "compare.",
    "signal.module.",
    "signal.replay.",
    "signal.rerun.",
    "signal.anomaly.",
)
"""Facts by which a run tells more than the course of its numbers: settings, lines, another run, what hooks and replays saw."""

ENOUGH_TOLD_BITS = 2.0
"""Of lines that read such facts: 4:1. What bears out a cause so far is judged by its rule; labelled runs hardly had such traces."""

MOST_BITS = 10.0
"""1,000:1 either way: beyond it the line of the likeness no longer differs in print."""

BREAKDOWN = "numerical_breakdown"
"""Causes of this kind need a value that is not finite; where every value is, they are none."""

FAILURES = frozenset({"crash", "oom", "hang"})
"""Causes of these kinds need a failure that was seen: numbers alone do not tell why a process died."""

SAYS = "its numbers are like those of runs that failed for known reasons"


def pooled(facts: Mapping[str, Scalar], rules: RuleSet, weighed: Mapping[str, Scored]) -> Iterator[Scored]:
    """The causes of the pool, in no order.

    The rule of a cause that was not weighed lends its text and fixes; its own evidence, which was not found, is left out. What
    no rule bears out (``REPORTED``) is a candidate, and never likelier than not.

    Args:
        facts: Known facts of the run.
        rules: Rules in use.
        weighed: Causes that rules weighed for this run.
    """
    alike = _alike(facts)
    if not alike:
        return
    for cause in {**alike, **weighed}:
        known = weighed.get(cause)
        rule = rules.by_id(cause) if known is None else known.rule
        if rule is None:
            continue
        place, share = alike.get(cause, ("", 0.0))
        is_found = known is not None and known.probability >= REPORTED
        if place and not is_found and _refuted(rule, facts):
            place, share = "", 0.0
        if known is not None and (place or (rule.symptom_kind in POOLED and rule.entry.kind not in ORDINARY)):
            yield _mixed(known, place, share, is_found=is_found)
        elif place:
            yield _mixed(Scored(rule._replace(says=SAYS), (), 0.0), place, share, is_found=False)


def stands_alone(leader: Scored, facts: Mapping[str, Scalar]) -> bool:
    """Whether a cause needs no other runs: a value or a line tells by itself, or settings and probes bear it out."""
    if leader.probability >= LIKELY and is_plain(leader.rule, facts):
        return True
    told = (e for e in leader.lines if e.counted and e.verdict and e.bits > 0)
    return sum(e.bits for e in told if any(n.startswith(TOLD) for n in e.line.test.names)) >= ENOUGH_TOLD_BITS


def _alike(facts: Mapping[str, Scalar]) -> dict[str, tuple[str, float]]:
    """Of each cause that labelled runs with such numbers had its place among them and its probability."""
    found: dict[str, tuple[str, float]] = {}
    for place in PLACES:
        cause, share = facts.get(f"likeness.{place}"), facts.get(f"likeness.{place}_probability")
        if isinstance(cause, str) and isinstance(share, float):
            found[cause] = (place, share)
    return found


def _mixed(known: Scored, place: str, share: float, *, is_found: bool) -> Scored:
    """A cause with the mean of both opinions, and the line that says what the likeness made of it."""
    cause = known.rule.entry.id
    both = OF_RULES * known.probability + (1.0 - OF_RULES) * share
    if not is_found:
        both = min(both, JUST_BELOW_HALF)
    bits = round(max(-MOST_BITS, min(MOST_BITS, _log_odds(both) - _log_odds(known.probability))), 1)
    name = ALIKE if is_found else LIKENESS
    test = f'likeness.{place} == "{cause}"' if place else f'likeness.first != "{cause}"'
    because = f"of labelled public runs with such numbers that had a fault, {share:.0%} had this cause"
    line = EvidenceLine(name, compile_condition(test, name), because, bits, 0.0)
    entry = LedgerLine(line, verdict=True, bits=bits, counted=True)
    return Scored(known.rule, (*known.lines, entry), known.bits + bits, both)


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-3), 1.0 - 1e-3)
    return math.log2(share / (1.0 - share))


def _refuted(rule: Rule, facts: Mapping[str, Scalar]) -> bool:
    """Whether this run cannot have had it: a crash that nobody saw, or values that are not finite where all are."""
    kind = rule.entry.symptom_kind
    return (kind in FAILURES and facts.get("failure.seen") is not True) or (
        kind == BREAKDOWN and facts.get("signal.exact.all_finite") is True
    )
