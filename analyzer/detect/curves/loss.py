"""The course of the training loss: does it fall, rise, stand still, jump.

Only genuine finite losses count here: NaN, and the zeros by which a trainer masks it, belong to ``nonfinite``.
"""

from __future__ import annotations

import math

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, ends_of, refs_at
from analyzer.detect.curve import has_steps
from analyzer.detect.curves.anew import learns_since_counter_began
from analyzer.detect.curves.numerics.bad_points import grow_from_row_to_row, loss_points
from analyzer.detect.curves.numerics.onset import find_onset, finite_before
from analyzer.detect.curves.progress import scored_best_at_end
from analyzer.detect.curves.trend import rises_and_falls, steadily_falls
from analyzer.detect.robust import PARTS, noise, part_medians, uncertainty
from analyzer.detect.stand_in import players_points
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of, row_medians
from analyzer.model.tables import Series

RISE = 1.2
"""Above the best fifth by a fifth: beyond the drift of a converged loss, well before a divergence."""

FLAT_SHARE, FLAT_POINTS = 0.02, 20
"""Two percent over twenty points: a learning model moves more, batch noise of a median over fours or more less."""

NOISY = 0.10
"""Medians that are uncertain by more than a tenth cannot show flatness."""

DIVERGED = 1.5
"""Half again above the best level: twice the rise that counts as noise in public runs that recovered."""

FEW_POINTS, FEW_FACTOR = 3, 10.0
"""Three points show a direction; from so few, only a tenfold rise is more than scatter."""

FEW_BEFORE = 12
"""Finite rows before a break of which medians of three scatter; the last then rise one by one, or none is at the best level."""

BEYOND_A_GUESS, BEYOND_BEFORE = 20.0, 2.0
"""A guess costs ln(vocabulary), 14 for a million words: two last losses beyond, at twice all before, know less."""

ASTRONOMICAL = 1e15
"""Squared errors of prices in dollars reach 1e12, summed likelihoods of large sets 1e9; nothing sound comes near this, and
a perplexity of this size is far above that of a guess among all words."""

LAST_ROWS = 3
"""Of three rows at the end two are no single batch."""

GAIN, GIVEN_BACK = 0.1, 0.7
"""A tenth of the first level is progress worth the name; seven tenths of it lost is no swing around a trend."""

NEIGHBOURS = 5
"""Points on each side against which a spike is measured: enough for a median, few enough to follow a trend."""

ABOVE_UNIFORM = 1.5
"""A model that knows nothing has a loss of ln(vocabulary); half again more is wrong with confidence."""

SMOOTH_ROWS, SMOOTH, FAR_IN = 4, 1e-3, 100
"""Norms of gradients of single batches differ by percents. Four and more that agree to a thousandth, yet not in all digits, a hundred
times as far from the start as from each other, are means over the epoch so far, and so is the loss beside them."""

ONSET_POINTS = 3
"""Last losses before an onset whose median is compared; one alone would measure batch noise."""


CHANCE_POINTS, CHANCE_BAND, CHANCE_SHARE = 30, 0.01, 0.95
"""Thirty points, 19 of 20 of them within 1 %: a model that learns anything leaves the band, batch noise hardly."""

CHANCE_CLASSES = (2, 3, 10, 100, 1000)
"""Usual numbers of classes; without an accuracy any other one would match some loss by accident."""

CHANCE_ACCURACY = 0.2
"""Relative distance of an accuracy from 1/C that still counts as a guess; absolute room is for rounding."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.loss.*``."""
    points = view.once(loss_points)
    if points is None:
        if view.run.metrics.names:
            out.put("seen", value=False)
            if of_players := players_points(view.run):
                out.put("of_players", of_players)
        return
    series = points.series
    out.put("seen", value=True, refs=refs_at(series, [0]))
    out.put("points", len(series), end_of(series))
    good = points.curve()
    if len(good):
        _levels(out, view, good)
        _trend(out, view, good)
        out.put("at_chance", _at_chance(view, good), ends_of(good))
        _spike(out, good)
        _before_onset(out, view, good)


def _levels(out: FactWriter, view: RunView, good: Series) -> None:
    values, last = good.value, len(good) - 1
    out.put("first", float(values[0]), refs_at(good, [0]))
    out.put("last", float(values[-1]), refs_at(good, [last]))
    out.put("min", float(values.min()), refs_at(good, [int(values.argmin())]))
    out.put("max", float(values.max()), refs_at(good, [int(values.argmax())]))
    if len(good) >= 3 and not means_so_far(view):
        same = bool(np.all(values == values[0]))
        out.put("constant", None if same and _is_coarse(float(values[0])) else same, refs_at(good, [last, 0]))
    vocabulary = view.config("model.vocab_size") or view.config("tokenizer.vocab_size")
    size = None if vocabulary is None else vocabulary.value
    if vocabulary is not None and isinstance(size, int) and size > 1:
        above = float(values[0]) > ABOVE_UNIFORM * math.log(size)
        out.put("first_above_uniform", above, [*refs_at(good, [0]), vocabulary.ref])


