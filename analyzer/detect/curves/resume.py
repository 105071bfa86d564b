"""What the curves do where a run was restarted: repeat, jump, or begin anew.

A restart is a change of launch along the training curve: another attempt, a step that falls back, a line between two
rows that says from which checkpoint the program goes on (a console that the next launch appends to), or the step of the
checkpoint that the settings name (a history that is saved and loaded with a checkpoint is whole). The points right
before and right after it are compared; a difference counts beyond three times the noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, refs_at
from analyzer.detect.curve import has_steps, launch_of, spans, take
from analyzer.detect.robust import SIGMAS, noise
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Integers, Values
from analyzer.model.ranked import distinct_of, median_of
from analyzer.model.tables import Series
from analyzer.record import NamedTuple

WINDOW = 10
"""Points on each side: enough for a median, few enough that the trend within them does not matter."""

FIRST = 5
"""Points right after a restart: a spike of the sampler is gone after about ten, so its start must weigh."""

JUMP = 1.03
LARGE_JUMP = 1.15
"""Missing optimizer moments cost tens of percent; another order of samples a few."""

FAR = 5
"""A launch has come far if it logged five times the distance that the next one begins with."""

SAME_RATE = 0.05
"""Learning rates agree within five percent: schedules move on by a fraction of that between two rows."""

# "output/checkpoint-1000", "ckpts/step_00001000.pt", "global_step1000/"
_NAMED_STEP = LazyRegex(r"(?:checkpoint|step|iter)[-_=]?0{0,12}(?P<step>[1-9]\d{0,11})(?:\.\w{1,12})?/?$")


class _Boundary(NamedTuple):
    """The points around one restart, in the order of logging; all finite."""

    before: Series
    after: Series
    first_of_run: Series


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.resume.*``."""
    loss = view.all_series("loss")
    if not loss or not has_steps(loss[0]):
        return
    series = loss[0]
    boundaries = list(_boundaries(series, view))
    if not boundaries:
        return
    last = boundaries[-1]
    refs = refs_at(last.after, [0]) + end_of(last.before)
    out.put("count", len(boundaries), refs)
    step = int(last.after.step[0])
    out.put("step", step, refs[:1])
    reached = int(last.before.step.max())
    begun = int(last.first_of_run.step[0])
    out.put("from_zero", bool(step - begun <= (reached - begun) / FAR and step <= max(begun, 1) * FAR), refs)
    if len(last.before) >= WINDOW and len(last.after) >= FIRST:
        _loss(last, out)
    if len(boundaries) >= 2:
        spikes = [_small_spike(boundary) for boundary in boundaries]
        if None not in spikes:
            out.put(
                "small_spike_each_time", all(spikes), [r for b in boundaries for r in refs_at(b.after, [0])]
            )
    _norms(view, out)
    _rates(view, out)
    saved = view.events("checkpoint_saved", "resume_from_checkpoint")
    if saved:
        out.put("checkpoint_seen", value=True, refs=[saved[0].ref])


def _launches(series: Series, view: RunView) -> Integers:
    """Number of the launch of each point, ascending; a resumed program may go on at the very next step."""
    launch = launch_of(series)
    resumed = np.zeros(len(series), np.int64)
    for source in distinct_of(series.source):
        lines = [
            event.ref.line for event in view.events("resume_from_checkpoint") if event.ref.source == source
        ]
        mine = series.source == source
        resumed[mine] = np.searchsorted(sorted(line for line in lines if line), series.line[mine])
    changed = (np.diff(launch) != 0) | ((np.diff(resumed) > 0) & (np.diff(series.source) == 0))
    step = _named_step(view)
    if step is not None and not changed.any():
        changed = (series.step[:-1] <= step) & (series.step[1:] > step)
    return np.concatenate([[0], np.cumsum(changed)]).astype(np.int64)


def _named_step(view: RunView) -> int | None:
    """The step of the checkpoint from which the settings let the run go on.

    HF Trainer's own arguments say none where the program gives the path to `train()`: every file that says one counts.
    """
    entry = view.config("train.resume_from")
    for said in () if entry is None else (entry, *entry.conflicts):
        if isinstance(said.value, str) and (match := _NAMED_STEP.search(said.value)) is not None:
            return int(match["step"])
    return None


