"""Which fix of which rule is tried on which planted fault, and how the faulty run is changed by it.

The fix is applied to the faulty configuration as its rule words it. Where a rule says "a third first, down to a
tenth", the steps of that ladder are tried in turn and the first that cures counts. This module needs no torch: what
a fix does to weights, samples or steps is a class of `fixes_hooks.py`, named here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Truth
    from .spec import Spec

Change = Callable[["Spec", "Truth"], "Spec"]
"""Makes the fixed run's configuration from the faulty one and what was measured in the faulty run."""


@dataclass(frozen=True)
class FixTrial:
    """One row.

    Attributes:
        fault: Name of the planted fault.
        rule: Slug of the rule whose fix it is.
        fix: Id of the fix in that rule.
        does: What the fix changes here, in words.
        changes: Changed configurations, tried in turn until one cures.
        hooks: Class of `fixes_hooks.py` that stands between the fault and the run.
        planted: Class that the faulty run itself uses, where the lab's fault is too coarse for the fix.
        only: Faulty configurations in which the fix can be applied.
        severity: Range of the fault's strength: weaker faults seldom bite, and stronger ones may be another fault.
        reference: Makes the healthy runs' configuration of the base and the faulty one; the base alone by default.
    """

    fault: str
    rule: str
    fix: str
    does: str
    changes: tuple[Change, ...] = (lambda spec, _: spec,)
    hooks: str = "AsPlanted"
    planted: str = "AsPlanted"
    only: Callable[[Spec], bool] = lambda _: True
    reference: Callable[[Spec, Spec], Spec] = lambda base, _: base
    severity: tuple[float, float] = (0.4, 1.0)

    @property
    def key(self) -> str:
        """Name of the row's file."""
        return f"{self.fault}--{self.rule}--{self.fix}"


def _rate_times(*factors: float) -> tuple[Change, ...]:
    return tuple(lambda s, _, f=factor: s.changed(learning_rate=s.learning_rate * f) for factor in factors)


def _with(**values: object) -> tuple[Change, ...]:
    return (lambda s, _: s.changed(**values),)


def _clip_at_twice_the_median(spec: Spec, faulty: Truth) -> Spec:
    norms = [norm for norm in faulty.grad_norm if math.isfinite(norm)]
    return spec.changed(clip=2 * statistics.median(norms))


def _stop_at_best(spec: Spec, faulty: Truth) -> Spec:
    step, _ = min(faulty.shown_eval, key=lambda point: point[1])
    return spec.changed(stop_at=step + 1)


