"""The strict bulk forms of DeepSpeed's two lines about progress; see ``deepspeed_lines`` for what they look like."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.ingest.bulk_lines import Batch, CurvePart, Records
from analyzer.ingest.metric_lines.learned_shapes import PLAIN_BAR, LazyBytesRegex
from analyzer.ingest.prefixes import peel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from analyzer.ingest.log_line import LogState
    from analyzer.ingest.text_layer import Block

_NUMBER = rb"-?\d{1,15}(?:\.\d{0,18})?(?:[eE][-+]\d{1,3})?"
# [2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0]
_PREFIX = rb"(?P<bar>%b)?" % PLAIN_BAR + (
    rb"\[(?P<second>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(?P<fraction>\d{3})\] \[INFO\] "
    rb"\[[\w.:/-]{1,100}\] (?:\[Rank (?P<rank>\d{1,6})\] )?"
)
_PROGRESS = LazyBytesRegex(
    _PREFIX
    + rb"step=(?P<step>\d{1,12}), skipped=(?P<skipped>\d{1,12}), lr=\[(?P<rate>" + _NUMBER
    + rb")[\d., eE+-]{0,2000}\], mom=\[[\d., eE()+-]{0,2000}\]"
)  # fmt: skip
_SPEED = LazyBytesRegex(
    _PREFIX
    + rb"epoch=\d{1,9}/micro_step=\d{1,12}/global_step=(?P<step>\d{1,12}), RunningAvgSamplesPerSec=" + _NUMBER
    + rb", CurrSamplesPerSec=(?P<now>" + _NUMBER + rb")(?:, M[A-Za-z]{1,20}=[\d.]{1,20}[KMG]?B){0,4}"
)  # fmt: skip


class Progress(NamedTuple):
    """One line: the step, what it says, and its prefix.

    Attributes:
        step: Optimizer step.
        values: Skipped steps and learning rate, or the speed alone.
        rank: Global rank.
        time_s: Unix seconds, None if the date is none.
    """

    step: int
    values: tuple[float, ...]
    rank: int | None
    time_s: float | None


class _Lines(Batch):
    """Lines of one form, with the groups of each."""

    def __init__(self, columns: Records, groups: list[tuple[bytes, ...]], form: DeepSpeedBulkForm) -> None:
        super().__init__(columns.starts, columns.ends, columns.lines)
        self._form = form
        bars, seconds, fractions, ranks, steps, *values = zip(*groups, strict=True)
        whole_s = np.array(list(map(_unix_s, seconds)), np.float64)
        self._time_s = whole_s + np.array(list(map(int, fractions))) / 1000
        self._ranks = [None if rank is None else int(rank) for rank in ranks]
        for index, bar in enumerate(bars):
            if bar is not None:  # then what follows is no prefix of the line
                self._time_s[index], self._ranks[index] = np.nan, None
        self.steps = np.array(list(map(int, steps)), np.int64)
        self._values = [np.array(list(map(float, column))) for column in values]

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        own_s = float(self._time_s[index])
        row = Progress(
            int(self.steps[index]),
            tuple(float(column[index]) for column in self._values),
            self._ranks[index],
            block.time_s(self.lines[index]) if math.isnan(own_s) else own_s,
        )
        self._form.write(row, block.number(self.lines[index]), log)

    def ready(self, low: int, high: int, log: LogState) -> bool:
        """See ``Batch.ready``."""
        ranks = set(self._ranks[low:high])
        if not all(log.has_curve(name, rank) for name in self._form.names for rank in ranks):
            return False
        steps = self.steps[low:high]
        last = self._form.last_step()
        return last is None or not (int(steps[0]) == last or bool((steps[1:] == steps[:-1]).any()))

    def take_all(
        self,
        low: int,
        high: int,
        numbers: npt.NDArray[np.int64],
        log: LogState,  # noqa: ARG002
    ) -> Iterable[CurvePart]:
        """See ``Batch.take_all``."""
        self._form.wrote(int(self.steps[high - 1]))
        ranks = self._ranks[low:high]
        for rank in dict.fromkeys(ranks):  # a line behind a bar shows no rank, so there may be two
            places = np.array([low + i for i, other in enumerate(ranks) if other == rank])
            begins = [self.starts[place] for place in places]
            for name, column in zip(self._form.names, self._values, strict=True):
                yield CurvePart(
                    name,
                    rank,
                    begins,
                    self.steps[places],
                    column[places],
                    numbers[places - low],
                    self._time_s[places],
                )


class DeepSpeedBulkForm:
    """See ``analyzer.ingest.bulk_lines.BulkForm``.

    Args:
        anchor: Stands in every such line.
        form: The whole line, with the groups bar, second, fraction, rank, step and one for each name.
        names: Metrics that a line gives.
        write: Takes what a line says.
        last_step: The step of the line before, None if two lines of one step are nothing special.
        wrote: Takes the step of the last of many lines that were written at once.
    """

    swallows: tuple[str, ...] = (", skipped=", "SamplesPerSec=")
    passed_by: tuple[str, ...] = ()

    def __init__(
        self,
        anchor: bytes,
        form: LazyBytesRegex,
        names: tuple[str, ...],
        write: Callable[[Progress, int, LogState], None],
        last_step: Callable[[], int | None] = lambda: None,
        wrote: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.anchor = anchor
        self._fullmatch = form.fullmatch
        self.names = names
        self.write = write
        self.last_step = last_step
        self.wrote = wrote

    def match(self, data: bytes, records: Records, wanted: Sequence[int]) -> Batch:  # noqa: ARG002
        """See ``BulkForm.match``."""
        matches = list(map(self._fullmatch, repeat(data), records.starts, records.ends))
        kept = [index for index, match in enumerate(matches) if match is not None]
        if not kept:
            return Batch([], [], [])
        return _Lines(records.only(kept), [match.groups() for match in matches if match is not None], self)


def _unix_s(second: bytes) -> float | None:
    """Unix seconds of a date and time, as the prefixes of single lines are read."""
    day_s = _day_s(second[:10])
    if day_s is None:
        return None
    return day_s + (int(second[11:13]) * 3600 + int(second[14:16]) * 60 + int(second[17:19]))


@lru_cache(maxsize=64)
def _day_s(date: bytes) -> float | None:
    return peel(f"[{date.decode()} 00:00:00,000] [INFO] [engine.py:1:step] step").time_s


def bulk_forms(
    write_progress: Callable[[Progress, int, LogState], None],
    write_speed: Callable[[Progress, int, LogState], None],
    last_step: Callable[[], int | None],
    wrote: Callable[[int], None],
) -> tuple[DeepSpeedBulkForm, ...]:
    """Both forms, with what takes their lines."""
    names = ("skipped_steps", "learning_rate")
    return (
        DeepSpeedBulkForm(b", skipped=", _PROGRESS, names, write_progress, last_step, wrote),
        DeepSpeedBulkForm(b"RunningAvgSamplesPerSec=", _SPEED, ("samples_per_second",), write_speed),
    )
