"""The curves that a report shows: which, on which axis, thinned without losing an extreme or a non-finite point."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from analyzer.detect.base import RunView
from analyzer.detect.curve import has_steps
from analyzer.detect.curves.players.adversaries import losses_of_players, plays
from analyzer.ingest.names import METRICS
from analyzer.model.arrays import Rows, Values
from analyzer.model.diagnosis import Finding
from analyzer.model.run import Run
from analyzer.model.tables import NULL_INT, Series
from analyzer.model.wording import format_scalar
from analyzer.record import NamedTuple


class Line(NamedTuple):
    """One series of a panel."""

    label: str  # name in the legend
    logged_as: str  # name that the run gave it
    x: Values  # steps, or positions from 1 on where the run logged no steps
    y: Values  # values; NaN and infinities are kept
    paths: tuple[str, ...]  # file of each point
    lines: Rows  # line or record of each point in its file, 0 if unknown
    attempt: Rows  # restart attempt of each point


class Panel(NamedTuple):
    """One chart."""

    # what it shows: loss, grad_norm, loss_scale, learning_rate, throughput, memory or the name of a metric
    key: str
    title: str  # its heading
    unit: str  # unit of its values, empty if none
    log: bool  # whether its axis is logarithmic: positive values over more than a decade
    by_step: bool  # whether x is the step; else the position in the log
    lines: tuple[Line, ...]  # its series, the most important first
    axis: str = "point"  # what x counts where it is no step: points, or seconds

    @property
    def word(self) -> str:
        """What x counts."""
        return "step" if self.by_step else self.axis


_PANELS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("loss", "Loss", (("loss", "training"), ("eval_loss", "validation"))),
    ("grad_norm", "Gradient norm", (("grad_norm", "gradient norm"),)),
    ("loss_scale", "Loss scale", (("loss_scale", "loss scale"),)),
    ("learning_rate", "Learning rate", (("learning_rate", "learning rate"),)),
    ("accuracy", "Accuracy", (("accuracy", "training"), ("eval_accuracy", "validation"))),
    ("reward", "Reward", (("reward_mean", "reward"),)),
    ("kl", "KL divergence", (("kl", "KL"),)),
    ("entropy", "Entropy of the policy", (("entropy", "entropy"), ("entropy_loss", "entropy loss, its negative"))),
)  # fmt: skip
_THROUGHPUTS = (
    "tokens_per_second",
    "samples_per_second",
    "steps_per_second",
    "step_time_s",
    "tflops_per_gpu",
    "mfu",
)
"""The first that was logged stands for the speed of the run."""

_MEMORY = ("gpu_memory_allocated_gib", "gpu_memory_reserved_gib", "gpu_memory_peak_gib")
WIDE = 20.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic: below, the lower end is still told apart."""

FEW = 2
"""Points below which a curve tells nothing."""


def panels_of(run: Run) -> tuple[Panel, ...]:
    """Every panel for which the run logged enough, in the order in which they are looked at."""
    view = RunView(run)
    wanted = [
        *_PANELS,
        *(
            ("throughput", "Throughput", ((name, METRICS[name].meaning),))
            for name in _first(view, _THROUGHPUTS)
        ),
        *(("memory", "GPU memory", ((name, METRICS[name].meaning),)) for name in _first(view, _MEMORY)),
    ]
    found = [_panel(view, key, title, metrics) for key, title, metrics in wanted]
    if plays(view):
        both = zip(("discriminator", "generator"), losses_of_players(view), strict=True)
        drawn = [(label, series) for label, series in both if series is not None]
        found.insert(1, _drawn(view, "players", "Losses of the players", "", drawn))
    return tuple(panel for panel in found if panel is not None)


def curve_of(run: Run, metric: str) -> Line | None:
    """One metric by its canonical name, along the lineage of the last attempt; None if it was not logged."""
    series = RunView(run).curve(metric)
    return None if series is None else _line(run, metric, series)


def _first(view: RunView, names: Iterable[str]) -> list[str]:
    return next(([name] for name in names if view.curve(name) is not None), [])


def _panel(view: RunView, key: str, title: str, metrics: tuple[tuple[str, str], ...]) -> Panel | None:
    found = [
        (label, series)
        for name, label in metrics
        if (series := view.curve(name)) is not None and len(series) >= FEW
    ]
    unit = METRICS[metrics[0][0]].unit if metrics[0][0] in METRICS else ""
    return _drawn(view, key, title, unit, found)


def _drawn(
    view: RunView, key: str, title: str, unit: str, found: Sequence[tuple[str, Series]]
) -> Panel | None:
    if not found:
        return None
    by_step = any(has_steps(series) for _, series in found)
    lines = tuple(
        _line(view.run, label, series) for label, series in found if has_steps(series) or not by_step
    )
    return Panel(key, title, unit, _is_wide(lines), by_step, lines)


