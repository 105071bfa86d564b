"""Faults of learning rate, schedule, optimizer, initial weights and gradient flow."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import nn

from .faults import Injection, fault

if TYPE_CHECKING:
    from .session import Session
    from .spec import Spec
    from .tasks import Network


def between(severity: float, low: float, high: float) -> float:
    """A strength between two, in equal ratios."""
    return float(low * (high / low) ** severity)


def _vector(spec: Spec) -> bool:
    return not spec.language


def _scratch(spec: Spec) -> bool:
    return spec.start == "scratch"


def _adaptive(spec: Spec) -> bool:
    return spec.optimizer in {"adamw", "rmsprop", "lion", "adafactor"}


def _sgd(spec: Spec) -> bool:
    return spec.optimizer == "sgd"


def _weights(network: nn.Module) -> list[nn.Parameter]:
    return [p for p in network.parameters() if p.dim() > 1]


@fault("lr-too-high", "learning-rate-too-high", "worse")
class RateTooHigh(Injection):
    """The peak is 5 to 200 times too high."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(learning_rate=spec.learning_rate * between(spec.severity, 5, 200))


@fault("lr-too-high-unclipped", "learning-rate-too-high", "worse")
class RateTooHighUnclipped(Injection):
    """The peak is too high and nothing clips."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(learning_rate=spec.learning_rate * between(spec.severity, 4, 80), clip=None)


@fault("lr-raised-midway", "learning-rate-too-high", "worse", onset=(0.2, 0.6))
class RateRaised(Injection):
    """From the onset on the rate is 10 to 100 times what it was (a typing error at a restart, a bad schedule)."""

    def rate_factor(self, step: int, factor: float) -> float:
        return factor * between(self.spec.severity, 10, 100) if self.acts(step) else factor


@fault(
    "no-warmup",
    "learning-rate-too-high",
    "worse",
    fits=lambda s: s.language and _adaptive(s) and s.start == "scratch",
)
class NoWarmup(Injection):
    """A deep language model and a rate 3 to 12 times too high without warm-up; warm-up alone does not cure it."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(
            warmup_share=0.0,
            depth=6,
            clip=None,
            learning_rate=spec.learning_rate * between(spec.severity, 3, 12),
        )


@fault("lr-too-low", "learning-rate-too-low", "worse")
class RateTooLow(Injection):
    """The peak is 30 to 3000 times too low."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(learning_rate=spec.learning_rate / between(spec.severity, 30, 3000))


@fault("lr-decays-at-once", "lr-schedule-horizon-wrong", "worse", fits=_scratch)
class ScheduleTooShort(Injection):
    """The schedule was given 10 to 30 % of the real number of steps."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        schedule = spec.schedule if spec.schedule in {"cosine", "linear"} else "cosine"
        return spec.changed(schedule=schedule, warmup_share=0.02, option_horizon=0.3 - 0.2 * spec.severity)


@fault("lr-zero", "lr-zero", "worse")
class RateZero(Injection):
    """The learning rate is zero from the start."""

    def rate_factor(self, step: int, factor: float) -> float:
        return 0.0


@fault("lr-zero-after", "lr-zero", "worse", onset=(0.15, 0.4), fits=_scratch)
class RateZeroAfter(Injection):
    """The learning rate is exactly zero from the onset on, although the loss still falls."""

    def rate_factor(self, step: int, factor: float) -> float:
        return 0.0 if self.acts(step) else factor


