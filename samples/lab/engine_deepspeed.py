"""DeepSpeed around a session: one rank over gloo, its console lines and its TensorBoard monitor."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from .session import Session

_PORT = 29700


def _one_rank() -> None:
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(_PORT + os.getpid() % 200), RANK="0", WORLD_SIZE="1", LOCAL_RANK="0",
        DS_ACCELERATOR="cpu", DS_BUILD_OPS="0",
    )  # fmt: skip


def _configuration(session: Session, directory: Path) -> dict[str, Any]:
    spec = session.spec
    return {
        "train_batch_size": spec.batch_size * spec.accumulation,
        "train_micro_batch_size_per_gpu": spec.batch_size,
        "gradient_accumulation_steps": spec.accumulation,
        "gradient_clipping": spec.clip or 0.0,
        "steps_per_print": spec.log_every,
        "zero_allow_untested_optimizer": True,
        "zero_optimization": {"stage": (0, 1, 2)[spec.seed % 3] if spec.precision == "bf16" else 0},
        "bf16": {"enabled": spec.precision == "bf16"},
        "tensorboard": {"enabled": True, "output_path": str(directory), "job_name": "run"},
    }


def train(session: Session, directory: Path) -> None:
    """Train with a DeepSpeed engine and leave its files."""
    _one_rank()
    import deepspeed

    spec = session.spec
    logging.getLogger("DeepSpeed").setLevel(logging.INFO)
    if not torch.distributed.is_initialized():
        deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    engine, *_ = deepspeed.initialize(
        model=session.network,
        optimizer=session.optimizer,
        lr_scheduler=torch.optim.lr_scheduler.LambdaLR(
            session.optimizer, lambda step: session.rate(step) / spec.learning_rate
        ),
        config=_configuration(session, directory),
    )
    batches = session.batches()
    for step in range(session.stop_after):
        session.injection.before_step(step, session)
        started = time.perf_counter()
        total = 0.0
        for _ in range(spec.accumulation):
            inputs, targets = next(batches)
            if spec.precision == "bf16" and inputs.is_floating_point():
                inputs = inputs.to(torch.bfloat16)
            outputs = engine(inputs, targets)
            loss = session.injection.loss(step, outputs["loss"].float(), outputs["logits"], targets)
            if not loss.requires_grad:
                loss = loss + 0.0 * sum(p.float().sum() for p in session.network.parameters())
            total += float(loss.detach())
            engine.backward(loss)
            engine.step()
        seconds = time.perf_counter() - started
        norm = engine.get_global_grad_norm()
        session.step_done(step, total / spec.accumulation, float(norm) if norm is not None else 0.0, seconds)
        if step % spec.log_every == 0:
            _print_row(session, step, total / spec.accumulation, seconds)
    session.injection.before_step(session.stop_after, session)
    engine.destroy()


def _print_row(session: Session, step: int, loss: float, seconds: float) -> None:
    """The row that a user's DeepSpeed script prints beside the engine's own."""
    spec = session.spec
    parts = [f"step {step}", f"loss: {loss:.5f}"]
    if "learning_rate" not in spec.dropped:
        parts.append(f"lr: {session.rate(step):.6g}")
    if "grad_norm" not in spec.dropped and session.truth.grad_norm[-1]:
        parts.append(f"grad_norm: {session.truth.grad_norm[-1]:.5f}")
    if "step_time_s" not in spec.dropped:
        parts.append(f"step_time: {seconds:.5f}")
    if "eval_loss" not in spec.dropped and step % spec.eval_every < spec.log_every:
        parts.append(f"eval_loss: {session.evaluation(step):.5f}")
    print(" | ".join(parts), flush=True)
