"""Which symptoms only follow from another: the leading cause of one kind accounts for a later kind."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.model.tables import Scalar
from analyzer.model.wording import REPORTED
from analyzer.rules.score import Ranking, Scored

FOLDED_FROM = 0.5
"""A kind of symptom must be more likely explained than not before it may account for a later one."""

OF_NUMBERS = frozenset({"numerical_breakdown", "divergence", "plateau", "eval_gap"})
NOT_BY_NUMBERS = frozenset({"memory", "storage", "hardware", "data", "config"})
"""Families of causes that no value of a loss brings about: a refused allocation, a picture that cannot be decoded or a refused
setting has its own reason on a bad curve too."""

OF_THE_PROGRAM = frozenset(
    {"TypeError", "NameError", "AttributeError", "ImportError", "ModuleNotFoundError", "SyntaxError", "UnboundLocalError", "FileNotFoundError", "NotImplementedError"}
)  # fmt: skip
"""Exceptions by which a program is wrong, whatever its numbers are."""

Folding = Mapping[str, Mapping[str, str]]
"""Kind -> {kind that it explains -> title of its top cause}; under "*" every kind that was folded."""


def fold(ranking: Ranking, facts: Mapping[str, Scalar]) -> Folding:
    """Which symptom kinds are consequences of another kind's leading cause.

    A kind accounts for another if causes that list it (by kind or by the cause's id) hold more than half of the
    first kind together, or if its leading cause rests on the failure that came first and that of the other
    kind only on lines that follow from it.
    """
    folded: dict[str, dict[str, str]] = {"*": {}}
    for kind, items in ranking.kinds.items():
        for other, others in ranking.kinds.items():
            if other == kind or not others or other in folded["*"] or kind in folded["*"]:
                continue
            if kind in OF_NUMBERS and _by_no_number(others[0], facts):
                continue
            names = {other, others[0].rule.entry.id}
            together = sum(item.probability for item in items if names & set(item.rule.explains_also))
            follows = came_first(items[0], facts) and _only_follows(others[0], facts)
            if together > FOLDED_FROM or follows:
                # a run that was ended from outside was not brought down by its numbers
                if not (
                    other == "crash" and kind in OF_NUMBERS and facts.get("ended.state") == "interrupted"
                ):
                    folded.setdefault(kind, {})[other] = others[0].rule.entry.id
                folded["*"][other] = kind
    return folded


def _by_no_number(item: Scored, facts: Mapping[str, Scalar]) -> bool:
    """Whether a cause rests on the failure that came first and is none that bad numbers bring about."""
    raised = str(facts.get("event.python_traceback.exception") or "").rpartition(".")[2]
    of_program = raised in OF_THE_PROGRAM and item.rule.symptom_kind == "crash"
    return (item.rule.family in NOT_BY_NUMBERS or of_program) and came_first(item, facts)


def _lines_seen(item: Scored) -> list[str]:
    """Prefixes ``event.<kind>`` of the log lines that a rule's gate looks at."""
    return [
        name.removesuffix(".seen")
        for name in item.rule.when.names
        if name.startswith("event.") and name.endswith(".seen")
    ]


def came_first(item: Scored, facts: Mapping[str, Scalar]) -> bool:
    """Whether a likely cause rests on the failure that came first."""
    return item.probability >= REPORTED and any(
        facts.get(f"{line}.is_first_failure") is True for line in _lines_seen(item)
    )


def _only_follows(item: Scored, facts: Mapping[str, Scalar]) -> bool:
    seen = [line for line in _lines_seen(item) if facts.get(f"{line}.seen") is True]
    return bool(seen) and all(facts.get(f"{line}.is_consequence") is True for line in seen)


def in_order(ranking: Ranking, folded: Folding) -> list[Scored]:
    """What is not folded, the gravest first; the competitors of a cause follow it before any other kind of trouble."""
    items = [item for kind, group in ranking.kinds.items() if kind not in folded["*"] for item in group]
    severity = {"fatal": 0, "degrading": 1, "wasteful": 2, "advisory": 3}

    def key(item: Scored) -> tuple[bool, int, float, str]:
        # A cause of the numbers leads by gravity if it is likelier than not, or if its kind accounts for how the run ended.
        leads = item.rule.symptom_kind not in OF_NUMBERS or item.rule.symptom_kind in folded
        shown = item.probability >= (REPORTED if leads else FOLDED_FROM)
        # What ended the run weighs as much as what merely made it slow; the likelier of the two leads.
        grave = "wasteful" if item.rule.entry.kind == "lifecycle" else item.rule.severity
        return (not shown, severity[grave] if shown else 0, -item.probability, item.rule.id)

    # The leading cause of the gravest kind first; its competitors follow it before any other kind.
    ordered = sorted(items, key=key)
    kinds = list(dict.fromkeys(item.rule.symptom_kind for item in ordered))
    return [
        item
        for kind in kinds
        for item in sorted(
            (i for i in ordered if i.rule.symptom_kind == kind), key=lambda i: (-i.probability, i.rule.id)
        )
    ]
