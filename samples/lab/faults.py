"""What a planted fault may touch, and the table of all metric faults.

The classes live in `faults_optimisation.py`, `faults_data.py`, `faults_precision.py` and `faults_speed.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import nn

    from .session import Session
    from .spec import Spec
    from .tasks import Data, Network


class Injection:
    """Hooks of a fault; this class is the healthy run, a fault overrides what it breaks.

    Args:
        spec: The configured run, with ``severity`` in 0..1 and ``onset_step``.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    @staticmethod
    def configure(spec: Spec) -> Spec:
        """The configuration with the fault in it."""
        return spec

    def acts(self, step: int) -> bool:
        """Whether the fault has begun."""
        return step >= self.spec.onset_step

    def data(self, data: Data) -> Data:
        """The samples."""
        return data

    def network(self, network: Network) -> None:
        """Change the fresh weights in place."""

    def trained(self, network: Network) -> list[nn.Parameter]:
        """Parameters given to the optimizer."""
        return [p for p in network.parameters() if p.requires_grad]

    def order(self, data: Data, indices: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
        """Indices of the micro-batches."""
        return indices

    def batch(
        self,
        step: int,
        inputs: torch.Tensor,
        targets: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """One micro-batch."""
        return inputs, targets

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        """The loss that is differentiated."""
        return loss

    def rate_factor(self, step: int, factor: float) -> float:
        """Share of the peak learning rate."""
        return factor

    def before_step(self, step: int, session: Session) -> None:
        """Called once before each optimizer step's first micro-batch."""

    def wait_s(self, step: int) -> float:
        """Seconds that the loader makes the step wait."""
        return 0.0


@dataclass(frozen=True)
class MetricFault:
    """A fault of the table.

    Attributes:
        name: What is planted.
        label: The catalogue's cause id if the outcome test finds that it bit.
        outcome: Name of the outcome test in `outcome.py`.
        injection: Its hooks.
        fits: Configurations in which it makes sense.
        onset: Range of the onset as a share of the run; (0, 0) for faults of the set-up.
        needs: Metrics without which the fault leaves no trace in the log.
    """

    name: str
    label: str
    outcome: str
    injection: type[Injection]
    fits: Callable[[Spec], bool]
    onset: tuple[float, float] = (0.0, 0.0)
    needs: tuple[str, ...] = ()


METRIC_FAULTS: dict[str, MetricFault] = {}


def fault(
    name: str,
    label: str,
    outcome: str,
    *,
    fits: Callable[[Spec], bool] = lambda _: True,
    onset: tuple[float, float] = (0.0, 0.0),
    needs: tuple[str, ...] = (),
) -> Callable[[type[Injection]], type[Injection]]:
    """Enter a class into the table under a name."""

    def enter(injection: type[Injection]) -> type[Injection]:
        METRIC_FAULTS[name] = MetricFault(name, label, outcome, injection, fits, onset, needs)
        return injection

    return enter


class Healthy(Injection):
    """Nothing is planted."""


def injection_of(spec: Spec) -> Injection:
    """The hooks of a run whose spec is already configured."""
    load_all()
    return Healthy(spec) if spec.fault == "none" else METRIC_FAULTS[spec.fault].injection(spec)


def load_all() -> dict[str, MetricFault]:
    """The whole table."""
    from . import faults_data, faults_optimisation, faults_precision, faults_speed  # noqa: F401

    return METRIC_FAULTS
