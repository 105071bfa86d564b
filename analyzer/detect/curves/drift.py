"""Where a run began to leave its course, often long before anything became NaN, and the last checkpoint before.

Looked at are the loss, the gradient norm, the size of the updates and the loss scale. Going back from the
breakdown, the drift of a metric begins at the last point that still lay at its former level.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from analyzer.detect.base import FactWriter, RunView
from analyzer.detect.curve import has_steps, take
from analyzer.detect.curves.loss import diverges, gives_back
from analyzer.detect.curves.numerics.bad_points import grad_points, loss_points
from analyzer.detect.curves.numerics.nonfinite import earliest_step
from analyzer.detect.curves.numerics.onset import find_onset
from analyzer.detect.robust import noise
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of, row_medians
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series
from analyzer.record import NamedTuple

MIN_POINTS = 8
"""Fewer points before a breakdown show no course to leave."""

SMOOTH = 5
"""Points of the running median: two odd ones cannot move it."""

MAX_BINS = 2000
"""A longer curve is read in block medians; the start is then known to a two-thousandth of the run."""

RISE = {"loss": 1.3, "grad_norm": 3.0, "update_norm": 2.0, "loss_scale": 8.0}
"""Factor by which a metric must leave its level: batch noise of a norm reaches two, three halvings of a scale are
calibration, and a loss that rises by a third has lost more than any batch explains."""

_FOLDER = LazyRegex(r"(?:^|/)(?:checkpoint|global_?step|iter|step)[-_]?(\d{1,12})/")
"""Folders of checkpoints as trainers name them: ``checkpoint-500/``, ``global_step500/``, ``iter_0000500/``."""


class Drift(NamedTuple):
    """The first step at which a metric had left its level for good, and where it shows."""

    step: int
    metric: str
    ref: SourceRef


_NAMES = {
    "loss": "the loss",
    "grad_norm": "the gradient norm",
    "update_norm": "the update norm",
    "loss_scale": "the loss scale",
}


def breakdown_step(view: RunView) -> int | None:
    """First step of a lasting breakdown; the last step of a loss that diverges at finite values."""
    onset = view.once(find_onset)
    if onset is not None:
        if not onset.lasting or onset.step is None:
            return None
        loss = view.once(loss_points)
        earliest = None if loss is None else earliest_step(view, loss)
        return onset.step if earliest is None else min(onset.step, earliest)
    loss = view.once(loss_points)
    if loss is None or view.span is None:
        return None
    values = loss.curve().value
    return view.span[1] + 1 if diverges(values) or gives_back(values) else None


def find_drift(view: RunView) -> Drift | None:
    """The earliest drift that leads into the breakdown."""
    end = breakdown_step(view)
    if end is None:
        return None
    found: list[Drift] = []
    for metric in RISE:
        series = _finite(view, metric, end)
        row = None if series is None else _start(series, metric)
        if series is not None and row is not None:
            found.append(Drift(int(series.step[row]), _NAMES[metric], series.ref(row)))
    return min(found, key=lambda drift: drift.step) if found else None


def _finite(view: RunView, metric: str, end: int) -> Series | None:
    """Positive finite points of a metric before the breakdown."""
    chosen = {"loss": loss_points, "grad_norm": grad_points}.get(metric)
    if chosen is not None:
        points = view.once(chosen)
        series = None if points is None else points.good()
    else:
        series = view.curve(metric)
    if series is None or not has_steps(series):
        return None
    series = take(series, np.isfinite(series.value) & (series.value > 0) & (series.step < end))
    return series if len(series) >= MIN_POINTS else None


def _start(series: Series, metric: str) -> int | None:
    """Index of the first point of the final rise; None if there is no such rise.

    Going back from the end, the lowest level so far is followed until a point lies clearly above it: that is an
    earlier hill, or the descent at the start. The rise begins after the last point that is still at the lowest level.
    """
    cuts = np.linspace(0, len(series), min(len(series), MAX_BINS) + 1).astype(int)
    sign = -1.0 if metric == "loss_scale" else 1.0
    values = sign * np.log([float(median_of(series.value[a:b])) for a, b in pairwise(cuts)])
    width = 1 if metric == "loss_scale" or values.size < 3 * SMOOTH else SMOOTH
    smooth = row_medians(np.lib.stride_tricks.sliding_window_view(values, width))
    end = float(median_of(values[-3:])) if metric != "loss_scale" else float(values[-1])
    margin = 0.0 if metric == "loss_scale" else 3.0 * noise(values) / np.sqrt(width)
    limit = float(np.log(RISE[metric]))
    lowest = _lowest_of_final_rise(smooth, margin, limit)
    if end - lowest < max(limit, 2.0 * margin):
        return None
    low = np.flatnonzero(smooth <= lowest + margin)
    # A smoothed point stands for the window that begins at its index; its last member is the last sound point.
    row = min(int(cuts[min(int(low[-1]) + width, values.size - 1)]), len(series) - 1)
    return row if row > 0 else None


def _lowest_of_final_rise(smooth: Values, margin: float, limit: float) -> float:
    """Lowest level between the end and the last earlier place that lay clearly above that level."""
    running = np.minimum.accumulate(smooth[::-1])
    hill = np.flatnonzero(smooth[::-1] > running + max(margin, limit))
    return float(running[int(hill[0])] if hill.size else running[-1])


def checkpoints(view: RunView) -> list[tuple[int, str, SourceRef]]:
    """Step, name and place of every checkpoint that the run is known to have saved, in order of steps."""
    found: dict[int, tuple[int, str, SourceRef]] = {}
    for source in view.run.sources:
        match = _FOLDER.search(source.path)
        if match is not None:
            step = int(match[1])
            found[step] = (step, source.path[: match.end() - 1], SourceRef(source.index))
    for event in view.events("checkpoint_saved"):
        saved = event.fields.get("step") if event.step is None else event.step
        if isinstance(saved, int) and not isinstance(saved, bool):
            found[saved] = (
                saved,
                str(event.fields.get("path", f"the checkpoint of step {saved}")),
                event.ref,
            )
    return [found[step] for step in sorted(found)]


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.drift.*``: only for a run that broke down or whose loss ended far above its best."""
    end = breakdown_step(view)
    if end is None:
        return
    drift = view.once(find_drift)
    onset = view.once(find_onset)
    shown = [drift.ref] if drift is not None else [] if onset is None else [onset.ref]
    out.put("seen", drift is not None, shown)
    limit = end
    if drift is not None:
        out.put("start_step", drift.step, [drift.ref])
        out.put("metric", drift.metric, [drift.ref])
        out.put("lead_steps", max(end - drift.step, 0), [drift.ref])
        limit = drift.step
    sound = [saved for saved in checkpoints(view) if saved[0] < limit]
    if sound:
        step, name, ref = sound[-1]
        out.put("last_good_checkpoint_step", step, [ref])
        out.put("last_good_checkpoint", name, [ref])
