"""What each rank did when the run broke: the lines that report a failure, open collectives and last words, by time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from analyzer.detect.base import RunView
from analyzer.detect.failures.failure_order import SAME_MOMENT_S, Failure, FailureOrder
from analyzer.detect.failures.following import CAUSES
from analyzer.detect.failures.launcher_reports import REPORTS
from analyzer.detect.ranks.flight_facts import waits_of
from analyzer.ingest.rank_names import ranks_of
from analyzer.model.diagnosis import Place
from analyzer.model.run import Run
from analyzer.record import NamedTuple
from analyzer.vocabulary.events import said

CAUSE, WAITED, TOLD, LAST = "cause", "waited", "told", "last"
"""Failed by itself; waited for others or lost them; was told to end; wrote its last line."""

MOST_LANES = 64
"""Ranks drawn: those that failed by themselves or are silent come first, the rest are alike."""


class Mark(NamedTuple):
    """Something that a rank reports."""

    what: str  # ``cause``, ``waited``, ``told`` (to end, or so reported by the launcher) or ``last``
    words: str  # what the line says, as a clause
    at: float  # Unix seconds, or position in the log where no line has a clock
    since: float  # when it began, for a rank that waited; else as ``at``
    place: Place  # where it stands


class Lane(NamedTuple):
    """One rank."""

    rank: int  # global rank
    host: str  # its host, empty if unknown
    # what it reports, in order; none if it finished every collective that it issued, while others wait
    marks: tuple[Mark, ...]
    first: bool  # whether the first failure of the run is its own
    awaited: bool = False  # whether, by the flight recorder, the others wait for it and it waits for nobody


class RankTimes(NamedTuple):
    """Ranks over time."""

    lanes: tuple[Lane, ...]  # ranks that are drawn, by number
    hidden: int  # ranks that are not
    by_clock: bool  # whether marks stand at unix seconds; else at their order in one log


def rank_times(run: Run) -> RankTimes | None:
    """Ranks by time; None unless at least two ranks are known and one of them reports that something broke."""
    view = RunView(run)
    order = view.once(FailureOrder)
    failures = [failure for failure in order.failures if failure.rank is not None]
    calls = list(_open_collectives(run))
    times = _times_of(failures)
    by_clock = bool(calls) or _telling_ranks(failures) <= _telling_ranks(f for f, _ in times)
    if by_clock:
        found = [*calls, *((f.rank or 0, _mark(run, f, at)) for f, at in times)]
    else:
        found = _in_order(run, failures)
    if not found:
        return None
    if by_clock:
        found += _last_words(run)
    first = order.first.rank if order.first is not None and order.first.family in CAUSES else None
    lanes = _lanes(found, first, {f.rank: f.host for f in failures if f.host})
    lanes += [
        Lane(rank, "", (), first=False) for rank in _with_nothing_open(run, {lane.rank for lane in lanes})
    ]
    if len(lanes) < 2:
        return None
    awaited = waits_of(run.flight).origins
    lanes = [lane._replace(awaited=lane.rank in awaited) for lane in lanes]
    kept = sorted(lanes, key=_telling)[:MOST_LANES]
    return RankTimes(
        tuple(sorted(kept, key=lambda lane: lane.rank)), max(0, len(lanes) - MOST_LANES), by_clock
    )


def _telling_ranks(failures: Iterable[Failure]) -> set[int | None]:
    """Ranks of which something else than their end is known: without clocks they would be missing."""
    return {failure.rank for failure in failures if failure.family != "cleanup"}


def _telling(lane: Lane) -> tuple[bool, bool, bool, int]:
    kinds = {mark.what for mark in lane.marks}
    return not (lane.first or lane.awaited), CAUSE not in kinds, bool(kinds - {LAST}), lane.rank


def _lanes(
    found: Iterable[tuple[int, Mark]], first: int | None, hosts: dict[int | None, str | None]
) -> list[Lane]:
    by_rank: dict[int, list[Mark]] = {}
    for rank, mark in found:
        marks = by_rank.setdefault(rank, [])
        if all((mark.what, mark.words) != (other.what, other.words) for other in marks):
            marks.append(mark)
    return [
        Lane(rank, hosts.get(rank) or "", _worth_drawing(marks), rank == first)
        for rank, marks in by_rank.items()
    ]


def _worth_drawing(marks: list[Mark]) -> tuple[Mark, ...]:
    """In order, without the end of a rank that said why, and without a last line that stands at such a mark."""
    why = [mark for mark in marks if mark.what in {CAUSE, WAITED}]
    kept = [
        mark
        for mark in marks
        if mark in why
        or (mark.what == TOLD and not why)
        or (mark.what == LAST and all(abs(mark.at - other.at) > SAME_MOMENT_S for other in why))
    ]
    return tuple(sorted(kept, key=lambda mark: mark.at))


def _with_nothing_open(run: Run, drawn: set[int]) -> set[int]:
    """Ranks whose flight recorder holds no collective that is open: the others wait for what these never issued."""
    return {dump.rank for dump in run.flight if dump.rank is not None and dump.rank not in drawn}


def _times_of(failures: Iterable[Failure]) -> list[tuple[Failure, float]]:
    """Failures with a clock: their own, else that of the launcher's report of the same rank (tracebacks have none)."""
    rows = [(failure, _time_of(failure)) for failure in failures]
    reported = {f.rank: at for f, at in reversed(rows) if at is not None and f.kinds & REPORTS}
    known = ((failure, reported.get(failure.rank) if at is None else at) for failure, at in rows)
    return [(failure, at) for failure, at in known if at is not None]


