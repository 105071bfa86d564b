"""Collect the points of a structured log column by column, and what its rows say about step and time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.names import canonical_metric
from analyzer.ingest.points import MAX_POINTS_OF_FILE, Points, told_of_dropped
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_name, words_of
from analyzer.model.score_words import read_score
from analyzer.model.tables import NULL_INT

MAX_METRICS = 5_000
"""Distinct names kept of one file. The largest real log of the survey (per-layer norms) has under 2,000."""

STEP_NAMES = (
    "train/global_step", "trainer/global_step", "global_step", "step", "iteration", "iter", "num_updates",
    "current_steps", "train_step", "train/step", "iter_num", "global step", "steps", "training_iteration",
    "itr", "timestep", "timesteps", "time/total_timesteps", "misc/total_timesteps", "total_timesteps", "timesteps_total", "totalenvinteracts", "_step", "progress/tick",
)  # fmt: skip
"""Columns that count optimizer steps, best first; loops of reinforcement learning count iterations or steps of the
environment, and W&B's ``_step`` counts calls of its log function."""

TAGS = ("tag", "metric", "name", "key", "variable")
"""What names the number called ``value`` beside it: ``tag,step,value``."""

EPISODES = frozenset({"episode", "episodes", "ep", "game", "games", "trial"})
"""Counters of episodes: beside one a number of steps tells how long each was."""

METRIC_FILE = LazyRegex(
    r"(?i)(?:^|[/_.-])(?:metrics?|history|progress|rewards?|returns?|training|scalars?|loss(?:es)?|curves?|train[_-]?log|log)[^/]{0,40}$"
)
"""Names of files that hold the course of a run even if no column of theirs is known."""

PHASE_NAMES = frozenset(
    {"split", "phase", "mode", "stage", "subset", "partition", "dataset", "set", "type", "event", "kind"}
)
"""Columns whose text may say whether a row is of training or of held-out data."""

_PHASE_WORDS = 2
"""``val``, ``val epoch``: a longer text tells of something else."""

TIME_NAMES = ("_timestamp", "timestamp", "wall time", "wall_time", "ts", "time")
"""Columns that may hold unix seconds; some trainers call the duration of a step ``time``, hence the range."""

_KNOWN = frozenset(
    {
        "loss",
        "eval_loss",
        "grad_norm",
        "learning_rate",
        "loss_scale",
        "accuracy",
        "eval_accuracy",
        "perplexity",
        "eval_perplexity",
        "reward_mean",
        "kl",
        "approx_kl",
        "policy_loss",
        "value_loss",
        "episode_length_mean",
    }
)
_TELLING = frozenset(
    {"loss", "grad_norm", "accuracy", "perplexity", "reward_mean", "policy_loss", "value_loss"}
)
"""Quantities of which also a part shows that a file holds the course of a run."""


class MetricColumns:
    """Points by name, in row order and bounded memory; ``flush`` hands them over."""

    def __init__(self, out: SourceWriter) -> None:
        self._out = out
        self._columns: dict[str, Points] = {}
        self._refused = self._added = 0

    def add(self, name: str, value: float, *, step: int | None, line: int, time_s: float = math.nan) -> None:
        """Append one point."""
        column = self._columns.get(name)
        if column is None:
            if len(self._columns) >= MAX_METRICS:
                self._refused += 1
                return
            column = self._columns[name] = Points()
        column.add(NULL_INT if step is None else step, value, line, time_s)
        self._added += 1
        if self._added > MAX_POINTS_OF_FILE:
            self._keep_within_bound()

    def _keep_within_bound(self) -> None:
        """Halve all columns if there are so many that together they are too long."""
        if self._count() > MAX_POINTS_OF_FILE:
            for column in self._columns.values():
                column.thin()
        self._added = self._count()

    def _count(self) -> int:
        return sum(len(column.values) for column in self._columns.values())

    def steps_of(self, name: str) -> Collection[int]:
        """Steps of one metric as added; empty if there is none, or if some were left out."""
        column = self._columns.get(name)
        return column.steps if column and not column.dropped else ()

    def __bool__(self) -> bool:
        return bool(self._columns)

    def flush(self, *, step_unit: str = "step", with_steps: bool = True) -> None:
        """Hand all points over; ``with_steps`` False says that the rows' counters turned out not to be steps."""
        dropped = [column.dropped for column in self._columns.values() if column.dropped]
        if dropped:
            self._out.gap(told_of_dropped(dropped), rows_lost=sum(dropped))
        for name in list(self._columns):
            # the arrays keep the columns alive; nobody writes to them any more
            steps, values, lines, times = self._columns.pop(name).arrays()
            self._out.metrics(
                name,
                steps=steps if with_steps else None,
                values=values,
                lines=lines,
                times_s=times,
                step_unit=step_unit,
            )
        if self._refused:
            self._out.gap(f"only the first {MAX_METRICS} metric names are kept", rows_lost=self._refused)
        self._columns.clear()


