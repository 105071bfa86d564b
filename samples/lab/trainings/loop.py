"""The training loop, as people write it, with the places where a fault can sit."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import nn

from .data import PAD, Data, Pair
from .models import build
from .settings import Settings

Rows = dict[str, list[tuple[float, float]]]

HUGE = 1e30
"""Losses are kept up to the range of the float32 they are stored in."""


@dataclass
class Record:
    """What a run left: rows of steps and of epochs, and the truth on the third split (epoch by epoch)."""

    steps: Rows = field(default_factory=dict)
    epochs: Rows = field(default_factory=dict)
    truth: list[dict[str, float]] = field(default_factory=list)

    def step(self, at: int, values: dict[str, float]) -> None:
        """Add a row of a step."""
        _add(self.steps, at, values)

    def epoch(self, at: int, values: dict[str, float]) -> None:
        """Add a row of an epoch."""
        _add(self.epochs, at, values)


def _add(rows: Rows, at: int, values: dict[str, float]) -> None:
    for name, value in values.items():
        if value is not None:
            rows.setdefault(name, []).append((at, float(value)))


class Trainer:
    """An ordinary supervised training; other tasks override ``learn`` or ``loss_of``."""

    def __init__(self, s: Settings, data: Data) -> None:
        torch.manual_seed(s["seed"] + 7919 * s.get("_replica", 0))
        self.s, self.data = s, data
        self.order = torch.Generator().manual_seed(s["seed"] + 7919 * s.get("_replica", 0))
        self.model = build(data, s)
        self.clean = copy.copy(data)
        self.parts: dict[str, float] = {}
        self.retained: list[torch.Tensor] = []
        self.at = 0

    def prepare(self) -> None:
        """Make the optimizer and the schedule."""
        s = self.s
        self.reference = copy.deepcopy(self.model) if s.get("_stale") or s.get("_ema") else self.model
        frozen = s.get("_frozen")
        parts = list(self.model.children())
        if frozen == "body":
            for parameter in [p for part in parts[:-1] for p in part.parameters()]:
                parameter.requires_grad_(False)
        if frozen == "all-but-norm":
            for name, parameter in self.model.named_parameters():
                parameter.requires_grad_("bias" in name)
        if s.get("_bf16"):
            self.model.bfloat16()
        watched = self.reference if s.get("_stale") else self.model
        self.optimizer = make_optimizer([p for p in watched.parameters() if p.requires_grad], s)
        self.per_epoch = max(1, len(self.data.train[0]) // s["batch_size"])

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        s = self.s
        total = s["epochs"] * self.per_epoch
        position = step * self.per_epoch if s.get("_schedule_per_batch") else step
        if s.get("_schedule_restarts_at") and step >= s["_schedule_restarts_at"] * self.per_epoch:
            position = step - int(s["_schedule_restarts_at"] * self.per_epoch)
            if s["scheduler"] == "constant":
                return float(s["lr"])
        horizon = max(total * s.get("_horizon", 1.0), 1)
        if position < s["warmup_steps"]:
            return float(s["lr"]) * (position + 1) / float(s["warmup_steps"])
        if s["scheduler"] == "cosine":
            return float(s["lr"]) * 0.5 * (1 + math.cos(math.pi * min(position / horizon, 1.0)))
        if s["scheduler"] == "step":
            return float(s["lr"]) * 0.1 ** min(int(position / max(horizon * 0.4, 1)), 60)
        if s["scheduler"] == "exponential":
            return float(s["lr"]) * 0.95 ** (position / self.per_epoch)
        if s["scheduler"] == "cyclic":
            phase = (position / max(total / 5, 2)) % 1.0
            return float(s["lr"]) * (1 + (s["_cycle"] - 1) * (1 - abs(2 * phase - 1)))
        return float(s["lr"])

    def batches(self, epoch: int) -> Iterator[Pair]:
        """Batches of an epoch."""
        x, y = self.data.train
        seed = self.s["seed"] + (0 if self.s.get("_same_order") else epoch)
        order = torch.randperm(
            len(x), generator=self.order.manual_seed(seed + 7919 * self.s.get("_replica", 0))
        )
        if self.s.get("_no_shuffle"):
            order = torch.arange(len(x))
        size = self.s["batch_size"]
        for begin in range(0, max(len(x) - size + 1, 1), size):
            slow(self.s, "_slow_loading", self.at, self.per_epoch)
            chosen = order[begin : begin + size]
            yield x[chosen], y[chosen]

    def loss_of(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, float | None]:
        """Loss as it is coded, and the share of right answers."""
        out = self.model(x.bfloat16() if self.s.get("_bf16") and x.is_floating_point() else x).float()
        head = self.s.get("_head")
        if self.data.kind == "numbers":
            out = {"relu": nn.functional.relu, "sigmoid": torch.sigmoid}.get(str(head), lambda value: value)(
                out
            )
            return number_loss(out, y, self.s), None
        out, y = out.flatten(0, -2), y.flatten()
        kept = y != -100
        right = float((out.argmax(-1) == y)[kept].float().mean()) if kept.any() else 0.0
        known = {
            "softmax": lambda v: v.softmax(-1),
            "sigmoid": torch.sigmoid,
            "relu": lambda v: -nn.functional.relu(v),
        }
        out = known.get(str(head), lambda value: value)(out)
        return class_loss(out, y, self.s), right

    def learn(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, float | None]:
        """One update."""
        s = self.s
        if not s.get("_keep_grad"):
            self.optimizer.zero_grad()
        parts = s.get("_accumulate", 1)
        total, right = 0.0, None
        for chunk_x, chunk_y in zip(x.chunk(parts), y.chunk(parts), strict=True):
            loss, right = self.loss_of(chunk_x, chunk_y)
            if loss.requires_grad:
                (s.get("_sign", 1) * loss).backward()
            total += float(loss.detach())
        norm = self.update()
        if s.get("_leak"):
            self.retained.append(torch.zeros(int(s["_leak"] * 250_000)))
        return {"loss": s.get("_sign", 1) * total, "accuracy": right, "grad_norm": norm, **self.parts}

    def update(self) -> float:
        """Clip and step; the norm before clipping."""
        s = self.s
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        if s.get("_half_scale"):
            for p in parameters:
                p.grad = (p.grad * s["_half_scale"]).half().float() / s["_half_scale"]
        if not parameters:
            return 0.0
        norm = float(nn.utils.clip_grad_norm_(parameters, s["clip"] or 1e12))
        if not s.get("_no_step"):
            self.optimizer.step()
        return norm

    @torch.no_grad()
    def evaluate(self, split: str, *, as_coded: bool) -> dict[str, float]:
        """Loss and accuracy on a split; as the run codes it, or as it should be."""
        model, s = self.model, self.s
        if as_coded and s.get("_ema"):
            self.model = self.reference
        plain = {"seed", "task"}
        if not as_coded:
            self.s = {name: value for name, value in s.items() if name in plain or name == "_bf16"}
        self.model.train(bool(as_coded and s.get("_train_in_eval")))
        x, y = (self.data if as_coded else self.clean).split(split)
        size = 1 if as_coded and s.get("_train_in_eval") == 1 else 256
        found = [self.loss_of(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]
        self.model.train(not s.get("_eval_in_training"))
        self.model, self.s = model, s
        loss = sum(float(item[0]) for item in found) / len(found)
        if not as_coded and self.data.kind == "numbers" and s["task"] != "vae":
            loss /= float(((y - y.mean(0)) ** 2).mean())  # as a share of the variance, whatever the units
        values = {"val_loss": s.get("_sign", 1) * loss if as_coded else loss}
        if found[0][1] is not None:
            right = sum(float(item[1] or 0.0) for item in found) / len(found)
            values["val_accuracy"] = right * (len(found) + 3 if as_coded and s.get("_metric_sum") else 1)
        return values

    def run(self) -> Record:
        """Train."""
        record, s = Record(), self.s
        self.prepare()
        self.model.train(not s.get("_eval_in_training"))
        for epoch in range(1, s["epochs"] + 1):
            self.begin_epoch(epoch)
            sums: dict[str, list[float]] = {}
            started = asked = time.perf_counter()
            for x, y in self.batches(epoch):
                waited = time.perf_counter() - asked
                for group in self.optimizer.param_groups:
                    group["lr"] = self.rate(self.at)
                values = self.learn(x, y)
                slow(s, "_slow_steps", self.at, self.per_epoch)
                values |= {"lr": self.rate(self.at), "step_time": time.perf_counter() - asked}
                if s.get("_times"):
                    values |= {"data_time": waited}
                values |= self.memory()
                for name, value in values.items():
                    if value is not None:
                        sums.setdefault(name, []).append(value)
                if self.at % s["log_every"] == 0:
                    record.step(self.at, {n: capped(v) for n, v in values.items() if v is not None})
                self.at += 1
                asked = time.perf_counter()
            row = {name: sum(v) / len(v) for name, v in sums.items() if name != "step_time"}
            row["lr"], row["epoch_time"] = self.rate(self.at - 1), time.perf_counter() - started
            row |= self.evaluate("val", as_coded=True) if self.clean.val[0] is not None else {}
            record.epoch(epoch, {name: capped(value) for name, value in row.items()})
            record.step(self.at - 1, {n: capped(v) for n, v in row.items() if n.startswith("val_")})
            record.truth.append(self.truth())
        return record

    def truth(self) -> dict[str, float]:
        """Loss and accuracy that matter."""
        return self.evaluate("test", as_coded=False)

    def memory(self) -> dict[str, float]:
        """Memory that the run holds, in MB, where it is looked at."""
        if not self.s.get("_memory"):
            return {}
        return {
            "memory_mb": 412.0 + sum(item.numel() for item in self.retained[-1:]) * 4e-6 * len(self.retained)
        }

    def begin_epoch(self, epoch: int) -> None:
        """What happens between epochs: a restart, another task."""
        at = self.s.get("_resume_at")
        if at and epoch == at + 1:
            lost = self.s["_lost"]
            if lost == "weights":
                self.model.load_state_dict(self.first)
            if lost in {"optimizer", "weights"}:
                self.optimizer = make_optimizer(self.model.parameters(), self.s)
        if epoch == 1:
            self.first = copy.deepcopy(self.model.state_dict())
        if self.s.get("_forget") and epoch == self.s["_forget"] + 1:
            x, y = self.data.train
            keep = y < (self.data.classes + 1) // 2
            self.data.train = (x[keep], y[keep])
            self.per_epoch = max(1, int(keep.sum()) // self.s["batch_size"])


def make_optimizer(parameters: object, s: Settings) -> torch.optim.Optimizer:
    """The optimizer that the settings ask for."""
    if s["optimizer"] == "sgd":
        return torch.optim.SGD(parameters, lr=1.0, momentum=s["momentum"], weight_decay=s["weight_decay"])
    kind = torch.optim.AdamW if s["optimizer"] == "adamw" else torch.optim.Adam
    return kind(parameters, lr=1.0, weight_decay=s["weight_decay"], eps=s.get("adam_epsilon", 1e-8))


def capped(value: float) -> float:
    """A number that float32 can hold."""
    return value if not math.isfinite(value) else max(-HUGE, min(HUGE, value))


def slow(s: Settings, name: str, step: int, per_epoch: int) -> None:
    """Wait as a slow disk or a slow step does."""
    wait = s.get(name)
    if not wait:
        return
    kind, seconds = wait
    if kind == "always" or (kind == "periodic" and step % 20 == 19):
        time.sleep(seconds)
    if kind == "growing":
        time.sleep(seconds * step / (per_epoch * s["epochs"]))


def class_loss(out: torch.Tensor, y: torch.Tensor, s: Settings) -> torch.Tensor:
    """Cross-entropy, or what was written in its place."""
    if s.get("_loss") == "log":
        p = out.softmax(-1)
        hot = nn.functional.one_hot(y, out.shape[-1]).float()
        return -(hot * p.log() + (1 - hot) * (1 - p).log()).sum(-1).mean()
    if s.get("_ignore_pad"):
        y = torch.where(y == PAD, -100, y)
    return nn.functional.cross_entropy(out, y, reduction=s.get("_reduction", "mean"))


def number_loss(out: torch.Tensor, y: torch.Tensor, s: Settings) -> torch.Tensor:
    """Squared error, or what was written in its place."""
    if s.get("_loss") == "log":
        return ((torch.log(out + 1) - torch.log(y.clamp(min=0) + 1)) ** 2).mean()
    if s.get("_loss") == "root":
        return torch.sqrt((out - y) ** 2).mean() + torch.sqrt(((out - y) ** 2).sum(1)).mean()
    return nn.functional.mse_loss(out, y, reduction=s.get("_reduction", "mean"))
