"""What really happened in a run, recorded beside its own log; the outcome tests read it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Truth:
    """What really happened, point by point.

    Attributes:
        loss: Training loss of each optimizer step.
        clean_eval: (step, loss on clean held-out data).
        shown_eval: (step, evaluation loss as the run logged it).
        step_time_s: Wall time of each step.
        grad_norm: Gradient norm before clipping.
        memory_mb: Resident memory at each clean evaluation.
    """

    loss: list[float] = field(default_factory=list)
    clean_eval: list[tuple[int, float]] = field(default_factory=list)
    shown_eval: list[tuple[int, float]] = field(default_factory=list)
    step_time_s: list[float] = field(default_factory=list)
    grad_norm: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
