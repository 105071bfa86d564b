"""How fast the run went: step times, their outliers and grid, throughput over the course of the run.

A step time is what a trainer printed, else the inverse of a printed throughput, else the time between two
stamped rows divided by the steps between them. The first two points hold compilation, caching and warm-up of
the allocator and are left out of every comparison.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curve import align, has_steps, launch_of, spacing, take
from analyzer.detect.robust import part_medians, slower_at_best, uncertainty
from analyzer.detect.speed.times import unit_times, within_a_minute
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Integers
from analyzer.model.ranked import counted_of, distinct_of, median_of
from analyzer.model.tables import NULL_INT, Series
from analyzer.record import replace

WARM_UP_POINTS = 2
MIN_POINTS = 20
"""Four points per fifth of the run: fewer give no stable median at either end."""

SLOW_STEP = 3.0
"""An outlier takes three times the median: evaluation or saving costs more, jitter of one step less."""

JITTER_S = 0.05
"""Seconds that scheduling on a busy host or garbage collection takes now and then: a step that is slow by
less is no fault of the run."""

LASTING_S = 0.01
"""Seconds per step by which a run must get slower; smaller differences come from the load of the host."""

MIN_OUTLIERS = 4
"""Fewer slow steps make no grid: any three points lie on some line."""

ON_GRID = 0.7
DROPPED = 0.8
"""Speed below 0.8 of the beginning: smaller changes come from longer samples or a busier file system."""

SUDDEN_PART = 20
"""A fall within a twentieth of the run is sudden: hardware, a restart or a setting, not a slow leak."""

MIN_WAITS = 3
"""Printed waits that tell a share, beside printed step times; each stands for ten steps or more in most logs."""

STILL_WAITS = 0.8
"""Share of the last of few rows, of that of the first, below which a wait that only falls is about to end."""

HELD_UP, HELD_UP_ROWS, HELD_UP_OFTEN = 1 / 3, 2, 0.15
"""A row of three times the usual time, a third of it a wait; two of them, and one in six or seven: an epoch is longer, and the first
row of one waits in most trainers."""

_THROUGHPUTS = (
    "tokens_per_second",
    "tokens_per_second_per_gpu",
    "samples_per_second",
    "steps_per_second",
    "tflops_per_gpu",
)
MIN_STAMP_S = 5.0
"""Rows stamped in whole seconds measure an interval to a fifth at best only from five seconds on."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.step_time.*``, ``signal.throughput.*``, ``signal.data_wait.*``, ``signal.eval_time.*``."""
    printed = unit_times(view.curve("step_time_s"), WARM_UP_POINTS + 1)
    if printed is not None:
        _step_times(view, printed, out)
    pace = printed if printed is not None and len(printed) >= MIN_POINTS else _pace(view)
    if pace is not None:
        # The time of a token or sample is small by itself; that of a step is not.
        _throughput(pace, out, LASTING_S if pace is printed or pace.metric == "loss" else 0.0)
    _data_wait(view, printed, out)
    _communication(view, printed, out)
    _eval_share(view, out)
    _startup(view, out)


def _pace(view: RunView) -> Series | None:
    """Seconds per unit of work: of printed throughput, else of stamps; None if neither is known."""
    for name in _THROUGHPUTS:
        series = unit_times(view.curve(name), WARM_UP_POINTS + 1)
        if series is not None and len(series) >= MIN_POINTS and has_steps(series):
            return replace(series, value=1.0 / series.value)
    series = view.curve("loss")
    if series is None or not has_steps(series) or len(series) <= MIN_POINTS:
        return None
    steps, times = np.diff(series.step), np.diff(series.time_s)
    same = (np.diff(launch_of(series)) == 0) & (steps > 0) & np.isfinite(times) & (times > 0)
    if same.sum() < MIN_POINTS:
        return None
    whole_seconds = bool((series.time_s[np.isfinite(series.time_s)] % 1 == 0).all())
    if whole_seconds and median_of(times[same]) < MIN_STAMP_S:
        return None
    later = take(series, np.flatnonzero(same) + 1)
    return replace(later, value=times[same] / steps[same])


