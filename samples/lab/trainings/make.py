"""Make the trainings: groups of a twin, a second seed and some faults, trained, judged and stored in one file."""

from __future__ import annotations

import copy
import json
import random
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from .settings import TASKS, Settings, draw, shown

STORED = Path(__file__).parents[1] / "trainings.parquet"
RUNS_PER_FAULT, FAULTS_PER_GROUP = 5, 5
MOST_STEP_ROWS = 60


def plan(seed: int, per_fault: int) -> list[tuple[Settings, list[str]]]:
    """Configurations and the faults that are planted in each, the least used first."""
    from .faults import TABLE

    used: Counter[str] = Counter()
    seen: Counter[tuple[str, str]] = Counter()
    rng = random.Random(seed)
    pairs = [(task, architecture) for task, kinds in TASKS.items() for architecture in kinds]
    groups: list[tuple[Settings, list[str]]] = []
    for number in range(len(TABLE) * per_fault):
        settings = draw(rng, *pairs[number % len(pairs)])
        fitting = [f for f in TABLE if f.suits(settings) and used[f.name] < per_fault]
        fitting.sort(key=lambda f: (used[f.name], seen[f.name, settings["architecture"]], rng.random()))
        if not fitting:
            continue
        settings |= dict(fitting[0].twin)  # a fault may want its twin set up in one way
        chosen = [fitting[0], *(f for f in fitting[1:] if not f.twin and f.suits(settings))][
            :FAULTS_PER_GROUP
        ]
        used.update(f.name for f in chosen)
        seen.update((f.name, settings["architecture"]) for f in chosen)
        groups.append((settings, [f.name for f in chosen]))
    return groups


def train(s: Settings, fault: str = "") -> Any:
    """Train one run, with a fault or without."""
    import torch

    from .faults import BY_NAME
    from .special import trainer

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    run = trainer(s)
    if fault:
        planted = BY_NAME[fault]
        if planted.data is not None:
            planted.data(run.data, s)
            run.clean = copy.copy(run.data) if planted.test_too else run.clean
        if planted.model is not None:
            planted.model(run.model, s)
    return run.run(), run


def make_group(task: tuple[int, Settings, list[str]]) -> list[dict[str, Any]]:
    """Train and judge one group; nothing comes back if the configuration itself does not train well."""
    from . import outcome
    from .faults import BY_NAME
    from .special import trainer

    number, base, faults = task
    twin, other = train(base)[0], train({**base, "_replica": 1})[0]
    begin = outcome.error(trainer(base).truth())
    if not (outcome.sound(twin, begin) and outcome.sound(other, begin)):
        return []
    rows = [_row(f"g{number:03d}-twin", "none", base, twin, (), False, "the twin", [])]
    rows.append(_row(f"g{number:03d}-seed", "none", base, other, (), False, "a second seed", []))
    for name in faults:
        fault, rng = BY_NAME[name], random.Random(f"{number}/{name}")
        settings = {**base, **fault.change(base, rng)}
        run = train(settings, name)[0]
        bit, said = outcome.bit(fault.test, run, twin, other, begin)
        labels = (*fault.labels, *(sorted(outcome.happened(run)) if fault.symptom else ())) if bit else ()
        shows = outcome.differing(run, twin, other)
        rows.append(_row(f"g{number:03d}-{name}", name, settings, run, labels, bit, said, shows))
    return rows


def _row(
    name: str,
    fault: str,
    s: Settings,
    run: Any,
    labels: tuple[str, ...],
    bit: bool | None,
    said: str,
    shows: list[str],
) -> dict[str, Any]:
    return {
        "run_id": name,
        "fault": fault,
        "task": s["task"],
        "architecture": s["architecture"],
        "labels": list(labels),
        "bit": bit,
        "outcome": said,
        "shows": shows,
        "settings": [{"key": key, "value": json.dumps(value)} for key, value in shown(s).items()],
        "epochs": _curves(run.epochs, 1),
        "steps": _curves(run.steps, 1 + len(max(run.steps.values(), key=len)) // MOST_STEP_ROWS),
    }


def _curves(rows: dict[str, list[tuple[float, float]]], every: int) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "at": [int(at) for at, _ in points[:: 1 if name.startswith("val_") else every]],
            "value": [
                float(f"{value:.4g}") for _, value in points[:: 1 if name.startswith("val_") else every]
            ],
        }
        for name, points in rows.items()
    ]


def make(seed: int, per_fault: int, jobs: int, only: list[str], out: Path = STORED) -> None:
    """Make the set, store it, and say what it holds."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    started = time.monotonic()
    groups = [(n, s, faults) for n, (s, faults) in enumerate(plan(seed, per_fault))]
    if only:
        groups = [
            (n, s, [f for f in faults if f in only]) for n, s, faults in groups if set(faults) & set(only)
        ]
    with ProcessPoolExecutor(jobs) as pool:
        rows = [row for found in pool.map(make_group, groups) for row in found]
    curve = pa.list_(
        pa.struct([("name", pa.string()), ("at", pa.list_(pa.int32())), ("value", pa.list_(pa.float32()))])
    )
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("run_id", "fault", "task", "architecture")),
            ("labels", pa.list_(pa.string())),
            ("bit", pa.bool_()),
            ("outcome", pa.string()),
            ("shows", pa.list_(pa.string())),
            ("settings", pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))),
            ("epochs", curve),
            ("steps", curve),
        ]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema), out, compression="zstd", compression_level=19)
    tried = Counter(row["fault"] for row in rows)
    bitten = Counter(row["fault"] for row in rows if row["bit"])
    for name in sorted(tried):
        print(f"{name:28} {bitten[name]:3d} of {tried[name]:3d} bit")
    print(
        f"{len(rows)} runs of {len(groups)} groups, {out.stat().st_size / 1e6:.2f} MB, {time.monotonic() - started:.0f} s"
    )
