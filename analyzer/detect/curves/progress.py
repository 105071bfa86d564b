"""Whether a run made progress and kept it: every claim from as many points as it needs, and not from one gate of five.

Compared is with the first points and with the lowest running median, so that an explosion in the first steps is not
taken for the level at which the run began.
"""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, ends_of, refs_at
from analyzer.detect.curve import from_first_count, take
from analyzer.detect.curves.anew import began_anew, epochs_began_anew, learns_since_counter_began
from analyzer.detect.curves.evaluation import evaluations
from analyzer.detect.curves.numerics.bad_points import grow_from_row_to_row, loss_points
from analyzer.detect.curves.score_gains import (
    HALVED,
    SOME,
    at_ceiling,
    clearly_gained,
    gained,
    gained_decibels,
    gains_below,
    near_best,
    ranks_better,
    unit_of,
)
from analyzer.detect.curves.span import begins_in_the_middle, continues_a_model, has_floor, long_enough
from analyzer.detect.curves.trend import SCATTER_POINTS, Trend, fell_once, rises_and_falls, trend
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.score_words import read_score
from analyzer.model.tables import Series

STILL, STILL_POINTS = 0.02, 4
"""Four means of an epoch, or four logged windows, within two percent of the first: nothing moved that anybody would see."""

HARDLY = 0.10
"""A model that begins at random and learns anything loses more than a tenth of its first loss within a few epochs."""

FEW_ROWS = 50
"""A small fall over fifty rows and more is told from their scatter; over fewer it may be the way of a few batches."""

ABOVE = 1.03
"""Three percent above the first loss: more than two means over the same samples differ by."""

EXPLODED = 3.0
"""Three times the first loss is no scatter of a batch or of an epoch."""

MANY = 20
"""Points from which the first level is a median and no single point."""

BACK = 0.8
"""An explosion that leaves four fifths of the first loss has cost the run what it learned."""

ROSE, ROSE_POINTS = 1.5, 8
"""Half again above the best level and there to the end, from eight points on."""

ROSE_HELD_OUT = 1.25
"""A quarter above the first evaluation, as no two of one model are."""

REGAINED_ROWS = 3
"""Three rows before a high one, of which two are needed, and three after it: one alone on either side may be a batch."""

ROSE_OF_GAIN = 0.1
"""A rise of less than a tenth of what was gained before is the scatter of a small loss."""

TURNED_ROWS, TURNED_SHARE, TURNED_OVER_NOISE, WORTH_LOSING = 4, 0.15, 2.0, 0.05
"""Four means of an epoch in a row, each above the one before, take back a seventh of all that was gained: one order of 120, and
no way of a loss that is learned. What scatters as much as it rose shows nothing,
nor does the drift of a loss that never lost a twentieth of its first value."""

JUMP, JUMP_FLOOR, LATELY = 10.0, 0.1, 8
"""A last value of ten times the level of late is no batch of hard samples; below a tenth a loss is near zero anyway."""

SWING, SWING_POINTS, SWING_LEVEL = 0.5, 8, 0.2
"""Neighbours that differ by half of the level again and again, while a fifth of the first loss is left or more."""

UNFINISHED, UNFINISHED_POINTS = 0.25, 6
"""A curve that nears its end has lost less than a quarter of its whole fall in its last third; thirds of two points."""

WILD = 10.0
"""Ten times what an untrained model loses: no batch of good samples costs that once the run has begun."""

HALF, EARLY, LITTLE = 0.5, 0.75, 0.2
"""A loss that lost less than half of its first level, three quarters of that in the first third of the log, or less than a fifth over
fifty rows, stands high: of 332 public sound runs six end so without a score, of 113 faulty trainings of unseen kinds 29."""

FROM_ABOVE, HIGH_SCORE = 2.0, 0.9
"""A first value of twice the last fell within the first rows, whose level hides it; nine of ten right is a low loss."""

LINE_POINTS, LINE_FALL, LINE_THIRD = 100, 0.4, 0.45
"""A line loses a third of its fall in its first third, a curve that learns more than a half; a hundred points tell them apart. What lost
two fifths of its first value has learned something, however straight."""

