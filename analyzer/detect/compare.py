"""A baseline: a second run that worked, and what differs between the two."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analyzer.detect.base import FactWriter, RunView, end_of, number
from analyzer.detect.curve import align, has_steps
from analyzer.detect.curves.guess.chance import accuracy_at_end
from analyzer.detect.curves.numerics.bad_points import BadPoints, grad_points, loss_points
from analyzer.detect.curves.numerics.nonfinite import harmful
from analyzer.detect.curves.numerics.scale_course import scale_course
from analyzer.detect.curves.progress import held_out_trend, loss_trend
from analyzer.detect.setup.configuration import detect as detect_configuration
from analyzer.detect.setup.embedding import detect as detect_embedding
from analyzer.detect.setup.rate_range import applied_rate
from analyzer.model.arrays import Integers
from analyzer.model.config import ConfigValue
from analyzer.model.ranked import median_of
from analyzer.model.refs import SourceRef
from analyzer.model.signal import FactValue, Signal
from analyzer.model.tables import Scalar, Series
from analyzer.record import replace

# How a run ended beside its baseline: worse or not, by which score, and at what ratio of the learning rates.
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
        out.put("loss_ratio", ratio, end_of(ours[0]))
        beyond = ours[1].last - theirs[1].last > ours[1].margin + theirs[1].margin
        return [ratio >= LOSS_WORSE and beyond]
    return []


EMITS = ("compare.baseline.",)

FEWEST_SHARED = 10
"""Steps in common before a mean difference says anything."""

FIRST_STEPS = 10
"""Equal weights and data give equal losses here: nothing but data, weights or batch size can part them."""

EQUAL_LOSS = 0.01
"""Equal weights and data on other kernels give losses within one percent."""

FEWEST_NORMS = 3
"""Rows of equal loss before their gradient norms are compared; the norm of one row may be an accident."""

NORMS_APART = 1.2
"""Norms of equal steps agree within some percent whatever the kernels; a fifth in every row is another gradient."""

PARTING = 0.05
"""Losses of equal runs on other hardware or kernels stay within one percent; five is a difference of substance."""

_COMPARED: tuple[tuple[str, str], ...] = (
    # fact of the comparison | fact of each run
    ("differs_in_precision", "config.precision"),
    ("differs_in_packing", "config.data.packing"),
    ("differs_in_attention", "config.model.attention"),
    ("differs_in_padding_side", "config.data.padding_side"),
    ("differs_in_zero_stage", "config.zero.stage"),
    ("differs_in_overlap_comm", "config.zero.overlap_comm"),
    ("differs_in_learning_rate", "config.train.learning_rate"),
    ("differs_in_compile", "config.compile.enabled"),
    ("differs_in_kernels", "config.kernels.fused"),
)

# Keys that cannot make a run fail, or that follow from others; precision has many keys and counts once.
_IGNORED_PREFIXES = ("fp16.", "bf16.", "amp.", "mixed_precision", "weights.dtype", "train.logging", "hf.")
_IGNORED = frozenset(
    {
        "train.seed",
        "train.resume_from",
        "train.max_steps",
        "train.epochs",
        "model.name",
        "anomaly.enabled",
        "data.train_on_prompt",
    }
)
_SUBJECTS = {"model.flash_attention": "model.attention", "train.warmup_ratio": "train.warmup_steps"}


def detect_baseline(view: RunView, baseline: RunView) -> Signal:
    """Facts ``compare.baseline.*``."""
    out = FactWriter("compare.baseline.")
    out.put("given", value=True)
    out.put("healthy", healthy(baseline))
    ours, theirs = _facts(view), _facts(baseline)
    different: dict[str, tuple[SourceRef, ...]] = {}
    for name, fact in _COMPARED:
        if fact in ours and fact in theirs:
            differs = _differ(ours[fact].value, theirs[fact].value)
            out.put(name, differs, ours[fact].refs)
            if differs:
                different[fact.removeprefix("config.")] = ours[fact].refs
    _checkpoint(out, view, baseline, ours, theirs)
    different |= _other_keys(view, baseline, different)
    out.put("differences", len(different), [ref for refs in different.values() for ref in refs])
    if len(different) == 1:
        name, refs = next(iter(different.items()))
        out.put("only_difference", name, refs)
    step, refs_of_step = _first_parting(view, baseline)
    out.put("first_parting_step", step, refs_of_step)
    _difference(out, view, baseline)
    _norms(out, view, baseline)
    compare_ends(out, view, baseline)
    source, other = view.config("data.source"), baseline.config("data.source")
    if source is not None and other is not None:
        out.put("differs_in_data", str(source.value) != str(other.value), [source.ref, other.ref])
    versions = {key for key in set(view.run.config) & set(baseline.run.config) if key.startswith("versions.")}
    changed = sorted(key for key in versions if view.config_value(key) != baseline.config_value(key))
    if versions:
        shown = (changed or sorted(versions))[0]
        out.put("differs_in_versions", bool(changed), [view.run.config[shown].ref])
    return Signal("compare", out.facts)


def healthy(view: RunView) -> bool | None:
    """Whether a run shows no lasting non-finite values; None if it shows neither loss nor norm."""
    loss, grad, course = view.once(loss_points), view.once(grad_points), view.once(scale_course)
    if loss is None and grad is None:
        return None
    broken = (loss is not None and bool(loss.bad.any())) or (
        grad is not None and harmful(view, grad) is not False
    )
    return not broken and (course is None or course.ended is None)


def _facts(view: RunView) -> Mapping[str, FactValue]:
    configured, embedded = FactWriter("config."), FactWriter("signal.")
    detect_configuration(view, configured)
    detect_embedding(view, embedded)
    return configured.facts | embedded.facts


def _differ(ours: Scalar, theirs: Scalar) -> bool:
    if isinstance(ours, float) or isinstance(theirs, float):
        left, right = number(ours), number(theirs)
        # Files round and frameworks convert: 1e-4 and 0.0001000000047 are equal.
        return left is None or right is None or abs(left - right) > 1e-6 * max(abs(left), abs(right))
    return ours != theirs


def _checkpoint(
    out: FactWriter,
    view: RunView,
    baseline: RunView,
    ours: Mapping[str, FactValue],
    theirs: Mapping[str, FactValue],
) -> None:
    """Other weights: another model by name, or special rows that are tiny in one run only."""
    tiny = "signal.embedding.special_rows_tiny"
    mine, other = view.config("model.name"), baseline.config("model.name")
    if tiny in ours and tiny in theirs and ours[tiny].value != theirs[tiny].value:
        out.put("differs_in_checkpoint", value=True, refs=ours[tiny].refs)
    elif mine is not None and other is not None:
        out.put("differs_in_checkpoint", _base_name(mine) != _base_name(other), [mine.ref])


def _base_name(entry: ConfigValue) -> str:
    """Model name without the directory in which a copy lies."""
    return str(entry.value).rstrip("/").rpartition("/")[2].lower()


def _other_keys(
    view: RunView, baseline: RunView, compared: Mapping[str, object]
) -> dict[str, tuple[SourceRef, ...]]:
    """Keys that both runs state and that differ, beyond those compared as facts."""
    done = {fact.removeprefix("config.") for _, fact in _COMPARED}
    found: dict[str, tuple[SourceRef, ...]] = {}
    for key in sorted(set(view.run.config) & set(baseline.run.config)):
        subject = _SUBJECTS.get(key, key)
        if subject in done or subject in compared or key in _IGNORED or key.startswith(_IGNORED_PREFIXES):
            continue
        mine, other = view.run.config[key], baseline.run.config[key]
        if mine.value is None or other.value is None or not _differ(mine.value, other.value):
            continue
        if key not in {"kernels.liger", "kernels.unsloth"}:
            found[subject] = () if mine.ref is None else (mine.ref,)
    mine_name, other_name = view.config("model.name"), baseline.config("model.name")
    if mine_name is not None and other_name is not None and _base_name(mine_name) != _base_name(other_name):
        found["model.name"] = () if mine_name.ref is None else (mine_name.ref,)
    return found


def _first_parting(view: RunView, baseline: RunView) -> tuple[int | None, list[SourceRef]]:
    ours, theirs = view.once(loss_points), baseline.once(loss_points)
    if ours is None or theirs is None or not has_steps(ours.series) or not has_steps(theirs.series):
        return None, []
    rows = _shared_rows(ours, theirs)
    known = rows >= 0
    mine, other = ours.series.value, theirs.series.value[rows]
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(mine - other) > PARTING * np.abs(other)
    apart |= ours.bad != theirs.bad[rows]
    parted = np.flatnonzero(known & apart)
    if not parted.size:
        return None, []
    row = int(parted[0])
    return ours.series.step_at(row), [ours.series.ref(row)]


def _difference(out: FactWriter, view: RunView, baseline: RunView) -> None:
    """How far the losses of equal steps lie apart, and to which side."""
    ours, theirs = view.once(loss_points), baseline.once(loss_points)
    if ours is None or theirs is None or not has_steps(ours.series) or not has_steps(theirs.series):
        return
    rows = _shared_rows(ours, theirs)
    mine, other = ours.series.value, theirs.series.value[rows]
    usable = (rows >= 0) & np.isfinite(mine) & np.isfinite(other) & (other > 0)
    if int(usable.sum()) < FEWEST_SHARED:
        return
    relative = (mine[usable] - other[usable]) / other[usable]
    refs = [ours.series.ref(int(np.flatnonzero(usable)[-1]))]
    out.put("shared_steps", int(usable.sum()), refs)
    out.put("loss_offset", float(relative.mean()), refs)
    out.put("loss_difference", float(np.abs(relative).mean()), refs)
    sign = np.sign(relative)
    out.put("difference_changes_sign", bool((sign > 0).mean() >= 0.2 and (sign < 0).mean() >= 0.2), refs)
    first = np.abs(relative[ours.series.step[usable] <= FIRST_STEPS])
    if first.size:
        out.put("apart_from_start", bool(median_of(first) > PARTING), refs)


def _norms(out: FactWriter, view: RunView, baseline: RunView) -> None:
    """Gradient norm over that of the baseline where the losses are equal, so that only the gradients can differ.

    Rows without steps are compared one by one: the equal losses show that they are the same steps.
    """
    ours, theirs = _rows_with_norm(view), _rows_with_norm(baseline)
    if ours is None or theirs is None:
        return
    count = min(len(ours[0]), len(theirs[0]))
    loss, norm = (series.value[:count] for series in ours)
    other, reference = (series.value[:count] for series in theirs)
    usable = np.isfinite(loss) & np.isfinite(other) & np.isfinite(norm) & np.isfinite(reference)
    usable &= (reference > 0) & (ours[0].step[:count] == theirs[0].step[:count])
    equal = np.abs(loss - other) <= EQUAL_LOSS * np.abs(other)
    if int(usable.sum()) < FEWEST_NORMS or not bool(equal[usable].all()):
        return
    ratios = norm[usable] / reference[usable]
    refs = [ours[1].ref(int(np.flatnonzero(usable)[-1]))]
    out.put("norm_ratio", float(median_of(ratios)), refs)
    apart = bool((ratios > NORMS_APART).all() or (ratios < 1 / NORMS_APART).all())
    out.put("norms_apart", apart, refs)


def _rows_with_norm(view: RunView) -> tuple[Series, Series] | None:
    """Losses and gradient norms of a log in which every row holds both."""
    loss, grad = view.once(loss_points), view.once(grad_points)
    if loss is None or grad is None or not np.array_equal(loss.series.line, grad.series.line):
        return None
    return loss.series, grad.series


def _shared_rows(ours: BadPoints, theirs: BadPoints) -> Integers:
    """Rows of equal step, whatever attempt they belong to in either run."""
    first = replace(ours.series, attempt=np.zeros_like(ours.series.attempt))
    second = replace(theirs.series, attempt=np.zeros_like(theirs.series.attempt))
    return align(first, second)
