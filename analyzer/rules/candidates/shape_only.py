"""A finding of the classifier alone: where no rule speaks and the shape of the curves leaves one class."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from analyzer.detect.shapes.classes import Shape
from analyzer.model.tables import Scalar
from analyzer.rules.load import RuleSet
from analyzer.rules.score import LedgerLine, Scored
from analyzer.rules.shape_line import anomalous_shape, shape_line

SURE = 0.9
"""Calibrated probability from which a shape alone is told: "very likely" in our words."""


def shape_only(
    facts: Mapping[str, Scalar], rules: RuleSet, considered: Collection[str] = ()
) -> Scored | None:
    """The class's most general cause with its calibrated probability; None if the classifier is not sure enough.

    The rule of that cause lends its text and fixes; its own evidence, which was not found, is left out.

    Args:
        facts: Known facts of the run.
        rules: Rules in use.
        considered: Causes that rules have weighed for this run and found unlikely: they saw more than the shape.
    """
    found = anomalous_shape(facts, SURE)
    if found is None:
        return None
    shape, probability = found
    if not {shape.cause, *shape.causes, *shape.late_causes}.isdisjoint(considered):
        return None
    rule = rules.by_id(shape.cause)
    if rule is None:
        return None
    told = rule._replace(severity=_severity(shape), says=_sentence(shape))
    line = shape_line(rule, facts)
    lines = () if line is None else (LedgerLine(line, verdict=True, bits=line.if_true, counted=True),)
    return Scored(told, lines, sum(entry.bits for entry in lines), probability)


def _severity(shape: Shape) -> str:
    """A shape alone never makes a run a failed one: nothing broke that anybody wrote down."""
    return "degrading" if shape.severity == "fatal" else shape.severity


def _sentence(shape: Shape) -> str:
    return f"{shape.says} (shape of the curves only)"
