"""Outcome tests: did the fault bite? Decided by exit code, files and the libraries' own text."""

from __future__ import annotations

import math
import re
from statistics import fmean, stdev

from .plan import Outcome, Result

JUMP_DEVIATIONS = 3.0  # a jump beyond three deviations of the points before it is no noise
POINTS_BEFORE, POINTS_AFTER = 8, 8


def ends_with(*patterns: str, codes: tuple[int, ...] = (1,), silent: str = "") -> Outcome:
    """The run stopped early with one of `codes`, and the log holds each of `patterns`.

    Args:
        patterns: Regular expressions over the console log.
        codes: Exit codes that count.
        silent: Regular expression that must not be found (text that another failure would print).
    """

    def outcome(result: Result) -> tuple[bool, str]:
        if "training finished after" in result.text:
            return False, f"came to its planned end, exit code {result.exit_code}"
        found = [re.search(pattern, result.text, re.MULTILINE) for pattern in patterns]
        seen = [" ".join(hit.group(0).split()) for hit in found if hit is not None]
        words = f"exit code {result.exit_code}" + "".join(f"; {text[:160]!r}" for text in seen)
        if silent and (other := re.search(silent, result.text)):
            return False, f"{words}; but also {other.group(0)!r}"
        return len(seen) == len(patterns) and result.exit_code in codes, words

    return outcome


def _number(value: object) -> float:
    """A logged number, which newer Trainers print as text."""
    return float(value) if isinstance(value, str | int | float) else math.nan


def norms_break(result: Result) -> tuple[bool, str]:
    """The gradient norm is not finite from some logged step to the last one."""
    rows = [row for row in result.history if "grad_norm" in row]
    bad = [not math.isfinite(_number(row["grad_norm"])) for row in rows]
    if not bad or not bad[-1]:
        return False, f"{len(rows)} records, exit code {result.exit_code}, the last gradient norm is finite"
    first = len(bad) - (bad[::-1].index(False) if False in bad else len(bad))
    words = f"gradient norm not finite from step {rows[first]['step']} to the last one, {rows[-1]['step']}"
    return True, f"{words}; exit code {result.exit_code}"


def breaks_after_good_steps(result: Result) -> tuple[bool, str]:
    """As `norms_break`, but the first logged step was still good."""
    broken, words = norms_break(result)
    rows = [row for row in result.history if "grad_norm" in row]
    if broken and not math.isfinite(_number(rows[0]["grad_norm"])):
        return False, f"{words}; no good step was logged before"
    return broken, words


def jumps_at(step: int) -> Outcome:
    """The loss jumps up after `step`, from which the run was resumed."""

    def outcome(result: Result) -> tuple[bool, str]:
        rows = [(int(row["step"]), _number(row["loss"])) for row in result.history if "loss" in row]
        before = [loss for at, loss in rows if at <= step][-POINTS_BEFORE:]
        after = [loss for at, loss in rows if at > step][:POINTS_AFTER]
        if len(before) < POINTS_BEFORE or len(after) < POINTS_AFTER:
            return False, f"{len(before)} records before and {len(after)} after step {step} are too few"
        jump = fmean(after) - fmean(before)
        words = f"loss {fmean(before):.3f} before and {fmean(after):.3f} after step {step}"
        words += f", deviation before {stdev(before):.3f}; exit code {result.exit_code}"
        return jump > JUMP_DEVIATIONS * stdev(before), words

    return outcome
