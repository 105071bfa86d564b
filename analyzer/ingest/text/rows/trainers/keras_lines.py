"""Console rows of Keras: a bar of one epoch, or one line of an epoch (``verbose=2``).

    Epoch 3/10
     50/100 [==============>...............] - ETA: 1s - loss: 2.25 - accuracy: 0.25
    100/100 [==============================] - 5s 50ms/step - loss: 2.125 - accuracy: 0.25 - val_loss: 2.0
    100/100 ━━━━━━━━━━━━━━━━━━━━ 5s 50ms/step - accuracy: 0.25 - loss: 2.125 - val_loss: 2.0
    100/100 - 5s - 50ms/step - loss: 2.125 - val_loss: 2.0
     - 5s - loss: 2.125 - val_loss: 2.0

What a bar shows is a mean since the epoch began, so the last state of each epoch counts, whether or not
the epoch was finished; of a log that ends in its first epoch all states count. Where a value stops to be finite within an
epoch, the states on both sides count too: they tell the step. The end of a bar outside an epoch is a part, the result of an evaluation; other bars there are left out, but for those of a
log that begins in the middle: before the head of a later epoch, in a bar that still has time to go, or where several ended bars of one
length are all there is, as somebody copies them without their heads.
"""

from __future__ import annotations

import math

from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.ingest.text.rows.learned.line_masks import in_english
from analyzer.ingest.text.rows.printed_numbers import NUMBER, parse_number
from analyzer.lazy_regex import LazyRegex

MAX_CHARACTERS = 4_000
"""Characters of a row that are looked at."""

_EPOCH = LazyRegex(
    r"^\s{0,16}[Ee]poch[: ]{1,3}(\d{1,9})(?:/\d{1,9})?\s{0,4}$"
)  # old versions leave the number of epochs out
_ROW = LazyRegex(
    r"(?:^|(?<!poch)\s)(?P<at>\d{1,12})/(?:(?P<of>\d{1,12})|Unknown) (?:\[[=>.]{1,60}\]|━{1,60}|(?=- \d))|^ {0,16}(?=- \d{1,7}s - |\d{1,7}s - loss: )"
)
_LEAD = LazyRegex(
    r"^\s{0,16}(?:[Ee]poch|[Ii]ter(?:ation)?|[Rr]ound)[ :#]{1,3}(\d{1,9})(?:/\d{1,9})?[ :-]{0,4}$"
)
"""What loops that train an epoch at a time print before its bar: ``iteration 3 100/100 [====]``."""
_PAIR = LazyRegex(
    rf" - (?P<key>[A-Za-z_][\w/]{{0,80}}(?:\. \w{{1,30}})?): (?P<value>{NUMBER})(?=\s|$|(?<=nan)[A-Z])"
)
_STEP_TIME = LazyRegex(r"\b(\d{1,7})(us|ms|s)/step\b")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


MAX_STATES = 400
"""States of a first epoch that are kept; of more every second one is dropped, again and again."""

EPOCHS_WITHOUT_HEADS = 2
"""Ended bars without the head of an epoch; a single one is that of an evaluation."""

_State = tuple["LogLine", dict[str, float], int | None]


