"""Stretches in which a loss left its course upwards: how high, how long, whether it came back, and what rose with it.

Rows of an epoch are few, and each is a mean over many batches: one that stands well above its neighbours is no scatter.
Of many rows medians over blocks are looked at, so single high points (``spikes``) are no stretch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from analyzer.detect.base import FactWriter, RunView, refs_at
from analyzer.detect.curve import has_steps, take
from analyzer.detect.curves.guess.chance import class_count
from analyzer.detect.curves.players.adversaries import plays
from analyzer.detect.curves.progress import held_out_trend, loss_trend
from analyzer.detect.curves.spikes import objective_begins
from analyzer.detect.curves.trend import scatter
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of
from analyzer.model.tables import Series
from analyzer.record import NamedTuple

MIN_ROWS = 5
"""Two rows of a course, a stretch, and two of what came after."""

BLOCKS = 40
"""More rows are read in this many block medians: a stretch of a fortieth of the run and more is found."""

UP, BLOCK_UP = 1.3, 2.0
"""Three tenths above the best level before: beyond what means of an epoch differ by. The batches of a block are fewer."""

BLOCK_ROWS = 3
"""Blocks of a stretch: one or two hold a spike and its way back, which ``spikes`` judges."""

OF_GAIN = 0.3
"""A rise of less than three tenths of what the run gained in all is the scatter of a small loss."""

LEARNED = 0.9
"""A tenth of the first level is gone: what rises before has not left a course, but overshoots at its start."""

USUAL_RISES, OF_THE_STRETCH = 3.0, 2
"""Of few rows: three times the largest rise that is usual, where two rises may belong to the stretch itself."""

LUCKY_ROWS, LUCK = 10, 2.0
"""The lowest of ten rows and more is a lucky one; the second lowest is a level that the loss had reached. Of fewer rows too one that
is up to half of all others is no level from which a rise counts."""

BLOCK_SIGMAS = 6.0
"""Deviations of the median of a block above the lowest of forty, which itself lies two below the course."""

OF_MEDIAN = 1.25
"""Standard error of a median over that of a mean."""

BACK = 0.2
"""Four fifths of the rise gone again: back on its course."""

FALLS = 0.7
"""Less than seven tenths of the rise left at the end, and falling: on its way back."""

LEVEL, LEVEL_ROWS = 0.04, 3
"""Three rows and more to the end within four percent of each other stand still."""

GUESS = 0.03
"""Relative distance from ln(C) of the level of a guess."""

USUAL_CLASSES = (2, 10, 100, 1000)
"""Numbers of classes whose guess a level may be where nothing states one."""

ROSE_TOO, GRADIENT_TOO = 1.25, 3.0
"""A quarter above what held-out data had cost; three times the norm before: more than either varies from row to row."""


class Stretch(NamedTuple):
    """Rows above the course: the first, the one after the last (None to the end), the highest, and the level before."""

    start: int
    stop: int | None
    peak: int
    base: float


class Course(NamedTuple):
    """A loss in at most ``BLOCKS`` levels: their values, the row of the curve at which each begins, and its stretches."""

    curve: Series
    values: Values
    rows: tuple[int, ...]
    found: tuple[Stretch, ...]


def course(view: RunView) -> Course | None:
    """The training loss in levels, with the stretches in which it left its course; None if it is short or not positive."""
    known = view.once(loss_trend)
    if known is None or len(known[0]) < MIN_ROWS:
        return None
    curve = known[0]
    cuts = np.linspace(0, len(curve), min(len(curve), BLOCKS) + 1).astype(int)
    values = np.array([float(median_of(curve.value[a:b])) for a, b in pairwise(cuts)])
    if not 0 < float(values.min()) <= float(values.max()) < 1e150:
        return None
    blocks = len(curve) > BLOCKS
    noise = _scatter_of_blocks(curve.value) if blocks else _usual_rise(values)
    found = _stretches(
        values,
        max(math.log(BLOCK_UP), BLOCK_SIGMAS * noise) if blocks else max(math.log(UP), USUAL_RISES * noise),
        noise,
    )
    long = tuple(
        s for s in found if not blocks or (values.size if s.stop is None else s.stop) - s.start >= BLOCK_ROWS
    )
    rows = cuts[:-1].tolist()
    parts = objective_begins(view, curve) if long else ()
    kept = tuple(s for s in long if not any(rows[s.start - 1] <= at <= rows[s.peak] for at in parts))
    return Course(curve, values, tuple(rows), kept)


def _usual_rise(values: Values) -> float:
    """Logarithm of the largest rise from row to row that belongs to no stretch; 0 if there is none."""
    steps = np.diff(np.log(values))
    rises = np.sort(steps[steps > 0])[:-OF_THE_STRETCH]
    return float(rises[-1]) if rises.size else 0.0


def _scatter_of_blocks(values: Values) -> float:
    """Standard deviation of the logarithm of the median of a block around a smooth course, from single rows."""
    row = scatter(np.log(values))
    rows = len(values) / BLOCKS
    return row * OF_MEDIAN / math.sqrt(rows) if rows > 2 else row


def _stretches(values: Values, up: float, noise: float) -> Iterator[Stretch]:
    """Rows that stand above the lowest level before them, with the way back.

    Args:
        values: Levels, positive.
        up: Logarithm of the least ratio of a stretch.
        noise: Standard deviation of the logarithm of a level.
    """
    least = OF_GAIN * float(values[0] - values.min())
    lowest, row, seen = float(values[0]), 1, [float(values[0])]
    while row < values.size:
        # one low row alone, as the sum over a last part of an epoch, is no level that the loss had reached
        low = int(values[:row].argmin())
        dip = low >= 2 and values[row] <= UP * values[low - 2 : low].min()
        level = min(seen[-1], LUCK * lowest) if row > 1 else lowest
        rise = max(level * math.exp(min(up, 300.0)), lowest + least)
        if dip or level > LEARNED * values[0] or values[row] <= rise:
            seen = sorted((*seen, float(values[row])))[:2]
            lowest = seen[1] if row >= LUCKY_ROWS else seen[0]
            row += 1
            continue
        way = np.maximum.accumulate(values[row:]) - lowest
        back = np.flatnonzero(
            values[row + 1 :] <= np.maximum(lowest + BACK * way[:-1], lowest * math.exp(noise))
        )
        stop = values.size if not back.size else row + 1 + int(back[0])
        yield Stretch(row, stop if back.size else None, row + int(values[row:stop].argmax()), lowest)
        row = stop


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.stretch.*``."""
    if plays(view):
        return
    known = view.once(course)
    if known is None:
        return
    curve, found = known.curve, known.found
    out.put("seen", bool(found), refs_at(curve, [known.rows[s.peak] for s in found] or [len(curve) - 1]))
    if not found:
        return
    first = found[0]
    refs = refs_at(curve, [known.rows[first.start], known.rows[first.peak], len(curve) - 1])
    out.put("count", len(found), refs_at(curve, [known.rows[s.peak] for s in found]))
    out.put("step", curve.step_at(known.rows[first.start]), refs)
    out.put("ratio", max(float(known.values[s.peak]) / s.base for s in found), refs)
    out.put("rows", (known.values.size if first.stop is None else first.stop) - first.start, refs)
    end = float(median_of(known.values[-2:]))
    out.put("returned", all(s.stop is not None for s in found), refs)
    rise = float(known.values[first.peak]) - first.base
    falling = found[-1].stop is None and known.values[-1] <= known.values[-2]
    out.put("recovering", bool(falling and end - first.base <= FALLS * rise), refs)
    out.put("above_first", float(known.values[first.peak]) / float(known.values[0]), refs)
    _level(out, view, known)
    _company(out, view, known, first)


