"""What the ranks were doing when they began to wait: saving, evaluating, preparing data, starting, or stepping."""

from __future__ import annotations

import time

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.lazy_regex import LazyRegex
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Event

# glog prints no year: "[E1003 18:37:01.832146912 ProcessGroupNCCL.cpp:607]"; October has four digits, June three.
_GLOG = LazyRegex(r"\[[EWIF](?P<month>1?\d)(?P<day>\d\d) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)\.")

_STACKS = {
    "preprocessing": "preprocessing",
    "saving": "saving",
    "evaluation": "evaluation",
    "evaluation_gather": "evaluation",
}

TOLERANCE_S = 60.0
"""A watchdog looks every few seconds and the phase's own line may come a little early or late."""


def phase_before(view: RunView, out: FactWriter, *, waited: bool) -> None:
    """Facts ``during_phase``, ``gap_s`` and ``gap_equals_timeout``."""
    bars = view.events("dataset_work_at_timeout")
    if bars:
        out.put("during_phase", "preprocessing", [bars[0].ref])
        return
    started = _open_phase(view)
    if started is not None:
        out.put("during_phase", str(started.fields["phase"]), [started.ref])
        _gap(view, started, out)
        return
    if not waited:
        return
    for event in view.events("python_traceback", "traceback_cut", "hang_stack_dump"):
        phase = _STACKS.get(str(event.fields.get("phase", "")))
        if phase is not None:
            out.put("during_phase", phase, [event.ref])
            return
    table = view.run.metrics
    if len(table):
        out.put("during_phase", "steps", [SourceRef(int(table.source[-1]), int(table.line[-1]))])
    else:
        out.put("during_phase", "startup")


def _open_phase(view: RunView) -> Event | None:
    """The last phase that began and after which its own file logs no metric and no end of it."""
    table = view.run.metrics
    ends = [event for event in view.events("checkpoint_saved") if "uccessfully saved" in event.text]
    last: dict[int, Event] = {}
    for event in view.events("phase_started"):
        if event.fields.get("phase") is not None and (event.ref.line or 0) > 0:
            last[event.ref.source] = event
    first_timeout = {event.ref.source: event.ref.line or 0 for event in reversed(view.events("nccl_timeout"))}
    for source, event in sorted(last.items()):
        line = event.ref.line or 0
        if line > first_timeout.get(source, line):
            continue
        rows = table.line[table.source == source]
        over = any(end.ref.source == source and (end.ref.line or 0) > line for end in ends)
        if not over and not bool((rows > line).any()):
            return event
    return None


def _gap(view: RunView, started: Event, out: FactWriter) -> None:
    """How long after the start of the phase the first watchdog spoke."""
    if started.time_s is None:
        return
    stamps = [
        stamp for event in view.events("nccl_timeout") if (stamp := _stamp(event, started.time_s)) is not None
    ]
    if not stamps:
        return
    gap_s = min(stamps) - started.time_s
    if gap_s < 0:  # clocks of different zones
        return
    out.put("gap_s", gap_s, [started.ref])
    timeouts = {event.fields.get("timeout_ms") for event in view.events("nccl_timeout")}
    known = [float(value) / 1000 for value in timeouts if isinstance(value, int)]
    if known:
        timeout_s = float(median_of(known))
        out.put(
            "gap_equals_timeout", abs(gap_s - timeout_s) <= max(TOLERANCE_S, 0.1 * timeout_s), [started.ref]
        )


def _stamp(event: Event, near_s: float) -> float | None:
    """Time of a watchdog line; the year of a glog stamp is that of a known moment of the run."""
    if event.time_s is not None:
        return event.time_s
    match = _GLOG.search(event.text[:200])
    if match is None:
        return None
    part = {name: int(value) for name, value in match.groupdict().items()}
    if not (1 <= part["month"] <= 12 and 1 <= part["day"] <= 31):
        return None
    year = time.gmtime(near_s).tm_year
    date = np.datetime64(f"{year}-{part['month']:02d}-01") + np.timedelta64(part["day"] - 1, "D")
    return (
        float(date.astype("datetime64[s]").astype(np.int64))
        + part["hour"] * 3600
        + part["minute"] * 60
        + part["second"]
    )
