"""What defines one run: architecture, data, optimisation, logging, and the fault planted in it.

Every value is drawn from a seeded generator, so a corpus is the same whenever it is made. Nothing that a reader
of the curves could use to recognise the generator is tied to a fault: steps, intervals, names and sizes are drawn
before the fault is chosen, and the healthy twin has the same ones.
"""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass
from typing import Any

IMAGE_OR_TABLE = ("mlp", "cnn")
LANGUAGE = ("llama", "qwen2", "gemma3")
STEP_CHOICES = (100, 140, 200, 280, 400)

METRIC_STYLES: dict[str, dict[str, str]] = {
    "plain": {
        "loss": "loss", "grad_norm": "grad_norm", "learning_rate": "lr",
        "eval_loss": "eval_loss", "step_time_s": "step_time_s", "data_time_s": "data_time_s",
    },
    "slash": {
        "loss": "train/loss", "grad_norm": "train/grad_norm", "learning_rate": "train/learning_rate",
        "eval_loss": "eval/loss", "step_time_s": "perf/step_time_s", "data_time_s": "perf/data_time_s",
    },
    "validation": {
        "loss": "train_loss", "grad_norm": "gradient_norm", "learning_rate": "learning_rate",
        "eval_loss": "val_loss", "step_time_s": "step_time", "data_time_s": "data_time",
    },
    "capital": {
        "loss": "Loss/train", "grad_norm": "GradNorm", "learning_rate": "LR",
        "eval_loss": "Loss/val", "step_time_s": "Time/step", "data_time_s": "Time/data",
    },
}  # fmt: skip
"""How the loop's own loggers spell the metrics; libraries with a logger of their own use their own names."""


@dataclass(frozen=True)
class Spec:
    """One run.

    Attributes:
        run_id: Folder of the run.
        seed: Seed of weights, data and order.
        engine: Who runs the loop: loop, hf, lightning, deepspeed, deepspeed-0.14.
        writer: What writes the metrics: tensorboard, csv, wandb, or the engine's own name.
        architecture: mlp, cnn, llama, qwen2, gemma3.
        task: clusters, digits, regression (mlp, cnn) or markov (language).
        start: scratch, or tuned: from weights that already know a related task.
        width: Hidden size.
        depth: Hidden layers.
        noise: Irreducible noise of the task, 0..1.
        dropout: Dropout in training mode.
        train_size: Samples (sequences for language).
        classes: Classes, or size of the vocabulary.
        optimizer: sgd, adamw, adafactor, rmsprop, lion.
        learning_rate: Peak learning rate.
        schedule: constant, cosine, linear, milestones, rsqrt.
        warmup_share: Share of the run with rising learning rate.
        weight_decay: Decoupled decay.
        steps: Optimizer steps planned.
        batch_size: Samples of one micro-batch.
        accumulation: Micro-batches a step.
        clip: Largest gradient norm, None for none.
        precision: fp32, bf16, fp16 (autocast with a scaler) or pure-bf16.
        log_every: Steps between logged points.
        eval_every: Steps between evaluations.
        style: Key of METRIC_STYLES.
        dropped: Metrics that this run does not log.
        stop_at: Step after which the log ends (a killed run), None if it completes.
        fault: Key of the fault table, "none" for a twin.
        severity: Strength of the fault, 0..1.
        onset: Share of the run after which the fault acts, 0 for faults of the set-up.
        twin: run_id of the healthy twin, empty for a twin.
        options: Values that a fault or a fix sets beyond the fields above; `replica` changes the
            random state alone, `shift` is how far a tuned run's task is from the known one, `states_config` whether
            a configuration file lies beside the log.
    """

    run_id: str
    seed: int
    engine: str
    writer: str
    architecture: str
    task: str
    start: str
    width: int
    depth: int
    noise: float
    dropout: float
    train_size: int
    classes: int
    optimizer: str
    learning_rate: float
    schedule: str
    warmup_share: float
    weight_decay: float
    steps: int
    batch_size: int
    accumulation: int
    clip: float | None
    precision: str
    log_every: int
    eval_every: int
    style: str
    dropped: tuple[str, ...]
    stop_at: int | None
    fault: str = "none"
    severity: float = 0.0
    onset: float = 0.0
    twin: str = ""
    options: tuple[tuple[str, float], ...] = ()

    @property
    def language(self) -> bool:
        """Whether the model predicts tokens."""
        return self.architecture in LANGUAGE

    @property
    def random_state(self) -> int:
        """Seed of weights and order; replicas of a run share their data and differ here."""
        return self.seed + 7919 * int(self.option("replica"))

    @property
    def onset_step(self) -> int:
        """First step at which the fault acts."""
        return int(self.onset * self.steps)

    def option(self, name: str, default: float = 0.0) -> float:
        """A value of ``options``."""
        return dict(self.options).get(name, default)

    def changed(self, **values: Any) -> Spec:
        """A copy with other values; ``option_<name>`` sets an option."""
        extra = {
            key.removeprefix("option_"): values.pop(key) for key in list(values) if key.startswith("option_")
        }
        if extra:
            values["options"] = tuple(sorted({**dict(self.options), **extra}.items()))
        return dataclasses.replace(self, **values)

    def as_json(self) -> dict[str, Any]:
        """Plain values, for worker processes."""
        return dataclasses.asdict(self)

    @staticmethod
    def of(values: dict[str, Any]) -> Spec:
        """The inverse of ``as_json``."""
        values = dict(values)
        values["dropped"] = tuple(values["dropped"])
        values["options"] = tuple((str(name), float(value)) for name, value in values["options"])
        return Spec(**values)


