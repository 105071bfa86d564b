"""How good the answers for labelled runs are: right at first, wrong and sure, calibration, log loss.

Everything is computed from facts alone: the rules rank them as they do in a diagnosis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyzer.casebook.record import CaseRecord
from analyzer.model.labels import HEALTHY, ORDINARY
from analyzer.rules.calibration import HAND_SET, Calibration
from analyzer.rules.causes import catalogue
from analyzer.rules.load import RuleSet
from analyzer.rules.score import probabilities_of, rank

LEAST = 2.0**-12
"""Floor of a probability in the log loss: one certain error costs 12 bits and does not hide all others."""

BINS = 10
"""Equal bins of the expected calibration error, as in Guo et al. 2017."""


@dataclass(frozen=True, slots=True)
class Contest:
    """The competition of one kind of symptom in one labelled run.

    Attributes:
        case: Id of the record.
        group: Its group, for cross-validation.
        kind: Kind of symptom.
        causes: Causes that came into question.
        bits: Their scores.
        right: For each cause whether it is right.
        sound: Whether nothing was wrong, so that "something else" is right as well.
    """

    case: str
    group: str
    kind: str
    causes: tuple[str, ...]
    bits: tuple[float, ...]
    right: tuple[bool, ...]
    sound: bool = False

    def probabilities(self, calibration: Calibration) -> tuple[list[float], float]:
        """Of the causes and of "something else"."""
        return probabilities_of(self.bits, calibration)

    def loss_bits(self, calibration: Calibration) -> float:
        """Log loss: of the right causes together, of "something else" where none of them is right or the run is sound."""
        found, other = self.probabilities(calibration)
        hit = sum(p for p, right in zip(found, self.right, strict=True) if right)
        if self.sound or not any(self.right):
            hit += other
        return -math.log2(max(LEAST, hit))


def contests(records: Sequence[CaseRecord], rules: RuleSet) -> list[Contest]:
    """The competition that decides for each run: that of its right cause, else that of its boldest answer.

    A run has several kinds of symptoms; those in which its cause does not take part follow from others and would
    count as errors that nobody sees. Harmless explanations and ordinary endings compete for nothing; of a sound run
    one that does take part is no error.
    """
    entries = catalogue()
    found: list[Contest] = []
    for record in records:
        ranking = rank(rules.in_question(record.facts), record.facts)
        options: list[Contest] = []
        for kind, items in ranking.kinds.items():
            if kind in {"none", "ended"}:
                continue
            causes = tuple(item.rule.entry.id for item in items)
            options.append(
                Contest(
                    record.id,
                    record.group or record.id,
                    kind,
                    causes,
                    tuple(item.bits for item in items),
                    tuple(
                        cause in record.right or (record.label == HEALTHY and entries[cause].kind in ORDINARY)
                        for cause in causes
                    ),
                    record.label == HEALTHY,
                )
            )
        if options:
            found.append(max(options, key=lambda contest: (any(contest.right), max(contest.bits))))
    return found


@dataclass(frozen=True, slots=True)
class Figures:
    """What a set of contests reached.

    Attributes:
        runs: Contests counted.
        top1: Part in which the first cause is right, of those with a right cause among the candidates or not.
        top3: Part in which one of the first three is.
        wrong_sure: Part in which the first cause is wrong and holds at least 0.6.
        wrong_very_sure: Part in which it is wrong and holds at least 0.9.
        log_loss_bits: Mean log loss, "something else" included.
        brier: Mean squared error of the first answer's probability.
        calibration_error: Expected calibration error of the first answer over ten equal bins.
    """

    runs: int
    top1: float
    top3: float
    wrong_sure: float
    wrong_very_sure: float
    log_loss_bits: float
    brier: float
    calibration_error: float


def figures(items: Sequence[tuple[Contest, Calibration]]) -> Figures:
    """Judge contests, each with the calibration that is applied to it (of a fold, say)."""
    if not items:
        return Figures(0, *[math.nan] * 7)
    top1 = top3 = sure = very = loss = brier = 0.0
    said = first_answers(items)
    for (contest, calibration), (first, right) in zip(items, said, strict=True):
        top1 += right
        top3 += any(contest.right[:3])
        sure += not right and first >= 0.6
        very += not right and first >= 0.9
        loss += contest.loss_bits(calibration)
        brier += (first - right) ** 2
    n = len(items)
    return Figures(n, top1 / n, top3 / n, sure / n, very / n, loss / n, brier / n, calibration_error(said))


def first_answers(items: Sequence[tuple[Contest, Calibration]]) -> list[tuple[float, bool]]:
    """Probability of each first answer, and whether it is right."""
    return [(contest.probabilities(calibration)[0][0], contest.right[0]) for contest, calibration in items]


def calibration_error(said: Sequence[tuple[float, bool]]) -> float:
    """Expected calibration error: the mean distance of what was said from what was right, over ten equal bins.

    >>> calibration_error([(0.9, True), (0.9, True), (0.9, False), (0.9, False)])
    0.4
    """
    total = 0.0
    for index in range(BINS):
        inside = [(p, right) for p, right in said if min(BINS - 1, int(p * BINS)) == index]
        if inside:
            mean = sum(p for p, _ in inside) / len(inside)
            rate = sum(right for _, right in inside) / len(inside)
            total += len(inside) / len(said) * abs(mean - rate)
    return round(total, 12)


def uncalibrated(items: Sequence[Contest], fitted: Mapping[str, Calibration] | None = None) -> Figures:
    """Figures of contests with given calibrations by kind, or with the hand-set odds."""
    chosen = fitted or {}
    return figures([(item, chosen.get(item.kind, HAND_SET)) for item in items])
