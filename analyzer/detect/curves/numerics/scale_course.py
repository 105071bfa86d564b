"""The course of the dynamic loss scale, from logged values, overflow messages, and the final exception.

A scaler halves its scale at each overflow and raises it after a window of good steps. Both loggers may tell
of the same overflow: the message at once, the series by its drop; it is counted once. A series that is
logged more rarely than every step shows a drop of several halvings at once.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import RunView, number
from analyzer.detect.curve import take
from analyzer.detect.failures.following import RowsOfLogs
from analyzer.model.arrays import Integers, Values
from analyzer.model.ranked import distinct_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import NULL_INT, Event, Series
from analyzer.record import NamedTuple, dataclass, replace

OVERFLOW = "loss_scale_overflow"
FLOOR_KINDS = ("loss_scale_minimum", "fairseq_min_loss_scale")


LOGARITHM = "lg_loss_scale"

LEAST_SCALE = 1e-300
"""Stands for a scale that was printed as 0, which has no logarithm."""

MAX_HALVINGS = 256
"""Halvings that one drop of a series may stand for: from 2**32 to far below what a GradScaler can reach."""


ROUNDED = 1.1
"""A row prints three decimals, so 0.0039 stands there as 0.004; the next scale above is twice as high."""


class Overflow(NamedTuple):
    """One skipped step."""

    step: int | None  # optimizer step, None if nothing tells it
    event: Event | None  # the message, None if the overflow is inferred from a drop of the series
    ref: SourceRef  # where it shows


@dataclass(frozen=True, slots=True)
class ScaleCourse:
    """Everything known of the loss scale."""

    series: Series | None  # logged scale, None if only messages tell of it
    # float64, shape (n,): the scale in order of time, from the series and the messages below it
    scales: Values
    overflows: tuple[Overflow, ...]  # skipped steps in order of time, without the one that ended the run
    ended: Event | None  # the message that the scale is at its minimum, None if there is none
    ended_step: int | None  # step of that message
    floor: float | None  # configured minimum, None if unknown
    dynamic: bool  # whether the scale is the work of a scaler and not a constant column
    inferred: bool  # whether the overflows come from drops of the series and not from messages

    @property
    def count(self) -> int:
        """Skipped steps, the one that ended the run included."""
        return len(self.overflows) + (self.ended is not None)


def scale_course(view: RunView) -> ScaleCourse | None:
    """What is known of the loss scale, None if nothing is."""
    series = view.curve("loss_scale") or _of_logarithm(view)
    if series is not None:
        series = _finite_part(series)
    messages = [_placed(overflow, series) for overflow in _messages(view)]
    ended = next(iter(RowsOfLogs.ends(view, *FLOOR_KINDS)[-1:]), None)
    if series is None and not messages and ended is None:
        return None
    drops = _drops(series)
    drops = [*_held_by_hysteresis(view, series, drops), *drops]
    inferred = len(drops) > len(messages)
    scales = (
        _told(messages) if series is None else np.concatenate((series.value, _told(_after(series, messages))))
    )
    return ScaleCourse(
        series=series,
        scales=scales,
        overflows=tuple(drops if inferred else messages),
        ended=ended,
        ended_step=None if ended is None else step_of(view, ended),
        floor=_floor(view),
        dynamic=_names_scale(messages) or ended is not None or _moves(series),
        inferred=inferred,
    )


def _of_logarithm(view: RunView) -> Series | None:
    """The scale of trainers that log its power of two, as those of OpenAI's diffusion models do."""
    powers = view.finite(LOGARITHM)
    return None if powers is None else replace(powers, value=np.exp2(powers.value))


def _after(series: Series, messages: list[Overflow]) -> list[Overflow]:
    """Messages that stand below the last logged scale in its file: the scale that they tell is newer."""
    place = int(series.source[-1]), int(series.line[-1])
    return [
        overflow
        for overflow in messages
        if overflow.ref.source == place[0]
        and overflow.ref.line is not None
        and overflow.ref.line > place[1] > 0
    ]


def _placed(overflow: Overflow, series: Series | None) -> Overflow:
    """A message that names no step, at the next row of its file that logs the scale to which it was lowered.

    A trainer that prints a row every hundred steps overflows anywhere between two of them; the row above, from
    which the message would have its step, is the earliest place and would count the whole gap as good steps.
    """
    event, line = overflow.event, overflow.ref.line
    lowered = None if event is None else number(event.fields.get("reducing_to"))
    if series is None or event is None or line is None or lowered is None or "step" in event.fields:
        return overflow
    lower = series.value <= lowered * ROUNDED
    rows = np.flatnonzero((series.source == overflow.ref.source) & (series.line > line) & lower)
    step = series.step_at(int(rows[0])) if rows.size else None
    return overflow if step is None or step < (overflow.step or 0) else overflow._replace(step=step)


def _finite_part(series: Series) -> Series | None:
    good = np.isfinite(series.value) & (series.value > 0)
    return take(series, good) if good.any() else None


def _names_scale(messages: list[Overflow]) -> bool:
    """Whether a message tells a scale; DeepSpeed says "OVERFLOW! ... Skipping step." in bf16 too, without one."""
    return any({"attempted", "reducing_to"} & set(o.event.fields) for o in messages if o.event is not None)


