"""Whether the trouble of one launch comes back at the same step in the next: data and order, not chance."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.detect.curve import has_steps, launch_of, spacing, spans, take
from analyzer.detect.curves.spikes import walk
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series

MIN_POINTS = 3
"""Points that a launch must have logged to have had a chance to meet the trouble."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.repeat.*``: only for a run of several launches of which one had trouble."""
    found = view.all_series("loss")
    if not found or not has_steps(found[0]):
        return
    series = found[0]
    parts = [take(series, part) for part in spans(launch_of(series))]
    if len(parts) < 2:
        return
    troubles = [(part, _trouble(part)) for part in parts if len(part) >= MIN_POINTS]
    if not any(trouble is not None for _, trouble in troubles):
        return
    room = spacing(series) or 1
    steps = [(int(part.step[row]), part.ref(row)) for part, row in troubles if row is not None]
    first, ref = steps[0]
    again = [(step, place) for step, place in steps[1:] if abs(step - first) <= room]
    passed = [part for part, row in troubles[1:] if _passes(part, row, first, room)]
    refs: list[SourceRef] = [ref, *(place for _, place in again)]
    out.put("launches", len(troubles), refs)
    out.put("step", first, refs)
    if again or passed:
        out.put("same_step", bool(again) and not passed, refs)
    out.put("passed", bool(passed), [part.ref(len(part) - 1) for part in passed])


def _trouble(part: Series) -> int | None:
    """Index of the first loss that is not finite, else of the highest spike that did not come back.

    A spike at a step that the launch has passed already lies in another pass or job: its counter began again.
    """
    bad = np.flatnonzero(~np.isfinite(part.value))
    if bad.size:
        return int(bad[0])
    furthest = np.maximum.accumulate(part.step)
    spikes = [s for s in walk(part.value) if s.back is None and part.step[s.row] == furthest[s.row]]
    return spikes[0].row if spikes else None


def _passes(part: Series, row: int | None, step: int, room: int) -> bool:
    """Whether a launch began before the step and was sound beyond it."""
    begins, ends = int(part.step[0]), int(part.step[-1])
    sound_until = ends if row is None else int(part.step[row]) - room
    return begins <= step and sound_until > step + room