def _train_until_best(spec: Spec, faulty: Truth) -> Spec:
    steps = max(4, _stop_at_best(spec, faulty).stop_at or 0)
    return spec.changed(steps=steps, log_every=1, eval_every=max(1, steps // 6))


def _epochs(count: int, batches_of_data: float) -> Change:
    """``count`` passes over what the faults with few samples leave, their size as in `faults_data.py`."""

    def change(spec: Spec, _: Truth) -> Spec:
        batches = batches_of_data * 3 ** (1 - spec.severity)
        steps = max(4, round(count * batches / spec.accumulation))
        return spec.changed(steps=min(spec.steps, steps), log_every=1, eval_every=max(1, steps // 6))

    return change


def _smaller_wild_update(part: float) -> Change:
    return lambda s, _: s.changed(learning_rate=s.learning_rate * part, option_part=part)


def _scratch(spec: Spec) -> bool:
    return spec.start == "scratch"


def _short_warmup(spec: Spec) -> bool:
    return spec.warmup_share < 0.05


def _same_rate(base: Spec, faulty: Spec) -> Spec:
    return base.changed(learning_rate=faulty.learning_rate)


def _same_depth(base: Spec, faulty: Spec) -> Spec:
    return base.changed(depth=faulty.depth)


def _same_start(base: Spec, faulty: Spec) -> Spec:
    return base.changed(start=faulty.start)


LOWER = _rate_times(1 / 3, 1 / 10, 1 / 30, 1 / 100)
LOWER_DOES = "learning rate / 3, / 10, / 30, / 100 in turn"
RAISE = _rate_times(3, 10, 30, 100, 300, 1000)
RAISE_DOES = "learning rate x 3, x 10, x 30, x 100, x 300, x 1000 in turn"
WARM_UP = _with(warmup_share=0.1)
CLIP = _with(clip=1.0)
WORKERS = tuple(change for workers in (8, 16, 32) for change in _with(option_workers=workers))
GENTLE = (0.0, 0.4)
"""Of the momentum: above that the run diverges instead of swinging."""

BUFFERS = tuple(change for shards in (1.5, 3, 6) for change in _with(option_shards=shards))

OPTIMISATION = (
    FixTrial("lr-too-high", "learning-rate-too-high", "lower-lr", LOWER_DOES, LOWER),
    FixTrial("lr-too-high", "learning-rate-too-high", "warm-up", "warm-up over 10 % of the steps", WARM_UP, only=_short_warmup),
    FixTrial("lr-too-high-unclipped", "learning-rate-too-high", "lower-lr", LOWER_DOES, LOWER),
    FixTrial("lr-too-high-unclipped", "learning-rate-too-high", "clip", "gradient norm clipped at 1.0", CLIP),
    FixTrial("lr-raised-midway", "learning-rate-too-high", "lower-lr", LOWER_DOES, LOWER),
    FixTrial("no-warmup", "no-warmup", "warm-up", "warm-up over 10 % of the steps", WARM_UP),
    FixTrial("no-warmup", "no-warmup", "lower-lr", LOWER_DOES, LOWER),
    FixTrial("no-warmup", "no-warmup", "clip", "gradient norm clipped at 1.0", CLIP),
    FixTrial("lr-too-low", "learning-rate-too-low", "raise-rate", RAISE_DOES, RAISE),
    FixTrial("adam-epsilon-huge", "learning-rate-too-low", "raise-rate", RAISE_DOES, RAISE),
    FixTrial("adam-epsilon-huge", "learning-rate-too-low", "usual-epsilon", "Adam's epsilon 1e-8", _with(option_epsilon=1e-8)),
    FixTrial("lr-decays-at-once", "lr-schedule-horizon-wrong", "give-steps", "schedule over all steps of the run", _with(option_horizon=1.0)),
    FixTrial("lr-zero", "lr-zero", "set-rate", "the configured rate reaches every parameter group", hooks="RateOfConfig"),
    FixTrial("lr-zero-after", "lr-zero", "set-rate", "the configured rate reaches every parameter group", hooks="RateOfConfig"),
    FixTrial("lr-square-wave", "oscillating-loss", "lower-lr", LOWER_DOES, LOWER),
    FixTrial("momentum-too-high", "oscillating-loss", "lower-lr", LOWER_DOES, LOWER, severity=GENTLE),
    FixTrial("momentum-too-high", "oscillating-loss", "larger-batch", "batch four times as large", (lambda s, _: s.changed(batch_size=s.batch_size * 4),), severity=GENTLE),
    FixTrial("momentum-too-high", "oscillating-loss", "usual-momentum", "momentum 0.9", _with(option_momentum=0.9), severity=GENTLE),
    FixTrial("exploding-init", "exploding-gradient", "clip", "gradient norm clipped at 1.0", CLIP, reference=_same_depth),
    FixTrial("exploding-init", "exploding-gradient", "lower-lr", LOWER_DOES, LOWER, reference=_same_depth),
    FixTrial("exploding-init", "exploding-gradient", "fan-in", "weights by fan-in, layer norms", hooks="NormalisedByFanIn", reference=_same_depth),
    FixTrial("outlier-unclipped", "gradient-clipping-missing", "clip", "clipped at twice the median norm", (_clip_at_twice_the_median,)),
    FixTrial("outlier-unclipped", "gradient-clipping-missing", "lower-lr", LOWER_DOES, LOWER),
    FixTrial("vanishing-gradient", "vanishing-gradient", "paths", "shortcuts, layer norms, ReLU, weights by fan-in", _with(option_activation=0), hooks="ShortcutsByFanIn"),
    FixTrial("dead-relu", "dead-network", "smaller-rate", LOWER_DOES, LOWER),
    FixTrial("dead-relu", "dead-network", "leaky", "layer norms and leaky ReLU", hooks="NormalisedLeaky"),
    FixTrial("dead-relu", "dead-network", "fan-in", "weights by fan-in, biases 0", hooks="ByFanIn"),
    FixTrial("units-die-midway", "dead-network", "smaller-rate", "rate and wild update / 3, / 10 in turn", tuple(map(_smaller_wild_update, (1 / 3, 1 / 10))), hooks="SmallerWildUpdate"),
    FixTrial("units-die-midway", "dead-network", "leaky", "layer norms and leaky ReLU", hooks="NormalisedLeaky", only=_scratch),
    FixTrial("zero-init", "dead-network", "leaky", "layer norms and leaky ReLU", hooks="NormalisedLeaky"),
    FixTrial("zero-init", "dead-network", "fan-in", "weights by fan-in, biases 0", hooks="ByFanIn"),
    FixTrial("init-too-large", "init-std-too-large", "std-by-formula", "standard deviation sqrt(1 / (3 h))", hooks="StdByFormula"),
    FixTrial("saturated-tanh", "poor-weight-initialization", "fan-in", "weights by fan-in (Xavier), layer norms", hooks="NormalisedByFanIn"),
    FixTrial("frozen-layers", "gradients-disabled-flat-loss", "unfreeze", "every parameter trains", hooks="Unfrozen"),
    FixTrial("graph-cut-midway", "gradients-disabled-flat-loss", "unfreeze", "the scope without gradients is gone", hooks="LossAsComputed"),
    FixTrial("stale-parameters", "optimizer-holds-stale-params", "build-later", "optimizer built from the trained model", hooks="OptimizerOfThisModel"),
    FixTrial("weight-decay-huge", "underfitting", "more", "less regularisation: weight decay 0.01", _with(weight_decay=0.01)),
    FixTrial("dropout-huge", "underfitting", "more", "less regularisation: dropout 0.1", _with(dropout=0.1)),
    FixTrial("accumulation-not-divided", "grad-accum-loss-scaling-bug", "upgrade", "loss divided by the accumulation", hooks="LossAsComputed"),
    FixTrial("accumulation-not-divided", "grad-accum-loss-scaling-bug", "no-accumulation", "one micro-batch a step", _with(accumulation=1)),
    FixTrial("clip-too-low", "clipping-always-active", "raise-threshold", "threshold twice the median norm", (_clip_at_twice_the_median,)),
    FixTrial("softmax-twice", "loss-head-mismatch", "match", "cross entropy of the logits", hooks="LossAsComputed"),
    FixTrial("optimizer-lost-at-resume", "optimizer-state-not-restored", "save-and-load", "optimizer and scheduler restored", hooks="StateRestored"),
    FixTrial("optimizer-lost-at-resume", "optimizer-state-not-restored", "short-warm-up", "warm-up over 10 % of the run after the resume", hooks="WarmUpAgain"),
    FixTrial("schedule-lost-at-resume", "scheduler-state-not-restored", "restore", "scheduler restored, optimizer still fresh", hooks="RateOfConfig"),
)  # fmt: skip

DATA = (
    FixTrial("nan-in-batch", "bad-input-data", "drop-or-repair", "samples that are not finite are dropped", hooks="FiniteSamples"),
    FixTrial("inf-in-batch", "bad-input-data", "drop-or-repair", "samples that are not finite are dropped", hooks="FiniteSamples"),
    FixTrial("nan-in-batch", "missing-nonfinite-guard", "guard", "steps with a norm that is not finite are skipped", hooks="GuardedSteps"),
    FixTrial("unnormalised-inputs", "unnormalized-inputs", "normalise", "mean and deviation of the training set", hooks="Standardised", reference=_same_start),
    FixTrial("sorted-by-class", "poor-shuffling", "global-shuffle", "the whole list is shuffled", hooks="GlobalShuffle"),
    FixTrial("shards-in-order", "poor-shuffling", "global-shuffle", "the whole list is shuffled", hooks="GlobalShuffle"),
    FixTrial("sorted-by-class", "poor-shuffling", "larger-buffer", "shuffle buffer of 1.5, 3, 6 classes in turn", BUFFERS, hooks="ShuffleBuffer"),
    FixTrial("shards-in-order", "poor-shuffling", "larger-buffer", "shuffle buffer of 1.5 shards, 3 of 3 shards in turn", BUFFERS[:2], hooks="ShuffleBuffer"),
    FixTrial("few-samples", "overfitting", "best-checkpoint", "run ends at its best evaluation", (_stop_at_best,)),
    FixTrial("few-samples", "overfitting", "fewer-epochs", "as many epochs as the best evaluation took, schedule to match", (_train_until_best,)),
    FixTrial("few-samples", "overfitting", "regularise", "weight decay 0.1 and dropout 0.3", _with(weight_decay=0.1, dropout=0.3)),
    FixTrial("too-many-epochs", "too-many-epochs", "fewer-epochs", "one, two, three epochs in turn", tuple(_epochs(count, 6.0) for count in (1, 2, 3))),
    FixTrial("too-many-epochs", "too-many-epochs", "best-checkpoint", "run ends at its best evaluation", (_stop_at_best,)),
    FixTrial("bad-batch", "recovered-loss-spike", "lower-clip", "clipped at 0.5", _with(clip=0.5), only=lambda s: (s.clip or 9.0) > 0.5),
    FixTrial("outlier-unclipped", "loss-spike-slow-recovery", "skip-window", "from before the spike, its batches skipped", hooks="BatchesSkipped"),
    FixTrial("garbage-stretch", "bad-data-pocket", "skip-and-clean", "from before the stretch, its batches skipped", hooks="BatchesSkipped"),
    FixTrial("imbalanced-classes", "class-imbalance", "reweight", "loss weighted by inverse frequency", hooks="Reweighted"),
    FixTrial("imbalanced-classes", "class-imbalance", "sample-evenly", "classes sampled evenly", hooks="SampledEvenly"),
    FixTrial("eval-in-training-set", "train-val-leakage", "split-by-group", "evaluation samples removed from training", hooks="SplitApart", only=_scratch),
    FixTrial("nan-in-eval-set", "eval-only-nan", "drop-or-repair", "evaluation samples that are not finite are dropped", hooks="FiniteEvaluation"),
    FixTrial("labels-all-ignored", "labels-all-ignored", "drop-empty", "of four in five batches without targets none is used", hooks="BatchesSkipped", planted="FourOfFiveMasked"),
    FixTrial("labels-all-ignored", "labels-all-ignored", "global-count", "sum divided by max(1, targets), four in five batches without", hooks="CountedTargets", planted="FourOfFiveMasked"),
    FixTrial("repeated-after-resume", "data-repeated-after-resume", "skip-batches", "the loader goes on where it stood", hooks="OrderRestored", severity=(0.8, 1.0)),
)  # fmt: skip

PRECISION = (
    FixTrial("scale-starts-too-high", "fp16-scale-calibration", "nothing", "start value 2^12", _with(option_loss_scale=2.0**12)),
    FixTrial("scale-pinned-low", "fp16-gradient-underflow", "bf16", "bf16 autocast, no scaler", _with(precision="bf16")),
    FixTrial("scale-pinned-low", "fp16-gradient-underflow", "faster-recovery", "the scale doubles after each two good steps", hooks="GrowingScale"),
    FixTrial("half-weights-adam", "low-precision-master-weights", "fp32-masters", "fp32 weights, fp16 autocast with a scaler", _with(precision="fp16")),
    FixTrial("half-weights-adam", "low-precision-master-weights", "bf16", "fp32 weights, bf16 autocast", _with(precision="bf16")),
    FixTrial("half-weights-adam", "low-precision-master-weights", "epsilon", "Adam's epsilon 1e-6, 1e-4 in turn", tuple(change for e in (1e-6, 1e-4) for change in _with(option_epsilon=e))),
    FixTrial("bf16-weights", "bf16-update-rounding", "masters", "fp32 weights, bf16 autocast", _with(precision="bf16"), reference=_same_rate),
    FixTrial("bf16-weights", "bf16-update-rounding", "stochastic", "stochastic rounding of each update", hooks="StochasticRounding", reference=_same_rate),
    FixTrial("log-of-zero", "loss-implementation-bug", "correct-term", "epsilon inside the logarithm", hooks="LogOfEpsilon"),
    FixTrial("wrong-sign", "loss-implementation-bug", "correct-term", "sign of the regulariser turned", hooks="RightSign"),
)  # fmt: skip

COST = (
    FixTrial("slow-loader", "data-loading-bottleneck", "more-workers", "8, 16, 32 workers that load ahead, in turn", WORKERS, hooks="Prefetched"),
)  # fmt: skip

FIX_TRIALS = (*OPTIMISATION, *DATA, *PRECISION, *COST)
"""Every trial; order of the table."""
