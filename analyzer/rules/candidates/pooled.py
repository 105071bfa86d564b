"""What rules weighed and what labelled runs alike turned out to be, as one probability of each cause.

Alike are runs with such numbers where the course of the run leads, and those that ended in such words where a failure was written.

A linear pool: the mean of both opinions, weighted by how they did on runs that neither knew. Of 301 faulty runs of eight sets
with numbers to judge, first answers, rules named 63 % first (108 at .6 and more, of those 83 % right), the likeness of that time (no ridge
yet) 76 %, the pool 77 % (86, 97 % right). A pool of logarithms does the same. Rules alone decide whether a run is accused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from analyzer.detect.likeness.places import PLACES
from analyzer.expr import compile_condition
from analyzer.model.diagnosis import ALIKE, LIKENESS, WORDS
from analyzer.model.labels import ORDINARY
from analyzer.model.tables import Scalar
from analyzer.model.wording import LIKELY, REPORTED
from analyzer.record import NamedTuple
from analyzer.rules.load import RuleSet
from analyzer.rules.schema import EvidenceLine, Rule
from analyzer.rules.score import LedgerLine, Scored
from analyzer.rules.shape_line import POOLED, is_plain
from analyzer.rules.tree import HALF, JUST_BELOW_HALF

OF_RULES = 0.4
"""Weight of the rules; of 374 faulty runs that neither knew .3 to .5 name as many first to within one."""

PROBED = ("compare.", "signal.module.", "signal.replay.", "signal.rerun.", "signal.anomaly.")
"""Facts that no log tells: another run, what hooks and replays saw."""

TOLD = ("config.", "event.", *PROBED)
"""Facts by which a run tells more than the course of its numbers."""

ENOUGH_TOLD_BITS = 2.0
"""Of lines that read such facts: 4:1. What bears out a cause so far is judged by its rule; labelled runs hardly had such traces."""

TELLING_BITS = 4.0
"""16:1 by one line: what was looked for in this run, where the likeness sees only that most such runs had another cause."""

MOST_BITS = 10.0
"""1,000:1 either way: beyond it the line of the likeness no longer differs in print."""

BREAKDOWN = "numerical_breakdown"
"""Causes of this kind need a value that is not finite; where every value is, they are none."""

FAILURES = frozenset({"crash", "oom", "hang"})
"""Causes of these kinds need a failure that was seen: numbers alone do not tell why a process died."""


EXCLUDED = 0.02
"""Share by rules, 1:50, of a cause that the evidence of this run speaks against. Where they call another one likely, what
runs with such numbers mostly have is no reason to name it: of 1,746 small trainings 18 more are told right, of 764 public runs one less."""

STRANGE = 0.55
"""Share that no other cause reaches where words are like those of no message that is known: below it every second is right."""

BEHIND = 1e-6
"""What holds a rival behind the first."""


NEXT_SHARES = (0.55, 0.12, 0.08, 0.05, 0.04)
"""Of what is left for other causes, what the likeliest others by words hold, in their order, however small their own shares: of 261
first answers that were wrong on 1,584 public failures, sets held out, the next by words was right in 55 %, the one after it in 12."""


class Alike(NamedTuple):
    """How labelled runs are like this one.

    Attributes:
        facts: Where the facts on them begin.
        candidate: Id of the line on a cause that no rule found.
        says: What such a candidate says of the run.
        because: What the line says before the share.
        kinds: Kinds of causes of which likeness knows as much as rules.
    """

    facts: str
    candidate: str
    says: str
    because: str
    kinds: frozenset[str]


NUMBERS = Alike(
    "likeness.",
    LIKENESS,
    "its numbers are like those of runs that failed for known reasons",
    "of labelled public runs with such numbers that had a fault",
    POOLED,
)
WORDING = Alike(
    "message.",
    WORDS,
    "it ended in words like those of runs that failed for known reasons",
    "of labelled logs and messages with such words",
    FAILURES,
)


def pooled(
    facts: Mapping[str, Scalar], rules: RuleSet, weighed: Mapping[str, Scored], by: Alike
) -> Iterator[Scored]:
    """The causes of the pool, in no order.

    The rule of a cause that was not weighed lends its text and fixes; its own evidence, which was not found, is left out. What
    no rule bears out (``REPORTED``) is a candidate, and never likelier than not.

    Args:
        facts: Known facts of the run.
        rules: Rules in use.
        weighed: Causes that rules weighed for this run.
        by: How labelled runs are like this one.
    """
    alike = _alike(facts, by)
    if not alike or (by is WORDING and _ended_well(facts)):
        return
    mixed = list(_led_by_rules(list(_each(facts, rules, weighed, alike, by)), weighed.values(), alike, by))
    if by is WORDING and mixed:
        mixed = list(_with_rest(mixed, alike))
    yield from mixed


def _with_rest(mixed: Sequence[Scored], alike: Iterable[str]) -> Iterator[Scored]:
    """The same causes; what is left beside them is shared among the next by words (``NEXT_SHARES``)."""
    first = max(mixed, key=lambda item: item.probability)
    left = max(0.0, 1.0 - sum(item.probability for item in mixed))
    others = (cause for cause in alike if cause != first.rule.entry.id)
    more = {cause: left * share for cause, share in zip(others, NEXT_SHARES, strict=False)}
    for item in mixed:
        share = item.probability + more.get(item.rule.entry.id, 0.0)
        yield item if item is first else item._replace(probability=min(share, first.probability - BEHIND))


def _led_by_rules(
    mixed: Sequence[Scored], weighed: Iterable[Scored], alike: Mapping[str, tuple[str, float]], by: Alike
) -> Iterator[Scored]:
    """The same causes; a failure that rules explain (by a half) stays first, if only because its rivals are held behind it.

    Of 1,691 public failures, sets held out, the pool names 1,397 first instead of 1,329, one of three 1,513 instead of 1,374, and is
    wrong at .6 in 31 instead of 67; if words could outvote what rules explain, 1,386 first. Where words are like nothing that is
    known (``STRANGE``), what rules call likely holds its half: of 144 such answers 86 % were right, of the others held 77 %.

    Numbers outvote what no line tells much of. Where one does, and the pool named another cause, rules were right in 34 of 38
    small trainings, and the pool in 10; with weaker lines in 3 of 9 both.
    """
    lead = _leader(weighed, by)
    own = next((item for item in mixed if lead is not None and item.rule is lead.rule), None)
    if lead is None or own is None or lead.probability < HALF or (by is NUMBERS and not _tells_much(lead)):
        yield from mixed
        return
    rival = max((share for cause, (_, share) in alike.items() if cause != lead.rule.entry.id), default=0.0)
    least = HALF if lead.probability >= LIKELY and rival < STRANGE else JUST_BELOW_HALF
    most = max(least, own.probability)
    for item in mixed:
        yield item._replace(probability=most if item is own else min(item.probability, most - BEHIND))


def _leader(weighed: Iterable[Scored], by: Alike) -> Scored | None:
    """The likeliest cause by rules, of the kinds of which those alike tell as much."""
    known = (
        item
        for item in weighed
        if item.rule.symptom_kind in by.kinds and item.rule.entry.kind not in ORDINARY
    )
    return max(known, key=lambda item: item.probability, default=None)


def _tells_much(lead: Scored) -> bool:
    """Whether a line of this run alone makes a cause many times as likely as it was."""
    return any(e.counted and e.verdict and e.bits >= TELLING_BITS for e in lead.lines)


def _each(
    facts: Mapping[str, Scalar],
    rules: RuleSet,
    weighed: Mapping[str, Scored],
    alike: Mapping[str, tuple[str, float]],
    by: Alike,
) -> Iterator[Scored]:
    """Every cause that either names, with the mean of both opinions."""
    lead = _leader(weighed.values(), by)
    is_clear = lead is not None and lead.probability >= LIKELY
    for cause in {**alike, **weighed}:
        known = weighed.get(cause)
        rule = rules.by_id(cause) if known is None else known.rule
        if rule is None:
            continue
        place, share = alike.get(cause, ("", 0.0))
        is_found = known is not None and known.probability >= REPORTED
        outdone = known is not None and known.probability < EXCLUDED and is_clear
        if place and not is_found and by is NUMBERS and (outdone or _refuted(rule, facts)):
            place, share = "", 0.0
        judged = rule.symptom_kind in by.kinds and (by is NUMBERS or _is_known_to_words(cause))
        if known is not None and (place or (judged and rule.entry.kind not in ORDINARY)):
            yield _mixed(known, place, share, by, is_found=is_found)
        elif place:
            yield _mixed(Scored(rule._replace(says=by.says), (), 0.0), place, share, by, is_found=False)


def stands_alone(leader: Scored, facts: Mapping[str, Scalar], by: Alike) -> bool:
    """Whether a cause needs no other runs: a value or a line tells by itself, or settings and probes bear it out.

    Of a failure that was written down lines and settings are what others are like.
    """
    if by is NUMBERS and leader.probability >= LIKELY and is_plain(leader.rule, facts):
        return True
    told = (e for e in leader.lines if e.counted and e.verdict and e.bits > 0)
    more = TOLD if by is NUMBERS else PROBED
    return sum(e.bits for e in told if any(n.startswith(more) for n in e.line.test.names)) >= ENOUGH_TOLD_BITS


def _is_known_to_words(cause: str) -> bool:
    """Whether any message of a cause was learned; of one of a pack words have no opinion."""
    from analyzer.detect.failures.unknown_message import shipped_messages  # noqa: PLC0415  (numbers do not need it)

    return cause in shipped_messages().causes


def _ended_well(facts: Mapping[str, Scalar]) -> bool:
    """Whether logs with such words are mostly those of sound runs, and no failure is known of this one."""
    sound = facts.get("message.sound")
    return facts.get("failure.seen") is not True and isinstance(sound, float) and sound >= HALF


def _alike(facts: Mapping[str, Scalar], by: Alike) -> dict[str, tuple[str, float]]:
    """Of each cause that labelled runs alike had its place among them and its probability."""
    found: dict[str, tuple[str, float]] = {}
    for place in PLACES:
        cause, share = facts.get(f"{by.facts}{place}"), facts.get(f"{by.facts}{place}_probability")
        if isinstance(cause, str) and isinstance(share, float):
            found[cause] = (place, share)
    return found


def _mixed(known: Scored, place: str, share: float, by: Alike, *, is_found: bool) -> Scored:
    """A cause with the mean of both opinions, and the line that says what the likeness made of it."""
    cause = known.rule.entry.id
    both = OF_RULES * known.probability + (1.0 - OF_RULES) * share
    if not is_found:
        both = min(both, JUST_BELOW_HALF)
    bits = round(max(-MOST_BITS, min(MOST_BITS, _log_odds(both) - _log_odds(known.probability))), 1)
    name = ALIKE if is_found else by.candidate
    test = f'{by.facts}{place} == "{cause}"' if place else f'{by.facts}first != "{cause}"'
    because = f"{by.because}, {share:.0%} had this cause"
    line = EvidenceLine(name, compile_condition(test, name), because, bits, 0.0)
    entry = LedgerLine(line, verdict=True, bits=bits, counted=True)
    return Scored(known.rule, (*known.lines, entry), known.bits + bits, both)


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-3), 1.0 - 1e-3)
    return math.log2(share / (1.0 - share))


def _refuted(rule: Rule, facts: Mapping[str, Scalar]) -> bool:
    """Whether this run cannot have had it: a crash that nobody saw, or values that are not finite where all are."""
    kind = rule.entry.symptom_kind
    return (kind in FAILURES and facts.get("failure.seen") is not True) or (
        kind == BREAKDOWN and facts.get("signal.exact.all_finite") is True
    )
