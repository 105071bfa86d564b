"""Outcome tests: did the fault bite? They compare what really happened in a run with its healthy twins.

A test sees the ground truth of the run, of its twin (same configuration and seed) and of a second twin (another
seed), whose difference is the noise that no verdict may be smaller than. It never sees the name of the fault.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .truth import Truth

WORSE_SHARE = 0.12
"""A run ends worse if it lost this share of what its twin learned; below it seeds differ as much."""

LEARNS = {"scratch": 0.08, "tuned": 0.015}
"""A healthy run lowers its evaluation loss by that share; a tuned one starts near its goal."""

LEVEL_SHARE = 0.25
"""A tuned run has little left to learn; what it loses is then measured by a quarter of the loss that it began with."""

RISES_SHARE, FLAT_SHARE = 0.35, 0.25
"""A loss rises if it loses a third of its twin's fall again, and is flat if it never had a quarter of it."""

NOISE_FACTOR = 3.0
"""A difference counts if it is three times that of two healthy seeds."""


@dataclass(frozen=True)
class Verdict:
    """Outcome of a test.

    Attributes:
        bit: Whether the fault showed.
        because: The numbers, in words.
        label: Another cause id that the outcome asks for, None for the fault's own.
        course: What the training loss did, where the test looks at the end only: rises, flat or slower.
    """

    bit: bool
    because: str
    label: str | None = None
    course: str = ""


@dataclass(frozen=True)
class Case:
    """What a test sees; ``onset`` is the first step at which the fault acted."""

    run: Truth
    twin: Truth
    other: Truth
    onset: int


def _finite(values: list[float]) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    return array[np.isfinite(array) & (np.abs(array) < 1e12)]


def _final_eval(truth: Truth, until: int) -> float:
    """Clean evaluation loss at the last point up to a step, inf if it is not a number."""
    values = [value for step, value in truth.clean_eval if step <= until]
    last = values[-1] if values else float("nan")
    return last if np.isfinite(last) else float("inf")


def _until(case: Case) -> int:
    return min(t.clean_eval[-1][0] for t in (case.run, case.twin, case.other))


def learned(truth: Truth, until: int) -> float:
    """How far the clean evaluation loss fell from its first point."""
    return truth.clean_eval[0][1] - _final_eval(truth, until)


def worse(case: Case) -> Verdict:
    """Ends worse on clean held-out data than the twins, beyond their own difference."""
    until = _until(case)
    run, twin, other = (_final_eval(t, until) for t in (case.run, case.twin, case.other))
    reach = max(learned(case.twin, until), LEVEL_SHARE * abs(case.twin.clean_eval[0][1]), 1e-9)
    gap = run - twin
    noise = abs(twin - other)
    bit = gap > max(WORSE_SHARE * reach, NOISE_FACTOR * noise)
    return Verdict(
        bit,
        f"clean eval ends at {run:.4g}, twins at {twin:.4g} and {other:.4g}; {gap / reach:.0%} of their reach",
        course=course_of(case),
    )


