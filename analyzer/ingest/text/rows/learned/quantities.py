"""What a quantity of a row is: a speed, a sign that its line is a row at all (as few other words are), what it is called on held-out data, and what is kept beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from analyzer.ingest.names import METRICS, Metric, canonical_metric
from analyzer.ingest.text.rows.forms.row_forms import OF_A_STEADY_STEP
from analyzer.ingest.text.rows.learned.asides import OF_EPOCH
from analyzer.ingest.text.rows.learned.line_fields import CELLS, Field, is_time, telling
from analyzer.ingest.text.rows.learned.line_masks import FLOAT, INT, TIME
from analyzer.ingest.text.rows.learned.line_phases import floats
from analyzer.ingest.text.rows.learned.line_places import Place
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, read_name, says_no_quantity, word_set, words_of

_SIGNS = frozenset(
    {"loss", "eval_loss", "grad_norm", "loss_scale", "perplexity", "eval_perplexity", "reward_mean", "accuracy", "eval_accuracy"}
)  # fmt: skip
_UNKNOWN = Metric("", "")
_SPEEDS = frozenset({"s", "GiB", "tokens/s", "samples/s", "steps/s", "TFLOP/s"})
PLAIN = frozenset({"loss", "accuracy", "perplexity"})
_TRAINING = LazyRegex(r"(?i)\btrain")


def is_speed(name: str) -> bool:
    """Whether a quantity is a time, a speed or memory, which benchmarks print too."""
    return METRICS.get(canonical_metric(name), _UNKNOWN).unit in _SPEEDS


def is_sign(name: str) -> bool:
    """Whether a quantity shows that its line is a row: other words stand in prose and settings too."""
    if canonical_metric(name) in _SIGNS:
        return True
    reading = read_name(name)
    return (
        reading.quantity in {"loss", "perplexity", "policy_loss", "value_loss", "approx_kl"}
        and not reading.setting
    )


def is_other_loss(name: str) -> bool:
    """Whether a name such as "cross_entropy" or "total loss" is not what another row calls the loss."""
    return name.lower() != "loss" and canonical_metric(name) == "loss" and not read_name(name).phase


def all_whole(values: Mapping[str, float]) -> bool:
    """Whether all values are whole numbers, which count something."""
    return all(value.is_integer() for value in values.values())


_ELSEWHERE = word_set(
    "time duration took elapsed s ms sec seconds step steps data mem memory speed fps size num count episode episodes lr rate temp temperature beta eps"
)
"""Words of names that tell of the run, not of what was measured on some data."""


def as_held_out(name: str) -> str:
    """The same quantity on held-out data; what is called by the word stays what it is.

    >>> as_held_out("Loss"), as_held_out("train_loss"), as_held_out("lr"), as_held_out("CategoryAccuracy"), as_held_out("gain")
    ('val_loss', 'train_loss', 'lr', 'val_category_accuracy', 'val_gain')
    """
    if name.startswith(OF_EPOCH):
        return OF_EPOCH + as_held_out(name.removeprefix(OF_EPOCH))
    reading = read_name(name)
    if canonical_metric(name) in OF_A_STEADY_STEP:
        return f"val_{name.lower()}"  # no speed of the training
    measured = (
        canonical_metric(name) in PLAIN | {"reward_mean"}
        or (reading.quantity in PLAIN | {"loss_like"} and not reading.setting)
        or is_score(name)
        or not (
            reading.quantity
            or reading.setting
            or canonical_metric(name) in METRICS
            or _ELSEWHERE & set(words_of(name))
        )
    )
    if not measured or reading.phase == "eval" or _TRAINING.match(name):
        return name
    # Written together (``CrossEntropyLoss``), its capitals are what parts the words.
    parted = name.isalnum() and reading.quantity in {"loss", "accuracy", "perplexity"}
    return f"val_{'_'.join(words_of(name)) if parted else name.lower()}"


def further_name(name: str, taken: Iterable[str]) -> str:
    """A name with the number of the part of a row that it is of.

    >>> further_name("w", {"w", "w_2"})
    'w_3'
    """
    return next(further for at in count(2) if (further := f"{name}_{at}") not in taken)


_WORD = LazyRegex(r"[A-Za-z][A-Za-z_]+")


def with_company(piece: str, fields: list[Field], known: list[Field], place: Place) -> list[Field]:
    """Beside a quantity, and beside any other decimal in a row that begins with its counter, each decimal behind a sign or in a cell of its own is printed for its course, whatever it is called: a loss named ``loss_id``, a momentum."""
    decimals, own = floats(piece), _in_cells(piece, fields)
    told = [found for found in known if found.slot in own and found.slot in decimals]
    counted = bool(place) and (not _WORD.search(piece[: place.start]) or len(told) >= PAIRS_OF_A_ROW)
    shown = any((found.slot in own and is_sign(found.name)) or is_score(found.name) for found in known)
    if not shown and not (counted and told):
        return known
    return [
        found
        for found in fields
        if found in known
        or (
            found.slot in own
            and found.slot in decimals
            and not (
                (
                    not (found.name.isupper() and (len(found.name) == 1 or found.name in _NO_CLOCKS))
                    and _CLOCKS & set(_ends_of(telling(words_of(_OF_EPOCH.sub("", found.name)))))
                )
                or is_time(found)
            )
        )
    ]


def _in_cells(piece: str, fields: list[Field]) -> set[int]:
    """The numbers that a sign or the edges of a cell give to the name before them: ``loss 0.5 | id_loss 8.25 |``."""
    ends = [at for at, sign in enumerate(piece) if sign in {INT, FLOAT, TIME}]
    return {
        found.slot
        for found in fields
        if found.signed
        or (
            piece[: found.start].rstrip(" ")[-1:] in _EDGES
            and piece[ends[found.slot] + 1 :].lstrip(" ")[:1] in _EDGES
        )
    }


_EDGES = frozenset({"", *CELLS})
_NO_CLOCKS = frozenset({"WALL"})
"""Terms of a loss that are called after the edge of what is modelled."""


def _ends_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name that can make it a clock: ``fraction_of_right_next_step_answers`` is none for the word in its middle."""
    return words if len(words) <= LONGEST_CLOCK else (words[0], words[-1])


