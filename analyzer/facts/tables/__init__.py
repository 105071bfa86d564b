"""The rows of the catalogue, one file a family."""

from __future__ import annotations

from analyzer.facts.tables import configuration, course, evidence, failures, gradients, loss, scale, twin

TABLES = (
    configuration.TABLE,
    course.TABLE,
    loss.TABLE,
    gradients.TABLE,
    scale.TABLE,
    evidence.TABLE,
    failures.TABLE,
    twin.TABLE,
)
"""All rows, in the order in which they are listed."""
