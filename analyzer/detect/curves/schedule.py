"""What the schedules did: the course of the learning rate, planned changes of batch or length, and the loss at them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, number, refs_at
from analyzer.detect.curve import has_steps, take
from analyzer.detect.curves.learning_rate import AT_PEAK
from analyzer.detect.curves.numerics.bad_points import loss_points, schedule_moves
from analyzer.detect.robust import noise
from analyzer.detect.setup.ended import progress_of
from analyzer.lazy_regex import LazyRegex
from analyzer.model.arrays import Values
from analyzer.model.name_words import read_name, words_of
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Series
from analyzer.record import replace

VANISHED = 1e-14
"""Below, no update of Adam reaches the last digit of a weight of a millionth; schedules that end do so at 1e-8 or at 0."""

ENDED = 1e-6
"""A millionth of the peak moves nothing; decays to a tenth or a hundredth of it are meant."""

ENDED_SHARE, ENDED_POINTS = 0.2, 10
"""A fifth of the log at a rate of nothing: a schedule that ends with the run has one such point, the last."""

HALF, FEW = 0.5, 5
"""Of fewer rows half, five at least: one row may be rounded or a warm-up's first, the later half is neither."""

DIGITS = 1000
"""Steps of the last digit up to the peak: three digits, as loggers round."""

MOVING_POINTS = 20
"""Logged rates from which "it never decayed" can be read."""

JUMP = 1.8
"""Factor between neighbours that is a configured change: schedules are doubled or halved, decays go in small steps."""

NEAR = 10
"""Points on each side of a change whose medians are compared."""

SHIFT = 0.05
"""A level that moves by less than a twentieth is not what anyone asks about."""

STANDS = 0.02
"""Neighbours within two percent: what the rate moves from row to row along a slow decay."""

MAX_CHANGES = 50
"""A run with more planned changes than that changes all the time."""

LEAP, LEAP_ROWS = 3.0, 5
"""Three times the former peak from one row to the next, for five rows and to the end: no schedule goes on like that."""

SPENT, SPENT_ROWS, HALF_WAY = 0.005, 5, 0.5
"""Half a percent of the peak is the end of a schedule, five rows show its shape, and half of the plan is still to come."""

OFF_SHAPE = 0.1
"""A straight or a cosine descent leaves its shape by no more than the digits that were printed, and a tenth."""

_CYCLES = LazyRegex(r"(?i)restart|cycl|cosine_with_hard|sgdr|plateau")
"""Schedules that come back by themselves, or go by the loss."""

_BATCH = LazyRegex(
    r"^(?:global[ _-]?)?batch[ _-]?size$|^(?:cur(?:rent)?_?)?seq(?:uence)?_?len(?:gth)?$|^curriculum_seqlen$|^seqlen$"
)
"""Columns that tell the size of a step."""

_STAGE = LazyRegex(
    r"(?i)^(?:(?:train(?:ing)?|curriculum)[ _/-]?)?(?:stage|phase|level|lesson|difficulty|resolution)$"
)
"""Columns that number the stages of a training: each may begin with a harder task, and so with a higher loss."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.schedule.*``."""
    rates = view.curve("learning_rate")
    if rates is not None:
        rates = take(rates, np.isfinite(rates.value) & (rates.value >= 0))
    if rates is not None and len(rates) >= 2 and float(rates.value.max()) > 0:
        _course(out, view, rates)
    _vanished(out, view)
    _spent(out, view, rates)
    _against_config(out, view, rates)
    _changes(out, view, rates)


def _course(out: FactWriter, view: RunView, rates: Series) -> None:
    values = rates.value
    top, last = int(values.argmax()), len(rates) - 1
    refs = refs_at(rates, [last, top])
    peak = float(values[top])
    out.put("end_share", float(values[-1]) / peak, refs)
    gone = values <= ENDED * peak
    tail = int(np.argmax(~gone[::-1])) if (~gone).any() else 0
    if len(rates) >= MOVING_POINTS and not _rounded(values):
        early = tail >= max(ENDED_POINTS, ENDED_SHARE * len(rates)) and top < len(rates) - tail
        out.put("ended_early", early, refs_at(rates, [len(rates) - tail, last]) if tail else refs)
        if early:
            out.put("ended_step", rates.step_at(len(rates) - tail), refs_at(rates, [len(rates) - tail]))
        full = float(values[-1]) >= AT_PEAK * peak
        decaying = _meant_to_decay(view, peak)
        out.put("rising_to_end", full and float(values[last - 1]) < float(values[last]), refs)
        if decaying is not None:
            out.put("never_decayed", full and decaying, refs)
    elif tail >= max(FEW, HALF * len(rates)) and top < len(rates) - tail and not _one_digit(values):
        out.put("ended_early", value=True, refs=refs_at(rates, [len(rates) - tail, last]))
    _leap(out, rates)


