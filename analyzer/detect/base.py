"""What a detector is, what it sees of a run, and how it writes facts.

A detector is pure: it takes a ``RunView`` and writes facts. It emits only names that it declares, a fact
that cannot be known is left out (never written as False), and no fact is NaN or infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from os.path import commonprefix
from typing import Any, TypeVar

import numpy as np

from analyzer.detect.curve import (
    all_series,
    each_evaluation,
    finite_points,
    has_steps,
    lineage,
    logged_once,
    take,
)
from analyzer.detect.stand_in import same_rows, stand_in
from analyzer.detect.trainings import trainings_of
from analyzer.model.config import ConfigScalar, ConfigValue
from analyzer.model.name_words import read_name
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.run import Run
from analyzer.model.signal import FactValue, Signal
from analyzer.model.tables import NULL_INT, Event, Scalar, Series
from analyzer.record import NamedTuple, replace
from analyzer.vocabulary.frameworks import number_of, with_habit, word_of

MAX_REFS = 5
"""Places kept per fact; a reader looks at the first one or two."""

T = TypeVar("T")

TRAINING_METRICS = (
    "loss", "grad_norm", "learning_rate", "loss_scale", "skipped_steps", "step_time_s", "step_time_ms",
)  # fmt: skip
"""Metrics whose step is the optimizer step; other columns may count tokens, samples or evaluations."""


_EXPONENTIAL = {"loss": "perplexity", "eval_loss": "eval_perplexity"}


_PARTS = ("box_loss", "obj_loss", "kobj_loss", "cls_loss", "dfl_loss", "seg_loss", "pose_loss", "giou_loss")
"""What a detector's loss consists of, each already multiplied by its weight, so that their sum is what is minimised."""

_PART_PREFIXES = {"loss": ("train/", ""), "eval_loss": ("val/",)}


def _summed(run: Run, metric: str) -> tuple[Series, ...]:
    """The loss of a program that logs nothing but its parts (YOLO), if every row holds all of them."""
    for prefix in _PART_PREFIXES.get(metric, ()):
        found = [all_series(run, prefix + part) for part in _PARTS if prefix + part in run.metrics.names]
        parts = [series[0] for series in found if series]
        if len(parts) < 2 or any(not _same_rows(parts[0], part) for part in parts[1:]):
            continue
        names = " + ".join(part.logged_as for part in parts)
        return (replace(parts[0], value=np.sum([part.value for part in parts], axis=0), logged_as=names),)
    return ()


def _same_rows(first: Series, second: Series) -> bool:
    same = np.array_equal(first.step, second.step) and np.array_equal(first.source, second.source)
    return len(first) == len(second) and same


def _is_a_factor(series: Series) -> bool:
    """Whether what is only called ``scale`` never is 2 or more: the factor of a schedule, not that of a loss in fp16."""
    return series.logged_as.lower() == "scale" and not float(series.value.max()) >= 2.0


SUM_OVER_MEAN = 20.0
"""A loss twenty times the logarithm of the perplexity of its own row is a sum, not to be set beside means."""


def _mean_of_sum(run: Run, metric: str, found: tuple[Series, ...]) -> tuple[Series, ...]:
    """The logarithms of the perplexities beside a loss, if they say that it is a sum over samples or tokens; else the loss."""
    beside = all_series(run, _EXPONENTIAL[metric])
    if not beside or not same_rows(found[0], beside[0]):
        return found
    means = tuple(_logarithm(series) for series in beside)
    if not means[0].value.any():
        return found  # a perplexity of exactly 1 in every row was not computed
    level = float(median_of(found[0].value))  # NaN where the loss broke, which no perplexity replaces
    return means if level >= SUM_OVER_MEAN * max(float(median_of(means[0].value)), 1e-3) else found


def _logarithm(series: Series) -> Series:
    with np.errstate(divide="ignore", invalid="ignore"):  # of 0 or less it is not finite, which is the truth
        return replace(series, value=np.log(series.value))


