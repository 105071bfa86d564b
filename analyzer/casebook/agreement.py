"""How far two judges agree who labelled the same runs without seeing each other's labels: what any diagnosis can reach."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.metrics import cohen_kappa_score

from analyzer.casebook.record import CaseRecord
from analyzer.model.labels import HEALTHY
from analyzer.record import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """Runs that were labelled twice.

    Attributes:
        runs: How many.
        same: Runs of which both first labels are the same.
        accepted: Runs of which the first label of one is the first label of the other or accepted by them.
        same_verdict: Runs that both call sound, or both faulty.
        kappa: Cohen's kappa of the first labels: agreement beyond what how common each label is gives by chance.
    """

    runs: int
    same: int
    accepted: int
    same_verdict: int
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
    firsts = [(ours[0], theirs[0]) for ours, theirs in pairs]
    return Agreement(
        runs=len(pairs),
        same=sum(a == b for a, b in firsts),
        accepted=sum(theirs[0] in ours or ours[0] in theirs for ours, theirs in pairs),
        same_verdict=sum((a == HEALTHY) == (b == HEALTHY) for a, b in firsts),
        kappa=1.0 if all(a == b for a, b in firsts) else float(cohen_kappa_score(*zip(*firsts, strict=True))),
    )