@fault("lr-square-wave", "oscillating-loss", "swings", onset=(0.15, 0.3))
class RateSquareWave(Injection):
    """The rate jumps up 15 to 60 times and back, again and again."""

    def rate_factor(self, step: int, factor: float) -> float:
        period = max(8, int(self.spec.steps * 0.12))
        high = self.acts(step) and (step // period) % 2 == 0
        return factor * (between(self.spec.severity, 15, 60) if high else 1.0)


@fault("momentum-too-high", "oscillating-loss", "swings", fits=_sgd)
class MomentumTooHigh(Injection):
    """SGD with momentum 0.99 to 0.999 at an unchanged rate: the weights overshoot."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(option_momentum=1 - 0.01 * (0.1**spec.severity), clip=None)


@fault("adam-epsilon-huge", "learning-rate-too-low", "worse", fits=lambda s: s.optimizer == "adamw")
class EpsilonHuge(Injection):
    """Adam's epsilon dwarfs the second moment, so that updates are tiny."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(option_epsilon=between(spec.severity, 0.3, 30))


@fault("exploding-init", "exploding-gradient", "worse", fits=lambda s: _vector(s) and _scratch(s))
class ExplodingInit(Injection):
    """A deep stack whose weights amplify from layer to layer, without clipping."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(depth=9 if spec.architecture == "mlp" else 4, clip=None)

    def network(self, network: Network) -> None:
        with torch.no_grad():
            for weight in _weights(network):
                weight.mul_(between(self.spec.severity, 2.2, 4.5))


@fault(
    "vanishing-gradient",
    "vanishing-gradient",
    "worse",
    fits=lambda s: _vector(s) and _scratch(s) and s.task != "regression",
)
class Vanishing(Injection):
    """Ten sigmoid layers with default weights: almost no gradient reaches the first ones."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(
            depth=6 + int(6 * spec.severity) if spec.architecture == "mlp" else 4, option_activation=1
        )


@fault(
    "dead-relu", "dead-network", "worse", fits=lambda s: _vector(s) and _scratch(s) and s.task != "regression"
)
class DeadUnits(Injection):
    """Biases so negative that no unit ever fires."""

    def network(self, network: Network) -> None:
        with torch.no_grad():
            for module in list(network.body.modules())[1:]:
                if isinstance(module, nn.Linear | nn.Conv2d) and module.weight.shape[0] != self.spec.classes:
                    module.bias.fill_(-between(self.spec.severity, 6, 20))


@fault(
    "units-die-midway",
    "dead-network",
    "shifts",
    onset=(0.2, 0.6),
    fits=lambda s: _vector(s) and s.task != "regression",
)
class UnitsDie(Injection):
    """One wild update at the onset kills the units; the loss stays at chance."""

    def before_step(self, step: int, session: Session) -> None:
        if step == max(1, self.spec.onset_step):
            with torch.no_grad():
                for module in list(session.network.body.modules())[1:]:
                    if (
                        isinstance(module, nn.Linear | nn.Conv2d)
                        and module.weight.shape[0] != self.spec.classes
                    ):
                        module.bias.fill_(-between(self.spec.severity, 10, 40))


@fault(
    "zero-init", "dead-network", "worse", fits=lambda s: _vector(s) and _scratch(s) and s.task != "regression"
)
class ZeroInit(Injection):
    """All weights start at zero, so all units stay alike."""

    def network(self, network: Network) -> None:
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.zero_()


@fault("init-too-large", "init-std-too-large", "starts-high", fits=_scratch, needs=("classes",))
class InitTooLarge(Injection):
    """Weights 4 to 25 times too large: the loss begins far above chance."""

    def network(self, network: Network) -> None:
        factor = between(self.spec.severity, 4, 25)
        with torch.no_grad():
            for weight in _weights(network):
                weight.mul_(factor if self.spec.language else min(factor, 6.0))


