"""The one word for a run: failed, degraded, healthy or insufficient, and the sentence that justifies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyzer.model.diagnosis import Finding
from analyzer.model.tables import Scalar
from analyzer.model.wording import REPORTED, format_scalar, word_for

ENOUGH_LOSS_POINTS = 5
"""Fewer points show no course: nothing can be said about a run from them."""

@dataclass(frozen=True, slots=True)
class Outcome:
    """What the run itself shows, whatever its cause.

    Attributes:
        failed: Sentences, each a sign that the run failed.
        missing: What was not seen and would be needed to call the run healthy.
    """

    failed: tuple[str, ...]
    missing: tuple[str, ...]


def outcome(facts: Mapping[str, Scalar]) -> Outcome:
    """Signs of failure and what is missing for a verdict of health."""
    failed: list[str] = []
    if facts.get("signal.nonfinite_loss.persists") is True:
        failed.append("the loss is not finite to the end")
    if facts.get("signal.nonfinite_grad.harmful") is True:
        failed.append("the gradient norm is not finite")
    if facts.get("signal.loss_scale.at_floor") is True:
        failed.append("the loss scale reached its floor")
    code = facts.get("run.exit_code")
    if isinstance(code, int) and code != 0:
        failed.append(f"it ended with exit code {code}")
    elif facts.get("run.completed") is False and facts.get("event.python_traceback.seen") is True:
        failed.append(f"it ended in {format_scalar(facts.get('event.python_traceback.exception', 'an exception'))}")
    missing: list[str] = []
    points = facts.get("signal.loss.points")
    if not isinstance(points, int) or points < ENOUGH_LOSS_POINTS:
        missing.append("a training loss of at least 5 points" if not points else f"more than {points} points of the training loss")
    return Outcome(tuple(failed), tuple(missing))


def judge(findings: Sequence[Finding], seen: Outcome, facts: Mapping[str, Scalar]) -> tuple[str, str, tuple[str, ...]]:
    """Status, its sentence, and what was missing.

    ``healthy`` needs enough to say so; a run that shows nothing wrong because it shows nothing is ``insufficient``.
    """
    blind = _unseen(facts)
    for severity, status in (("fatal", "failed"), ("degrading", "degraded")):
        named = [f for f in findings if f.severity == severity and f.probability >= REPORTED]
        if named:
            top = named[0]
            return status, f"{top.symptom}; {word_for(top.probability)} cause: {top.cause.title.lower()}", blind
    if seen.failed:
        return "failed", f"{'; '.join(seen.failed)}; no rule explains it with confidence", blind
    degrading = [f for f in findings if f.severity == "wasteful" and f.probability >= REPORTED]
    if degrading:
        return "degraded", degrading[0].symptom, blind
    if seen.missing:
        return "insufficient", f"nothing wrong was seen, but too little to call it healthy: needs {', '.join(seen.missing)}", (*seen.missing, *blind)
    points = facts.get("signal.loss.points")
    return "healthy", f"no fault found in {points} loss points" + (f" (not seen: {', '.join(blind)})" if blind else ""), blind


def _unseen(facts: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Inputs whose absence a reader should know about, in words."""
    wanted = (
        ("signal.grad_norm.seen", "gradient norm"),
        ("run.completed", "how the run ended"),
        ("config.precision", "the precision"),
    )
    return tuple(text for name, text in wanted if name not in facts or facts[name] is False and name.startswith("signal"))
