"""What to do with the job: the decision, its reason, and where to resume from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analyzer.model.tables import Scalar
from analyzer.rules.schema import Rule
from analyzer.rules.template import fill

_REASONS: Mapping[str, str] = {
    "restart-as-is": "nothing in the configuration has to change",
    "restart-excluding-node": "the fault stays with the machine and meets the next job there",
    "fix-then-restart": "the same configuration would fail again",
    "resume-from-earlier-checkpoint": "what was saved after the trouble began carries it on",
    "no-action": "the run does not need one",
}
"""Why, where a rule does not say more."""


@dataclass(frozen=True, slots=True)
class Restart:
    """A restart decision.

    Attributes:
        decision: One of ``schema.RESTARTS``.
        because: Its reason in a sentence without a full stop.
        resume_from: Checkpoint to resume from, in words; empty if none is known or needed.
    """

    decision: str
    because: str
    resume_from: str = ""


def restart_of(rule: Rule, facts: Mapping[str, Scalar]) -> Restart:
    """The decision of a rule for the run at hand: names the host to leave out and the last sound checkpoint."""
    because = fill(rule.restart_because, facts) if rule.restart_because else _REASONS[rule.restart_advice]
    host = facts.get("failure.first.host")
    if rule.restart_advice == "restart-excluding-node" and isinstance(host, str) and host not in because:
        because = f"{because} (host {host})"
    numeric = rule.symptom_kind in {"numerical_breakdown", "divergence"} and rule.severity == "fatal"
    if rule.restart_advice == "resume-from-earlier-checkpoint" or (
        numeric and rule.restart_advice == "fix-then-restart"
    ):
        return Restart(rule.restart_advice, because, _last_sound_checkpoint(facts))
    if rule.restart_advice == "restart-as-is" and facts.get("ended.state") != "completed":
        return Restart(rule.restart_advice, because, str(facts.get("ended.checkpoint", "")))
    return Restart(rule.restart_advice, because)


def _last_sound_checkpoint(facts: Mapping[str, Scalar]) -> str:
    step = facts.get("signal.drift.last_good_checkpoint_step")
    if step is None:
        return ""
    name = facts.get("signal.drift.last_good_checkpoint", f"the checkpoint of step {step}")
    start, metric = facts.get("signal.drift.start_step"), facts.get("signal.drift.metric", "the run")
    before = f", the last before {metric} began to drift at step {start}" if start is not None else ""
    return f"{name}{before}"
