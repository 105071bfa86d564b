"""What the words of a metric name say: phase, quantity, and whether it tells of the whole or of a part.

Not for the spellings that are known as they stand: those are in ``metric_names``. What is read here is a guess
from the words, and is told as one.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

_CUT = LazyRegex(r"[\W_]+")
_HUMP = LazyRegex(r"(?<=[a-z])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z]{2,}(?![a-z]))")

_JOINED = LazyRegex(
    r"(?<![a-z])(tr|trn|train|training|va|te|val|valid|validation|test|dev|eval|avg|d|g|gen|dis|disc)(?=(?:loss|acc|accuracy|ppl|perplexity)(?![a-z]))"
)
"""A phase, a mean or a player that is written together with its quantity: ``trainloss``, ``dloss``."""

_LETTER = LazyRegex(
    r"(?i)^([la])[_ /](?=(?:tr|train|te|va|test|val|valid|dev)$)|(?<=^train_)([LA])$|(?<=^val_)([LA])$"
)
"""A letter for a loss or an accuracy beside nothing but a phase: ``L_val``, ``A_val``, ``train_L``."""

_PER_SECOND = LazyRegex(r"(?i)(?:/|[ _]per[ _])s(?:ec(?:onds?|s)?)?(?![a-z])")

_ASIDE = LazyRegex(
    r"(?i)(?<=loss)[ _]?per[ _]?(?:sample|example|instance|token|frame|word|char|image|batch|pixel)(?![a-z])|^target_(?=(?:train|val|test)_)|(?<=^val)_[01](?=_)|(?<=^valid)_[01](?=[_' ])"
)
"""What a loss is per, the domain that is adapted to, and the number of a held-out set: ``LossPerSample``, ``target_val_acc``, ``val_0_rmse``."""

MAX_WORDS = 12
"""Words of a name that are looked at; longer ones are sentences or paths of modules."""

_PHASED = {"loss": "eval_loss", "accuracy": "eval_accuracy", "perplexity": "eval_perplexity"}


class NameReading(NamedTuple):
    """What the words of a name say."""

    phase: str  # ``train``, ``eval``, ``other``, or empty
    quantity: str  # canonical name of the quantity, ``loss_like``, or empty
    whole: bool  # nothing is left that would make it a part of the quantity
    order: int  # of a stand-in for the loss: how good it is, 0 the best
    setting: bool  # a word says that it is a setting or a count

    @property
    def canonical(self) -> str:
        """The canonical name, empty unless the words are certain of one."""
        if not self.quantity or not self.whole or self.setting or self.quantity == "loss_like":
            return ""
        if self.phase == "eval":
            return _PHASED.get(self.quantity, "")
        return self.quantity if self.phase in {"", "train"} else ""


@lru_cache(maxsize=8192)  # a detector after the other asks for the words of the same names
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, without repeats.

    >>> words_of("lm-loss-training/lm loss"), words_of("valAccTop1"), words_of("Held-out loss")
    (('lm', 'loss', 'training'), ('val', 'acc', 'top1'), ('heldout', 'loss'))
    >>> words_of("L_val"), words_of("A_train"), words_of("l_max"), words_of("train_L")
    (('loss', 'val'), ('acc', 'train'), ('l', 'max'), ('train', 'loss'))
    >>> words_of("validloss"), words_of("dloss"), words_of("gloss_1"), words_of("discloser")
    (('valid', 'loss'), ('d', 'loss'), ('g', 'loss', '1'), ('discloser',))
    """
    name = _LETTER.sub(lambda match: "loss " if match[0][0] in "lL" else "acc ", _ASIDE.sub("", name))
    parts = _CUT.sub(" ", _PER_SECOND.sub(" persec ", _HUMP.sub(" ", name))).lower()
    parts = _JOINED.sub(r"\1 ", parts.replace("held out", "heldout"))
    return tuple(dict.fromkeys(parts.split()))


def is_score(name: str) -> bool:
    """Whether a word of a name is a measure of how good a model is.

    >>> is_score("val_mIoU"), is_score("PSNR"), is_score("f1_threshold"), is_score("dice_coef")
    (True, True, False, True)
    >>> is_score("Pass@4"), is_score("pass_4")
    (True, False)
    """
    words = set(words_of(name.lower()))
    if "@" in name and not words.isdisjoint(_OF_ANSWERS) and any(map(str.isdigit, words)):
        return True
    if words >= _CLIP_SCORE:
        words -= {"clip"}
    if not words.isdisjoint(_OVERLAPS):
        words -= _COEFFICIENTS
    return not _SCORES.isdisjoint(words) and _SETTINGS.isdisjoint(words)


