"""Which runs a corpus holds: configurations, and the faults planted in each."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .faults import MetricFault, load_all
from .spec import draw_base

if TYPE_CHECKING:
    from .spec import Spec

FAULTS_PER_CONFIGURATION = 4
RUNS_PER_CONFIGURATION = FAULTS_PER_CONFIGURATION + 2
"""Two healthy seeds (the twin and the measure of noise) and four faults."""

EARLIEST_STOP = 0.8
"""A run that is cut short must have seen its fault for a fifth of its length."""


@dataclass(frozen=True)
class Group:
    """One configuration: a twin, a second healthy seed, and faulty runs of the same configuration."""

    twin: Spec
    other: Spec
    faulty: tuple[Spec, ...]


def plan(runs: int, seed: int, engines: dict[str, float] | None = None, only: str = "") -> list[Group]:
    """The groups of a corpus, faults balanced by how often each could be planted so far.

    Args:
        runs: Wanted number of metric runs.
        seed: Seed of every choice.
        engines: Shares of the engines; the default mix if None.
        only: Plant this fault alone.
    """
    faults = {name: fault for name, fault in load_all().items() if only in {"", name}}
    used: Counter[str] = Counter()
    groups: list[Group] = []
    for number in range(max(1, round(runs / RUNS_PER_CONFIGURATION))):
        rng = random.Random(f"{seed}/{number}")
        base = draw_base(rng, number, engines)
        fitting = [fault for fault in faults.values() if fault.fits(base)]
        chosen = sorted(fitting, key=lambda fault: (used[fault.name], rng.random()))[
            :FAULTS_PER_CONFIGURATION
        ]
        used.update(fault.name for fault in chosen)
        twin = base.changed(run_id=f"{base.run_id}-twin")
        other = base.changed(run_id=f"{base.run_id}-seed", option_replica=1)
        groups.append(Group(twin, other, tuple(_planted(base, fault, rng, twin.run_id) for fault in chosen)))
    return groups


def _planted(base: Spec, fault: MetricFault, rng: random.Random, twin: str) -> Spec:
    onset = rng.uniform(*fault.onset)
    stop_at = base.stop_at
    if stop_at is not None and onset * base.steps > EARLIEST_STOP * stop_at:
        stop_at = None
    spec = base.changed(
        run_id=f"{base.run_id}-{fault.name}",
        fault=fault.name,
        severity=rng.random(),
        onset=onset,
        twin=twin,
        stop_at=stop_at,
    )
    return fault.injection.configure(spec)
