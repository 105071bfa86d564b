"""Fixes that touch weights, samples, order, loss or steps of the faulty run.

Each class stands between the planted fault and the run: what it does not override is still the fault's.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from .faults import Injection
from .session import make_optimizer
from .tasks import group_of

if TYPE_CHECKING:
    from .session import Session
    from .spec import Spec
    from .tasks import Data, Network

Batch = tuple[torch.Tensor, torch.Tensor]


class AsPlanted(Injection):
    """The fault, unchanged.

    Args:
        spec: The run, fixed as far as the fix is a change of configuration.
        fault: The fault's own hooks.
    """

    def __init__(self, spec: Spec, fault: Injection) -> None:
        super().__init__(spec)
        self.fault = fault

    def data(self, data: Data) -> Data:
        return self.fault.data(data)

    def network(self, network: Network) -> None:
        self.fault.network(network)

    def trained(self, network: Network) -> list[nn.Parameter]:
        return self.fault.trained(network)

    def order(self, data: Data, indices: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
        return self.fault.order(data, indices)

    def batch(self, step: int, inputs: torch.Tensor, targets: torch.Tensor) -> Batch:
        return self.fault.batch(step, inputs, targets)

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        return self.fault.loss(step, loss, logits, targets)

    def rate_factor(self, step: int, factor: float) -> float:
        return self.fault.rate_factor(step, factor)

    def before_step(self, step: int, session: Session) -> None:
        self.fault.before_step(step, session)

    def wait_s(self, step: int) -> float:
        return self.fault.wait_s(step)


class RateOfConfig(AsPlanted):
    """The rate is what the configuration and the schedule say."""

    def rate_factor(self, step: int, factor: float) -> float:
        return factor


class StateRestored(RateOfConfig):
    """Optimizer and scheduler go on with their state."""

    def before_step(self, step: int, session: Session) -> None:
        """Nothing is lost."""


class WarmUpAgain(AsPlanted):
    """The rate rises from zero again over a tenth of the run after the resume."""

    def rate_factor(self, step: int, factor: float) -> float:
        length = max(10, self.spec.steps // 10)
        since = step - self.spec.onset_step
        ramp = min(1.0, (since + 1) / length) if since >= 0 else 1.0
        return ramp * self.fault.rate_factor(step, factor)


class LossAsComputed(AsPlanted):
    """The loss of the network, mean over the batch, is differentiated."""

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        return loss


class LogOfEpsilon(AsPlanted):
    """The logarithm never sees zero."""

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        return loss + 0.0 * torch.log((loss - loss.detach()).abs() + 1e-8) if self.acts(step) else loss


class RightSign(AsPlanted):
    """The regulariser is added with the right sign."""

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        return loss + 0.01 * (logits**2).mean() if self.acts(step) else loss


class OptimizerOfThisModel(AsPlanted):
    """The optimizer holds the parameters of the model that is trained."""

    def trained(self, network: Network) -> list[nn.Parameter]:
        return Injection.trained(self, network)


class Unfrozen(AsPlanted):
    """Every parameter requires a gradient."""

    def network(self, network: Network) -> None:
        self.fault.network(network)
        network.requires_grad_(True)


class _Shortcut(nn.Module):
    """A layer beside a path around it."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Sum of both, same shape."""
        return values + self.layer(values)


def _rebuild(network: Network, activation: type[nn.Module], *, shortcuts: bool) -> None:
    """A norm before each activation of an mlp or cnn, and a path around each layer that keeps the size."""
    body = network.body
    layer: Any = None
    for name, module in list(body.named_children()):
        if isinstance(module, nn.Linear | nn.Conv2d):
            layer_name, layer = name, module
        if isinstance(module, nn.ReLU | nn.Sigmoid | nn.Tanh):
            outputs, inputs = layer.weight.shape[:2]
            block: nn.Module = nn.Sequential(layer, nn.GroupNorm(1, outputs), activation())
            setattr(body, layer_name, _Shortcut(block) if shortcuts and inputs == outputs else block)
            setattr(body, name, nn.Identity())


def _initialise_by_fan_in(network: Network) -> None:
    """He before ReLU, Xavier where units are tanh, gain 1 for the last layer; biases 0."""
    tanh = any(isinstance(module, nn.Tanh) for module in network.modules())
    layers = [module for module in network.body.modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    for layer in layers:
        if tanh:
            nn.init.xavier_normal_(layer.weight)
        else:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="linear" if layer is layers[-1] else "relu")
        assert layer.bias is not None
        nn.init.zeros_(layer.bias)


class NormalisedLeaky(AsPlanted):
    """Norms and leaky ReLU around the layers as the fault left them."""

    def network(self, network: Network) -> None:
        self.fault.network(network)
        _rebuild(network, nn.LeakyReLU, shortcuts=False)