def _step_times(view: RunView, series: Series, out: FactWriter) -> None:
    median = float(median_of(series.value[WARM_UP_POINTS:]))
    out.put("step_time.seen", value=True, refs=refs_at(series, [0]))
    out.put("step_time.points", len(series))
    out.put("step_time.median_s", median, refs_at(series, [len(series) // 2]))
    if len(series) < MIN_POINTS:
        return
    slow = series.value > max(SLOW_STEP * median, median + JITTER_S)
    slow[:WARM_UP_POINTS] = False
    rows = np.flatnonzero(slow)
    out.put("step_time.outliers", int(rows.size), refs_at(series, rows))
    total = float(series.value[WARM_UP_POINTS:].sum())
    out.put(
        "step_time.outlier_share", float((series.value[rows] - median).sum()) / total, refs_at(series, rows)
    )
    if rows.size >= MIN_OUTLIERS and has_steps(series):
        _grid(series, rows, out)
        _coincidences(view, series, rows, out)


def _grid(series: Series, rows: Integers, out: FactWriter) -> None:
    steps = distinct_of(series.step[rows])
    distances, counts = counted_of(np.diff(steps))
    period = int(distances[np.argmax(counts)]) if distances.size else 0
    spacing = int(median_of(np.diff(distinct_of(series.step))))
    if period <= spacing:  # neighbouring slow points are one slow stretch, not a grid
        out.put("step_time.outliers_on_grid", value=False, refs=refs_at(series, rows))
        return
    phases, phase_counts = counted_of(steps % period)
    near = np.abs((steps - phases[np.argmax(phase_counts)] + period // 2) % period - period // 2) <= spacing
    # A spacing close to the period would put any step on the grid.
    on_grid = bool(near.mean() >= ON_GRID and period >= 4 * spacing)
    out.put("step_time.outliers_on_grid", on_grid, refs_at(series, rows))
    if on_grid:
        out.put("step_time.outlier_period", period, refs_at(series, rows))


def _coincidences(view: RunView, series: Series, rows: Integers, out: FactWriter) -> None:
    saves = [event.step for event in view.events("checkpoint_saved") if event.step is not None]
    evals = view.curve("eval_loss")
    marks = {
        "saves": np.array(sorted(set(saves)), np.int64),
        "evals": distinct_of(evals.step[evals.step != NULL_INT])
        if evals is not None
        else np.zeros(0, np.int64),
    }
    spacing = int(median_of(np.diff(distinct_of(series.step))))
    for name, steps in marks.items():
        # With marks at most logged points every slow step would be next to one.
        if steps.size >= 2 and steps.size * 4 <= distinct_of(series.step).size:
            slow = series.step[rows]
            before = steps[np.clip(np.searchsorted(steps, slow, side="right") - 1, 0, steps.size - 1)]
            share = float(((slow >= before) & (slow - before <= spacing)).mean())
            out.put(f"step_time.outliers_at_{name}", share >= ON_GRID, refs_at(series, rows))


def _throughput(series: Series, out: FactWriter, least: float) -> None:
    """Whether the time of a unit of work grew, by ``least`` or more."""
    series = take(series, np.arange(len(series)) >= WARM_UP_POINTS)
    if len(series) < MIN_POINTS:
        return
    out.put("throughput.seen", value=True, refs=refs_at(series, [0]))
    parts = part_medians(series.value)
    ratio = float(parts[0] / parts[-1])
    told = not within_a_minute(series)
    if told:
        out.put("throughput.change_ratio", ratio, refs_at(series, [0, len(series) - 1]))
    stays = bool(min(parts[-1], parts[-2]) > max(parts[0], parts[1])) and slower_at_best(series.value)
    stays = stays and told
    dropped = ratio < DROPPED and stays and parts[-1] - parts[0] > max(uncertainty(series.value), least)
    out.put("throughput.dropped", bool(dropped), ends_of(series))
    if dropped:
        _where(series, float(parts[-1] / parts[0]), out)


def _where(series: Series, total: float, out: FactWriter) -> None:
    """Where the speed fell most, and whether at once."""
    window = max(len(series) // SUDDEN_PART, 3)
    centres = np.arange(window, len(series) - window)
    before = np.array([median_of(series.value[c - window : c]) for c in centres])
    after = np.array([median_of(series.value[c : c + window]) for c in centres])
    jumps = np.log(after / before)
    at = int(centres[np.argmax(jumps)])
    refs = refs_at(series, [at])
    out.put("throughput.drop_step", series.step_at(at), refs)
    out.put("throughput.drop_sudden", bool(jumps.max() >= ON_GRID * np.log(total)), refs)
    launches = launch_of(series)
    near = launches[max(at - window, 0) : at + window]
    out.put("throughput.drop_at_restart", bool(distinct_of(near).size > 1), refs)


def _data_wait(view: RunView, step_time: Series | None, out: FactWriter) -> None:
    waits = view.curve("data_time_s")
    if waits is None or step_time is None:
        return
    match = align(step_time, waits)
    known = (match >= 0) & (np.arange(len(step_time)) >= _warm_up(step_time))
    known &= np.isfinite(waits.value[np.maximum(match, 0)])
    if known.sum() < MIN_WAITS:
        return
    step = step_time.value[known]
    # A wait beyond the step is not of that step: the first of an epoch beside the mean over all since then.
    wait = np.minimum(waits.value[match[known]], step)
    share = wait / step
    # Few rows may all belong to the start, when the workers fill their queues: the share falls from row to row.
    if known.sum() < MIN_POINTS and (np.diff(share) <= 0).all() and share[-1] < STILL_WAITS * share[0]:
        return
    # Every n-th step waits if n workers are too few, so the sum counts too, without the longest waits.
    usual = np.argsort(wait)[: len(wait) - max(len(wait) // 10, 1)]
    of_all = float(wait[usual].sum() / step[usual].sum())
    rows = np.flatnonzero(known)
    waiting = share >= HELD_UP
    held_up = waiting & (step >= SLOW_STEP * float(median_of(step if waiting.all() else step[~waiting])))
    turns = int(held_up.sum()) >= HELD_UP_ROWS and float(held_up.mean()) >= HELD_UP_OFTEN
    out.put("data_wait.by_turns", turns, refs_at(step_time, rows[held_up]) or refs_at(step_time, rows[-1:]))
    out.put("data_wait.share", max(float(median_of(share)), of_all), refs_at(step_time, rows[-3:]))


def _warm_up(series: Series) -> int:
    """Rows of warm-up: none of them stands in a log that begins with a later one."""
    every = spacing(series)
    missing = every is not None and (series.step_at(0) or 0) > (WARM_UP_POINTS + 1) * every
    return 0 if missing else WARM_UP_POINTS


def _communication(view: RunView, step_time: Series | None, out: FactWriter) -> None:
    exposed = unit_times(view.curve("allreduce_time_s"), WARM_UP_POINTS + 1)
    parts = [
        unit_times(view.curve(name), WARM_UP_POINTS + 1)
        for name in ("forward_time_s", "backward_time_s", "optimizer_time_s")
    ]
    if exposed is None or len(exposed) < MIN_POINTS:
        return
    known = [float(median_of(part.value[WARM_UP_POINTS:])) for part in parts if part is not None]
    whole = float(median_of(step_time.value[WARM_UP_POINTS:])) if step_time is not None else sum(known)
    if len(known) == len(parts) or step_time is not None:
        share = float(median_of(exposed.value[WARM_UP_POINTS:])) / whole
        out.put("communication.share", share, end_of(exposed))


def _eval_share(view: RunView, out: FactWriter) -> None:
    evals = unit_times(view.curve("eval_time_s"), WARM_UP_POINTS + 1)
    loss = view.curve("loss")
    if evals is None or loss is None:
        return
    stamps = np.concatenate([loss.time_s, evals.time_s])
    stamps = stamps[np.isfinite(stamps)]
    span = float(np.ptp(stamps)) if stamps.size >= MIN_POINTS else 0.0
    if span > 0 and evals.value.sum() <= span:
        out.put("eval_time.share", float(evals.value.sum()) / span, refs_at(evals, [0]))


_EVALUATION = LazyRegex(r"(?i)\b(?:evaluat|validat)")


def _startup(view: RunView, out: FactWriter) -> None:
    """From the first stamped line of the log to where the steps of its first stamped training row begin.

    A row is printed after the steps that it stands for: what they take is no wait.
    """
    loss = view.curve("loss")
    if loss is None or not np.isfinite(loss.time_s).any() or view.events("training_begins_again"):
        return  # of several trainings in one log only the last is looked at, and its start is not the log's
    row = int(np.flatnonzero(np.isfinite(loss.time_s))[0])
    source = int(loss.source[row])
    stamps = [event for event in view.run.events if event.ref.source == source and event.time_s is not None]
    if stamps:
        first = min(stamps, key=lambda event: event.time_s or 0.0)
        steps_s = _time_of_a_row(loss, row)
        wait_s = -1.0 if steps_s is None else float(loss.time_s[row]) - steps_s - (first.time_s or 0.0)
        before = [event.text for event in stamps if (event.ref.line or 0) < int(loss.line[row])]
        # An evaluation before training is work that was asked for; how long it took, nothing tells.
        if wait_s >= 0 and not any(_EVALUATION.search(text) for text in before):
            out.put("startup.wait_s", wait_s, [first.ref, *refs_at(loss, [row])])


def _time_of_a_row(loss: Series, row: int) -> float | None:
    """Seconds that the steps of the first row take, by the rows after it; None where nothing tells."""
    if not has_steps(loss) or loss.step[row] <= 1:
        return 0.0
    stamped = np.isfinite(loss.time_s) & (loss.step != NULL_INT)
    steps, took_s = np.diff(loss.step[stamped]), np.diff(loss.time_s[stamped])
    forward = (steps > 0) & (took_s >= 0)
    if not forward.any():
        return None
    usual = float(median_of(steps[forward]))
    return float(median_of(took_s[forward] / steps[forward])) * min(float(loss.step[row]), usual)
