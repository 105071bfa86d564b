"""Detectors: pure functions from a run to signals. They measure; rules judge."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import Detector, FactWriter, RunView, late
from analyzer.detect.curves import (
    data_order,
    drift,
    evaluation,
    learning_rate,
    loss,
    plateau,
    progress,
    repeats,
    resume,
    schedule,
    spikes,
    stretch,
)
from analyzer.detect.curves.guess import answers, certainty, chance
from analyzer.detect.curves.heldout import data_quality, gap, generalisation, kept_scores, scores
from analyzer.detect.curves.numerics import exact, grad_norm, loss_scale, metric_values, nonfinite, onset
from analyzer.detect.curves.players import adversaries, collapse, rl, rl_course
from analyzer.detect.failures import (
    events,
    first_failure,
    modules,
    saved_work,
)
from analyzer.detect.likeness.answer import likeness
from analyzer.detect.ranks import collectives, stragglers
from analyzer.detect.setup import (
    configuration,
    design,
    ended,
    known_versions,
    lifecycle,
    rate_range,
    run_course,
    script,
    settings,
    surroundings,
)
from analyzer.detect.shapes import answer
from analyzer.detect.speed import hardware, pace, step_speed, utilisation
from analyzer.guard import STRICT, Guard
from analyzer.model.run import Run
from analyzer.model.signal import Signal

__all__ = ["DETECTORS", "Detector", "FactWriter", "RunView", "run_detectors"]

DETECTORS: tuple[Detector, ...] = (
    configuration.DETECTOR,
    run_course.DETECTOR,
    ended.DETECTOR,
    known_versions.DETECTOR,
    surroundings.DETECTOR,
    loss.DETECTOR,
    nonfinite.DETECTOR,
    grad_norm.DETECTOR,
    loss_scale.DETECTOR,
    learning_rate.DETECTOR,
    onset.DETECTOR,
    evaluation.DETECTOR,
    Detector(
        "embedding",
        ("signal.embedding.", "signal.checkpoint."),
        late("setup.embedding", lambda run: run.tensors),
    ),
    modules.DETECTOR,
    events.DETECTOR,
    first_failure.DETECTOR,
    Detector(
        "unknown_message",
        ("message.",),
        late("failures.unknown_message", lambda run: any(end.errors for end in run.log_ends)),
    ),
    collectives.DETECTOR,
    stragglers.DETECTOR,
    lifecycle.DETECTOR,
    hardware.DETECTOR,
    resume.DETECTOR,
    step_speed.DETECTOR,
    utilisation.DETECTOR,
    pace.DETECTOR,
    data_order.DETECTOR,
    data_quality.DETECTOR,
    spikes.DETECTOR,
    stretch.DETECTOR,
    drift.DETECTOR,
    schedule.DETECTOR,
    plateau.DETECTOR,
    generalisation.DETECTOR,
    metric_values.DETECTOR,
    progress.DETECTOR,
    chance.DETECTOR,
    certainty.DETECTOR,
    answers.DETECTOR,
    gap.DETECTOR,
    exact.DETECTOR,
    scores.DETECTOR,
    kept_scores.DETECTOR,
    adversaries.DETECTOR,
    collapse.DETECTOR,
    rate_range.DETECTOR,
    repeats.DETECTOR,
    design.DETECTOR,
    script.DETECTOR,
    rl.DETECTOR,
    rl_course.DETECTOR,
    Detector(
        "exceptions",
        ("exception.",),
        late("failures.exceptions", lambda run: run.events.of("python_traceback")),
    ),
    settings.DETECTOR,
    saved_work.DETECTOR,
    Detector(
        "stacks", ("signal.stacks.",), late("failures.stacks", lambda run: run.events.of("stack_taken"))
    ),
    Detector(
        "flight",
        ("signal.flight.",),
        late("ranks.flight_facts", lambda run: run.flight or len(run.collectives_trace)),
    ),
    Detector("trace", ("signal.trace.",), late("speed.trace_time", lambda run: run.timings)),
    Detector("replay", ("signal.replay.",), late("replay.replay_numeric", lambda run: len(run.replay))),
    Detector("rerun", ("signal.rerun.",), late("replay.replay_counterfactual", lambda run: len(run.replay))),
    answer.DETECTOR,
)


def run_detectors(run: Run, baseline: Run | None = None, guard: Guard = STRICT) -> tuple[Signal, ...]:
    """Everything that the built-in detectors measure."""
    view = RunView(run)
    # Logs of broken runs hold numbers like 1e308; a result beyond a float's range is simply no fact.
    with np.errstate(all="ignore"):
        found: list[Signal] = []
        for detector in DETECTORS:
            with guard.part(f"detector {detector.name}"):
                found += list(detector.detect(view))
        if baseline is not None:
            from analyzer.detect.compare import detect_baseline  # noqa: PLC0415  (few runs have one)

            with guard.part("comparison with the baseline"):
                found += detect_baseline(view, RunView(baseline))
        with guard.part("likeness to labelled runs"):
            if (alike := likeness(found)) is not None:
                found.append(alike)
    return tuple(found)
