"""One curve per metric out of many loggers: choose a primary series, join restarts, align two metrics.

The same metric may stand in the console log, in ``trainer_state.json``, in TensorBoard and in W&B, and each
of them may be a mean over ranks, one rank, or another unit under another name. Only one of these series is
the curve; mixing them would count every point several times. Nothing here depends on the order of sources.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from analyzer.model.arrays import Mask, Rows
from analyzer.model.name_words import is_running_mean
from analyzer.model.ranked import counted_of, distinct_of, median_of
from analyzer.model.run import Run
from analyzer.model.tables import NULL_INT, Series
from analyzer.record import replace

REDUCED_RANK = int(np.iinfo(np.int32).min)
"""Rank column of a value that is already reduced over ranks."""

STEPLESS_WEIGHT = 0.5
"""A series without steps must have twice the points of one with steps to be preferred: steps carry the onset,
but a log that was flushed rarely may lack the end of the run, which is where a failure shows."""

_LAUNCH_BITS = 20
"""Room for the restarts within one file beside the number of the attempt."""


BATCHES = 3
"""Rows of one step on average: more than the data sets on which one model is usually evaluated."""


KNOWN_LEVEL = 10
"""Rows after zeros of which the first fifth is a level to compare with; of fewer nobody knows where the loss began."""


def from_first_count(series: Series) -> Series | None:
    """A loss without the zeros that stand before all others: printed before anything was counted, or in place of NaN."""
    begins = int(np.argmax(series.value != 0)) if len(series) > 2 else 0
    if not begins or not series.value[begins:].all():
        return series
    return take(series, slice(begins, None)) if begins == 1 or len(series) - begins >= KNOWN_LEVEL else None


def take(series: Series, rows: Rows | Mask | slice) -> Series:
    """The chosen points of a series, in the order of ``rows`` (indices or a mask, shape (n_points,), or a slice)."""
    return replace(
        series,
        step=series.step[rows],
        value=series.value[rows],
        time_s=series.time_s[rows],
        attempt=series.attempt[rows],
        source=series.source[rows],
        line=series.line[rows],
    )


def finite_points(series: Series | None, least: int = 1) -> Series | None:
    """The finite points of a series; None where there is no series or fewer than ``least`` of them."""
    return None if series is None else _enough(take(series, np.isfinite(series.value)), least)


def positive_points(series: Series | None, least: int = 1) -> Series | None:
    """The same for the finite points above 0, which times, speeds and sizes are."""
    if series is None:
        return None
    return _enough(take(series, np.isfinite(series.value) & (series.value > 0)), least)


LEAST_BETWEEN = 5
"""Values between zeros that show that the zeros are no values."""


def without_fillers(series: Series | None) -> Series | None:
    """A series without the zeros that a logger writes where nothing was updated.

    They stand between the values from the beginning on, and no more of them behind the last value than between two.
    """
    at = np.zeros(0) if series is None else np.flatnonzero(series.value)
    if series is None or not LEAST_BETWEEN <= at.size < len(series):
        return series
    longest = int(np.diff(at, prepend=-1).max())
    interleaved = at[at.size // 2] + 1 >= 2 * (at.size // 2 + 1) and len(series) - at[-1] <= longest
    return take(series, series.value != 0) if interleaved else series


def _enough(series: Series, least: int) -> Series | None:
    return series if len(series) >= least else None


def has_steps(series: Series) -> bool:
    """Whether at least half of the points carry a step."""
    return bool(len(series)) and float(np.mean(series.step != NULL_INT)) >= 0.5


def each_evaluation(series: Series, *, losses: bool, trained: tuple[int, int] | None = None) -> Series:
    """One point for each evaluation where its batches were logged: rows that follow each other at one step.

    The losses of batches have a median; a score in such rows runs on to that of all batches, which is the last one.

    Args:
        series: Of held-out data.
        losses: Whether it is a loss.
        trained: First and last step of the rows of training, if any.
    """
    if not has_steps(series):
        return series
    ends = np.flatnonzero(np.append(np.diff(series.step) != 0, True))
    # A counter that stands still tells nothing apart, unless training has moved it and nothing stands between the rows.
    counted = ends.size > 1 or (
        trained is not None
        and trained[0] < trained[1] == series.step[-1]
        and bool((np.diff(series.line) == 1).all())
    )
    if not counted or len(series) < BATCHES * ends.size:
        return series
    last = take(series, ends)
    if not losses:
        return last
    return replace(
        last,
        value=np.array([median_of(part) for part in np.split(series.value, ends[:-1] + 1)], dtype=np.float64),
    )


def logged_once(series: Series, beside: Series) -> Series:
    """The training loss that stands in rows of evaluations; its first point, where the others are copies of that.

    The tables of HF Trainer, and model cards after them, repeat the loss that was logged last in each row until training
    logs again. A loss of exactly 0, one that is not finite, and one beside which the evaluation stands still as well,
    did not move.
    """
    if len(series) < 2 or not (series.value == series.value[0]).all() or series.value[0] == 0.0:
        return series
    _, here, there = np.intersect1d(series.line, beside.line, return_indices=True)
    same_rows = here.size == len(series) and np.array_equal(series.source[here], beside.source[there])
    return take(series, slice(1)) if same_rows and np.diff(beside.value[there]).all() else series


def spacing(series: Series) -> int | None:
    """Steps from one point to the next, the most frequent distance; None without steps."""
    known = series.step[series.step != NULL_INT]
    if known.size < 2:
        return None
    gaps = np.diff(known)
    if gaps.min() == gaps.max() > 0:  # the usual case, and a fraction of the cost of sorting
        return int(gaps[0])
    known = distinct_of(known)
    if known.size < 2:
        return None
    distances, counts = counted_of(np.diff(known))
    return int(distances[np.argmax(counts)])


def all_series(run: Run, metric: str) -> tuple[Series, ...]:
    """Every separate series of a metric, the primary one first.

    Points belong together if the same reader found them under the same name for the same rank. Files that
    repeat one another (a console log and its copy) give one series.
    """
    found: list[tuple[tuple[float, bool, bool, int, str, str, int], Series]] = []
    for rank, rows in _groups(run, metric):
        series = _joined(run, metric, rows)
        found.append((_rank_of(run, series, rank), series))
    return tuple(series for _, series in sorted(found, key=lambda item: item[0]))


def left_out(run: Run, metric: str) -> tuple[Series, ...]:
    """Files of the last attempt that no series of ``all_series`` contains, each as a series of its own.

    Their steps overlap those of a fuller file of the same reader, and nothing states which of them came later.
    """
    table = run.metrics
    found: list[Series] = []
    for _, rows in _groups(run, metric):
        last = rows[table.attempt[rows] == table.attempt[rows].max()]
        sources = distinct_of(table.source[last])
        if sources.size < 2:
            continue
        used = distinct_of(_joined(run, metric, rows).source)
        found += [
            table.series_of(metric, _by_line(table.line, last[table.source[last] == source]))
            for source in sources[~np.isin(sources, used)]
        ]
    paths = [source.path for source in run.sources]
    return tuple(sorted(found, key=lambda series: (-len(series), paths[int(series.source[0])])))


def continues(later: Series, earlier: Series) -> bool:
    """Whether a file without a stated attempt clearly goes on where another one stopped, or repeats it.

    It does if it began later and came further, by the clock or by its steps, or if it holds the same points.
    """
    times = later.time_s[np.isfinite(later.time_s)], earlier.time_s[np.isfinite(earlier.time_s)]
    if all(part.size for part in times):
        return bool(times[0].min() > times[1].min() and times[0].max() > times[1].max())
    if not (has_steps(later) and has_steps(earlier)):
        size = len(earlier)
        return any(
            np.array_equal(part, earlier.value, equal_nan=True)
            for part in (later.value[:size], later.value[-size:])
        )
    steps = later.step[later.step != NULL_INT], earlier.step[earlier.step != NULL_INT]
    if steps[0].min() > steps[1].min() and steps[0].max() > steps[1].max():
        return True
    match = _matches(earlier.step, later.step, earlier.step != NULL_INT)
    return bool((match >= 0).all()) and np.array_equal(later.value[match], earlier.value, equal_nan=True)


def _groups(run: Run, metric: str) -> Iterator[tuple[int, Rows]]:
    """Rank and rows of everything that one reader found under one name for one rank."""
    table = run.metrics
    if metric not in table.names:
        return
    rows = np.flatnonzero(table.metric == table.names.index(metric))
    if not rows.size:
        return
    readers = sorted({source.ingestor for source in run.sources})
    reader = np.array([readers.index(source.ingestor) for source in run.sources], dtype=np.int64)
    ranks = distinct_of(table.rank[rows])
    rank_code = np.searchsorted(ranks, table.rank[rows])
    shape = (len(readers), len(table.raw_names), ranks.size)
    keys = np.ravel_multi_index((reader[table.source[rows]], table.raw[rows], rank_code), shape)
    for key in distinct_of(keys):
        _, _, code = np.unravel_index(int(key), shape)
        yield int(ranks[code]), rows[keys == key]


def _rank_of(run: Run, series: Series, rank: int) -> tuple[float, bool, bool, int, str, str, int]:
    """Sort key of a series: the best has most points, lines to look up, is no running mean, and is named most plainly."""
    weight = len(series) * (1.0 if has_steps(series) else STEPLESS_WEIGHT)
    source = run.sources[int(series.source[0])]
    return (
        -weight,
        source.by_tracker,
        is_running_mean(series.logged_as),
        len(series.logged_as),
        source.ingestor,
        series.logged_as,
        rank if rank != REDUCED_RANK else -1,
    )


def _joined(run: Run, metric: str, rows: Rows) -> Series:
    """One series out of the files of one reader: attempt by attempt, without what another file repeats."""
    table = run.metrics
    parts: list[Rows] = []
    for attempt in distinct_of(table.attempt[rows]):
        of_attempt = rows[table.attempt[rows] == attempt]
        sources = distinct_of(table.source[of_attempt])
        files = [_by_line(table.line, of_attempt[table.source[of_attempt] == source]) for source in sources]
        files = [_printed_once(run, part) for part in files]
        files.sort(key=lambda part: (-part.size, run.sources[int(table.source[part[0]])].path))
        parts.extend(_without_repeats(table.step, files))
    return table.series_of(metric, np.concatenate(parts))


def _by_line(line: Rows, rows: Rows) -> Rows:
    """Rows of one file in the order of their lines; a reader may hand some of them in late."""
    return rows[np.argsort(line[rows], kind="stable")]


def _printed_once(run: Run, rows: Rows) -> Rows:
    """Rows of one file without those that two loggers print one below the other: the same step, and the same digits."""
    table = run.metrics
    step, value, line = table.step[rows], table.value[rows], table.line[rows]
    same = (value[1:] == value[:-1]) | (np.isnan(value[1:]) & np.isnan(value[:-1]))
    again = (step[1:] == step[:-1]) & (step[1:] != NULL_INT) & same & (np.diff(line) == 1)
    return rows[np.concatenate(([True], ~again))] if again.any() else rows


def _without_repeats(step: Rows, files: list[Rows]) -> list[Rows]:
    """Files whose steps do not overlap (a rotated log), in order of their steps; the fullest file comes first."""
    kept: list[tuple[int, int, Rows]] = []
    for part in files:
        known = step[part][step[part] != NULL_INT]
        if not known.size:
            if not kept:  # without steps a second file cannot be told from a copy
                return [part]
            continue
        low, high = int(known.min()), int(known.max())
        if all(high < other_low or low > other_high for other_low, other_high, _ in kept):
            kept.append((low, high, part))
    return [part for _, _, part in sorted(kept, key=lambda item: item[0])]


def launch_of(series: Series) -> Rows:
    """Number of the launch that logged each point, ascending: the attempt, and restarts within one file.

    A step that falls back to the middle of the run is a restart from a checkpoint; one that falls back to its
    beginning may be the next epoch of a loop that counts steps per epoch, and is left alone.
    """
    launch = series.attempt.astype(np.int64) << _LAUNCH_BITS
    distance = spacing(series)
    if distance is None or not has_steps(series):
        return launch
    fell = np.zeros(len(series), np.int64)
    step = _filled(series.step)
    back = (np.diff(step) < 0) & (series.attempt[1:] == series.attempt[:-1]) & ~_swapped(step)
    fell[1:] = back & (step[1:] > step.min() + 2 * distance)
    return launch + np.minimum(np.cumsum(fell), (1 << _LAUNCH_BITS) - 1)


def _swapped(step: Rows) -> Mask:
    """Which falls are two rows in the wrong order, as a buffer writes them: a restart logs steps again, a swap none."""
    swapped = np.zeros(max(step.size - 1, 0), dtype=np.bool_)
    if step.size >= 4:
        before, first, second, after = step[:-3], step[1:-2], step[2:-1], step[3:]
        swapped[1:-1] = (before < second) & (second < first) & (first < after)
    return swapped


def _filled(step: Rows) -> Rows:
    """Steps with the last known one in place of each unknown, the first known one at the beginning."""
    known = step != NULL_INT
    if known.all():
        return step
    latest = np.maximum.accumulate(np.where(known, np.arange(step.size), -1))
    return step[np.where(latest < 0, int(np.argmax(known)), latest)]


def position(series: Series) -> Rows:
    """Where each point stands in its attempt: its step, or its index if the logger gave no steps."""
    if has_steps(series):
        return series.step
    index = np.zeros(len(series), np.int64)
    for attempt in distinct_of(series.attempt):
        mask = series.attempt == attempt
        index[mask] = np.arange(int(mask.sum()))
    return index


def spans(ascending: Rows) -> list[slice]:
    """Where each value of an ascending column stands; a mask for each would cost its square."""
    cuts = np.flatnonzero(np.diff(ascending)) + 1
    return [slice(int(a), int(b)) for a, b in pairwise([0, *cuts.tolist(), ascending.size]) if a < b]


def lineage(series: Series) -> tuple[Mask, Mask]:
    """The curve that led to the present state, and what restarts left behind beyond it.

    A restart from a checkpoint at step 80 replaces everything that an earlier launch logged from there on.
    The second part holds points of earlier launches beyond the last point of every later one: nobody has
    passed them again, so a fault in them is not overcome.

    Returns:
        Two masks of shape (n_points,): the curve, and what lies beyond.
    """
    launch = launch_of(series)
    current = np.ones(len(series), dtype=np.bool_)
    beyond = np.zeros(len(series), dtype=np.bool_)
    launches = spans(launch)
    if len(launches) < 2:
        return current, beyond
    where = position(series)
    # From the last launch backward: where the later ones begin and how far they came.
    begins, reached = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for own in reversed(launches):
        current[own] = where[own] < begins
        beyond[own] = ~current[own] & (where[own] > reached)
        begins = min(begins, int(where[own].min()))
        reached = max(reached, int(where[own].max()))
    return current, beyond


NEXT_LINES = 3
"""Lines within which the values of one row are printed below each other."""


def align(first: Series, second: Series) -> Rows:
    """For each point of ``first`` the index of the point of ``second`` of the same step, -1 if there is none.

    Points match by standing on the same line, or by attempt and step, whichever joins more of them: a console
    row holds both metrics, other loggers give each its own record. On a tie the line decides, because steps
    may repeat (epochs, restarts within a file); a line that holds whole curves joins but one point.
    Without steps, points of which each stands a line or two from its neighbour in the other series match in order.
    """
    if not len(first) or not len(second):
        return np.full(len(first), -1, np.int64)
    by_line = _matches(_keys(first.source, first.line), _keys(second.source, second.line), first.line > 0)
    if not (has_steps(first) and has_steps(second)):
        return np.arange(len(first)) if _neighbours(first, second) else by_line
    known = first.step != NULL_INT
    by_step = _matches(_keys(first.attempt, first.step), _keys(second.attempt, second.step), known)
    return by_line if _points_of(by_line) >= _points_of(by_step) else by_step


def _neighbours(first: Series, second: Series) -> bool:
    """Whether each point stands as far from that of the other series as the next one does: ``loss: 0.5`` above ``acc: 0.75``."""
    if len(first) != len(second) or not (first.source == second.source).all() or not first.line.all():
        return False
    apart = second.line - first.line
    return bool(apart.min() == apart.max() and 0 < abs(int(apart[0])) <= NEXT_LINES)


def _points_of(match: Rows) -> int:
    """How many different points were found."""
    return int(distinct_of(match[match >= 0]).size)


def _matches(left: Rows, right: Rows, known: Mask) -> Rows:
    """Index in ``right`` of each known key of ``left``, -1 where there is none."""
    order = np.argsort(right, kind="stable")
    slot = np.searchsorted(right[order], left)
    slot[slot == order.size] = 0
    match = order[slot]
    return np.where(known & (right[match] == left), match, -1)


def _keys(major: Rows, minor: Rows) -> Rows:
    # 40 bits hold 10**12 steps or lines; the major number is an attempt or a source, both small.
    return (major << 40) + np.clip(minor, -1, (1 << 40) - 1)
