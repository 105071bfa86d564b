"""Several trainings that one log holds one after another: folds, seeds, settings. One of them is judged.

It is the last one, unless losses of an earlier one end in NaN or infinity and those of the last do not: then that one, as
nobody asks about a fold that went well because another one broke.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analyzer.detect.curve import all_series, has_steps, take
from analyzer.model.arrays import Integers
from analyzer.model.run import Run
from analyzer.model.tables import Series
from analyzer.record import NamedTuple

LEAST_POINTS = 5
"""Points of the last training from which it is judged alone; fewer say nothing yet."""

_LOSSES = ("loss", "eval_loss")
_BEYOND = np.iinfo(np.int32).max


class Trainings(NamedTuple):
    """Where the trainings of each log begin and which one is judged.

    Attributes:
        begins: Source to the first lines of its trainings, in order; the first is 0. Only logs of several trainings.
        judged: Source to the index of the training that is judged.
        stepped: Sources whose trainings are told by headings and steps that begin again, so that steps part them too.
    """

    begins: Mapping[int, tuple[int, ...]]
    judged: Mapping[int, int]
    stepped: frozenset[int]

    def judged_rows(self, series: Series) -> Series:
        """The points of the trainings that are judged; all of a series that counts its steps through."""
        if not self.begins or (has_steps(series) and self.stepped.isdisjoint(series.source.tolist())):
            return series
        kept = np.ones(len(series), np.bool_)
        least = LEAST_POINTS
        for source, number in self.judged.items():
            lines = [*self.begins[source], _BEYOND]
            inside = (series.line >= lines[number]) & (series.line < lines[number + 1])
            kept &= (series.source != source) | inside
            least = least if number == len(lines) - 2 else 1  # what broke early is over
        return take(series, kept) if int(kept.sum()) >= least else series


def trainings_of(run: Run) -> Trainings:
    """The trainings of a run's logs: where a reader saw epochs begin again, or steps do below a numbered heading."""
    found: dict[int, list[int]] = {}
    for event in run.events.of("training_begins_again"):
        found.setdefault(event.ref.source, [0]).append(event.ref.line or 0)
    headings = run.events.of("training_heading")
    sources = found.keys() | {event.ref.source for event in headings}
    losses = [series for metric in _LOSSES for series in all_series(run, metric)] if sources else []
    loss = next((series for series in losses if series.metric == "loss"), None)
    stepped = set()
    for source in sources:
        if loss is None or not has_steps(loss):
            break
        own = [event for event in headings if event.ref.source == source]
        numbered = (
            [event.ref.line or 0 for event in own] if len({e.fields.get("number") for e in own}) > 1 else []
        )
        lines = _begin_again(take(loss, loss.source == source), found.get(source, [])[1:] or numbered)
        if lines:
            stepped.add(source)
            found[source] = [0, *lines]
    begins = {source: tuple(sorted(set(lines))) for source, lines in found.items()}
    judged = {source: _judged(losses, source, lines) for source, lines in begins.items()}
    return Trainings(begins, judged, frozenset(stepped))


def _begin_again(loss: Series, lines: list[int]) -> list[int]:
    """Those lines below which the steps of the loss fall."""
    rows = np.searchsorted(loss.line, lines)
    inside = [(line, int(row)) for line, row in zip(lines, rows, strict=True) if 0 < row < len(loss)]
    return [line for line, row in inside if loss.step[row] < loss.step[row - 1]]


def _judged(losses: list[Series], source: int, begins: tuple[int, ...]) -> int:
    """The last training of which some loss ends in NaN or infinity, by the first of the losses that tells of one."""
    for series in losses:
        broken = _broken(take(series, series.source == source), begins)
        if broken.size:
            return int(broken[-1])
    return len(begins) - 1


def _broken(series: Series, begins: tuple[int, ...]) -> Integers:
    """Trainings whose last point is not finite, by index."""
    of_rows = np.searchsorted(begins, series.line, side="right") - 1
    ends = np.flatnonzero(np.diff(of_rows, append=len(begins)))
    found: Integers = of_rows[ends[~np.isfinite(series.value[ends])]]
    return found
