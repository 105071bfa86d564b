"""What came behind the words that training is complete: failures of what followed it, and ends from outside."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.detect.base import RunView
from analyzer.detect.failures.failure_order import Failure
from analyzer.detect.failures.first_failure import order_of
from analyzer.detect.setup.run_course import of_last_attempt
from analyzer.model.refs import SourceRef
from analyzer.vocabulary.events import said

FROM_OUTSIDE = frozenset(
    {"slurm_cancelled", "job_time_limit", "job_cancelled", "job_preempted", "keyboard_interrupt", "sighup", "sigterm", "sigkill",
     "process_terminated", "pod_evicted", "node_failure", "launcher_kill"}
)  # fmt: skip
"""Ends that came from outside the program: a person, the scheduler, the system. Being killed for memory is a crash."""


def words_of(failure: Failure) -> str:
    """The line of a failure as a sentence, with its rank; an exception by its name, what Slurm did with its reason."""
    speaker = failure.speaker
    raised = speaker.fields.get("exception") if speaker.kind == "python_traceback" else None
    words = str(raised).rpartition(".")[2] if raised else said(speaker.kind)
    reason = speaker.fields.get("reason") if speaker.kind == "slurm_cancelled" else None
    words += f" (reason: {str(reason).lower()})" if reason else ""
    return words + (f" (rank {failure.rank})" if failure.rank is not None else "")


def after_completion(view: RunView) -> Iterator[Failure]:
    """Failures of its own, and ends from outside, but no noise of peers that leave."""
    for failure in _behind(view):
        # One line of the exception's family without its traceback is what the shell, a library or a sample says.
        raised = failure.family == "exception" and "python_traceback" in failure.kinds
        own = raised or failure.family in {"device", "memory"} or "sigabrt" in failure.kinds
        if own or failure.kinds & FROM_OUTSIDE:
            yield failure


def hung_behind(view: RunView) -> tuple[str, list[SourceRef]] | None:
    """How what came after training raised and hung, until the step or the job was cancelled; None if it did not.

    Where a process left with a code of its own before, the step was cancelled for it: that is how a fault at exit ends.
    """
    cancelled = of_last_attempt(view, "slurm_step_cancelled", "slurm_cancelled")[:1]
    for event in cancelled:
        source, line = event.ref.source, event.ref.line or 0
        left = of_last_attempt(view, "slurm_task_failed")
        if any(each.ref.source == source and (each.ref.line or 0) < line for each in left):
            return None
        for failure in _behind(view):
            if "python_traceback" in failure.kinds and failure.place[1] == source and failure.place[2] < line:
                text = f"training completed, then the program failed: {words_of(failure)}, and {said(event.kind)}"
                return text, [failure.speaker.ref, event.ref]
    return None


def _behind(view: RunView) -> Iterator[Failure]:
    """Failures behind the words that training is complete."""
    done = of_last_attempt(view, "training_completed")
    for failure in order_of(view).failures:
        attempt, source, line = failure.place
        if any(
            (event.ref.source, event.attempt) == (source, attempt) and (event.ref.line or 0) < line
            for event in done
        ):
            yield failure
