"""Faults of number formats and of the loss formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .faults import Injection, fault
from .faults_optimisation import between

if TYPE_CHECKING:
    from .spec import Spec


def _half_possible(spec: Spec) -> bool:
    """fp16 products are emulated on a CPU, so only small loops use them."""
    return (
        spec.engine == "loop"
        and spec.optimizer in {"adamw", "sgd"}
        and spec.architecture in {"mlp", "llama", "qwen2"}
    )


def _short(spec: Spec) -> Spec:
    return spec.changed(
        steps=min(spec.steps, 140), log_every=min(spec.log_every, 2), stop_at=None, eval_every=14
    )


@fault("scale-starts-too-high", "fp16-scale-calibration", "calibrates", fits=_half_possible)
class ScaleTooHigh(Injection):
    """The loss scale starts 2**20 to 2**30 too high and is halved step by step; the run then trains."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        power = 30 + int(10 * spec.severity)
        return _short(spec).changed(precision="fp16", option_loss_scale=2.0**power)


@fault("scale-pinned-low", "fp16-gradient-underflow", "worse", fits=_half_possible)
class ScalePinnedLow(Injection):
    """A static scale of 2**-20 or less: small gradients round to zero."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return _short(spec).changed(precision="fp16", option_loss_scale=2.0 ** -(20 + 4 * spec.severity))


@fault(
    "half-weights-adam",
    "low-precision-master-weights",
    "nonfinite",
    fits=lambda s: s.optimizer == "adamw" and s.engine == "loop" and s.architecture == "mlp",
)
class HalfWeights(Injection):
    """Weights and Adam state in fp16, where epsilon 1e-8 is zero."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return _short(spec).changed(precision="pure-fp16")


@fault(
    "bf16-weights",
    "bf16-update-rounding",
    "worse",
    fits=lambda s: s.engine == "loop" and s.optimizer in {"adamw", "sgd"},
)
class BrainWeights(Injection):
    """Weights in bf16 and a small rate: updates are rounded away."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(
            precision="pure-bf16", learning_rate=spec.learning_rate / between(spec.severity, 8, 80)
        )


@fault("log-of-zero", "loss-implementation-bug", "nonfinite", onset=(0.1, 0.8))
class LogOfZero(Injection):
    """A term of the loss is 0 * log(0) from the onset on."""

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        return loss + 0.0 * torch.log((loss - loss.detach()).abs()) if self.acts(step) else loss


@fault("wrong-sign", "loss-divergence", "worse", onset=(0.1, 0.6))
class WrongSign(Injection):
    """A term with the wrong sign takes over from the onset on, and the loss climbs; what pushes it cannot be seen."""

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        if not self.acts(step):
            return loss
        return (
            loss - between(self.spec.severity, 1.3, 3.0) * (loss - loss.detach()) + 0.01 * (logits**2).mean()
        )
