"""How much work was lost when a run failed: what lies between its last checkpoint and its last step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.detect.curves.drift import checkpoints
from analyzer.detect.failures.first_failure import order_of
from analyzer.model.ranked import median_of
from analyzer.model.tables import NULL_INT

FEWEST_TIMES = 5
"""Points with a time of day before a step time can be told."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.saved_work.*``: only for a run that failed and is known to have saved something."""
    saved = checkpoints(view)
    if not saved or view.span is None or order_of(view).first is None:
        return
    end = view.span[1]
    before = [entry for entry in saved if entry[0] <= end]
    if not before:
        return
    last, _, ref = before[-1]
    out.put("last_step", last, [ref])
    out.put("lost_steps", end - last, [ref])
    gaps = [second[0] - first[0] for first, second in pairwise(before)]
    if gaps:
        out.put("interval_steps", int(median_of(gaps)), [ref])
    seconds = _seconds_per_step(view)
    if seconds is not None:
        out.put("lost_hours", (end - last) * seconds / 3600, [ref])


def _seconds_per_step(view: RunView) -> float | None:
    """Median time of a step, from the times at which losses were logged or from the logged step time."""
    curve = view.curve("step_time_s")
    if curve is not None and len(curve) >= FEWEST_TIMES:
        return float(np.nanmedian(curve.value))
    curve = view.curve("loss")
    if curve is None:
        return None
    known = np.isfinite(curve.time_s) & (curve.step != NULL_INT)
    steps, times = curve.step[known], curve.time_s[known]
    if steps.size < FEWEST_TIMES:
        return None
    moved = np.diff(steps) > 0
    if not moved.any():
        return None
    pace = float(median_of(np.diff(times)[moved] / np.diff(steps)[moved]))
    return pace if pace > 0 else None
