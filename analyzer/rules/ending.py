"""What the end of a run adds to its status: a run that was cut off, or that failed after its training, is not healthy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzer.model.tables import Scalar
from analyzer.vocabulary.events import said

HARDWARE = "hardware"
"""Family of failures that the kernel or the driver reports."""


def crash_sign(facts: Mapping[str, Scalar]) -> str | None:
    """That the run crashed, for a run of which no other sign tells it."""
    return str(facts.get("ended.because")) if facts.get("ended.state") == "crashed" else None


def troubled_end(facts: Mapping[str, Scalar]) -> tuple[str, str] | None:
    """Status and sentence of a run whose curves are sound and whose end or machine is not; None if all is well."""
    if facts.get("failure.first.family") == HARDWARE and facts.get("failure.root_seen") is True:
        kind = said(str(facts.get("failure.first.kind", "")))
        return "degraded", f"the log reports a fault of the hardware that no rule explains: {kind}"
    if "ended.at_exit" in facts:
        kind = str(facts["ended.at_exit"])
        raised = facts.get("event.python_traceback.exception")
        what = str(raised).rpartition(".")[2] if kind == "python_traceback" and raised else said(kind)
        return "degraded", f"training completed, and then the program failed: {what}"
    if facts.get("ended.state") == "interrupted":
        return "interrupted", str(facts.get("ended.because", "it was interrupted"))
    return None


def judged_training(facts: Mapping[str, Scalar]) -> str:
    """Which of several trainings in one log the answer is about; empty for a log of one."""
    count, judged = facts.get("run.trainings"), facts.get("run.training_judged")
    if count is None:
        return ""
    if facts.get("run.training_broke") is True and judged != count:
        said = f"training {judged} of {count} in this log, the last whose loss ended in NaN or infinity"
    elif judged == count:
        said = f"the last of {count} trainings in this log"
    else:
        said = f"training {judged} of {count} in this log, the last with rows enough"
    poor = facts.get("run.trainings_poor", 0)
    return f"{said}; {poor} of the others ended no better than begun" if poor else said


OF_A_TRACE = "a trace of several whole steps with the kernels of the device, or the log of the run beside it"
"""What would tell more of a run of which only a trace was given."""


def what_tells_more(facts: Mapping[str, Scalar], missing: Sequence[str]) -> str:
    """What a run needs of which nothing can be said: `missing`, or more of a trace where no course stands beside it."""
    traced = "signal.trace.window_s" in facts or bool(facts.get("signal.trace.traces"))
    return OF_A_TRACE if traced and not facts.get("signal.loss.points") else ", ".join(missing)


def little_seen(facts: Mapping[str, Scalar]) -> str:
    """What the little shows that was seen of a run of which nothing can be said."""
    if "signal.trace.window_s" in facts:
        return "nothing slow was seen in the trace, which does not tell whether the run learns"
    if facts.get("signal.trace.traces"):
        return "the trace holds too little of a device to judge its speed"
    if facts.get("event.warning_line.seen") is True:
        return "the log holds warnings and nothing else that is known, and no failure among them"
    if facts.get("event.error_line.seen") is True:
        return "a line reads like an error that no rule knows, and too little else was seen"
    if facts.get("failure.root_seen") is True:
        return "a line reports a failure, and too little else was seen"
    return "nothing wrong was seen, but too little to call it healthy"
