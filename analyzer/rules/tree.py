"""The headline of an answer: the deepest node of kind, class and cause that holds at least a half.

Causes refine classes ("the loss is not finite" is a class, "the rate is too high" a cause of it), and a class is a
state of knowledge: its own weight is that of "cannot be told further", and its probability is that plus those of its
causes. Where no cause holds a half, the class may; where no class does, the candidates are all that can be said.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.model.diagnosis import Candidate, Headline
from analyzer.rules.causes import CauseEntry, catalogue

Weighed = tuple[CauseEntry, float]
"""A cause and its probability."""

HALF = 0.5
"""A headline names what is more likely than everything else together."""

JUST_BELOW_HALF = HALF - 0.01

CANDIDATES = 4
"""Candidates named below a headline; a fifth never held a tenth on the labelled runs."""

NAMED_FROM = 0.02
"""Candidates below 1 in 50 are left to the list of rivals."""


def headline_of(items: Sequence[Weighed], other: float) -> Headline | None:
    """The headline of one kind of symptom; None if nothing competes.

    Args:
        items: The kind's causes with their probabilities, the best first.
        other: Probability of "something else".
    """
    if not items:
        return None
    node, best = items[0]
    probability = _totals(items)[node.id]
    if best < HALF:
        holding = class_that_holds(items)
        if holding is None:
            return Headline("open", "", "", 1.0 - other, _candidates(items), 0.0, other)
        node, probability = holding
    below = [
        (entry, share) for entry, share in items if entry.id != node.id and node.id in classes_above(entry)
    ]
    own = next((share for entry, share in items if entry.id == node.id), 0.0)
    level = "class" if node.kind == "symptom-class" else "cause"
    return Headline(level, node.id, node.title, probability, _candidates(below), own if below else 0.0, other)


def class_that_holds(items: Sequence[Weighed]) -> Weighed | None:
    """The deepest class that holds at least a half with its causes, and what it holds; None if none does."""
    totals = _totals(items)
    holding = [(entry, totals[entry.id]) for entry in _classes(items) if totals[entry.id] >= HALF]
    return max(holding, key=lambda pair: (_depth(pair[0]), pair[1]), default=None)


def _candidates(items: Sequence[Weighed]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(entry.id, entry.title, share) for entry, share in items[:CANDIDATES] if share >= NAMED_FROM
    )


def classes_above(entry: CauseEntry) -> list[str]:
    """Classes above an entry, the nearest first; the catalogue has no circle (its lint)."""
    found: list[str] = []
    while entry.parent is not None and entry.parent not in found:
        found.append(entry.parent)
        entry = catalogue()[entry.parent]
    return found


def _depth(entry: CauseEntry) -> int:
    return len(classes_above(entry))


def _classes(items: Sequence[Weighed]) -> list[CauseEntry]:
    own = {entry.id: entry for entry, _ in items}
    above = {name: catalogue()[name] for entry, _ in items for name in classes_above(entry)}
    return [entry for entry in {**own, **above}.values() if entry.kind == "symptom-class"]


def _totals(items: Sequence[Weighed]) -> dict[str, float]:
    """Probability of each cause and class: its own plus that of everything below it."""
    totals: dict[str, float] = {}
    for entry, share in items:
        for name in (entry.id, *classes_above(entry)):
            totals[name] = totals.get(name, 0.0) + share
    return totals
