"""Values that a progress bar shows around its counter: tqdm's title and postfix, Lightning's bar.

    Training:   1%|          | 28/5000 [00:22<54:11,  1.53it/s, loss=10.8620, lr=5.79e-05, step=29]
    Epoch 0:  10%|█         | 10/100 [00:01<00:09,  9.02it/s, v_num=0, train_loss_step=nan]
    Epoch 0:  10%|█         | 10/100 [00:01<00:09,  9.02it/s, loss:2.25,epoch mean:2.5]
    loss: 2.3456:  10%|█         | 10/100 [00:01<00:09,  9.02it/s]
    [losses/total_loss: 1.25 | losses/value_loss: 2.5]:  10%|█         | 10/100 [00:01<00:09,  9.02it/s]
    Validation: 100%|██████████| 20/20 [00:01<00:00, 12.1it/s, loss=1.75, dice=0.625]

What it shows is read as a row is (``wordings``). A bar is redrawn many times for one step. Of the redraws with one
counter the first shows what the last step left, because programs set the postfix after, or long after, they move the bar; of
further ones each other loss counts, as loops that gather gradients over several batches show them. A line that was
copied from a terminal may hold several bars. Of a bar of held-out data its last state is one evaluation, at the step of
the training before it. A bar that was full and begins again without an epoch is that of the next epoch.
"""

from __future__ import annotations

import re

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.rows.forms.row_forms import EpochStarts
from analyzer.ingest.text.rows.learned.asides import OF_EPOCH
from analyzer.ingest.text.rows.learned.line_masks import counted, mask
from analyzer.ingest.text.rows.learned.line_phases import heads_evaluation
from analyzer.ingest.text.rows.learned.wordings import NOTHING, Template, learn, read_values
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name
from analyzer.model.score_words import read_score

MAX_CHARACTERS = 4_000
"""Characters of a record in which a bar is looked for; it stands at the beginning, and is a line long."""

TITLE_CHARACTERS = 126
"""Characters before the sign of a bar in which its title, spaces and percentage stand."""

_BAR = LazyRegex(
    r"(?P<title>(?:[^|\r\n%]| \| ){0,120}?)\s{0,3}\d{1,3}%(?:\|[^|]{0,400}\| {1,3}| {1,2}(?=\d{1,12}/\d{1,12} \[\d))(?P<at>\d{1,12})/(?P<of>\d{1,12}) \[(?P<rest>(?:[^\]\r\n]|\](?=:)){1,2000})\]"
)
_SIGN = LazyRegex(r"%(?:\|| {1,2}(?=\d{1,12}/\d{1,12} \[\d))")
"""The sign of a bar; of one that was copied from a notebook the strokes are lost: ``10% 10/100 [00:01<00:09, 9.02it/s]``."""
_STATED = LazyRegex(r"\b(?:global_)?step(?:: ?)?=(\d{1,15})(?:\.0{1,4})?(?![\w.])")
_TITLED = LazyRegex(r"(?i)\b(?:global[ _])?step ?[:=] ?(\d{1,15})(?=[.,;|]? )")
"""The step that a bar is titled with: ``Step: 15. Epoch: 1/100. Iteration: 8/8. loss: 2.5: 100%|``."""
# torchtune puts epoch and step before the title: "1|10|Loss: 1.25:  10%|..."
_TORCHTUNE = LazyRegex(r"(?:^|\s)\d{1,6}\|(\d{1,12})\|$")
_EVALUATION = LazyRegex(r"(?i)\b(?:val(?!ue)|eval|test|predict|sanity|infer)")
_HELD_OUT = LazyRegex(r"(?i)\b(?P<what>val(?!ue)|eval|test)(?!.*\b(?:predict|sanity|infer))")
_BOTH = LazyRegex(r"(?i)\btrain[ _]loss\b.{1,60}?\b(?:val|valid|test)[ _]loss\b")
NEARLY_FULL = 0.9
"""A bar that loops move by a batch at a time may end some samples short of its length."""

