"""How much of a training a log spans: long enough to show what was learned, from its beginning, or of a model that was trained before."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import RunView, truth
from analyzer.detect.curve import has_steps, spacing
from analyzer.detect.curves.evaluation import evaluations
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import word_set, words_of
from analyzer.model.tables import NULL_INT, Series

EPOCHS, STEPS = 2.0, 300
"""Two epochs, or three hundred steps, after which a model that learns at all has left its start."""

LATE_EPOCH = 3
"""A log whose first counter of epochs shows the third or a later one lacks its beginning."""

TRAINED_STEPS = 1000
"""Steps, or ``LATE_EPOCH`` epochs, after which a model that learns at all does not answer as an untrained one."""

LATE_START, LATE_ROWS = 1000, 50
"""A log whose first point is that late, or has room for so many rows before it, shows no beginning."""


_PAIRS = word_set("contrastive nce infonce ntxent simclr supcon moco")
"""Words of a loss that tells pairs apart among the other samples of its batch, all of which are alike in part."""


FOUND, _PRECISION = (
    0.5,
    LazyRegex(r"(?i)(?:(?:metrics|val|eval|test)[/_])?map(?:_?50(?:[-_]95)?)?(?:\([a-z]\))?$"),
)
"""Half of the objects found and right: no detector that began at random is so far after its first epoch."""


def has_floor(series: Series) -> bool:
    """Whether the name of a loss says that it has a floor far above 0, at which most of it stands in a sound run."""
    return not _PAIRS.isdisjoint(words_of(series.logged_as))


def long_enough(view: RunView, series: Series) -> bool:
    """Whether the log spans so much training that a sound run would show what it learned."""
    epochs = view.curve("epoch")
    if epochs is not None and len(epochs) >= 2 and np.isfinite(epochs.value).all():
        span = float(epochs.value.max() - epochs.value.min())
        if span >= EPOCHS:
            return True
    if not has_steps(series):
        return True
    steps = int(series.step[-1]) - int(series.step[0])
    return steps >= STEPS or _by_epoch(view, series)


def _by_epoch(view: RunView, series: Series) -> bool:
    """Whether rows hold an evaluation each: they are epochs, or rounds."""
    evaluated = view.once(evaluations)
    return evaluated is not None and 2 * len(evaluated) >= len(series)


def begins_in_the_middle(view: RunView, series: Series) -> bool:
    """Whether the log lacks the beginning of the training, so that its first points are no first points."""
    epochs = [end.first_epoch for end in view.run.log_ends if end.first_epoch is not None]
    first, usual = series.step_at(0) or 0, spacing(series)
    rows = LATE_EPOCH if _by_epoch(view, series) else LATE_ROWS
    late = first >= LATE_START or (usual is not None and first >= rows * usual)
    return late or min(epochs, default=0) >= LATE_EPOCH


def is_late(view: RunView) -> bool | None:
    """Whether the last row stands behind so many epochs or steps that no untrained model made it; None if nothing counts them."""
    epochs = view.finite("epoch")
    reached = [each for end in view.run.log_ends for each in (end.epoch, end.first_epoch) if each is not None]
    if epochs is not None:
        reached.append(int(epochs.value.max()))
    steps = view.run.metrics.step
    last = int(steps.max()) if steps.size else NULL_INT
    if not reached and last == NULL_INT:
        return None
    return max(reached, default=0) >= LATE_EPOCH or last >= TRAINED_STEPS


def continues_a_model(view: RunView) -> bool:
    """Whether the weights were trained before: an adapter, a published model by name, or a run that goes on."""
    if view.config("lora.r") is not None or truth(view.config_value("train.resumed")) is True:
        return True
    named = view.has_habit("given-model") or isinstance(view.config_value("model.name"), str)
    return (
        named
        or bool(view.events("pretrained_loaded"))
        or any(_finds_at_once(view, name) for name in view.run.metrics.names)
    )


def _finds_at_once(view: RunView, name: str) -> bool:
    """Whether a mean average precision is half of all at the first evaluation already, where a guess finds nothing."""
    found = view.curve(name) if _PRECISION.match(name) is not None else None
    return found is not None and len(found) > 0 and FOUND <= float(found.value[0]) <= 1.0
