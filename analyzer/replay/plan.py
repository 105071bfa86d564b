"""Say what to capture or to run again, so that the leading explanations come apart.

The plan follows from a diagnosis alone: the causes that lead, the next checks that would move them, the step at
which it broke, and which traces the run has already. It names at most a handful of experiments, the one that
decides most first.
"""

from __future__ import annotations

from analyzer.model.diagnosis import Diagnosis, Finding, NextCheck
from analyzer.record import dataclass

MAX_LEADING = 4
MIN_SHARE = 0.05
"""A cause below one in twenty is not worth an experiment of its own."""

SETTLED = 0.95
"""Above this the leading cause needs a cure, not an experiment."""

STEPS_BEFORE = 5
"""Steps recorded before the one that broke: enough to see a value grow."""

BAD_FAMILIES = ("precision", "data", "optimisation", "software", "hardware", "evaluation", "rl", "config")
COMM_FAMILIES = ("distributed",)
SPEED_FAMILIES = ("performance",)
_OUTCOME = (
    "signal.replay.", "signal.rerun.", "signal.module.", "signal.embedding.", "signal.attention.",
    "compare.baseline.differs_in_precision",
)  # fmt: skip
"""Facts that a trace or a rerun gives."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One thing to do."""

    title: str  # what to do, as an order
    why: str  # which explanations it separates
    command: str  # what to type or paste; empty if nothing
    outcomes: tuple[str, ...] = ()  # each possible outcome and what it means
    checks: tuple[str, ...] = ()  # facts of the diagnosis that it answers, with the shares they lead to


@dataclass(frozen=True, slots=True)
class Plan:
    """Experiments for one run, in order."""

    leading: tuple[tuple[str, float], ...]  # causes that lead, with their shares
    experiments: tuple[Experiment, ...]  # what to do, the most decisive first; empty if nothing is open
    reason: str = ""  # why there is nothing to do; empty otherwise


def plan(
    diagnosis: Diagnosis, *, has_trace: bool = False, has_rerun: bool = False, step: int | None = None
) -> Plan:
    """Make a plan for a diagnosed run.

    Args:
        diagnosis: The diagnosis.
        has_trace: The run has a numeric replay trace.
        has_rerun: The run has reruns of a captured step.
        step: First step that was not finite, if known.
    """
    faults = [
        f for f in diagnosis.findings if f.severity in {"fatal", "degrading"} and f.probability >= MIN_SHARE
    ]
    leading = tuple((f.cause.id, f.probability) for f in faults[:MAX_LEADING])
    if not faults:
        return Plan((), (), f"no fault to explain: {diagnosis.summary}")
    families = {finding.cause.family for finding in faults[:MAX_LEADING]}
    checks = tuple(check for check in diagnosis.next_checks if check.fact.startswith(_OUTCOME))
    found: list[Experiment] = []
    if families.intersection(BAD_FAMILIES):
        if not has_rerun:
            found.append(_rerun(faults, checks))
        if not has_trace:
            found.append(_record(faults, checks, step))
    if families.intersection(COMM_FAMILIES):
        found.append(_flight(faults))
    if families.intersection(SPEED_FAMILIES):
        found.append(_profile(faults))
    found += [_other(check) for check in diagnosis.next_checks if check not in checks][: 5 - len(found)]
    if faults[0].probability >= SETTLED and (has_rerun or has_trace):
        return Plan(
            leading,
            (),
            f"{leading[0][0]} stands at {leading[0][1]:.0%} with the traces at hand: apply its fix",
        )
    if not found:
        return Plan(leading, (), "the traces at hand hold all that a rerun could add")
    return Plan(leading, tuple(found))


def _names(faults: list[Finding]) -> str:
    return ", ".join(f"{f.cause.id} ({f.probability:.0%})" for f in faults[:MAX_LEADING])


def _moves(checks: tuple[NextCheck, ...]) -> tuple[str, ...]:
    return tuple(
        f"{c.fact}: {c.cause_id} at {c.if_true:.0%} if true, {c.if_false:.0%} if not" for c in checks
    )


def _rerun(faults: list[Finding], checks: tuple[NextCheck, ...]) -> Experiment:
    return Experiment(
        title="Save the failing step as a capsule and run it again with one thing changed at a time",
        why=f"separates precision, data, weights and kernel: {_names(faults)}",
        command=(
            'record(model, "replay.jsonl", capsule="capsule", scaler=scaler)   # two lines in the script, see below\n'
            "analyzer replay run capsule --model my_project:build_model -o RUN/replay.parquet\n"
            "analyzer diagnose RUN"
        ),
        outcomes=(
            "float32 finite, every loss scale bad: the range of the format (overflow, untrained rows, masks)",
            "a smaller loss scale finite: calibration of the scaler, no fault",
            "float32 bad too: data, weights, loss or model code",
            "the operator's inputs give a fitting result in float64: the kernel",
            "two runs of the same step differ: a transient fault of the hardware",
        ),
        checks=_moves(checks),
    )


def _record(faults: list[Finding], checks: tuple[NextCheck, ...], step: int | None) -> Experiment:
    window = "" if step is None else f", full_steps=({max(0, step - STEPS_BEFORE)}, {step + 2})"
    when = (
        "from the first step on" if step is None else f"from step {max(0, step - STEPS_BEFORE)} to {step + 1}"
    )
    return Experiment(
        title=f"Record the tensors of every module {when}",
        why=f"names the first tensor that is not finite, and how near the limit the others were: {_names(faults)}",
        command=f'from analyzer.replay import record\nrecord(model, "RUN/replay.jsonl", scaler=scaler{window})',
        outcomes=(
            "a forward output is bad while its inputs are finite and large: overflow in that module",
            "only gradients are bad, at the input of a norm or an embedding: gradient overflow there",
            "the first input is bad: the batch",
            "a parameter is bad before the step: the checkpoint or an earlier update",
        ),
        checks=_moves(checks),
    )


def _flight(faults: list[Finding]) -> Experiment:
    return Experiment(
        title="Switch on the flight recorder of every rank and keep its dumps beside the logs",
        why=f"names the rank that never joined the collective, or joined with another size: {_names(faults)}",
        command=(
            "export TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_NCCL_TRACE_BUFFER_SIZE=2000\n"
            "export TORCH_FR_DUMP_TEMP_FILE=RUN/flight_ TORCH_NCCL_DEBUG_INFO_TEMP_FILE=RUN/flight_"
        ),
    )


def _profile(faults: list[Finding]) -> Experiment:
    return Experiment(
        title="Profile three steps after the warm-up on two ranks, the slow one and another",
        why=f"splits the step into compute, exposed communication, copies and idle time: {_names(faults)}",
        command=(
            "with torch.profiler.profile(schedule=torch.profiler.schedule(wait=10, warmup=2, active=3)) as prof:\n"
            "    ...  # prof.step() after each step\n"
            'prof.export_chrome_trace(f"RUN/trace_rank{rank}.json.gz")'
        ),
    )


def _other(check: NextCheck) -> Experiment:
    return Experiment(
        title=check.how, why=f"{check.cause_id}: {check.meaning}", command="", checks=_moves((check,))
    )
