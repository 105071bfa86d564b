"""How a run ended beside its baseline: worse or not, by which score, and at what ratio of the learning rates."""

from __future__ import annotations

from analyzer.detect.base import FactWriter, RunView, refs_at
from analyzer.detect.curves.guess.chance import accuracy_at_end
from analyzer.detect.curves.numerics.bad_points import loss_points
from analyzer.detect.curves.progress import held_out_trend, loss_trend
from analyzer.detect.setup.rate_range import applied_rate

SCORE_LOST = 0.05
"""Five points of accuracy: more than seeds of one configuration differ by, in small data sets as well."""

HIGHER, LOWER = 3.0, 0.4
"""Ratios of learning rates beyond which the rate alone may spoil a run that went well."""

LOSS_WORSE = 1.25
"""A quarter above the baseline's loss and beyond the scatter of both."""


def compare_ends(out: FactWriter, view: RunView, baseline: RunView) -> None:
    """Facts ``compare.baseline.worse``, ``.score_lost``, ``.loss_ratio`` and ``.rate_ratio``."""
    verdicts: list[bool] = []
    for name in ("eval_accuracy", "accuracy"):
        ours, theirs = accuracy_at_end(view, name), accuracy_at_end(baseline, name)
        if ours is not None and theirs is not None:
            out.put("score_lost", theirs[0] - ours[0], ours[1])
            verdicts.append(theirs[0] - ours[0] >= SCORE_LOST)
            break
    if not verdicts:
        verdicts = _by_loss(out, view, baseline)
    points, other = view.once(loss_points), baseline.once(loss_points)
    if points is not None and other is not None and len(points.series) and not other.bad.any():
        verdicts.append(bool(points.bad[-1]))
    if verdicts:
        out.put("worse", any(verdicts))
    optimizers = {str(run.config_value("train.optimizer") or "").lower() for run in (view, baseline)}
    if len(optimizers) > 1:  # rates of two optimizers are two units
        return
    mine, reference = applied_rate(view), applied_rate(baseline)
    if mine is not None and reference is not None and mine[2] and reference[2] and reference[0] > 0:
        ratio = mine[0] / reference[0]
        out.put("rate_ratio", ratio, [*mine[1]])
        if verdicts:
            out.put("worse_at_higher_rate", any(verdicts) and ratio >= HIGHER, [*mine[1]])
            out.put("worse_at_lower_rate", any(verdicts) and ratio <= LOWER, [*mine[1]])


def _by_loss(out: FactWriter, view: RunView, baseline: RunView) -> list[bool]:
    """Held-out losses decide before training losses, for regularisation raises the latter."""
    for measure in (held_out_trend, loss_trend):
        ours, theirs = view.once(measure), baseline.once(measure)
        if ours is None or theirs is None or theirs[1].last <= 0 or ours[1].last <= 0:
            continue
        ratio = ours[1].last / theirs[1].last
        out.put("loss_ratio", ratio, refs_at(ours[0], [len(ours[0]) - 1]))
        beyond = ours[1].last - theirs[1].last > ours[1].margin + theirs[1].margin
        return [ratio >= LOSS_WORSE and beyond]
    return []
