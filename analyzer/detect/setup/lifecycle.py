"""Restarts and their progress, overlapping writers, gaps of a tracker, signs of life, and hosts that fail again."""

from __future__ import annotations

import time

import numpy as np

from analyzer.detect.base import FactWriter, RunView, event_refs, refs_at
from analyzer.detect.curve import has_steps, left_out
from analyzer.detect.failures.failure_order import family_of
from analyzer.detect.failures.following import CAUSES
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import NULL_INT, Event, Series

GAP_SPACINGS = 5
"""Missing points in a row, in distances between logged points, that make a gap and no dropped record."""

SEPARATE_S = 600.0
"""Failures of one attempt that lie further apart than this have a life of their own: a job dies within minutes."""

ENOUGH_POINTS = 20

FAR_ZONE_S = 15 * 3600.0
"""Stamps carry no zone: the newest one may differ from now by up to 14 hours and still be of this moment."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``lifecycle.*``."""
    _restarts(view, out)
    _writers(view, out)
    _tracker(view, out)
    _coverage(view, out)
    _alive(view, out)
    _lemon(view, out)


def _restarts(view: RunView, out: FactWriter) -> None:
    """How often the job began again, and whether that brought new steps."""
    lines = view.events("elastic_restart")
    launches = len({attempt.index for attempt in view.run.attempts})
    count = max(len(lines), launches - 1)
    if count < 1:
        return
    refs = event_refs(lines)
    out.put("restarts", count, refs)
    times = [event.time_s for event in lines if event.time_s is not None]
    if len(lines) < 2 or len(times) != len(lines):
        times = [a.start_s for a in view.run.attempts[1:] if a.start_s is not None]
    if len(times) >= 2:
        out.put("restart_span_s", max(times) - min(times), refs)
    reached = _reached(view, lines)
    if reached is not None:
        best, idle = reached[0], 0
        for step in reached[1:]:
            idle = 0 if step > best else idle + 1
            best = max(best, step)
        out.put("restarts_without_progress", idle, refs)


def _reached(view: RunView, lines: tuple[Event, ...]) -> list[int] | None:
    """Furthest step of each launch, 0 where it logged none; None if no launch logged a step."""
    found = view.all_series("loss")
    if not found or not has_steps(found[0]):
        return [0] * (len(lines) + 1) if lines and not found else None
    series = found[0]
    if lines and len({event.ref.source for event in lines}) == 1 and lines[0].ref.source in series.source:
        own = series.source == lines[0].ref.source
        part_of = np.searchsorted([event.ref.line or 0 for event in lines], series.line[own])
        steps, parts = series.step[own], len(lines) + 1
    else:
        part_of, steps, parts = series.attempt, series.step, max(len(view.run.attempts), 1)
    known = steps != NULL_INT
    return [int(steps[known & (part_of == part)].max(initial=0)) for part in range(parts)]


def _writers(view: RunView, out: FactWriter) -> None:
    """Whether two files of one reader tell different stories about the same steps."""
    found = view.all_series("loss")
    if not found or not has_steps(found[0]):
        return
    main = found[0]
    others = left_out(view.run, "loss")
    if not others:
        return
    values = {
        int(step): float(value)
        for step, value in zip(main.step, main.value, strict=True)
        if step != NULL_INT and np.isfinite(value)
    }
    for other in others:
        shared = [
            row
            for row, step in enumerate(other.step.tolist())
            if step in values and np.isfinite(other.value[row])
        ]
        differ = [row for row in shared if abs(values[int(other.step[row])] - float(other.value[row])) > 1e-9]
        if len(shared) >= ENOUGH_POINTS and len(differ) > len(shared) // 2:
            out.put("writers_overlap", value=True, refs=[*refs_at(other, differ[:1]), *refs_at(main, [0])])
            return


def _tracker(view: RunView, out: FactWriter) -> None:
    """Whether steps in the middle of the tracker's curve are missing that a text log has."""
    sources = view.run.sources
    found = [series for series in view.all_series("loss") if has_steps(series)]
    trackers = [s for s in found if sources[int(s.source[0])].by_tracker]
    logs = [s for s in found if sources[int(s.source[0])].is_console]
    if not trackers or not logs:
        return
    gap = _gap(trackers[0])
    if gap is None:
        out.put("tracker_gap", value=False, refs=refs_at(trackers[0], [0]))
        return
    low, high, row = gap
    inside = np.flatnonzero((logs[0].step > low) & (logs[0].step < high))
    if inside.size:
        out.put("tracker_gap", value=True, refs=[*refs_at(trackers[0], [row]), *refs_at(logs[0], inside[:1])])


def _gap(series: Series) -> tuple[int, int, int] | None:
    """Steps on both sides of the widest gap and the row behind it; None if there is none."""
    rows = np.flatnonzero(series.step != NULL_INT)
    order = rows[np.argsort(series.step[rows], kind="stable")]
    steps = series.step[order]
    if steps.size < ENOUGH_POINTS:
        return None
    distances = np.diff(steps)
    widest = int(distances.argmax())
    if distances[widest] < GAP_SPACINGS * max(1.0, float(median_of(distances))):
        return None
    return int(steps[widest]), int(steps[widest + 1]), int(order[widest + 1])


def _coverage(view: RunView, out: FactWriter) -> None:
    loss = view.curve("loss")
    if loss is not None and len(loss) >= ENOUGH_POINTS:
        norm = view.curve("grad_norm")
        out.put("grad_norm_logged", norm is not None, refs_at(loss if norm is None else norm, [0]))


def _alive(view: RunView, out: FactWriter) -> None:
    """When the run last wrote. Copies have young files too, so the stamps inside must not be old."""
    newest = min(
        ((source.age_s, source.index) for source in view.run.sources if source.age_s is not None),
        default=None,
    )
    if newest is None:
        return
    out.put(
        "written_ago_s", newest[0] // 60 * 60, [SourceRef(newest[1])]
    )  # whole minutes: a report that is read twice
    stamps = view.run.metrics.time_s[np.isfinite(view.run.metrics.time_s)]
    latest = max(
        [
            float(stamps.max(initial=0.0)),
            *(event.time_s for event in view.run.events if event.time_s is not None),
        ]
    )
    if latest > 0:
        out.put("stamps_recent", abs(time.time() - latest) <= FAR_ZONE_S, [SourceRef(newest[1])])


def _lemon(view: RunView, out: FactWriter) -> None:
    """The host on which most separate failures began, if it is more than one failure."""
    moments: dict[str, list[tuple[int, float | None]]] = {}
    refs: dict[str, list[SourceRef]] = {}
    for event in view.run.events:
        host = event.fields.get("host")
        if not isinstance(host, str) or not host or family_of(event) not in CAUSES or event.role == "info":
            continue
        seen = moments.setdefault(host, [])
        if not any(_same_moment(moment, (event.attempt, event.time_s)) for moment in seen):
            seen.append((event.attempt, event.time_s))
            refs.setdefault(host, []).append(event.ref)
    if not moments:
        return
    host = max(sorted(moments), key=lambda name: len(moments[name]))
    out.put("lemon_failures", len(moments[host]), refs[host])
    out.put("failures_elsewhere", sum(len(seen) for name, seen in moments.items() if name != host))
    if len(moments[host]) >= 2:
        out.put("lemon_host", host, refs[host])


def _same_moment(first: tuple[int, float | None], second: tuple[int, float | None]) -> bool:
    """Whether two reports belong to one failure: of one attempt, and not clearly apart in time."""
    if first[1] is not None and second[1] is not None:
        return abs(first[1] - second[1]) <= SEPARATE_S
    return first[0] == second[0]