def _is_coarse(value: float) -> bool:
    """Whether a small number is printed to one digit: it may fall by a tenth without being another number.

    >>> _is_coarse(0.0007), _is_coarse(0.00072), _is_coarse(0.6931), _is_coarse(1.0), _is_coarse(0.0)
    (True, False, False, False, False)
    """
    return 0.0 < value < 0.1 and len(f"{value:.9e}".split("e")[0].rstrip("0").rstrip(".")) == 1


def means_so_far(view: RunView) -> bool:
    """Whether the rows are a few next to each other of a progress bar that shows means over all steps before: they stand still in any run."""
    norm = view.curve("grad_norm")
    if norm is None or not len(norm) >= SMOOTH_ROWS or not has_steps(norm):
        return False
    low, high = float(norm.value.min()), float(norm.value.max())
    span = int(norm.step[-1] - norm.step[0])
    return 0.0 < low < high <= (1 + SMOOTH) * low and FAR_IN * span <= int(norm.step[0])


def _trend(out: FactWriter, view: RunView, good: Series) -> None:
    """Facts that need a fifth of a curve to compare with another."""
    values, perplexity = good.value, view.curve("perplexity")
    logged = "loss" in view.run.metrics.names
    if logged and perplexity is not None and len(perplexity) and perplexity.value[0] >= ASTRONOMICAL:
        # that of a sum over tokens is so from the first row on, and says nothing where the loss came down
        perplexity = None if values[-1] < values[0] else perplexity
    beyond = any(
        bool(median_of(curve.value[-FEW_POINTS:]) >= ASTRONOMICAL)
        for curve in (good, perplexity)
        if curve is not None and len(curve)
    )
    out.put("astronomical", beyond, ends_of(good))
    # spaCy adds up its losses between evaluations; longer samples cost more
    grew = diverges(values) and not scored_best_at_end(view) and not view.once(grow_from_row_to_row)
    out.put("diverged", beyond or grew, refs_at(good, [len(good) - 1, 0, int(values.argmin())]))
    if values.size < PARTS or float(np.abs(values).max()) > 1e150:  # beyond, differences of squares overflow
        return
    medians, margin = part_medians(values), uncertainty(values)
    first, last, best = float(medians[0]), float(medians[-1]), float(medians.min())
    refs = refs_at(good, [len(good) - 1, 0, int(values.argmin())])
    out.put("level", last, refs)
    if first > 0:
        out.put("change_ratio", last / first, refs)
    out.put("gives_back", gives_back(values) and not learns_since_counter_began(good), refs)
    # Points that go one way one by one are no scatter, however far apart they are.
    down, up = (0.0 if steadily_falls(sign * values) else margin for sign in (1, -1))
    out.put("falls", last < first - max(down, 0.01 * abs(first)), refs)
    if best > 0:
        out.put("rises", last > RISE * best and last > best + up, refs)
    if values.size >= FLAT_POINTS and first > 0:
        out.put("flat", _flat(medians, margin), refs)