LEARNING_RATES: dict[str, dict[str, tuple[float, float]]] = {
    "vector": {
        "sgd": (0.03, 0.15), "adamw": (7e-4, 4e-3), "adafactor": (1e-2, 4e-2), "rmsprop": (5e-4, 3e-3), "lion": (3e-4, 1e-3),
    },
    "language": {
        "sgd": (0.3, 1.0), "adamw": (2e-3, 8e-3), "adafactor": (2e-2, 6e-2), "rmsprop": (1e-3, 4e-3), "lion": (5e-4, 2e-3),
    },
}  # fmt: skip
"""Peak learning rates, least and greatest, at which every architecture here trains well; drawn log-uniformly."""

ENGINE_SHARES = {"loop": 0.6, "hf": 0.17, "lightning": 0.11, "deepspeed": 0.06, "deepspeed-0.14": 0.06}
LOOP_WRITERS = {"tensorboard": 0.5, "csv": 0.35, "wandb": 0.15}


def _weighted(rng: random.Random, shares: dict[str, float]) -> str:
    return rng.choices(list(shares), list(shares.values()))[0]


def _log_uniform(rng: random.Random, low: float, high: float) -> float:
    return float(low * (high / low) ** rng.random())


def draw_base(rng: random.Random, number: int, engines: dict[str, float] | None = None) -> Spec:
    """A healthy configuration.

    Args:
        rng: Source of all choices.
        number: Number of the configuration in the corpus.
        engines: Shares of the engines; the default mix if None.
    """
    engine = _weighted(rng, engines or ENGINE_SHARES)
    writer = _weighted(rng, LOOP_WRITERS) if engine == "loop" else engine
    architecture = _weighted(rng, {"mlp": 0.42, "cnn": 0.22, "llama": 0.16, "qwen2": 0.13, "gemma3": 0.07})
    language = architecture in LANGUAGE
    task = "markov" if language else rng.choice(("digits", "clusters", "clusters"))
    if architecture == "mlp" and rng.random() < 0.2:
        task = "regression"
    optimizer = _weighted(rng, {"adamw": 0.5, "sgd": 0.22, "adafactor": 0.1, "rmsprop": 0.08, "lion": 0.1})
    low, high = LEARNING_RATES["language" if language else "vector"][optimizer]
    start = "tuned" if rng.random() < 0.3 else "scratch"
    # libraries cost 5 to 10 ms a step on their own, so their runs are the shorter ones
    steps = rng.choice(STEP_CHOICES[:3] if language or engine != "loop" else STEP_CHOICES)
    log_every = rng.choice([every for every in (1, 2, 5, 10) if steps // every >= 25])
    precision = _weighted(rng, {"fp32": 0.72, "bf16": 0.22, "fp16": 0.06})
    dropped = tuple(
        name
        for name, share in (
            ("grad_norm", 0.25), ("learning_rate", 0.25), ("eval_loss", 0.15), ("step_time_s", 0.35), ("data_time_s", 0.6),
        )
        if rng.random() < share
    )  # fmt: skip
    return Spec(
        run_id=f"c{number:04d}",
        seed=rng.randrange(1_000_000),
        engine=engine,
        writer=writer,
        architecture=architecture,
        task=task,
        start=start,
        width=rng.choice((24, 32, 48)) if language else rng.choice((32, 64, 96, 128)),
        depth=rng.choice((1, 2, 3)) if language else rng.choice((2, 3, 4, 5)),
        noise=rng.choice((0.05, 0.15, 0.3)),
        dropout=rng.choice((0.0, 0.0, 0.1, 0.25)),
        train_size=rng.choice((768, 1024, 2048)) if language else rng.choice((1024, 2048, 4096)),
        classes=rng.choice((48, 96, 192)) if language else 10,
        optimizer=optimizer,
        learning_rate=_log_uniform(rng, low, high) * (0.3 if start == "tuned" else 1.0),
        schedule=rng.choice(("constant", "cosine", "cosine", "linear", "milestones", "rsqrt")),
        warmup_share=rng.choice((0.0, 0.03, 0.05, 0.1)),
        weight_decay=rng.choice((0.0, 0.01, 0.1)),
        steps=steps,
        batch_size=rng.choice((8, 12, 16)) if language else rng.choice((16, 32, 64)),
        accumulation=rng.choice((1, 1, 1, 2) if language or engine != "loop" else (1, 1, 1, 2, 4)),
        clip=rng.choice((None, 1.0, 1.0, 5.0)),
        precision=precision,
        log_every=log_every,
        eval_every=max(log_every, steps // rng.choice((6, 10, 16, 20))),
        style=rng.choice(list(METRIC_STYLES)),
        dropped=dropped,
        stop_at=int(steps * rng.uniform(0.55, 0.95)) if rng.random() < 0.15 else None,
        options=(("shift", _log_uniform(rng, 0.15, 1.0)), ("states_config", float(rng.random() < 0.6))),
    )
