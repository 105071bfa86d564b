"""Walk a group of look-alikes: each member wins on its own evidence, and none is confidently wrong without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from analyzer.model.tables import Scalar
from analyzer.rules.load import load_rules
from analyzer.rules.score import rank

RULES = load_rules()

CONFIDENT = 0.6
"""From here on a report says "likely": a wrong cause must not reach it."""


@dataclass(frozen=True)
class Member:
    """A member of a group.

    Attributes:
        cause: Its id in the catalogue.
        facts: What a run with that cause shows.
        deciding: Names of the facts that set it apart; without them it may not be told from the others.
        at_least: Share that its own evidence must give it.
        allowed: Causes that may lead with confidence once the deciding facts are gone: its class, and causes
            that the rest of the evidence really supports.
    """

    cause: str
    facts: Mapping[str, Scalar]
    deciding: tuple[str, ...] = ()
    at_least: float = 0.5
    allowed: tuple[str, ...] = field(default=())


def leaders(facts: Mapping[str, Scalar], kinds: tuple[str, ...] = ()) -> list[tuple[str, float]]:
    """Cause ids and shares, the highest first, of some symptom kinds or of all."""
    ranking = rank(RULES.in_question(facts), facts)
    found = [
        (item.rule.entry.id, item.probability)
        for kind, items in ranking.kinds.items()
        if not kinds or kind in kinds
        for item in items
    ]
    return sorted(found, key=lambda pair: -pair[1])


def assert_wins(member: Member, kinds: tuple[str, ...] = ()) -> None:
    """The member stands first on its own evidence."""
    ranked = leaders(member.facts, kinds)

    assert ranked, f"{member.cause}: nothing was considered"
    assert ranked[0][0] == member.cause, f"{member.cause} should lead, but {ranked[:4]}"
    assert ranked[0][1] >= member.at_least, f"{member.cause} has {ranked[0][1]:.2f}: {ranked[:4]}"


def assert_no_confident_error(member: Member, group: tuple[str, ...], kinds: tuple[str, ...] = ()) -> None:
    """Without its deciding facts no other member of the group is called likely."""
    facts = {name: value for name, value in member.facts.items() if name not in member.deciding}
    wrong = [
        (cause, share)
        for cause, share in leaders(facts, kinds)
        if cause in group and cause not in {member.cause, *member.allowed} and share >= CONFIDENT
    ]

    assert not wrong, f"without {member.deciding} of {member.cause}: confidently wrong {wrong}"
