"""Sudden rises of a finite loss: how high, how often, and how long until the former level is regained.

A spike is measured against the curve's own scatter: a noisy curve needs a higher one than a quiet curve.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from analyzer.detect.base import FactWriter, RunView, refs_at
from analyzer.detect.curve import has_steps
from analyzer.detect.curves.numerics.bad_points import loss_points, values_beside
from analyzer.detect.curves.trend import trend
from analyzer.model.arrays import Integers, Mask, Values
from analyzer.model.name_words import words_of
from analyzer.model.ranked import median_of, row_medians
from analyzer.model.tables import NULL_INT, Series
from analyzer.record import NamedTuple

ROWS_WITHOUT = 10
"""Rows in which a part is exactly 0 before it begins; fewer may be rows that print as 0.000."""

MOST_BEHIND = 0.5
"""More than half of the rows behind its beginning have the part: one that flickers is no stage of the training."""

WINDOW = 15
"""Points before a spike whose median is its base: enough to outvote a few odd ones, few enough to follow a fall."""

SIGMAS = 8.0
"""Robust standard deviations above the base; the largest of 10 000 points of pure noise reaches four to five."""

RATIO = 1.3
"""A rise of less than three tenths costs nothing worth a word, however quiet the curve."""

RETURN_POINTS = 3
"""Points whose median must be back in the band: one alone may dip into it by chance."""

RETURN_SIGMAS = 3.0
"""The band of the base: where the curve was found 99.7 % of the time before."""

MAX_POINTS = 50_000
"""Longer curves are read in block medians: what they hide is shorter than a ten-thousandth of the run."""

REGAINED = 1.2
"""The end may lie a fifth above the level before the spikes and count as back: the scatter of one window."""

AS_BEFORE = 1.05
"""A twentieth above the level of as many points before: two medians of the same curve."""

OFTEN, LONG = 0.01, 4
"""One point in a hundred that sticks out belongs to a noise with heavy tails; a spike among it must last some points."""

RECURRENT = 3
"""Three spikes of one run are no accident."""

SLOW_STEPS = 500
"""Steps; public chronicles call a return within about 200 steps harmless and one of 2000 costly."""

OF_THE_RUN = 0.005
"""A way back of less than a two-hundredth of the run costs less than the rollback that would save it."""

SLOW_SHARE = 0.1
"""A tenth of all that was logged, in steps of whatever size, is costly as well."""

SLOW_POINTS = 10
"""A slow return must show in points as well: between two sparse points nobody knows when it happened."""


LEAP, LEFT_HIGHER = 100.0, 0.3
"""A hundred times the level: no batch is that hard, so the update that it made was wrong; three tenths of the level are more than scatter."""

QUIET_ROWS, AWAKE = 8, 5.0
"""A mean over the rows of a pass hardly moves at its end; its first rows scatter as single batches do."""

PASS_ROWS, PASSES, ON_TIME, NEARLY, AT_BEGIN = 20, 4, 0.7, 0.8, 0.25
"""Passes of twenty rows and more, at least five, of which most begin with such a place; a mean settles within a quarter of a pass."""


FAR, FAR_ROWS, FAR_TIMES, FAR_SHARE = 20.0, 8, 2, 0.05
"""Twenty times the median of eight rows and more, left and reached again, in one row of twenty and more: of 348 labelled sound runs none."""

FAR_LEAST, FAR_SIGNED = 0.1, 20.0
"""A tenth is what one hard sample costs where all others cost nearly nothing; a loss that also lies below zero may have its level there
by chance, so it has to leave twenty times one."""


LEAPS, LEAP_BASE, LEAP_TIMES = 3, 5, 3.0
"""Three rows at three times the median of the five before, whatever the start of the run was."""

LEAPS_SHARE, LEAP_QUIET, LEAP_LEAST = 0.03, 0.2, 0.05
"""Three rows of a hundred, in a curve whose neighbours differ by less than a fifth: losses of single batches scatter more, or leap once in
thousands of rows. What leaps to less than a twentieth of the first level leaps where next to nothing is left."""


class Spike(NamedTuple):
    """One excursion above the curve."""

    row: int  # index of the first high point
    peak: int  # index of the highest point
    base: float  # level before it
    back: int | None  # index of the first point of the return; None if the curve did not come back


class Spikes(NamedTuple):
    """All excursions of a loss curve and the thinned curve they were found on."""

    curve: Series
    found: tuple[Spike, ...]


def find_spikes(view: RunView) -> Spikes | None:
    """Excursions of the training loss, None if the curve is too short or not positive."""
    points = view.once(loss_points)
    curve = None if points is None else points.curve()
    if curve is None or len(curve) < 2 * WINDOW:
        return None
    rows = _block_rows(len(curve))
    values = np.array([float(median_of(curve.value[a:b])) for a, b in rows]) if rows else curve.value
    if not _walkable(values):
        return None
    found = tuple(spike for spike in walk(values) if not _ends_a_dip(values, spike))
    if found:
        begins, rows_of_pass = _begins_of_means(values)
        settled = begins + AT_BEGIN * rows_of_pass
        found = tuple(s for s in found if not ((begins <= s.row) & (s.row <= settled)).any())
    if len(found) > max(values.size * OFTEN, 2.0):
        found = tuple(s for s in found if (values.size if s.back is None else s.back) - s.row >= LONG)
    if rows:
        starts = [a for a, _ in rows]
        found = tuple(
            Spike(starts[s.row], starts[s.peak], s.base, None if s.back is None else starts[s.back])
            for s in found
        )
    parts = objective_begins(view, curve) if found else ()
    return Spikes(
        curve, tuple(s for s in found if not any(s.row - RETURN_POINTS <= at <= s.peak for at in parts))
    )


def _to_and_fro(out: FactWriter, series: Series) -> None:
    """Whether a loss that does not fall leaps to many times its level and back, again and again."""
    values = series.value
    numbers = trend(values) if len(series) >= FAR_ROWS else None
    if numbers is None:
        return
    least = FAR_SIGNED if float(values.min()) < 0.0 else FAR_LEAST
    # Not above the lowest row: of a likelihood below zero that leaves next to nothing.
    level = float(median_of(np.abs(values)))
    began = float(median_of(values[:RETURN_POINTS]))
    high = values >= max(FAR * level, least, began)
    times = int((high[1:] & ~high[:-1]).sum()) + int(high[0])
    wild = times >= FAR_TIMES and float(high.mean()) >= FAR_SHARE and not numbers.falls()
    rows = [int(row) for row in np.flatnonzero(high)]
    out.put("to_and_fro", wild, refs_at(series, rows or [0]))
    if wild:
        out.put("to_and_fro_highest", float(values.max()), refs_at(series, [int(values.argmax())]))


def _leaps(out: FactWriter, series: Series) -> None:
    """How often a smooth curve leaps to several times the level just before, however high it began."""
    values = series.value
    if values.size < 2 * WINDOW - LEAP_BASE or not float(values.min()) > 0:
        return
    quiet = float(median_of(np.abs(np.diff(np.log(values))))) <= LEAP_QUIET
    base = row_medians(np.lib.stride_tricks.sliding_window_view(values, LEAP_BASE)[:-1])
    times = values[LEAP_BASE:] / base
    high = (times >= LEAP_TIMES) & (values[LEAP_BASE:] >= LEAP_LEAST * float(median_of(values[:LEAP_BASE])))
    rows = np.flatnonzero(high & ~np.concatenate(([False], high[:-1]))) + LEAP_BASE
    again = quiet and rows.size >= max(LEAPS, LEAPS_SHARE * values.size)
    out.put("leaps_again", again, refs_at(series, rows.tolist() or [0]))
    if again:
        out.put("leaps", int(rows.size), refs_at(series, rows.tolist()))
        out.put("leap_ratio", float(times.max()), refs_at(series, [int(times.argmax()) + LEAP_BASE]))


def _ends_a_dip(values: Values, spike: Spike) -> bool:
    """Whether the curve only goes back to where it stood before a dip: a running mean begins anew with each epoch."""
    end = values.size if spike.back is None else spike.back
    before = values[max(spike.row - (end - spike.row), 0) : spike.row]
    if end - spike.row < WINDOW or before.size < 2 * WINDOW:
        return False
    first, second = (float(median_of(half)) for half in np.array_split(before, 2))
    stood = max(first, second) <= REGAINED * min(first, second)
    return stood and float(median_of(values[spike.row : end])) <= AS_BEFORE * float(median_of(before))


def _block_rows(count: int) -> list[tuple[int, int]]:
    if count <= MAX_POINTS:
        return []
    cuts = np.linspace(0, count, MAX_POINTS // 2 + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def _walkable(values: Values) -> bool:
    """A loss around zero has no ratio to its base, and squares of huge ones overflow."""
    return values.size >= 2 * WINDOW and float(values.min()) > 0 and float(values.max()) < 1e150


def _begins_of_means(values: Values) -> tuple[Integers, int]:
    """Rows at which a mean over the rows of a pass begins anew, and the rows of such a pass; none if the values are no such means."""
    moves = np.abs(np.diff(values))
    least = float(moves[moves > 0].min(initial=np.inf))
    quiet = np.lib.stride_tricks.sliding_window_view(moves, QUIET_ROWS).max(axis=1)[:-1]
    wakes = np.flatnonzero(moves[QUIET_ROWS:] >= AWAKE * np.maximum(quiet, least)) + QUIET_ROWS + 1
    ahead = np.concatenate([wakes[k:] - wakes[:-k] for k in range(1, min(WINDOW, wakes.size))] or [wakes[:0]])
    # Distances that occur most, one more or less counted with them, as a row may be missing; two passes are as regular as one.
    near = np.convolve(np.bincount(ahead[ahead >= PASS_ROWS], minlength=3), np.ones(3), "same")
    first = int((near >= NEARLY * near.max()).argmax())
    rows = first + int(near[first : first + 3].argmax())
    if near.max() < max(ON_TIME * (values.size / max(rows, 1) - 1), PASSES):
        return wakes[:0], rows
    due = np.concatenate([wakes + way * rows + late for way in (-1, 1) for late in (-1, 0, 1)])
    begins = wakes[np.isin(wakes, due)]
    return np.concatenate(
        [begins - rows, begins, begins + rows]
    ), rows  # one may go on at its level by chance


def walk(values: Values) -> Iterator[Spike]:
    """Every excursion of a curve, one after the other; none if the curve is too short or not positive."""
    if not _walkable(values):
        return
    windows = np.lib.stride_tricks.sliding_window_view(values, WINDOW)[:-1]
    base = row_medians(windows)  # base[i] belongs to values[i + WINDOW]
    relative = values[WINDOW:] / base - 1.0
    sigma = 1.4826 * float(median_of(np.abs(relative - median_of(relative))))
    limit = max(SIGMAS * sigma, RATIO - 1.0)
    high = np.flatnonzero(relative > limit)
    ahead = row_medians(np.lib.stride_tricks.sliding_window_view(values, RETURN_POINTS))
    end = -1
    for index in high:
        row = int(index) + WINDOW
        if row < end:
            continue
        level = float(base[index])
        band = level * (1.0 + max(RETURN_SIGMAS * sigma, 0.05))
        back = _return(ahead, row, band)
        end = values.size if back is None else back
        peak = row + int(values[row:end].argmax())
        yield Spike(row, peak, level, back)


def _return(ahead: Values, row: int, band: float) -> int | None:
    """First index after ``row`` from which the median of the next points is inside the band.

    Args:
        ahead: float64, shape (n_points - RETURN_POINTS + 1,): the median of each point and those behind it.
        row: The first high point.
        band: The highest level that is inside.
    """
    begin, span = row + 1, 64
    while (
        begin < ahead.size
    ):  # in parts that grow: a curve of many spikes is walked once, not once for each of them
        inside = np.flatnonzero(ahead[begin : begin + span] <= band)
        if inside.size:
            return begin + int(inside[0])
        begin, span = begin + span, 2 * span
    return None


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.spike.*``."""
    _left_higher(view, out)
    points = view.once(loss_points)
    if points is not None:
        _to_and_fro(out, points.curve())
        _leaps(out, points.curve())
    spikes = view.once(find_spikes)
    if spikes is None:
        return
    curve, found = spikes.curve, spikes.found
    out.put("seen", bool(found), refs_at(curve, [s.peak for s in found] or [len(curve) - 1]))
    if not found:
        return
    largest = max(found, key=lambda s: float(curve.value[s.peak]) / s.base)
    shown = refs_at(curve, [largest.peak])
    out.put("count", len(found), refs_at(curve, [s.peak for s in found]))
    out.put("recurrent", len(found) >= RECURRENT, refs_at(curve, [s.peak for s in found]))
    out.put("step", curve.step_at(largest.row), shown)
    out.put("ratio", float(curve.value[largest.peak]) / largest.base, shown)
    _recovery(out, curve, found)
    _company(out, view, spikes, largest)


