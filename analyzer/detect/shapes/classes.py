"""The classes of the classifier: courses that a curve can take, and the causes that take them.

Causes whose curves look alike share a class; which those are was read off the confusion of a classifier trained on
single causes (report of ``analyzer classifier evaluate``). The class names what is seen, a rule decides on the cause.
"""

from __future__ import annotations

from functools import lru_cache

from analyzer.model.labels import HEALTHY
from analyzer.record import NamedTuple


class Shape(NamedTuple):
    """One class."""

    name: str  # its word in reports
    says: str  # what is seen, as a sentence
    cause: str  # the catalogue's most general cause of this course
    causes: tuple[str, ...]  # causes that take this course from the start of the run or whenever they act
    late_causes: tuple[str, ...] = ()  # causes that take this course if they begin in the middle of a run
    severity: str = "degrading"  # what it does to the run: fatal, degrading, wasteful or advisory
    # most that the class adds to a cause; less where the rules' own lines say the same of the same curve
    most_bits: float = 3.0


SHAPES = (
    Shape(HEALTHY, "nothing is wrong", "healthy", ("healthy", "fp16-scale-calibration"), severity="advisory"),
    Shape(
        "diverges",
        "the loss is thrown about or climbs instead of falling",
        "loss-divergence",
        ("learning-rate-too-high", "no-warmup", "exploding-gradient", "loss-divergence", "underfitting"),
        ("learning-rate-too-high", "loss-divergence"),
        severity="fatal",
    ),
    Shape(
        "no-progress",
        "the loss hardly moves, from the start or soon after",
        "loss-plateau",
        (
            "learning-rate-too-low", "lr-zero", "lr-schedule-horizon-wrong", "dead-network", "vanishing-gradient", "gradients-disabled",
            "optimizer-holds-stale-params", "bf16-update-rounding", "fp16-gradient-underflow",
            "clipping-always-active", "loss-plateau", "learning-rate-too-high", "no-warmup", "exploding-gradient",
            "underfitting", "data-pipeline-bug", "loss-head-mismatch",
        ),
        most_bits=0.0,
    ),
    Shape(
        "level-jump",
        "the loss jumps up at one point and does not soon come back",
        "loss-spike-slow-recovery",
        ("loss-spike-slow-recovery", "optimizer-state-not-restored", "scheduler-state-not-restored"),
        ("data-pipeline-bug", "dead-network"),
    ),
    Shape(
        "spike-recovers",
        "the loss has a short peak and returns to its trend",
        "recovered-loss-spike",
        ("recovered-loss-spike",),
        severity="advisory",
    ),
    Shape("bad-stretch", "the loss is raised for a stretch and then as before", "bad-data-pocket", ("bad-data-pocket",)),
    Shape(
        "starts-high",
        "the loss begins far above what a guess costs",
        "poor-weight-initialization",
        ("unnormalized-inputs", "init-std-too-large", "poor-weight-initialization", "grad-accum-loss-scaling-bug"),
    ),
    Shape(
        "overfits",
        "the evaluation loss rises again while the training loss falls",
        "overfitting",
        ("overfitting", "too-many-epochs", "duplicated-training-data"),
    ),
    Shape(
        "evaluation-apart",
        "the evaluation loss never follows the training loss",
        "data-pipeline-bug",
        ("train-eval-format-mismatch", "class-imbalance"),
    ),
    Shape(
        "sudden-nonfinite",
        "the loss is NaN or infinite without having grown before",
        "nonfinite-forward",
        ("bad-input-data", "labels-all-ignored", "loss-implementation-bug", "low-precision-master-weights"),
        severity="fatal",
    ),
    Shape("evaluation-nonfinite", "only the evaluation loss is NaN", "eval-only-nan", ("eval-only-nan",)),
)  # fmt: skip

BY_COURSE = {"rises": "diverges", "flat": "no-progress"}
"""Class of a run that ended worse than its baseline, by what its training loss did; many causes take either course."""

SWINGING = frozenset({"oscillating-loss", "poor-shuffling"})
"""Causes that no class stands for whatever the loss did: see below."""

UNDECIDABLE = (
    "data-pipeline-bug", "loss-head-mismatch", "underfitting", "train-val-leakage", "data-repeated-after-resume",
    "host-memory-leak", *sorted(SWINGING), "data-loading-bottleneck", "throughput-drop", "step-time-outliers",
)  # fmt: skip
"""Causes of the lab for which no class stands unless their loss rises or is flat: their curves are those of a sound run
on a harder, easier or repeated task, so nothing but a baseline or the data can tell. Those of time are left to the rules,
which know thresholds: in the lab, on a shared machine, healthy runs stall as well. Swings were told from noise in
three of ten runs of writers that training had not seen, so they are left to the rules too."""


@lru_cache(maxsize=1)
def _by_cause() -> tuple[dict[str, str], dict[str, str]]:
    early: dict[str, str] = {}
    late: dict[str, str] = {}
    for shape in SHAPES:
        for cause in shape.causes:
            early.setdefault(cause, shape.name)
        late |= dict.fromkeys(shape.late_causes, shape.name)
    return early, late


def shape_of(cause: str, *, late: bool = False, course: str = "") -> str | None:
    """The class of a run with a known cause, None if no class stands for it.

    Args:
        cause: Cause id, or ``healthy``.
        late: Whether the cause began to act in the middle of the run.
        course: What the training loss did (``rises``, ``flat``, ``slower``), empty if that is not known.
    """
    early, later = _by_cause()
    found = later.get(cause, early.get(cause)) if late else early.get(cause)
    if cause in SWINGING:
        return None
    if found in {None, *BY_COURSE.values()} and course:
        return BY_COURSE.get(course)
    return found


def shape_named(name: str) -> Shape:
    """The class of that name."""
    return next(shape for shape in SHAPES if shape.name == name)


def shapes_with(cause: str) -> tuple[str, ...]:
    """Names of all classes in which a cause is found."""
    return tuple(shape.name for shape in SHAPES if cause in {*shape.causes, *shape.late_causes, shape.cause})
