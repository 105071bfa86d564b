"""Runs that emit the facts of the classifier."""

from __future__ import annotations

import numpy as np
from make_run import RunMaker


def stuck() -> RunMaker:
    """A loss that never moves, with the other curves of an ordinary run."""
    rng = np.random.default_rng(0)
    loss = 2.303 + 0.01 * rng.standard_normal(200)
    grad = np.exp(0.1 * rng.standard_normal(200))
    rate = 1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(200) / 200))
    return RunMaker().log({"loss": loss, "grad_norm": grad, "learning_rate": rate})


RUNS = (stuck,)
