"""Faults of samples, labels, their order, and the evaluation set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from .faults import Injection, fault
from .faults_optimisation import between
from .tasks import group_of

if TYPE_CHECKING:
    from .spec import Spec
    from .tasks import Data


def _vector(spec: Spec) -> bool:
    return not spec.language


def _classes(spec: Spec) -> bool:
    return spec.task in {"digits", "clusters"}


def _labelled(spec: Spec) -> bool:
    return spec.task != "regression"


def _scrambled(targets: torch.Tensor, share: float, classes: int) -> torch.Tensor:
    """Targets of which a share is replaced by random ones (by noise of their own size for regression)."""
    if targets.is_floating_point():
        return torch.where(torch.rand(targets.shape) < share, targets[torch.randperm(len(targets))], targets)
    return torch.where(torch.rand(targets.shape) < share, torch.randint(classes, targets.shape), targets)


class _BadValue(Injection):
    value = float("nan")

    def batch(
        self, step: int, inputs: torch.Tensor, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if step == self.spec.onset_step:
            inputs = inputs.clone()
            inputs[0, 0] = self.value
        return inputs, targets


@fault("nan-in-batch", "bad-input-data", "nonfinite", fits=_vector, onset=(0.1, 0.8))
class NanInBatch(_BadValue):
    """One sample holds a NaN; nothing guards the update."""


@fault("inf-in-batch", "bad-input-data", "nonfinite", fits=_vector, onset=(0.1, 0.8))
class InfInBatch(_BadValue):
    """One sample holds an infinity."""

    value = float("inf")


@fault("unnormalised-inputs", "unnormalized-inputs", "starts-high", fits=_vector, needs=("classes",))
class Unnormalised(Injection):
    """Raw sensor units: offset and scale far from 1, in training and in evaluation alike."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(clip=None, start="scratch")

    def data(self, data: Data) -> Data:
        factor = between(self.spec.severity, 30, 1000)

        def raw(values: torch.Tensor) -> torch.Tensor:
            return values * factor + factor / 2

        return replace(
            data,
            inputs=raw(data.inputs),
            eval_inputs=raw(data.eval_inputs),
            shown_inputs=raw(data.shown_inputs),
        )


@fault("random-labels", "data-pipeline-bug", "worse")
class RandomLabels(Injection):
    """Labels no longer belong to their inputs; the run's own evaluation uses the same broken loader."""

    def data(self, data: Data) -> Data:
        torch.manual_seed(self.spec.seed)
        return replace(
            data,
            targets=_scrambled(data.targets, 1.0, self.spec.classes),
            shown_targets=_scrambled(data.shown_targets, 1.0, self.spec.classes),
        )


@fault("label-noise", "data-pipeline-bug", "worse", fits=_labelled)
class LabelNoise(Injection):
    """A third to three quarters of the labels are wrong."""

    def data(self, data: Data) -> Data:
        torch.manual_seed(self.spec.seed)
        share = 0.3 + 0.45 * self.spec.severity
        return replace(
            data,
            targets=_scrambled(data.targets, share, self.spec.classes),
            shown_targets=_scrambled(data.shown_targets, share, self.spec.classes),
        )