LONGEST_CLOCK = 4
"""Words of the name of a clock or a counter: ``time per optimizer step``."""
_OF_EPOCH = LazyRegex(r"(?i)^epoch_(?=[a-z])")
_CLOCKS = word_set(
    "eta remaining remain left elapsed time timer wall epoch epochs step steps iter ep best took duration timestamp date s sec ms seconds hours h min mem memory"
)
"""Words of names that say where a row stands and what is left, and of times that nobody can attribute."""


def without_the_rest(piece: str, fields: list[Field]) -> str:
    """A row without what a sentence adds to it: behind several decimals with signs, the first of which begins the line."""
    measured = floats(piece)
    told = [found for found in fields if found.signed and found.slot in measured]
    if len(told) < PAIRS_OF_A_ROW or piece[: told[0].start].strip():
        return piece
    ends = [at for at, sign in enumerate(piece) if sign in {INT, FLOAT, TIME}]
    return piece[: ends[told[-1].slot] + 1]


PAIRS_OF_A_ROW = 2
"""Pairs that a sentence does not begin with."""


_CLASS = LazyRegex(
    r"(?i)^\W{0,8}(?P<name>(?:class|category)_\d{1,4}|(?:class|category):? {1,3}(?P<word>[a-z][\w-]{0,30}))(?:(?<=\d)[\s:,|-]{1,20}|\s{0,20}[:,|]\s{0,20}| {2,40})[a-z]"
)
"""A line of one class, by its number or its word, before what was measured of it: ``Class_3 IoU: 0.5``, ``class wall   IoU: 0.5``."""


def of_a_class(piece: str, fields: list[Field]) -> list[Field]:
    """What was measured of one class, with its name: it is not that of all."""
    match = _CLASS.match(piece)
    if match is None:
        return fields
    name = match["word"] or match["name"]
    if read_name(name).quantity or is_score(name) or all(map(says_no_quantity, words_of(name))):
        return fields  # "class accuracy : 0.5"
    return [
        found if found.name.startswith(name) else found._replace(name=f"{found.name}_{name}")
        for found in fields
    ]


WORD = LazyRegex(r"[A-Za-z][A-Za-z_]+")
_MEANS = word_set("average avg mean running")
_PATHS = LazyRegex(r"(?<!\w)(?:/[\w.@+-]{1,80}){2,20}/?")
_OF_PRINTING = LazyRegex(
    rf"\[(?:'[A-Za-z_]{{1,30}}',? ?){{1,20}}\]|\b(?:tensor|array)\(|, ?(?:device|dtype|grad_fn|requires_grad)=[^,)]{{1,60}}|\b(?:INFO|DEBUG)\b"
    rf"|\A\[\w{{1,30}}=[^\]{INT}{FLOAT}{TIME}]{{1,160}}\]"
    rf"|(?<=[,;|(\[])\s{{0,3}}[{INT}{FLOAT}] ?[A-Za-z]{{1,9}}/[A-Za-z]{{1,9}}\b"
    r"|[A-Za-z]{1,20}(?: [a-z]{1,20}){0,3} ?:\s?(?=\{['\"])"
)
"""What a logger, the text of a tensor and a list of classes put around words and numbers; rates, whose units are no words, and what heads a dict."""
_OTHER_PAIR = LazyRegex(
    rf"[\w/.@()-]{{1,60}}[\"'\]\u2019\u201d]?(?: (?:is|are|was)\b)?\s{{0,3}}[:=-]?[\s(\['\"]{{0,4}}[{INT}{FLOAT}{TIME}](?:\[\w{{1,8}}\]|[\w%/]{{0,12}})(?: [A-Za-z]{{1,9}}/\w{{1,9}}| (?:s|secs?|seconds|mins?|minutes|ms|hours?)\b)?"
)


def other_words(text: str, place: Place, fields: list[Field] | None = None) -> int:
    """Words of a line that belong to no pair of name and number."""
    text = _OF_PRINTING.sub("", _PATHS.sub("", text))
    position, between = 0, list[str]()
    for match in _OTHER_PAIR.finditer(text):
        between.append(text[position : match.start()])
        position = match.end()
    words = WORD.findall(" | ".join([*between, text[position:]]))
    count = sum(word.lower() not in _MEANS for word in words)
    of_names = sum(found.more for found in fields or ())
    return max(0, count - of_names) if place or fields else count
