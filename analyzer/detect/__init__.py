"""Detectors: pure functions from a run to signals. They measure; rules judge."""

from __future__ import annotations

import numpy as np

from analyzer.detect import (
    configuration,
    embedding,
    evaluation,
    events,
    failures,
    grad_norm,
    learning_rate,
    loss,
    loss_scale,
    modules,
    nonfinite,
    onset,
    run_course,
)
from analyzer.detect.base import Detector, FactWriter, RunView
from analyzer.detect.compare import detect_twin
from analyzer.model.run import Run
from analyzer.model.signal import Signal

__all__ = ["DETECTORS", "Detector", "FactWriter", "RunView", "run_detectors"]

DETECTORS: tuple[Detector, ...] = (
    configuration.DETECTOR,
    run_course.DETECTOR,
    loss.DETECTOR,
    nonfinite.DETECTOR,
    grad_norm.DETECTOR,
    loss_scale.DETECTOR,
    learning_rate.DETECTOR,
    onset.DETECTOR,
    evaluation.DETECTOR,
    embedding.DETECTOR,
    modules.DETECTOR,
    events.DETECTOR,
    failures.DETECTOR,
)


def run_detectors(run: Run, twin: Run | None = None) -> tuple[Signal, ...]:
    """Everything that the built-in detectors measure.

    Args:
        run: The run in question.
        twin: A second run that worked, for comparison.
    """
    view = RunView(run)
    # Logs of broken runs hold numbers like 1e308; a result beyond a float's range is simply no fact.
    with np.errstate(all="ignore"):
        found = [signal for detector in DETECTORS for signal in detector.detect(view)]
        if twin is not None:
            found += detect_twin(view, RunView(twin))
    return tuple(found)
