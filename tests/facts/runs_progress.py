"""Runs that emit the facts of progress, chance, gaps and exact values."""

from __future__ import annotations

from make_run import NAN, RunMaker, falling


def layers_without_gradient() -> RunMaker:
    """Two of four layers whose gradient norm is exactly 0, a part of the loss that is NaN, and a rate far too high."""
    columns = {
        "loss": falling(30),
        "aux_loss": [0.5, NAN, NAN] * 10,
        **{f"grad_norm/layers.{i}.weight": [0.0 if i < 2 else 1.0] * 30 for i in range(4)},
    }
    return RunMaker().log(columns).config(learning_rate=10.0, optimizer="sgd")


def gradient_lost() -> RunMaker:
    """Rewards that differ within their groups, beside gradient norms of 0."""
    columns = {
        "loss": [0.0] * 3,
        "grad_norm": [0.0] * 3,
        "reward": [0.4, 0.39, 0.41],
        "reward_std": [0.45, 0.46, 0.43],
        "kl": [0.0] * 3,
        "frac_reward_zero_std": [0.0] * 3,
    }
    return RunMaker().log(columns)


RUNS = (layers_without_gradient, gradient_lost)