_OF_ANSWERS = frozenset({"pass", "maj", "rank"})
"""With a number behind an ``@``, the share of tasks that one of so many answers, or most of them, solves, or that is found at that rank."""
_CLIP_SCORE = frozenset({"clip", "score"})
"""How well pictures fit their texts, as the model of that name scores them; elsewhere the word makes a setting."""


_OVERLAPS, _COEFFICIENTS = frozenset({"dice", "jaccard"}), frozenset({"coef", "coeff", "coefficient"})
"""What a coefficient is a score of; elsewhere it is the weight of a part."""


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as one text.

    >>> sorted(word_set("loss losses"))
    ['loss', 'losses']
    """
    return frozenset(text.split())


def says_no_quantity(word: str) -> bool:
    """Whether a word only says a phase, a reduction, a place or a unit."""
    return word in _WORDS


class _Vocabulary:
    """The rows of ``metric_words.txt``.

    A *quantity* is one or more words that may stand in any order; what else a name holds must be a phase, a reduction or a place where
    trackers file things, or else the name tells of a part: ``loss_cls``, ``grad_norm/layer3``.
    """

    def __init__(self) -> None:
        self.words: dict[str, tuple[str, str]] = {}
        self.quantities: dict[frozenset[str], str] = {}
        self.likes: dict[frozenset[str], int] = {}
        self.scores: set[str] = set()
        self.settings: set[str] = set()
        for row in Path(__file__).with_name("metric_words.txt").read_text(encoding="utf-8").splitlines():
            if row and not row.startswith("#"):
                self._take(*(cell.strip() for cell in row.split("|")))

    def _take(self, kind: str, meaning: str, words: str) -> None:
        if kind == "quantity":
            self.quantities |= {frozenset(spelling.split()): meaning for spelling in words.split("; ")}
        elif kind == "loss_like":
            self.likes |= {frozenset(spelling.split()): int(meaning) for spelling in words.split("; ")}
        elif kind in {"score", "setting"}:
            (self.scores if kind == "score" else self.settings).update(words.split(", "))
        else:
            for word in words.split(", "):
                self.words.setdefault(word, (kind, meaning))


_KNOWN = _Vocabulary()
_WORDS, _QUANTITIES, _LIKES, _SCORES, _SETTINGS = (
    _KNOWN.words,
    _KNOWN.quantities,
    _KNOWN.likes,
    _KNOWN.scores,
    _KNOWN.settings,
)
_ACCUMULATED = ("acc", "iter")
"""Iterations since the first epoch (OpenPCDet and the trainers made of it); an accuracy of one is said the other way round."""
_OF_QUANTITIES = frozenset().union(*_QUANTITIES, *_LIKES)


EPISODES = 10
"""Fewest over which programs average rewards; teams of agents that are told apart by numbers are smaller."""


@lru_cache(maxsize=4096)
def read_name(name: str) -> NameReading:
    """What a name says by its words.

    >>> read_name("Loss/validation").canonical, read_name("train_loss_epoch").canonical, read_name("loss_cls").canonical
    ('eval_loss', 'loss', '')
    >>> read_name("grad_norm/layer3").quantity, read_name("grad_norm/layer3").whole
    ('grad_norm', False)
    >>> read_name("Acc_iter").quantity, read_name("iter_acc").quantity
    ('', 'accuracy')
    >>> read_name("²").quantity
    ''
    """
    words = words_of(name)[:MAX_WORDS]
    if words == _ACCUMULATED:
        return NameReading("", "", whole=False, order=5, setting=True)
    phase, left = _phase(words)
    plain = frozenset(left)
    units = frozenset(word for word in left if _WORDS.get(word, ("",))[0] == "unit")
    # The words as they stand first; then without those that only say how values were reduced or filed.
    told = frozenset(w for w in left if w in _OF_QUANTITIES or w not in _WORDS)
    for kept in (plain, plain - units, told, told - units, _bare(left)):
        if kept in _QUANTITIES:
            return NameReading(phase, _QUANTITIES[kept], whole=True, order=0, setting=False)
        if kept in _LIKES:
            return NameReading(phase, "loss_like", whole=True, order=_LIKES[kept], setting=False)
    # Of how many episodes a reward is the mean (avg_reward_100); a lower number may be that of an agent.
    many = frozenset(word for word in told if word.isdecimal() and int(word) >= EPISODES)
    if many and "reward_mean" in {_QUANTITIES.get(told - many), _QUANTITIES.get(_bare(left) - many)}:
        return NameReading(phase, "reward_mean", whole=True, order=1, setting=False)
    quantity, named = _quantity_within(plain)
    setting = not _SETTINGS.isdisjoint(plain - named)
    return NameReading(phase, quantity, whole=False, order=5, setting=setting)


def _bare(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word for word in words if word not in _WORDS)


def _phase(words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The phase, and the words that do not say it; a name that says both is about held-out data."""
    phases = {_WORDS[word][1] for word in words if _WORDS.get(word, ("",))[0] == "phase"}
    if "rate" in words and not _LEARN.isdisjoint(words):  # "learning" is no phase here
        phases = phases - {"train"} | {_WORDS[w][1] for w in words if w in {"train", "training"}}
        left = tuple(w for w in words if w in _LEARN or _WORDS.get(w, ("",))[0] != "phase")
    else:
        left = tuple(word for word in words if _WORDS.get(word, ("",))[0] != "phase")
    phase = next((kind for kind in ("other", "eval", "train") if kind in phases), "")
    return phase, left


