"""The catalogue of features, in the order of the vector."""

from __future__ import annotations

from analyzer.detect.shapes import (
    chance_shape,
    evaluation_shape,
    gradient_shape,
    loss_events,
    loss_shape,
    rate_shape,
    time_shape,
)
from analyzer.detect.shapes.feature import Feature

__all__ = ["FEATURES", "FEATURE_VERSION", "Feature"]

FEATURES: tuple[Feature, ...] = (
    *loss_shape.FEATURES,
    *loss_events.FEATURES,
    *gradient_shape.FEATURES,
    *rate_shape.FEATURES,
    *evaluation_shape.FEATURES,
    *time_shape.FEATURES,
    *chance_shape.FEATURES,
)

FEATURE_VERSION = 1
"""Rises with every change of a formula, a range or the order; a model states the version that it was made for."""
