"""Values that a progress bar shows around its counter: tqdm's title and postfix, Lightning's bar.

    Training:   1%|          | 28/5000 [00:22<54:11,  1.53it/s, loss=10.8620, lr=5.79e-05, step=29]
    Epoch 0:  10%|█         | 10/100 [00:01<00:09,  9.02it/s, v_num=0, train_loss_step=nan]
    loss: 2.3456:  10%|█         | 10/100 [00:01<00:09,  9.02it/s]
    100%|██████████| 625/625 [03:20<00:00,  3.12it/s, epoch=4, loss: =6.75, LR=0.00012]
    [losses/total_loss: 1.25 | losses/value_loss: 2.5]:  10%|█         | 10/100 [00:01<00:09,  9.02it/s]
    Validation: 100%|██████████| 20/20 [00:01<00:00, 12.1it/s, loss=1.75, dice=0.625]

A bar is redrawn many times for one step. Of the redraws with one counter the last one counts, because
programs set the postfix after, or long after, they move the bar. A line that was copied from a terminal may
hold several bars. Of a bar of held-out data its last state is one evaluation, at the step of the training before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.rows.forms.row_forms import EpochStarts
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name
from analyzer.model.score_words import read_score

if TYPE_CHECKING:
    import re

    from analyzer.ingest.text.log_line import LogLine, LogState

MAX_CHARACTERS = 4_000
"""Characters of a record in which a bar is looked for; it stands at the beginning, and is a line long."""

TITLE_CHARACTERS = 126
"""Characters before the sign of a bar in which its title, spaces and percentage stand."""

_BAR = LazyRegex(
    r"(?P<title>(?:[^|\r\n%]| \| ){0,120}?)\s{0,3}\d{1,3}%\|[^|]{0,400}\| {1,3}(?P<at>\d{1,12})/(?P<of>\d{1,12}) \[(?P<rest>[^\]\r\n]{1,2000})\]"
)
_TITLE_PAIR = LazyRegex(
    rf"(?<![\w/.])(?P<key>(?:[A-Za-z]\w{{0,20}}/)?(?:[A-Za-z]\w{{0,20}}[_/ ])?[Ll]oss|lr|grad_norm)\s{{0,2}}[:=]?\s{{0,8}}(?P<value>{NUMBER})(?=[\s,;:|)\]]|$)"
)
_PAIR = LazyRegex(rf"(?:^|, )(?P<key>[A-Za-z][\w/. -]{{0,60}}?)(?:: ?)?=(?P<value>{NUMBER})(?=,|$|\]| \()")
# torchtune puts epoch and step before the title: "1|10|Loss: 1.25:  10%|..."
_TORCHTUNE = LazyRegex(r"(?:^|\s)\d{1,6}\|(\d{1,12})\|$")
_EPOCH = LazyRegex(r"\b[Ee]poch\W{0,3}(\d{1,9})")
_EPOCH_BEHIND = LazyRegex(r", [Ee]poch(?:: ?)?=(\d{1,9})(?=,|$)")
_EVALUATION = LazyRegex(r"(?i)\b(?:val(?!ue)|eval|test|predict|sanity|infer)")
_HELD_OUT = LazyRegex(r"(?i)\b(?P<what>val(?!ue)|eval|test)(?!.*\b(?:predict|sanity|infer))")
_KNOWN = frozenset(METRICS) - {"epoch"}


class ProgressBars:
    """Reads the postfix of training bars."""

    literals = ("loss", "Loss")

    def __init__(self) -> None:
        self._place: tuple[int, int] | None = None
        self._base: int | None = None
        self._starts = EpochStarts()
        self._values: dict[str, float] = {}
        self._line: LogLine | None = None
        self._held_out: tuple[dict[str, float], LogLine, int] | None = None

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        if "%|" not in line.raw:
            return False
        text = line.raw[:MAX_CHARACTERS]
        understood, end = False, 0
        while (sign := text.find("%|", end)) >= 0:
            bar = _BAR.search(text, max(end, sign - TITLE_CHARACTERS))
            if bar is None:
                return False
            understood, end = self._read(bar, line, log), bar.end()
        return understood

    def _read(self, bar: re.Match[str], line: LogLine, log: LogState) -> bool:
        if self._base is None and (epoch := _epoch(bar)) is not None:
            # Programs count epochs from 0 or from 1; Lightning, which shows its version, from 0.
            self._base = 0 if "v_num=" in bar["rest"] else min(epoch, 1)
        held_out = _HELD_OUT.search(bar["title"])
        if held_out is None and _EVALUATION.search(bar["title"]):
            return "loss" not in line.raw[bar.end() :]
        pairs = {
            match["key"].replace(" ", "_"): match["value"] for match in _TITLE_PAIR.finditer(bar["title"])
        }
        pairs |= {match["key"]: match["value"] for match in _PAIR.finditer(bar["rest"])}
        values = {name: number for name, text in pairs.items() if (number := parse_number(text)) is not None}
        kept = {name: value for name, value in values.items() if _is_known(name)}
        if held_out is not None:
            self._evaluated(bar, "test" if held_out["what"].lower() == "test" else "val", kept, line, log)
        else:
            self._write_held_out(log)
            if kept:
                self._note(bar, values, kept, line, log)
        # Something may be glued to the bar, for example the trainer's own row.
        return (bool(kept) or held_out is not None) and "loss" not in line.raw[bar.end() :]

    def _evaluated(
        self, bar: re.Match[str], phase: str, kept: dict[str, float], line: LogLine, log: LogState
    ) -> None:
        """One evaluation, where the bar is full; before, only some of its samples were seen."""
        if bar["at"] == bar["of"] and self._place is not None and kept:
            named = {
                name if read_name(name).phase == "eval" else f"{phase}_{name}": value
                for name, value in kept.items()
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
        self,
        bar: re.Match[str],
        values: dict[str, float],
        kept: dict[str, float],
        line: LogLine,
        log: LogState,
    ) -> None:
        at, of = int(bar["at"]), int(bar["of"])
        epoch = _epoch(bar)
        stated = values.get("step", values.get("global_step", -1.0))
        step = int(stated) if 0 <= stated < 1e15 else at
        if before := _TORCHTUNE.search(line.raw, max(0, bar.start() - 24), bar.start()):
            step = int(before[1])
        elif epoch is not None and stated < 0:
            step = self._starts.step(at, max(epoch - (self._base or 0), 0), of)
        place = (step, of)
        if self._place is not None and place != self._place:
            self._write(log)
        self._place, self._values, self._line = place, kept, line.detached()
        log.saw_step(step)

    def _write(self, log: LogState) -> None:
        if self._place is None or self._line is None:
            return
        for name, value in self._values.items():
            log.metric(name, value, self._line, self._place[0])

    def finish(self, log: LogState) -> None:
        """Write the last state of the last bars."""
        self._write(log)
        self._write_held_out(log)


def _epoch(bar: re.Match[str]) -> int | None:
    """The epoch that a bar is of, in its title or behind its counter."""
    found = _EPOCH.search(bar["title"]) or _EPOCH_BEHIND.search(bar["rest"])
    return None if found is None else int(found[1])


def _is_known(name: str) -> bool:
    return canonical_metric(name) in _KNOWN or name.lower().endswith("loss") or bool(read_score(name).better)
