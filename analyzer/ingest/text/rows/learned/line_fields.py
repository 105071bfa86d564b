"""Which number of a row is which quantity, by the words beside it, found in masked text (``line_masks``)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.rows.learned.field_names import MEASURED_WHEN, known_tail, trimmed
from analyzer.ingest.text.rows.learned.line_masks import FLOAT, INT, NUMBER, TIME
from analyzer.ingest.text.rows.learned.line_places import slot_at
from analyzer.ingest.text.rows.learned.printed_rates import BAR_RATE, RATED, names_the_next, unit_after
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import (
    NameReading,
    is_score,
    names_memory,
    read_name,
    says_no_quantity,
    word_set,
    words_of,
)
from analyzer.record import NamedTuple

# [A-Za-z\u00c0-\u1fff\u2c00-\u2dff\u3040-\uffdc_] (no dash, arrow, bullet, box or full stop of any script) and
# [\u00c0-\uffdc], by what they leave out: a class of 65,000 letters is compiled letter by letter
_LETTER = r"[^\x00-@\[-^`{-\xbf\u2000-\u2bff\u2e00-\u303f\ufe00-\ufe0f\uffdd-\U0010ffff]"
_NOT_LATIN = r"[^\x00-\xbf\uffdd-\U0010ffff]"
_WORD = (
    _LETTER
    + r"[\w]{0,60}(?:(?:[/@.+]|--?|'s )[A-Za-z_][\w]{0,40}|@\d{1,3}|(?<=[tT]op)-\d|-\d{1,2}(?:_[A-Za-z]\w{0,30}|(?= ?[:=]| - ))|[./]\d{1,3}_\w{1,30}|\.\d{1,3}(?= ?[:=])){0,8}"
)
# a hyphen before a Latin letter belongs to the word: read in two ways, a chain of hyphens took seconds
_NAME = rf"{_WORD}(?:(?: |\. |\.-| / | & |-(?={_NOT_LATIN})){_WORD}){{0,5}}"
_OPEN = r"(?:tensor\(|np\.float\d\d\(|(?:Device)?[aA]rray\()?(?:[\[(\"'{<]{1,2} {0,3})?"
_CLOSE = r"[\"'\]\u2019\u201d.]{0,2}"
SIGNED = LazyRegex(
    # a word before a sign may begin right behind a number, where the value before it ends without a blank
    rf"(?:(?<![\w/.{INT}{FLOAT}{TIME}])|(?<=[{INT}{FLOAT}])(?=(?!(?:min|sec|hours?) ?[:=])[a-z_]{{3,20}} ?[:=]))[\"'\u2018\u201c]?\[?(?P<name>{_NAME})(?P<of>\s?\([^(){INT}{FLOAT}{TIME}]{{0,24}}(?:\([^()]{{0,12}}\))?[^()]{{0,4}}\))?-?%?{_CLOSE}"
    rf"(?P<sign> {{0,2}}(?:(?:: ?)?-{{1,9}}>|={{1,4}}>|: ?=|[:=\u2192\u21d2\u2248~\u2013\u2014\u2500]){{1,2}}\s{{0,3}}| is {{1,2}}){_OPEN}(?P<value>{NUMBER})"
)
BESIDE = LazyRegex(
    rf"(?<![\w/.{INT}{FLOAT}{TIME}])[\"']?\[?(?P<name>{_NAME}){_CLOSE}(?: ?\([^(){INT}{FLOAT}]{{1,16}}\))?\s{{1,3}}(?:\|\s{{1,3}})?{_OPEN}(?P<value>{NUMBER})"
)
_AT_STEP = LazyRegex(
    rf"(?<![\w/.{INT}{FLOAT}{TIME}])(?P<name>{_NAME}?)(?: \([^(){INT}{FLOAT}]{{1,24}}\))? {{1,2}}(?:(?i:at|after|for|in|on)|@) {{1,2}}(?i:the )?(?:(?i:(?:global|train|training)[ _])?(?i:steps?|iter(?:ation)?s?|epochs?|episodes?|batch|update)\s{{0,2}}[:#]?\s{{0,2}}{INT}(?:/{INT})?(?:,? (?:and )?(?i:step|iter(?:ation)?|batch|epoch) #?{INT}(?:/{INT})?)?|{INT} (?i:steps|iter(?:ation)?s|epochs|updates))"
    rf"(?:\s{{0,3}}[:=]\s{{0,3}}| {{1,2}}(?i:is|was) {{1,2}}| )(?P<value>{NUMBER})"
)
_PAIRS = LazyRegex(
    rf"(?:^ {{0,8}}(?:\w{{1,12}} ?: )?|(?<=[\]:|>])(?: {{1,3}}|\t))(?:[A-Za-z][\w./@-]{{0,40}}(?: {{1,3}}|\t)[{INT}{FLOAT}](?:/{INT})?[,;|:]?[ \t]{{0,3}}){{3,64}}(?:$|(?<=\|)(?= ?step\b))"
)
"""What of a line, behind its head, is nothing but names and numbers in turn, or stands so before a bar: each name is that of the number behind it."""

_TWO_PAIRS = LazyRegex(
    rf"^ {{0,8}}[A-Za-z]\w{{0,30}}_\w{{1,30}} {{1,3}}{FLOAT},? {{1,3}}[A-Za-z]\w{{0,30}}_\w{{1,30}} {{1,3}}{FLOAT}$"
)
"""The same of two pairs, whose names are those of variables: ``dice_score 0.5 surface_distance 2.5``."""
_AFTER = LazyRegex(
    rf"(?P<value>{NUMBER})%? (?P<name>{_NAME})(?=[,;|)\]\t]|  | - (?!{FLOAT})| (?:@|at|on|in|after) (?:step|iter(?:ation)?|epoch) #?{INT}|\.?$)"
)
_NUMBERED = LazyRegex(rf"{INT} {{1,3}}{FLOAT}")
"""A whole number between a name and its value is part of the name, which a mask does not keep: ``Prec@5 01 77.5``."""
_HYPHENED = LazyRegex(
    rf"(?<![\w/.{INT}{FLOAT}{TIME}-])(?P<name>{_NAME})(?P<of>)(?P<sign> {{0,3}}- {{0,3}})(?P<value>{FLOAT})(?!\.?[\w-])"
)
_INDEX = LazyRegex(r"(?<=[A-Za-z])-(?=\d{1,2}$)")
_MEAN = LazyRegex(
    rf"(?:{NUMBER}[a-z%]{{0,2}},? {{1,3}}|{FLOAT})\((?P<mean> {{0,8}}{NUMBER})[a-z%]{{0,3}}\)|(?:\u00b1|\+/-) ?(?P<spread>{NUMBER})"
)
_METER = LazyRegex(rf"{NUMBER}[a-z%]{{0,2}},? {{1,3}}\( {{0,8}}{NUMBER}")
"""A value with its mean so far: whatever stands before it is its name."""
_METERS = {"time": "batch_time", "batch": "batch_time", "data": "data_time"}
_LIST = LazyRegex(rf"[\[(] {{0,3}}(?P<first>{NUMBER})(?P<rest>(?:,? {{0,2}}{NUMBER}){{1,64}})[\])]")
_QUOTIENT = LazyRegex(rf"(?P<first>{NUMBER}) ?/ ?{NUMBER} ?= ?{NUMBER}")
_STROKED = LazyRegex(rf"(?P<first>{FLOAT})(?P<rest>(?: ?/ ?{FLOAT}){{1,7}})(?! ?[=/])")
_SPACED = LazyRegex(
    rf"(?<=[:=\w])\s{{0,4}}(?P<first>{FLOAT})(?P<rest>(?:(?:, ?|\t| {{1,3}}){FLOAT}){{1,39}})(?=\s{{0,8}}(?:[;|]|$))"
)
"""Several decimals behind one sign, to the end of a cell: ``f1 scores: 0.5 0.25 0.75``."""
_NO_NAME = (
    r"(?!(?i:of|is|was|by|from|than|after|to|at|in|and|or|vs|with|for|on|took|over|under|below|above)\b)"
)
_IN_PAIRS = LazyRegex(
    rf"(?<=[(|])(?: {{0,2}}[A-Za-z]\w{{0,20}}(?= [A-Za-z]))?(?: {{0,2}}{_NO_NAME}[A-Za-z][\w./@-]{{0,40}} {{1,3}}{FLOAT}%?(?: (?:[kcm]?m(?:/s)?|px|deg|rad)(?![\w/]))?,?){{2,12}}(?= ?(?:[)|]|$))"
)
"""Names and decimals in turn between brackets or strokes, each name that of the number behind it: ``(policy 0.5 value 0.25)``, ``| grad a 0.5 b 0.25``."""
_RATIO = LazyRegex(rf"{INT} ?/ ?(?P<of>{INT})")

_OF_SEVERAL = LazyRegex(r"(?i)(?:loss(?:es)?|rewards|returns)$")
_GENERIC = frozenset({"speed", "throughput", "rate", "perf", "performance", "fps"})
_NOT_METRICS = frozenset(
    {"eta", "time", "elapsed", "date", "version", "seed", "rank", "gpu", "gpus", "pid", "port", "device", "node", "host", "size", "shape", "dim", "total", "max", "len", "length",
     "index", "idx", "id", "line", "count", "num", "number", "bs", "epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "iterations", "batch", "batches", "episode", "lr_mult",
     "mem", "memory", "cpumem", "gpumem", "images", "samples", "frames", "tokens", "workers", "threads", "eps", "wall", "train_wall", "duration", "took", "seconds", "hours", "minutes", "days",
     "remaining", "left", "loaded", "file", "path", "v_num", "momentum", "weight_decay", "wd", "beta", "alpha", "it", "n", "k", "x", "y", "args", "update", "updates", "ms", "s", "timer", "best", "cuda", "timestamp", "ts", "ep", "patience",
     "completed", "instance", "progress", "eta_seconds", "data", "net", "required", "hour", "h", "m", "min", "sec", "no", "exit", "code", "allocated", "reserved", "cached", "py", "error_code", "status", "level", "rev", "user", "sys"}
)  # fmt: skip


class Field(NamedTuple):
    """A number of a row and what it is.

    Attributes:
        slot: Which number.
        name: As printed, words joined by underscores.
        unit: Printed after it, empty if none is.
        signed: A colon or an equals sign stands between name and number.
        over: The number that it is a share of (``9500/10000``), -1 if none.
        start: Where its name begins.
        more: Words of the name beyond the first.
    """

    slot: int
    name: str
    unit: str
    signed: bool
    over: int
    start: int
    more: int = 0


def find_fields(text: str, used: frozenset[int]) -> list[Field]:
    """The quantities of a masked row, in order; of a running value and its mean the value.

    Args:
        text: Masked text in English.
        used: Numbers that say where the row stands.

    Of a list the first value counts, if it is a rate or an accuracy (of top 1, top 5), and all of a score of classes.
    """
    taken = set(used)
    quotients: dict[int, int] = {}
    shares: list[int] = []
    for match in _MEAN.finditer(text):
        group = "mean" if match["mean"] is not None else "spread"
        taken.add(slot_at(text, match.end(group) - 1))
        if "%" in match[0][match.end(group) - match.start() :] and "%" not in match[0][:2]:
            shares.append(slot_at(text, match.end(group) - 1))
    for match in _QUOTIENT.finditer(text):  # "acc: 45/60=0.75": the result counts
        first = slot_at(text, match.start("first"))
        quotients[first] = first + 2
        taken |= {first + 1}
    firsts: dict[int, int] = {}
    for match in _LIST.finditer(text):
        first = slot_at(text, match.start("first"))
        count = slot_at(match["rest"], len(match["rest"]))
        taken |= set(range(first + 1, first + 1 + count))
        firsts[first] = count
    found: dict[int, Field] = {}
    for finder, signed in (
        (_at_step, True),
        (_signed, True),
        (_rated, False),
        (_beside, False),
        (_after, False),
    ):
        for field in finder(text):
            generic = field.slot in found and finder is _rated and found[field.slot].name.lower() in _GENERIC
            if field.slot in taken or (field.slot in found and not generic):
                continue
            if _CHANGE_OF.match(text, field.start):
                continue
            if field.slot in firsts and read_name(field.name).quantity not in {"learning_rate", "accuracy"}:
                if is_score(field.name) or _OF_SEVERAL.search(field.name):
                    found |= _of_classes(field, firsts[field.slot])
                continue
            found[field.slot] = field._replace(signed=field.signed or signed or generic)
    for first, result in quotients.items():
        if first in found:
            found[result] = found.pop(first)._replace(slot=result, over=-1)
    _add_further(text, found)
    _add_shares(found, shares)
    return [found[slot] for slot in sorted(found)]


def _add_further(text: str, found: dict[int, Field]) -> None:
    """Add the numbers behind a named one that have no name of their own."""
    for lists, plural in (
        (_STROKED, False),
        (_SPACED, True),
    ):  # "loss 0.5 / 0.75": what the second is of is not said
        for match in lists.finditer(text):
            head = found.get(slot_at(text, match.start("first")))
            if head is None or not (_is_measured(head.name) or (plural and head.name.endswith("s"))):
                continue
            for place in range(1, match["rest"].count(FLOAT) + 1):
                further = head._replace(slot=head.slot + place, name=f"{head.name}_{place + 1}", over=-1)
                found.setdefault(further.slot, further)


def _is_measured(name: str) -> bool:
    return bool(read_name(name).quantity) or is_score(name) or name.endswith(")") or _is_phase(name)


def _add_shares(found: dict[int, Field], slots: list[int]) -> None:
    """No mean of a loss is a share of something: ``loss 0.5 (90.1%)``."""
    for slot in slots:
        loss = found.get(slot - 1)
        if loss is not None and not loss.unit and read_name(loss.name).quantity == "loss":
            found[slot] = loss._replace(slot=slot, name=f"{loss.name}_2", unit="%")


_CHANGE_OF = LazyRegex(r"(?i)(?:change|difference|improvement|decrease) (?:of|in) ")
"""What a value differs by from the row before is another quantity: ``Change of loss [1e-05]``."""

MAX_CLASSES = 40
"""Numbers of a list of scores that are kept, each as the score of a class; data sets with more print means."""


def _of_classes(first: Field, more: int) -> dict[int, Field]:
    """The scores of classes that are printed as a list: ``Pseudo dice [0.5, 0.25]``."""
    return {
        first.slot + place: first._replace(slot=first.slot + place, name=f"{first.name}_{place}", over=-1)
        for place in range(min(more + 1, MAX_CLASSES))
    }


_COUNTED = LazyRegex(rf"{INT} {{1,2}}(?={FLOAT}\s{{0,4}}$)")
"""A counter between a name and the only value, as ``print("loss:", epoch, loss)`` writes it."""
_IN_ROUNDS = LazyRegex(rf"\[\({INT}, {{0,2}}{NUMBER}\)")
"""A list of pairs, each a round and what was measured in it: its first number is no value of the name before it."""


def _signed(text: str) -> Iterator[Field]:
    named: dict[str, str] = {}
    for match in (*SIGNED.finditer(text), *_hyphened(text)):
        name = _INDEX.sub("_", trimmed(_behind_rate(text, match.start(), match["name"]), most=4))
        if _IN_ROUNDS.match(text, match.start("value") - 2):
            continue
        value = match.start("value")
        if (counted := _COUNTED.match(text, value)) and (
            read_name(name).quantity == "loss" or is_score(name)
        ):
            value = counted.end()
        unit = unit_after(text, value + 1)
        known = (match["sign"].strip(" ") != "is" or read_name(name).quantity) or canonical_metric(
            name
        ) in METRICS
        known = known or (text[value] == FLOAT and is_score(name))
        if not name or unit is None or not known:
            continue
        long = "_" in name or MEASURED_WHEN.search(match["name"])
        of = (match["of"] or "").strip()[1:-1]
        if of in {"ms", "s", "sec", "%", "GB", "MB", "GiB", "MiB"}:
            unit = unit or of
        name = _of(name, of)
        # "loss_h(G): 0.5 loss_h(D): 0.25": the second of a name is told apart by what it is of
        name = f"{name}_{of}" if of.isidentifier() and named.setdefault(name, of) not in {"", of} else name
        yield Field(slot_at(text, value), name, unit, signed=True, over=_over(text, value), start=match.start(), more=match["name"].count(" ") if long else 0)  # fmt: skip


def _hyphened(text: str) -> list[re.Match[str]]:
    """Names and decimals with a hyphen between them: it is a sign behind a known name, and in a row of such pairs one of which is known."""
    found = [match for match in _HYPHENED.finditer(text) if trimmed(match["name"], most=4)]
    known = [match for match in found if read_name(match["name"]).quantity or is_score(match["name"])]
    joined = [match for match in found if match["sign"] == "-"]
    is_row = len(joined) > 1 and any(match in known for match in joined)
    return [
        match for match in found if (match in joined and is_row) or (match in known and match not in joined)
    ]


def _of(name: str, of: str) -> str:
    """A name with what stands in parentheses behind it, where that says of what the number is.

    >>> _of("RMSE", "val"), _of("D", "G(z)"), _of("loss", "lower is better"), _of("avg", "gain")
    ('val_RMSE', 'D(G(z))', 'loss', 'avg_gain')
    """
    if name.lower() in _REDUCED and of.isidentifier():
        return f"{name}_{of}"
    if _is_phase(of):
        return f"{of}_{name}"
    return f"{name}({of})" if of and len(name) == 1 else name


_REDUCED = word_set("avg mean average std median sum")
"""How many values became one, before the parentheses around what they are of."""


def _is_phase(name: str) -> bool:
    """Whether a name says of which samples something is, and nothing more: ``Valid``."""
    return read_name(name).phase in {"train", "eval"} and says_no_quantity(name.lower())


def _behind_rate(text: str, start: int, name: str) -> str:
    """A name without the unit of the number before it: ``6.25 updates/sec perplexity=``, ``0.5 m speed 1.5``."""
    first, _, rest = name.partition(" ")
    unit = "/" in first or first in _MEASURES
    return rest if rest and unit and text[:start].endswith((f"{INT} ", f"{FLOAT} ")) else name


_MEASURES = frozenset({"m", "cm", "mm", "km", "px", "deg", "rad"})


def _at_step(text: str) -> Iterator[Field]:
    """A value whose step stands between its name and itself: ``Loss at step 100: 0.5``."""
    lowered = text.lower()
    if not any(word in lowered for word in (" at ", " after ", " for ", " in ", " on ", " @ ")):
        return
    for match in _AT_STEP.finditer(text):
        name, unit = known_tail(match["name"]), unit_after(text, match.end("value"))
        if not name and read_name(match["name"]).quantity:
            name = match["name"]
        if name and unit is not None:
            yield Field(
                slot_at(text, match.start("value")), name, unit, signed=True, over=-1, start=match.start()
            )


def _rated(text: str) -> Iterator[Field]:
    if BAR_RATE.search(text):
        return  # tqdm's own rate is about its bar, whatever that counts
    for match in RATED.finditer(text):
        if names_the_next(text, match):
            continue
        unit = match[0][1:].strip()[:1] if match[0][1:].strip()[1:2] == " " else ""
        yield Field(slot_at(text, match.start()), match["rate"], unit if unit in {"k", "K", "M"} else "", signed=False, over=-1, start=match.start())  # fmt: skip


def _beside(text: str) -> Iterator[Field]:
    first, last = match.span() if (match := _PAIRS.search(text) or _TWO_PAIRS.match(text)) else (0, 0)
    listed = [match.span() for match in _IN_PAIRS.finditer(text)]
    opened = {begin for begin, _ in listed if text[begin - 1] == "("}
    for match in BESIDE.finditer(text):
        if _NUMBERED.match(text, match.end() - 1):
            continue
        unit = unit_after(text, match.end("value"))
        # in a line of pairs a word says as surely as a sign what its number is, be it known or not
        called = _behind_rate(text, match.start(), match["name"])
        name, wide, alone = known_tail(called), first <= match.start() and match.end() <= last, False
        if not name:
            # a cell of its own ("| hm_x 10.0 |") names its number as surely as a sign does
            before, after = text[: match.start()].rstrip(" "), _MEASURE.sub("", text[match.end() :])
            wide = wide or (
                match.start() - len(before) > 1 and (not after or text.startswith(("  ", "\t"), match.end()))
            )
            metered = text[match.end() - 1] == FLOAT and _METER.match(text, match.end() - 1) is not None
            wide = (
                wide
                or metered
                or text.find("(", match.end(), match.end() + 2) + 1 in opened
                or any(begin <= match.start() < end for begin, end in listed)
                or (text.count("|") > 2 and before[-1:] == "|" and after[:1] == "|")
            )
            begins = not before or before[-1] in CELLS or before.endswith(f"{INT}:")
            alone = wide or (begins and (not after or after[0] in CELLS))
            of_phase = (
                _is_phase(match["name"])
                and before[-1:] in _BEFORE_PHASE
                and after[:1] in {"", "|", "(", "[", "*"}
            )
            # nothing but a variable is called "train_rf"
            of_phase = of_phase or (begins and _OF_PHASE.fullmatch(match["name"]) is not None)
            wide, alone = wide or of_phase, alone or of_phase
            # "Loss vector drawn images 0.5,": behind a loss that begins a cell stands of what it is
            most = (
                5
                if match["name"].lower().startswith("loss ") and _FILLED.search(match["name"]) is None
                else 2
            )
            name = trimmed(called, most=most) if alone and text[match.end() - 1] == FLOAT else ""
            # "| Train 0.41 (acc 92.0%) | Valid 0.52 (acc 90.1%)": what stands before its scores is the loss
            name += "_loss" if of_phase and name and after[:1] == "(" and "loss" not in text.lower() else ""
            name = _METERS.get(name.lower(), name) if metered else name
        if not name and alone and match["name"].lower() in _LENGTHS:
            name = "steps"  # of an episode
        if not name and unit in _SIZES:
            name = _memory(match["name"])
        if name and unit is not None:
            yield Field(slot_at(text, match.start("value")), name, unit, signed=bool(wide) or name.lower() == "total", over=_over(text, match.start("value")), start=match.start(), more=name.count("_") and match["name"].count(" "))  # fmt: skip


_MEASURE = LazyRegex(r"^[ %]+(?:(?:[mck]?m|px|deg|pts?|pp)(?=[,;|]|$))?|^\u00b0")
"""In what a value is measured, behind it and before the next cell: ``Bias +0.5 m, MAE 1.5 m``."""
_LENGTHS = frozenset({"steps", "length", "episode steps", "episode length"})
_FILLED = LazyRegex(
    r"(?i) (?:of|is|was|by|from|than|after|below|above|under|over|to|at|did|has|had|not|the|a)\b"
)
"""Words of a sentence, not of a name."""


def _memory(text: str) -> str:
    """The last words before a size if they name memory ("GPU mem 20.6G"), as one word; else empty."""
    last = text.split(" ")[-2:]
    return next((name for name in ("_".join(last), last[-1]) if names_memory(name)), "")


def _after(text: str) -> Iterator[Field]:
    if f"{INT} " not in text and f"{FLOAT} " not in text:
        return
    found = [(match, trimmed(match["name"], most=4)) for match in _AFTER.finditer(text)]
    measures = [
        (reading.quantity and (reading.whole or canonical_metric(name) in METRICS))
        or (match[0][0] == FLOAT and is_score(name))
        for match, name in found
        if (reading := read_name(name))
    ]
    # Beside a known one each decimal of such a list is printed for its course: "0.9 loss, 40.5% tp, 59.5% fn"
    first = text.find(FLOAT)
    listed = (
        any(measures) and text.count(FLOAT) > 1 and INT not in text[first:] and SIGNED.search(text) is None
    )
    for (match, name), measured in zip(found, measures, strict=True):
        if name and (measured or (listed and match.start() >= first)):
            yield Field(slot_at(text, match.start()), name, "", signed=listed, over=-1, start=match.start())


def _over(text: str, position: int) -> int:
    match = _RATIO.match(text, position)
    return slot_at(text, match.start("of")) if match else -1


_FILES = (".py", ".cc", ".cpp", ".cu", ".c", ".h", ".go", ".rs")
MAX_UNKNOWN_WORDS = 5
"""Words of a name that the vocabulary does not hold; longer ones are sentences."""


_SIZES = frozenset({"GB", "GiB", "MB", "MiB", "G"})
"""Units that say of a number beside a name of memory that it is its size."""

CELLS = "|;,\t\u00b7\u2022"
"""What parts the cells of a row."""
_OF_PHASE = LazyRegex(r"(?i)(?:train|val|valid|test|eval|dev)_[a-z]\w{0,30}")
_BEFORE_PHASE = frozenset({"", "|", ":", ",", INT})
"""What stands before a number that is called by its phase alone: the edge of a cell or of the line, or the number of the epoch."""
_TIMES, _OF_TIME = word_set("time took elapsed duration"), word_set("time took taken elapsed duration cost epoch for s sec secs seconds")  # fmt: skip
_OF_ONE, _OF_ALL = (
    word_set("step iter iteration batch"),
    word_set("eta remaining remain left avg total train"),
)


def is_time(field: Field) -> bool:
    """Whether a field tells the time that a row took. Such a number makes no line a row."""
    words = set(words_of(field.name))
    if field.signed and field.unit in {"ms", "s"} and words & _OF_ONE and words.isdisjoint(_OF_ALL):
        return True
    return names_time(field.name) or (field.name == "t" and field.unit in {"ms", "s"})


MEANS = word_set("mean avg average")


def names_time(name: str) -> bool:
    """Whether a name says that it is the time that something took, and nothing else.

    >>> names_time("Epoch_time"), names_time("time_limit")
    (True, False)
    """
    words = set(words_of(name))
    return bool(words & _TIMES and words <= _OF_TIME)


def is_metric(field: Field) -> bool:
    """Whether a field may be kept at all: a quantity of the vocabulary, or a well-formed name with a sign."""
    reading: NameReading = read_name(field.name)
    canonical = canonical_metric(field.name)
    if field.name == "t" and is_time(field):
        return False
    if canonical in METRICS:
        return canonical != "epoch"
    if names_memory(field.name, with_unit=not (field.signed or field.unit in _SIZES)):
        return True
    if field.name.lower().startswith("bits") or field.name.endswith(")"):
        return True  # per dimension, byte or character; the outputs of a discriminator
    words = words_of(field.name)
    # what was averaged was measured: ``avg_num_wins`` is no setting
    if (reading.setting and words[0] not in MEANS and not is_score(field.name)) or field.name.endswith(
        _FILES
    ):
        return False
    if reading.quantity or is_score(field.name) or words[-1:] == ("error",):
        return True
    if len(words) > 1 and words[-1] in _OF_AXIS and read_name("_".join(words[:-1])).quantity:
        return True  # the error along an axis: ``mse_x``
    if field.name.lower() in {"total", "sum"}:
        return True  # of losses, if they stand beside it
    if all(says_no_quantity(word) or word.isdecimal() for word in words):
        return False  # "train: 0.5" does not say what of the training
    told = telling(words)
    if words in _ONE_OF_SEVERAL:
        return False
    return bool(told) and _NOT_METRICS.isdisjoint((told[0], told[-1])) and len(words) <= MAX_UNKNOWN_WORDS


_ONE_OF_SEVERAL = frozenset({("worker",), ("client",), ("fold",), ("trial",), ("stage",), ("phase",)})
"""Before a number, which of several it is."""


def telling(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name without a letter that begins it: ``s_iou`` is no time and ``x_mean`` no axis.

    >>> telling(("s", "iou")), telling(("n", "seen")), telling(("s",))
    (('iou',), ('n', 'seen'), ('s',))
    """
    return words[1:] if len(words) > 1 and words[0] in _AXES else words


_AXES, _OF_AXIS = word_set("s m h x y k"), word_set("x y z")
