"""The faults: which settings, data or weights each changes, which tasks it fits, and every answer that is right for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from .data import PAD, Data
from .settings import CLASSES, ORDINARY, Settings

DataHook = Callable[[Data, Settings], None]
ModelHook = Callable[[nn.Module, Settings], None]

NETWORKS = ("mlp", "cnn", "gru", "lstm", "transformer", "autoencoder")
FORWARD = ("mlp", "cnn")


@dataclass(frozen=True)
class Fault:
    """One way to spoil a training.

    Attributes:
        name: Its name; half of the names are held out.
        labels: Cause ids of the catalogue that are true of it, the most precise first.
        change: New settings, from the old ones and a source of choices.
        tasks: Tasks in which it can be planted.
        architectures: Models in which it can be; any if empty.
        test: What shows that it bit: ``worse``, ``reads`` (held-out values are not what they say), ``gap``, ``pace``,
            ``memory``, ``stalls``, ``jump``, ``floor`` (the loss cannot get down) or ``rows`` (an epoch's loss is far off).
        symptom: Whether a log of its numbers cannot tell more than what happened (rose, stood still, not finite).
        data: Changes the data that training and evaluation see.
        model: Changes the weights before the first step.
        twin: Settings that the twin gets too.
        test_too: Whether unseen data come in the same shape, so that the change alone is no mistake.
        fits: A further condition on the settings.
    """

    name: str
    labels: tuple[str, ...]
    change: Callable[[Settings, random.Random], Settings]
    tasks: tuple[str, ...] = ORDINARY
    architectures: tuple[str, ...] = ()
    test: str = "worse"
    symptom: bool = False
    data: DataHook | None = None
    model: ModelHook | None = None
    twin: tuple[tuple[str, object], ...] = ()
    fits: Callable[[Settings], bool] = lambda s: True
    test_too: bool = False

    def suits(self, s: Settings) -> bool:
        """Whether it can be planted there."""
        return (
            s["task"] in self.tasks
            and (not self.architectures or s["architecture"] in self.architectures)
            and self.fits(s)
        )


def _set(**values: object) -> Callable[[Settings, random.Random], Settings]:
    return lambda s, rng: dict(values)


def _rate(low: float, high: float) -> Callable[[Settings, random.Random], Settings]:
    return lambda s, rng: {"lr": float(f"{s['lr'] * low * (high / low) ** rng.random():.1g}")}


def _resume(lost: str) -> Callable[[Settings, random.Random], Settings]:
    def change(s: Settings, rng: random.Random) -> Settings:
        at = rng.randint(2, max(2, s["epochs"] * 2 // 3))
        return {"_resume_at": at, "_lost": lost} | (
            {"_schedule_restarts_at": at} if lost == "schedule" else {}
        )

    return change


# --- data ------------------------------------------------------------------------------------------------------------


def _both(data: Data, fn: Callable[[torch.Tensor], torch.Tensor]) -> None:
    data.train, data.val, data.test = ((fn(x), y) for x, y in (data.train, data.val, data.test))


def _mixed(y: torch.Tensor, s: Settings) -> torch.Tensor:
    return y[torch.randperm(len(y), generator=torch.Generator().manual_seed(s["seed"]))]


def shuffle_train(data: Data, s: Settings) -> None:
    """Targets of other samples."""
    data.train = (data.train[0], _mixed(data.train[1], s))


def shuffle_all(data: Data, s: Settings) -> None:
    """Targets of other samples in both splits."""
    shuffle_train(data, s)
    shuffle_val(data, s)


def shuffle_val(data: Data, s: Settings) -> None:
    """The held-out targets belong to other samples."""
    data.val = (data.val[0], _mixed(data.val[1], s))


def shift_labels_train(data: Data, s: Settings) -> None:
    """Class k is called k + 1 in the training set."""
    data.train = (data.train[0], (data.train[1] + 1) % data.classes)


def shift_labels_val(data: Data, s: Settings) -> None:
    """Class k is called k + 1 in the held-out set."""
    data.val = (data.val[0], (data.val[1] + 1) % data.classes)


def shift_targets(data: Data, s: Settings) -> None:
    """Every sample has the target of its neighbour."""
    data.train, data.val = (data.train[0], data.train[1].roll(1, 0)), (data.val[0], data.val[1].roll(1, 0))


def noise_labels(data: Data, s: Settings) -> None:
    """Half of the training targets are of other samples."""
    y = data.train[1].clone()
    some = torch.rand(len(y), generator=torch.Generator().manual_seed(s["seed"])) < s["_share"]
    y[some] = _mixed(y, s)[some]
    data.train = (data.train[0], y)


def one_class(data: Data, s: Settings) -> None:
    """The label is read from the wrong column: always 0."""
    data.train, data.val = (data.train[0], data.train[1] * 0), (data.val[0], data.val[1] * 0)


def imbalance(data: Data, s: Settings) -> None:
    """Nearly all samples of both splits belong to the first class."""

    def cut(pair: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = pair
        rare = torch.flatten((y != 0).nonzero())
        rare = rare[: max(int(len(rare) * s["_share"]), 3)]
        often = torch.flatten((y == 0).nonzero()).repeat(8)
        kept = torch.cat([often, rare])
        return x[kept], y[kept]

    data.train, data.val = cut(data.train), cut(data.val)


def constant_inputs(data: Data, s: Settings) -> None:
    """The loader hands out one sample again and again, with the labels of others."""
    _both(data, lambda x: x[:1].expand_as(x).clone())


def scaled_inputs(data: Data, s: Settings) -> None:
    """Inputs are as the file holds them: 0 to 255 and the like, in both splits."""
    _both(data, lambda x: x * s["_scale"] + s.get("_offset", 0.0))


def one_wide_feature(data: Data, s: Settings) -> None:
    """One column is in other units."""

    def widen(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[:, 0] = x[:, 0] * s["_scale"] + 5 * s["_scale"]
        return x

    _both(data, widen)


def other_val(data: Data, s: Settings) -> None:
    """Held-out inputs are not scaled as the training inputs are."""
    data.val = (data.val[0] * s["_scale"] + s.get("_offset", 0.0), data.val[1])


def turned_val(data: Data, s: Settings) -> None:
    """Held-out inputs have their axes in another order."""
    data.val = (
        data.val[0].flip(-1).transpose(-1, -2) if data.val[0].dim() == 4 else data.val[0].flip(-1),
        data.val[1],
    )


def scaled_targets(data: Data, s: Settings) -> None:
    """Targets in units of their own: thousands."""
    data.train, data.val, data.test = (
        (x, y * s["_scale"] + 3 * s["_scale"]) for x, y in (data.train, data.val, data.test)
    )


def sort_train(data: Data, s: Settings) -> None:
    """Samples lie in the order of their labels."""
    order = data.train[1].flatten(1)[:, 0].argsort() if data.train[1].dim() > 1 else data.train[1].argsort()
    data.train = (data.train[0][order], data.train[1][order])


def leak(data: Data, s: Settings) -> None:
    """The held-out samples are among the few training samples."""
    x, y = data.train
    data.train = (torch.cat([x[:40], data.val[0][:40]]), torch.cat([y[:40], data.val[1][:40]]))
    data.val = (data.val[0][:40], data.val[1][:40])


def label_in_inputs(data: Data, s: Settings) -> None:
    """A column holds the answer."""

    def put(pair: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        x = pair[0].clone()
        flat = x.view(len(x), -1)
        for k in range(data.classes):
            flat[:, -1 - k % flat.shape[1]] = torch.where(
                pair[1] == k, 5.0 + k, flat[:, -1 - k % flat.shape[1]]
            )
        return x, pair[1]

    data.train, data.val = put(data.train), put(data.val)


def few(data: Data, s: Settings) -> None:
    """A handful of samples."""
    data.train = (data.train[0][: s["_few"]], data.train[1][: s["_few"]])


def bad_value(data: Data, s: Settings) -> None:
    """One sample holds a NaN."""
    x = data.train[0].clone()
    x[7].view(-1)[0] = float("nan")
    data.train = (x, data.train[1])


def wild_sample(data: Data, s: Settings) -> None:
    """Few samples are thousandfold too large, in the input or in the target."""
    x, y = data.train[0].clone(), data.train[1].clone()
    if data.kind == "numbers" and s["task"] != "autoencode":
        y[3] = 400.0
    else:
        x[3] = x[3] * 500.0 + 300.0
    data.train = (x, y)


def not_shifted(data: Data, s: Settings) -> None:
    """The target is the input."""
    data.train, data.val = (data.train[0], data.train[0].clone()), (data.val[0], data.val[0].clone())


def ignored(data: Data, s: Settings) -> None:
    """Every target is masked in some lines or all."""
    y = data.train[1].clone()
    y[:: s["_every"]] = -100
    data.train = (data.train[0], y if s["_every"] > 1 else torch.full_like(y, -100))


def padded(data: Data, s: Settings) -> None:
    """Three of four places are padding that counts in the loss."""

    def pad(pair: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = pair[0].clone(), pair[1].clone()
        x[:, 3:], y[:, 3:] = PAD, PAD
        return x, y

    data.train, data.val, data.test = pad(data.train), pad(data.val), pad(data.test)


# --- weights ---------------------------------------------------------------------------------------------------------


def _weights(model: nn.Module) -> list[torch.Tensor]:
    return [p for name, p in model.named_parameters() if p.dim() > 1 and "embedding" not in name]


@torch.no_grad()
def init_large(model: nn.Module, s: Settings) -> None:
    """A standard deviation of 1 and more."""
    for p in _weights(model):
        p.normal_(0, s["_std"])


@torch.no_grad()
def init_constant(model: nn.Module, s: Settings) -> None:
    """All weights alike."""
    for name, p in model.named_parameters():
        if "norm" not in name and "embedding" not in name:
            p.fill_(s["_std"] if p.dim() > 1 else 0.0)


@torch.no_grad()
def dead_units(model: nn.Module, s: Settings) -> None:
    """Biases so far below zero that no unit fires."""
    for name, p in list(model.named_parameters())[:-2]:
        if name.endswith("bias"):
            p.fill_(-30.0)


# --- the table -------------------------------------------------------------------------------------------------------

SUPERVISED = tuple(CLASSES)
VECTORS = ("digits", "shapes", "table", "prices", "series")
HIGH = ("learning-rate-too-high",)
PIPELINE = ("data-pipeline-bug",)
MISMATCH = ("train-eval-format-mismatch", "data-pipeline-bug")
FROZEN = ("gradients-disabled", "optimizer-holds-stale-params")
INIT = ("poor-weight-initialization", "init-std-too-large")


def _plain(s: Settings) -> bool:
    return bool(s["optimizer"] == "sgd")


def _adaptive(s: Settings) -> bool:
    return bool(s["optimizer"] != "sgd")


TABLE = (
    Fault("sgd-rate-huge", HIGH, _rate(30, 3000), fits=_plain),
    Fault("adam-rate-huge", HIGH, _rate(100, 3000), fits=_adaptive),
    Fault("rate-ten-times", HIGH, _rate(8, 30)),
    Fault("sgd-rate-tiny", ("learning-rate-too-low",), _rate(3e-5, 1e-2), fits=_plain),
    Fault("adam-rate-tiny", ("learning-rate-too-low",), _rate(1e-4, 1e-2), fits=_adaptive),
    Fault("rate-zero", ("lr-zero",), _set(lr=0.0)),
    Fault("epsilon-huge", ("learning-rate-too-low",), _set(adam_epsilon=1.0), fits=_adaptive),
    Fault("momentum-999", ("momentum-too-high", "learning-rate-too-high", "oscillating-loss"), _set(momentum=0.999), fits=_plain),
    Fault("weight-decay-huge", ("regularisation-too-strong", "underfitting"), lambda s, r: {"weight_decay": r.choice((1.0, 3.0, 10.0)) * (20 if s["optimizer"] == "adamw" else 0.5)}),
    Fault("dropout-95", ("regularisation-too-strong", "underfitting"), _set(dropout=0.95), architectures=("mlp", "gru", "lstm", "transformer", "cnn")),
    Fault("clip-tiny", ("clipping-always-active",), lambda s, r: {"clip": r.choice((1e-5, 1e-4))}, fits=_plain),
    Fault("no-warm-up", ("no-warmup", "learning-rate-too-high"), lambda s, r: {"warmup_steps": 0}, ("text", "reviews"), ("transformer",), twin=(("_post_norm", True), ("warmup_steps", 80), ("lr", 0.01), ("layers", 4))),
    Fault("schedule-per-batch", ("lr-schedule-horizon-wrong",), _set(scheduler="step", _schedule_per_batch=True), twin=(("scheduler", "step"),)),
    Fault("schedule-too-short", ("lr-schedule-horizon-wrong",), _set(_horizon=0.05), twin=(("scheduler", "cosine"),)),
    Fault("decay-per-batch", ("lr-schedule-horizon-wrong",), _set(scheduler="exponential", _schedule_per_batch=True), twin=(("scheduler", "exponential"),)),
    Fault("cyclic-rate", ("learning-rate-too-high", "oscillating-loss"), lambda s, r: {"scheduler": "cyclic", "_cycle": r.choice((50, 200))}),
    Fault("zero-grad-forgotten", ("gradients-not-cleared", "grad-accum-loss-scaling-bug", "learning-rate-too-high", "oscillating-loss"), _set(_keep_grad=True), symptom=True),
    Fault("step-missing", FROZEN, _set(_no_step=True)),
    Fault("stale-optimizer", FROZEN, _set(_stale=True)),
    Fault("frozen-body", ("gradients-disabled",), _set(_frozen="body"), architectures=NETWORKS),
    Fault("frozen-but-biases", ("gradients-disabled",), _set(_frozen="all-but-norm"), architectures=NETWORKS),
    Fault("sign-flipped", ("loss-implementation-bug",), _set(_sign=-1)),
    Fault("softmax-twice", ("loss-head-mismatch",), _set(_head="softmax"), SUPERVISED, test="floor"),
    Fault("sigmoid-before-loss", ("loss-head-mismatch",), _set(_head="sigmoid"), (*SUPERVISED, "prices", "series"), test="floor"),
    Fault("relu-on-output", ("loss-head-mismatch", "dead-network"), _set(_head="relu"), (*SUPERVISED, "series", "prices")),
    Fault("log-of-zero", ("unsafe-math-forward",), _set(_loss="log", lr=0.01), ("digits", "table", "prices", "series"), symptom=True, fits=_adaptive),
    Fault("root-of-zero", ("unsafe-math-gradient",), _set(_loss="root", _head="relu"), ("autoencode",), symptom=True),
    Fault("loss-summed", ("loss-implementation-bug", "learning-rate-too-high", "exploding-gradient"), _set(_reduction="sum"), VECTORS, fits=_plain),
    Fault("accumulation-not-divided", ("grad-accum-loss-scaling-bug", "learning-rate-too-high"), _set(_accumulate=16), fits=lambda s: _plain(s) and s["batch_size"] >= 16 and not s["batch_norm"]),
    Fault("train-labels-shuffled", PIPELINE, _set(), data=shuffle_train),
    Fault("all-labels-shuffled", PIPELINE, _set(), data=shuffle_all),
    Fault("val-labels-shuffled", MISMATCH, _set(), test="reads", data=shuffle_val),
    Fault("train-labels-shifted", MISMATCH, _set(), SUPERVISED, data=shift_labels_train),
    Fault("val-labels-shifted", MISMATCH, _set(), SUPERVISED, test="reads", data=shift_labels_val),
    Fault("targets-of-neighbours", PIPELINE, _set(), data=shift_targets),
    Fault("label-noise", ("data-pipeline-bug", "bad-data-pocket"), lambda s, r: {"_share": r.choice((0.4, 0.6))}, (*SUPERVISED, "prices"), data=noise_labels),
    Fault("labels-all-one", PIPELINE, _set(), SUPERVISED, test="worse", data=one_class),
    Fault("class-imbalance", ("class-imbalance",), lambda s, r: {"_share": r.choice((0.01, 0.03))}, SUPERVISED, data=imbalance),
    Fault("inputs-constant", PIPELINE, _set(), ("digits", "shapes", "table", "reviews", "prices", "series"), symptom=True, data=constant_inputs),
    Fault("inputs-0-255", ("unnormalized-inputs",), lambda s, r: {"_scale": r.choice((64.0, 255.0)), "_offset": 100.0}, ("digits", "shapes", "table", "prices", "series"), data=scaled_inputs, test_too=True),
    Fault("one-wide-column", ("unnormalized-inputs",), lambda s, r: {"_scale": r.choice((1e3, 1e4))}, ("table", "prices"), data=one_wide_feature, test_too=True),
    Fault("val-not-normalised", MISMATCH, lambda s, r: {"_scale": r.choice((0.004, 16.0, 255.0))}, VECTORS, test="reads", data=other_val),
    Fault("val-turned", MISMATCH, _set(), ("digits", "table", "prices", "series", "reviews"), ("mlp", "cnn", "linear"), test="reads", data=turned_val),
    Fault("targets-unscaled", ("unnormalized-inputs", "exploding-gradient"), lambda s, r: {"_scale": r.choice((100.0, 1e4, 1e5))}, ("prices", "series"), symptom=True, data=scaled_targets, test_too=True),
    Fault("targets-not-shifted", ("targets-not-shifted", "train-val-leakage"), _set(), ("text",), data=not_shifted),
    Fault("labels-ignored", ("labels-all-ignored",), lambda s, r: {"_every": 1}, ("text",), data=ignored),
    Fault("mostly-padding", ("excess-special-tokens",), _set(), ("text",), data=padded, test_too=True),
    Fault("dead-units", ("dead-network", "poor-weight-initialization"), _set(activation="relu", batch_norm=False), ("digits", "shapes", "table", "prices", "series", "autoencode"), ("mlp", "cnn", "autoencoder"), model=dead_units),
    Fault("init-large", INIT, lambda s, r: {"_std": r.choice((1.0, 3.0, 10.0))}, architectures=NETWORKS, model=init_large),
    Fault("init-constant", ("poor-weight-initialization", "dead-network"), lambda s, r: {"_std": r.choice((0.0, 0.05))}, architectures=NETWORKS, model=init_constant),
    Fault("twenty-sigmoids", ("vanishing-gradient", "post-norm-depth-instability"), _set(layers=20, activation="sigmoid", batch_norm=False), architectures=("mlp",)),
    Fault("no-hidden-activation", ("underfitting",), _set(activation="none", hidden=2), ("digits", "shapes", "prices"), ("mlp",)),
    Fault("one-unit", ("underfitting",), _set(hidden=1), architectures=("mlp", "gru", "lstm")),
    Fault("batch-norm-batch-of-two", ("batchnorm-batch-of-one",), _set(batch_size=2, batch_norm=True, epochs=6), ("digits", "shapes"), FORWARD, twin=(("batch_norm", True),)),
    Fault("dropout-in-evaluation", ("train-eval-format-mismatch",), _set(dropout=0.7, _train_in_eval=2), architectures=("mlp", "gru", "transformer"), test="reads", twin=(("dropout", 0.5),)),
    Fault("batch-norm-in-evaluation", ("train-eval-format-mismatch", "batchnorm-batch-of-one"), _set(_train_in_eval=1), ("shapes",), ("cnn",), test="reads", twin=(("batch_norm", True),)),
    Fault("eval-mode-in-training", ("gradients-disabled",), _set(_eval_in_training=True, dropout=0.5), SUPERVISED, FORWARD, twin=(("dropout", 0.5),)),
    Fault("sorted-not-shuffled", ("poor-shuffling",), _set(_no_shuffle=True), ("digits", "shapes", "table", "reviews", "prices"), data=sort_train),
    Fault("held-out-in-training", ("train-val-leakage",), lambda s, r: {"epochs": s["epochs"] * 3}, ("digits", "shapes", "prices", "reviews"), test="reads", data=leak),
    Fault("answer-in-inputs", ("train-val-leakage", "data-pipeline-bug"), _set(), ("digits", "shapes", "table"), test="reads", data=label_in_inputs),
    Fault("few-samples", ("overfitting", "too-many-epochs"), lambda s, r: {"_few": r.choice((32, 64)), "epochs": r.choice((40, 60)), "batch_size": 16, "hidden": 64}, ("text", "reviews", "prices", "shapes", "digits"), NETWORKS, test="gap", data=few),
    Fault("many-epochs-noisy", ("overfitting", "too-many-epochs"), lambda s, r: {"epochs": 60, "_share": 0.3, "_few": 200}, ("digits", "shapes", "table", "prices", "reviews"), NETWORKS, test="gap", data=lambda d, s: (few(d, s), noise_labels(d, s))[0]),
    Fault("half-precision-underflow", ("fp16-gradient-underflow",), _set(precision="fp16", _half_scale=1e-6), fits=_adaptive),
    Fault("half-precision-overflow", ("nonfinite-gradients", "fp16-loss-scale-collapse", "fp16-numerical-instability"), _set(precision="fp16", loss_scale=16777216, _half_scale=16777216.0), symptom=True),
    Fault("bf16-weights", ("bf16-update-rounding",), _set(precision="bf16", _bf16=True), ("digits", "table", "prices"), ("mlp", "linear"), twin=(("optimizer", "sgd"), ("lr", 0.002), ("momentum", 0.0), ("epochs", 40))),
    Fault("average-not-updated", ("optimizer-holds-stale-params", "train-eval-format-mismatch"), _set(_ema=True), test="reads"),
    Fault("optimizer-lost", ("optimizer-state-not-restored",), _resume("optimizer"), test="jump", twin=(("optimizer", "adam"), ("lr", 0.01))),
    Fault("schedule-restarted", ("scheduler-state-not-restored",), _resume("schedule"), test="jump", twin=(("scheduler", "cosine"), ("warmup_steps", 20))),
    Fault("weights-lost", ("wrong-checkpoint-selected", "resume-not-configured", "bad-pretrained-or-init"), _resume("weights"), test="jump"),
    Fault("one-nan-sample", ("bad-input-data",), _set(), ("digits", "shapes", "table", "prices", "series", "autoencode"), symptom=True, data=bad_value),
    Fault("wild-sample", ("bad-data-pocket", "bad-input-data", "loss-spike-deterministic"), _set(), ("digits", "shapes", "table", "prices", "series"), test="rows", data=wild_sample),
    Fault("recurrent-unclipped", ("gradient-clipping-missing", "exploding-gradient", "learning-rate-too-high"), _set(clip=None, architecture="rnn", lr=2.0, optimizer="sgd", momentum=0.9), ("text", "reviews"), ("gru", "lstm")),
    Fault("accuracy-summed", ("metric-implementation-bug",), _set(_metric_sum=True, _train_in_eval=3), SUPERVISED, test="reads"),
    Fault("task-forgotten", ("catastrophic-forgetting",), lambda s, r: {"_forget": s["epochs"] // 2}, SUPERVISED, twin=(("scheduler", "constant"),)),
    Fault("critic-wins", ("gan-discriminator-dominates",), _set(_critic_factor=30.0, _critic_steps=5), ("gan",)),
    Fault("critic-wins-saturating", ("gan-discriminator-dominates",), _set(_saturating=True, _critic_factor=5.0, _critic_steps=10), ("gan",)),
    Fault("code-unused", ("posterior-collapse",), lambda s, r: {"beta": r.choice((20.0, 100.0))}, ("vae",), twin=(("beta", 0.1),)),
    Fault("views-collapse", ("representation-collapse",), _set(_bare=True), ("contrast",)),
    Fault("temperature-huge", ("representation-collapse", "loss-implementation-bug"), _set(temperature=0.2, _same_answer=True), ("contrast",), twin=(("temperature", 0.2),)),
    Fault("reward-sign", ("loss-implementation-bug", "rl-policy-collapse"), _set(_sign=-1), ("bandit",)),
    Fault("entropy-gone", ("rl-entropy-collapse",), lambda s, r: {"entropy_coef": 0.0, "lr": 0.3}, ("bandit",), twin=(("entropy_coef", 0.02),)),
    Fault("no-reward", ("rl-bad-reward-model", "loss-plateau"), _set(_no_reward=True), ("bandit",)),
    Fault("pairs-alike", ("preference-not-learned",), _set(_same_pair=True), ("preference",), twin=(("beta", 0.1),)),
    Fault("pairs-random", ("preference-not-learned", "data-pipeline-bug"), _set(_random_pair=True), ("preference",), twin=(("beta", 0.1),)),
    Fault("memory-kept", ("host-memory-leak", "oom-memory-growth"), _set(_leak=2), test="memory", twin=(("_memory", True),)),
    Fault("slow-loader", ("data-loading-bottleneck",), _set(_slow_loading=("always", 0.008)), VECTORS, test="pace", twin=(("_times", True), ("epochs", 8))),
    Fault("periodic-slow-steps", ("step-time-outliers", "blocking-checkpoint-save"), _set(_slow_steps=("periodic", 0.08)), VECTORS, test="stalls", twin=(("_times", True), ("log_every", 1))),
    Fault("slower-and-slower", ("throughput-drop", "data-loading-bottleneck"), _set(_slow_loading=("growing", 0.02)), VECTORS, test="pace", twin=(("_times", True), ("epochs", 10))),
)  # fmt: skip
"""Every fault."""

BY_NAME = {fault.name: fault for fault in TABLE}
