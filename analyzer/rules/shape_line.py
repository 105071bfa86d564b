"""The lines of two models of runs in the ledger of a cause, visible and capped: the shape of the curves, and likeness to sound runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from analyzer.detect.shapes.classes import UNDECIDABLE, Shape, shape_named, shapes_with
from analyzer.expr import Condition, compile_condition, decided_by
from analyzer.model.diagnosis import SOUND_ALIKE
from analyzer.model.labels import HEALTHY, ORDINARY
from analyzer.model.tables import Scalar
from analyzer.rules.schema import EvidenceLine, Rule

LINE_ID = "classifier"

MAX_DOUBT_BITS = -1.0
"""Against a cause whose curves look otherwise it is a hint only (1:2): causes come in more courses than the lab has."""


def shape_line(rule: Rule, facts: Mapping[str, Scalar]) -> EvidenceLine | None:
    """The line for a rule's cause; None if the classifier gave no answer or does not know the cause."""
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


BY_COURSE = frozenset({"numerical_breakdown", "divergence", "plateau", "eval_gap", "bad_restart", "slow"})
"""Kinds of trouble that are judged by the course of a run; a crash is judged by what was written."""

POOLED = frozenset({"numerical_breakdown", "divergence", "plateau", "eval_gap"})
"""Of these kinds the likeness to labelled runs knows as much as rules; it does not see what slowness and restarts are told by."""

AS_OFTEN = 0.4
"""Probability of being sound at which likeness says nothing. On 161 answers of these kinds for runs that no rule was written with,
repository held out, .3 to .5 differ by one answer; of the 55 from a half on 11 were right, of the 113 below 95."""

MOST_AGAINST = 3.0
"""What like runs turned out to be weighs 8:1 at most against what was seen in this one; 4 bits change no answer there."""


_WRITTEN = ("event.", "config.")
"""What a line of the log or a setting says of itself is no matter of how the curves look."""

_EXACT = frozenset(
    f"signal.{name}"
    for name in (
        "collapse.latent_unused", "exact.accuracy_zero", "exact.eval_accuracy_zero", "exact.gradient_zero",
        "exact.held_out_frozen", "exact.loss_frozen", "exact.loss_zero", "exact.loss_zero_at_end",
        "exact.nonfinite_training", "nonfinite_loss.seen", "score.all_zero", "score.rare_never_found", "score.zero",
    )
)  # fmt: skip
"""Neither is a value that tells by itself: one of these is true of 210 faulty and 7 sound runs of the casebook."""


def is_plain(rule: Rule, facts: Mapping[str, Scalar]) -> bool:
    """Whether a rule was opened by what was written or by a value that tells by itself, not by the course of the run."""
    opened_by = decided_by(rule.when, facts)
    return (bool(opened_by) and all(name.startswith(_WRITTEN) for name in opened_by)) or any(
        facts[name] is True and (name.startswith(_WRITTEN) or name in _EXACT) for name in opened_by
    )


def sound_line(rule: Rule, facts: Mapping[str, Scalar]) -> EvidenceLine | None:
    """The line against a fault told by the course of a run whose numbers are like those of sound runs; else None.

    It never speaks for a fault: lifting what like runs had made right answers surer, and wrong ones as well.
    """
    sound = facts.get("likeness.sound")
    if not isinstance(sound, float) or sound <= AS_OFTEN or facts.get("failure.seen") is True:
        return None
    if rule.symptom_kind not in BY_COURSE or rule.entry.kind in ORDINARY or is_plain(rule, facts):
        return None
    odds = math.log2(sound / max(1.0 - sound, 1e-3) * (1.0 - AS_OFTEN) / AS_OFTEN)
    return EvidenceLine(
        id=SOUND_ALIKE,
        test=_SOUND_ALIKE,
        because=f"of labelled public runs with such numbers {sound:.0%} were sound",
        if_true=-round(min(odds, MOST_AGAINST), 1),
        if_false=0.0,
    )


_SOUND_ALIKE = compile_condition(f"likeness.sound > {AS_OFTEN}", SOUND_ALIKE)


def anomalous_shape(facts: Mapping[str, Scalar], least: float) -> tuple[Shape, float] | None:
    """The class that the curves look like or lean to, and its probability; None if healthy or less probable than asked."""
    for word, how_sure in (
        ("classifier.shape", "classifier.probability"),
        ("classifier.leans_to", "classifier.leaning"),
    ):
        name, share = facts.get(word), facts.get(how_sure)
        if isinstance(name, str) and isinstance(share, float) and name != HEALTHY and share >= least:
            return shape_named(name), share
    return None


@lru_cache(maxsize=64)
def _test(shapes: tuple[str, ...]) -> Condition:
    names = ", ".join(f'"{name}"' for name in shapes)
    return compile_condition(f"classifier.shape in [{names}]", LINE_ID)