class ByFanIn(AsPlanted):
    """Weights by fan-in (He for ReLU, Xavier for tanh), biases zero, instead of the fault's."""

    def network(self, network: Network) -> None:
        self.fault.network(network)
        _initialise_by_fan_in(network)


class NormalisedByFanIn(ByFanIn):
    """Weights by fan-in, and norms before the activations."""

    shortcuts = False

    def network(self, network: Network) -> None:
        super().network(network)
        kinds = {type(m) for m in network.body.modules()} & {nn.ReLU, nn.Sigmoid, nn.Tanh}
        _rebuild(network, kinds.pop(), shortcuts=self.shortcuts)


class ShortcutsByFanIn(NormalisedByFanIn):
    """The same with a path around each layer."""

    shortcuts = True


class StdByFormula(AsPlanted):
    """Weights with the standard deviation sqrt(1 / (3 h)), h the hidden size (the layer's inputs where it is no transformer)."""

    def network(self, network: Network) -> None:
        self.fault.network(network)
        for weight in network.parameters():
            if weight.dim() > 1:
                size = self.spec.width if self.spec.language else weight[0].numel()
                nn.init.normal_(weight, std=(1 / (3 * size)) ** 0.5)


class SmallerWildUpdate(AsPlanted):
    """The update that kills the units is as much smaller as the rate."""

    def before_step(self, step: int, session: Session) -> None:
        biases = [m.bias for m in session.network.body.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
        before = [bias.detach().clone() for bias in biases]
        self.fault.before_step(step, session)
        with torch.no_grad():
            for bias, old in zip(biases, before, strict=True):
                bias.lerp_(old, 1 - self.spec.option("part"))


class FiniteSamples(AsPlanted):
    """Samples that hold a value which is not finite are dropped."""

    def batch(self, step: int, inputs: torch.Tensor, targets: torch.Tensor) -> Batch:
        inputs, targets = self.fault.batch(step, inputs, targets)
        good = torch.isfinite(inputs).all(1)
        return inputs[good], targets[good]


class FiniteEvaluation(AsPlanted):
    """Evaluation samples that hold a value which is not finite are dropped."""

    def data(self, data: Data) -> Data:
        data = self.fault.data(data)
        good = torch.isfinite(data.shown_inputs).all(1)
        return replace(data, shown_inputs=data.shown_inputs[good], shown_targets=data.shown_targets[good])


class GuardedSteps(AsPlanted):
    """No update is made from a gradient that is not finite."""

    def before_step(self, step: int, session: Session) -> None:
        self.fault.before_step(step, session)
        if step == 0:
            update = session.optimizer.step

            def guarded() -> None:
                gradients = (p.grad for group in session.optimizer.param_groups for p in group["params"])
                if all(g is None or bool(torch.isfinite(g).all()) for g in gradients):
                    update()

            session.optimizer.step = guarded  # type: ignore[method-assign,assignment]


class Standardised(AsPlanted):
    """Mean and deviation of each training feature are taken out of all inputs."""

    def data(self, data: Data) -> Data:
        data = self.fault.data(data)
        mean, deviation = data.inputs.mean(0), data.inputs.std(0).clamp_min(1e-6)

        def scaled(values: torch.Tensor) -> torch.Tensor:
            return (values - mean) / deviation

        return replace(
            data,
            inputs=scaled(data.inputs),
            eval_inputs=scaled(data.eval_inputs),
            shown_inputs=scaled(data.shown_inputs),
        )


class OrderRestored(AsPlanted):
    """The loader goes on where it stood."""

    def order(self, data: Data, indices: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
        return indices


class _Reordered(AsPlanted):
    """Samples of the fault's order in another one."""

    def order(self, data: Data, indices: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
        first = next(indices)
        faulty = self.fault.order(data, iter([first, *[next(indices) for _ in range(16)]]))
        samples = self.samples(
            data, (int(row) for rows in faulty for row in rows), random.Random(self.spec.seed)
        )
        while True:
            yield torch.tensor([next(samples) for _ in range(len(first))])

    def samples(self, data: Data, rows: Iterator[int], rng: random.Random) -> Iterator[int]:
        """Rows one by one, reordered."""
        raise NotImplementedError


class GlobalShuffle(_Reordered):
    """One round of the list is shuffled as a whole, anew each round."""

    def samples(self, data: Data, rows: Iterator[int], rng: random.Random) -> Iterator[int]:
        known = [next(rows)]
        for row in rows:
            if row == known[0]:
                break
            known.append(row)
        while True:
            rng.shuffle(known)
            yield from known


class ShuffleBuffer(_Reordered):
    """A buffer of option `shards` shards, from which each sample is drawn at random."""

    def samples(self, data: Data, rows: Iterator[int], rng: random.Random) -> Iterator[int]:
        groups = group_of(data)
        shards = len(groups.unique()) if not groups.is_floating_point() else 10
        known = [next(rows)]
        for row in rows:
            if row == known[0]:
                break
            known.append(row)
        size = min(len(known), int(self.spec.option("shards") * len(known) / shards))
        buffer = known[:size]
        position = size
        while True:
            slot = rng.randrange(size)
            yield buffer[slot]
            buffer[slot] = known[position % len(known)]
            position += 1


class BatchesSkipped(AsPlanted):
    """The loader goes on with the next sound batches: none of the spoiled samples is seen."""

    def batch(self, step: int, inputs: torch.Tensor, targets: torch.Tensor) -> Batch:
        return inputs, targets


class Reweighted(AsPlanted):
    """The loss is weighted by the inverse frequency of the class."""

    def data(self, data: Data) -> Data:
        data = self.fault.data(data)
        counts = torch.bincount(data.targets, minlength=self.spec.classes).clamp_min(1).float()
        self.weight = counts.sum() / (len(counts) * counts)
        return data

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        return nn.functional.cross_entropy(logits, targets, weight=self.weight)


class SampledEvenly(AsPlanted):
    """Every class is drawn as often as any other."""

    def order(self, data: Data, indices: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
        size = len(next(indices))
        rows = [torch.nonzero(data.targets == label).flatten().tolist() for label in data.targets.unique()]
        rng = random.Random(self.spec.random_state)
        while True:
            yield torch.tensor([rng.choice(rng.choice(rows)) for _ in range(size)])


class SplitApart(AsPlanted):
    """No sample is in both parts."""

    def data(self, data: Data) -> Data:
        data = self.fault.data(data)
        count = len(data.shown_inputs)
        return replace(data, inputs=data.inputs[count:], targets=data.targets[count:])


class FourOfFiveMasked(AsPlanted):
    """Of the batches after the onset four of five have no target: the fault itself leaves none to train on."""

    def batch(self, step: int, inputs: torch.Tensor, targets: torch.Tensor) -> Batch:
        return self.fault.batch(step, inputs, targets) if step % 5 else (inputs, targets)


class CountedTargets(FourOfFiveMasked):
    """The sum over targets is divided by their number, by 1 if there is none."""

    def loss(
        self, step: int, loss: torch.Tensor, logits: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        scored = targets[:, 1:].flatten()
        total = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), scored, reduction="sum")
        return total / max(1, int((scored != -100).sum()))


class _Scaler(torch.amp.GradScaler):
    """A dynamic scale whatever fixed one the loop asks for."""

    def update(self, new_scale: Any = None) -> None:
        super().update()


class GrowingScale(AsPlanted):
    """The scale starts where it was pinned and doubles after every two steps without an overflow."""

    def before_step(self, step: int, session: Session) -> None:
        if step == 0:
            session.scaler = _Scaler("cpu", init_scale=self.spec.option("loss_scale"), growth_interval=2)


class StochasticRounding(AsPlanted):
    """Updates are computed in fp32 and rounded to bf16 at random, in proportion to the distance."""

    def before_step(self, step: int, session: Session) -> None:
        self.fault.before_step(step, session)
        if step == 0:
            weights = [p for group in session.optimizer.param_groups for p in group["params"]]
            exact = [nn.Parameter(weight.detach().float()) for weight in weights]
            optimizer = make_optimizer(self.spec, exact)
            noise = torch.Generator().manual_seed(self.spec.random_state)

            def update() -> None:
                optimizer.param_groups[0]["lr"] = session.optimizer.param_groups[0]["lr"]
                with torch.no_grad():
                    for weight, copy in zip(weights, exact, strict=True):
                        copy.copy_(weight)
                        copy.grad = None if weight.grad is None else weight.grad.float()
                    optimizer.step()
                    for weight, copy in zip(weights, exact, strict=True):
                        weight.copy_(_rounded_at_random(copy, noise))

            session.optimizer.step = update  # type: ignore[method-assign,assignment]


def _rounded_at_random(values: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
    """fp32 to bf16: random low bits are added before they are cut off."""
    bits = values.view(torch.int32) + torch.randint(
        0, 1 << 16, values.shape, generator=noise, dtype=torch.int32
    )
    return (bits & -(1 << 16)).view(torch.float32).bfloat16()


class Prefetched(AsPlanted):
    """As many workers as option `workers` says wait for the batches ahead of time."""

    def __init__(self, spec: Spec, fault: Injection) -> None:
        super().__init__(spec, fault)
        self._workers = int(spec.option("workers"))
        self._pool = ThreadPoolExecutor(self._workers)
        self._ahead: deque[Future[None]] = deque()

    def wait_s(self, step: int) -> float:
        while len(self._ahead) < self._workers:
            self._ahead.append(
                self._pool.submit(time.sleep, self.fault.wait_s(step) / self.spec.accumulation)
            )
        self._ahead.popleft().result()
        return 0.0
