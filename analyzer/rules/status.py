"""The one word for a run: failed, degraded, healthy or insufficient, and the sentence that justifies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyzer.model.diagnosis import Finding
from analyzer.model.tables import Scalar
from analyzer.model.wording import REPORTED, format_scalar, word_for

ENOUGH_POINTS = 5
"""Fewer points show no course: nothing can be said about a run from them."""

ENOUGH_POINTS_COMPLETED = 2
"""A run that says itself that it completed needs less: a first and a last value that are finite."""

SURE_ENDING = 0.6
"""Share from which an ordinary ending (a person or the scheduler stopped it) explains how the run ended."""


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
    if facts.get("signal.module.forward_nonfinite") is True:
        failed.append("the output of a module is not finite")
    if (ending := _bad_ending(facts)) is not None:
        failed.append(ending)
    needed = ENOUGH_POINTS_COMPLETED if facts.get("run.completed") is True else ENOUGH_POINTS
    counts = [facts.get(f"signal.{name}.points") for name in ("loss", "eval")]
    most = max((count for count in counts if isinstance(count, int)), default=0)
    missing = () if most >= needed else (f"{needed} points of a training or evaluation loss (has {most})",)
    return Outcome(tuple(failed), missing)


def _bad_ending(facts: Mapping[str, Scalar]) -> str | None:
    """How the run ended, if it ended badly by its own record."""
    code = facts.get("run.exit_code")
    if isinstance(code, int) and code != 0:
        return f"it ended with exit code {code}"
    if facts.get("run.completed") is False and facts.get("event.python_traceback.seen") is True:
        return f"it ended in {format_scalar(facts.get('event.python_traceback.exception', 'an exception'))}"
    return None


def judge(
    findings: Sequence[Finding], seen: Outcome, facts: Mapping[str, Scalar]
) -> tuple[str, str, tuple[str, ...]]:
    """Status, its sentence, and what was missing.

    ``healthy`` needs enough to say so; a run that shows nothing wrong because it shows nothing is ``insufficient``.
    """
    blind = _unseen(facts)
    for severity, status in (("fatal", "failed"), ("degrading", "degraded")):
        named = [f for f in findings if f.severity == severity and f.probability >= REPORTED]
        if named:
            top = named[0]
            return status, f"{top.symptom}; {word_for(top.probability)}: {top.cause.id}", blind
    ended = [f for f in findings if f.cause.kind == "lifecycle" and f.probability >= SURE_ENDING]
    signs = [sign for sign in seen.failed if not (ended and sign.startswith("it ended"))]
    if signs:
        return "failed", f"{'; '.join(signs)}; no rule explains it with confidence", blind
    degrading = [f for f in findings if f.severity == "wasteful" and f.probability >= REPORTED]
    if degrading:
        return "degraded", degrading[0].symptom, blind
    if seen.missing:
        return (
            "insufficient",
            f"nothing wrong was seen, but too little to call it healthy: needs {', '.join(seen.missing)}",
            (*seen.missing, *blind),
        )
    points = facts.get("signal.loss.points", facts.get("signal.eval.points", 0))
    text = f"no fault found in {points} loss points"
    if ended:
        text = f"{ended[0].cause.title}; {text}"
    return "healthy", text + (f" (not seen: {', '.join(blind)})" if blind else ""), blind


def _unseen(facts: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Inputs whose absence a reader should know about, in words."""
    wanted = (
        ("signal.grad_norm.seen", "gradient norm"),
        ("run.completed", "how the run ended"),
        ("config.precision", "the precision"),
    )
    return tuple(
        text
        for name, text in wanted
        if name not in facts or (facts[name] is False and name.startswith("signal"))
    )
