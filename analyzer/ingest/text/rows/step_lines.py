"""The general reader: rows of loops that have no format of their own.

    [step 200] val loss: 1.6379
    epoch=3 step=120 loss=1.23 lr=1e-4 grad_norm=0.5
    [1,  2000] loss: 2.173
    Epoch 1 Batch 100 Loss 1.2345
    epoch: 1 step: 20, loss is nan
    Epoch 3/10 - train loss: 0.51 - val loss: 0.62 - val acc: 81.2%
    E5 iter[ 14/ 15] | [Loss] 2.25 | [step]    89
    Step: 200; Accuracy: 0.04
    train loss:1.10886

A line counts only if it names a step or an epoch and, after a name that ``names`` knows, a whole number:
"nanms", "(+nanz)" and "50%" are no losses. Prose names steps and losses too, so a line of many other words
is left unread, as are values that a line calls the best or the last. A line without a place, such as the last one above, counts if
lines of the same names keep coming. How many rows were read this way is
told by an event, because the reader knows the program of none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzer.ingest.lazy_regex import LazyRegex
from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.rows.general_rows import GeneralRows
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.ingest.text.rows.row_forms import UNIT, VALUE, EpochCounter, with_unit

if TYPE_CHECKING:
    import re

    from analyzer.ingest.text.log_line import LogLine, LogState

MAX_CHARACTERS = 4_000
"""Characters of a line that are looked at; lines of loops are far shorter."""

MAX_OTHER_WORDS = 7
"""Words of a row that belong to no pair. "Epoch 3 finished in 12 s, average training loss: 0.5" has five."""

MAX_OTHER_WORDS_UNSEPARATED = 3
"""The same if names and numbers stand side by side, as in prose ("the loss 3 times")."""

BARE_ROWS, BARE_KINDS, BARE_WORDS = 3, 8, 2
"""Rows without a place that make a series: two of one form may be a summary and its copy; kinds that are kept in
mind; and words beside the pairs, such as a level and a logger."""

EPOCHS_OF_A_TRAINING = 3
"""Epochs passed before a fall back to the first one begins another training; tables of results count up to two anew."""

HEADING_LINES = 12
"""Lines below a heading "Epoch 3/10" in which rows without a place of their own belong to it."""

_STEP = LazyRegex(
    r"(?:^|[\s\[(|,{;-])(?:completed |global[ _]|train(?:ing)?[ _])?(?:[Ss]teps?|STEP|[Ii]ter(?:ation)?s?|ITER|[Uu]pdate|num_updates)(?: at)?\b"
    r"[\"'\]]?\s{0,3}[:=#\[(]{0,2}\s{0,12}(?P<step>\d{1,12})(?:\s{0,3}(?:/|of)\s{0,12}(?P<total>\d{1,12}))?(?![\w.])"
)
_BATCH = LazyRegex(
    r"(?:^|[\s\[(|,{;-])(?:[Bb]atch|BATCH|[Ee]pisode|EPISODE)(?:[ _](?:idx|num|id))?\b"
    r"[\"'\]]?\s{0,3}[:=#\[(]{0,2}\s{0,12}(?P<step>\d{1,12})(?:\s{0,3}(?:/|of)\s{0,12}(?P<total>\d{1,12}))?(?![\w.])"
)
_IN_EPOCH = LazyRegex(
    r"(?:\bEpoch:? {0,3}|^)\[ {0,6}(?P<epoch>\d{1,9})(?:/\d{1,9})?\] {0,3}\[ {0,12}(?P<step>\d{1,12})/ {0,12}(?P<total>\d{1,12})\]"
)
_BRACKETS = LazyRegex(
    r"^\[(?:(?P<epoch>\d{1,9}), {1,6})?(?P<step>\d{1,12})(?:/(?P<total>\d{1,12}))?\] {1,3}(?=\S)"
)
_SAMPLES = LazyRegex(
    r"\bTrain Epoch: {1,4}\d{1,9} \[ {0,12}\d{1,12}/ {0,12}\d{1,12} \( {0,3}\d{1,3}%\)\]"
)  # torch's examples
_HEADING = LazyRegex(
    r"^[-=*# ]{0,40}(?:[Tt]rain(?:ing)? )?[Ee]poch[ :#]{0,8}(\d{1,9})(?: ?(?:/|of) ?\d{1,9})?[-=*#:. ]{0,40}$"
)
_LLMC = LazyRegex(
    rf"^s:(?P<step>\d{{1,12}}) (?P<key>trl|tel):(?P<value>{NUMBER})(?: lr:(?P<lr>{NUMBER}) norm:(?P<norm>{NUMBER}))?\s*$"
)
_EPOCH = LazyRegex(r"\b(?:[Ee]poch|EPOCH)\]?[ :=\[#]{0,4}(\d{1,9})\b")

# "Epoch: 2, Steps: 100 | Train Loss: 1.5 Vali Loss: 1.25": the second number is the length of an epoch
_LENGTH = LazyRegex(r"\b[Ee]poch: {0,2}\d{1,9}, Steps: {0,2}\d{1,12} \| ")

_PART = r"(?:[Tt]rain(?:ing)?|TRAIN|[Vv]al(?:i(?:d(?:ation)?)?)?|VAL|[Ee]val(?:uation)?|[Tt]est|TEST|[Dd]ev|[Aa]verage|[Aa]vg\.?|[Mm]ean|[Tt]otal|[Rr]unning)"
_QUOTE = r"[\"'\u2019\u201d]?"  # forums turn the quotes of a pasted dictionary
# Names that may stand beside their number without a sign in between.
_WORDS = (
    rf"{_PART}[ _](?:[Ll]oss|LOSS|[Aa]cc(?:uracy)?|[Pp]erplexity|ppl|[Rr]eward)"
    r"|loss[ _-]?scaler?|grad[ _]scale|(?:global[ _]|total[ _])?grad(?:ient)?[ _-]?norm|gnorm|norm"
    r"|(?:[A-Za-z][A-Za-z0-9]{0,20}[_/.-]){0,4}(?:[Ll]oss|LOSS)(?:[_/][A-Za-z]\w{0,20})?"
    r"|lr|LR|[Ll]earning[ _][Rr]ate|[Aa]cc(?:uracy|u)?|ppl|[Pp]erplexity|skipped|mfu|MFU"
)
_PAIR = LazyRegex(
    rf"(?<![\w/.])[\"']?(?:(?P<word>{_WORDS}){_QUOTE}(?:(?P<sign> is| {{0,8}}[:=]|\](?:: )?)\s{{0,12}}(?:tensor\()?\[?|\s{{1,12}}(?:tensor\()?)"
    rf"|(?P<name>[A-Za-z][\w/.@-]{{1,60}}){_QUOTE} ?[:=] {{0,12}}(?:tensor\()?\[?){VALUE}{UNIT}"
)
_OTHER_PAIR = LazyRegex(
    rf"[\w/.@()-]{{1,60}}[\"'\]\u2019\u201d]?\s{{0,3}}[:=]?\s{{0,12}}(?:{NUMBER}|\[)[\w%/]{{0,8}}"
)
_WORD = LazyRegex(r"[A-Za-z]{2,}")
_PAST = LazyRegex(
    r"(?i)\b(?:best|lowest|min(?:imum)?|last|previous|prev|initial|target|old|final)[ _:]{1,2}(?:\w{1,20} ){0,2}$"
)
# A word before "loss" that says which: "Semantic loss: 0.5" is a part of the loss, "Batch loss" the loss itself.
_WHICH = LazyRegex(r"([A-Za-z][A-Za-z0-9]{1,20}) $")
_ITSELF = frozenset(
    {
        "the",
        "a",
        "with",
        "and",
        "current",
        "curr",
        "cur",
        "step",
        "batch",
        "iter",
        "iteration",
        "epoch",
        "is",
        "sum",
        "smoothed",
        "tot",
        "overall",
    }
)
_HELD_OUT = LazyRegex(r"(?i)(?<![\w/.])(?:val(?:id(?:ation)?)?|eval(?:uation)?|test(?:ing)?|dev)(?![\w/.])")
_TRAINING = LazyRegex(r"(?i)\btrain")
_HELD_OUT_HEADING = LazyRegex(
    r"(?i)^\W{0,40}(?:eval(?:uat(?:ion|ing))?|validat(?:ion|ing)|test(?:ing)?)(?: (?:results?|metrics?|scores?|summary|set|on|at|epoch|step|the|\d{1,9}))"
    r"{0,5}\W{0,40}$"
)

HELD_OUT_LINES = 4
"""Rows below a heading such as "Evaluation results:" that belong to it."""

_NO_ROW = LazyRegex(
    r"(?i)^\W{0,4}(?:sav|load|resum|restor|best|early|new best|checkpoint|warning|note|error|raise|assert|def |if |for |print|#)"
)
_SIGNS = frozenset(
    {
        "loss",
        "eval_loss",
        "grad_norm",
        "loss_scale",
        "perplexity",
        "eval_perplexity",
        "reward_mean",
        "accuracy",
        "eval_accuracy",
    }
)
# Words of home-made loops that mean something else in a tracker ("cost" in dollars)
_HOME_NAMES = {"cost": "loss", "avg_cost": "loss", "tot_loss": "total_loss", "accu": "accuracy"}
_UNITS = {"s": ("ms", "s"), "share": ("%",), "share or percent": ("%",), "GiB": ("MiB", "GiB", "MB", "GB"),
          "tokens/s": ("K", "M"), "samples/s": ("K",)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the run a line stands: at a step, or only somewhere in or at the end of an epoch."""

    step: int | None
    whole_epoch: bool = False


