"""The shares of an answer as they are told: what such answers were worth on runs that no rule had seen.

Of each kind of symptom the node that leads it, a cause or a class with its causes, is told at its measured probability
(``calibration.py``); its rivals and "something else" share what it leaves. Kinds that were pooled are told as one. No order changes by it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from analyzer.model.diagnosis import Finding
from analyzer.record import NamedTuple
from analyzer.rules.calibration import BELOW_LIKELY, Calibration, shipped_calibration
from analyzer.rules.causes import catalogue
from analyzer.rules.tree import HALF, JUST_BELOW_HALF, class_that_holds, classes_above

INSUFFICIENT = "insufficient"
"""Where nothing wrong was seen, what only resembles others is no likelier than not, a class of causes together neither: of 35 such
answers for runs that no rule had seen 20 were right, and 5 spoke of sound runs."""


class Leader(NamedTuple):
    """What leads a kind: a cause, or a class with its causes.

    Attributes:
        node: Its id.
        causes: Shares, by the weights of rules, of the cause or of the class and its causes.
        share: Share of all of them.
        probability: Their probability together, as it is told.
        first: Share of the first cause of the kind.
    """

    node: str
    causes: Mapping[str, float]
    share: float
    probability: float
    first: float

    def of(self, cause: str, share: float) -> float:
        """The probability of a cause of the kind as it is told: no rival passes the first."""
        if cause in self.causes:
            return self._within(cause)
        return min(self._moved(self.first), self.rest(share)) if share <= self.first else self.rest(share)

    def _within(self, cause: str) -> float:
        """Causes of a class move together; none reaches a half that did not, and the class itself keeps what they leave."""
        below = {name: self._moved(share) for name, share in self.causes.items() if name != self.node}
        capped = {
            name: min(told, JUST_BELOW_HALF) if self.causes[name] < HALF else told
            for name, told in below.items()
        }
        return self.probability - sum(capped.values()) if cause == self.node else capped[cause]

    def _moved(self, share: float) -> float:
        return share * self.probability / self.share if self.share > 0.0 else 0.0

    def rest(self, share: float) -> float:
        """What is left of a share of something else."""
        return min(1.0, share * (1.0 - self.probability) / (1.0 - self.share)) if self.share < 1.0 else 0.0


class Telling(NamedTuple):
    """How the shares of one answer are told.

    Attributes:
        leaders: What leads, by kind; a kind that a harmless explanation or words alone lead has none and is told as it is.
        spent: By kind what its causes are told at together: candidates by likeness take of "something else".
    """

    leaders: Mapping[str, Leader]
    spent: Mapping[str, float] = {}

    def of(self, kind: str, cause: str, share: float) -> float:
        """The probability of a cause as it is told."""
        return self.leaders[kind].of(cause, share) if kind in self.leaders else share

    def other(self, kind: str, share: float) -> float:
        """The probability of "something else" as it is told."""
        left = max(0.0, 1.0 - self.spent.get(kind, 0.0))
        return min(self.leaders[kind].rest(share), left) if kind in self.leaders else share

    def finding(self, finding: Finding) -> Finding:
        """A finding with the probability that is told."""
        probability = self.of(finding.symptom_kind, finding.cause.id, finding.probability)
        return finding._replace(probability=probability, calibrated=finding.symptom_kind in self.leaders)


def telling(findings: Sequence[Finding], status: str, pooled: Collection[str] = ()) -> Telling:
    """How the shares of an answer are told.

    Args:
        findings: All findings, those ruled out included; the answer leads with the first.
        status: Status of the run.
        pooled: Kinds whose causes share one probability.
    """
    shipped = shipped_calibration()
    if shipped is None or status not in shipped.statuses:
        return Telling({})
    together = [finding for finding in findings if finding.symptom_kind in pooled]
    kinds = dict.fromkeys(pooled, together)
    for finding in findings:
        if finding.symptom_kind not in pooled:
            kinds.setdefault(finding.symptom_kind, []).append(finding)
    leaders = {
        kind: _leader(best, items, status, shipped)
        for kind, items in kinds.items()
        if items and (best := max(items, key=lambda item: item.probability)).cause.kind != "benign"
    }
    if findings and (first := leaders.get(findings[0].symptom_kind)) is not None:
        leaders = {  # what was likelier than the first stays so, and what was not does not become it
            kind: leader
            if leader.share > first.share
            else leader._replace(probability=min(leader.probability, first.probability))
            for kind, leader in leaders.items()
        }
    told = Telling(leaders)
    spent = {
        kind: sum(told.of(kind, f.cause.id, f.probability) for f in items) for kind, items in kinds.items()
    }
    return told._replace(spent=spent)


def _leader(best: Finding, items: Sequence[Finding], status: str, shipped: Calibration) -> Leader:
    entries = catalogue()
    node, causes = entries[best.cause.id], {best.cause.id: best.probability}
    weighed = [(entries[item.cause.id], item.probability) for item in items]
    if best.probability < HALF and (holding := class_that_holds(weighed)) is not None:
        node = holding[0]
        causes = {e.id: share for e, share in weighed if node.id in (e.id, *classes_above(e))}
    share = min(1.0, sum(causes.values()))
    probability = shipped.told(share, status, node.family)
    if best.words_only or best.likeness_only:  # no rule bears it out, so nobody should act on it alone
        probability = min(probability, JUST_BELOW_HALF if status == INSUFFICIENT else BELOW_LIKELY)
    return Leader(node.id, causes, share, probability, best.probability)
