"""What was looked for, given what the run logged: the answer to "and what did you check?"."""

from __future__ import annotations

from analyzer.model.diagnosis import Coverage
from analyzer.model.wording import counted

_BY_METRIC = (
    ("loss", "training loss", "NaN and infinity, printed zeros that stand for NaN, divergence, spikes, a plateau, order of the data"),
    ("eval_loss", "validation loss", "overfitting, a rise while training falls, NaN"),
    ("grad_norm", "gradient norm", "NaN and infinity, explosion, vanishing, what clipping does"),
    ("loss_scale", "loss scale", "overflows, a collapse to the floor, overflows that only calibrate"),
    ("learning_rate", "learning rate", "a rate of zero, jumps, warm-up, a schedule of the wrong length"),
    ("step_time_s", "time per step", "slow steps, a drop of the throughput, stragglers"),
    ("samples_per_second", "throughput", "a drop of the throughput"),
    ("tokens_per_second", "throughput", "a drop of the throughput"),
    ("gpu_memory_allocated_gib", "GPU memory", "growth from step to step"),
)  # fmt: skip


def tested(coverage: Coverage) -> list[tuple[str, str, bool]]:
    """Rows of subject, what was looked for in it, and whether the run holds anything to look at."""
    rows = [
        (
            f"{words} ({counted(count, 'point')})" if (count := coverage.metrics.get(metric, 0)) else words,
            what,
            count > 0,
        )
        for metric, words, what in _BY_METRIC
        if coverage.metrics.get(metric, 0) or metric in {"loss", "eval_loss", "grad_norm", "learning_rate"}
    ]
    formats = {note.format for note in coverage.sources}
    logs = bool(formats & {"text-log", "elastic-error"})
    rows.append(
        (
            "log lines",
            "exceptions, memory, collectives, devices, storage, signals, schedulers, and which of them came first",
            logs,
        )
    )
    rows.append(
        (
            f"settings ({coverage.config_keys})",
            "settings that contradict each other, the hardware or the model",
            coverage.config_keys > 0,
        )
    )
    rows.append(("checkpoint", "non-finite weights, untrained embedding rows", "safetensors" in formats))
    rows.append(
        (
            "replay of a step",
            "where a non-finite value was born",
            "replay" in formats or "replay-trace" in formats,
        )
    )
    if "flight-recorder" in formats:
        rows.append(("flight recorder", "ranks for which the others wait, collectives that differ", True))
    return rows
