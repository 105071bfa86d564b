"""Ranks that are slower than others, communication that grew, replicas that differ, and silence before the end."""

from __future__ import annotations

import numpy as np

from analyzer.detect.base import FactWriter, RunView, refs_at
from analyzer.detect.failures.first_failure import order_of
from analyzer.detect.failures.following import CAUSES
from analyzer.model.arrays import Values
from analyzer.model.ranked import median_of, row_medians
from analyzer.model.tables import NULL_INT

ENOUGH_STEPS = 20
"""Common steps of all ranks: fewer are start-up."""

MANY_RANKS = 3
"""With two ranks each is the slower one half of the time."""

MAX_RANKS = 4096

WARM_UP = 3

AGREE = 1.05

NORMS_DIFFER = 0.01
"""Ranks that share their gradients compute the same norm up to rounding; a hundredth is far beyond that."""


def detect(view: RunView, out: FactWriter) -> None:
    """Facts ``signal.straggler.*``, ``signal.communication.grew``, ``signal.replicas.*``, ``signal.silence.*``."""
    _straggler(view, out)
    _communication(view, out)
    _replicas(view, out)
    _silence(view, out)


def _by_rank(view: RunView, metric: str) -> tuple[list[int], Values]:
    """Ranks and their values, shape (n_ranks, n_common_steps), of a metric that every rank logs for itself."""
    table = view.run.metrics
    values: dict[int, dict[int, float]] = {}
    for code, name in enumerate(table.names):
        base, _, suffix = name.partition("@rank")
        if base != metric:
            continue
        known = np.isfinite(table.value) & (table.step != NULL_INT)
        if not suffix:
            known &= table.rank >= 0
        for row in np.flatnonzero((table.metric == code) & known).tolist():
            rank = int(suffix) if suffix.isdecimal() else int(table.rank[row])
            if rank >= 0:
                values.setdefault(rank, {})[int(table.step[row])] = float(table.value[row])
    ranks = sorted(values)[:MAX_RANKS]
    if len(ranks) < 2:
        return [], np.zeros((0, 0))
    common = sorted(set.intersection(*(set(values[rank]) for rank in ranks)))[WARM_UP:]
    return ranks, np.array([[values[rank][step] for step in common] for rank in ranks], dtype=np.float64)


def _straggler(view: RunView, out: FactWriter) -> None:
    """The rank that takes longest, and how much of the others' waiting is its doing."""
    ranks, times = _by_rank(view, "step_time_s")
    if len(ranks) < MANY_RANKS or times.shape[1] < ENOUGH_STEPS:
        return
    medians = row_medians(times)
    worst = int(medians.argmax())
    others = np.delete(times, worst, axis=0)
    rest = float(median_of(np.delete(medians, worst)))
    if rest <= 0:
        return
    out.put("straggler.ranks", len(ranks))
    out.put("straggler.rank", ranks[worst])
    out.put("straggler.ratio", float(medians[worst]) / rest)
    out.put("straggler.ranks_agree", float(medians.max()) <= AGREE * float(medians.min()))
    out.put("straggler.persistent", float((times.argmax(axis=0) == worst).mean()) >= 0.7)
    waiting = float((times.max(axis=0) - times).sum())
    without = float((others.max(axis=0) - others).sum())
    if waiting > 0:
        out.put("straggler.wait_share", max(0.0, 1.0 - without / waiting))


def _communication(view: RunView, out: FactWriter) -> None:
    """How the parts of a step changed over the run."""
    for name, metrics in (
        ("communication.grew", ("allreduce_time_s",)),
        ("compute.grew", ("forward_time_s", "backward_time_s")),
    ):
        ratios = [ratio for metric in metrics if (ratio := _growth(view, metric)) is not None]
        if len(ratios) == len(metrics):
            out.put(name, float(np.mean(ratios)))


def _growth(view: RunView, metric: str) -> float | None:
    """Last fifth of a time divided by the first fifth after the warm-up."""
    series = view.curve(metric)
    if series is None:
        return None
    good = series.value[WARM_UP:]
    good = good[np.isfinite(good) & (good > 0)]
    if good.size < 5 * ENOUGH_STEPS:
        return None
    fifth = good.size // 5
    return float(median_of(good[-fifth:]) / median_of(good[:fifth]))


def _replicas(view: RunView, out: FactWriter) -> None:
    """Whether ranks log different gradient norms at the same steps."""
    ranks, norms = _by_rank(view, "grad_norm")
    if len(ranks) < 2 or norms.shape[1] < ENOUGH_STEPS:
        return
    spread = (norms.max(axis=0) - norms.min(axis=0)) / np.maximum(np.abs(norms).max(axis=0), 1e-12)
    series = view.curve("grad_norm")
    refs = refs_at(series, [0]) if series is not None else []
    out.put("replicas.grad_norm_differs", float((spread > NORMS_DIFFER).mean()) >= 0.8, refs)


def _stamps(view: RunView, source: int) -> Values:
    """Times of the recognised lines of one file."""
    events = view.run.events
    return np.array(
        [e.time_s for e in events if e.time_s is not None and e.ref.source == source], dtype=np.float64
    )


def _silence(view: RunView, out: FactWriter) -> None:
    """How long the job stood after its first failure, and after its last step, by the stamps in its logs."""
    first = order_of(view).first
    if first is not None and first.family in CAUSES and first.time_s is not None:
        # Only stamps of the same file: those of another host may be in another time zone.
        later = _stamps(view, first.speaker.ref.source)
        out.put("silence.after_failure_s", max([0.0, *(later - first.time_s)]), [first.speaker.ref])
    loss = view.curve("loss")
    if loss is None or not np.isfinite(loss.time_s).any():
        return
    row = int(np.nanargmax(loss.time_s))
    last_s = float(loss.time_s[row])
    stamps = _stamps(view, int(loss.source[row]))
    # Who starts the program once more in the same log, or reads weights back to use them, ends the silence of the steps.
    anew = [
        e.time_s
        for kind in ("training_begins_again", "resume_from_checkpoint")
        for e in view.events(kind)
        if e.time_s is not None and e.time_s > last_s
    ]
    gap_s = float(stamps[stamps < min(anew, default=np.inf)].max(initial=-np.inf)) - last_s
    if gap_s <= 0:
        return
    out.put("silence.before_end_s", gap_s, refs_at(loss, [row]))
    distances = np.diff(loss.time_s[np.isfinite(loss.time_s)])
    distances = distances[distances > 0]
    if distances.size >= ENOUGH_STEPS:
        out.put("silence.median_steps", gap_s / float(median_of(distances)), refs_at(loss, [row]))
