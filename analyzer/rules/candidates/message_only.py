"""Findings of the reader of unknown messages alone: where no rule speaks, or none but the one for any exception."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from analyzer.detect.failures.unknown_message import NAMED
from analyzer.expr import compile_condition
from analyzer.model.diagnosis import WORDS
from analyzer.model.tables import Scalar
from analyzer.rules.load import RuleSet
from analyzer.rules.schema import EvidenceLine
from analyzer.rules.score import LedgerLine, Scored

AT_MOST = 0.45
"""Words alone never make a cause likelier than not: it is a candidate."""

FIRST_AT_LEAST = 0.3
"""Of the first answers below this share four of ten were right on public logs that training did not see."""

BESIDE_LEARNING = 0.5
"""A run that learned and of which no failure is known is doubted only by words that were right in nine of ten logs."""

SAYS_LITTLE = frozenset(
    {"error_line", "python_traceback", "traceback_cut", "dataloader_worker_exception", "job_failed", "launcher_exit_code", "torchrun_failure",
     "torchrun_worker_failed", "sigabrt", "slurm_task_failed", "slurm_step_cancelled", "slurm_step_aborted", "launcher_kill", "sigterm", "nccl_remote_error"}
)  # fmt: skip
"""Kinds of a first failure that say no more than that something failed; of any other kind more is known than its words."""

SAYS = "it ended in an error that no rule knows"
BECAUSE = "no pattern knows these lines; their words are like messages of this cause"


def message_only(
    facts: Mapping[str, Scalar], rules: RuleSet, considered: Collection[str] = ()
) -> Iterator[Scored]:
    """The causes whose messages the error lines are like, the likeliest first; none if nothing failed or the reader is unsure.

    The rule of a cause lends its text and fixes; its own evidence, which was not found, is left out.

    Args:
        facts: Known facts of the run.
        rules: Rules in use.
        considered: Causes that rules have weighed for this run: they saw more than words.
    """
    failed = facts.get("failure.seen") is True or facts.get("event.error_line.seen") is True
    first = facts.get("failure.first.kind")
    if not failed or (isinstance(first, str) and first not in SAYS_LITTLE):
        return
    learned = facts.get("failure.seen") is not True and facts.get("signal.progress.learned") is True
    for names in NAMED:
        cause, probability, bits = (facts.get(f"message.{name}") for name in names)
        if not isinstance(cause, str) or not isinstance(probability, float) or not isinstance(bits, float):
            return
        if learned and probability < BESIDE_LEARNING:
            return
        rule = rules.by_id(cause)
        if cause in considered or rule is None:
            continue
        condition = compile_condition(f'message.{names[0]} == "{cause}"', WORDS)
        line = EvidenceLine(WORDS, condition, BECAUSE, bits, 0.0)
        told = rule._replace(says=SAYS, symptom_kind="crash")
        shown = max(probability, FIRST_AT_LEAST) if names is NAMED[0] else probability
        yield Scored(
            told, (LedgerLine(line, verdict=True, bits=bits, counted=True),), bits, min(shown, AT_MOST)
        )