def _left_higher(view: RunView, out: FactWriter) -> None:
    """Whether one row out of all proportion left the loss, which may be negative, above its former level to the end."""
    points = view.once(loss_points)
    values = np.zeros(0) if points is None else points.curve().value
    if points is None or values.size < 2 * WINDOW:
        return
    peak = int(values.argmax())
    before, after = values[max(peak - WINDOW, 0) : peak], values[peak + 1 :]
    if before.size < RETURN_POINTS or after.size < SLOW_POINTS:
        return
    base = float(median_of(before))
    leapt = float(values[peak]) - base >= LEAP * max(abs(base), float(np.ptp(before)))
    higher = float(after.min()) >= max(base + LEFT_HIGHER * abs(base), float(before.max()))
    out.put("left_higher", leapt and higher, refs_at(points.curve(), [peak, len(values) - 1]))


def _recovery(out: FactWriter, curve: Series, found: tuple[Spike, ...]) -> None:
    back = [spike for spike in found if spike.back is not None]
    # A spike that came back to the level of an earlier one that did not has regained nothing.
    lowest, end = min(spike.base for spike in found), float(median_of(curve.value[-WINDOW:]))
    recovered = len(back) == len(found) and end <= REGAINED * lowest
    out.put("recovered", recovered, refs_at(curve, [s.back or s.peak for s in found][-1:]))
    if not back:
        return
    slowest = max(back, key=lambda s: _length(curve, s))
    shown = refs_at(curve, [slowest.row, slowest.back or slowest.row])
    points, steps = (slowest.back or 0) - slowest.row, _length(curve, slowest)
    out.put("recovery_points", points, shown)
    if has_steps(curve):
        out.put("recovery_steps", steps, shown)
    many = has_steps(curve) and steps > max(SLOW_STEPS, OF_THE_RUN * _steps_logged(curve))
    out.put("slow", (many or points >= SLOW_SHARE * len(curve)) and points >= SLOW_POINTS, shown)