class StepLines:
    """Reads lines that name a step, or at least an epoch, and known quantities."""

    literals = (
        "loss",
        "Loss",
        " LOSS: ",
        "LOSS    ",
        "ccuracy: ",
        " cost= ",
        " cost = ",
        " cost: ",
        "grad_norm",
        "Perplexity: ",
        " ppl",
        "perplexity",
        "Epoch ",
        "valuati",
        "alidati",
        "raining epoch",
        " trl:",
        " tel:",
        "eward: ",
        "reward=",
    )

    def __init__(self) -> None:
        self._counter = EpochCounter()
        self._heading: int | None = None
        self._heading_epoch: int | None = None
        self._held_out_heading: int | None = None
        self._has_steps = False
        self._bare: dict[tuple[str, ...], list[tuple[LogLine, dict[str, float]]]] = {}
        self._read = GeneralRows("pairs")
        self._epoch: int | None = None
        self._first_epoch: int | None = None

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        text = line.text[:MAX_CHARACTERS]
        if match := _LLMC.match(text):
            return self._llmc(match, line, log)
        if heading := _HEADING.match(text):
            self._heading, self._heading_epoch = line.number, int(heading[1])
            return True
        values = _values(text)
        if not values:
            if _HELD_OUT_HEADING.match(text):
                self._held_out_heading = line.number
            return False
        place = self._place(text, line.number)
        if place is None:
            below = (
                self._held_out_heading is not None and line.number - self._held_out_heading <= HELD_OUT_LINES
            )
            return self._without_place(_as_held_out(values) if below else values, line, log)
        if not any(_is_sign(name) for name in values):
            return False
        if place.step is not None:
            self._has_steps = True
            log.saw_step(place.step)
        else:
            self._note_epoch(text, line, log)
        # Means of epochs are no points of the curve that the steps make; they may be all there is.
        if "train_loss" in values and "val_loss" in values and place.step is not None:
            # nanoGPT estimates both over some batches: not a point of the training curve
            values["train_loss_estimate"] = values.pop("train_loss")
        means = place.whole_epoch and self._has_steps
        for name, value in values.items():
            if canonical_metric(name).startswith("eval_"):
                log.metric(name, value, line, log.step if means else place.step)
            else:
                log.metric(f"epoch/{name}" if means else name, value, line, place.step)
        self._read.note(line, values, place.step)
        return True

    def _note_epoch(self, text: str, line: LogLine, log: LogState) -> None:
        """Tell where a loop of several trainings (folds, settings) begins the next one: its epochs start again."""
        if (match := _EPOCH.search(text)) is None:
            return
        epoch = int(match[1])
        if self._epoch is None or self._first_epoch is None:
            self._first_epoch = epoch
        elif epoch == self._first_epoch and self._epoch >= epoch + EPOCHS_OF_A_TRAINING:
            log.event("training_begins_again", "info", line, {"epoch": epoch}, None)
        self._epoch = epoch

    def _without_place(self, values: dict[str, float], line: LogLine, log: LogState) -> bool:
        """Keep a row in mind until enough of its kind have come; then they are one series."""
        kind = tuple(sorted(values))
        if not {canonical_metric(name) for name in kind} & {"loss", "eval_loss"}:
            return False
        if _other_words(line.text[:MAX_CHARACTERS]) > BARE_WORDS:
            return False
        if kind not in self._bare and len(self._bare) >= BARE_KINDS:
            return False
        waiting = self._bare.setdefault(kind, [])
        if len(waiting) < BARE_ROWS:
            waiting.append((line.detached(), values))
            if len(waiting) < BARE_ROWS:
                return False  # a lone line may be anything
            rows = waiting
        else:
            rows = [(line, values)]
        for at, found in rows:
            for name, value in found.items():
                log.metric(name, value, at, None)
            self._read.note(at, found, None)
        return True

    def _place(self, text: str, number: int) -> _Place | None:
        if match := _IN_EPOCH.search(text):
            return _Place(int(match["epoch"]) * int(match["total"]) + int(match["step"]))
        if _LENGTH.search(text):
            return _Place(None, whole_epoch=True)
        if match := _STEP.search(text) or _BATCH.search(text) or _BRACKETS.match(text):
            named = match.groupdict().get("epoch") or (found[1] if (found := _EPOCH.search(text)) else None)
            epoch = int(named) if named else self._heading_epoch
            total = int(match["total"]) if match["total"] else None
            return _Place(self._counter.running(int(match["step"]), epoch, total))
        if _SAMPLES.search(text):
            return _Place(None)
        if _EPOCH.search(text):
            return _Place(None, whole_epoch=True)
        below = self._heading is not None and number - self._heading <= HEADING_LINES
        return _Place(None, whole_epoch=True) if below else None

    @staticmethod
    def _llmc(match: re.Match[str], line: LogLine, log: LogState) -> bool:
        step = int(match["step"])
        names = {"value": "loss" if match["key"] == "trl" else "eval_loss", "lr": "lr", "norm": "grad_norm"}
        log.saw_step(step)
        for group, name in names.items():
            value = parse_number(match[group]) if match[group] else None
            if value is not None:
                log.metric(name, value, line, step)
        return True

    def finish(self, log: LogState) -> None:
        """Say how much was read by this reader."""
        self._read.tell(log)