def course_of(case: Case) -> str:
    """What the training loss did, measured by the fall of the twin's.

    ``rises``: it lost what it had or climbed over its start; ``flat``: it hardly moved; ``slower``: it fell, only not
    as far, which without a twin looks like a sound run of a harder task.
    """
    width = max(5, len(case.run.loss) // 8)
    run, twin = _smooth(case.run.loss, width), _smooth(case.twin.loss, width)
    fall = max(float(twin[0] - twin[-1]), LEVEL_SHARE * abs(float(twin[0])), 1e-9)
    start, least, end = float(run[0]), float(run.min()), float(run[-1])
    scatter = NOISE_FACTOR * _noise(case.run) / np.sqrt(width)
    if end - least > max(RISES_SHARE * fall, scatter):
        return "rises"
    return "flat" if start - least < FLAT_SHARE * fall else "slower"


def as_logged(case: Case, log_every: int, *, means: bool) -> Case:
    """What the log shows of a case: every n-th step, or means over n steps.

    Args:
        case: The ground truth, step by step.
        log_every: Steps between logged points.
        means: Whether the logger writes the mean since its last row, as Trainer does.
    """

    def thin(values: list[float]) -> list[float]:
        if not means or log_every == 1:
            return values[::log_every]
        whole = len(values) // log_every * log_every
        return np.asarray(values[:whole], float).reshape(-1, log_every).mean(axis=1).tolist()

    def thinned(truth: Truth) -> Truth:
        def marks(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
            return [(step // log_every, value) for step, value in points]

        return Truth(
            thin(truth.loss),
            marks(truth.clean_eval),
            marks(truth.shown_eval),
            thin(truth.step_time_s),
            thin(truth.grad_norm),
            truth.memory_mb,
        )

    return Case(thinned(case.run), thinned(case.twin), thinned(case.other), case.onset // log_every)


def nonfinite(case: Case) -> Verdict:
    """The loss is not finite to the end, while the twin's is."""
    tail = case.run.loss[-3:]
    bit = not np.isfinite(tail).any() and np.isfinite(case.twin.loss[-3:]).all()
    return Verdict(bool(bit), f"last losses {', '.join(f'{v:.3g}' for v in tail)}")


def overfit(case: Case) -> Verdict:
    """Clean evaluation rises from its own minimum by a quarter of what had been learned, while training falls."""
    values = [v for _, v in case.run.clean_eval]
    first, least, last = values[0], min(values), _final_eval(case.run, case.run.clean_eval[-1][0])
    risen = (last - least) / max(first - least, 0.05 * abs(first), 1e-9)
    fell = np.mean(_finite(case.run.loss)[-5:]) < 0.7 * least
    twin = [v for _, v in case.twin.clean_eval]
    twin_risen = (twin[-1] - min(twin)) / max(twin[0] - min(twin), 1e-9)
    return Verdict(
        bool(risen > max(0.25, 3 * twin_risen) and fell),
        f"clean eval {first:.3g}, at best {least:.3g}, at the end {last:.3g} (twin rose by {twin_risen:.0%} of its fall)",
    )


def _smooth(values: list[float], width: int = 5) -> np.ndarray:
    array = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=1e6, posinf=1e6, neginf=-1e6)
    kernel = min(width, len(array))
    return np.convolve(array, np.ones(kernel) / kernel, mode="valid")


def _noise(truth: Truth) -> float:
    """Robust size of the step-to-step scatter of the loss over the second half of the run."""
    tail = _finite(truth.loss)[len(truth.loss) // 2 :]
    return (
        float(1.4826 * np.median(np.abs(np.diff(tail) - np.median(np.diff(tail)))) + 1e-9)
        if len(tail) > 4
        else 1e-9
    )


def spike(case: Case) -> Verdict:
    """A peak far above the twin's loss; whether and how fast it is forgotten decides the cause."""
    run = np.nan_to_num(np.asarray(case.run.loss), nan=1e9, posinf=1e9)
    after = run[case.onset : case.onset + 8]
    before = float(np.median(run[max(0, case.onset - 8) : case.onset + 1]))
    peak = float(after.max()) if len(after) else before
    height = peak - before
    if height < max(8 * _noise(case.twin), 0.25 * abs(before)):
        return Verdict(False, f"peak {peak:.3g} over {before:.3g}: within the noise")
    ended = worse(case)
    rest = run[case.onset + 8 :]
    tail = float(np.median(rest[: max(6, len(run) // 8)])) if len(rest) else peak
    slow = (
        ended.bit
        or tail - before > 0.15 * height
        or tail - before > max(0.3 * abs(before), 6 * _noise(case.twin))
    )
    label = "loss-spike-slow-recovery" if slow else "recovered-loss-spike"
    return Verdict(True, f"loss {before:.3g} -> {peak:.3g}, then {tail:.3g}; {ended.because}", label)


def pocket(case: Case) -> Verdict:
    """A stretch of raised loss after the onset against the twin."""
    length = max(6, len(case.run.loss) // 9)
    inside = np.median(_finite(case.run.loss[case.onset : case.onset + length]))
    twin = np.median(_finite(case.twin.loss[case.onset : case.onset + length]))
    raised = float(inside - twin)
    bit = raised > max(4 * _noise(case.twin) / np.sqrt(length), 0.15 * abs(float(twin)))
    return Verdict(bool(bit), f"median loss {inside:.3g} in the stretch, twin {twin:.3g}")


def starts_high(case: Case) -> Verdict:
    """The first losses are far above the twin's and the run ends worse or learns later."""
    first, twin = (float(np.median(np.nan_to_num(t.loss[:3], nan=1e9))) for t in (case.run, case.twin))
    ended = worse(case)
    bit = first > 2.5 * twin and (ended.bit or first > 6 * twin)
    return Verdict(bit, f"starts at {first:.3g}, twin at {twin:.3g}; {ended.because}")


def multiple(case: Case) -> Verdict:
    """The loss is a multiple of what the same data cost the twin, from the first step on."""
    first, twin = (
        float(np.median(_finite(t.loss[:3]))) if len(_finite(t.loss[:3])) else float("inf")
        for t in (case.run, case.twin)
    )
    return Verdict(first > 2.5 * twin, f"starts at {first:.3g}, twin at {twin:.3g}")


def swings(case: Case) -> Verdict:
    """The smoothed loss goes up and down over the second half by far more than the twin's."""

    def size(truth: Truth) -> float:
        tail = _smooth(truth.loss, max(3, len(truth.loss) // 25))[len(truth.loss) // 3 :]
        trend = np.polyval(np.polyfit(np.arange(len(tail)), tail, 1), np.arange(len(tail)))
        return float(np.std(tail - trend))

    run, twin = size(case.run), max(size(case.twin), size(case.other))
    scale = abs(float(np.median(_finite(case.twin.loss)[-20:]))) if len(_finite(case.twin.loss)) else 1.0
    ended = worse(case)
    if (
        not np.isfinite(case.run.loss[-3:]).any()
        or _final_eval(case.run, _until(case)) > 1.5 * case.twin.clean_eval[0][1]
    ):
        return Verdict(ended.bit, f"diverged: {ended.because}", "learning-rate-too-high")
    bit = run > max(3 * twin, 0.1 * scale)
    return Verdict(bool(bit), f"swings of {run:.3g}, twin {twin:.3g}")


def disordered(case: Case) -> Verdict:
    """Ends worse than the twins, and the loss swings with the order of the data."""
    ended = worse(case)
    swung = swings(case)
    return Verdict(ended.bit, f"{ended.because}; {swung.because}", course="rises" if swung.bit else "slower")


def shifts(case: Case) -> Verdict:
    """Ends worse than the twins, and the loss jumps where the fault began."""
    ended = worse(case)
    jumped = jumps(case)
    return Verdict(
        ended.bit, f"{ended.because}; {jumped.because}", course="rises" if jumped.bit else "slower"
    )


def jumps(case: Case) -> Verdict:
    """The loss level after the onset is above that before it, and above the twin's."""
    window = max(5, len(case.run.loss) // 12)
    before = float(np.median(_finite(case.run.loss[max(0, case.onset - window) : case.onset])))
    tail = _finite(case.run.loss[case.onset : case.onset + window])
    after = float(np.median(tail)) if len(tail) else float("inf")
    twin_after = float(np.median(_finite(case.twin.loss[case.onset : case.onset + window])))
    raised = after - max(before, twin_after)
    bit = raised > max(4 * _noise(case.twin) / np.sqrt(window), 0.12 * abs(before))
    if not np.isfinite(case.run.loss[-3:]).any():
        return Verdict(True, f"loss {before:.3g} before, not finite after", None)
    return Verdict(
        bool(bit), f"loss {before:.3g} before the resume, {after:.3g} after, twin {twin_after:.3g}"
    )


def jumps_down(case: Case) -> Verdict:
    """The loss drops at the onset below the twin's by far more than its noise."""
    tail = _finite(case.run.loss[case.onset :])
    twin = _finite(case.twin.loss[case.onset :])
    if len(tail) < 5 or len(twin) < 5:
        return Verdict(False, "too little of the run is left after the onset")
    gap = float(np.median(twin[-10:]) - np.median(tail[-10:]))
    return Verdict(
        gap > max(3 * _noise(case.twin), 0.2 * abs(float(np.median(twin)))),
        f"loss ends {gap:.3g} under the twin's",
    )


def gap(case: Case) -> Verdict:
    """Training loss ends well under clean evaluation loss, far more than in the twin."""
    ended = worse(case)
    train = float(np.median(_finite(case.run.loss)[-8:]))
    clean = _final_eval(case.run, _until(case))
    bit = ended.bit and clean > 1.5 * train
    return Verdict(bool(bit), f"train {train:.3g}, {ended.because}")


def shown_gap(case: Case) -> Verdict:
    """The evaluation that the run shows is far worse than the clean one."""
    return _shown(case, sign=1)


def leak(case: Case) -> Verdict:
    """The evaluation that the run shows is far better than the clean one."""
    return _shown(case, sign=-1)


def _shown(case: Case, *, sign: int) -> Verdict:
    if not case.run.shown_eval:
        return Verdict(False, "the run logged no evaluation")
    step, shown = case.run.shown_eval[-1]
    clean = _final_eval(case.run, step)
    reach = max(case.run.clean_eval[0][1] - clean, LEVEL_SHARE * abs(clean), 1e-9)
    return Verdict(
        bool(sign * (shown - clean) > 0.4 * reach), f"shown evaluation {shown:.3g}, clean {clean:.3g}"
    )


def eval_nonfinite(case: Case) -> Verdict:
    """Every shown evaluation is not a number while training is."""
    bad = [not np.isfinite(v) for _, v in case.run.shown_eval]
    return Verdict(
        bool(bad) and all(bad) and bool(np.isfinite(case.run.loss).all()),
        f"{sum(bad)} of {len(bad)} evaluations",
    )


def calibrates(case: Case) -> Verdict:
    """Gradients are not finite in the first steps and finite afterwards, and the run learns like its twin."""
    norms = np.isfinite(case.run.grad_norm)
    first = int(np.argmax(norms)) if norms.any() else len(norms)
    good = 3 <= first < len(norms) // 2 and norms[first:].mean() > 0.9
    return Verdict(
        bool(good),
        f"the first {first} gradient norms are not finite, {norms[first:].mean():.0%} of the others are",
    )


def _medians(case: Case) -> tuple[float, float, float]:
    """Median step time before and after the onset, and that of the twin after it."""
    times = case.run.step_time_s
    split = max(3, case.onset)
    last = times[-max(5, len(times) // 5) :]
    return (
        statistics.median(times[2:split] or times),
        statistics.median(last),
        statistics.median(case.twin.step_time_s[2:]),
    )


def slower(case: Case) -> Verdict:
    """Steps at the end take 1.5 times as long as before the onset, and as in the twin."""
    before, after, twin = _medians(case)
    return Verdict(
        after > 1.5 * before and after > 1.5 * twin,
        f"{before * 1e3:.1f} ms, then {after * 1e3:.1f} ms; twin {twin * 1e3:.1f} ms",
    )


def waits(case: Case) -> Verdict:
    """Most of a step is waiting: it takes twice the twin's time from the start."""
    _, after, twin = _medians(case)
    return Verdict(after > 2 * twin, f"{after * 1e3:.1f} ms a step, twin {twin * 1e3:.1f} ms")


def stalls(case: Case) -> Verdict:
    """Single steps take many times the median, far more than in the twin."""

    def tail(truth: Truth) -> tuple[float, float]:
        times = np.asarray(truth.step_time_s[2:])
        return float(np.mean(times > 4 * np.median(times))), float(
            np.percentile(times, 98) / np.median(times)
        )

    run, twin = tail(case.run), tail(case.twin)
    bit = run[0] > max(0.03, 2 * twin[0]) and run[1] > max(5.0, 2 * twin[1])
    return Verdict(bool(bit), f"{run[0]:.0%} of the steps take over 4 medians (twin {twin[0]:.0%})")


def grows(case: Case) -> Verdict:
    """Resident memory grows through the run by far more than the twin's."""
    run, twin = (
        t.memory_mb[-1] - t.memory_mb[1] if len(t.memory_mb) > 2 else 0.0 for t in (case.run, case.twin)
    )
    return Verdict(run > 40 + 3 * max(twin, 0), f"memory grew by {run:.0f} MB, twin {twin:.0f} MB")


TESTS: dict[str, Callable[[Case], Verdict]] = {
    "worse": worse,
    "nonfinite": nonfinite,
    "overfit": overfit,
    "spike": spike,
    "pocket": pocket,
    "starts-high": starts_high,
    "multiple": multiple,
    "swings": swings,
    "jumps": jumps,
    "disordered": disordered,
    "shifts": shifts,
    "jumps-down": jumps_down,
    "gap": gap,
    "shown-gap": shown_gap,
    "leak": leak,
    "eval-nonfinite": eval_nonfinite,
    "calibrates": calibrates,
    "slower": slower,
    "waits": waits,
    "stalls": stalls,
    "grows": grows,
}


def twin_is_healthy(twin: Truth, other: Truth, start: str) -> Verdict:
    """Whether two seeds of a configuration (from scratch, or tuned) learn, end near their best and stay finite."""
    for truth in (twin, other):
        if not np.isfinite(truth.loss).all():
            return Verdict(False, "its loss is not finite")
        values = [v for _, v in truth.clean_eval]
        fall = values[0] - min(values)
        if not fall > LEARNS[start] * abs(values[0]):
            return Verdict(False, f"it does not learn: clean eval {values[0]:.3g}, at best {min(values):.3g}")
        if values[-1] - min(values) > 0.15 * fall:
            return Verdict(False, f"clean eval rises from {min(values):.3g} to {values[-1]:.3g}")
    return Verdict(True, f"clean eval {values[0]:.3g} -> {values[-1]:.3g}")