class KerasLines:
    """Reads epochs."""

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._finished_of: int | None = None
        self._ends: set[int] = set()
        self._row: _State | None = None
        self._states: list[_State] = []
        self._onset: list[_State] = []
        self._written = False

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        text = line.text[:MAX_CHARACTERS]
        text = text if text.isascii() else in_english(text)
        if match := _EPOCH.match(text):
            if self._epoch is None and int(match[1]) <= 1:
                self._row = None  # what stood before the first epoch was an evaluation
            self._write(log)
            self._epoch, self._finished_of = int(match[1]), None
            log.trainings.note(self._epoch, line, log)
            return False  # other loops print such a line too
        row = _ROW.search(text)
        if row is None:
            return False
        if (lead := _LEAD.match(text[: row.start("at")])) and int(lead[1]) != self._epoch:
            self._write(log)
            self._epoch, self._finished_of = int(lead[1]), None
        at, of = (int(row[name]) if row[name] else None for name in ("at", "of"))
        values = {
            m["key"].replace(". ", "_"): number
            for m in _PAIR.finditer(text, row.end() - 1)
            if (number := parse_number(m["value"])) is not None
        }
        if self._finished_of is not None and of != self._finished_of:
            return self._evaluated(values, line, log, ended=at == of)
        closed = self._finished_of is not None and self._row is not None and _has_held_out(self._row[1])
        if not values:
            return False
        if closed and not _has_held_out(values):
            return self._evaluated(values, line, log, ended=at == of)
        if duration := _STEP_TIME.search(text):
            values["step_time"] = int(duration[1]) * _SECONDS[duration[2]]
        if at == of:
            self._finished_of = of
        step = None if at is None or of is None else max((self._epoch or 1) - 1, 0) * of + at
        if at is not None and at == of:
            self._ends.add(at)
        if self._epoch is None and at == of is not None and _has_held_out(values):
            # The end of an epoch whose head was cut off: an evaluation has no values of its own held-out data.
            self._row, self._written = None, True
            self._states.clear()
            self._put(line, values, None, log)
            return True
        self._keep((line.detached(), values, step))
        return True

    def _evaluated(self, values: dict[str, float], line: LogLine, log: LogState, *, ended: bool) -> bool:
        """An evaluation that was called by itself: of which data is not said, so that no curve is made of it."""
        step = self._row[2] if self._row is not None else log.step
        for name, value in values.items() if ended else ():
            log.metric(f"part/test_{name}", value, line, step)
        return True

    def _keep(self, state: _State) -> None:
        """Keep the state of a bar until the next is met."""
        _, values, step = state
        if self._row is not None and not self._onset and _breaks(self._row[1], values):
            self._onset = [self._row, state]
        self._row = state
        if not self._written and step is not None:
            self._states.append(self._row)
            if len(self._states) > MAX_STATES:
                del self._states[1::2]

    def _write(self, log: LogState) -> None:
        if self._row is None:
            return
        counted = [*(state for state in self._onset if state is not self._row), self._row]
        self._row, self._written = None, True
        self._states.clear()
        self._onset = []
        for line, values, step in counted:
            self._put(line, values, step, log)

    @staticmethod
    def _put(line: LogLine, values: dict[str, float], step: int | None, log: LogState) -> None:
        log.out.framework("keras")
        if step is not None:
            log.saw_step(step)
        for name, value in values.items():
            log.metric(name, value, line, step)

    def finish(self, log: LogState) -> None:
        """Write the last epoch; of a log without any, the state of a bar that never ended."""
        if (
            self._epoch is None
            and self._row is not None
            and " - ETA: " not in self._row[0].text
            and self._row[2] in self._ends
        ):
            ended = [
                state for state in self._states if state[2] in self._ends and " - ETA: " not in state[0].text
            ]
            if len(ended) >= EPOCHS_WITHOUT_HEADS and log.is_empty:
                for count, (line, values, of) in enumerate(ended, 1):
                    self._put(line, values, count * (of or 0), log)
            return
        if not self._written and self._finished_of is None:
            self._onset = []  # they are among the states
            for line, values, step in self._states[:-1]:
                self._put(line, values, step, log)
        self._write(log)


def _has_held_out(values: dict[str, float]) -> bool:
    """Whether an epoch's row holds values of its held-out data, which no evaluation does, and which end the epoch."""
    return any(name.startswith("val_") for name in values)


def _breaks(before: dict[str, float], now: dict[str, float]) -> bool:
    """Whether a value that was finite is so no more."""
    return any(math.isfinite(before.get(name, math.nan)) and not math.isfinite(now[name]) for name in now)