def _line(run: Run, label: str, series: Series) -> Line:
    by_step = has_steps(series)
    position = np.arange(1, len(series) + 1, dtype=np.float64)
    x = np.where(series.step == NULL_INT, np.nan, series.step.astype(np.float64)) if by_step else position
    return line_of(run, label, series, x, np.flatnonzero(np.isfinite(x)))


def line_of(run: Run, label: str, series: Series, x: Values, rows: Rows) -> Line:
    """Some points of a series at given places."""
    paths = tuple(run.sources[int(source)].path for source in series.source[rows])
    return Line(
        label, series.logged_as, x[rows], series.value[rows], paths, series.line[rows], series.attempt[rows]
    )


def _is_wide(lines: tuple[Line, ...]) -> bool:
    finite = np.concatenate([line.y[np.isfinite(line.y)] for line in lines])
    return bool(finite.size and finite.min() > 0 and finite.max() / finite.min() > WIDE)


def thinned(line: Line, buckets: int) -> Rows:
    """Which points to draw, in their order, so that no extreme and no kind of non-finite value is lost.

    The axis is cut into buckets. Of each bucket the first, last, smallest and largest finite point are kept, of its
    non-finite points the first, the last and the first of each kind (NaN, +inf, -inf): at most nine points a bucket.
    """
    count = line.y.size
    if count <= 4 * buckets:
        return np.arange(count, dtype=np.int64)
    low, high = float(line.x.min()), float(line.x.max())
    place = np.minimum((line.x - low) / ((high - low) or 1.0) * buckets, buckets - 1).astype(np.int64)
    kept: set[int] = set()
    order = np.argsort(place, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(place[order])) + 1):
        kept.update(_telling_points(line.y, rows))
    return np.array(sorted(kept), dtype=np.int64)


def value_in_words(value: float) -> str:
    """A value as a person writes it; NaN, +inf and -inf by their names."""
    if math.isnan(value):
        return "NaN"
    return format_scalar(value) if math.isfinite(value) else f"{value:+}"


def part(line: Line, rows: Rows) -> Line:
    """Some points of a series."""
    paths = tuple(line.paths[int(row)] for row in rows)
    return line._replace(
        x=line.x[rows], y=line.y[rows], paths=paths, lines=line.lines[rows], attempt=line.attempt[rows]
    )


def _telling_points(y: Values, rows: Rows) -> set[int]:
    values = y[rows]
    finite = rows[np.isfinite(values)]
    kept: set[int] = set()
    if finite.size:
        kept |= {
            int(finite[0]),
            int(finite[-1]),
            int(finite[np.argmin(y[finite])]),
            int(finite[np.argmax(y[finite])]),
        }
    bad = rows[~np.isfinite(values)]
    if bad.size:
        kept |= {int(bad[0]), int(bad[-1])}
        kinds = (np.isnan(y[bad]), np.isposinf(y[bad]), np.isneginf(y[bad]))
        kept |= {int(bad[kind][0]) for kind in kinds if kind.any()}
    return kept


_FAMILIES = {
    "loss_scale": "loss_scale", "skipped_steps": "loss_scale", "nonfinite_grad": "grad_norm", "grad_norm": "grad_norm",
    "learning_rate": "learning_rate", "schedule": "learning_rate", "step_time": "throughput", "throughput": "throughput",
    "gpu_memory": "memory", "reward": "reward", "accuracy": "accuracy", "entropy": "entropy", "gan": "players",
}  # fmt: skip
"""Family of facts -> panel that shows them; every other family of ``signal.`` is seen in the loss."""

_SEEN_IN_CURVES = frozenset(
    {"numerical_breakdown", "divergence", "plateau", "bad_restart", "eval_gap", "slow"}
)


def deciding(panels: tuple[Panel, ...], finding: Finding) -> Panel | None:
    """The panel that shows what most of a finding's evidence rests on; None where no curve decides."""
    keys = {panel.key: panel for panel in panels}
    votes: dict[str, float] = {}
    for line in finding.evidence:
        if line.counted and line.verdict is not None:
            for key in {panel_key(name) for name in line.values if name.startswith("signal.")} & set(keys):
                votes[key] = votes.get(key, 0.0) + abs(line.bits)
    if votes and finding.symptom_kind in _SEEN_IN_CURVES:
        return keys[max(votes, key=lambda key: (votes[key], key == "loss"))]
    # what is slow by its settings alone shows in no curve
    return keys.get("loss") if finding.symptom_kind in _SEEN_IN_CURVES - {"slow"} else None


def panel_key(name: str) -> str:
    """The panel in which a fact about curves is seen."""
    family = name.removeprefix("signal.").partition(".")[0]
    within = next((word for word in ("reward", "entropy") if word in name), family)
    return _FAMILIES.get(within, "loss")


def cited(line: Line, places: Collection[tuple[str, int]]) -> Rows:
    """Points of a series that stand at cited lines."""
    rows = [i for i, at in enumerate(zip(line.paths, line.lines.tolist(), strict=True)) if at in places]
    return np.array(rows, dtype=np.int64)
