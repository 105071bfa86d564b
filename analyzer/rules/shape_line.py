"""The classifier's line in the ledger of a cause: visible, capped, and only where the curves of the cause are known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from analyzer.detect.shapes.classes import UNDECIDABLE, Shape, shape_named, shapes_with
from analyzer.expr import Condition, compile_condition
from analyzer.model.labels import HEALTHY
from analyzer.model.tables import Scalar
from analyzer.rules.schema import EvidenceLine, Rule

LINE_ID = "classifier"

MAX_DOUBT_BITS = -1.0
"""Against a cause whose curves look otherwise it is a hint only (1:2): causes come in more courses than the lab has."""


def shape_line(rule: Rule, facts: Mapping[str, Scalar]) -> EvidenceLine | None:
    """The line for a rule's cause; None if the classifier gave no answer or does not know the cause.

    Args:
        rule: Any rule.
        facts: Known facts of the run.
    """
    shapes = shapes_with(rule.entry.id)
    shape, bits = facts.get("classifier.shape"), facts.get("classifier.bits")
    if not shapes or not isinstance(shape, str) or not isinstance(bits, float):
        return None
    seen = f"the curves look like those of runs in which {shape_named(shape).says}"
    reasons = facts.get("classifier.because") if shape != HEALTHY else None
    return EvidenceLine(
        id=LINE_ID,
        test=_test(shapes),
        because=f"{seen}: {reasons}" if reasons else seen,
        if_true=bits,
        if_false=0.0 if rule.entry.id in UNDECIDABLE else MAX_DOUBT_BITS,
    )


def anomalous_shape(facts: Mapping[str, Scalar], least: float) -> tuple[Shape, float] | None:
    """The class that the curves look like and its probability; None if healthy, unsure, or less probable than asked."""
    name, probability = facts.get("classifier.shape"), facts.get("classifier.probability")
    if not isinstance(name, str) or name == HEALTHY:
        return None
    return (
        (shape_named(name), probability) if isinstance(probability, float) and probability >= least else None
    )


@lru_cache(maxsize=64)
def _test(shapes: tuple[str, ...]) -> Condition:
    names = ", ".join(f'"{name}"' for name in shapes)
    return compile_condition(f"classifier.shape in [{names}]", LINE_ID)
