"""What a row tells of its values besides: their means so far and their best, each a series of its own that no curve is made of.

Loss 0.5 (0.6)   Acc@1: 71.5% (avg 70.2%)   val acc 0.5, best 0.75   Best valid accuracy: 0.75  current accu: 0.5

A mean over the rows before lags behind the value: it hides the first row of a spike and rises from its start at 0 while the
loss falls. So the value stays what is judged, and the mean is kept as one of its epoch, which no curve of steps is made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.rows.learned.line_fields import BESIDE, MEANS, SIGNED, Field, names_time
from analyzer.ingest.text.rows.learned.line_masks import FLOAT, INT
from analyzer.ingest.text.rows.learned.line_places import slot_at
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, read_name, word_set, words_of
from analyzer.record import NamedTuple

_BEHIND = LazyRegex(
    rf"(?P<head>[{INT}{FLOAT}])(?P<unit>[a-z%]{{0,2}})(?:,? {{0,3}}\( {{0,8}}(?P<mean>{FLOAT})(?P<of>[a-z%]{{0,3}})\)"
    rf"|,?(?:\s{{0,3}}[(\[|/;]|\s)\s{{0,3}}(?P<word>(?i:avg|ave|average|mean|running|smoothed|best|lowest|highest|min|max|ema))\.?(?i: so far)?(?: {{0,3}}[:=])?\s{{0,3}}(?P<value>{FLOAT}))"
)
"""A number behind a value, in parentheses or with a word that says only how it was made of the like of that value."""
_IN_PARENTHESES = LazyRegex(
    rf"[{INT}{FLOAT}]%? ?[(\[](?P<name>[A-Za-z][\w.-]{{0,20}}) ?[:=]? ?(?P<value>{FLOAT})%?[)\]]"
)
_MEANS = MEANS | word_set("ave running smoothed")
_BEST = word_set("best lowest highest")
_ENDS = _BEST | word_set("max min")
"""What a row may tell of the same values beside their mean."""
_ALONE = _MEANS | _ENDS
"""Words that name nothing alone: what ``avg: 0.5`` is of stands before it."""
_POINTS = (("score",), ("reward",), ("return",), ("fitness",))
"""What may be counted in whole numbers."""
_SET = frozenset({"learning_rate", "loss_scale"})
OF_EPOCH = "epoch/"
"""What begins the names of means over an epoch."""


class Aside(NamedTuple):
    """A number that tells of a value of its row."""

    slot: int  # which number
    name: str  # that of the value, with what was made of it
    unit: str  # printed after it


def asides(text: str, used: frozenset[int], values: Iterable[Aside]) -> list[Aside]:
    """The means and bests of the values of a row.

    Args:
        text: The masked row.
        used: Numbers that say where it stands.
        values: The values that are read of it.

    >>> row = f"Loss {FLOAT} ({FLOAT}) acc {FLOAT}% | best {FLOAT}%, Best val acc: {FLOAT}"
    >>> [aside.name for aside in asides(row, frozenset(), [Aside(0, "Loss", ""), Aside(2, "acc", "%")])]
    ['Best_val_acc', 'epoch/Loss_avg', 'best_acc']
    >>> row = f"f1 {FLOAT} ({FLOAT}s) loss {FLOAT} ({FLOAT})"
    >>> [aside.name for aside in asides(row, frozenset(), [Aside(0, "f1", ""), Aside(2, "loss", "")])]
    ['epoch/loss_avg']
    """
    named = {value.slot: value for value in values if not _ALONE.issuperset(words_of(value.name))}
    found = {aside.slot: aside for aside in _named_ends(text, used | named.keys(), named.values())}
    for match in _BEHIND.finditer(text):
        head = named.get(slot_at(text, match.start("head")))
        # a unit that the value has not, as of seconds, measures something else
        if head is None or _is_of_run(head) or (match["of"] or match["unit"]) != match["unit"]:
            continue
        word = (match["word"] or "avg").lower()
        name = f"{OF_EPOCH}{head.name}_avg" if word in _MEANS else f"{word}_{head.name}"
        slot = slot_at(text, match.end("mean" if match["mean"] else "value") - 1)
        found.setdefault(slot, Aside(slot, name, head.unit))
    both = _of_both(text, named)
    found |= both
    taken = {value.name for value in named.values()}
    kept = {
        aside.name: aside
        for aside in found.values()
        if aside.slot not in used | named.keys() or aside.slot in both
    }
    return [aside for name, aside in kept.items() if name not in taken]


def _of_both(text: str, named: Mapping[int, Aside]) -> dict[int, Aside]:
    """What is told in parentheses behind several values by one word is of each of them: ``WER: 0.5 (corpus: 0.6) CER: 0.2 (corpus: 0.3)``."""
    behind = [
        (named.get(slot_at(text, match.start())), match["name"], slot_at(text, match.start("value")))
        for match in _IN_PARENTHESES.finditer(text)
    ]
    names = [name for head, name, _ in behind if head is not None]
    return {
        slot: Aside(slot, f"{head.name}_{name}", head.unit)
        for head, name, slot in behind
        if head is not None and names.count(name) > 1 and not (_is_of_run(head) or _measures([name]))
    }


def without_asides(values: Mapping[str, float]) -> dict[str, float]:
    """The values of a row that do not only tell of another one; all of them where there are no others.

    >>> without_asides({"loss": 0.5, "epoch/loss_avg": 0.75, "best_acc": 0.5}), without_asides({"best_acc": 0.5})
    ({'loss': 0.5}, {'best_acc': 0.5})
    """
    told = {name: value for name, value in values.items() if not _is_aside(name)}
    return told or dict(values)


def _is_aside(name: str) -> bool:
    words = words_of(name)
    return name.startswith(OF_EPOCH) or not _BEST.isdisjoint((*words[:1], *words[-1:]))


def _is_of_run(value: Aside) -> bool:
    """Whether a value is a time, a size or a setting, whose means say nothing of what is learned."""
    canonical = canonical_metric(value.name)
    unit = METRICS[canonical].unit if canonical in METRICS else ""
    return value.unit not in {"", "%"} or canonical in _SET or unit not in {"", "share", "share or percent"}


def _named_ends(text: str, used: frozenset[int], values: Iterable[Aside]) -> Iterator[Aside]:
    """What a row calls the best so far, and the ends of what it also tells: ``reward_max`` beside ``reward_mean``."""
    told = [frozenset(words_of(value.name)) | _MEANS for value in values]
    for field in _numbers_with_names(text, used):
        first, *rest = words_of(field.name)
        if rest and rest[-1] in _ENDS and first not in _ENDS:
            first, *rest = rest[-1], first, *rest[:-1]
        if rest and (
            (first in _BEST and _measures(rest))
            or (first in _ENDS and any({*rest} <= words for words in told))
        ):
            yield Aside(field.slot, field.name, "")


def best_so_far(text: str, used: frozenset[int]) -> list[Field]:
    """What a row that tells nothing else tells of the rows before it.

    >>> [found.name for found in best_so_far(f"best score so far: {FLOAT}, limit: {FLOAT}", frozenset())]
    ['best_score_so_far']
    >>> [found.name for found in best_so_far(f"Best valid_UA: {FLOAT}", frozenset())]
    ['Best_valid_UA']
    """
    named = [(field, words_of(field.name)) for field in _numbers_with_names(text, used)]
    best = [
        (field, words[1:])
        for field, words in named
        if words[:1] and words[0] in _BEST and not names_time("_".join(words[1:]))
    ]
    # what is called by its phase was measured, and so was what stands beside it
    told = any(_measures(rest) or (rest and read_name("_".join(rest)).phase) for _, rest in best)
    return [field for field, _ in best if told] + [
        field for field, words in named if words[:1] == ("max",) and is_score(field.name)
    ]


def _measures(words: Iterable[str]) -> bool:
    name = "_".join(words)
    return is_score(name) or read_name(name).quantity not in {"", *_SET}


def _numbers_with_names(text: str, used: frozenset[int]) -> Iterator[Field]:
    """Every number that has a name with a Latin letter, and is no whole one unless it counts points."""
    for match in (*SIGNED.finditer(text), *BESIDE.finditer(text)):
        slot, name = slot_at(text, match.start("value")), match["name"].replace(" ", "_")
        counts = words_of(name)[1:] in _POINTS
        if slot not in used and words_of(name) and (counts or match["value"] == FLOAT):
            yield Field(slot, name, "", signed=True, over=-1, start=match.start(), more=name.count("_"))