STEADY_POINTS, STEADY = 12, 0.9
"""Where nine of ten points are below the one before, a dozen tell a line: of 236 sound runs none is one."""

STEP_SIDE, STEP_SHARE, STEP_LEVEL = 4, 0.8, 0.15
"""Four points on each side; four fifths of all that was gained at once, and a sixth of that on either side."""

FLED = 100.0
"""Times its first value that a loss lies below zero which has no bottom; a mean likelihood ends some units below."""


def loss_trend(view: RunView) -> tuple[Series, Trend] | None:
    """The finite training losses and their numbers; None below two points."""
    points = view.once(loss_points)
    curve = None if points is None else points.curve()
    return _with_trend(None if curve is None else from_first_count(curve))


def held_out_trend(view: RunView) -> tuple[Series, Trend] | None:
    """The finite evaluation losses and their numbers."""
    return _with_trend(view.once(evaluations))


def scores(view: RunView) -> tuple[tuple[Series, Trend], ...]:
    """Scores of the whole task, turned so that less is better, with their numbers; held-out ones first."""
    found: list[tuple[str, str, Series, Trend]] = []
    for name in view.run.metrics.names:
        reading = read_score(name)
        series = view.curve(name) if reading.whole and reading.phase != "other" else None
        known = _with_trend(series, sign=-float(reading.better))
        if known is not None:
            found.append(("" if reading.phase == "eval" else "train", name, *known))
    return tuple((series, numbers) for _, _, series, numbers in sorted(found, key=lambda entry: entry[:2]))


