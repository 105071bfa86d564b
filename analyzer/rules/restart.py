"""What to do with the job: the decision, its reason, and where to resume from."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
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


class Restart(NamedTuple):
    """A restart decision."""

    decision: str  # one of ``schema.RESTARTS``
    because: str  # its reason in a sentence without a full stop
    resume_from: str = ""  # checkpoint to resume from, in words; empty if none is known or needed


_FAILS_BY_ITSELF = frozenset({"crash", "hang"})
"""Kinds of trouble that a restart repeats; a preempted job may be started again any number of times."""

RESTARTED_OFTEN = 2
"""Restarts after which "once more" is no advice: what went away by itself would have done so by then."""


def restart_of(rule: Rule, facts: Mapping[str, Scalar]) -> Restart:
    """The decision of a rule for the run at hand: names the host to leave out and the last sound checkpoint.

    What the rule says of its cause is held against what the run has shown: one that was restarted in vain is not told to
    restart as it is, and one that never saved is not told to resume.
    """
    because = fill(rule.restart_because, facts) if rule.restart_because else _REASONS[rule.restart_advice]
    host = facts.get("failure.first.host")
    if rule.restart_advice == "restart-excluding-node" and isinstance(host, str) and host not in because:
        because = f"{because} (host {host})"
    if rule.restart_advice == "restart-as-is" and rule.symptom_kind in _FAILS_BY_ITSELF:
        in_vain = _in_vain(facts)
        if in_vain:
            return Restart("fix-then-restart", in_vain)
    if rule.restart_advice == "resume-from-earlier-checkpoint" and facts.get("run.never_saved") is True:
        return Restart("fix-then-restart", f"{because}; this run saved nothing, so it begins anew")
    numeric = rule.symptom_kind in {"numerical_breakdown", "divergence"} and rule.severity == "fatal"
    if rule.restart_advice == "resume-from-earlier-checkpoint" or (
        numeric and rule.restart_advice == "fix-then-restart"
    ):
        return Restart(rule.restart_advice, because, _last_sound_checkpoint(facts))
    if rule.restart_advice == "restart-as-is" and facts.get("ended.state") != "completed":
        return Restart(rule.restart_advice, because, str(facts.get("ended.checkpoint", "")))
    return Restart(rule.restart_advice, because)


def _in_vain(facts: Mapping[str, Scalar]) -> str:
    """Why the same start would end the same way; empty if nothing says so."""
    restarts = facts.get("lifecycle.restarts")
    if isinstance(restarts, int) and restarts >= RESTARTED_OFTEN:
        return f"it was started again {restarts} times and failed again"
    joined, expected = (facts.get(f"event.rendezvous_failure.{name}") for name in ("joined", "expected"))
    if isinstance(joined, int) and isinstance(expected, int) and joined < expected:
        return f"only {joined} of {expected} ranks ever came; see first why the others did not start"
    if facts.get("event.job_not_started.seen") is True:
        return "tasks of this job never started; see first why"
    return ""


def _last_sound_checkpoint(facts: Mapping[str, Scalar]) -> str:
    step = facts.get("signal.drift.last_good_checkpoint_step")
    if step is None:
        return ""
    name = facts.get("signal.drift.last_good_checkpoint", f"the checkpoint of step {step}")
    start, metric = facts.get("signal.drift.start_step"), facts.get("signal.drift.metric", "the run")
    before = f", the last before {metric} began to drift at step {start}" if start is not None else ""
    return f"{name}{before}"
