"""What rules weighed and what labelled runs alike turned out to be, as one probability of each cause.

Alike are runs with such numbers where the course of the run leads, and those that ended in such words where a failure was written.

A pool of logarithms with "none of them" beside the causes (a conditional logit): the odds of a cause are a product of powers of what
rules, words and numbers say of it, and the powers were fitted (``classifier/pool.py``). Of 193 failures with such words that neither rules nor
models knew it names 169 first, the mean of both opinions 163, rules alone 153; of 107 runs with such numbers 83, the mean 84, rules alone 51.
Rules alone decide whether a run is accused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from analyzer.detect.likeness.places import PLACES
from analyzer.expr import compile_condition, evaluate, is_number
from analyzer.model.diagnosis import ALIKE, LIKENESS, WORDS, Finding
from analyzer.model.labels import ORDINARY, REST
from analyzer.model.tables import Scalar
from analyzer.model.wording import LIKELY, REPORTED
from analyzer.record import NamedTuple
from analyzer.rules.causes import rules_root
from analyzer.rules.folding import Folding
from analyzer.rules.load import RuleSet
from analyzer.rules.schema import EvidenceLine, Rule
from analyzer.rules.score import LedgerLine, Ranking, Scored
from analyzer.rules.shape_line import POOLED, is_plain
from analyzer.rules.tree import HALF, JUST_BELOW_HALF, classes_above

FILE = "pool.json"
"""Of the weights, beside the rules."""

PROBED = ("compare.", "signal.module.", "signal.replay.", "signal.rerun.", "signal.anomaly.")
"""Facts that no log tells: another run, what hooks and replays saw."""

TOLD = ("config.", "event.", *PROBED)
"""Facts by which a run tells more than the course of its numbers."""

ENOUGH_TOLD_BITS = 2.0
"""Of lines that read such facts: 4:1. What bears out a cause so far is judged by its rule; labelled runs hardly had such traces."""

TELLING_BITS = 4.0
"""16:1 by one line: what was looked for in this run, where the likeness sees only that most such runs had another cause."""

BEHIND = 1e-6
"""What holds a rival behind the first."""

EXCLUDED = 0.02
"""Share by rules, 1:50, of a cause that the evidence of this run speaks against. Where they call another one likely, what runs with such
numbers or words mostly have is no reason to name it: of 1,746 small trainings 18 more are told right, of 764 public runs one less, of 600
failures with words as many."""

REFUTES_BITS = -8.0
"""1:256 against a cause by one line of its rule: what runs with such numbers or words had is no reason to name it for this one."""

MOST_BITS = 10.0
"""1,000:1 either way: beyond it the line of the likeness no longer differs in print."""

BREAKDOWN = "numerical_breakdown"
"""Causes of this kind need a value that is not finite; where every value is, they are none."""

FAILURES = frozenset({"crash", "oom", "hang"})
"""Causes of these kinds need a failure that was seen: numbers alone do not tell why a process died."""


GUESS_OF_UNKNOWN = 0.4
"""Probability below which the words of a log that holds no known line tell nothing: of ten such guesses for unseen logs two were right,
and plain prose gets them too."""


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


def weighed_causes(ranking: Ranking, folded: Folding) -> dict[str, Scored]:
    """What rules weighed of each cause of the kinds that another does not account for."""
    return {
        item.rule.entry.id: item
        for kind, items in ranking.kinds.items()
        if kind not in folded["*"]
        for item in items
    }


def is_written(facts: Mapping[str, Scalar]) -> bool:
    """Whether a failure, or at least an error, was written down."""
    return facts.get("failure.seen") is True or facts.get("event.error_line.seen") is True


def _is_faint(facts: Mapping[str, Scalar]) -> bool:
    """Whether a line reads like an error and like none that is known, below rows that show that nothing was learned."""
    score = facts.get("message.first_score")
    known = isinstance(score, float) and score >= HALF
    unlearned = facts.get("signal.progress.learned") is False and facts.get("failure.seen") is not True
    return unlearned and not known


def asked(leading_kind: str | None, facts: Mapping[str, Scalar]) -> Alike:
    """Which labelled runs are asked: of a failure that was written those with such words, of a course those with such numbers.

    Args:
        leading_kind: Symptom kind of the likeliest cause by rules; None if they name none.
        facts: Known facts of the run.
    """
    written = is_written(facts) and not _is_faint(facts)
    by_words = leading_kind not in POOLED and (written or "likeness.first" not in facts)
    return WORDING if by_words else NUMBERS


class Place(NamedTuple):
    """Where a cause stands among those that labelled runs alike had."""

    by: Alike
    name: str  # first to sixth
    cause: str
    share: float
    score: float  # about 1 for the cause of such runs


class Opinion(NamedTuple):
    """What is known of one cause before it is weighed."""

    rule: Rule
    known: Scored | None  # what rules made of it; None if they weighed none of its rules
    words: Place | None
    numbers: Place | None

    @property
    def is_found(self) -> bool:
        """Whether rules bear it out."""
        return self.known is not None and self.known.probability >= REPORTED

    @property
    def is_doubted(self) -> bool:
        """Whether this is what remains when nothing else explains a failure, and its words are likest something else.

        Of 68 such runs told at .6 and more 49 of 51 were right where the words were likest this, and 12 of 17 where they were not.
        """
        return self.rule.entry.id == REST and (self.words is None or self.words.name != PLACES[0])

    @property
    def marks(self) -> tuple[float, ...]:
        """What is weighed of it: 1, the log odds by rules in bits, whether rules weighed it, its scores by words and by numbers."""
        share = 0.0 if self.known is None else self.known.probability
        scores = (0.0 if place is None else place.score for place in (self.words, self.numbers))
        return (1.0, _log_odds(share), float(self.known is not None), *scores)


def opinions(
    facts: Mapping[str, Scalar], rules: RuleSet, weighed: Mapping[str, Scored], by: Alike
) -> list[Opinion]:
    """The causes that rules or labelled runs name, without those that this run cannot have had.

    The rule of a cause that was not weighed lends its text and fixes; its own evidence, which was not found, is left out.

    Args:
        facts: Known facts of the run.
        rules: Rules in use.
        weighed: Causes that rules weighed for this run.
        by: How labelled runs are like this one; of a failure that was written, runs with such numbers are heard too.
    """
    words = _alike(facts, WORDING) if by is WORDING else {}
    numbers = _alike(facts, NUMBERS)
    if (by is WORDING and (not words or ended_well(facts))) or not (words or numbers):
        return []
    # Words of tracebacks do not speak for what remains where rules explain the failure: of 5 such public runs that nobody had looked at
    # rules were right in 2, of 3,966 messages of our own in 15, and words in 3 and none.
    is_explained = any(
        item.probability >= LIKELY and item.rule.entry.kind not in ORDINARY for item in weighed.values()
    )
    if is_explained:
        words.pop(REST, None)
    found: list[Opinion] = []
    for cause in dict.fromkeys((*words, *numbers, *weighed)):
        known = weighed.get(cause)
        rule = rules.by_id(cause) if known is None else known.rule
        if rule is None:
            continue
        by_words, by_numbers = words.get(cause), numbers.get(cause)
        if known is not None and known.probability >= REPORTED:
            by_words = _with_classes(rule, words)
        elif is_explained and known is not None and known.probability < EXCLUDED:
            by_words = by_numbers = None
        elif _refuted(rule, facts):
            by_words, by_numbers = None if known is None else by_words, None
        elif _needs_more(rule, facts) or (by is WORDING and rule.symptom_kind not in by.kinds):
            by_numbers = None
        opinion = Opinion(rule, known, by_words, by_numbers)
        if opinion.words or opinion.numbers or (known is not None and _is_judged(rule, by)):
            found.append(opinion)
    return found


def _with_classes(rule: Rule, alike: Mapping[str, Place]) -> Place | None:
    """The place of a cause or of a class of it, whichever scores more: who says only the class does not speak against the cause."""
    places = (alike.get(name) for name in (rule.entry.id, *classes_above(rule.entry)))
    return max((place for place in places if place is not None), key=lambda p: p.score, default=None)


class Weights(NamedTuple):
    """Of the marks of an opinion, in the order of ``Opinion.marks``.

    Attributes:
        start: Log odds, in nats, of a cause against none of them where nothing speaks for or against it.
        rules: Nats for each bit of its log odds by rules.
        weighed: Nats for a rule that was weighed at all.
        words: Nats for a score of 1 by the words of the failure.
        numbers: Nats for a score of 1 by the course of the run.
    """

    start: float
    rules: float
    weighed: float
    words: float
    numbers: float


@lru_cache(maxsize=2)
def shipped_weights(asked: str) -> Weights:
    """The weights that come with analyzer for one kind of labelled runs: ``message.`` or ``likeness.``."""
    stored = json.loads((rules_root() / FILE).read_text(encoding="utf-8"))
    return Weights(**stored[asked])


def shares(named: Sequence[Opinion], weights: Weights) -> list[float]:
    """The probability of each cause; what they leave is that of none of them."""
    odds = [math.exp(sum(w * mark for w, mark in zip(weights, each.marks, strict=True))) for each in named]
    whole = 1.0 + sum(odds)
    return [each / whole for each in odds]


def pooled(
    facts: Mapping[str, Scalar], rules: RuleSet, weighed: Mapping[str, Scored], by: Alike
) -> Iterator[Scored]:
    """The causes of the pool, in no order. What no rule bears out (``REPORTED``), or words doubt, is never likelier than not.

    Args:
        facts: Known facts of the run.
        rules: Rules in use.
        weighed: Causes that rules weighed for this run.
        by: How labelled runs are like this one.
    """
    named = opinions(facts, rules, weighed, by)
    mixed = [
        _scored(opinion, share, by)
        for opinion, share in zip(named, shares(named, shipped_weights(by.facts)), strict=True)
    ]
    told = max(
        (item for item in mixed if _is_told(item, weighed, facts, by)),
        key=lambda item: weighed[item.rule.entry.id].probability,
        default=None,
    )
    if told is None:
        yield from mixed
        return
    most = max(told.probability, JUST_BELOW_HALF)
    left = (1.0 - most) / (1.0 - told.probability)
    for item in mixed:
        yield item._replace(probability=most if item is told else min(left * item.probability, most - BEHIND))


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


def says_nothing(findings: Sequence[Finding], facts: Mapping[str, Scalar]) -> bool:
    """Whether of a log that holds no known line no more is told than a guess by words, and they are not those of sound runs."""
    tells = any(not each.words_only or each.probability >= GUESS_OF_UNKNOWN for each in findings)
    return not tells and not (ended_well(facts) and not is_written(facts))


def ended_well(facts: Mapping[str, Scalar]) -> bool:
    """Whether logs with such words are mostly those of sound runs, and no failure is known of this one."""
    sound = facts.get("message.sound")
    return facts.get("failure.seen") is not True and isinstance(sound, float) and sound >= HALF


def _is_told(item: Scored, weighed: Mapping[str, Scored], facts: Mapping[str, Scalar], by: Alike) -> bool:
    """Whether rules hold a cause for likelier than not and one line of this run alone tells much of it.

    Of a failure that was written, a line that looks at a number: that something was said, words know as well. Numbers do not outvote
    it: where the pool named another cause, rules were right in 34 of 38 small trainings, and the pool in 10; with weaker lines in 3 of 9 both.
    """
    known = weighed.get(item.rule.entry.id)
    if known is None or known.probability < HALF or known.rule.entry.kind in ORDINARY:
        return False
    lines = (e.line for e in known.lines if e.counted and e.verdict and e.bits >= TELLING_BITS)
    return any(by is NUMBERS or any(is_number(facts.get(n)) for n in line.test.names) for line in lines)


def _is_judged(rule: Rule, by: Alike) -> bool:
    """Whether labelled runs that do not name a cause speak against it."""
    if rule.symptom_kind not in by.kinds or rule.entry.kind in ORDINARY:
        return False
    return by is NUMBERS or _is_known_to_words(rule.entry.id)


def _alike(facts: Mapping[str, Scalar], by: Alike) -> dict[str, Place]:
    """Of each cause that labelled runs alike had its place among them."""
    found: dict[str, Place] = {}
    for name in PLACES:
        cause, share, score = (facts.get(f"{by.facts}{name}{end}") for end in ("", "_probability", "_score"))
        if isinstance(cause, str) and isinstance(share, float) and isinstance(score, float):
            found[cause] = Place(by, name, cause, share, score)
    return found


def _scored(opinion: Opinion, share: float, by: Alike) -> Scored:
    """A cause with its probability, and the line that says what labelled runs made of it."""
    cause = opinion.rule.entry.id
    known = opinion.known or Scored(opinion.rule._replace(says=by.says), (), 0.0)
    is_sure = opinion.is_found and not (by is WORDING and opinion.is_doubted)
    both = share if is_sure else min(share, JUST_BELOW_HALF)
    bits = round(max(-MOST_BITS, min(MOST_BITS, _log_odds(both) - _log_odds(known.probability))), 1)
    place = opinion.words or opinion.numbers
    told = by if place is None else place.by
    name = ALIKE if opinion.is_found else told.candidate
    test = (
        f'{told.facts}first != "{cause}"' if place is None else f'{told.facts}{place.name} == "{place.cause}"'
    )
    had = "this cause" if place is None or place.cause == cause else f"{place.cause}, a class of it"
    because = f"{told.because}, {0.0 if place is None else place.share:.0%} had {had}"
    line = EvidenceLine(name, compile_condition(test, name), because, bits, 0.0)
    entry = LedgerLine(line, verdict=True, bits=bits, counted=True)
    return Scored(known.rule, (*known.lines, entry), known.bits + bits, both)


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-3), 1.0 - 1e-3)
    return math.log2(share / (1.0 - share))


def _refuted(rule: Rule, facts: Mapping[str, Scalar]) -> bool:
    """Whether a line of its rule says that this run cannot have had it."""
    return any(line.if_true <= REFUTES_BITS and evaluate(line.test, facts) is True for line in rule.evidence)


def _needs_more(rule: Rule, facts: Mapping[str, Scalar]) -> bool:
    """Whether numbers cannot tell of it: a crash that nobody saw, values that are not finite where all are."""
    kind = rule.entry.symptom_kind
    unseen = kind in FAILURES and facts.get("failure.seen") is not True
    return unseen or (kind == BREAKDOWN and facts.get("signal.exact.all_finite") is True)
