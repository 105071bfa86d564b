"""Faults that leave the loss alone and cost time or memory."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import torch

from .faults import Injection, fault
from .faults_optimisation import between

if TYPE_CHECKING:
    from .session import Session
    from .spec import Spec

TIMES = ("step_time_s",)
NORMAL_S = 0.004
"""A wait that is long beside the loop's own step (2 to 40 ms here), so that severity 0 doubles small steps only."""


def _cheap(spec: Spec) -> bool:
    """Waiting is real sleep: only short runs can afford it."""
    return spec.steps <= 200


@fault("slow-loader", "data-loading-bottleneck", "waits", fits=_cheap, needs=("data_time_s",))
class SlowLoader(Injection):
    """Every batch is waited for."""

    def wait_s(self, step: int) -> float:
        return between(self.spec.severity, 4, 10) * NORMAL_S


@fault("loader-slows-down", "throughput-drop", "slower", onset=(0.25, 0.7), fits=_cheap, needs=TIMES)
class LoaderSlows(Injection):
    """From the onset on every batch is waited for (a cold cache, a throttled store)."""

    def wait_s(self, step: int) -> float:
        return between(self.spec.severity, 4, 12) * NORMAL_S if self.acts(step) else 0.0


@fault("periodic-stall", "step-time-outliers", "stalls", onset=(0.02, 0.1), fits=_cheap, needs=TIMES)
class PeriodicStall(Injection):
    """Every few steps one takes very long."""

    def wait_s(self, step: int) -> float:
        period = max(4, self.spec.steps // (8 + self.spec.seed % 9))
        return (
            between(self.spec.severity, 25, 60) * NORMAL_S if self.acts(step) and step % period == 1 else 0.0
        )


@fault("random-stall", "step-time-outliers", "stalls", fits=_cheap, needs=TIMES)
class RandomStall(Injection):
    """Now and then a step takes very long."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._rng = random.Random(spec.seed)

    def wait_s(self, step: int) -> float:
        stalls = step > 3 and self._rng.random() < 0.08
        return between(self.spec.severity, 25, 60) * NORMAL_S if stalls else 0.0


@fault("gradual-slowdown", "throughput-drop", "slower", onset=(0.1, 0.4), fits=_cheap, needs=TIMES)
class GradualSlowdown(Injection):
    """Each step is a little slower than the one before (a growing list is walked)."""

    def wait_s(self, step: int) -> float:
        grown = max(0, step - self.spec.onset_step) / self.spec.steps
        return grown * between(self.spec.severity, 8, 30) * NORMAL_S


@fault(
    "losses-kept", "host-memory-leak", "grows", needs=TIMES, fits=lambda s: s.language and s.engine == "loop"
)
class LossesKept(Injection):
    """Losses are kept with their graphs."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._kept: list[torch.Tensor] = []

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        self._kept.append(loss + logits.float().mean() * 0)
        return loss

    def before_step(self, step: int, session: Session) -> None:
        if step > session.last_step:
            self._kept.clear()
