"""A cause that the user has confirmed for runs like this one, where no rule brings it into question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from analyzer.casebook.memory import MOST_BITS, Remembered, alike, remember, signs
from analyzer.expr import compile_condition
from analyzer.model.tables import Scalar
from analyzer.rules.schema import EvidenceLine
from analyzer.rules.score import LedgerLine, Ranking, Scored
from analyzer.rules.tree import classes_above

if TYPE_CHECKING:
    from analyzer.casebook.record import CaseRecord
    from analyzer.rules.load import RuleSet

AT_MOST = 0.45
"""Earlier cases alone never make a cause likelier than not: it is a candidate."""

LEAST_ALIKE = 2
"""One confirmed case may be a slip; two that look like this run are a habit of the cluster."""

LEAST_SHARE = 0.5
"""Of the cases that look like this run, at least half had that cause."""

CONFIRMED = "confirmed"
"""Id of the line of evidence."""

SAYS = "runs of this cluster that ended like it had a known cause"
BECAUSE = "the casebook holds runs with these signs and this cause; no rule bears it out here"


def confirmed_only(
    records: Sequence[CaseRecord], facts: Mapping[str, Scalar], rules: RuleSet, ranking: Ranking, today: date
) -> tuple[Ranking, Remembered, str] | None:
    """The cause that most cases like this run had joins the likeliest kind of trouble.

    It takes its probability from a class that it refines, else from what that kind leaves to something else.

    Args:
        records: The user's casebook.
        facts: Facts of the run in question.
        rules: Rules in use; that of the cause lends its text and fixes.
        ranking: What they say of it: the base rates of causes that they weighed move instead.
        today: Day from which ages count.

    Returns:
        The ranking with it, what the casebook says of it, and its id; None if too few cases are alike, or rules weigh it.
    """
    if facts.get("failure.seen") is not True and facts.get("event.error_line.seen") is not True:
        return None
    mine = signs(facts)
    near = [record for record in records if alike(mine, signs(record.facts))]
    counts = Counter(record.label for record in near)
    cause, count = min(counts.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0))
    rule = rules.by_id(cause) if cause else None
    weighed = {item.rule.entry.id for items in ranking.kinds.values() for item in items}
    if rule is None or cause in weighed or count < LEAST_ALIKE or count < LEAST_SHARE * len(near):
        return None
    test = compile_condition(" and ".join(sorted(sign for sign in mine if "=" not in sign)), CONFIRMED)
    bits = min(MOST_BITS, math.log2(count))
    line = LedgerLine(
        EvidenceLine(CONFIRMED, test, BECAUSE, bits, 0.0), verdict=True, bits=bits, counted=True
    )
    own = Scored(rule, (line,), bits)
    # two further cases of something else are taken as seen, so that two cases do not speak as twenty
    joined = _joined(ranking, own, count / (len(near) + 2))
    return joined, remember(records, facts, [cause], today)[cause]._replace(bits=0.0), cause


def _joined(ranking: Ranking, own: Scored, share: float) -> Ranking:
    """The ranking with a further cause in its likeliest kind, which gives up a share of what it leaves untold."""
    kind = max(
        ranking.kinds, key=lambda name: ranking.kinds[name][0].probability, default=own.rule.symptom_kind
    )
    items, other = list(ranking.kinds.get(kind, ())), ranking.other.get(kind, 1.0)
    above = classes_above(own.rule.entry)
    place = next((i for i, item in enumerate(items) if item.rule.entry.id in above), None)
    if place is None:
        says, most = SAYS, min(AT_MOST, share * other)
        other -= most
    else:
        says, left = items[place].rule.says, items[place].probability
        most = min(AT_MOST, share * left)
        items[place] = items[place]._replace(probability=left - most)
    items.append(own._replace(rule=own.rule._replace(symptom_kind=kind, says=says), probability=most))
    items.sort(key=lambda item: (-item.probability, item.rule.id))
    return ranking._replace(kinds={**ranking.kinds, kind: tuple(items)}, other={**ranking.other, kind: other})