class RunView:
    """A run with the derived views that several detectors share, each computed once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._series: dict[str, tuple[Series, ...]] = {}
        self._curves: dict[str, Series | None] = {}
        self._computed: dict[Callable[[RunView], Any], Any] = {}
        self.trainings = trainings_of(run)

    def once(self, compute: Callable[[RunView], T]) -> T:
        """The value of a pure function of this view, computed at its first use."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        value: T = self._computed[compute]
        return value

    def all_series(self, metric: str) -> tuple[Series, ...]:
        """Every separate series of a metric, the primary one first; see ``curve.all_series``.

        A loss that was logged as perplexities only is their logarithm: a perplexity is exp of the mean loss. So is one
        that is a sum over samples or tokens, by the perplexity of its own row. One of
        which only the parts were logged is their sum. Where nothing is called a loss, what is minimised by its name
        stands for it (``stand_in``).
        """
        if metric not in self._series:
            found = all_series(self.run, metric)
            if not found and metric in _EXPONENTIAL:
                found = tuple(_logarithm(series) for series in all_series(self.run, _EXPONENTIAL[metric]))
                found = found or _summed(self.run, metric)
            elif metric in _EXPONENTIAL:
                found = _mean_of_sum(self.run, metric, found)
            if metric == "loss_scale":
                found = tuple(series for series in found if not _is_a_factor(series))
            found = found or stand_in(self.run, metric)
            found = tuple(self.trainings.judged_rows(series) for series in found)
            if metric == "loss" and (held_out := self.all_series("eval_loss")):
                found = tuple(logged_once(series, held_out[0]) for series in found)
            self._series[metric] = found
        return self._series[metric]

    def curve(self, metric: str) -> Series | None:
        """The primary series of a metric along the lineage of the last attempt; None if it was not logged."""
        if metric not in self._curves:
            found = self.all_series(metric)
            series = take(found[0], lineage(found[0])[0]) if found else None
            if series is not None and read_name(metric).phase == "eval":
                series = each_evaluation(series, losses="loss" in metric, trained=self.span)
            self._curves[metric] = series
        return self._curves[metric]

    def finite(self, metric: str, least: int = 1) -> Series | None:
        """The finite points of that curve; None where there are fewer than ``least``."""
        return finite_points(self.curve(metric), least)

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last optimizer step that any training metric reports, None if none has steps."""
        return self.once(_span)

    def config(self, key: str) -> ConfigValue | None:
        """The value of a canonical key, None if no file states it."""
        return self.run.config.get(key)

    def config_value(self, key: str) -> ConfigScalar:
        """The plain value of a canonical key, None if unknown or null."""
        return self.run.config.value(key)

    def setting(self, *words: str) -> ConfigValue | None:
        """The first setting that is called by one of some words, whatever it belongs to; None if there is none."""
        return next((entry for entry in self.run.config.entries if entry.word in words), None)

    def uses(self, *frameworks: str) -> bool:
        """Whether the run shows signs of one of the frameworks."""
        return not self.run.frameworks.isdisjoint(frameworks)

    def has_habit(self, name: str) -> bool:
        """Whether one of the frameworks has a habit, see ``frameworks.yaml``."""
        return self.uses(*with_habit(name))

    def framework_words(self, trait: str) -> set[str]:
        """What the frameworks state of themselves in words: ``library``, ``subject``."""
        stated = (word_of(framework, trait) for framework in self.run.frameworks)
        return {word for word in stated if word is not None}

    def framework_number(self, trait: str) -> float | None:
        """A default that one of the frameworks states; None if none does."""
        stated = (number_of(framework, trait) for framework in sorted(self.run.frameworks))
        return next((value for value in stated if value is not None), None)

    def events(self, *kinds: str) -> tuple[Event, ...]:
        """Events of the given kinds, in order of place and not of file order, so that file order never matters."""
        paths = [source.path for source in self.run.sources]
        found = [event for kind in kinds for event in self.run.events.of(kind)]
        return tuple(sorted(found, key=lambda e: (e.attempt, paths[e.ref.source], e.ref.line or 0, e.order)))


def _span(view: RunView) -> tuple[int, int] | None:
    known = [
        series.step[series.step != NULL_INT]
        for metric in TRAINING_METRICS
        if (series := view.curve(metric)) is not None and has_steps(series)
    ]
    if not known:
        return None
    return min(int(steps.min()) for steps in known), max(int(steps.max()) for steps in known)


class Detector(NamedTuple):
    """One family of measurements."""

    name: str  # kind of its signals
    emits: tuple[str, ...]  # names of facts, or prefixes that end with a dot
    module: str  # where it stands in this package
    detect: Callable[[RunView, FactWriter], None]  # writes the facts of a run
    policies: bool = True  # whether it judges policies too, whose losses follow the rewards

    def measure(self, view: RunView) -> Signal:
        """What it finds in a run; it writes below what all of its names begin with."""
        shared = commonprefix(self.emits)  # noqa: RUF071  (of names, not of paths)
        out = FactWriter(shared[: shared.rfind(".") + 1])
        self.detect(view, out)
        return Signal(self.name, out.facts)


class FactWriter:
    """Collects the facts of one signal: unknown values are dropped, NumPy scalars become plain ones."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self.facts: dict[str, FactValue] = {}

    def below(self, prefix: str) -> FactWriter:
        """A writer of facts of the same signal whose names go on with a further word."""
        further = FactWriter(self._prefix + prefix)
        further.facts = self.facts
        return further

    def put(
        self, name: str, value: Scalar | np.generic | None, refs: Iterable[SourceRef | None] = ()
    ) -> None:
        """Add one fact unless its value is unknown (None, NaN, infinite)."""
        plain = value.item() if isinstance(value, np.generic) else value
        if plain is None or (isinstance(plain, float) and not math.isfinite(plain)):
            return
        known = [ref for ref in dict.fromkeys(refs) if ref is not None]
        self.facts[self._prefix + name] = FactValue(plain, tuple(known[:MAX_REFS]))


def refs_at(series: Series, rows: Iterable[int]) -> list[SourceRef]:
    """Places of the first few of the given points."""
    chosen: list[SourceRef] = []
    for row in rows:
        chosen.append(series.ref(int(row)))
        if len(chosen) == MAX_REFS:
            break
    return chosen


def end_of(series: Series) -> list[SourceRef]:
    """Place of the last point."""
    return refs_at(series, [len(series) - 1])


def ends_of(series: Series) -> list[SourceRef]:
    """Places of the last point and of the first: what is said of a whole course."""
    return refs_at(series, [len(series) - 1, 0])


def refs_of(*entries: ConfigValue | None) -> list[SourceRef]:
    """Places of the settings that are stated."""
    return [entry.ref for entry in entries if entry is not None and entry.ref is not None]


def event_refs(events: Iterable[Event]) -> list[SourceRef]:
    """Places of events."""
    return [event.ref for event in events]


def number(value: ConfigScalar) -> float | None:
    """A configured number, also one that a YAML reader took for text (``1e-5``); None for anything else.

    >>> number("2e-5"), number(True), number("auto")
    (2e-05, None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    return result if math.isfinite(result) else None


def truth(value: ConfigScalar) -> bool | None:
    """A configured yes or no, None for anything else.

    >>> truth("true"), truth("no"), truth(0), truth("auto")
    (True, False, False, None)
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in {0, 1} else None
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    return words.get(value.strip().lower()) if isinstance(value, str) else None
