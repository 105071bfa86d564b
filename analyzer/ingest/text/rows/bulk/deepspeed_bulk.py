"""The strict bulk forms of DeepSpeed's two lines about progress; see ``deepspeed_lines`` for what they look like."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.rows.bulk.bulk_lines import Batch, CurvePart, Records
from analyzer.ingest.text.rows.bulk.learned_shapes import PLAIN_BAR, WholeRows, floats, integers, unix_s
from analyzer.model.tables import NULL_INT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from analyzer.ingest.text.log_line import LogState
    from analyzer.ingest.text.text_layer import Block

_NUMBER = rb"-?\d{1,15}(?:\.\d{0,18})?(?:[eE][-+]\d{1,3})?"
# [2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0]
_PREFIX = rb"(?:%b(\]))?" % PLAIN_BAR.removesuffix(rb"\]") + (
    rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] \[INFO\] "
    rb"\[[\w.:/-]{1,100}\] (?:\[Rank (\d{1,6})\] )?"
)
_PROGRESS = WholeRows(
    _PREFIX
    + rb"step=(\d{1,12}), skipped=(\d{1,12}), lr=\[(" + _NUMBER
    + rb")[\d., eE+-]{0,2000}\], mom=\[[\d., eE()+-]{0,2000}\]"
)  # fmt: skip
_SPEED = WholeRows(
    _PREFIX
    + rb"epoch=\d{1,9}/micro_step=\d{1,12}/global_step=(\d{1,12}), RunningAvgSamplesPerSec=" + _NUMBER
    + rb", CurrSamplesPerSec=(" + _NUMBER + rb")(?:, M[A-Za-z]{1,20}=[\d.]{1,20}[KMG]?B){0,4}"
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
    """Lines of one form: bar, date and time, milliseconds, rank, step and values of each."""

    def __init__(self, records: Records, columns: list[list[bytes]], form: DeepSpeedBulkForm) -> None:
        super().__init__(records)
        self._form = form
        bars, seconds, fractions, ranks, steps, *values = columns
        self._time_s = unix_s(seconds, _day_s) + integers(fractions) / 1000
        self._ranks = integers(ranks)
        if any(bars):  # then what follows is no prefix of the line
            behind = np.fromiter(map(bool, bars), np.bool_, len(bars))
            self._time_s[behind], self._ranks[behind] = np.nan, NULL_INT
        self.steps = integers(steps)
        self._values = [floats(column) for column in values]

    def take(self, index: int, block: Block, log: LogState) -> None:
        """See ``Batch.take``."""
        own_s, rank, line = float(self._time_s[index]), int(self._ranks[index]), int(self.lines[index])
        row = Progress(
            int(self.steps[index]),
            tuple(float(column[index]) for column in self._values),
            None if rank == NULL_INT else rank,
            block.time_s(line) if math.isnan(own_s) else own_s,
        )
        self._form.write(row, block.number(line), log)

    def ready(self, low: int, high: int, log: LogState) -> bool:
        """See ``Batch.ready``."""
        ranks = [None if rank == NULL_INT else rank for rank in np.unique(self._ranks[low:high]).tolist()]
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
        for rank in dict.fromkeys(ranks.tolist()):  # a line behind a bar shows no rank, so there may be two
            places = low + np.flatnonzero(ranks == rank)
            for name, column in zip(self._form.names, self._values, strict=True):
                yield CurvePart(
                    name,
                    None if rank == NULL_INT else rank,
                    self.starts[places],
                    self.steps[places],
                    column[places],
                    numbers[places - low],
                    self._time_s[places],
                )


class DeepSpeedBulkForm:
    """See ``analyzer.ingest.text.rows.bulk.bulk_lines.BulkForm``.

    Args:
        anchor: Stands in every such line.
        form: The whole line, with the groups bar, date and time, milliseconds, rank, step and one for each name.
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
        form: WholeRows,
        names: tuple[str, ...],
        write: Callable[[Progress, int, LogState], None],
        last_step: Callable[[], int | None] = lambda: None,
        wrote: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.anchor = anchor
        self._whole = form
        self.names = names
        self.write = write
        self.last_step = last_step
        self.wrote = wrote

    def match(self, block: Block, records: Records) -> Batch:
        """See ``BulkForm.match``."""
        kept, columns = self._whole.match(records.rows(block.data))
        return _Lines(records.only(kept), columns, self) if kept.size else Batch(records.only(kept))


@lru_cache(maxsize=64)
def _day_s(date: bytes) -> float | None:
    """Unix seconds of a day, as the prefixes of single lines are read."""
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
