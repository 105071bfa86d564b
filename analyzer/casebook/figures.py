"""How good the answers for labelled runs are: top-1, confident errors, calibration, log loss.

Everything is computed from facts alone: the rules rank them as they do in a diagnosis, which kind of trouble leads is
chosen without a look at the label, and what is said is what a screen is headed by: a cause, or a class of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from analyzer.casebook.record import CaseRecord
from analyzer.model.labels import HEALTHY, ORDINARY
from analyzer.record import dataclass
from analyzer.rules.causes import catalogue
from analyzer.rules.folding import fold, in_order
from analyzer.rules.load import RuleSet
from analyzer.rules.score import probabilities_of, rank
from analyzer.rules.tree import classes_above, headline_of

LEAST = 2.0**-12
"""Floor of a probability in the log loss: one certain error costs 12 bits and does not hide all others."""

BINS = 10
"""Equal bins of the expected calibration error, as in Guo et al. 2017."""


@dataclass(frozen=True, slots=True)
class Contest:
    """The competition of one kind of symptom in one labelled run."""

    case: str  # id of the record
    group: str  # its group, for cross-validation
    kind: str  # kind of symptom
    causes: tuple[str, ...]  # causes that came into question
    bits: tuple[float, ...]  # their scores
    right: tuple[bool, ...]  # for each cause whether it is right
    sound: bool = False  # whether nothing was wrong, so that "something else" is right as well
    classes: frozenset[str] = frozenset()  # classes that a right cause refines: they are right as well

    def loss_bits(self) -> float:
        """Log loss: of the right causes together, of "something else" where none of them is right or the run is sound."""
        found, other = probabilities_of(self.bits)
        hit = sum(p for p, right in zip(found, self.right, strict=True) if right)
        if self.sound or not any(self.right):
            hit += other
        return -math.log2(max(LEAST, hit))

    def answer(self) -> tuple[float, bool]:
        """Share of what the answer is headed by, and whether it is right; of an open one the first candidate."""
        found, other = probabilities_of(self.bits)
        entries = catalogue()
        weighed = [(entries[cause], share) for cause, share in zip(self.causes, found, strict=True)]
        headline = headline_of(weighed, other)
        if headline is None or headline.level == "open":
            return found[0], self.right[0]
        right = dict(zip(self.causes, self.right, strict=True))
        return headline.probability, headline.id in self.classes or right.get(headline.id, False)


def contests(records: Sequence[CaseRecord], rules: RuleSet) -> list[Contest]:
    """The competition that the answer for each run is headed by.

    Harmless explanations and ordinary endings compete for nothing; of a sound run one that does take part is no error.
    """
    entries = catalogue()
    found: list[Contest] = []
    for record in records:
        ranking = rank(rules.in_question(record.facts), record.facts)
        leading = in_order(ranking, fold(ranking, record.facts))
        kind = next((k for item in leading if (k := item.rule.symptom_kind) not in {"none", "ended"}), None)
        if kind is None:
            continue
        items = ranking.kinds[kind]
        causes = tuple(item.rule.entry.id for item in items)
        found.append(
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
                frozenset(name for cause in record.right for name in classes_above(entries[cause])),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Figures:
    """What a set of contests reached."""

    runs: int  # contests counted
    # part in which the first cause is right, of those with a right cause among the candidates or not
    top1: float
    top3: float  # part in which one of the first three is
    wrong_sure: float  # part in which what the answer is headed by is wrong and holds at least 0.6
    wrong_very_sure: float  # part in which it is wrong and holds at least 0.9
    log_loss_bits: float  # mean log loss, "something else" included
    brier: float  # mean squared error of that probability
    calibration_error: float  # its expected calibration error over ten equal bins


def figures(items: Sequence[Contest]) -> Figures:
    """Judge contests by the shares that rules give, before they are told at what such answers were worth."""
    if not items:
        return Figures(0, *[math.nan] * 7)
    top1 = top3 = sure = very = loss = brier = 0.0
    said = [contest.answer() for contest in items]
    for contest, (first, right) in zip(items, said, strict=True):
        top1 += contest.right[0]
        top3 += any(contest.right[:3])
        sure += not right and first >= 0.6
        very += not right and first >= 0.9
        loss += contest.loss_bits()
        brier += (first - right) ** 2
    n = len(items)
    return Figures(n, top1 / n, top3 / n, sure / n, very / n, loss / n, brier / n, calibration_error(said))


def calibration_error(said: Sequence[tuple[float, bool]]) -> float:
    """Expected calibration error: the mean distance of what was said from what was right, over ten equal bins.

    >>> calibration_error([(0.9, True), (0.9, True), (0.9, False), (0.9, False)])
    0.4
    """
    shares = np.array([p for p, _ in said], dtype=np.float64)
    right = np.array([r for _, r in said], dtype=np.float64)
    inside = np.minimum(BINS - 1, (shares * BINS).astype(np.int64))
    off = np.bincount(inside, shares - right, BINS)
    total = float(np.abs(off).sum()) / max(1, len(said))
    return round(total, 12)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Runs that were labelled twice."""

    runs: int  # how many
    same: int  # runs of which both first labels are the same
    accepted: int  # runs of which the first label of one is the first label of the other or accepted by them
    same_verdict: int  # runs that both call sound, or both faulty
    # Cohen's kappa of the first labels: agreement beyond what how common each label is gives by chance
    kappa: float

    def sentence(self) -> str:
        """The figures in words.

        >>> Agreement(40, 30, 36, 38, 0.71).sentence()
        '40 runs labelled twice: the same label in 75 %, one that the other accepts in 90 %, both sound or both faulty in 95 %, kappa 0.71'
        """
        same, accepted, verdict = (
            round(100 * part / self.runs) for part in (self.same, self.accepted, self.same_verdict)
        )
        return (
            f"{self.runs} runs labelled twice: the same label in {same} %, one that the other accepts in {accepted} %, "
            f"both sound or both faulty in {verdict} %, kappa {self.kappa:.2f}"
        )


def agreement(records: Sequence[CaseRecord]) -> Agreement | None:
    """Compare the labels of runs that two judges have labelled; None where nobody judged twice."""
    pairs = [((record.label, *record.acceptable), record.second) for record in records if record.second]
    if not pairs:
        return None
    from sklearn.metrics import cohen_kappa_score  # noqa: PLC0415  (a second to import; figures of answers need none of it)

    firsts = [(ours[0], theirs[0]) for ours, theirs in pairs]
    return Agreement(
        runs=len(pairs),
        same=sum(a == b for a, b in firsts),
        accepted=sum(theirs[0] in ours or ours[0] in theirs for ours, theirs in pairs),
        same_verdict=sum((a == HEALTHY) == (b == HEALTHY) for a, b in firsts),
        kappa=1.0 if all(a == b for a, b in firsts) else float(cohen_kappa_score(*zip(*firsts, strict=True))),
    )
