"""Whether the tasks that were learned before are lost, by evaluations that score each task, or by a score that says it."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of
from analyzer.detect.curves.heldout.scores import KNOWN, Score, scores_of
from analyzer.model.name_words import word_set, words_of
from analyzer.model.score_words import read_score
from analyzer.model.tables import Event, Series

MUCH = 0.4
"""Four tenths of what was known are gone, on the mean of all earlier tasks: methods against it leave a tenth or two."""

ALL_LOST, AT_ONCE, MOST = 2, 3, 0.5
"""Two earlier tasks at nothing and no other, where the list of tasks grew from one evaluation to the next; three where only one
evaluation was seen, since one or two tasks of a training on all at once may be too hard. Of those that were seen to be known a half."""

ONE_TASK, TASKS, EVALUATIONS = (0.85, 1.1), 3, 2
"""The mean over three tasks and more is worth one that is known, evaluation after evaluation: only the newest is."""

_SAYS = word_set("forgetting bwt")


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.tasks.*``."""
    said = _said(view)
    if said is not None:
        forgetting = _forgetting(said)
        out.put("forgetting", forgetting, end_of(said))
        out.put("forgotten", forgetting >= MUCH, end_of(said))
        return
    events = view.events("task_scores")
    if not events:
        return
    last = events[-1]
    out.put("count", int(_number(last, "tasks")), [last.ref])
    if last.fields.get("forgetting") is not None:
        out.put("forgetting", _number(last, "forgetting"), [last.ref])
    worth_one = _worth_one(view, max(_number(event, "highest") for event in events) + 1)
    refs = ends_of(worth_one.series) if worth_one else [last.ref]
    grew = _number(last, "highest") > min(_number(event, "highest") for event in events)
    out.put("forgotten", _lost(last, ALL_LOST if grew else AT_ONCE) or worth_one is not None, refs)


def _number(event: Event, name: str) -> float:
    value = event.fields.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _lost(last: Event, least: int) -> bool:
    """Whether the newest task is known and those before it, so many at least, are not, or the program says how much is forgotten."""
    earlier, none, lost = (_number(last, name) for name in ("earlier", "at_zero", "lost"))
    if _number(last, "forgetting") >= MUCH:
        return True
    return bool(earlier) and (
        (lost >= 1 and lost >= MOST * earlier) or (earlier >= least and none == earlier)
    )


def _said(view: RunView) -> Series | None:
    """A series that says by its name how much is forgotten."""
    for name in sorted(view.run.metrics.names):
        series = view.finite(name) if not _SAYS.isdisjoint(words_of(name)) else None
        if series is not None:
            return series
    return None


def _forgetting(series: Series) -> float:
    """The last value as a share of one; backward transfer says below zero what is lost."""
    last = float(series.value[-1]) * (-1.0 if "bwt" in words_of(series.metric) else 1.0)
    return last / 100.0 if float(np.abs(series.value).max()) > 1 else last


def _worth_one(view: RunView, tasks: float) -> Score | None:
    """A held-out score of all tasks that stands at the worth of one, while a training score says that the newest is learned."""
    if tasks < TASKS or not _learns(view):
        return None
    for score in (score for score in view.once(scores_of) if score.reading.better > 0):
        worth = score.values * tasks
        stands = ONE_TASK[0] <= float(worth.min()) and float(worth.max()) <= ONE_TASK[1]
        if stands and score.reading.phase == "eval" and len(score.series) >= EVALUATIONS:
            return score
    return None


def _learns(view: RunView) -> bool:
    """Whether a training score ends at half right and more, that of an epoch too."""
    for name in sorted(view.run.metrics.names):
        reading = read_score(name.removeprefix("epoch/"))
        series = view.finite(name) if reading.better > 0 and reading.phase in {"", "train"} else None
        if series is not None and float(series.value[-1]) >= KNOWN:
            return True
    return False
