"""The plain PyTorch loop, as people write it, with one of the loggers of `writers.py`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from .spec import METRIC_STYLES
from .writers import make_writer

if TYPE_CHECKING:
    from .session import Session

NO_CLIP = 1e12
"""A threshold that measures the norm and never clips."""


def train(session: Session, directory: Path) -> None:
    """Run the loop and write the run directory."""
    spec = session.spec
    names = METRIC_STYLES[spec.style]
    logged = [name for name in names if name not in spec.dropped]
    writer = make_writer(spec, directory, [names[name] for name in logged])
    batches = session.batches()
    session.network.train()
    for step in range(session.stop_after):
        session.injection.before_step(step, session)
        values, seconds = _step(session, step, batches)
        session.step_done(step, values["loss"], values["grad_norm"], seconds)
        if step % spec.log_every == 0 or step == spec.steps - 1:
            if step % spec.eval_every < spec.log_every or step == spec.steps - 1:
                values["eval_loss"] = session.evaluation(step)
            writer.log(step, {names[name]: value for name, value in values.items() if name in logged})
    session.injection.before_step(session.stop_after, session)
    writer.close()


def _step(session: Session, step: int, batches: object) -> tuple[dict[str, float], float]:
    """One optimizer step: metric values by canonical name, and its wall time."""
    started = time.perf_counter()
    rate = session.rate(step)
    for group in session.optimizer.param_groups:
        group["lr"] = rate
    total, waited = 0.0, 0.0
    session.optimizer.zero_grad(set_to_none=True)
    session.network.zero_grad(set_to_none=True)
    for _ in range(session.spec.accumulation):
        asked = time.perf_counter()
        inputs, targets = next(batches)  # type: ignore[call-overload]
        waited += time.perf_counter() - asked
        loss = session.loss(session.network, inputs, targets, step)
        total += float(loss.detach())
        share = loss / session.spec.accumulation
        if share.requires_grad:
            (session.scaler.scale(share) if session.use_scaler else share).backward()
    norm = _update(session)
    seconds = time.perf_counter() - started
    values = {
        "loss": total / session.spec.accumulation,
        "grad_norm": norm,
        "learning_rate": rate,
        "step_time_s": seconds,
        "data_time_s": waited,
    }
    return values, seconds


def _update(session: Session) -> float:
    if session.use_scaler:
        session.scaler.unscale_(session.optimizer)
    parameters = [p for p in session.network.parameters() if p.grad is not None]
    norm = float(nn.utils.clip_grad_norm_(parameters, session.spec.clip or NO_CLIP)) if parameters else 0.0
    if session.use_scaler:
        session.scaler.step(session.optimizer)
        session.scaler.update(
            session.spec.option("loss_scale") if session.spec.fault == "scale-pinned-low" else None
        )
    else:
        session.optimizer.step()
    return norm


def set_up() -> None:
    """One thread a process: two runs share the machine."""
    torch.set_num_threads(1)
