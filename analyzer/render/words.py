"""Evidence and checks in plain words: what was seen, why it counts, what an answer would mean. No bits, no fact names.

The words of a fact are those of the catalogue; ``--all`` keeps names and bits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from analyzer.facts.catalog import spec_of
from analyzer.lazy_regex import LazyRegex
from analyzer.model.diagnosis import Diagnosis, Evidence, Finding, NextCheck
from analyzer.model.tables import Scalar
from analyzer.model.wording import format_scalar, percent
from analyzer.render.sentences import because_here, is_of_likeliest, telling

LONG = 110
"""Characters from which the words of a fact are left to ``--all``: the reason stands beside them anyway."""

_CODES = frozenset({"exception.complaint", "ended.stops_behind"})
"""Facts whose values are words of ours: the reason beside them says the same in a sentence."""

STRONGEST = 3
"""Lines of evidence that a person takes in before they look at the fix."""


def strongest(finding: Finding, count: int = STRONGEST) -> list[Evidence]:
    """The lines that decide, those for the cause first; at most one speaks against it, and only if it is more than a hint."""
    raising = telling(finding.speaks_for(), show_all=False)
    lowering = [
        line
        for line in finding.speaks_against()
        if abs(line.bits) >= 1.5 and not is_of_likeliest(line, finding.cause.id)
    ][:1]
    return [*raising[: count - len(lowering)], *lowering]


def seen_in_words(evidence: Evidence, known: Collection[str] = ()) -> str:
    """What was seen, ``the scale ends at its configured minimum``; empty where the cited line says it better."""
    told = {
        name: words
        for name, value in evidence.values.items()
        if name not in known
        and name not in _CODES
        and (words := fact_in_words(name, value))
        and len(words) <= LONG
        and not _says_the_same(evidence.because, words, value)
    }
    repeats = any(
        isinstance(value, bool) and _says_the_same(evidence.because, fact_in_words(name, value), value)
        for name, value in evidence.values.items()
    )
    if repeats:  # the reason says what was seen; beside it only figures are news
        told = {name: words for name, words in told.items() if not isinstance(evidence.values[name], bool)}
    # what is not so is told only where nothing else can be: a line is quoted below its reason
    so = [words for name, words in told.items() if evidence.values[name] is not False]
    if not so and not any(place.text for place in evidence.refs[:1]):
        so = list(told.values())
    return "; ".join(so[:2])


def grounds(evidence: Evidence, known: Collection[str] = ()) -> str:
    """What was seen, and after an arrow why it counts."""
    seen = seen_in_words(evidence, known)
    return f"{seen} → {because_here(evidence)}" if seen else because_here(evidence)


def ledger_in_words(evidence: Evidence) -> list[str]:
    """Each fact behind a line of the ledger as a clause, also those of log lines; the test where none is known."""
    told = [_whole_fact(name, value) for name, value in evidence.values.items()]
    return told[:LEDGER] or [evidence.test]


LEDGER = 3
"""Facts of one line that the ledger names."""


def _whole_fact(name: str, value: Scalar) -> str:
    if name.startswith("event."):
        spec = spec_of(name)
        says, _, of_it = (spec.meaning if spec else "").partition(": ")
        if name.endswith(".seen") and says:
            return f"{'no line says' if value is False else 'a line says'}: {says}"
        if of_it and not says.startswith("field "):
            return f"{says}, {of_it}: {format_scalar(value)}"
        return f"{_short_meaning(name.partition('.')[2].partition('.')[2])}: {format_scalar(value)}"
    return fact_in_words(name, value) or f"{_short_meaning(name)}: {format_scalar(value)}"


_WORD = LazyRegex(r"[A-Za-z0-9_.]{4,40}")
STEM = 4
"""Letters by which two words are held to be the same: ``loss`` and ``losses``, ``fall`` and ``falls``."""

SAME = 0.4
"""Part of the words of a fact that its reason repeats; from here on the reason alone is told."""


def _says_the_same(because: str, words: str, value: Scalar) -> bool:
    """Of a fact that is so or not; a setting is told beside its reason, which speaks of all runs with it."""
    mine, theirs = ({word[:STEM].lower() for word in _WORD.findall(text)} for text in (words, because))
    return isinstance(value, bool) and len(mine & theirs) >= SAME * max(1, len(mine))


def fact_in_words(name: str, value: Scalar) -> str:
    """A fact and its value as a clause; empty for those of log lines, which are quoted instead.

    >>> fact_in_words("config.data.padding_side", "left")
    'data padding side: left'
    """
    spec = spec_of(name)
    if spec is None or name.startswith(("event.", "classifier.", "likeness.", "message.")):
        return ""
    meaning = spec.meaning.partition(":")[0]
    if value is True:
        return meaning
    if value is False:
        return f"{meaning}: no"
    if isinstance(value, str) and value in meaning:  # the meaning lists the values that there are
        return f"{_short_meaning(name)}: {value}"
    if spec.unit == "share" and isinstance(value, float):
        return f"{meaning}: {percent(value)}"
    unit = f" {spec.unit}" if spec.unit and spec.unit != "step" else ""
    return f"{meaning}: {format_scalar(value)}{unit}"


def _lower(text: str) -> str:
    """The text as it stands within a sentence; names such as ZeRO and NaN keep their letters."""
    first = text.partition(" ")[0]
    return text if any(letter.isupper() for letter in first[1:]) else text[:1].lower() + text[1:]


_OPERATORS = (
    (" not in ", " is none of "), (" in ", " is "), (" == ", " is "), (" != ", " is not "), (" >= ", " is at least "),
    (" <= ", " is at most "), (" > ", " is above "), (" < ", " is below "),
)  # fmt: skip
_LIST = LazyRegex(r"\[([^\[\]]*)\]")


def _one_of(found: re.Match[str]) -> str:
    """``["a", "b", 3]`` as ``“a”, “b” or 3``: marked, since a word such as not_precision would turn the sentence round."""
    items = (item.strip() for item in found[1].split(","))
    *others, last = (f"“{item[1:-1]}”" if item[:1] in {"'", '"'} else item for item in items)
    return f"{', '.join(others)} or {last}" if others else last


_DETERMINERS = frozenset(
    {"a", "an", "at", "how", "its", "some", "that", "the", "what", "where", "whether", "which"}
)
"""First words of a meaning that need no article before them."""

_NAME = LazyRegex(r"\b[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+\b")


def question_in_words(check: NextCheck) -> str:
    """What the check asks, as a clause that can be true or not."""
    text = _asked_part(check.test, check.fact) or check.fact
    if text == check.fact:
        return check.meaning.partition(":")[0]
    if text == f"not {check.fact}":
        return f"it is not the case that {_lower(check.meaning)}"
    if text in {f"{check.fact} == false", f"{check.fact} == False"}:
        return f"it is not the case that {_lower(check.meaning)}"
    empty = re.fullmatch(re.escape(check.fact) + r""" (==|!=) (?:""|'')""", text)
    if empty is not None:
        told = _amount(check.fact, check.meaning).partition(",")[0]
        return f"it {'does not tell' if empty[1] == '==' else 'tells'} {told}"
    for sign, words in _OPERATORS:
        text = text.replace(sign, words)
    text = text.replace(f" and {check.fact} is ", " and ")  # two bounds of one number
    text = _LIST.sub(_one_of, text).replace("'", "").replace('"', "")
    meanings = {check.fact: check.meaning}
    return _NAME.sub(
        lambda match: _amount(match[0], meanings.get(match[0], "")), text.replace(" * ", " times ")
    )


def _amount(name: str, meaning: str) -> str:
    """A fact within a comparison: ``the median root mean square of the ordinary rows``."""
    spec = spec_of(name)
    words = (meaning or (spec.meaning if spec else "")).partition(":")[0]
    words = words if 0 < len(words) <= SHORT else _short_meaning(name)
    return words if words.partition(" ")[0] in _DETERMINERS else f"the {words}"


def _asked_part(test: str, fact: str) -> str:
    """The parts of a plain chain of ``and`` or of ``or`` that the unknown fact decides; of others the whole test."""
    if _is_nested(test):
        return test
    joint = " or " if " or " in test else " and "
    return joint.join(part for part in test.split(joint) if fact in part)


def _is_nested(test: str) -> bool:
    return "(" in test or (" or " in test and " and " in test)


def _short_meaning(name: str) -> str:
    """A fact within a condition: its last words, ``rerun verdict`` for ``signal.rerun.verdict``."""
    return name.removeprefix("signal.").removeprefix("config.").replace(".", " ").replace("_", " ")


def answers_in_words(check: NextCheck) -> str:
    """``if yes: 98% for CAUSE, if not: 2%``, with the question; a nested one is left to what is seen then."""
    if _is_nested(check.test):
        most, least = sorted((check.if_true, check.if_false), reverse=True)
        return f"depending on what it shows, {check.cause_id} is then {percent(most)} or {percent(least)} probable"
    lower = check.if_true < check.if_false
    other = "another cause is likelier, " if lower and check.if_true < HALF else ""
    only = "only " if lower else ""
    return (
        f"if {question_in_words(check)}: {other}{only}{percent(check.if_true)} for {check.cause_id}; "
        f"if not: {percent(check.if_false)}"
    )


HALF = 0.5
"""Below it other causes together are likelier."""


SHORT = 70
"""Characters up to which the meaning of a fact can stand within a condition."""

RIVAL_FROM = 0.02
"""Probability from which another cause is named on the first screen: 1 in 50."""

RIVALS = 2
"""Rivals named there."""


def rivals_worth_naming(diagnosis: Diagnosis, shown: Sequence[Finding]) -> list[Finding]:
    """The most probable other causes of the same trouble."""
    kinds = {finding.symptom_kind for finding in shown}
    ids = {finding.cause.id for finding in shown}
    rest = [
        finding
        for finding in diagnosis.findings
        if finding.symptom_kind in kinds and finding.cause.id not in ids and finding.probability >= RIVAL_FROM
    ]
    return sorted(rest, key=lambda finding: -finding.probability)[:RIVALS]
