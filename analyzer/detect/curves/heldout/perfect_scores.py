"""Scores that are at their bound in nearly all rows of a log that begins with the training: nobody learned that."""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView, refs_at
from analyzer.detect.curve import has_steps
from analyzer.detect.curves.heldout.scores import ERRORS, FROZEN_ROWS, HIGH, ROWS, Score, scores_of
from analyzer.detect.curves.numerics.metric_values import PERCENT
from analyzer.detect.curves.progress import loss_trend
from analyzer.lazy_regex import LazyRegex
from analyzer.model.ranked import median_of

AT_ONCE, NEARLY_ALL = 1500, 0.7
"""Steps within which a log begins early: a score that is perfect there in seven rows of ten was not learned."""

EASY = 0.05
"""Nats that the first epoch costs on average; untrained steps among a hundred that are learned at once cost as much alone."""

_OF_FIVE = LazyRegex(r"(?<!\d)(?:5|10)(?!\d)")
"""How many answers are allowed: with no more classes than that all of them are right, so the score of one answer is asked."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.score.perfect_*``."""
    found = [
        score
        for score in view.once(scores_of)
        if len(score.series) >= ROWS and score.reading.phase != "other"
    ]
    from_first = _easy_from_the_first_batch(view)
    names = {score.series.logged_as for score in found}
    early = [
        score
        for score in found
        if score.reading.whole
        and _OF_FIVE.sub("1", score.series.logged_as) not in names - {score.series.logged_as}
        and (score.reading.better > 0 or score.reading.kind & ERRORS)
        and ((score.series.step_at(0) or 0) <= AT_ONCE if has_steps(score.series) else from_first)
    ]
    full = [
        score
        for score in early
        if float((score.series.value == _bound(score)).mean()) >= NEARLY_ALL
        # where the first rows show how it rose, it was learned: one row at the level of a guess is enough
        and float(median_of(score.series.value[:FROZEN_ROWS])) == _bound(score)
        and abs(float(score.values[0]) - (score.reading.better > 0)) <= 1.0 - HIGH
    ]
    if early:
        shown = (full or early)[0].series
        out.put("perfect_at_once", bool(full), refs_at(shown, [0, len(shown) - 1]))
        out.put("perfect_name", shown.logged_as, refs_at(shown, [0]))
        held = [score for score in full if score.reading.phase == "eval"]
        out.put("perfect_held_out", bool(held), refs_at(shown, [0, len(shown) - 1]))


def _easy_from_the_first_batch(view: RunView) -> bool:
    """Whether the first row costs next to nothing: where it is a mean of the first epoch, its first batches were right too."""
    epoch, known = view.finite("epoch"), view.once(loss_trend)
    begins = epoch is None or float(epoch.value[0]) <= 1
    return begins and known is not None and 0 <= known[1].first <= EASY


def _bound(score: Score) -> float:
    """The best that a score can be."""
    if score.reading.better < 0:
        return 0.0
    return PERCENT if score.percent or float(score.series.value.max()) > PERCENT else 1.0
