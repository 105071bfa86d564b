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


@dataclass(frozen=True)
class Wanted:
    """What a corpus is to hold.

    Attributes:
        runs: Number of metric runs.
        seed: Seed of every choice.
        first: Number of the first configuration; another corpus of the same seed begins where one ended.
        faults: Plant only these; all if empty.
        engines: Make only configurations of these engines; all if empty.
    """

    runs: int
    seed: int = 0
    first: int = 0
    faults: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()


def plan(wanted: Wanted) -> list[Group]:
    """The groups of a corpus, faults balanced by how often each could be planted so far."""
    faults = [fault for name, fault in load_all().items() if not wanted.faults or name in wanted.faults]
    used: Counter[str] = Counter()
    groups: list[Group] = []
    for number in range(wanted.first, wanted.first + max(1, round(wanted.runs / RUNS_PER_CONFIGURATION))):
        rng = random.Random(f"{wanted.seed}/{number}")
        base = draw_base(rng, number)
        fitting = [fault for fault in faults if fault.fits(base)]
        chosen = sorted(fitting, key=lambda fault: (used[fault.name], rng.random()))[
            :FAULTS_PER_CONFIGURATION
        ]
        used.update(fault.name for fault in chosen)
        twin = base.changed(run_id=f"{base.run_id}-twin")
        other = base.changed(run_id=f"{base.run_id}-seed", option_replica=1)
        groups.append(Group(twin, other, tuple(_planted(base, fault, rng, twin.run_id) for fault in chosen)))
    return [group for group in groups if not wanted.engines or group.twin.engine in wanted.engines]


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
