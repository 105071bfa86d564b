"""From facts to ranked causes: gates, ledgers in bits, competition, next checks.

Score of a cause = prior + sum of counted lines, in bits (log2 of the odds against "something else").
Causes of one symptom kind compete together with "something else": ``p_i = 2**s_i / (1 + sum_j 2**s_j)``,
a multinomial logit with "other" as its reference class. What such shares were worth on labelled runs, and so what is
told of them, is measured afterwards (``calibration.py``). A cause is one hypothesis, however many rules it has: its best
rule stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from analyzer.expr import Verdict, compile_condition, evaluate
from analyzer.guard import STRICT, Guard
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
from analyzer.rules.schema import PRIOR_BITS, EvidenceLine, Rule
from analyzer.rules.shape_line import shape_line, sound_line

MAX_SCORE_BITS = 60.0
"""Beyond 2**60 the probabilities no longer differ in print; the cap keeps the powers finite."""


class LedgerLine(NamedTuple):
    """One evaluated evidence line. ``counted`` is False where another line of its group outweighs it."""

    line: EvidenceLine
    verdict: Verdict
    bits: float
    counted: bool


class Scored(NamedTuple):
    """One considered rule with its ledger and its probability."""

    rule: Rule
    lines: tuple[LedgerLine, ...]
    bits: float
    probability: float = 0.0


class Question(NamedTuple):
    """An undecided line of a leading cause: the cause's probability now, and if it turns out true or false."""

    rule: Rule
    line: EvidenceLine
    now: float
    if_true: float
    if_false: float

    @property
    def information_bits(self) -> float:
        """What the answer is expected to tell about the cause, in bits."""
        return expected_information_bits(self.now, self.if_true, self.if_false)


RARE = 0.1
"""Rate of a sign whose rule says only what its presence means: seen in at most one of ten runs with the cause."""


def expected_information_bits(now: float, if_true: float, if_false: float) -> float:
    """Mutual information of a yes-or-no answer and a cause, in bits.

    The three probabilities fix how often "yes" must be expected: ``now`` is their mean weighted by it. A line that
    moves the cause in one direction only fixes nothing, and its sign is taken as a rare one.

    >>> round(expected_information_bits(0.5, 0.9, 0.1), 2)
    0.53
    >>> expected_information_bits(0.97, 0.97, 0.97)
    0.0
    """
    if abs(if_true - if_false) < 1e-9:
        return 0.0
    yes = (now - if_false) / (if_true - if_false)
    if not RARE <= yes <= 1.0 - RARE:
        yes = RARE if yes < RARE else 1.0 - RARE
        now = yes * if_true + (1.0 - yes) * if_false
    return max(0.0, _entropy(now) - yes * _entropy(if_true) - (1.0 - yes) * _entropy(if_false))


def _entropy(p: float) -> float:
    return 0.0 if p <= 0.0 or p >= 1.0 else -p * math.log2(p) - (1.0 - p) * math.log2(1.0 - p)


def ledger(rule: Rule, facts: Mapping[str, Scalar], ended: Mapping[str, Scalar]) -> tuple[LedgerLine, ...]:
    """Evaluate every line of a rule and those of the models of runs.

    Args:
        rule: The rule.
        facts: Known facts.
        ended: The facts less those of lines that training survived: they speak against no cause either.
    """
    evidence = list(rule.evidence)
    verdicts = [evaluate(line.test, facts if line.if_true > 0 else ended) for line in evidence]
    if (kind := _survived_kind(rule, verdicts, facts)) is not None:
        evidence.append(_survived_line(kind))
        verdicts.append(True)
    if (shape := shape_line(rule, facts)) is not None:
        # The classifier looks at the curves that lines have looked at already: beside their support its own counts half.
        supported = any(
            verdict and line.if_true > 0 and any(name.startswith("signal.") for name in line.test.names)
            for line, verdict in zip(evidence, verdicts, strict=True)
        )
        evidence.append(shape._replace(if_true=shape.if_true / 2) if supported else shape)
        verdicts.append(evaluate(shape.test, facts))
    if (sound := sound_line(rule, facts)) is not None:
        evidence.append(sound)
        verdicts.append(True)
    return tuple(
        LedgerLine(line, verdict, bits, counted=counted)
        for line, verdict, (bits, counted) in zip(evidence, verdicts, _bits(evidence, verdicts), strict=True)
    )