def _steps_logged(curve: Series) -> int:
    known = curve.step[curve.step != NULL_INT]
    return int(np.ptp(known)) if known.size else 0


def _length(curve: Series, spike: Spike) -> int:
    end = spike.back if spike.back is not None else len(curve) - 1
    if not has_steps(curve):
        return end - spike.row
    return int(curve.step[end] - curve.step[spike.row])


def _company(out: FactWriter, view: RunView, spikes: Spikes, spike: Spike) -> None:
    """Whether the gradient norm rose with the loss, and whether the update norm rose first."""
    heights: dict[str, int] = {}
    for metric in ("grad_norm", "update_norm"):
        beside = values_beside(view, spikes.curve, metric)
        if beside is None:
            continue
        before = _known(beside, spike.row - 2 * WINDOW, spike.row - 3)
        around = _known(beside, spike.row - 3, spike.peak + 2)
        if before.size < RETURN_POINTS or not around.size:
            continue
        level = float(median_of(before))
        if level <= 0:
            continue
        heights[metric] = _first_above(beside, spike.row - 3, spike.peak + 2, 1.5 * level)
        if metric == "grad_norm":
            out.put("with_gradient", float(around.max()) >= 3.0 * level, refs_at(spikes.curve, [spike.peak]))
    if "update_norm" in heights:
        others = [spike.row, heights.get("grad_norm", spike.row)]
        out.put("update_first", heights["update_norm"] < min(others), refs_at(spikes.curve, [spike.row]))