_LEARN = frozenset({"learn", "learning"})


def _quantity_within(words: frozenset[str]) -> tuple[str, frozenset[str]]:
    """The quantity that a name tells a part of, and its words: the one with most words; a loss of any kind is a loss."""
    found = [(len(key), quantity, key) for key, quantity in _QUANTITIES.items() if key <= words]
    if found:
        _, quantity, key = max(found, key=lambda entry: entry[:2])
        return quantity, key
    losses = frozenset(word for word in words if word.rstrip("0123456789").endswith("loss"))
    return ("loss", losses) if losses else ("", frozenset())


# A name of memory without a device or a unit is left as it is: whose memory it counts, and in what, nobody can tell.
_MEM = word_set("mem memory vram rss ram")
_GPU = word_set("gpu cuda vram hbm nvidia")
_HOST = word_set("cpu host rss ram sys process proc")
_AT_PEAK = word_set("max peak maximum")
_RESERVED = word_set("reserved cached")
_BESIDE = word_set("allocated alloc used usage use in current cur device train system")
_GIB = {
    "gb": 1.0,
    "gib": 1.0,
    "mb": 2.0**-10,
    "mib": 2.0**-10,
    "kb": 2.0**-20,
    "kib": 2.0**-20,
    "bytes": 2.0**-30,
}
"""Units as programs use them: what they call MB is a division by 1024 twice in most, and 5 % off in the rest."""


def read_memory(name: str) -> tuple[str, float] | None:
    """The canonical name of memory in GiB and the factor to it; None unless the words are certain of both.

    >>> read_memory("gpu_mem_mb"), read_memory("max_cuda_memory_gb"), read_memory("memory_mb"), read_memory("gpu_mem")
    (('gpu_memory_allocated_gib', 0.0009765625), ('gpu_memory_peak_gib', 1.0), None, None)
    >>> read_memory("system.proc.memory.rssMB")  # a tracker's own sample by the clock, which keeps its name
    """
    if name.startswith("system."):
        return None
    words = frozenset(words_of(name))
    units = words & _GIB.keys()
    left = words - units - _MEM - _GPU - _HOST - _AT_PEAK - _RESERVED - _BESIDE
    on_gpu, on_host = bool(words & _GPU), bool(words & _HOST)
    if len(units) != 1 or left or on_gpu == on_host or not words & _MEM:
        return None
    factor = _GIB[next(iter(units))]
    if on_host:
        return None if words & (_AT_PEAK | _RESERVED) else ("host_memory_gib", factor)
    kind = "peak" if words & _AT_PEAK else "reserved" if words & _RESERVED else "allocated"
    return f"gpu_memory_{kind}_gib", factor


def names_memory(name: str, *, with_unit: bool = False) -> bool:
    """Whether a name is one of memory, wherever and in whatever unit, or only in one that it tells.

    >>> names_memory("mem"), names_memory("mem", with_unit=True), names_memory("mem_gb", with_unit=True)
    (True, False, True)
    """
    words = words_of(name)
    return not _MEM.isdisjoint(words) and not (with_unit and _GIB.keys().isdisjoint(words))


def names_host_memory(name: str) -> bool:
    """Whether a name is one of memory that is not said to be a GPU's: a series of its own, which a process can lose.

    >>> names_host_memory("rss_mb"), names_host_memory("gpu_mem")
    (True, False)
    """
    return names_memory(name) and _GPU.isdisjoint(words_of(name))


_RUNNING = word_set("avg average averaged ave running smooth smoothed moving ema ewma")


def is_running_mean(name: str) -> bool:
    """Whether a value is a mean over earlier rows: it lags behind the value beside it, and from 0 on it rises while that falls."""
    return not _RUNNING.isdisjoint(words_of(name))


JUDGES = word_set("d dis disc discr discriminator netd")
MAKERS = word_set("g gen generator netg")
RIVALS = JUDGES | MAKERS | word_set("critic gan adv")
"""Players of an adversarial training, whatever program wrote them: their losses run away from each other."""
