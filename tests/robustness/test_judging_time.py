"""Detectors and rules take time that grows as the run does: the shapes that once cost its square are judged in seconds."""

import time

import numpy as np
import pytest

from analyzer.detect import run_detectors
from analyzer.facts.build import build_facts
from analyzer.ingest.base import SourceWriter
from analyzer.ingest.builder import RunBuilder

ROWS = 30_000
ERRORS = 10_000
MOST_S = 7.5
"""Several times what each takes; of twice as many, together, the squares took more than six minutes."""


def a_run():
    return RunBuilder("run")


def a_log(builder, name="train.log"):
    return builder.add_source(
        name, format_name="text-log", ingestor="text-log", size_bytes=1, sha256_head=name
    )


def put(builder, source, name, steps, values, lines=None, rank=None):
    count = len(steps)
    lines = np.arange(1, count + 1) if lines is None else lines
    SourceWriter(builder, source).metrics(
        name, steps=np.asarray(steps, np.int64), values=np.asarray(values, float),
        lines=np.asarray(lines, np.int64), rank=rank,
    )  # fmt: skip


def tell(builder, source, kind, line, role, rank=None, **fields):
    SourceWriter(builder, source).event(
        kind, f"{kind} {line}", role=role, line=line, rank=rank, fields=fields
    )


def errors_among_rows():
    """Each error is asked whether training went on after it."""
    builder, dice = a_run(), np.random.default_rng(0)
    source = a_log(builder)
    lines = np.arange(ROWS) * 4 + 1
    for name in ("loss", "grad_norm", "learning_rate"):
        put(builder, source, name, np.arange(ROWS), dice.random(ROWS) + 1, lines)
    for number in range(ERRORS):
        line = 12 * number + 2
        tell(
            builder,
            source,
            "python_traceback",
            line,
            "root_candidate",
            exception="RuntimeError",
            message="no",
        )
        tell(builder, source, "cuda_oom", line + 1, "root_candidate", rank=number % 64)
    return builder.finish()


def errors_and_nothing_else():
    """Each error is asked which one follows it."""
    builder = a_run()
    source = a_log(builder)
    for number in range(ERRORS):
        line = 400 * number + 2
        tell(
            builder, source, "python_traceback", line, "root_candidate", exception="SyntaxError", message="no"
        )
        tell(builder, source, "cuda_oom", line + 1, "root_candidate", rank=number % 64)
        tell(builder, source, "gpu_xid", line + 2, "root_candidate", code=31)
    return builder.finish()


def launches():
    """A log of which every third row goes back: each launch is held against the one before."""
    builder, dice = a_run(), np.random.default_rng(0)
    source = a_log(builder)
    steps = np.arange(ROWS) // 3 + np.arange(ROWS) % 3 * 7
    for name in ("loss", "grad_norm", "learning_rate"):
        put(builder, source, name, steps, dice.random(ROWS) + 1)
    return builder.finish()


def spikes():
    """Each spike looks for its return."""
    builder = a_run()
    values = np.ones(49_000) + np.random.default_rng(0).random(49_000) / 100
    values[20::40] = 50.0
    put(builder, a_log(builder), "loss", np.arange(values.size), values)
    return builder.finish()


def names():
    """As many metrics as are kept."""
    builder, dice = a_run(), np.random.default_rng(0)
    source = a_log(builder)
    words = ("loss", "eval_loss", "acc", "reward", "grad_norm", "kl", "entropy", "d_loss", "g_loss", "time")
    for number in range(5_000):
        name = f"{words[number % 10]}/{words[number // 10 % 10]}_{number}"
        put(builder, source, name, np.arange(20), dice.random(20))
    return builder.finish()


def ranks():
    """A log for each of 512 ranks."""
    builder, dice = a_run(), np.random.default_rng(0)
    for rank in range(512):
        source = a_log(builder, f"rank_{rank}.log")
        for name in ("loss", "grad_norm", "step_time_s"):
            put(builder, source, name, np.arange(100), dice.random(100), rank=rank)
        tell(builder, source, "nccl_timeout", 200, "cascade", rank=rank, ran_ms=600000)
    return builder.finish()


@pytest.mark.parametrize(
    "shape", [errors_among_rows, errors_and_nothing_else, launches, spikes, names, ranks]
)
def test_the_time_of_judging_grows_as_the_run_does(shape):
    run = shape()
    began_s = time.process_time()
    build_facts(run_detectors(run))
    assert time.process_time() - began_s < MOST_S
