"""Whether a fault bit: what a run left, against its twin and a second sound run. Faults have no name here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .loop import Record, Rows

LEARNED = {"classes": 0.4, "tokens": 0.3, "numbers": 0.3, "other": 0.1}
"""Share of its first held-out error that a sound run loses at least."""

WORSE, NOISE = 0.15, 3.0
"""Lost is a share of what the twin gained, and more than three times what two seeds differ by."""


def error(truth: Mapping[str, float]) -> float:
    """What a run got wrong: answers where there are any, else the loss."""
    found = 1 - truth["val_accuracy"] if "val_accuracy" in truth else truth["val_loss"]
    return found if math.isfinite(found) else math.inf


def last(record: Record) -> float:
    """Error at the end, over the last two epochs."""
    tail = [error(truth) for truth in record.truth[-2:]]
    return sum(tail) / len(tail)


def sound(record: Record, start: float) -> bool:
    """Whether a run without a fault learned and kept it."""
    values = [error(truth) for truth in record.truth]
    if not all(map(math.isfinite, values)) or start <= 0:
        return False
    losses = [value for _, value in record.epochs.get("val_loss", [])]
    kept = not losses or losses[-1] <= 1.25 * min(losses) + 0.02 or last(record) <= 0.03
    gained = (start - last(record)) / start
    return gained >= 0.35 and last(record) - min(values) <= 0.25 * (start - min(values)) and kept


def bit(test: str, run: Record, twin: Record, other: Record, start: float) -> tuple[bool | None, str]:
    """Whether it bit, None where that is not clear, with the numbers in words."""
    if test == "reads":
        return _reads(run)
    if test in {"pace", "memory", "stalls"}:
        return _pace(run, twin, test)
    if test == "jump":
        return _jump(run, twin, other)
    mine, its = _losses(run), _losses(twin)
    if test == "floor":
        apart = mine[-1] - its[-1]
        return _clear(apart / (0.5 * its[-1] + 0.15)), f"training loss ends {apart:.3g} above the twin's"
    if test == "rows":
        high = max(a / max(b, 1e-9) for a, b in zip(mine, its, strict=False))
        return _clear(high / 3.0), f"an epoch's loss is {high:.3g} times the twin's"
    if test == "gap":
        held_out = [value for _, value in run.epochs["val_loss"]]
        said = f"held-out loss ends at {held_out[-1]:.3g}, its best was {min(held_out):.3g}; training at {mine[-1]:.3g}"
        return _clear(
            (held_out[-1] / min(held_out) - 1) / 0.25 if mine[-1] <= 0.5 * held_out[-1] else 0.0
        ), said
    ends = [last(record) for record in (run, twin, other)]
    reach, noise = max(start - ends[1], 1e-9), abs(ends[1] - ends[2])
    said = f"error on unseen data ends at {ends[0]:.3g}, twins at {ends[1]:.3g} and {ends[2]:.3g}, from {start:.3g}"
    return _clear((ends[0] - ends[1]) / max(WORSE * reach, NOISE * noise)), said


def _clear(share: float) -> bool | None:
    """Yes from the threshold on, no below two thirds of it, and undecided between; what is not finite is a yes."""
    if not share <= 1.0:
        return True
    return None if share > 2 / 3 else False


def _reads(run: Record) -> tuple[bool | None, str]:
    name = "val_accuracy" if "val_accuracy" in run.epochs else "val_loss"
    said, true = run.epochs[name][-1][1], run.truth[-1][name]
    if name == "val_accuracy":
        return _clear(abs(said - true) / 0.12), f"held-out accuracy reads {said:.3g} and is {true:.3g}"
    ratio = max(said / max(true, 1e-9), true / max(said, 1e-9))
    return _clear((ratio - 1) / 0.5), f"held-out loss reads {said:.3g} and is {true:.3g} of the variance"


def _pace(run: Record, twin: Record, test: str) -> tuple[bool | None, str]:
    name = {"memory": "memory_mb", "stalls": "step_time"}.get(test, "epoch_time")
    rows = "steps" if test == "stalls" else "epochs"
    mine, its = ([value for _, value in getattr(record, rows)[name]] for record in (run, twin))
    if test == "stalls":  # the slowest steps against the usual one
        mine, its = [sorted(mine)[int(len(mine) * 0.97)]], [sorted(mine)[len(mine) // 2]]
    found = mine[-1] >= 1.3 * its[-1] and mine[-1] - its[-1] > (60.0 if test == "memory" else 0.05)
    return found, f"{name} at the end {mine[-1]:.3g}, to compare with {its[-1]:.3g}"


def _jump(run: Record, twin: Record, other: Record) -> tuple[bool | None, str]:
    mine, its, noise = (_losses(record) for record in (run, twin, other))
    reach = max(its[0] - its[-1], 1e-9)
    apart = max(a - b for a, b in zip(mine[1:], its[1:], strict=False))
    seeds = max(abs(a - b) for a, b in zip(noise[1:], its[1:], strict=False))
    share = apart / max(0.12 * reach, min(2 * seeds, 0.5 * reach))
    return _clear(share), f"training loss at most {apart:.3g} above the twin's of the same epoch"


def _losses(record: Record) -> list[float]:
    return [value for _, value in record.epochs.get("loss", [])]


def happened(run: Record) -> set[str]:
    """Symptom classes that the numbers of a run show, and dead units that were counted."""
    found = set()
    losses = [value for _, value in run.epochs.get("loss", [])]
    held_out = [value for _, value in run.epochs.get("val_loss", [])]
    if not all(map(math.isfinite, [*losses, *held_out])):
        found.add("nonfinite-forward")
    elif losses and (losses[-1] > 1.3 * losses[0] > 0 or max(losses) > 5 * losses[0] > 0):
        found.add("loss-divergence")
    elif losses and losses[0] > 0 and min(losses) > 0.9 * losses[0]:
        found.add("loss-plateau")
    return found


def differing(run: Record, twin: Record, other: Record) -> list[str]:
    """Names of the logged curves by which a run can be told from its twin."""
    found = []
    for rows in ("epochs", "steps"):
        mine, its, seeds = (getattr(record, rows) for record in (run, twin, other))
        names = [
            name for name in mine if name not in found and name != "data_time"
        ]  # a wait needs the time beside it
        found += [name for name in names if _differs(mine[name], its.get(name), seeds.get(name))]
    return found


def _differs(run: Sequence[tuple[float, float]], twin: Rows | None, other: Rows | None) -> bool:
    if not twin or not other:
        return True
    mine, its, seeds = ([value for _, value in curve] for curve in (run, twin, other))
    count = min(len(mine), len(its), len(seeds))
    apart = [abs(a - b) for a, b in zip(mine[-count:], its[-count:], strict=True)]
    noise = [abs(a - b) for a, b in zip(seeds[-count:], its[-count:], strict=True)]
    size = sum(map(abs, its)) / len(its)
    local = [max(noise[max(i - 1, 0) : i + 2]) for i in range(count)]
    reach = max(its) - min(its)
    jumps = any(not a <= 5 * n + 0.1 * reach + 0.02 * size for a, n in zip(apart[1:], local[1:], strict=True))
    return jumps or not sum(apart) <= 2.0 * sum(noise) + 0.02 * size * count