def _boundaries(series: Series, view: RunView) -> Iterator[_Boundary]:
    good = take(series, np.isfinite(series.value))
    if not len(good):
        return
    launches = [take(good, part) for part in spans(_launches(good, view))]
    for before, after in pairwise(launches):
        yield _Boundary(before, after, launches[0])


def _level(values: Values) -> float:
    return float(median_of(values))


def _near(boundary: _Boundary) -> Values:
    """The last points of the old launch before the step at which the new one goes on."""
    passed = boundary.before.value[boundary.before.step <= boundary.after.step[0]]
    return passed[-WINDOW:] if passed.size >= WINDOW else boundary.before.value[-WINDOW:]


def _jump(boundary: _Boundary) -> tuple[float, float, float]:
    """Level before, level right after, and by how much they may differ by noise."""
    before, after = _near(boundary), boundary.after.value[:FIRST]
    spread = SIGMAS * noise(boundary.before.value[-4 * WINDOW :]) / float(np.sqrt(FIRST))
    return _level(before), _level(after), spread


def _loss(last: _Boundary, out: FactWriter) -> None:
    before, after, spread = _jump(last)
    if before <= 0:
        return
    refs = end_of(last.before) + refs_at(last.after, [0])
    ratio = after / before
    up, down = after - before > spread and ratio > JUMP, before - after > spread and ratio < 1 / JUMP
    out.put("loss_ratio", ratio, refs)
    out.put("jumps_up", bool(up), refs)
    out.put("jumps_down", bool(down), refs)
    out.put("jump_is_large", bool(up and ratio >= LARGE_JUMP), refs)
    start = _level(last.first_of_run.value[:FIRST])
    # Only a model that had learnt something can be seen to have forgotten it.
    if start > LARGE_JUMP * before:
        out.put("loss_back_at_start", bool(after > before + 0.8 * (start - before)), refs)
    later = last.after.value[WINDOW : 2 * WINDOW]
    if later.size >= FIRST:
        out.put("decays_slowly", bool(up and _level(later) - before > spread / 2), refs)
    if len(last.after) >= 4 * WINDOW:
        tail = _level(last.after.value[-WINDOW:])
        lowest = min(_level(part) for part in np.array_split(last.after.value, 4))
        returned = tail - lowest > 2 * spread and tail > lowest * JUMP
        out.put("down_then_up", bool(down and returned), refs)


def _small_spike(boundary: _Boundary) -> bool | None:
    if len(boundary.before) < WINDOW or len(boundary.after) < 2 * WINDOW:
        return None
    before, _, spread = _jump(boundary)
    peak = float(np.max(boundary.after.value[:3]))
    later = _level(boundary.after.value[WINDOW : 2 * WINDOW])
    return bool(peak - before > spread and before * JUMP < peak < before * 1.5 and later - before <= spread)


def _norms(view: RunView, out: FactWriter) -> None:
    found = view.all_series("grad_norm")
    boundary = (
        next(iter(list(_boundaries(found[0], view))[-1:]), None) if found and has_steps(found[0]) else None
    )
    if boundary is not None and len(boundary.before) >= FIRST and len(boundary.after) >= FIRST:
        before, after = _level(_near(boundary)), _level(boundary.after.value[:FIRST])
        if before > 0:
            out.put("grad_norm_ratio", after / before, refs_at(boundary.after, [0]))


def _rates(view: RunView, out: FactWriter) -> None:
    found = view.all_series("learning_rate")
    boundary = (
        next(iter(list(_boundaries(found[0], view))[-1:]), None) if found and has_steps(found[0]) else None
    )
    if boundary is None or len(boundary.before) < 2:
        return
    passed = boundary.before.value[boundary.before.step <= boundary.after.step[0]]
    before, after = (
        float((passed if passed.size else boundary.before.value)[-1]),
        float(boundary.after.value[0]),
    )
    start = float(boundary.first_of_run.value[0])
    refs = end_of(boundary.before) + refs_at(boundary.after, [0])
    if before > 0:
        out.put("learning_rate_ratio", after / before, refs)
    moved = abs(start - before) > SAME_RATE * max(abs(before), abs(start))
    if moved and boundary.after.step[0] > boundary.first_of_run.step[0]:
        near_start = abs(after - start) <= SAME_RATE * max(abs(after), abs(start))
        out.put("learning_rate_restarts", bool(near_start), refs)
