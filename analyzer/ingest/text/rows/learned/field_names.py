"""The name before a number without the words that only lead to it: ``with the average loss`` is ``average_loss``."""

from __future__ import annotations

from itertools import pairwise

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import (
    RIVALS,
    is_score,
    names_memory,
    read_name,
    says_no_quantity,
    word_set,
    words_of,
)

_SENTENCE = LazyRegex(r"(?<=[^\W\d_]{4})\. ")
_LEVELS = LazyRegex(r"\b(?:INFO|DEBUG) ")
MEASURED_WHEN = LazyRegex(
    r"(?i)(?<=\w) (?:(?:after|over|across|during)(?: (?!train|val|test|dev|eval)[a-z]{1,12}){1,3}|(?:of|for|in|per) (?:the |this )?(?:epoch|step|iteration|batch|round|episode|run))(?: (?:is|was))?$"
)
"""Behind a quantity, when it was measured: ``Average loss after inner updates``, ``acc over epoch``."""
_FILLERS = frozenset({"the", "a", "with", "and", "current", "curr", "cur", "is", "at", "of", "info", "got", "has", "now", "for", "in", "on", "this", "then", "none", "hz", "finished", "ended"})  # fmt: skip
_VERBS = frozenset({"is", "are", "was", "were"})
"""Words between a name and its sign: ``loss is: 0.5``."""
_PAST = frozenset({"best", "lowest", "highest", "minimum", "min", "max", "last", "previous", "prev", "initial", "target", "old", "final", "so", "worst", "ewm"})  # fmt: skip
_LAST = frozenset({("last", "reward"), ("last", "return"), ("last", "lr")})
"""Of the episode that has just ended, and the rate as schedulers call it."""
_PLAYERS = frozenset({"actor", *(word for word in RIVALS if len(word) > 2)})
"""Whose loss it is: ``generator average loss`` is not the loss of the run."""


def trimmed(name: str, most: int) -> str:
    """A name without the words that only lead to it, as one word; empty for a sentence or a thing of the past.

    >>> trimmed("Gen Loss Total", 4), trimmed("with the average loss", 4), trimmed("best val loss", 4)
    ('Gen_Loss_Total', 'average_loss', '')
    >>> trimmed("actor INFO mean return", 4), trimmed("Final test accuracy", 4), trimmed("Final loss", 4)
    ('mean_return', 'test_accuracy', '')
    """
    name = _LEVELS.split(_SENTENCE.split(name)[-1])[-1]
    name = MEASURED_WHEN.sub("", name) if MEASURED_WHEN.search(name) else name
    words = name.replace(". ", " ").replace(".-", "-").replace(" / ", "/").removesuffix(" so far").split(" ")
    while words and words[0].lower().strip(".") in _FILLERS and not _is_abbreviation(words):
        words = words[1:]
    while words and words[-1].lower() in _VERBS and not _is_abbreviation(words):
        words = words[:-1]
    if len(words) > 1 and words[0].lower() in {"final", "initial"} and read_name(words[1]).phase == "eval":
        words = words[1:]  # measured at an end of the run, and no memory of an earlier row
    words = [word for word in words if word.lower() != "the"]
    if words_of(name) in _LAST:
        return "_".join(words)
    past = [
        word for before, word in pairwise(["", *words]) if before.lower() != "on"
    ]  # "Acc on target" is none
    if (
        any(
            part in _PAST for word in past for part in words_of(_OF_TARGET.sub("", word).removesuffix("_old"))
        )
        and not names_memory(name)
        and not _is_extreme(words)
    ):
        return ""
    if len(words) - bool(words and read_name(words[0]).phase) > most:  # "eval point avg class acc"
        return known_tail(" ".join(words))
    return "_".join(words).strip("._- ")


def _is_abbreviation(words: list[str]) -> bool:
    """Whether a name is one word in capitals, which leads to no other: ``IS``, the Inception Score, or ``IN``, a loss at an inlet."""
    return len(words) == 1 and len(words[0]) > 1 and words[0].isupper()


def _is_extreme(words: list[str]) -> bool:
    """Whether a name is one word that begins with an extreme of what is no loss or score: ``MaxCurv`` is measured now, and no memory.

    >>> _is_extreme(["MaxCurv"]), _is_extreme(["max_loss"]), _is_extreme(["max", "curve"])
    (True, False, False)
    """
    parts = words_of(words[0]) if len(words) == 1 else ()
    return (
        len(parts) > 1
        and parts[0] in _EXTREMES
        and not read_name(words[0]).quantity
        and not is_score(words[0])
    )


_OF_TARGET = LazyRegex(r"(?:^|(?<=/))target[_/](?=\w)")
"""A network, or an output, that is called the target: what stands behind is measured of it."""
_EXTREMES = word_set("max min")


_CHANGES = LazyRegex(r"(?i)\b(?:change|decrease|increase|improvement|difference|reduction) (?:of|in)\b")
"""By how much a quantity changed is not what it is: ``Change of loss [1e-05] < tolerance``."""


def known_tail(name: str) -> str:
    """The last words of some text that together name a quantity, as one word; empty if they name none.

    >>> known_tail("at this point train loss"), known_tail("eval OddLossTerm"), known_tail("generator average loss")
    ('train_loss', 'eval_OddLossTerm', 'generator_average_loss')
    """
    words = name.replace(". ", " ").split(" ")
    if words_of("_".join(words[-2:])) in _LAST:
        return "_".join(words[-2:])
    if _CHANGES.search(name) or any(part in _PAST for word in words[-4:] for part in words_of(word)):
        return ""
    best, taken = "", 0
    for count in range(1, min(len(words), 4) + 1):
        candidate = "_".join(words[-count:])
        reading = read_name(candidate)
        if (
            (reading.quantity and reading.whole)
            or canonical_metric(candidate) in METRICS
            or (not best and count == 1 and reading.quantity in {"loss", "accuracy"} and not reading.setting)
            or ((count == 1 or (count == 2 and reading.phase)) and is_score(words[-1]))
        ):
            best, taken = candidate, count
    ahead = words[-taken - 1] if 0 < taken < len(words) else ""
    is_phase = read_name(ahead).phase in {"train", "eval"} and not read_name(best).phase
    if ahead.isalpha() and (is_phase or ahead.lower() in _PLAYERS):
        return f"{ahead}_{best}".strip("._-")
    first = words[-len(best.split("_")) - 1 : -len(best.split("_"))] if best else []
    # "Semantic loss 0.5" and "Read mse loss 0.5" are parts of the loss; only words that say nothing more may be left out.
    if best.lower() in {"loss", "acc", "accuracy"} and first and first[0].lower() not in _FILLERS and first[0].isalpha():  # fmt: skip
        all_told = all(says_no_quantity(word.lower()) for word in words[:-2])  # "Average Regression Loss 0.5"
        if all_told or read_name(first[0]).quantity:
            return "_".join(words if all_told else words[-2:])
    return best.strip("._-")
