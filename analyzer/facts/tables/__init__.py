"""The rows of the catalogue, one file a family."""

from __future__ import annotations

from analyzer.facts.tables import (
    baseline,
    classifier,
    collectives,
    configuration,
    course,
    data,
    evidence,
    failures,
    generalisation,
    gradients,
    hardware,
    lifecycle,
    loss,
    optimisation,
    performance,
    progress,
    replay,
    resume,
    rl,
    scale,
    settings,
    trace,
)

TABLES = (
    configuration.TABLE,
    course.TABLE,
    loss.TABLE,
    gradients.TABLE,
    scale.TABLE,
    evidence.TABLE,
    failures.TABLE,
    collectives.TABLE,
    lifecycle.TABLE,
    hardware.TABLE,
    performance.TABLE,
    resume.TABLE,
    data.TABLE,
    rl.TABLE,
    generalisation.TABLE,
    optimisation.TABLE,
    progress.TABLE,
    settings.TABLE,
    classifier.TABLE,
    trace.TABLE,
    replay.TABLE,
    baseline.TABLE,
)
"""All rows, in the order in which they are listed."""
