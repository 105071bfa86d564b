"""What counts as a gain of a score, turned so that less is better: beyond its scatter, clearly, and to the end."""

from __future__ import annotations

import numpy as np

from analyzer.detect.curves.trend import SCATTER_POINTS, Trend
from analyzer.model.name_words import word_set, words_of
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.score_words import read_score
from analyzer.model.tables import Series

SOME = 0.05
"""A twentieth of the first level is the least that is called progress."""

KEPT = 0.3
"""A run that ends with three tenths of its gain lost again does not end near its best."""

SETTLED = 5
"""The median of the first fifth: what was gained from there on no explosion of the first rows can enlarge."""

GAINED_SHARE = 0.03
"""Three points of accuracy are more than two evaluations of one model differ by."""

CLEARLY = 0.15
"""Fifteen points of accuracy are no accident of a small held-out set."""

HALVED = 0.5
"""Half of the errors gone: a score that begins near its ceiling, as of a pretrained model, gains no fifteen points."""

DECIBELS, FIFTH_OF_ERROR = word_set("psnr"), 1.0
"""Of a decibel each is a fifth of the squared error, whatever the level; three in a hundred are those of a share."""

RANKS, RANKS_BETTER = (0.6, 0.9), 0.01
"""A binary cross-entropy of ln 2 is a guess. Models of clicks begin at 0.7 and end at 0.8; a hundredth is more than one published model has over the next."""

CEILING, CEILING_ROWS = 0.98, 2
"""Ninety-eight of a hundred at the end of two evaluations: next to nothing is left to learn."""

_OF_FEW = word_set("f1 fscore dice dsc dc iou miou jaccard js map map50 ap ap50 mcc kappa auc auroc rocauc")
_OF_MOST = word_set("micro weighted")
"""Scores that one answer for every sample leaves low; averaged by size of the classes, a large class makes them high."""

RANKED_POINTS = 4
"""Quarters of a curve are told from four points on."""


def gained(numbers: Trend) -> bool:
    """Whether a score rose by more than its scatter and two evaluations of one model differ by; or by half, at once and for good."""
    unit = unit_of(numbers)
    first = float(numbers.values[0])
    whole = max(unit, first)  # beyond any bound, as a perplexity, all is what it began with
    if numbers.values.size > 2 and first - numbers.values[1:].max() >= HALVED * whole:
        return True
    of_level = SOME * abs(numbers.last) if abs(numbers.last) > unit else 0.0
    # The scatter of a few rows is not known, but what they went back by is some of it.
    back = float(np.diff(numbers.values).max()) if numbers.values.size < SCATTER_POINTS else 0.0
    return numbers.falls() and numbers.fall >= max(GAINED_SHARE * unit, of_level, back)


def gained_decibels(series: Series, numbers: Trend) -> bool:
    """Whether a ratio of signal to noise rose by what a fifth of the squared error is, beyond its scatter."""
    return (
        not DECIBELS.isdisjoint(words_of(series.metric))
        and numbers.falls()
        and numbers.fall >= FIFTH_OF_ERROR
    )


def clearly_gained(numbers: Trend) -> bool:
    """Whether a score rose by what no small held-out set explains, or half of the errors are gone."""
    unit = unit_of(numbers)
    first, last = ((unit if level < 0 else 0.0) + level for level in (numbers.first, numbers.last))
    halved = 0.0 <= last <= HALVED * first
    return gained(numbers) and (abs(numbers.fall) >= CLEARLY * unit or halved)


def ranks_better(loss: Trend, scored: tuple[tuple[Series, Trend], ...]) -> bool:
    """Whether the area under the ROC curve of answers that hardly can be told (clicks) grew to the end, far beyond its scatter."""
    return 0 < loss.last < float(np.log(2.0)) and any(
        found.values.size >= RANKED_POINTS
        and not {"auc", "auroc"}.isdisjoint(words_of(series.metric))
        and RANKS[0] <= -found.first / unit_of(found)
        and -found.last / unit_of(found) <= RANKS[1]
        and found.fall >= max(RANKS_BETTER * unit_of(found), 3 * found.margin)
        and near_best(found)
        and bool((np.diff([float(median_of(part)) for part in np.array_split(found.values, 4)]) < 0).all())
        for series, found in scored
    )


def at_ceiling(scored: tuple[tuple[Series, Trend], ...]) -> Series | None:
    """A score on held-out data that ends where hardly an answer is wrong, as no single answer for all samples does."""
    for series, found in scored:
        words = words_of(series.metric)
        moves = found.values.size >= CEILING_ROWS and float(np.ptp(found.values)) > 0
        told = not _OF_FEW.isdisjoint(words) and _OF_MOST.isdisjoint(words)
        worst = float(found.values[-CEILING_ROWS:].max())
        if (
            moves
            and told
            and read_score(series.metric).phase == "eval"
            and -worst >= CEILING * unit_of(found)
        ):
            return series
    return None


def gains_below(scored: tuple[tuple[Series, Trend], ...], ref: SourceRef) -> bool:
    """Whether a score ends at its best, beyond all that it had down to a row of a log."""
    return any(
        clearly_gained(found)
        and near_best(found)
        and bool((above := (series.source == ref.source) & (series.line <= (ref.line or 0))).any())
        and float(found.values[above].min()) - found.last >= max(GAINED_SHARE * unit_of(found), found.margin)
        for series, found in scored
    )


def unit_of(numbers: Trend) -> float:
    """What is all of a score: 100 where it is a percentage, else 1."""
    return 100.0 if float(np.abs(numbers.values).max()) > 1.5 else 1.0


def near_best(numbers: Trend) -> bool:
    """Whether the end is away from the best by no more than its scatter, three tenths of what was gained, or a twentieth."""
    away = numbers.last - numbers.best
    settled = float(median_of(numbers.values[: max(numbers.values.size // SETTLED, 3)])) - numbers.best
    gain = min(numbers.gain, max(settled, 0.0))
    return away <= max(numbers.margin, KEPT * gain, 0.05 * abs(numbers.best))
