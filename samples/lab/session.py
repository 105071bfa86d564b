"""One run's parts, the same for every engine: data stream, network, optimizer, schedule, fault, and ground truth.

An engine (`loop.py`, `engine_*.py`) owns the loop and the logging; it takes batches from here, lets the fault
touch what it touches, and reports each step back. The ground truth (`Truth`) is recorded beside the run's own
log: the outcome test reads it, the run directory does not hold it.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from .tasks import Data, Network, make_data, make_network, order_of, pretrained
from .truth import Truth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .faults import Injection
    from .spec import Spec

TRUTH_EVALUATIONS = 14


class Lion(torch.optim.Optimizer):
    """Sign of an interpolated momentum (Chen et al. 2023, arXiv 2302.06675), which torch does not ship."""

    def __init__(self, params: Any, lr: float, weight_decay: float) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One update; the closure, if any, computes loss and gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                momentum = self.state[parameter].setdefault("momentum", torch.zeros_like(parameter))
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.add_(torch.sign(momentum * 0.9 + parameter.grad * 0.1), alpha=-group["lr"])
                momentum.mul_(0.99).add_(parameter.grad, alpha=0.01)
        return loss


def make_optimizer(spec: Spec, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """The optimizer of a run; options `momentum`, `beta2`, `epsilon` override its defaults."""
    lr, decay = spec.learning_rate, spec.weight_decay
    if spec.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=lr, momentum=spec.option("momentum", 0.9), weight_decay=decay)
    if spec.optimizer == "adamw":
        betas = spec.option("momentum", 0.9), spec.option("beta2", 0.999)
        return torch.optim.AdamW(
            parameters, lr=lr, betas=betas, eps=spec.option("epsilon", 1e-8), weight_decay=decay
        )
    if spec.optimizer == "rmsprop":
        return torch.optim.RMSprop(parameters, lr=lr, eps=spec.option("epsilon", 1e-8))
    if spec.optimizer == "adafactor":
        return torch.optim.Adafactor(parameters, lr=lr, weight_decay=decay)
    return Lion(parameters, lr=lr, weight_decay=decay)


def schedule_factor(spec: Spec, step: int) -> float:
    """Share of the peak learning rate at a step; option `horizon` shortens the schedule to a share of the run."""
    warmup = max(1, round(spec.warmup_share * spec.steps))
    if step < warmup:
        return (step + 1) / warmup
    horizon = spec.option("horizon", 1.0) * spec.steps
    done = min(1.0, (step - warmup) / max(1.0, horizon - warmup))
    if spec.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * done))
    if spec.schedule == "linear":
        return 1 - done
    if spec.schedule == "milestones":
        return 0.1 if done > 0.85 else (0.3 if done > 0.6 else 1.0)
    if spec.schedule == "rsqrt":
        return math.sqrt(max(warmup, 0.1 * spec.steps) / max(step, 0.1 * spec.steps, warmup))
    return 1.0


class Session:
    """The parts of one run.

    Args:
        spec: The run, already changed by its fault's `configure`.
        injection: The fault's hooks.
    """

    def __init__(self, spec: Spec, injection: Injection) -> None:
        self.spec = spec
        self.injection = injection
        self.truth = Truth()
        torch.manual_seed(spec.random_state)
        self.data: Data = injection.data(make_data(spec, shift=spec.start == "tuned"))
        self.network: Network = make_network(spec)
        if spec.start == "tuned":
            self.network.load_state_dict(pretrained(spec))
        injection.network(self.network)
        if spec.precision == "pure-bf16":
            self.network.to(torch.bfloat16)
        if spec.precision == "pure-fp16":
            self.network.to(torch.float16)
        self.optimizer = make_optimizer(spec, injection.trained(self.network))
        self.scaler = torch.amp.GradScaler(
            "cpu", init_scale=spec.option("loss_scale", 2.0**14), growth_interval=200
        )
        self.use_scaler = spec.precision == "fp16"
        self._indices = injection.order(self.data, order_of(spec, len(self.data.inputs)))
        self._truth_every = max(1, spec.steps // TRUTH_EVALUATIONS)
        self.last_step = (spec.stop_at or spec.steps) - 1

    @property
    def stop_after(self) -> int:
        """Number of optimizer steps that are really taken."""
        return self.last_step + 1

    def batches(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Micro-batches, as the fault leaves them; waiting for data happens here."""
        step = 0
        while True:
            for _ in range(self.spec.accumulation):
                wait_s = self.injection.wait_s(step) / self.spec.accumulation
                if wait_s:
                    time.sleep(wait_s)
                rows = next(self._indices)
                inputs, targets = self.injection.batch(step, self.data.inputs[rows], self.data.targets[rows])
                if inputs.is_floating_point() and self.spec.precision.startswith("pure"):
                    inputs = inputs.to(next(self.network.parameters()).dtype)
                yield inputs, targets
            step += 1

    def autocast(self) -> torch.autocast:
        """The autocast context of the run's precision."""
        dtype = torch.float16 if self.spec.precision == "fp16" else torch.bfloat16
        return torch.autocast("cpu", dtype=dtype, enabled=self.spec.precision in {"bf16", "fp16"})

    def loss(
        self, network: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, step: int
    ) -> torch.Tensor:
        """The loss that is differentiated for one micro-batch."""
        with self.autocast():
            outputs = network(inputs, targets)
            return self.injection.loss(step, outputs["loss"].float(), outputs["logits"], targets)

    def rate(self, step: int) -> float:
        """Learning rate of a step."""
        return self.spec.learning_rate * self.injection.rate_factor(step, schedule_factor(self.spec, step))

    def step_done(self, step: int, loss: float, grad_norm: float, seconds: float) -> None:
        """Record the ground truth of a step that an engine has taken."""
        self.truth.loss.append(loss)
        self.truth.grad_norm.append(grad_norm)
        self.truth.step_time_s.append(seconds)
        if step % self._truth_every == 0 or step == self.last_step:
            self.truth.clean_eval.append((step, self.evaluate(clean=True)))
            self.truth.memory_mb.append(_resident_mb())

    @torch.no_grad()
    def evaluate(self, *, clean: bool) -> float:
        """Mean loss on the held-out samples.

        Args:
            clean: On the true ones, whatever the fault did to those that the run evaluates on.
        """
        data = self.data
        inputs, targets = (
            (data.eval_inputs, data.eval_targets) if clean else (data.shown_inputs, data.shown_targets)
        )
        was_training = self.network.training
        self.network.eval()
        dtype = next(self.network.parameters()).dtype
        if inputs.is_floating_point():
            inputs = inputs.to(dtype)
        value = float(self.network(inputs, targets)["loss"])
        self.network.train(was_training)
        return value

    def evaluation(self, step: int) -> float:
        """The evaluation that the run logs."""
        value = self.evaluate(clean=False)
        self.truth.shown_eval.append((step, value))
        return value


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 2**20