def _leap(out: FactWriter, rates: Series) -> None:
    """How many times its former peak a rate that had begun to fall leaps to, to stay there to the end."""
    values = rates.value
    row = int(np.argmax(values[1:] / np.maximum(values[:-1], 1e-300))) + 1
    before, after = values[:row], values[row:]
    fell = before.size >= LEAP_ROWS and before[-1] < before.max()
    if fell and after.size >= LEAP_ROWS and after.min() >= LEAP * before.max() > 0:
        out.put("leaps", float(after[0] / before.max()), refs_at(rates, [row, row - 1]))


def _vanished(out: FactWriter, view: RunView) -> None:
    """Whether a learning rate, also of one of several optimizers, has gone below what any float can add to a weight."""
    for name in view.run.metrics.names:
        if read_name(name).quantity != "learning_rate" and not {"lr", "learning_rate"} & set(words_of(name)):
            continue
        series = view.curve(name)
        if series is not None and 0 < float(series.value[-1]) <= VANISHED:
            out.put("vanished", value=True, refs=end_of(series))
            out.put("vanished_rate", float(series.value[-1]), end_of(series))
            return


def _spent(out: FactWriter, view: RunView, rates: Series | None) -> None:
    """The share of the plan at which a straight or cosine descent reached its end; only of a log that ends there."""
    course = str(view.config_value("train.scheduler") or "")
    if rates is None or len(rates) < SPENT_ROWS or _CYCLES.search(course):
        return
    top = len(rates) - 1 - int(rates.value[::-1].argmax())
    values, steps = rates.value[top:], rates.step[top:]
    if (
        values.size < SPENT_ROWS
        or values[0] <= 0
        or values[-1] > SPENT * values[0]
        or (np.diff(values) > 0).any()
    ):
        return
    at = (
        (steps - steps[0]).astype(np.float64)
        if has_steps(rates)
        else np.arange(values.size, dtype=np.float64)
    )
    progress = progress_of(view)
    if at[-1] <= 0 or progress is None or progress.planned <= 0:
        return
    shape, way = values / values[0], at / at[-1]
    off = min(float(np.abs(shape - ideal).max()) for ideal in (1.0 - way, 0.5 * (1.0 + np.cos(np.pi * way))))
    digits = float(shape[shape > 0].min()) / 2.0  # a rate that prints as 0 may be half of the last digit
    share = progress.reached / progress.planned
    if off <= OFF_SHAPE + min(digits, OFF_SHAPE) and share <= HALF_WAY:
        out.put("spent_at", share, refs_at(rates, [len(rates) - 1, top]))


def _rounded(values: Values) -> bool:
    """Whether the column holds so few digits that a small rate prints as 0: its least value is one last digit."""
    positive = values[values > 0]
    least, peak = float(positive.min()), float(positive.max())
    whole = np.abs(positive / least - np.round(positive / least)) < 1e-6
    coarse = _one_digit(values) and peak / least <= DIGITS and whole.all() and least < peak
    falling = positive[positive < peak]
    return bool(coarse and falling.size and (np.diff(falling) == 0.0).any())  # a rounded slope is a staircase


def _one_digit(values: Values) -> bool:
    """Whether the least rate above 0 is a power of ten, so that the column may print anything below as 0."""
    least = float(values[values > 0].min())
    return abs(least / 10.0 ** round(float(np.log10(least))) - 1.0) < 1e-6


def _meant_to_decay(view: RunView, peak: float) -> bool | None:
    if not isinstance(view.config_value("train.scheduler"), str):
        return None
    return schedule_moves(view, peak)