def _moves(series: Series | None) -> bool:
    """A scaler's scale changes or is another power of two; a constant 1.0 is the column of a run without one."""
    if series is None:
        return False
    return bool(np.any(series.value != series.value[0])) or float(series.value[0]) != 1.0


def _messages(view: RunView) -> list[Overflow]:
    """Overflow messages, each once: of repeated files the fullest, of several ranks the first."""
    events = view.events(OVERFLOW)
    chosen: list[Overflow] = []
    for attempt in sorted({event.attempt for event in events}):
        files: dict[int, list[Event]] = {}
        for event in events:
            if event.attempt == attempt:
                files.setdefault(event.ref.source, []).append(event)
        paths = view.run.sources
        best = min(files, key=lambda source: (-len(_one_rank(files[source])), paths[source].path))
        chosen += [Overflow(step_of(view, event), event, event.ref) for event in _one_rank(files[best])]
    return chosen


def _one_rank(events: list[Event]) -> list[Event]:
    """Old DeepSpeed lets every rank report the same overflow; the lowest rank speaks for all."""
    ranks = {rank for event in events if (rank := _rank(event)) is not None}
    return [event for event in events if not ranks or _rank(event) in {None, min(ranks)}]


def _rank(event: Event) -> int | None:
    told = event.fields.get("rank")
    return told if isinstance(told, int) else event.rank


def step_of(view: RunView, event: Event) -> int | None:
    """Step of a message: as it says, or that of the next training row of the same file (else the last one before).

    A trainer prints the row of a step after taking the step, in which the message arises.
    """
    told = event.fields.get("step")
    if event.step is not None or isinstance(told, int):
        return event.step if event.step is not None else int(told)  # type: ignore[arg-type]
    if event.ref.line is None:
        return None
    lines, steps = view.once(_rows_by_source).get(event.ref.source, (None, None))
    if lines is None or steps is None:
        return None
    slot = int(np.searchsorted(lines, event.ref.line, side="left"))
    return int(steps[min(slot, steps.size - 1)])


def _rows_by_source(view: RunView) -> dict[int, tuple[Integers, Integers]]:
    """For each file the lines of its training rows that carry a step, ascending, and those steps."""
    found: dict[int, list[tuple[Integers, Integers]]] = {}
    for metric in ("loss", "grad_norm", "learning_rate"):
        for series in view.all_series(metric):
            for source in distinct_of(series.source):
                mask = (series.source == source) & (series.step != NULL_INT) & (series.line > 0)
                if mask.any():
                    found.setdefault(int(source), []).append((series.line[mask], series.step[mask]))
    joined: dict[int, tuple[Integers, Integers]] = {}
    for source, parts in found.items():
        lines = np.concatenate([part[0] for part in parts])
        steps = np.concatenate([part[1] for part in parts])
        order = np.lexsort((steps, lines))
        joined[source] = (lines[order], steps[order])
    return joined


def _drops(series: Series | None) -> list[Overflow]:
    """One overflow per halving that the series shows."""
    if series is None:
        return []
    found: list[Overflow] = []
    for row in np.flatnonzero(np.diff(series.value) < 0):
        after = int(row) + 1
        before, now = np.log2(np.maximum(series.value[row : after + 1], LEAST_SCALE))
        halvings = min(round(float(before - now)), MAX_HALVINGS)
        # A drop by less than a factor of two (a scaler with another factor) is still one overflow.
        found += [Overflow(series.step_at(after), None, series.ref(after))] * max(halvings, 1)
    return found


def hysteresis(view: RunView) -> int:
    """Overflows that it takes to lower the scale: as configured, else by the framework's default, else 1."""
    told = view.config_value("fp16.hysteresis")
    if isinstance(told, int) and told > 0:
        return int(told)
    return int(view.framework_number("scale_hysteresis") or 1)


def _held_by_hysteresis(view: RunView, series: Series | None, drops: list[Overflow]) -> list[Overflow]:
    """Overflows before the first drop that left the scale as it was.

    They show only if the scale falls so early that every row before must have been one of them.
    """
    held = hysteresis(view) - 1
    if (
        series is None
        or not drops
        or not 0 < held < len(series)
        or series.value[held] >= series.value[held - 1]
    ):
        return []
    return [Overflow(series.step_at(row), None, series.ref(row)) for row in range(held)]


def _told(messages: list[Overflow]) -> Values:
    """The scale as the messages tell it: first what was attempted, then what it was lowered to."""
    values: list[float] = []
    for overflow in messages:
        fields = {} if overflow.event is None else overflow.event.fields
        attempted, lowered = fields.get("attempted"), fields.get("reducing_to")
        if isinstance(attempted, int | float):
            values.append(float(attempted))
        if isinstance(lowered, int | float):
            values.append(float(lowered))
    return np.array(values, dtype=np.float64)


def _floor(view: RunView) -> float | None:
    """Configured minimum of the scale; the framework's default where nothing else is said."""
    told = number(view.config_value("fp16.min_loss_scale"))
    if told is not None:
        return told if told > 0 else None  # 0 means that the scale may fall without end
    return view.framework_number("scale_minimum")