ENDS = frozenset({"crash", "hang", "oom", "bad_restart", "ended"})
"""Kinds of symptoms that a run ends by: a setting or a warning that spoils the numbers does so while training goes on."""


def _survived_kind(rule: Rule, verdicts: Sequence[Verdict], facts: Mapping[str, Scalar]) -> str | None:
    """A kind of line that a rule speaks for and training survived, if it survived all of them.

    What ended no run is the cause of no end, whatever the rule. An exception stands for its message: it counts only
    where nothing was recognised in it.
    """
    if rule.symptom_kind not in ENDS:
        return None
    named = set(rule.when.names)
    for line, verdict in zip(rule.evidence, verdicts, strict=True):
        if verdict and line.if_true > 0:
            named.update(line.test.names)
    kinds = sorted({name.split(".")[1] for name in named if name.startswith("event.")})
    known = {kind: facts[name] for kind in kinds if (name := f"event.{kind}.survived") in facts}
    if len(known) > 1:
        known.pop("python_traceback", None)
    return next(iter(known)) if known and all(known.values()) else None


def _without_survived(facts: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    survived = tuple(
        name.removesuffix("survived")
        for name, value in facts.items()
        if value is True and name.startswith("event.") and name.endswith(".survived")
    )
    return (
        {name: value for name, value in facts.items() if not name.startswith(survived)} if survived else facts
    )


@lru_cache(maxsize=256)
def _survived_line(kind: str) -> EvidenceLine:
    test = compile_condition(f"event.{kind}.survived", "survived")
    return EvidenceLine("survived", test, "training went on after every such line", -7.0, 0.0)


def _bits(evidence: Sequence[EvidenceLine], verdicts: Sequence[Verdict]) -> list[tuple[float, bool]]:
    """Bits of each line and whether they count: of a group only the largest in magnitude do."""
    bits = [
        0.0 if v is None else (e.if_true if v else e.if_false)
        for e, v in zip(evidence, verdicts, strict=True)
    ]
    best: dict[str, int] = {}
    for index, line in enumerate(evidence):
        if line.group and (line.group not in best or abs(bits[index]) > abs(bits[best[line.group]])):
            best[line.group] = index
    return [
        (value, not line.group or best[line.group] == index)
        for index, (line, value) in enumerate(zip(evidence, bits, strict=True))
    ]


def total_bits(rule: Rule, lines: Sequence[LedgerLine]) -> float:
    """Prior plus counted lines, capped."""
    return _total(rule, ((line.bits, line.counted) for line in lines))


def _total(rule: Rule, lines: Iterable[tuple[float, bool]]) -> float:
    total = PRIOR_BITS[rule.prior] + sum(bits for bits, counted in lines if counted)
    return max(-MAX_SCORE_BITS, min(MAX_SCORE_BITS, total))


def probabilities_of(scores: Sequence[float]) -> tuple[list[float], float]:
    """Probabilities of competing scores in bits, and of "something else"."""
    weights = [2.0**score for score in scores]
    whole = 1.0 + sum(weights)
    return [weight / whole for weight in weights], 1.0 / whole


BaseRates = Callable[[Sequence[str]], Mapping[str, float]]
"""For the causes of one competition the bits by which experience moves each."""


class Ranking(NamedTuple):
    """Considered rules by symptom kind, each kind sorted by probability, and the probability of "something else"."""

    kinds: Mapping[str, tuple[Scored, ...]]  # of each cause the rule with the most bits
    other: Mapping[str, float]  # probability that the cause is none of them


def rank(
    rules: Sequence[Rule],
    facts: Mapping[str, Scalar],
    base_rates: BaseRates | None = None,
    guard: Guard = STRICT,
) -> Ranking:
    """Consider every rule whose gate is true and let the causes of one symptom kind compete.

    Args:
        rules: Rules to consider.
        facts: Known facts.
        base_rates: Bits by which the causes of one competition are moved, by cause id: what a cluster has seen.
        guard: Notes a rule that cannot be evaluated.
    """
    considered: dict[str, list[Scored]] = {}
    ended = _without_survived(facts)
    for rule in rules:
        with guard.part(f"rule {rule.id}"):
            if evaluate(rule.when, facts) is True:
                lines = ledger(rule, facts, ended)
                scored_rule = Scored(rule, lines, total_bits(rule, lines))
                considered.setdefault(rule.symptom_kind, []).append(scored_rule)
    kinds: dict[str, tuple[Scored, ...]] = {}
    other: dict[str, float] = {}
    for kind, every in considered.items():
        items = _best_of_each_cause(every)
        if base_rates is not None:
            moved = base_rates([item.rule.entry.id for item in items])
            items = [item._replace(bits=item.bits + moved.get(item.rule.entry.id, 0.0)) for item in items]
        probabilities, rest = probabilities_of([item.bits for item in items])
        scored = [
            Scored(item.rule, item.lines, item.bits, probability)
            for item, probability in zip(items, probabilities, strict=True)
        ]
        kinds[kind] = tuple(sorted(scored, key=lambda s: (-s.probability, s.rule.id)))
        other[kind] = rest
    return Ranking(kinds, other)


def _best_of_each_cause(items: Sequence[Scored]) -> list[Scored]:
    """Of rules for one cause the one with the most bits, in the order of the rules."""
    best: dict[str, Scored] = {}
    for item in items:
        known = best.get(item.rule.entry.id)
        if known is None or item.bits > known.bits:
            best[item.rule.entry.id] = item
    return list(best.values())


LEAST_INFORMATION_BITS = 0.02
"""An answer expected to tell less than a fiftieth of a bit is not worth anybody's time."""

LEADERS = 4
"""Causes of a kind whose open questions are weighed; a fifth never moved the top one on the samples."""


def questions(items: Sequence[Scored], facts: Mapping[str, Scalar], limit: int = 3) -> list[Question]:
    """The undecided lines whose answer would tell most about a leading cause, one per fact.

    A line of a group counts only as far as its group is not settled by another line already.
    """
    found: list[Question] = []
    for position, item in enumerate(items[:LEADERS]):
        for entry in item.lines:
            if entry.verdict is not None:
                continue
            assumed = [_probability_if(items, position, entry.line.id, verdict) for verdict in (True, False)]
            found.append(Question(item.rule, entry.line, item.probability, assumed[0], assumed[1]))
    found.sort(key=lambda q: (-q.information_bits, q.rule.id, q.line.id))
    chosen: list[Question] = []
    asked: set[str] = set()
    for question in found:
        unknown = [name for name in question.line.test.names if name not in facts]
        key = unknown[0] if unknown else question.line.test.text
        if key not in asked and question.information_bits >= LEAST_INFORMATION_BITS:
            asked.add(key)
            chosen.append(question)
    return chosen[:limit]


def _probability_if(items: Sequence[Scored], position: int, line_id: str, verdict: bool) -> float:
    """Probability of the cause at a position if one of its lines were true or false."""
    scores = [item.bits for item in items]
    lines = items[position].lines
    verdicts = [verdict if entry.line.id == line_id else entry.verdict for entry in lines]
    scores[position] = _total(items[position].rule, _bits([entry.line for entry in lines], verdicts))
    return probabilities_of(scores)[0][position]