def _known(beside: tuple[Mask, Values], start: int, stop: int) -> Values:
    part = slice(max(start, 0), stop)
    values = beside[1][part][beside[0][part]]
    return values[np.isfinite(values)]


def _first_above(beside: tuple[Mask, Values], start: int, stop: int, limit: float) -> int:
    """Row of the first value above a limit, a row beyond every curve if there is none."""
    part = slice(max(start, 0), stop)
    above = np.flatnonzero(beside[0][part] & (beside[1][part] > limit))
    return max(start, 0) + int(above[0]) if above.size else int(np.iinfo(np.int32).max)


def objective_begins(view: RunView, curve: Series) -> tuple[int, ...]:
    """Rows of a loss curve at which a part of the loss that was exactly 0 until then begins: another loss is minimised."""
    found: set[int] = set()
    for name in view.run.metrics.names:
        beside = values_beside(view, curve, name) if "loss" in words_of(name) and name != "loss" else None
        if beside is None:
            continue
        known = beside[0] & np.isfinite(beside[1])
        there = np.flatnonzero(known & (beside[1] != 0))
        if not there.size or np.count_nonzero(known[: there[0]]) < ROWS_WITHOUT:
            continue
        if there.size > MOST_BEHIND * np.count_nonzero(known[there[0] :]):
            found.add(int(there[0]))
    return tuple(sorted(found))