@fault("labels-shift-midway", "data-pipeline-bug", "shifts", onset=(0.3, 0.7))
class LabelsShift(Injection):
    """From the onset on a share of the labels belongs to the neighbouring sample (an off-by-one after a shard)."""

    def batch(
        self, step: int, inputs: torch.Tensor, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.acts(step):
            return inputs, targets
        share = 0.4 + 0.6 * self.spec.severity
        wrong = torch.rand(len(targets)) < share
        shifted = torch.where(wrong.view(-1, *[1] * (targets.dim() - 1)), targets.roll(1, 0), targets)
        return inputs, shifted


@fault("constant-labels", "data-pipeline-bug", "worse", fits=_classes)
class ConstantLabels(Injection):
    """Every training label is the same, so the loss falls to nothing within a few steps."""

    def data(self, data: Data) -> Data:
        return replace(data, targets=torch.full_like(data.targets, int(self.spec.seed % self.spec.classes)))


class _Sorted(Injection):
    rounds = (2.0, 6.0)

    def order(self, data: Data, indices: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
        """Samples in the order of their group; thinned so that several rounds fit into the run."""
        size = len(next(indices))
        order = torch.argsort(group_of(data), stable=True)
        wanted = int(
            self.spec.steps * self.spec.accumulation * size / between(self.spec.severity, *self.rounds)
        )
        order = order[:: max(1, len(order) // max(wanted, 10 * size))]
        while True:
            for first in range(0, len(order) - size + 1, size):
                yield order[first : first + size]


@fault("sorted-by-class", "poor-shuffling", "disordered", fits=_vector)
class SortedByClass(_Sorted):
    """The data set stands in class order and is never shuffled."""


@fault("shards-in-order", "poor-shuffling", "disordered", fits=lambda s: s.language)
class ShardsInOrder(_Sorted):
    """Every shard holds one dialect, and shards are read one after the other."""


@fault("same-batch", "duplicated-training-data", "worse")
class SameBatch(Injection):
    """The loader returns the same one to three batches for ever."""

    def order(self, data: Data, indices: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
        kept = [next(indices) for _ in range(1 + int(2.9 * self.spec.severity))]
        while True:
            yield from kept


class _FewSamples(Injection):
    per_batch = 3.0

    def data(self, data: Data) -> Data:
        count = int(self.per_batch * self.spec.batch_size * between(1 - self.spec.severity, 1, 3))
        return replace(data, inputs=data.inputs[:count], targets=data.targets[:count])


@fault("few-samples", "overfitting", "overfit", needs=("eval_loss",))
class FewSamples(_FewSamples):
    """A data set of a few batches and a model that can learn it by heart."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(weight_decay=0.0, dropout=0.0, schedule="constant", width=max(spec.width, 64))


@fault(
    "too-many-epochs", "too-many-epochs", "overfit", fits=lambda s: s.start == "tuned", needs=("eval_loss",)
)
class TooManyEpochs(_FewSamples):
    """A small data set is seen dozens of times in fine-tuning."""

    per_batch = 6.0

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(weight_decay=0.0, dropout=0.0, learning_rate=spec.learning_rate * 4)


@fault("bad-batch", "recovered-loss-spike", "spike", onset=(0.2, 0.7))
class BadBatch(Injection):
    """One to three batches of garbage; the run comes back by itself."""

    def batch(
        self, step: int, inputs: torch.Tensor, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not 0 <= step - self.spec.onset_step < 1 + int(2.9 * self.spec.severity):
            return inputs, targets
        if self.spec.language:
            inputs = torch.randint(self.spec.classes, inputs.shape)
            return inputs, inputs.clone()
        return inputs * between(self.spec.severity, 4, 15), _scrambled(targets, 1.0, self.spec.classes)


@fault("outlier-unclipped", "loss-spike-slow-recovery", "spike", onset=(0.25, 0.6), fits=_vector)
class Outlier(Injection):
    """A batch hundreds of times too large hits a run without clipping and throws the weights far off."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(clip=None, schedule="constant")

    def batch(
        self, step: int, inputs: torch.Tensor, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        hit = 0 <= step - self.spec.onset_step < 4
        return (inputs * between(self.spec.severity, 30, 600) if hit else inputs), targets


@fault("garbage-stretch", "bad-data-pocket", "pocket", onset=(0.2, 0.6))
class GarbageStretch(Injection):
    """For 10 to 25 % of the run a third to all of the samples are garbage."""

    def batch(
        self, step: int, inputs: torch.Tensor, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        length = self.spec.steps * (0.1 + 0.15 * ((self.spec.seed % 97) / 97))
        if not 0 <= step - self.spec.onset_step < length:
            return inputs, targets
        share = 0.35 + 0.65 * self.spec.severity
        if self.spec.language:
            garbage = torch.rand(len(inputs), 1) < share
            inputs = torch.where(garbage, torch.randint(self.spec.classes, inputs.shape), inputs)
            return inputs, inputs.clone()
        return inputs, _scrambled(targets, share, self.spec.classes)


@fault("imbalanced-classes", "class-imbalance", "gap", fits=_classes, needs=("eval_loss",))
class Imbalanced(Injection):
    """Training holds almost only one class, evaluation all of them alike."""

    def data(self, data: Data) -> Data:
        torch.manual_seed(self.spec.seed)
        major = int(self.spec.seed % self.spec.classes)
        keep = (data.targets == major) | (
            torch.rand(len(data.targets)) < 0.15 * (1 - 0.9 * self.spec.severity)
        )
        return replace(data, inputs=data.inputs[keep], targets=data.targets[keep])


@fault("eval-inputs-differ", "train-eval-format-mismatch", "shown-gap", needs=("eval_loss",))
class EvalInputsDiffer(Injection):
    """Evaluation prepares its inputs in another way than training."""

    def data(self, data: Data) -> Data:
        torch.manual_seed(self.spec.seed)
        if self.spec.language:
            renamed = torch.randperm(self.spec.classes)
            rows = torch.rand(len(data.shown_inputs), 1) < 0.4 + 0.6 * self.spec.severity
            shown = torch.where(rows, renamed[data.shown_inputs], data.shown_inputs)
            return replace(data, shown_inputs=shown, shown_targets=shown.clone())
        return replace(data, shown_inputs=data.shown_inputs.flip(1) * between(self.spec.severity, 0.8, 4.0))


@fault("eval-in-training-set", "train-val-leakage", "leak", needs=("eval_loss",))
class Leak(Injection):
    """The evaluation samples are training samples, in a run that learns its training set by heart."""

    @staticmethod
    def configure(spec: Spec) -> Spec:
        return spec.changed(
            train_size=384 + spec.batch_size * 8, dropout=0.0, weight_decay=0.0, schedule="constant"
        )

    def data(self, data: Data) -> Data:
        count = min(len(data.inputs), 256)
        return replace(data, shown_inputs=data.inputs[:count], shown_targets=data.targets[:count])


@fault("nan-in-eval-set", "eval-only-nan", "eval-nonfinite", fits=_vector, needs=("eval_loss",))
class NanInEval(Injection):
    """One held-out sample is NaN; training is sound."""

    def data(self, data: Data) -> Data:
        shown = data.shown_inputs.clone()
        shown[0, 0] = float("nan")
        return replace(data, shown_inputs=shown)


@fault("labels-all-ignored", "labels-all-ignored", "nonfinite", fits=lambda s: s.language, onset=(0.0, 0.5))
class LabelsIgnored(Injection):
    """From the onset on every label is masked, so the loss is a mean over nothing."""

    def batch(
        self, step: int, inputs: torch.Tensor, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return inputs, torch.full_like(targets, -100) if self.acts(step) else targets


@fault("repeated-after-resume", "data-repeated-after-resume", "jumps-down", onset=(0.4, 0.6))
class RepeatedAfterResume(Injection):
    """From the onset on the loader goes through the few batches again that it has shown before."""

    def order(self, data: Data, indices: Iterator[torch.Tensor]) -> Iterator[torch.Tensor]:
        seen = [next(indices) for _ in range(4 + int(8 * (1 - self.spec.severity)))]
        micro_batches = self.spec.onset_step * self.spec.accumulation
        for number in range(micro_batches):
            yield seen[number] if number < len(seen) else next(indices)
        while True:
            yield from seen
