"""From facts to ranked causes: gates, ledgers in bits, competition, next checks.

Score of a cause = prior + sum of counted lines, in bits (log2 of the odds against "something else").
Causes of one symptom kind compete together with "something else" at 0 bits:
``p_i = 2**s_i / (1 + sum_j 2**s_j)``, a multinomial logit with "other" as its reference class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyzer.expr import Verdict, evaluate
from analyzer.model.tables import Scalar
from analyzer.rules.schema import PRIOR_BITS, EvidenceLine, Rule
from analyzer.rules.shape_line import shape_line

MAX_SCORE_BITS = 60.0
"""Beyond 2**60 the shares no longer differ in print; the cap keeps the powers finite."""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One evaluated evidence line. ``counted`` is False where another line of its group outweighs it."""

    line: EvidenceLine
    verdict: Verdict
    bits: float
    counted: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """One considered rule with its ledger and its share."""

    rule: Rule
    lines: tuple[LedgerLine, ...]
    bits: float
    probability: float = 0.0


@dataclass(frozen=True, slots=True)
class Question:
    """An undecided line of a leading cause: the cause's share if it turns out true or false."""

    rule: Rule
    line: EvidenceLine
    if_true: float
    if_false: float

    @property
    def spread(self) -> float:
        """How much the answer would move the cause."""
        return abs(self.if_true - self.if_false)


def ledger(
    rule: Rule, facts: Mapping[str, Scalar], overrides: Mapping[str, Verdict] | None = None
) -> tuple[LedgerLine, ...]:
    """Evaluate every line of a rule and that of the classifier; of a group only the largest in magnitude counts.

    Args:
        rule: The rule.
        facts: Known facts.
        overrides: Verdicts assumed for some lines, by line id.
    """
    evidence = rule.evidence
    if (shape := shape_line(rule, facts)) is not None:
        evidence = (*evidence, shape)
    verdicts: list[Verdict] = []
    for line in evidence:
        assumed = (overrides or {}).get(line.id)
        verdicts.append(evaluate(line.test, facts) if assumed is None else assumed)
    bits = [
        0.0 if v is None else (e.if_true if v else e.if_false)
        for e, v in zip(evidence, verdicts, strict=True)
    ]
    best: dict[str, int] = {}
    for index, line in enumerate(evidence):
        if line.group and (line.group not in best or abs(bits[index]) > abs(bits[best[line.group]])):
            best[line.group] = index
    return tuple(
        LedgerLine(line, verdict, value, counted=not line.group or best[line.group] == index)
        for index, (line, verdict, value) in enumerate(zip(evidence, verdicts, bits, strict=True))
    )


def total_bits(rule: Rule, lines: Sequence[LedgerLine]) -> float:
    """Prior plus counted lines, capped."""
    total = PRIOR_BITS[rule.prior] + sum(line.bits for line in lines if line.counted)
    return max(-MAX_SCORE_BITS, min(MAX_SCORE_BITS, total))


def shares(scores: Sequence[float]) -> tuple[list[float], float]:
    """Probabilities of competing scores in bits, and of "something else"."""
    weights = [2.0**score for score in scores]
    whole = 1.0 + sum(weights)
    return [weight / whole for weight in weights], 1.0 / whole


@dataclass(frozen=True, slots=True)
class Ranking:
    """Considered rules by symptom kind, each kind sorted by share, and the share of "something else"."""

    kinds: Mapping[str, tuple[Scored, ...]]
    other: Mapping[str, float]


def rank(rules: Sequence[Rule], facts: Mapping[str, Scalar]) -> Ranking:
    """Consider every rule whose gate is true and let the causes of one symptom kind compete."""
    considered: dict[str, list[Scored]] = {}
    for rule in rules:
        if evaluate(rule.when, facts) is True:
            lines = ledger(rule, facts)
            considered.setdefault(rule.symptom_kind, []).append(Scored(rule, lines, total_bits(rule, lines)))
    kinds: dict[str, tuple[Scored, ...]] = {}
    other: dict[str, float] = {}
    for kind, items in considered.items():
        probabilities, rest = shares([item.bits for item in items])
        scored = [
            Scored(item.rule, item.lines, item.bits, probability)
            for item, probability in zip(items, probabilities, strict=True)
        ]
        kinds[kind] = tuple(sorted(scored, key=lambda s: (-s.probability, s.rule.id)))
        other[kind] = rest
    return Ranking(kinds, other)


LEADERS = 4
"""Causes of a kind whose open questions are weighed; a fifth never moved the top one on the samples."""


def questions(items: Sequence[Scored], facts: Mapping[str, Scalar], limit: int = 3) -> list[Question]:
    """The undecided lines that would move a leading cause most, one per fact.

    A line of a group counts only as far as its group is not settled by another line already.
    """
    found: list[Question] = []
    for position, item in enumerate(items[:LEADERS]):
        for entry in item.lines:
            if entry.verdict is not None:
                continue
            assumed = [
                _share_if(items, position, facts, {entry.line.id: verdict}) for verdict in (True, False)
            ]
            found.append(Question(item.rule, entry.line, assumed[0], assumed[1]))
    found.sort(key=lambda q: (-q.spread, q.rule.id, q.line.id))
    chosen: list[Question] = []
    asked: set[str] = set()
    for question in found:
        unknown = [name for name in question.line.test.names if name not in facts]
        key = unknown[0] if unknown else question.line.test.text
        if key not in asked and question.spread >= 0.05:  # a smaller move would not change what to do next
            asked.add(key)
            chosen.append(question)
    return chosen[:limit]


def _share_if(
    items: Sequence[Scored], position: int, facts: Mapping[str, Scalar], overrides: Mapping[str, Verdict]
) -> float:
    scores = [item.bits for item in items]
    rule = items[position].rule
    scores[position] = total_bits(rule, ledger(rule, facts, overrides))
    return shares(scores)[0][position]
