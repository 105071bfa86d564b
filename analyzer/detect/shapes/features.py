"""The feature vector of a run, and the points that illustrate it.

Excluded by design, because they tell how a run was made and not how it went: absolute weight norm, gradient norm
and learning rate, step numbers, batch size, logging interval, number of points, metric names, times of day.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import RunView
from analyzer.detect.shapes import loss_events
from analyzer.detect.shapes.course import Course
from analyzer.detect.shapes.curve_set import Curves, curves, curves_seen
from analyzer.detect.shapes.feature_list import ASINH, FEATURE_VERSION, FEATURES, LOG2, LOG10, Feature
from analyzer.detect.shapes.side_courses import (
    evaluation_features,
    gradient_features,
    rate_features,
    time_features,
)
from analyzer.model.arrays import Values
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series

__all__ = ["FEATURES", "FEATURE_VERSION", "Feature", "curves_seen", "features", "place_of", "refs_of"]

_INDEX = {feature.name: index for index, feature in enumerate(FEATURES)}
_LOW = np.array([feature.low for feature in FEATURES], dtype=np.float64)
_HIGH = np.array([feature.high for feature in FEATURES], dtype=np.float64)
_STORED = {
    stored: np.array([feature.stored == stored for feature in FEATURES]) for stored in (ASINH, LOG2, LOG10)
}


def features(view: RunView) -> Values:
    """The features of a run; float64, shape (n_features,), NaN where a metric is missing or too short.

    Every known value lies within the range that the catalogue states.
    """
    with np.errstate(all="ignore"):
        seen = view.once(curves)
        peak_at = _peak_at(seen)
        found = (
            loss_events.measure(seen.loss, seen.loss_bad)
            | gradient_features(seen, peak_at)
            | rate_features(seen.rate, seen.loss)
            | evaluation_features(seen.evaluation, seen.evaluation_bad, seen.loss)
            | time_features(seen.pace, seen.wait)
            | _against_a_guess(seen)
        )
        vector = np.full(len(FEATURES), np.nan)
        for name, value in found.items():
            vector[_INDEX[name]] = value
        vector[_STORED[ASINH]] = np.arcsinh(vector[_STORED[ASINH]])
        vector[_STORED[LOG2]] = np.log2(np.maximum(vector[_STORED[LOG2]], 0.0))
        vector[_STORED[LOG10]] = np.log10(np.maximum(vector[_STORED[LOG10]], 0.0))
        return np.asarray(np.clip(vector, _LOW, _HIGH) + 0.0)  # no -0.0


def place_of(view: RunView, feature: Feature) -> tuple[Series, int] | None:
    """The logged point that illustrates a feature: its series and the row in it; None if the curve is missing."""
    series = curves_seen(view).get(feature.block)
    if series is None or not len(series):
        return None
    with np.errstate(all="ignore"):
        return series, _row(view.once(curves), feature, len(series) - 1)


def refs_of(view: RunView, feature: Feature) -> tuple[SourceRef, ...]:
    """Places to cite for a feature: the point that illustrates it, then the first and the last of its curve."""
    place = place_of(view, feature)
    if place is None:
        return ()
    series, row = place
    return tuple(dict.fromkeys(series.ref(index) for index in (row, 0, len(series) - 1)))


def _against_a_guess(seen: Curves) -> dict[str, float]:
    """The loss against what a guess costs, where a file tells the number of classes or tokens; a loss at or below zero is no cross-entropy and gives none."""
    found: dict[str, float] = {}
    if seen.chance is None:
        return found
    if seen.loss is not None:
        unit = seen.loss.scale / seen.chance
        found["chance_start"] = seen.loss.start() * unit
        found["chance_best"] = float(seen.loss.smooth.min()) * unit
        found["chance_end"] = seen.loss.end() * unit
    if seen.evaluation is not None:
        found["chance_eval_end"] = float(seen.evaluation.value[-1]) * seen.evaluation.scale / seen.chance
    return {name: value for name, value in found.items() if value > 0}


def _peak_at(seen: Curves) -> float | None:
    """Position of the highest rise of the loss, if there is one worth the name."""
    if seen.loss is None or seen.loss.value.size < 8:
        return None
    found = loss_events.excursion(seen.loss)
    return found.at if found.height >= loss_events.EXCURSION * found.noise else None


def _row(seen: Curves, feature: Feature, last: int) -> int:
    courses: dict[str, Course | None] = {
        "loss": seen.loss, "gradient": seen.gradient, "rate": seen.rate,
        "evaluation": seen.evaluation, "time": seen.pace, "chance": seen.loss,
    }  # fmt: skip
    course = courses[feature.block]
    if feature.shows == "first":
        return 0
    if course is None or feature.shows == "last":
        return last
    if feature.shows == "best":
        return int(course.window_row[int(course.smooth.argmin())])
    if feature.shows == "bad":
        return course.first_bad() or 0 if course.bad.any() else last
    if feature.shows == "shift" and course.window.size >= 12:
        moves, width = loss_events.shifts(course)
        return int(course.window_row[int(moves.argmax()) + width])
    if feature.block == "loss" and course.value.size >= 8:
        return int(course.row[loss_events.excursion(course).point])
    return int(course.row[int(course.value.argmax())])