def _time_of(failure: Failure) -> float | None:
    times = [event.time_s for event in failure.events if event.time_s is not None]
    return min(times, default=failure.time_s)


def _mark(run: Run, failure: Failure, at: float) -> Mark:
    what = CAUSE if failure.family in CAUSES else WAITED if failure.family == "peers" else TOLD
    event = failure.speaker
    since = at if failure.time_s is None or what != WAITED else min(at, failure.time_s)
    return Mark(
        what,
        said(event.kind),
        at,
        since,
        Place(run.sources[event.ref.source].path, event.ref.line, event.text),
    )


def _in_order(run: Run, failures: list[Failure]) -> list[tuple[int, Mark]]:
    """Without clocks the order of lines tells something within one file only: the one that speaks of most ranks."""
    by_file: dict[int, list[Failure]] = {}
    for failure in failures:
        by_file.setdefault(failure.place[1], []).append(failure)
    if not by_file:
        return []
    most = max(by_file.values(), key=lambda rows: len({failure.rank for failure in rows}))
    return [(f.rank or 0, _mark(run, f, float(number))) for number, f in enumerate(most, start=1)]


def _open_collectives(run: Run) -> Iterable[tuple[int, Mark]]:
    """Of each rank that wrote a flight recorder the first collective that it issued and did not finish."""
    table = run.collectives_trace
    waits = table.mask("state", "scheduled", "started")
    created = table["created_ns"]
    for dump in run.flight:
        if dump.rank is None:
            continue
        path = run.sources[dump.source].path
        rows = np.flatnonzero(waits & (table["rank"] == dump.rank) & (created > 0))
        if rows.size:
            row = int(rows[np.argmin(created[rows])])
            last = float(created[rows].max()) / 1e9
            name = f"{table.text('op', row)} {table.integer('seq', row)} of {table.text('pg_desc', row) or table.text('pg', row)}"
            yield (
                dump.rank,
                Mark(
                    WAITED, f"issued and never finished: {name}", last, float(created[row]) / 1e9, Place(path)
                ),
            )


def _last_words(run: Run) -> list[tuple[int, Mark]]:
    """When each rank with a log of its own wrote last, also those that report nothing."""
    ranks = ranks_of(source.path for source in run.sources)
    last: dict[int, Mark] = {}
    for end in run.log_ends:
        path, at = run.sources[end.source].path, end.last_time_s
        rank = ranks.get(path)
        if rank is not None and at is not None and (rank not in last or last[rank].at < at):
            last[rank] = Mark(LAST, "the last line of its log", at, at, Place(path, end.line, end.text))
    return list(last.items())