def common_spacing(steps: Iterable[int]) -> int | None:
    """Steps from one row to the next, as most rows have it; None for fewer than two rows.

    A printed loss is a mean over that many steps. ``logging_steps`` says the same only if logging goes by
    steps; the rows say it always.
    """
    known = np.fromiter((step for step in steps if step != NULL_INT), np.int64)
    gaps = np.diff(known)
    gaps = gaps[gaps > 0]
    if not gaps.size:
        return None
    values, counts = np.unique(gaps, return_counts=True)
    return int(values[int(np.argmax(counts))])


def counter_column(names: Sequence[str], rows: Iterable[Sequence[float | None]]) -> str | None:
    """The leftmost column that counts: whole numbers from 0, each larger than the one before; None for fewer than two rows.

    >>> counter_column(["objective", "tick"], [[3.5, 1.0], [3.5, 2.0]])
    'tick'
    """
    columns = list(zip(*rows, strict=False))
    for name, values in zip(names, columns, strict=False):
        known = [value for value in values if value is not None]
        if len(known) < 2 or len(known) < len(values) or known[0] < 0:
            continue
        pairs = pairwise(known)
        if all(value.is_integer() for value in known) and all(first < second for first, second in pairs):
            return name
    return None


def first_named(names: Collection[str], wanted: Collection[str]) -> str | None:
    """The first of ``wanted`` among the names, whatever their case; as the file spells it."""
    lowered = {name.lower(): name for name in names}
    return next((lowered[word] for word in wanted if word in lowered), None)


def is_known_metric(name: str) -> bool:
    """Whether a column is one of the curves of training, by any of its spellings or by its words."""
    canonical = canonical_metric(name)
    if canonical in _KNOWN:
        return True
    reading = read_name(name)
    return not reading.setting and (
        reading.quantity in _TELLING
        or (reading.quantity == "loss_like" and reading.phase in {"train", "eval"})
    )


def is_known_score(name: str) -> bool:
    """Whether a column is a score by its words; beside a counter of steps it is the course of a run, else a result."""
    return read_score(name).better != 0


def says_held_out(row: Mapping[str, object]) -> bool:
    """Whether a row says by one of its values, not by its names, that it tells of held-out data.

    >>> says_held_out({"split": "val", "loss": 0.5}), says_held_out({"mode": "train"}), says_held_out({"mode": 2})
    (True, False, False)
    """
    said = [value for name, value in row.items() if isinstance(value, str) and name.lower() in PHASE_NAMES]
    return any(len(words_of(value)) <= _PHASE_WORDS and read_name(value).phase == "eval" for value in said)


def of_held_out(name: str) -> str:
    """The name of a column in a row of held-out data, below ``val/`` if it measures and tells no phase itself.

    >>> of_held_out("loss"), of_held_out("mAP"), of_held_out("eval_loss"), of_held_out("lr")
    ('val/loss', 'val/mAP', 'eval_loss', 'lr')
    """
    reading = read_name(name)
    measures = reading.quantity in {"loss", "accuracy", "perplexity", "loss_like"} or is_known_score(name)
    return f"val/{name}" if measures and not reading.phase else name


def unix_seconds(value: float | None) -> float:
    """A logged time as unix seconds, NaN if it cannot be one (2001 to 2100, or the same in milliseconds)."""
    if value is not None and 1e12 <= value < 4.1e12:
        value /= 1000
    return value if value is not None and 1e9 <= value < 4.1e9 else math.nan