def _as_held_out(values: dict[str, float]) -> dict[str, float]:
    """The same quantities, those of training under the names that they have on held-out data.

    What is called by the word stays what it is: "best test acc: 0.9, train loss: 0.4".
    """
    plain = {"loss", "accuracy", "perplexity"}
    return {
        f"val_{name.lower()}"
        if canonical_metric(name) in plain and not _TRAINING.match(name)
        else name: value
        for name, value in values.items()
    }


def _is_sign(name: str) -> bool:
    """Whether a quantity shows that its line is a row: other words stand in prose and settings too."""
    return (
        canonical_metric(name) in _SIGNS
        or name.lower().startswith("loss_")
        or name.lower().endswith(("loss", "ppl", "perplexity"))
    )


def _values(text: str) -> dict[str, float]:
    """Known quantities of a line; of several names for one quantity, the plainest. Empty for prose."""
    if _NO_ROW.match(text) or "Warning: " in text:
        return {}
    found: dict[str, float] = {}
    taken: dict[str, str] = {}
    separated, first = False, None
    for match in _PAIR.finditer(text):
        name = (
            "step_time_s"
            if match["name"] == "dt" and match["unit"]
            else (match["word"] or match["name"]).replace(" ", "_").replace(".", "" if match["word"] else ".")
        )
        name = _HOME_NAMES.get(name.lower(), name)
        value = _value(name, match)
        if value is None or _PAST.search(text[max(0, match.start() - 40) : match.start()]):
            continue
        which = _WHICH.search(text, 0, match.start()) if name.lower() == "loss" else None
        if which is not None and which[1].lower() not in _ITSELF:
            name = f"{which[1]}_{name}"
        first = match.start() if first is None else first
        separated = separated or match["sign"] is not None or match["name"] is not None
        canonical = canonical_metric(name)
        if canonical in taken and len(taken[canonical]) <= len(name):
            continue
        found.pop(taken.get(canonical, ""), None)
        taken[canonical] = name
        found[name] = value
    if not found:
        return found
    ahead = text[:first]
    if ("eval_loss" in taken and "loss" not in taken) or (
        _HELD_OUT.search(ahead) and not _TRAINING.search(ahead)
    ):
        # "val Loss: 0.4 Acc: 0.8" and "Valid | Epoch 3 | Loss 0.4" are about held-out data
        found = _as_held_out(found)
    return (
        found if _other_words(text) <= (MAX_OTHER_WORDS if separated else MAX_OTHER_WORDS_UNSEPARATED) else {}
    )


def _other_words(text: str) -> int:
    """Words of a line that belong to no pair of name and number."""
    position, count = 0, 0
    for match in _OTHER_PAIR.finditer(text):
        count += len(_WORD.findall(text[position : match.start()]))
        position = match.end()
    return count + len(_WORD.findall(text[position:]))


def _value(name: str, match: re.Match[str]) -> float | None:
    """The value of a pair whose name is known and whose unit fits it."""
    lowered = name.lower()
    canonical = canonical_metric(name)
    unit = match["unit"] or ""
    if canonical == "epoch":
        return None
    if canonical not in METRICS and not (lowered.endswith("loss") or lowered.startswith("loss_")):
        return None
    value = parse_number(match["value"])
    if not unit or value is None:
        return value
    allowed = _UNITS.get(METRICS[canonical].unit, ()) if canonical in METRICS else ()
    if unit not in allowed or not value >= 0:
        return None
    return value if canonical.endswith("accuracy") else with_unit(value, unit)
