"""Which quantities of a row are about held-out data: a phase that is said once holds for the names behind it.

train loss 0.5 acc 0.6 | val loss 0.7 acc 0.8        Epoch 3: testing psnr = 34.1, ssim = 0.93
Train [loss 0.5, acc 0.6] Val [loss 0.7, acc 0.8]    Val. Epoch: 0/500. Total loss: 2.5
v_recons 0.45  recons 0.46  v_loss 4.5  loss 5.3      Train-acc: 0.2, loss: 1.7 | Val-acc: 0.3, loss: 1.5

And lines without a number that say it of the rows below them: ``Validation:``, ``测试结果:``, ``Training metrics``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzer.ingest.names import canonical_metric
from analyzer.ingest.text.rows.learned.line_fields import Field
from analyzer.ingest.text.rows.learned.line_masks import FLOAT, INT, TIME, in_english, may_be_held_out
from analyzer.ingest.text.rows.learned.line_places import slot_at
from analyzer.ingest.text.rows.spellings import NUMBER
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, read_name, says_no_quantity, words_of
from analyzer.model.score_words import read_score

_SLOTS = frozenset({INT, FLOAT, TIME})
_SAYS = LazyRegex(
    r"(?i)(?<![\w/.])(?:(?P<eval>val(?:(?!ua)[a-z]{1,5}tion|id(?:at(?:e|ing))?)?|eval(?:uat(?:ion|ed|ing|e))?|test(?:ing)?|dev|cv|h[eo]ld-?out)(?:set)?|(?P<train>train(?:ing)?|trn)(?:set)?)(?![\w/-]|\.(?! ))"
)
_AMOUNT = LazyRegex(
    rf"(?i)\b(?:train\w{{0,3}}|val\w{{0,7}}|test|dev) (?:steps|batches|samples|images|iters?|iterations) ?[:=]? ?{INT}?"
)
"""How much there is of each part of the data, which says nothing of the quantities behind it."""
_LAST_WORD = LazyRegex(r"[\w/.@-]{0,60}[^\w]{0,6}$")
_MEASURED = frozenset({"loss", "loss_like", "accuracy", "perplexity"})

MIRRORED = 2
"""Names that stand in a row with and without ``v_`` before they show what it stands for."""


def held_out_fields(text: str, fields: Sequence[Field]) -> set[int]:
    """The slots of quantities without a phase of their own that are of held-out data, by what is said before them."""
    ends = [position for position, sign in enumerate(text) if sign in _SLOTS]
    found: set[int] = set()
    phase, named, before = "", set[str](), 0
    called, behind = set[str](), False
    for field in fields:
        said = _said(text[before : ends[field.slot]], field)
        if said:
            phase, named = said, set()
        quantity, own = canonical_metric(field.name).removeprefix("eval_"), read_name(field.name).phase
        if (phase == "eval" and not own and quantity not in named) or (behind and field.name in called):
            found.add(field.slot)
        if own and all(map(_names_none, words_of(field.name))):
            phase, named = (
                own,
                {"loss"},
            )  # "train 0.5 val 0.6 acc 0.9"; a loss behind both is that of the training
        behind = own == "eval" or (behind and not own)
        called.add(field.name)
        named.add(quantity)
        before = ends[field.slot] + 1
        if text.startswith(" (", before) and (own := read_name(field.name).phase):
            phase, named = own, set()  # "Valid 0.52 (acc 90.1%)"
    return found | _behind_both(fields)


def _behind_both(fields: Sequence[Field]) -> set[int]:
    """The slots of scores that stand once, without a phase, behind what a row tells of training and of held-out data: ``train_loss=2 val_loss=3 acc=0.5``."""
    phases = [read_name(field.name).phase for field in fields]
    measured = [
        read_name(field.name).quantity in _MEASURED or all(map(says_no_quantity, words_of(field.name)))
        for field in fields
    ]
    held_out = next((at for at, phase in enumerate(phases) if phase == "eval" and measured[at]), -1)
    trained = any(measured[at] and phases[at] in {"train", ""} for at in range(held_out))
    if not trained:
        return set()
    told = {read_score(field.name).kind for at, field in enumerate(fields) if phases[at]}
    return {
        field.slot
        for at, field in enumerate(fields)
        if at > held_out
        and not phases[at]
        and (score := read_score(field.name)).better
        and score.kind not in told
        and sum(read_score(other.name).kind == score.kind for other in fields) == 1
    }


def _said(text: str, field: Field) -> str:
    """The phase that the text before a value says of it and of what follows: not the name itself, as in ``val: 0.5``."""
    ahead = _LAST_WORD.sub("", _AMOUNT.sub("", text))
    found = list(_SAYS.finditer(ahead))
    if not found:
        return ""
    parted = ahead[found[-1].end() :].strip(" ") or len(found) > 1
    measured = read_name(field.name).quantity in _MEASURED or is_score(field.name)
    return ("eval" if found[-1]["eval"] else "train") if parted or measured else ""


def phases_alone(piece: str, fields: list[Field], *, counted: bool) -> list[Field]:
    """Numbers that are called by their phases only, in a row of both, of a loss, or of nothing else: ``train: 0.5 val: 0.6``, ``epoch 3 train 0.5``. What they measure is not said."""
    alone = [
        found
        for found in fields
        if found.signed and all(map(_names_none, words_of(found.name))) and found.unit in {"", "%"}
    ]
    told = [found for found in alone if read_name(found.name).phase]
    phases = {read_name(found.name).phase for found in told}
    if phases == {"train"} and any(found.unit for found in told):
        return []  # "train: 33.3%" is how far it came
    beside = any(read_name(found.name).quantity == "loss" for found in fields)
    if phases == {"eval"} and beside:
        return [found for found in told if found.slot in floats(piece)]
    measured = floats(piece)
    if len(told) == len(fields) and len(phases) == 1 and all(found.slot in measured for found in told):
        # "epoch 3 val: 0.5, 0.25" tells two things of which neither has a name
        return told if counted or _OTHER_WORD.search(piece.replace(told[0].name, "")) is None else []
    # "train=113 val=29": whole numbers tell how large the parts are
    return told if phases >= {"train", "eval"} and any(found.slot in measured for found in told) else []


_OTHER_WORD = LazyRegex(r"[^\W\d_]{2}")


def _names_none(word: str) -> bool:
    """Whether a word says a phase or the like, or counts values behind one."""
    return says_no_quantity(word) or word.isdecimal()


def floats(piece: str) -> set[int]:
    """Which numbers of masked text have a decimal point."""
    return {slot_at(piece, at) for at, sign in enumerate(piece) if sign == FLOAT}


def mirrored(names: Sequence[str]) -> dict[str, str]:
    """Names with their phase that begin with ``v_`` beside the same names without it, or with ``t`` and ``v`` beside each other.

    >>> mirrored(["v_recons", "recons", "v_loss", "loss", "kl"]), mirrored(["v_loss", "loss"])
    ({'v_recons': 'val_recons', 'v_loss': 'val_loss'}, {})
    >>> mirrored(["tloss", "vloss"]), mirrored(["time", "vime"])
    ({'tloss': 'train_loss', 'vloss': 'val_loss'}, {})
    >>> mirrored(["TL", "VL", "VA"]), mirrored(["TL", "size"])
    ({'TL': 'train_loss', 'VL': 'val_loss', 'VA': 'val_acc'}, {})
    >>> mirrored(["tr", "vl"]), mirrored(["loss", "acc", "vloss", "vacc"]), mirrored(["loss", "vloss"])
    ({'vl': 'val'}, {'vloss': 'val_loss', 'vacc': 'val_acc'}, {})
    >>> mirrored(["trian_loss", "trian_top", "valid_loss", "valid_top"]), mirrored(["cls_loss", "val_loss"])
    ({'trian_loss': 'train_loss', 'trian_top': 'train_top'}, {})
    """
    found = {name: f"val_{name[2:]}" for name in names if name.startswith("v_") and name[2:] in names}
    if len(found) >= MIRRORED:
        return found
    lowered = {name.lower(): name for name in names}
    if {"tl", "vl"} <= lowered.keys():
        return {own: _SHORT_NAMES[name] for name, own in lowered.items() if name in _SHORT_NAMES}
    ahead = {name.partition("_")[0] for name in lowered}
    if "vl" in ahead and not _TRAINED.isdisjoint(ahead):
        return {own: f"val{name[2:]}" for name, own in lowered.items() if name.partition("_")[0] == "vl"}
    own = [name for name in lowered if name[0] == "v" and name[1:] in lowered and _is_measured(name[1:])]
    if len(own) >= MIRRORED:
        return {lowered[name]: f"val_{name[1:]}" for name in own}
    if found := _beside_held_out(lowered):
        return found
    rests = [name[1:] for name in lowered if name[0] == "v" and f"t{name[1:]}" in lowered]
    measured = [rest.lstrip("_") for rest in rests if _is_measured(rest)]
    return {
        lowered[f"{letter}{rest}"]: f"{phase}_{rest.lstrip('_')}"
        for rest in rests
        if rest.lstrip("_") in measured
        for letter, phase in (("t", "train"), ("v", "val"))
    }


_SHORT_NAMES = {
    f"{phase[0]}{short}": f"{phase}_{name}"
    for phase in ("train", "val")
    for short, name in (("l", "loss"), ("a", "acc"), ("f1", "f1"))
}
_TRAINED = frozenset({"tr", "trn", "train"})


def _is_measured(name: str) -> bool:
    return is_score(name) or read_name(name).quantity in _MEASURED


def _beside_held_out(names: Mapping[str, str]) -> dict[str, str]:
    """What a row calls by a word that nobody knows, its only loss of the training too, beside the same of held-out data."""
    parted = [(first, rest) for first, _, rest in (name.partition("_") for name in names) if rest]
    held_out = {
        rest for first, rest in parted if read_name(first).phase == "eval" and says_no_quantity(first)
    }
    others = [(first, rest) for first, rest in parted if rest in held_out and not read_name(first).phase]
    alike = len({first for first, _ in others}) == 1 and {"loss"} <= {rest for _, rest in others}
    trained = {rest for first, rest in parted if read_name(first).phase == "train"}
    own = "loss" in names or "loss" in trained
    told = alike and not own and len(others) + len(trained & held_out) >= MIRRORED
    return {names[f"{first}_{rest}"]: f"train_{rest}" for first, rest in others} if told else {}


def of_loading(piece: str, fields: list[Field]) -> list[Field]:
    """Beside a time, numbers called "data" and "batch" are times too: ``time: 0.5  data: 0.01``, ``data: 0.01  batch: 0.5``."""
    names = {found.name.lower() for found in fields}
    if not ("data" in names and names & {"time", "batch"}):
        return fields
    measured = floats(piece)
    return [
        found._replace(name=_LOADING[found.name.lower()])
        if found.signed and found.slot in measured and found.name.lower() in _LOADING
        else found
        for found in fields
    ]


_LOADING = {"data": "data_time", "batch": "batch_time"}


_RESULTS = r"res(?:ults?)?|metrics?|measures?|scores?|summary|errors?|performance|set|data(?:set)?|on|at|the"
"""Words of a heading beside the one that tells the part of the data."""
HELD_OUT_HEADING = LazyRegex(
    r"(?i)^\W{0,40}(?:(?:now )?(?:we are |is )?(?:start|begin|run|do|perform)(?:ning|ing|s)? (?:to )?)?(?:eval(?:uat(?:ion|ing|e))?|val(?:id(?:at(?:ion|ing|e))?)?|test(?:ing)?|dev(?= (?:set|res(?:ults?)?|metrics?|scores?|data(?:set)?)\b))(?!(?:[ _-]set)?\W{0,3}\x01\W{0,40}$)"
    rf"(?:[ :_-] ?(?:{_RESULTS}|in|for|of|epoch|step|model|mode|phase|begins?|began|starts?|started|initial|eval(?:uation)?|dev|test|val(?:id(?:ation)?)?|[\x01])){{0,5}}(?: with \[[^\]]{{0,200}}\]| \((?:total|num)_[^()]{{0,80}}\))?\W{{0,40}}$"
)
_FOREIGN_HEADING = LazyRegex(r"^[^A-Za-z]{0,40}(?:val|validation|test|eval)\b[^A-Za-z]{0,20}: {0,3}$")
"""The same among words of another script, of which only the telling one is known."""
TRAINING_HEADING = LazyRegex(
    rf"(?i)^\W{{0,40}}train(?:ing)?(?: (?:{_RESULTS}|train(?:ing)?)){{0,4}}\W{{0,40}}$"
)
"""What stands below is of training data, also within the lines that follow a heading of held-out data."""


def heads_evaluation(text: str) -> bool:
    """Whether a line without a number is the heading of an evaluation, in English or in another script.

    >>> heads_evaluation("Validation:"), heads_evaluation("验证结果:"), heads_evaluation("模型测试的数据")
    (True, True, False)
    """
    if text.isascii():
        return HELD_OUT_HEADING.match(text) is not None
    return (
        len(text) <= MAX_HEADING_CHARACTERS
        and may_be_held_out(text)
        and is_held_out_heading(in_english(text))
    )


def is_held_out_heading(text: str) -> bool:
    """Whether text in English is such a heading."""
    return HELD_OUT_HEADING.match(text) is not None or _FOREIGN_HEADING.match(text) is not None


MAX_HEADING_CHARACTERS = 160
"""Characters of a heading in another script, with its frame."""


BOTH_PARTS = "both"
"""What a row tells of that names two parts of the data: each of its names says which."""


def part_of(text: str) -> str:
    """Which part of the data held out a text names: that on which a training is watched, or the test set; empty for an evaluation.

    >>> part_of("dev loss"), part_of("Testing"), part_of("eval_loss"), part_of("val_loss test_loss")
    ('val', 'test', '', 'both')
    """
    found = {"test" if match[1][:1] in "tT" else "val" for match in _PART.finditer(text)}
    return "" if not found else BOTH_PARTS if len(found) > 1 else found.pop()


_PART = LazyRegex(r"(?<![a-zA-Z])((?i:val(?!ue)[a-z]{0,8}|dev|test(?:ing|set)?))(?![a-z])")
_OF_PART = LazyRegex(
    r"(?i)(?<![\w/.])(?:val(?:id(?:ation)?)?|dev|test(?:ing)?)(?: ?set)?(?: (?P<of>[A-Za-z]\w{1,20}) ?[-:|] (?![\x01-\x03]))"
)
"""A task or a language between the word for a part of the data and what was measured on it: ``Validation X2Y - loss=0.5``."""


def part_told(piece: str, ahead: str) -> str:
    """Which part of the data held out a row tells of, from all of it and from the words before its values.

    >>> part_told("Validation X2Y - loss=0.5", "Validation X2Y - "), part_told("Test results: acc 0.5", "Test results: ")
    ('val_x2y', 'test')
    """
    part, match = part_of(piece), _OF_PART.search(ahead)
    if match is None or part in {"", BOTH_PARTS}:
        return part
    of = match["of"].lower()
    return part if says_no_quantity(of) or read_name(of).quantity else f"{part}_{of}"


_PHASE_COLUMNS = LazyRegex(
    r"(?i)^(?:metrics?|name|quantity)?[\s|]{2,40}(train(?:ing)?)[\s|]{1,40}(val(?:id(?:ation)?)?|test|dev|eval)[\s|]{0,40}$"
)
_UNDER_PHASES = LazyRegex(
    rf"^[\s|]{{0,20}}([A-Za-z][\w@/.-]{{0,30}}(?: [A-Za-z][\w@/.-]{{0,30}}){{0,3}}) ?:?[\s|]{{1,40}}({NUMBER})%?[\s|]{{1,40}}({NUMBER})%?[\s|]{{0,40}}$"
)


def phase_columns(text: str) -> tuple[str, str] | None:
    """The two phases over the columns of a table whose rows are quantities.

    >>> phase_columns("Metric   | Train  | Val"), phase_columns("train val")
    (('Train', 'Val'), None)
    """
    match = _PHASE_COLUMNS.match(text)
    return None if match is None else (match[1], match[2])


def under_phases(text: str, phases: tuple[str, str]) -> str:
    """A row of such a table with the phase beside each number; other lines as they are.

    >>> under_phases("Loss   | 0.5  | 0.6", ("train", "val")), under_phases("Epoch 2/5", ("train", "val"))
    ('train Loss: 0.5, val Loss: 0.6', 'Epoch 2/5')
    """
    return _UNDER_PHASES.sub(rf"{phases[0]} \1: \2, {phases[1]} \1: \3", text)