@fault(
    "saturated-tanh",
    "poor-weight-initialization",
    "worse",
    fits=lambda s: _vector(s) and _scratch(s) and s.task != "regression",
    needs=("classes",),
)
class Saturated(Injection):
    """tanh units driven to their flat ends by large weights."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(option_activation=2)

    def network(self, network: Network) -> None:
        with torch.no_grad():
            for weight in _weights(network):
                weight.mul_(between(self.spec.severity, 15, 60))


@fault("frozen-layers", "gradients-disabled", "worse", fits=_scratch)
class Frozen(Injection):
    """Everything but biases and norms is frozen."""

    def network(self, network: Network) -> None:
        for parameter in network.parameters():
            parameter.requires_grad_(parameter.dim() == 1)
        if not any(p.requires_grad for p in network.parameters()):
            next(iter(network.parameters())).requires_grad_(True)


@fault("graph-cut-midway", "gradients-disabled", "worse", onset=(0.15, 0.4), fits=_scratch)
class GraphCut(Injection):
    """From the onset on the gradient is zero (a no_grad or detach that a callback switched on)."""

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        return loss * 0.0 + loss.detach() if self.acts(step) else loss


@fault("stale-parameters", "optimizer-holds-stale-params", "worse")
class StaleParameters(Injection):
    """The optimizer was built for a copy of the model: gradients flow, weights stay."""

    def trained(self, network: Network) -> list[nn.Parameter]:
        self.copied = copy.deepcopy(network)
        return list(self.copied.parameters())


@fault(
    "weight-decay-huge", "underfitting", "worse", fits=lambda s: s.optimizer in {"adamw", "lion", "adafactor"}
)
class DecayHuge(Injection):
    """Weight decay that beats the gradient: the network shrinks to a constant."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(
            weight_decay=min(between(spec.severity, 0.05, 0.6) / spec.learning_rate, 0.9 / spec.learning_rate)
        )


@fault(
    "dropout-huge", "underfitting", "worse", fits=lambda s: s.architecture == "mlp" and s.task != "regression"
)
class DropoutHuge(Injection):
    """Dropout of 80 to 97 % leaves little to learn with."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(dropout=0.8 + 0.17 * spec.severity)


@fault(
    "accumulation-not-divided", "grad-accum-loss-scaling-bug", "multiple", fits=_scratch, needs=("classes",)
)
class NotDivided(Injection):
    """The loss of each micro-batch is summed over the accumulation steps instead of averaged."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(accumulation=4 if spec.severity < 0.5 else 8, clip=None)

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        return loss * self.spec.accumulation


@fault("clip-too-low", "clipping-always-active", "worse", fits=lambda s: s.optimizer == "sgd")
class ClipTooLow(Injection):
    """A clip threshold far under the ordinary norm sets the step size."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(clip=0.03 * (0.01**spec.severity))


@fault(
    "softmax-twice",
    "loss-head-mismatch",
    "worse",
    fits=lambda s: _vector(s) and s.task != "regression" and _scratch(s),
)
class SoftmaxTwice(Injection):
    """Cross entropy over probabilities instead of logits: it cannot fall under ln(classes) - 1 by much."""

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        return nn.functional.cross_entropy(logits.softmax(-1), targets)


@fault("optimizer-lost-at-resume", "optimizer-state-not-restored", "jumps", onset=(0.35, 0.7))
class OptimizerLost(Injection):
    """At the onset the run resumes with a fresh optimizer, its warm-up past, and a rate that relied on its state."""

    def before_step(self, step: int, session: Session) -> None:
        if step == self.spec.onset_step:
            session.optimizer.state.clear()

    def rate_factor(self, step: int, factor: float) -> float:
        return factor * between(self.spec.severity, 4, 20) if 0 <= step - self.spec.onset_step < 4 else factor


@fault(
    "schedule-lost-at-resume",
    "scheduler-state-not-restored",
    "jumps",
    onset=(0.4, 0.7),
    fits=lambda s: s.schedule in {"cosine", "linear", "rsqrt", "milestones"},
)
class ScheduleLost(Injection):
    """At the onset the schedule starts again at a peak far above where it stood, on a fresh optimizer."""

    def before_step(self, step: int, session: Session) -> None:
        if step == self.spec.onset_step:
            session.optimizer.state.clear()

    def rate_factor(self, step: int, factor: float) -> float:
        return between(self.spec.severity, 3, 10) if self.acts(step) else factor
