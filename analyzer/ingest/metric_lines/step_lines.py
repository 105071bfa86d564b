"""Step lines of loops that have no format of their own: nanoGPT, torchtitan, llm.c, MaxText, home-made.

    iter 10: loss 4.1234, time 250.00ms, mfu 30.00%
    step:  1  loss: 12.3822  grad_norm:  4.9421  memory: 95.2GiB(53.38%)  tps: 1,024
    step    1/19560 | loss 10.955 (+nanz)| norm 15.3386 (+nanz)| lr 4.29e-07 | 3.4 ms
    [step 200] val loss: 1.6379
    Epoch: [0][10/5005]  Time 0.5 (0.6)  Loss 6.9128e+00 (6.95e+00)
    epoch: 1 step: 20, loss is nan
    Epoch 3/10 - train loss: 0.51 - val loss: 0.62

A line counts only if it names a step or an epoch and, after a known name, a whole number: "nanms", "(+nanz)" and
"50%" are none. What is not certain is left unread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzer.ingest.lazy_regex import LazyRegex
from analyzer.ingest.metric_lines.printed_numbers import END, NUMBER, parse_number
from analyzer.ingest.names import canonical_metric

if TYPE_CHECKING:
    import re

    from analyzer.ingest.log_line import LogLine, LogState

MAX_CHARACTERS = 4_000
"""Characters of a line that are looked at; lines of loops are far shorter."""

_STEP = LazyRegex(
    r"(?:^|[\s\[(|,{;-])(?:completed |global[ _]|train(?:ing)?[ _])?(?:[Ss]teps?|STEP|[Ii]ter(?:ation)?s?|[Uu]pdate|num_updates)(?: at)?\b"
    r"[\"']?\s{0,3}[:=#\[(]{0,2}\s{0,12}(?P<step>\d{1,12})(?:\s{0,3}(?:/|of)\s{0,12}(?P<total>\d{1,12}))?(?![\w.])"
)
_IN_EPOCH = LazyRegex(
    r"\bEpoch:? {0,3}\[ {0,6}(?P<epoch>\d{1,9})(?:/\d{1,9})?\] {0,3}\[ {0,12}(?P<step>\d{1,12})/ {0,12}(?P<total>\d{1,12})\]"
)
_SAMPLES = LazyRegex(r"\bTrain Epoch: {1,4}\d{1,9} \[\d{1,12}/\d{1,12} \(\d{1,3}%\)\]")  # torch's examples
_KERAS = LazyRegex(
    r"(?:^|\s)(?P<step>\d{1,12})/(?P<total>\d{1,12}) (?:\[[=>.]{1,60}\]|━{1,60}).{0,60}? - (?:\w{1,20}: )?"
)
_KERAS_EPOCH = LazyRegex(r"^Epoch (\d{1,9})/\d{1,9}\s*$")
_LLMC = LazyRegex(
    rf"^s:(?P<step>\d{{1,12}}) (?P<key>trl|tel):(?P<value>{NUMBER})(?: lr:(?P<lr>{NUMBER}) norm:(?P<norm>{NUMBER}))?\s*$"
)
_EPOCH = LazyRegex(r"\b[Ee]poch[ :=\[#]{0,4}(\d{1,9})\b")

_NAMES = (
    r"loss[ _-]?scaler?|grad[ _]scale|(?:global[ _]|total[ _])?grad(?:ient)?[ _-]?norm|gnorm|norm"
    r"|(?:train(?:ing)?|val(?:id(?:ation)?)?|eval|test|dev) (?:loss|accuracy|acc|perplexity|ppl)"
    r"|(?:[A-Za-z][A-Za-z0-9]{0,20}[_/.-]){0,4}[Ll][Oo][Ss][Ss](?:/[A-Za-z]\w{0,20})?"
    r"|lr|LR|learning[ _]rate|(?:train_|val_|valid_|eval_|test_)?acc(?:uracy)?|ppl|perplexity|Perplexity|skipped"
)
_PAIR = LazyRegex(
    rf"(?<![\w/.])[\"']?(?P<key>{_NAMES})[\"']?(?: is|[ ]?[:=])?\s{{0,12}}(?:tensor\()?\[?(?P<value>{NUMBER}){END}"
)
_SIGNS = frozenset({"loss", "eval_loss", "grad_norm", "loss_scale", "perplexity"})


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the run a line stands: at a step, or only somewhere in or at the end of an epoch."""

    step: int | None
    whole_epoch: bool = False


class StepLines:
    """Reads lines that name a step, or at least an epoch, and known quantities."""

    literals = ("loss", "Loss", "grad_norm", "Perplexity: ", " ppl", "perplexity", "Epoch ", " trl:", " tel:")

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._last = 0
        self._offset = 0
        self._keras_epoch: int | None = None
        self._has_steps = False

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        text = line.text[:MAX_CHARACTERS]
        if match := _LLMC.match(text):
            return self._llmc(match, line, log)
        if match := _KERAS_EPOCH.match(text):
            self._keras_epoch = int(match[1])
            return True
        values = _values(text)
        if not any(
            canonical_metric(name) in _SIGNS or name.lower().endswith(("loss", "ppl", "perplexity"))
            for name in values
        ):
            return False
        place = self._place(text)
        if place is None:
            return False
        if place.step is not None:
            self._has_steps = True
            log.saw_step(place.step)
        # Means of epochs are no points of the curve that the steps make; they may be all there is.
        if "train_loss" in values and "val_loss" in values and place.step is not None:
            # nanoGPT estimates both over some batches: not a point of the training curve
            values["train_loss_estimate"] = values.pop("train_loss")
        prefix = "epoch/" if place.whole_epoch and self._has_steps else ""
        for name, value in values.items():
            log.metric(f"{prefix}{name}", value, line, place.step)
        return True

    def _place(self, text: str) -> _Place | None:
        if match := _IN_EPOCH.search(text):
            return _Place(int(match["epoch"]) * int(match["total"]) + int(match["step"]))
        if match := _STEP.search(text):
            return _Place(self._running(int(match["step"]), match["total"], text))
        if match := _KERAS.search(text):
            if self._keras_epoch is None or match["step"] != match["total"]:
                return None  # running means of unfinished epochs are left out
            return _Place(self._keras_epoch * int(match["total"]))
        if _SAMPLES.search(text):
            return _Place(None)
        return _Place(None, whole_epoch=True) if _EPOCH.search(text) else None

    def _running(self, step: int, total: str | None, text: str) -> int:
        """Step counted through the epochs, where it starts again at each."""
        match = _EPOCH.search(text)
        epoch = int(match[1]) if match else None
        if epoch is not None and self._epoch is not None and epoch > self._epoch and step <= self._last:
            self._offset += int(total) if total else self._last + (1 if step == 0 else 0)
        self._epoch = epoch if epoch is not None else self._epoch
        self._last = step
        return step + self._offset

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
        """Nothing is left to write."""


def _values(text: str) -> dict[str, float]:
    """Known quantities of a line; of several names for one quantity, the plainest."""
    found: dict[str, float] = {}
    taken: dict[str, str] = {}
    for key, number in _PAIR.findall(text):
        value = parse_number(number)
        name = key.replace(" ", "_")
        canonical = canonical_metric(name)
        if value is None or (canonical in taken and len(taken[canonical]) <= len(name)):
            continue
        found.pop(taken.get(canonical, ""), None)
        taken[canonical] = name
        found[name] = value
    return found
