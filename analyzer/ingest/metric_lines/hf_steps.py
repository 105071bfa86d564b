"""Which optimizer step a console row of a Hugging Face trainer belongs to, when the row does not say.

Three sources, the best first: the progress bar around the row; the epoch of the row times the steps per
epoch; the speed that the trainer states in its last row. What none of them settles stays without a step.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from analyzer.ingest.log_line import Origin

Bar = tuple[int, int]
"""Steps done and steps intended, as a bar shows them."""


@dataclass(slots=True)
class Row:
    """One row of the console.

    Attributes:
        origin: Where it stands.
        values: What it prints.
        step: Optimizer step: as stated, later as inferred; None if unknown.
        before: The last bar drawn before it.
        after: The bar drawn right after it.
    """

    origin: Origin
    values: dict[str, float]
    step: int | None
    before: Bar | None
    after: Bar | None

    @property
    def is_training(self) -> bool:
        """Whether it is a point of the training curve."""
        return "loss" in self.values


def usual_gap(steps: Sequence[int | None]) -> int | None:
    """Most frequent distance between neighbouring steps; None below three rows or without a majority."""
    known = [step for step in steps if step is not None]
    gaps = Counter(b - a for a, b in itertools.pairwise(known) if b > a)
    if sum(gaps.values()) < 2:
        return None
    gap, count = gaps.most_common(1)[0]
    return gap if count * 2 > sum(gaps.values()) else None


def infer_steps(
    rows: Sequence[Row], total_steps: int | None, epochs: float | None, logging_steps: int | None
) -> None:
    """Fill in the steps of rows that state none.

    Args:
        rows: All rows in file order; changed in place.
        total_steps: Steps that the run intends, if the log says so.
        epochs: Epochs that it intends, if the log says so.
        logging_steps: Steps between two rows, if the log says so.
    """
    training = [row for row in rows if row.is_training]
    total = _training_total(training, total_steps)
    if total is not None:
        _from_bars(rows, training, total)
    grid = logging_steps or usual_gap([row.step for row in training])
    per_epoch = _steps_per_epoch(rows, total or total_steps, epochs)
    if per_epoch is None and (found := _from_speed(rows)):
        per_epoch, grid = found
    if per_epoch:
        _from_epochs(rows, per_epoch, grid)
    for earlier, later in itertools.pairwise(rows):
        # An evaluation row belongs to the step at which training paused for it.
        if later.step is None and not later.is_training:
            later.step = earlier.step


def _training_total(training: Sequence[Row], stated: int | None) -> int | None:
    """Length of the training bar: bars of evaluations have another one."""
    totals = Counter(bar[1] for row in training for bar in (row.after, row.before) if bar is not None)
    if stated in totals:
        return stated
    return totals.most_common(1)[0][0] if totals else None


def _from_bars(rows: Sequence[Row], training: Sequence[Row], total: int) -> None:
    """Take the bar after each row or the one before it, whichever makes the better sequence.

    tqdm draws the bar again right under a row that it printed itself: that one is exact, and the one
    before may lag by a redraw. A row that was printed past tqdm is followed by the bar of the next step.
    """

    def pick(row: Row, *, after_first: bool) -> int | None:
        bars = (row.after, row.before) if after_first else (row.before, row.after)
        return next((bar[0] for bar in bars if bar is not None and bar[1] == total), None)

    open_rows = [row for row in training if row.step is None]
    after = [pick(row, after_first=True) for row in open_rows]
    before = [pick(row, after_first=False) for row in open_rows]
    epochs = [row.values.get("epoch") for row in open_rows]
    after_first = _quality(after, epochs) >= _quality(before, epochs)
    grid = usual_gap(after if after_first else before) or 1
    for row in rows:
        if row.step is not None:
            continue
        row.step = pick(row, after_first=after_first)
        if row.step is not None and row.is_training and not after_first and row.step % grid:
            row.step += grid - row.step % grid  # lags behind the grid on which most rows stand


def _quality(steps: Sequence[int | None], epochs: Sequence[float | None]) -> tuple[float, float, float]:
    """How well a sequence reads as logged steps: regular, on multiples of its gap, in proportion to the epoch."""
    known = [(step, epoch) for step, epoch in zip(steps, epochs, strict=True) if step is not None]
    gaps = Counter(b[0] - a[0] for a, b in itertools.pairwise(known))
    if not gaps:
        return (0.0, 0.0, 0.0)
    gap, count = gaps.most_common(1)[0]
    on_grid = sum(step % gap == 0 for step, _ in known) / len(known) if gap > 1 else 1.0
    return (round(count / sum(gaps.values()), 2), round(on_grid, 2), -_offset(known))


def _offset(known: Sequence[tuple[int, float | None]]) -> float:
    """Step at epoch 0 if the points lie on a line; half steps and less are rounding of the epoch."""
    points = [(step, epoch) for step, epoch in known if epoch is not None]
    if len(points) < 3 or points[-1][1] == points[0][1]:
        return 0.0
    slope = (points[-1][0] - points[0][0]) / (points[-1][1] - points[0][1])
    offset = abs(_median(step - slope * epoch for step, epoch in points))
    return float(round(offset))


def _steps_per_epoch(rows: Sequence[Row], total: int | None, epochs: float | None) -> float | None:
    """From the banner, else from the row with the largest epoch, where rounding of the epoch matters least."""
    if total and epochs:
        return total / epochs
    known = [(row.values["epoch"], row.step) for row in rows if row.step and row.values.get("epoch", 0.0) > 0]
    if known:
        epoch, step = max(known)
        return step / epoch
    return None


def _from_speed(rows: Sequence[Row]) -> tuple[float, int] | None:
    """Steps per epoch and interval of the rows, from the speed that the trainer states at its end.

    It rounds steps per second to three digits, so the estimate is good to a percent; it is only used if
    all rows then agree with a constant interval.
    """
    final = rows[-1].values
    runtime_s, speed, last = (final.get(k, 0.0) for k in ("train_runtime", "train_steps_per_second", "epoch"))
    epochs = [row.values["epoch"] for row in rows if row.is_training and "epoch" in row.values]
    if not (runtime_s > 0 and speed > 0 and last > 0) or len(epochs) < 5:
        return None
    estimate = runtime_s * speed / last
    typical = _median(b - a for a, b in itertools.pairwise(epochs))
    overall = epochs[-1] / len(epochs)  # finer than one gap, whose epochs are rounded to two digits
    interval = round(overall * estimate)
    if interval < 1 or typical <= 0 or abs(typical - overall) > 0.011:
        return None
    per_epoch = interval / overall
    fits = all(abs(epoch - (i + 1) * overall) < 0.02 for i, epoch in enumerate(epochs))
    return (per_epoch, interval) if fits and abs(per_epoch - estimate) < 0.03 * estimate else None


def _from_epochs(rows: Sequence[Row], per_epoch: float, grid: int | None) -> None:
    """Steps of rows without a bar; multiples of ``grid`` if rounding of the epoch allows it."""
    slack = 0.0051 * per_epoch + 1  # transformers 4 rounds the epoch to two digits
    for row in rows:
        epoch = row.values.get("epoch")
        if row.step is not None or epoch is None or not 0 <= epoch < 1e6:
            continue
        step = epoch * per_epoch
        nearest = round(step / grid) * grid if grid else round(step)
        row.step = nearest if abs(nearest - step) <= slack else round(step)


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)  # the statistics module costs 5 ms to import
    return ordered[len(ordered) // 2]
