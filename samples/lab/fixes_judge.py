"""Did a fix help? The fault's own outcome test on the fixed run, and how much of the fault's effect is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .outcome import TESTS, Case, Truth, Verdict, worse

HALF = 0.5
"""A fix that leaves more than half of the effect is not worth a restart."""

INCOMPARABLE = frozenset({"overfit", "leak", "shown-gap"})
"""Tests of runs whose data are not the twin's, so that the twin's last evaluation is no yardstick."""

STRETCH = 4
"""The longest stretch of spoiled batches: their own loss is high whatever is done to the updates."""

MILDER = {"loss-spike-slow-recovery": "recovered-loss-spike"}
"""What is left when the fix works on the aftermath: the spoiled batch itself still costs its loss."""

LARGEST = 1e6


def _numbers(values: list[float]) -> np.ndarray:
    return np.clip(
        np.nan_to_num(np.asarray(values, dtype=np.float64), nan=LARGEST, posinf=LARGEST, neginf=-LARGEST),
        -LARGEST,
        LARGEST,
    )


def _ended(case: Case) -> float:
    """Share of what the twin learned that the run lacks at its end, 0..1."""
    until = min(truth.clean_eval[-1][0] for truth in (case.run, case.twin))
    last, twin = (
        _numbers([value for step, value in truth.clean_eval if step <= until])[-1]
        for truth in (case.run, case.twin)
    )
    reach = max(case.twin.clean_eval[0][1] - twin, 1e-9)
    return float(np.clip((last - twin) / reach, 0.0, 1.0))


def _first(case: Case) -> float:
    run, twin = (float(np.median(_numbers(truth.loss[:3]))) for truth in (case.run, case.twin))
    return max(0.0, float(np.log(max(run, 1e-9) / max(twin, 1e-9))))


def _excess(case: Case, start: int, length: int) -> float:
    """Mean of the loss above the twin's over some steps from one on."""
    run, twin = (_numbers(truth.loss[start : start + length]) for truth in (case.run, case.twin))
    count = min(len(run), len(twin))
    return max(0.0, float(np.mean(run[:count] - twin[:count]))) if count else 0.0


def _swing(case: Case) -> float:
    tail = _numbers(case.run.loss)[len(case.run.loss) // 3 :]
    return float(np.std(tail - np.polyval(np.polyfit(np.arange(len(tail)), tail, 1), np.arange(len(tail)))))


def _risen(case: Case) -> float:
    """How far the last evaluation lies above the twin's best, which the judge sets to that of the faulty run."""
    first, best = case.twin.clean_eval[0][1], min(value for _, value in case.twin.clean_eval)
    last = float(_numbers([case.run.clean_eval[-1][1]])[0])
    return max(0.0, last - best) / max(first - best, 0.05 * abs(first), 1e-9)


def _flattered(case: Case) -> float:
    """By how much the shown evaluation is better than the clean one, in shares of what was learned."""
    shown, clean = (
        float(_numbers([values[-1][1]])[0]) for values in (case.run.shown_eval, case.run.clean_eval)
    )
    return max(0.0, clean - shown) / max(case.run.clean_eval[0][1] - clean, 0.2 * abs(clean), 1e-9)


def _bad_evaluations(case: Case) -> float:
    return float(np.mean([not np.isfinite(value) for _, value in case.run.shown_eval]))


def _time(case: Case) -> float:
    run, twin = (
        float(np.median(truth.step_time_s[-max(5, len(truth.step_time_s) // 5) :]))
        for truth in (case.run, case.twin)
    )
    return max(0.0, run / twin - 1)


EFFECTS: dict[str, Callable[[Case], float]] = {
    "worse": _ended,
    "gap": _ended,
    "disordered": _ended,
    "shifts": _ended,
    "nonfinite": lambda case: 1.0 if not np.isfinite(case.run.loss[-3:]).any() else _ended(case),
    "starts-high": lambda case: max(_ended(case), min(1.0, _first(case) / np.log(6.0))),
    "multiple": _first,
    "spike": lambda case: _excess(case, case.onset + STRETCH, len(case.run.loss)),
    "pocket": lambda case: _excess(case, case.onset, max(6, len(case.run.loss) // 9)),
    "jumps": lambda case: _excess(case, case.onset, max(5, len(case.run.loss) // 12)),
    "jumps-down": lambda case: max(
        0.0, float(np.median(case.twin.loss[-10:]) - np.median(case.run.loss[-10:]))
    ),
    "swings": _swing,
    "overfit": _risen,
    "leak": _flattered,
    "eval-nonfinite": _bad_evaluations,
    "calibrates": lambda case: float((~np.isfinite(case.run.grad_norm)).sum()),
    "waits": _time,
}
"""For each outcome test of a trial: what is left of the fault, 0 for nothing."""


def _milder(faulty: Verdict, fixed: Verdict) -> bool:
    return faulty.label in MILDER and fixed.label == MILDER[faulty.label]


def verdict_of(test: str, faulty: Case, fixed: Truth) -> tuple[str, str]:
    """Judge a fixed run.

    Args:
        test: Name of the fault's outcome test.
        faulty: The faulty run with its twins.
        fixed: What happened in the fixed run.

    Returns:
        cured, mitigated or no effect; and the numbers, in words.
    """
    case = replace(faulty, run=fixed)
    verdict = TESTS[test](case)
    if test == "overfit":  # the yardstick is the best that this data set gave, not a twin with more samples
        best = replace(case, twin=faulty.run)
        before, after = _risen(replace(best, run=faulty.run)), _risen(best)
        good = after < 0.25
    else:
        before, after = EFFECTS[test](faulty), EFFECTS[test](case)
        good = test in INCOMPARABLE or not worse(case).bit
    words = f"effect {before:.3g} -> {after:.3g}; {verdict.because}"
    if good and (not verdict.bit or _milder(TESTS[test](faulty), verdict)):
        return "cured", words
    return ("mitigated" if after <= HALF * before else "no effect"), words