def _with_trend(series: Series | None, sign: float = 1.0) -> tuple[Series, Trend] | None:
    if series is None:
        return None
    series = take(series, np.isfinite(series.value))
    numbers = trend(sign * series.value)
    return None if numbers is None else (series, numbers)


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.progress.*``; the losses of policies follow the rewards, so theirs are not judged."""
    loss, held_out, scored = view.once(loss_trend), view.once(held_out_trend), view.once(scores)
    if loss is not None:
        _course(out, *loss)
        _unfinished(out, loss, held_out)
        _in_a_line(out, view, loss, scored)
        _begins(out, view, loss[0])
        batches = held_out is None and loss[1].of_few_batches() and begins_in_the_middle(view, loss[0])
        if not batches and not view.once(grow_from_row_to_row):
            rose_too = _rose_too(held_out)
            scatters = _like_batches(loss[1].values) and not rose_too
            # What rose tenfold on held-out data as well ran away, whatever a score says of it.
            wild = rose_too and loss[1].last >= WILD * loss[1].first
            with_score = not wild and scored_best_at_end(view)
            since_best = with_score and gains_below(scored, loss[0].ref(loss[1].best_row))
            _breaks(out, *loss, grows_with_score=with_score, gains_since_best=since_best, scatters=scatters)
        _level_change(out, view, *loss)
        anew, refs = began_anew(view, *loss, None if held_out is None else held_out[0])
        out.put("began_anew", anew, refs)
        out.put("epochs_began_anew", epochs_began_anew(view, refs[-1]) if anew else None, refs)
    perfect = at_ceiling(scored)
    if scored:
        out.put("at_ceiling", perfect is not None, ends_of(perfect or scored[0][0]))
    risen = [series for series, n in scored if clearly_gained(n) or gained_decibels(series, n)]
    if risen or loss is not None:
        points = max((len(series) for series in risen), default=0)
        out.put("score_points", points, ends_of(risen[0] if risen or loss is None else loss[0]))
    learned, refs = _learned(loss, held_out, scored)
    if learned is False and loss is not None and (perfect or begins_in_the_middle(view, loss[0])):
        learned = None  # what it learned, it learned before the first row
    out.put("learned", learned, refs)
    # An error that is the loss itself is no score that says how low it is.
    beside = tuple(
        each for each in scored if loss is None or not np.array_equal(each[1].values, loss[1].values)
    )
    _hardly(out, view, loss, beside)
    _stands_high(out, view, loss, beside)
    kept, refs = _kept(loss, held_out, scored)
    out.put("kept", kept, refs)


def _course(out: FactWriter, series: Series, numbers: Trend) -> None:
    refs = ends_of(series)
    out.put("points", len(series), refs)
    out.put("first", numbers.first, refs)
    out.put("last", numbers.last, refs)
    if numbers.first > 0:
        out.put("fall_share", numbers.fall / numbers.first, refs)
    out.put(
        "every_point_better", len(series) >= STILL_POINTS and bool((np.diff(numbers.values) < 0).all()), refs
    )
    if len(series) >= STILL_POINTS and numbers.first > 0:
        moved = float(np.abs(numbers.smooth - numbers.first).max())
        # Scatter that is wider than the band hides a fall of its size.
        quiet = numbers.scatter <= 2 * STILL * numbers.first
        still = moved <= STILL * numbers.first or (
            not numbers.falls() and abs(numbers.fall) <= numbers.margin
        )
        out.put("still", bool(still) if quiet else None, refs)
    if len(series) >= STILL_POINTS and numbers.first > 0:
        _pace(out, numbers, refs)


def _begins(out: FactWriter, view: RunView, series: Series) -> None:
    """Whether rows stood before the first one; unknown where neither steps nor epochs are counted."""
    late = begins_in_the_middle(view, series)
    known = late or series.step_at(0) is not None
    out.put("begins_late", late if known else None, refs_at(series, [0]))


def _pace(out: FactWriter, numbers: Trend, refs: list[SourceRef]) -> None:
    """Whether the loss falls at the end as it fell before, and whether it fell more in its last third than in its first.

    What is learned falls fast first; samples that are learned by heart one by one, and rates that are far too small, do not.
    """
    start, a, b, end = (float(median_of(part)) for part in _quarters(numbers.values))
    whole = start - end
    out.put("third_over_first", a / start if start > 0 else None, refs)
    if numbers.values.size < UNFINISHED_POINTS:
        return
    if numbers.falls() and whole > max(numbers.margin, 0.0):
        out.put("accelerates", b - end > start - a and b - end > numbers.margin / 2, refs)


def _unfinished(out: FactWriter, loss: tuple[Series, Trend], held_out: tuple[Series, Trend] | None) -> None:
    """Whether the training loss still falls as it fell before, or the held-out loss where single batches hide it."""
    if len(loss[0]) < UNFINISHED_POINTS or loss[1].first <= 0:
        return
    known = [each for each in (loss, held_out) if each is not None and len(each[0]) >= UNFINISHED_POINTS]
    going_on = [_goes_on(numbers) for _, numbers in known]
    shown = known[going_on.index(True)] if True in going_on else loss
    out.put("unfinished", any(going_on), ends_of(shown[0]))


def _in_a_line(
    out: FactWriter, view: RunView, loss: tuple[Series, Trend], scored: tuple[tuple[Series, Trend], ...]
) -> None:
    """Whether a loss, of no model trained before, still falls as in its first third, lost little, and no score rose."""
    series, numbers = loss
    steady = len(series) >= STEADY_POINTS and (np.diff(numbers.values) < 0).mean() >= STEADY
    enough = steady or len(series) >= LINE_POINTS
    if not enough or numbers.first <= 0 or not _goes_on(numbers) or continues_a_model(view):
        return
    start, third, _, _ = (float(median_of(part)) for part in _quarters(numbers.values))
    little = numbers.fall < LINE_FALL * numbers.first and start - third < LINE_THIRD * numbers.fall
    scores_rose = any(clearly_gained(found) and len(points) >= ROSE_POINTS for points, found in scored)
    out.put("in_a_line", little and not scores_rose, ends_of(series))


def _goes_on(numbers: Trend) -> bool:
    start, _, b, end = (float(median_of(part)) for part in _quarters(numbers.values))
    falls = numbers.falls() and start - end > max(numbers.margin, 0.0)
    return falls and b - end >= UNFINISHED * (start - end) and b - end > numbers.margin / 2


def _quarters(values: Values) -> tuple[Values, Values, Values, Values]:
    """The points around the start, one third, two thirds, and the end."""
    side = max(values.size // 12, 1)
    third, two = round((values.size - 1) / 3), round(2 * (values.size - 1) / 3)
    return (
        values[:side],
        values[max(third - side // 2, 0) : third + side // 2 + 1],
        values[two - side // 2 : two + side // 2 + 1],
        values[-side:],
    )


def _turned(values: Values) -> bool:
    """Whether a loss fell and has only risen since its best, in rows enough, by twice what it had ever risen before."""
    low = int(values.argmin())
    since, back = values[low:], float(values[-1] - values[low])
    if low == 0 or since.size <= TURNED_ROWS or not bool((np.diff(since) > 0).all()):
        return False
    before, gained = float(np.diff(values[: low + 1]).max(initial=0.0)), float(values[0] - values[low])
    worth = gained >= WORTH_LOSING * abs(float(values[0]))
    return worth and back >= TURNED_SHARE * gained and back > TURNED_OVER_NOISE * before


def _breaks(
    out: FactWriter,
    series: Series,
    numbers: Trend,
    *,
    grows_with_score: bool,
    gains_since_best: bool,
    scatters: bool,
) -> None:
    """Where the loss left its course; only for losses that are positive throughout.

    Args:
        out: Takes the facts.
        series: The finite training losses.
        numbers: Their levels.
        grows_with_score: Whether a score rises to its best meanwhile, so that a loss above its first is no break.
        gains_since_best: Whether that score went on to rise after the loss was lowest, as where the weight of a part grows.
        scatters: Whether its rows differ as single batches do, so that an end above the first says nothing.
    """
    values, refs = numbers.values, ends_of(series)
    if values.size < 3 or float(values.min()) < 0:
        return
    level = max(ABOVE * numbers.first, numbers.first + numbers.margin)
    above = numbers.last > level and _stays(values, level) and not scatters
    out.put("above_start", above and not grows_with_score, refs)
    # Of a long curve single points scatter; of a short one the first is where it began.
    base = numbers.first if values.size >= MANY else min(float(values[0]), float(median_of(values[:3])))
    peak = int(numbers.smooth.argmax())
    if base > 0:
        # What came before the level from which it is measured is no rise, and what stays below the first value, after a
        # loss that was nearly gone in the second row, is no explosion.
        risen = min(numbers.peak, float(values[1:].max()))
        out.put("peak_over_first", risen / base, [*refs_at(series, [peak]), *refs])
        lost = risen >= max(EXPLODED * base, float(values[0])) and numbers.last >= BACK * base
        sound = grows_with_score or _regained(values) or numbers.steady or scatters
        sound = sound or (values.size < MANY and rises_and_falls(values[:-1]))
        out.put("exploded", lost and not sound, [*refs_at(series, [peak]), *refs])
        # The first rows may be an explosion themselves, so their median is the level of an untrained model.
        wild = np.flatnonzero(values[1:] >= WILD * max(float(median_of(values[:3])), 0.0)) + 1
        out.put("wild_rows", int(wild.size), refs_at(series, [int(row) for row in wild]) or refs)
        if wild.size:
            out.put("wild_value", float(values[wild].max()), refs_at(series, [int(row) for row in wild]))
    out.put("first_over_last", float(values[:2].max()) / numbers.last if numbers.last > 0 else None, refs)
    best = [*refs, *refs_at(series, [numbers.best_row])]
    out.put("turned", _turned(values) and not gains_since_best, best)
    if values.size >= ROSE_POINTS and numbers.best > 0:
        rise = numbers.last - numbers.best
        beyond = numbers.climbs or rise > max(2 * numbers.margin, ROSE_OF_GAIN * numbers.gain)
        stays = _stays(values, ROSE * numbers.best) and numbers.last >= ROSE * numbers.best
        learns = numbers.steady or gains_since_best or learns_since_counter_began(series)
        out.put("rose_and_stays", beyond and stays and not learns, best)
        out.put("last_over_best", numbers.last / numbers.best, best)
    before = min(float(median_of(values[:-1])), float(median_of(values[-1 - LATELY : -1])))
    top = float(values[:-1].max())
    jump = values[-1] >= JUMP * before and values[-1] >= 2 * top and values[-1] >= JUMP_FLOOR
    out.put("jump_at_end", bool(jump and before > 0), refs)
    names = ("above_start", "exploded", "rose_and_stays", "jump_at_end")
    known = [fact.value for name in names if (fact := out.facts.get(f"signal.progress.{name}")) is not None]
    out.put("broke", any(value is True for value in known), best)
    if values.size >= SWING_POINTS:
        half = values[values.size // 2 :]
        swing = float(median_of(np.abs(np.diff(half)))) / max(float(median_of(half)), 1e-12)
        turns = float(np.mean(np.diff(np.sign(np.diff(half))) != 0)) if half.size >= 3 else 0.0
        high = float(median_of(half)) >= SWING_LEVEL * numbers.first
        out.put("swings", swing >= SWING and turns >= 0.5 and high, refs)


def _like_batches(values: Values) -> bool:
    """Whether so few rows that their scatter is unknown turn back below what they rose to, or one is a tenth of both beside it.

    >>> [_like_batches(np.array(rows)) for rows in ([150.0, 330.0, 210.0], [150.0, 210.0, 330.0], [1.0, 9.0, 8.0], [2, 0.06, 1, 3, 5])]
    [True, False, False, True]
    """
    top, first = float(values.max()), float(values[0])
    dips = values[1:-1] * WILD <= np.minimum(values[:-2], values[2:])
    turns = values.size < SCATTER_POINTS and top < EXPLODED * first and bool((np.diff(values) < 0).any())
    return turns or (values.size < MANY and top < WILD * first and bool(dips.any()))


def _rose_too(held_out: tuple[Series, Trend] | None) -> bool:
    """Whether held-out data, which are no single batch, end a quarter above their first loss."""
    return held_out is not None and held_out[1].last >= ROSE_HELD_OUT * held_out[1].first > 0


def _stays(values: Values, level: float) -> bool:
    """Whether the end lies above a level, by more than the last row alone: that one may be the first batch of an epoch."""
    return values.size < ROSE_POINTS or int((values[-3:] >= level).sum()) >= 2


def _regained(values: Values) -> bool:
    """Whether the loss is, in every row but one after its highest one, back at the level of the rows before that."""
    top = int(values[1:].argmax()) + 1
    before, after = values[max(top - REGAINED_ROWS, 0) : top], values[top + 1 :]
    if min(before.size, after.size - 1) < REGAINED_ROWS - 1:
        return False
    return float(np.sort(after)[-2]) <= ROSE * float(median_of(before))


def _level_change(out: FactWriter, view: RunView, series: Series, numbers: Trend) -> None:
    """Whether the loss fell through zero, and whether it fell from one level to another from one point to the next."""
    values, first = numbers.values, float(series.value[0])
    fled = first > 0 and numbers.last <= -FLED * max(first, 1.0)
    # A trainer of language models prints losses of preferences and policies there, which have no bound at 0.
    speaks = view.has_habit("mostly-language")
    begins_above = not speaks and 0 < first >= float(values.max()) and numbers.falls()
    above = fled or begins_above or float(median_of(values[: max(values.size // 5, 1)])) > 0
    below = numbers.last < -1e-9 and numbers.last <= -numbers.margin / 2
    out.put("crosses_zero", above and below, ends_of(series))
    if values.size < 2 * STEP_SIDE:
        return
    falls = -np.diff(values)
    at = int(falls.argmax()) + 1
    before, after = values[:at], values[at:]
    if min(before.size, after.size) < STEP_SIDE:
        out.put("sudden_step", value=False, refs=ends_of(series))
        return
    fell = float(falls.max())
    quiet = float(np.ptp(before)) <= STEP_LEVEL * fell and float(np.ptp(after)) <= STEP_LEVEL * fell
    out.put("sudden_step", quiet and fell >= STEP_SHARE * numbers.fall > 0, refs_at(series, [at]))


def _learned(
    loss: tuple[Series, Trend] | None,
    held_out: tuple[Series, Trend] | None,
    scored: tuple[tuple[Series, Trend], ...],
) -> tuple[bool | None, list[SourceRef]]:
    """Whether a loss or a task metric got better beyond its noise; None if there is nothing that could tell."""
    known: list[tuple[bool, Series]] = []
    for found in (loss, held_out):
        if found is not None:
            series, numbers = found
            fell = numbers.falls() and not numbers.only_back
            known.append((fell and numbers.fall >= SOME * numbers.size, series))
    ranked = loss is not None and ranks_better(loss[1], scored)
    known += [
        (ranked or gained(numbers) or gained_decibels(series, numbers), series) for series, numbers in scored
    ]
    better = [series for good, series in known if good]
    return (bool(better), ends_of(better[0] if better else known[0][1])) if known else (None, [])


def scored_best_at_end(view: RunView, *, clearly: bool = True) -> bool:
    """Whether a score was gained and stands at its best, and none lost half: a loss that grew is a sum over more and more."""
    known = [numbers for _, numbers in view.once(scores)]
    lost = any(numbers.last > HALVED * numbers.best for numbers in known if numbers.best < 0)
    return not lost and any((clearly_gained if clearly else gained)(n) and near_best(n) for n in known)


def _hardly(
    out: FactWriter,
    view: RunView,
    loss: tuple[Series, Trend] | None,
    scored: tuple[tuple[Series, Trend], ...],
) -> None:
    """Whether a model that began at random lost less than a tenth of its loss, and no score rose clearly.

    Of a log that spans too little training to blame the run for it only that is said.
    """
    if loss is None or len(loss[0]) < STILL_POINTS or loss[1].first <= 0:
        return
    series, numbers = loss
    refs = ends_of(series)
    if begins_in_the_middle(view, series) or continues_a_model(view) or at_ceiling(scored) is not None:
        out.put("hardly", value=False, refs=refs)
        return
    little = numbers.fall < HARDLY * numbers.first and numbers.gain < 2 * HARDLY * numbers.first
    risen = any(clearly_gained(found) for _, found in scored) or ranks_better(numbers, scored)
    # Right in half of its answers from the first evaluation on, and better since: it was trained before.
    risen = risen or any(gained(found) and -found.first >= HALF * unit_of(found) for _, found in scored)
    if long_enough(view, series):
        out.put("hardly", little and not risen, refs)
    elif len(series) < FEW_ROWS:
        out.put("little_yet", little and not risen, refs)


def _stands_high(
    out: FactWriter,
    view: RunView,
    loss: tuple[Series, Trend] | None,
    scored: tuple[tuple[Series, Trend], ...],
) -> None:
    """Whether the loss of a model that began at random settled early or hardly fell, and no score tells that it is low."""
    if loss is None or loss[1].first <= 0:
        return
    series, numbers = loss
    known = any(clearly_gained(found) for _, found in scored) or ranks_better(numbers, scored)
    high = any(-found.best >= HIGH_SCORE * unit_of(found) for _, found in scored)
    low = known or high or continues_a_model(view) or has_floor(series)
    if not low and fell_once(numbers.values):
        out.put("stands_high", value=True, refs=ends_of(series))
    if len(series) < UNFINISHED_POINTS or "signal.progress.stands_high" in out.facts:
        return
    if low or begins_in_the_middle(view, series) or not long_enough(view, series):
        out.put("stands_high", value=False, refs=ends_of(series))
        return
    fallen = numbers.fall / numbers.first
    start, third, _, _ = (float(median_of(part)) for part in _quarters(numbers.values))
    early = fallen < HALF and start - third >= EARLY * fallen * start
    seen = float(numbers.values[0]) < FROM_ABOVE * numbers.last
    # The mean over a first epoch hides what was lost within it; rows of steps do not.
    little = fallen < LITTLE and len(series) >= FEW_ROWS
    out.put("stands_high", seen and (early or little), ends_of(series))


def _kept(
    loss: tuple[Series, Trend] | None,
    held_out: tuple[Series, Trend] | None,
    scored: tuple[tuple[Series, Trend], ...],
) -> tuple[bool | None, list[SourceRef]]:
    """Whether the run ends near its best: its loss, and its held-out loss or, better, a score."""
    verdicts: list[tuple[bool, Series]] = []
    if loss is not None:
        verdicts.append((near_best(loss[1]), loss[0]))
    at_best = any(near_best(numbers) and gained(numbers) for _, numbers in scored)
    if held_out is not None and not at_best:
        verdicts.append((near_best(held_out[1]), held_out[0]))
    if not verdicts and scored:
        verdicts.append((near_best(scored[0][1]), scored[0][0]))
    if not verdicts:
        return None, []
    lost = [series for good, series in verdicts if not good]
    return not lost, ends_of(lost[0] if lost else verdicts[0][1])
