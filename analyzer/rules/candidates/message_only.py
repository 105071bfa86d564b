"""A finding of the reader of unknown messages alone: where no rule speaks, or none but the one for any exception."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from analyzer.expr import compile_condition
from analyzer.model.tables import Scalar
from analyzer.rules.load import RuleSet
from analyzer.rules.schema import EvidenceLine
from analyzer.rules.score import LedgerLine, Scored

AT_MOST = 0.45
"""Words alone never make a cause likelier than not: it is a candidate."""

SAYS_LITTLE = frozenset(
    {"error_line", "python_traceback", "traceback_cut", "dataloader_worker_exception", "job_failed", "launcher_exit_code", "torchrun_failure",
     "torchrun_worker_failed", "sigabrt", "slurm_task_failed", "slurm_step_cancelled", "slurm_step_aborted", "launcher_kill", "sigterm", "nccl_remote_error"}
)  # fmt: skip
"""Kinds of a first failure that say no more than that something failed; of any other kind more is known than its words."""

SAYS = "it ended in an error that no rule knows"
BECAUSE = "no pattern knows these lines; their words are like messages of this cause"


def message_only(
    facts: Mapping[str, Scalar], rules: RuleSet, considered: Collection[str] = ()
) -> Scored | None:
    """The cause whose messages the error lines are like; None if nothing failed or the reader is unsure.

    The rule of that cause lends its text and fixes; its own evidence, which was not found, is left out.

    Args:
        facts: Known facts of the run.
        rules: Rules in use.
        considered: Causes that rules have weighed for this run: they saw more than words.
    """
    cause, probability, bits = (facts.get(f"message.{name}") for name in ("cause", "probability", "bits"))
    failed = facts.get("failure.seen") is True or facts.get("event.error_line.seen") is True
    first = facts.get("failure.first.kind")
    recognised = isinstance(first, str) and first not in SAYS_LITTLE
    if not failed or recognised or not isinstance(cause, str) or cause in considered:
        return None
    rule = rules.by_id(cause)
    if rule is None or not isinstance(probability, float) or not isinstance(bits, float):
        return None
    line = EvidenceLine(
        "words", compile_condition(f'message.cause == "{cause}"', "words"), BECAUSE, bits, 0.0
    )
    told = rule._replace(says=SAYS, symptom_kind="crash")
    return Scored(
        told, (LedgerLine(line, verdict=True, bits=bits, counted=True),), bits, min(probability, AT_MOST)
    )
