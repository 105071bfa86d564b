"""Runs that emit the facts of optimisation and evaluation."""

from __future__ import annotations

import math

import numpy as np
from make_run import NAN, RunMaker, falling, norms


def spiked() -> RunMaker:
    """A spike that comes back, with update norms, a change of the sequence length, and two launches."""
    loss, update, grad = np.array(falling(300)), np.array(norms(300)), np.array(norms(300))
    loss[100:110] *= 3.0
    update[97:105] *= 4.0
    grad[100:105] *= 8.0
    loss[200:] += 1.0
    columns = {
        "loss": loss,
        "grad_norm": grad,
        "update_norm": update,
        "seqlen": [512.0] * 200 + [2048.0] * 100,
    }
    return RunMaker().log(columns)


def drifted() -> RunMaker:
    """A gradient norm that grows for 300 steps before the NaN, with checkpoints."""
    loss, grad = np.array(falling(1000)), np.array(norms(1000))
    grad[600:900] *= np.exp(np.linspace(0.0, 3.0, 300))
    loss[900:] = NAN
    maker = RunMaker().log({"loss": loss, "grad_norm": grad})
    return maker.event("checkpoint_saved", line=5005, role="info", step=500, path_="ckpt/500")


def relaunched() -> RunMaker:
    """Two launches that break at the same step."""
    broken = [*falling(90), NAN, NAN]
    maker = RunMaker().attempt("a.log", 0.0).log({"loss": broken}, path="a.log")
    return maker.attempt("b.log", 100.0).log({"loss": broken[40:]}, path="b.log", first=41)


def stalled() -> RunMaker:
    """A loss at chance with everything logged that tells the reasons apart."""
    noise = np.random.default_rng(0).standard_normal(200)
    columns = {
        "loss": [math.log(10) * (1 + 0.01 * v) for v in noise],
        "grad_norm": norms(200),
        "weight_norm": [8.0] * 200,
        "learning_rate": [max(1e-3 * (1 - i / 100), 0.0) for i in range(200)],
        "dead_frac": [1.0] * 200,
        **{f"grad_norm/layers.{i}.weight": [10.0 ** (i - 6)] * 200 for i in range(6)},
    }
    maker = (
        RunMaker().log(columns).log({"eval_loss": [2.303] * 10, "eval_wer": [1.0] * 10}, first=20, every=20)
    )
    maker.config(
        learning_rate=1e-3, max_grad_norm=0.1, max_steps=200, lr_scheduler_type="linear", num_classes=10,
        init_method_std=0.02, hidden_size=64, num_layers=4, norm_first=True, activation="gelu", batch_norm=False, ctc_zero_infinity=True, total_num_steps=100,
    )  # fmt: skip
    return maker


def constant_rate() -> RunMaker:
    """A cosine schedule that never moved."""
    maker = RunMaker().log({"loss": falling(60), "learning_rate": [1e-3] * 60})
    return maker.config(learning_rate=1e-3, lr_scheduler_type="cosine")


def evaluated() -> RunMaker:
    """Evaluations beside training, with epochs and metrics of every kind."""
    epochs = np.arange(90) / 30.0
    steps = 2.0 - 0.6 * np.floor(epochs) + 0.01 * np.random.default_rng(0).standard_normal(90)
    columns = {
        "loss": steps,
        "epoch": epochs,
        "accuracy": np.linspace(0.3, 0.9, 90),
        "val/iou_class_7": [NAN] * 90,
    }
    evaluations = {
        "eval_loss": [2.0, 1.4, 1.2, 1.25, 1.3, 1.4],
        "eval_accuracy": [0.3, 0.4, 0.5, 0.5, 0.49, 0.48],
    }
    maker = RunMaker().log({**columns, "ppl": [0.5] * 90}).config(load_best_model_at_end=False)
    return maker.log({**evaluations, "eval_samples": [100.0] * 6}, first=15, every=15)


def evaluated_often() -> RunMaker:
    """Ten evaluations and more, of which the last ones tell what was gained."""
    return RunMaker().log({"eval_accuracy": np.linspace(0.3, 0.8, 12)})


def frozen() -> RunMaker:
    """Epochs whose loss and accuracy agree in all digits."""
    columns = {"loss": [6.1253] + [6.125] * 6, "accuracy": [0.3125] * 7}
    return RunMaker("keras").log(columns, every=100, first=100)


def one_answer() -> RunMaker:
    """Accuracies of one number beside a loss that moves."""
    still = [0.5] * 6
    columns = {"loss": [1.3, 0.7, 1.1, 1.4, 0.9, 1.2], "accuracy": still, "eval_accuracy": still}
    return RunMaker().log(columns)


def in_the_middle() -> RunMaker:
    """Rows of late epochs only: held-out loss far above that of training, and rising."""
    columns = {"loss": [0.8, 0.77, 0.81, 0.79], "eval_loss": [2.1, 2.2, 2.3, 2.4]}
    return RunMaker("keras").log(columns, every=10, first=1590)


def spent() -> RunMaker:
    """A learning rate that has come down to nothing at a tenth of the plan."""
    maker = RunMaker().log({"loss": falling(10), "learning_rate": [1e-3 * (1 - n / 9) for n in range(10)]})
    return maker.config(max_steps=100)


def warmed_too_far() -> RunMaker:
    losses, rates = [6.0, 3.1, 1.8, 2.1, 2.4, 2.0, 2.2, 2.1], [0.02, 0.04, 0.06, 0.08, 0.1, 0.1, 0.1, 0.1]
    return RunMaker().log({"loss": [*losses, 2.0], "learning_rate": [*rates, 0.1]})


RUNS = (
    warmed_too_far,
    spent,
    frozen,
    one_answer,
    in_the_middle,
    spiked,
    drifted,
    relaunched,
    stalled,
    constant_rate,
    evaluated,
    evaluated_often,
)
