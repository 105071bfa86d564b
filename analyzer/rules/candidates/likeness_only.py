"""Candidates among "something else": what labelled public runs with such numbers turned out to be.

The likeness shares out the probability that rules leave to something else, and nothing beyond it: beside a rule that is
sure it adds next to nothing, where none speaks it names the causes. A cause that rules weighed and did not find keeps
what they gave it and takes its part of the rest (law of total probability). On 97 labelled runs that no rule was written
with the right cause is then one of three in 94 %, against 90 % where only silent rules were filled in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analyzer.detect.likeness.answer import PLACES
from analyzer.expr import compile_condition
from analyzer.model.diagnosis import LIKENESS
from analyzer.model.tables import Scalar
from analyzer.model.wording import REPORTED
from analyzer.rules.load import RuleSet
from analyzer.rules.schema import EvidenceLine, Rule
from analyzer.rules.score import LedgerLine, Scored

AT_MOST = 0.45
"""What other runs turned out to be never makes a cause likelier than not: it is a candidate."""

BREAKDOWN = "numerical_breakdown"
"""Causes of this kind need a value that is not finite; where every value is, they are none."""

FAILURES = frozenset({"crash", "oom", "hang"})
"""Causes of these kinds need a failure that was seen: numbers alone do not tell why a process died."""

FEW_POINTS_LEAST = 0.1
"""Of a run with too few points for a verdict a candidate below one in ten is a guess at how common causes are."""

STANDS = "loss-plateau"
FALLEN = 0.3
"""Share of its first value that a loss has lost of which nobody would say that it does not move."""

FEW_STEPS = 12
"""Steps within which no loss can be said to stand: of 87 labelled runs with that cause none was shorter than 16."""

WEIGHED_OUT = -7.0
"""Bits at which its own rule speaks clearly against a cause: of 21 labelled runs whose likest cause was so weighed two had it,
which the likeness put at 0.35. A symptom class says less than its rule asks for: four of seven had it."""

PLAYERS = ("signal.gan.", "signal.policy.", "signal.rl.", "run.rl")
"""Facts of adversaries and policies, which are known only of runs that train such."""

SAYS = "its numbers are like those of runs that failed for known reasons"
BECAUSE = "labelled public runs with such numbers had this cause; no rule bears it out here"


def likeness_only(
    facts: Mapping[str, Scalar],
    rules: RuleSet,
    weighed: Mapping[str, Scored],
    other: float = 1.0,
    *,
    few_points: bool = False,
) -> Iterator[Scored]:
    """The candidates, in the order of their likeness.

    The rule of a cause that was not weighed lends its text and fixes; its own evidence, which was not found, is left out.

    Args:
        facts: Known facts of the run.
        rules: Rules in use.
        weighed: Causes that rules weighed for this run; those that they found (``REPORTED``) are no candidates.
        other: Probability that none of them is right.
        few_points: Too few were logged for a verdict.
    """
    for place in PLACES:
        cause, share, bits = (facts.get(f"likeness.{place}{part}") for part in ("", "_probability", "_bits"))
        if not isinstance(cause, str) or not isinstance(share, float) or not isinstance(bits, float):
            return
        if few_points and share < FEW_POINTS_LEAST:
            return
        rule = rules.by_id(cause)
        known = weighed.get(cause)
        if (
            rule is None
            or _refuted(rule, facts)
            or _unseen(rule, facts, few_points=few_points)
            or (known is not None and (known.probability >= REPORTED or _weighed_out(known)))
        ):
            continue
        line = EvidenceLine(
            LIKENESS, compile_condition(f'likeness.{place} == "{cause}"', LIKENESS), BECAUSE, bits, 0.0
        )
        entry = LedgerLine(line, verdict=True, bits=bits, counted=True)
        if known is None:
            yield Scored(rule._replace(says=SAYS), (entry,), bits, min(other * share, AT_MOST))
        else:
            together = min(known.probability + other * share, AT_MOST)
            yield Scored(known.rule, (*known.lines, entry), known.bits + bits, together)


def _refuted(rule: Rule, facts: Mapping[str, Scalar]) -> bool:
    """Whether the curves say the opposite of what the cause says of them."""
    fallen, step = facts.get("signal.progress.fall_share"), facts.get("run.last_step")
    at_target = facts.get("event.training_completed.reason") == "success"  # as a benchmark's run notes it
    if rule.entry.id == STANDS and (at_target or (isinstance(step, int) and step < FEW_STEPS)):
        return True
    if rule.entry.symptom_kind in FAILURES and facts.get("failure.seen") is not True:
        return True
    return (rule.entry.symptom_kind == BREAKDOWN and facts.get("signal.exact.all_finite") is True) or (
        rule.entry.id == STANDS
        and facts.get("signal.progress.learned") is True
        and isinstance(fallen, float)
        and fallen >= FALLEN
    )


def _weighed_out(known: Scored) -> bool:
    return known.rule.entry.kind == "cause" and known.bits <= WEIGHED_OUT


def _unseen(rule: Rule, facts: Mapping[str, Scalar], *, few_points: bool) -> bool:
    """Whether nothing is known of what the cause shows itself in: of players always, of others where little was logged."""
    shown = [name for name in rule.when.names if name.startswith(("signal.", "run.rl"))]
    if not shown or any(name in facts for name in shown if name != "run.rl"):
        return False
    return few_points or all(name.startswith(PLAYERS) for name in shown)