def _level(out: FactWriter, view: RunView, known: Course) -> None:
    """Whether the loss leapt to the level of a guess and has stood there since."""
    last = known.found[-1]
    tail, guess = known.values[last.start + 1 :] if last.stop is None else known.values[:0], False
    if tail.size >= LEVEL_ROWS:
        level, stated = float(median_of(tail)), view.once(class_count)
        still = float(np.ptp(tail[-max(tail.size * 2 // 3, LEVEL_ROWS) :])) <= LEVEL * level
        counts = USUAL_CLASSES if stated is None else (stated[0],)
        guess = still and any(abs(level - math.log(count)) <= GUESS * math.log(count) for count in counts)
    out.put("to_a_guess", guess, refs_at(known.curve, [known.rows[last.start], len(known.curve) - 1]))


def _company(out: FactWriter, view: RunView, known: Course, stretch: Stretch) -> None:
    """Whether held-out loss and gradient norm rose in the stretch."""
    stop = len(known.curve) - 1 if stretch.stop is None else known.rows[stretch.stop]
    held_out = view.once(held_out_trend)
    for name, series, factor in (
        ("held_out_rose", None if held_out is None else held_out[0], ROSE_TOO),
        ("gradient_rose", view.curve("grad_norm"), GRADIENT_TOO),
    ):
        if series is None or not all(
            map(len, sides := _around(series, known.curve, known.rows[stretch.start], stop))
        ):
            continue
        before, within = sides
        level = float(before.value.min()) if name == "held_out_rose" else float(median_of(before.value))
        out.put(
            name, float(within.value.max()) >= factor * level, refs_at(within, [int(within.value.argmax())])
        )


def _around(beside: Series, curve: Series, start: int, stop: int) -> tuple[Series, Series]:
    """Finite points of another series before the stretch, and from its first to one row after it."""
    beside = take(beside, np.isfinite(beside.value) & (beside.value > 0))
    if has_steps(beside) and has_steps(curve):
        first, last = int(curve.step[start]), int(curve.step[stop])
        return take(beside, beside.step < first), take(beside, (beside.step >= first) & (beside.step <= last))
    rows, alike = np.arange(len(beside)), len(beside) == len(curve)
    return take(beside, alike & (rows < start)), take(beside, alike & (rows >= start) & (rows <= stop))