def diverges(values: Values) -> bool | None:
    """Whether a loss ends far above its best level and above its start; None if its points do not tell.

    Of fewer than ten points the last must be the highest, the one before it risen too, and both far above the start;
    or both cost more than any guess would, after a start that did not.

    >>> diverges(np.array([2.1, 8.0, 90.0, 1100.0])), diverges(np.array([2.1, 1.9, 2.0]))
    (True, False)
    >>> diverges(np.array([11.2, 11.1, 38.0, 37.0])), diverges(np.array([11.2, 38.0, 11.1, 10.9]))
    (True, False)
    >>> diverges(np.array([0.007, 4e-5, 0.02, 0.04, 0.002, 0.09])) is None  # losses of single batches that are learned
    True
    """
    if values.size < FEW_POINTS:
        return None
    if values.size < 2 * PARTS:
        if float(values.min()) <= 0:
            return None
        low = float(values[:-2].min())
        grew = values[-1] >= FEW_FACTOR * max(low, values[0]) and values[-2] >= DIVERGED * low
        grew = grew and not rises_and_falls(values[:-1])
        limit = max(BEYOND_A_GUESS, BEYOND_BEFORE * float(values[:-2].max()))
        lost = values.size > FEW_POINTS and float(values[-2:].min()) >= limit
        # One more point may show the return of a spike, so a moderate end decides nothing.
        risen = lost or bool(grew and values[-1] == values.max())
        return risen or (False if values[-1] < DIVERGED * low else None)
    if float(values.max()) > 1e150:  # beyond, differences of squares overflow
        return bool(values[-1] > FEW_FACTOR * values[0]) or None
    medians = part_medians(values)
    if float(medians.min()) <= 0:
        return None
    count = min(max(values.size // 20, 3), 20)  # the end: a twentieth, at least three points
    end = float(median_of(values[-count:]))
    return end > max(DIVERGED * float(medians.min()), float(medians[0]) + 3.0 * noise(values))


def gives_back(values: Values) -> bool:
    """Whether the last fifth has lost most of what the best one had gained, each by far more than the noise.

    >>> gives_back(np.array([3.0] * 5 + [2.0] * 5 + [1.0] * 5 + [1.1] * 5 + [2.8] * 5))
    True
    >>> gives_back(np.array([2.4, 1.5, 0.5, 0.3, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 2.9]))  # a batch, as far as one row tells
    False
    """
    if values.size < 2 * PARTS or float(np.abs(values).max()) > 1e150:
        return False
    medians, margin = part_medians(values), uncertainty(values)
    first, best = float(medians[0]), float(medians.min())
    last = min(float(medians[-1]), float(median_of(values[-LAST_ROWS:])))  # a fifth may be two rows
    gain, loss = first - best, last - best
    return gain > max(2.0 * margin, GAIN * abs(first)) and loss > max(2.0 * margin, GIVEN_BACK * gain)


def _flat(medians: Values, margin: float) -> bool | None:
    """Whether no fifth leaves the band around the first; None if noise hides it."""
    first = float(medians[0])
    largest = float(np.abs(medians - first).max())
    if largest <= FLAT_SHARE * first:
        return True
    if largest > margin:
        return False
    return True if margin <= NOISY * first else None


def _at_chance(view: RunView, good: Series) -> bool | None:
    """Whether the loss stays at ln(C), what a guess among C classes costs; None if nothing tells C.

    An accuracy near 1/C names C. Without one only the usual numbers count, and none for a language model.
    """
    values = good.value
    if values.size < CHANCE_POINTS:
        return None
    level = float(median_of(values))
    steady = np.abs(values - level) <= CHANCE_BAND * level
    medians = part_medians(values)
    if level <= 0 or steady.mean() < CHANCE_SHARE or _flat(medians, uncertainty(values)) is not True:
        return False
    accuracy = _accuracy(view)
    if accuracy is not None:
        return any(
            abs(level - math.log(count)) <= CHANCE_BAND * math.log(count)
            and abs(accuracy - 1 / count) <= CHANCE_ACCURACY / count + 1e-3
            for count in range(2, 1001)
        )
    if view.config("model.vocab_size") is not None or view.config("tokenizer.vocab_size") is not None:
        return None
    return any(abs(level - math.log(count)) <= CHANCE_BAND * math.log(count) for count in CHANCE_CLASSES)


def _accuracy(view: RunView) -> float | None:
    """Median accuracy of the run as a share; None if none was logged."""
    for name in ("accuracy", "eval_accuracy"):
        series = view.curve(name)
        if series is None or not np.isfinite(series.value).any():
            continue
        values = series.value[np.isfinite(series.value)]
        return float(median_of(values)) / (100.0 if float(values.max()) > 1.0 else 1.0)
    return None


def _spike(out: FactWriter, good: Series) -> None:
    """Largest ratio of a loss to the median of its neighbours; the descent at the start is no spike."""
    values = good.value
    if values.size < 2 * NEIGHBOURS + 1:
        return
    windows = np.lib.stride_tricks.sliding_window_view(values, 2 * NEIGHBOURS + 1)
    others = np.delete(windows, NEIGHBOURS, axis=1)
    around = row_medians(others)
    centre = values[NEIGHBOURS : NEIGHBOURS + around.size]
    usable = around > 0
    if not usable.any():
        return
    with np.errstate(over="ignore"):
        ratios = np.where(usable, centre / np.where(usable, around, 1.0), 0.0)
    # The last points have neighbours on one side only.
    tail = float(values[-NEIGHBOURS:].max()) / float(
        median_of(values[-3 * NEIGHBOURS : -NEIGHBOURS]) or np.inf
    )
    best = int(ratios.argmax())
    if tail > ratios[best]:
        row = values.size - NEIGHBOURS + int(values[-NEIGHBOURS:].argmax())
        out.put("spike_ratio", tail, refs_at(good, [row]))
        return
    out.put("spike_ratio", float(ratios[best]), refs_at(good, [best + NEIGHBOURS]))


def _before_onset(out: FactWriter, view: RunView, good: Series) -> None:
    onset = view.once(find_onset)
    count = None if onset is None else finite_before(good, onset)
    if onset is None or count is None or count < 2:
        return
    values = good.value[:count]
    if count <= ONSET_POINTS:  # so few points show a rise only if the last of them is far above all others
        low = float(values[:-1].min())
        if 0 < low * FEW_FACTOR <= float(values[-1]):
            out.put("growth_before_onset", float(values[-1]) / low, [*refs_at(good, [count - 1]), onset.ref])
        return
    last = values[-ONSET_POINTS:]
    end = float(median_of(last))
    windows = row_medians(np.lib.stride_tricks.sliding_window_view(values, ONSET_POINTS))
    best = float(windows.min())
    scatters = count < FEW_BEFORE and float(last.min()) <= best and not (np.diff(last) > 0).all()
    if best > 0 and not scatters:
        out.put("growth_before_onset", end / best, [*refs_at(good, [count - 1]), onset.ref])