def _against_config(out: FactWriter, view: RunView, rates: Series | None) -> None:
    asked = view.config("train.learning_rate")
    value = None if asked is None else number(asked.value)
    if rates is not None and len(rates) and asked is not None and value is not None and value > 0:
        top = int(rates.value.argmax())
        out.put("peak_over_asked", float(rates.value[top]) / value, [*refs_at(rates, [top]), asked.ref])
    wanted = number(view.config_value("train.max_steps"))
    for entry in view.run.config.entries:
        tail = entry.word
        if tail in {"total_num_steps", "lr_decay_iters", "total_num_update", "decay_steps", "lr_decay_steps"}:
            horizon = number(entry.value)
            if horizon is not None and horizon > 0 and wanted is not None and wanted > 0:
                out.put("horizon_ratio", horizon / wanted, [entry.ref])
                return


def _changes(out: FactWriter, view: RunView, rates: Series | None) -> None:
    """A configured change and whether the level of the loss moved at it."""
    found = sorted(_change_steps(view, rates), key=lambda change: change[0])
    if rates is not None or found:
        start = refs_at(rates, [0]) if rates is not None and len(rates) else []
        out.put("changes", len(found), [ref for _, _, ref in found] or start)
    if not found:
        return
    step, what, ref = found[0]
    out.put("change_step", step, [ref])
    out.put("change_what", what, [ref])
    points = view.once(loss_points)
    curve = None if points is None else points.curve()
    if curve is None or not has_steps(curve):
        return
    shifts = [
        (ratio, step, what, ref) for step, what, ref in found if (ratio := _shift(curve, step)) is not None
    ]
    if shifts:
        ratio, step, what, ref = max(shifts, key=lambda shift: abs(np.log(shift[0])))
        moved = abs(np.log(ratio)) > np.log(1.0 + SHIFT)
        out.put("shifts_loss", bool(moved), [ref])
        if moved:
            out.put("change_step", step, [ref])
            out.put("change_what", what, [ref])
            out.put("shift_ratio", ratio, [ref])
            out.put("accounts_for_rise", _explains(curve, step), [ref])


def _change_steps(view: RunView, rates: Series | None) -> Iterator[tuple[int, str, SourceRef]]:
    columns = [(name, "the size of a step") for name in view.run.metrics.names if _BATCH.match(name)]
    for name, what in columns:
        series = view.curve(name)
        if series is not None:
            yield from _jumps(series, f"{name} ({what})", 1.05)
    for name in view.run.metrics.names:
        if _STAGE.match(name) and (stages := view.curve(name)) is not None:
            yield from _jumps(replace(stages, value=stages.value + 1.0), name, 1.05)  # counted from 0 as well
    if rates is not None:
        yield from _jumps(rates, "the learning rate", JUMP)


def _jumps(series: Series, what: str, factor: float) -> Iterator[tuple[int, str, SourceRef]]:
    """Places at which a value that stood still before and after changed by a factor."""
    if not has_steps(series) or len(series) < 4:
        return
    values = np.where(np.isfinite(series.value) & (series.value > 0), series.value, np.nan)
    ratio = values[1:] / values[:-1]  # of row + 1 over row; a comparison with NaN is False
    jump = np.maximum(ratio, 1.0 / ratio) >= factor
    still = np.abs(ratio - 1.0) < STANDS
    rows = np.flatnonzero(jump[1:-1] & still[:-2] & still[2:]) + 2
    for row in rows[:MAX_CHANGES]:
        yield int(series.step[row]), what, series.ref(int(row))


def _shift(curve: Series, step: int) -> float | None:
    """Level after a change over the level before, None if the points are too few or the difference is noise."""
    at = int(np.searchsorted(curve.step, step))
    before, after = curve.value[max(at - NEAR, 0) : at], curve.value[at : at + NEAR]
    if before.size < 3 or after.size < 3:
        return None
    low, high = float(median_of(before)), float(median_of(after))
    if low <= 0 or high <= 0:
        return None
    scatter = (
        3.0 * noise(np.concatenate((before, after))) * 1.2533 * np.sqrt(1 / before.size + 1 / after.size)
    )
    return high / low if abs(high - low) > scatter else 1.0


def _explains(curve: Series, step: int) -> bool:
    """Whether the curve goes on falling, or stands, after the change: the rise is a step and no growth."""
    after = curve.value[np.searchsorted(curve.step, step) :]
    if after.size < 2 * NEAR:
        return False
    return bool(median_of(after[-NEAR:]) <= 1.1 * median_of(after[:NEAR]))