MAX_TEMPLATES = 2_000
"""Wordings of bars that are kept; a title that names a file is worded anew each time."""

_KNOWN = frozenset(METRICS) - {"epoch"}


class ProgressBars:
    """Reads the postfix of training bars."""

    literals = ("loss", "Loss")

    def __init__(self) -> None:
        self._place: tuple[int, int, int] | None = None
        self._base: int | None = None
        self._at = self._of = self._passed = self._of_evaluation = 0
        self._templates: dict[str, Template] = {}
        self._starts = EpochStarts()
        self._values: dict[str, float] = {}
        self._line: LogLine | None = None
        self._written = ""
        self._held_out: tuple[dict[str, float], LogLine, int] | None = None

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if "%" not in line.raw:
            return False
        text = line.raw[:MAX_CHARACTERS]
        understood, end = False, 0
        while (sign := _SIGN.search(text, end)) is not None:
            bar = _BAR.search(text, max(end, sign.start() - TITLE_CHARACTERS))
            if bar is None:
                return False
            understood, end = self._read(bar, line, log), bar.end()
        return understood

    def _read(self, bar: re.Match[str], line: LogLine, log: LogState) -> bool:
        values, epoch = self._shown(bar[0].lstrip("\r\n"))
        if self._base is None and epoch is not None:
            # Programs count epochs from 0 or from 1; Lightning, which shows its version, from 0.
            self._base = 0 if "v_num=" in bar["rest"] else min(epoch, 1)
        # of a bar that shows both losses the way is that of the training
        title = "" if _BOTH.search(bar["title"]) else bar["title"]
        held_out = _HELD_OUT.search(title)
        if held_out is None and _EVALUATION.search(title):
            return "loss" not in line.raw[bar.end() :]
        if held_out is not None or self._is_below_heading(int(bar["of"]), epoch, line):
            tests = held_out is not None and held_out["what"].lower() == "test"
            self._evaluated(bar, "test" if tests else "val", values, line, log)
        else:
            self._write_held_out(log)
            if values:
                self._note(bar, values, epoch, line, log)
        # Something may be glued to the bar, for example the trainer's own row.
        return (bool(values) or held_out is not None) and "loss" not in line.raw[bar.end() :]

    def _is_below_heading(self, of: int, epoch: int | None, line: LogLine) -> bool:
        """Whether a bar without a title, of another length than that of the training, begins right below the heading of an evaluation."""
        if epoch is not None or self._place is None or of == self._place[1]:
            self._of_evaluation = 0
        elif of != self._of_evaluation:
            above = peel(line.before().rstrip("\r\n").rpartition("\n")[2]).text[:MAX_CHARACTERS]
            masked = mask(above)
            template = learn(masked) if masked.numbers else NOTHING
            heads = template.evaluates or template.held_out_heading or heads_evaluation(above)
            self._of_evaluation = of if heads and "%" not in above else 0
        return of == self._of_evaluation

    def _shown(self, text: str) -> tuple[dict[str, float], int | None]:
        """The values around a bar, if one of them is known, and its epoch."""
        masked = mask(text)
        template = self._templates.get(masked.key)
        if template is None:
            template = learn(masked) if len(self._templates) < MAX_TEMPLATES else NOTHING
            self._templates[masked.key] = template
        values: dict[str, float] = {}
        for row in template.rows:
            values |= read_values(row, masked.numbers)
        place = template.rows[0].place if template.rows else template.heading
        epoch = counted(masked.numbers[place.epoch]) if place is not None and place.epoch >= 0 else ""
        return values if any(map(_is_known, values)) else {}, int(epoch) if epoch else None

    def _evaluated(
        self, bar: re.Match[str], phase: str, values: dict[str, float], line: LogLine, log: LogState
    ) -> None:
        """One evaluation, where the bar is full or nearly so; before, only some of its samples were seen."""
        full = int(bar["at"]) >= NEARLY_FULL * int(bar["of"])
        if full and self._place is not None and values:
            named = {
                name if read_name(name).phase == "eval" else _prefixed(name, phase): value
                for name, value in values.items()
            }
            self._held_out = named, line.detached(), self._place[0]
        else:
            self._write_held_out(log)

    def _write_held_out(self, log: LogState) -> None:
        if self._held_out is not None:
            values, line, step = self._held_out
            for name, value in values.items():
                log.metric(name, value, line, step)
        self._held_out = None

    def _note(
        self, bar: re.Match[str], values: dict[str, float], epoch: int | None, line: LogLine, log: LogState
    ) -> None:
        at, of = int(bar["at"]), int(bar["of"])
        if before := _TORCHTUNE.search(line.raw, max(0, bar.start() - 24), bar.start()):
            step = int(before[1])
        elif stated := _STATED.search(bar["rest"]) or _TITLED.search(bar["title"]):
            step = int(stated[1])
        elif epoch is not None:
            step = self._starts.step(at, max(epoch - (self._base or 0), 0), of)
        else:
            again = (of, of) == (self._at, self._of) and (at < self._at or self._is_anew(bar, values, line))
            self._passed = (self._passed + of if again else self._passed) * (of == self._of)
            self._at, self._of = at, of
            step = self._passed + at
        place = (step, of, self._passed)  # "0/8" behind a full bar is no redraw of it
        if self._place is not None and (place != self._place or self._is_between(values)):
            self._write(log)
        self._place, self._values, self._line = place, values, line.detached()
        log.saw_step(step)

    def _is_anew(self, bar: re.Match[str], values: dict[str, float], line: LogLine) -> bool:
        """Whether a full bar behind a full one is that of the next epoch, whose way is not drawn.

        Below other lines it shows another loss, or other values if it shows none; titled with both losses, on a line of its own, anything else: pykan fits anew.
        """
        below = 0 if self._line is None else line.number - self._line.number
        if below > 0 and int(bar["at"]) == self._of and _BOTH.search(bar["title"]):
            return values != self._values
        loss, before = (_loss_of(shown) or _part_of_loss(shown) for shown in (values, self._values))
        return below > 1 and (loss != before if loss else values != self._values)

    def _is_between(self, values: dict[str, float]) -> bool:
        """Whether a redraw with one counter changes the loss once more: what it showed before was no value that the last step left."""
        before = _loss_of(self._values)
        return bool(before) and _loss_of(values) not in {"", before} and before != self._written

    def _write(self, log: LogState) -> None:
        if self._place is None or self._line is None:
            return
        self._written = _loss_of(self._values)
        for name, value in self._values.items():
            log.metric(name, value, self._line, self._place[0])

    def finish(self, log: LogState) -> None:
        """Write the last state of the last bars."""
        self._write(log)
        self._write_held_out(log)


def _prefixed(name: str, phase: str) -> str:
    """A name with its phase; a mean so far stays one.

    >>> _prefixed("loss", "val"), _prefixed("epoch/loss_avg", "val")
    ('val_loss', 'epoch/val_loss_avg')
    """
    mean = OF_EPOCH if name.startswith(OF_EPOCH) else ""
    return f"{mean}{phase}_{name.removeprefix(mean)}"


def _loss_of(values: dict[str, float]) -> str:
    """The loss as text, in which a NaN is like another; empty if there is none."""
    return next((str(value) for name, value in values.items() if canonical_metric(name) == "loss"), "")


def _part_of_loss(values: dict[str, float]) -> str:
    """The first that is called a loss of some kind, where none is plainly the loss: ``dice_loss``."""
    return next((str(value) for name, value in values.items() if name.lower().endswith("loss")), "")


def _is_known(name: str) -> bool:
    return canonical_metric(name) in _KNOWN or name.lower().endswith("loss") or bool(read_score(name).better)
