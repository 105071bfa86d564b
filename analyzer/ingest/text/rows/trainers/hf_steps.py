"""Which optimizer step a console row of a Hugging Face trainer belongs to, when the row does not say.

Three sources, the best first: the progress bar around the row; the epoch of the row times the steps per
epoch; the speed that the trainer states in its last row. What none of them settles stays without a step.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from analyzer.ingest.text.log_line import MAX_STEP
from analyzer.ingest.text.rows.trainers.hf_rows import RowColumns
from analyzer.model.arrays import Integers, Values
from analyzer.model.tables import NULL_INT
from analyzer.record import NamedTuple


def usual_gap(steps: Integers) -> int | None:
    """Most frequent distance between neighbouring steps; None below three rows or without a majority.

    Args:
        steps: int64, shape (n_rows,): ``NULL_INT`` where unknown.
    """
    gaps = np.diff(steps[steps != NULL_INT])
    gaps = gaps[gaps > 0]
    if gaps.size < 2:
        return None
    values, counts = np.unique(gaps, return_counts=True)
    best = int(counts.argmax())
    return int(values[best]) if int(counts[best]) * 2 > gaps.size else None


class StepModel(NamedTuple):
    """How steps follow from rows."""

    total: int | None  # length of the training bar, None if there is no bar
    below_first: bool  # whether the bar below a row tells its step, else the bar above
    bar_grid: int  # distance of the steps that the bars tell
    per_epoch: float | None  # integers of an epoch, None if unknown
    grid: int | None  # distance between two training rows, None if unknown

    def steps(self, rows: RowColumns, before: int = NULL_INT) -> Integers:
        """Integers of all rows, ``NULL_INT`` where unknown.

        Args:
            rows: The rows.
            before: Step of the row that stands before them.
        """
        training = rows.training()
        steps = _with_bars(rows, self)
        if self.per_epoch:
            _from_epochs(steps, rows.column("epoch"), self.per_epoch, self.grid)
        # An evaluation row belongs to the step at which training paused for it.
        padded = np.concatenate(([before], steps))
        sure = np.concatenate(([True], training | (steps != NULL_INT)))
        filled: Integers = padded[np.maximum.accumulate(np.where(sure, np.arange(padded.size), 0))]
        return filled[1:]


def fit_steps(
    rows: RowColumns, total_steps: int | None, epochs: float | None, logging_steps: int | None
) -> StepModel:
    """Find out how the steps of rows are told.

    Args:
        rows: At least one row, in file order.
        total_steps: Integers that the run intends, if the log says so.
        epochs: Epochs that it intends, if the log says so.
        logging_steps: Integers between two rows, if the log says so.
    """
    training = rows.training()
    epoch = rows.column("epoch")
    total = _training_total(rows.bars()[training], total_steps)
    model = StepModel(total, below_first=True, bar_grid=1, per_epoch=None, grid=None)
    if total is not None:
        model = _bar_model(rows, total, epoch)
    steps = _with_bars(rows, model)
    grid = logging_steps or usual_gap(steps[training])
    per_epoch = _steps_per_epoch(steps, epoch, total or total_steps, epochs)
    if per_epoch is None and (found := _from_speed(rows, epoch[training])):
        per_epoch, grid = found
    return StepModel(model.total, model.below_first, model.bar_grid, per_epoch, grid)


def _training_total(bars: Integers, stated: int | None) -> int | None:
    """Length of the training bar: bars of evaluations have another one."""
    totals = bars[:, [3, 1]].ravel()
    totals = totals[totals != NULL_INT]
    if not totals.size:
        return None
    if stated is not None and bool((totals == stated).any()):
        return stated
    values, first, counts = np.unique(totals, return_index=True, return_counts=True)
    return int(values[np.lexsort((first, -counts))[0]])


def _picked(bars: Integers, total: int, *, below_first: bool) -> Integers:
    """Step by the preferred bar of the right length, else by the other."""
    above = np.where(bars[:, 1] == total, bars[:, 0], NULL_INT)
    below = np.where(bars[:, 3] == total, bars[:, 2], NULL_INT)
    first, second = (below, above) if below_first else (above, below)
    return np.where(first == NULL_INT, second, first)


def _bar_model(rows: RowColumns, total: int, epoch: Values) -> StepModel:
    """Take the bar below each row or the one above it, whichever makes the better sequence.

    tqdm draws the bar again right under a row that it printed itself: that one is exact, and the one
    before may lag by a redraw. A row that was printed past tqdm is followed by the bar of the next step.
    """
    unknown = rows.training() & (rows.stated() == NULL_INT)
    bars, epochs = rows.bars()[unknown], epoch[unknown]
    below = _picked(bars, total, below_first=True)
    above = _picked(bars, total, below_first=False)
    below_first = _quality(below, epochs) >= _quality(above, epochs)
    grid = usual_gap(below if below_first else above) or 1
    return StepModel(total, below_first, grid, per_epoch=None, grid=None)


def _with_bars(rows: RowColumns, model: StepModel) -> Integers:
    """Stated steps, and those that the bars tell."""
    steps = rows.stated()
    if model.total is None:
        return steps
    told = _picked(rows.bars(), model.total, below_first=model.below_first)
    if not model.below_first:
        # lags behind the grid on which most rows stand
        lag = np.where((told != NULL_INT) & rows.training(), -told % model.bar_grid, 0)
        told = told + lag
    return np.where(steps == NULL_INT, told, steps)


def _quality(steps: Integers, epochs: Values) -> tuple[float, float, float]:
    """How well a sequence reads as logged steps: regular, on multiples of its gap, in proportion to the epoch."""
    known = steps != NULL_INT
    steps, epochs = steps[known], epochs[known]
    gaps = np.diff(steps)
    if not gaps.size:
        return (0.0, 0.0, 0.0)
    gap, count = Counter(gaps.tolist()).most_common(1)[0]
    on_grid = int((steps % gap == 0).sum()) / steps.size if gap > 1 else 1.0
    return (round(count / gaps.size, 2), round(on_grid, 2), -_offset(steps, epochs))


def _offset(steps: Integers, epochs: Values) -> float:
    """Step at epoch 0 if the points lie on a line; half steps and less are rounding of the epoch."""
    known = np.isfinite(epochs)
    steps, epochs = steps[known], epochs[known]
    if steps.size < 3 or epochs[-1] == epochs[0]:
        return 0.0
    slope = int(steps[-1] - steps[0]) / float(epochs[-1] - epochs[0])
    return float(round(abs(_median(steps - slope * epochs))))


def _steps_per_epoch(steps: Integers, epoch: Values, total: int | None, epochs: float | None) -> float | None:
    """From the banner, else from the row with the largest epoch, where rounding of the epoch matters least."""
    if total and epochs:
        return total / epochs
    known = (steps != NULL_INT) & (steps != 0) & (epoch > 0)
    if not known.any():
        return None
    largest = float(epoch[known].max())
    return int(steps[known & (epoch == largest)].max()) / largest


def _from_speed(rows: RowColumns, epoch: Values) -> tuple[float, int] | None:
    """Integers per epoch and interval of the rows, from the speed that the trainer states at its end.

    It rounds steps per second to three digits, so the estimate is good to a percent; it is only used if
    all rows then agree with a constant interval.
    """
    if rows.last is None:
        return None
    final = dict(zip(rows.last.names, rows.last.values, strict=True))
    runtime_s, speed, last = (final.get(k, 0.0) for k in ("train_runtime", "train_steps_per_second", "epoch"))
    epochs = epoch[~np.isnan(epoch)]
    if not (runtime_s > 0 and speed > 0 and last > 0) or epochs.size < 5:
        return None
    estimate = runtime_s * speed / last
    overall = float(epochs[-1]) / epochs.size  # finer than one gap, whose epochs are rounded to two digits
    typical = _median(np.diff(epochs))
    if not (math.isfinite(estimate) and math.isfinite(overall) and typical > 0):
        return None
    interval = round(overall * estimate)
    if interval < 1 or abs(typical - overall) > 0.011:
        return None
    per_epoch = interval / overall
    fits = bool((np.abs(epochs - np.arange(1, epochs.size + 1) * overall) < 0.02).all())
    return (per_epoch, interval) if fits and abs(per_epoch - estimate) < 0.03 * estimate else None


def _from_epochs(steps: Integers, epoch: Values, per_epoch: float, grid: int | None) -> None:
    """Integers of rows without a bar; multiples of ``grid`` if rounding of the epoch allows it."""
    slack = 0.0051 * per_epoch + 1  # transformers 4 rounds the epoch to two digits
    unknown = np.flatnonzero((steps == NULL_INT) & (epoch >= 0) & (epoch < 1e6))
    exact = epoch[unknown] * per_epoch
    fitting = exact <= MAX_STEP
    unknown, exact = unknown[fitting], exact[fitting]
    rounded = np.rint(exact).astype(np.int64)
    nearest = np.rint(exact / grid).astype(np.int64) * grid if grid else rounded
    steps[unknown] = np.where(np.abs(nearest - exact) <= slack, nearest, rounded)


def _median(values: Values) -> float:
    return float(np.sort(values)[values.size // 2])
