"""Try the fixes of the rules on planted faults: twin, second seed, faulty run, fixed run.

`python -m samples.lab fixes --out DIR` writes `DIR/fixes.csv`; `--keep` also writes the table that the rules'
`verified_by: lab/<fault>` is checked against.
"""

from __future__ import annotations

import csv
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import fixes_hooks, loop
from .faults import Healthy, Injection, load_all
from .fixes_judge import verdict_of
from .fixes_table import FIX_TRIALS, FixTrial
from .outcome import TESTS, Case, Truth, twin_is_healthy
from .runner import versions
from .session import Session
from .spec import Spec, draw_base

KEPT_TABLE = Path(__file__).with_name("fixes_verified.csv")
COUNTS = ("cured", "mitigated", "no effect")
KEPT_COLUMNS = ("fault", "rule", "fix", "repeats", "cured", "mitigated", "no_effect", "versions")
COLUMNS = (*KEPT_COLUMNS, "does", "seen")

MAX_STEPS = 200
LANGUAGE_EVERY = 5
"""Language models cost ten times as much, so they are every fifth draw where a fault fits others too."""

MAX_DRAWS = 4000
MAX_CASES = 40
"""Configurations in which the fault is tried before a trial goes with fewer repeats than asked for."""


@dataclass(frozen=True)
class Bitten:
    """A configuration in which the fault bit."""

    spec: Spec
    case: Case


def run(spec: Spec, injection: Injection) -> Truth:
    """Train one run by the plain loop; its logs are not kept."""
    session = Session(spec, injection)
    with tempfile.TemporaryDirectory() as directory:
        loop.train(session, Path(directory))
    return session.truth


def _run_with(spec: Spec, hooks: str) -> Truth:
    fault = load_all()[spec.fault].injection(spec)
    stands_between: type[fixes_hooks.AsPlanted] = getattr(fixes_hooks, hooks)
    return run(spec, stands_between(spec, fault))


class Cases:
    """Configurations in which one fault bites, found once for all trials of that fault.

    Args:
        fault: Name of the fault.
        seed: Seed of every choice.
    """

    def __init__(self, fault: str, seed: int) -> None:
        self._fault = load_all()[fault]
        self._seed = seed
        self._found: dict[tuple[int, str], Bitten | None] = {}

    def of(self, trial: FixTrial) -> Iterator[Bitten]:
        """Those in which the trial can be made, in the order of the draw."""
        tried = 0
        for number in range(MAX_DRAWS):
            rng = random.Random(f"{self._seed}/{self._fault.name}/{number}")
            base = draw_base(rng, number, {"loop": 1.0})
            if not self._fits(base, number):
                continue
            base = base.changed(writer="csv", stop_at=None, option_states_config=0)
            severity, onset = rng.uniform(*trial.severity), rng.uniform(*self._fault.onset)
            planted = base.changed(fault=self._fault.name, severity=severity, onset=onset)
            planted = self._fault.injection.configure(planted)
            if not trial.only(planted):
                continue
            key = number, trial.planted
            if key not in self._found:
                self._found[key] = self._bitten(trial, base, planted)
            found = self._found[key]
            if found is not None:
                yield found
            tried += 1
            if tried >= MAX_CASES:
                return

    def _fits(self, base: Spec, number: int) -> bool:
        if base.steps > MAX_STEPS or base.precision == "fp16" or not self._fault.fits(base):
            return False
        others_fit = self._fault.fits(base.changed(architecture="mlp", task="clusters"))
        return not base.language or not others_fit or number % LANGUAGE_EVERY == 0

    def _bitten(self, trial: FixTrial, base: Spec, planted: Spec) -> Bitten | None:
        healthy = trial.reference(base, planted)
        twin = run(healthy, Healthy(healthy))
        if not twin_is_healthy(twin, twin, healthy.start).bit:
            return None
        replica = healthy.changed(option_replica=1)
        other = run(replica, Healthy(replica))
        if not twin_is_healthy(twin, other, healthy.start).bit:
            return None
        case = Case(_run_with(planted, trial.planted), twin, other, planted.onset_step)
        verdict = TESTS[self._fault.outcome](case)
        bit = verdict.bit and (verdict.label or self._fault.label) == self._fault.label
        return Bitten(planted, case) if bit else None


def try_fix(trial: FixTrial, cases: Cases, repeats: int) -> dict[str, Any]:
    """One row of the table."""
    counts: Counter[str] = Counter()
    seen: list[str] = []
    for number, bitten in enumerate(cases.of(trial)):
        verdict, words = _best(trial, bitten)
        counts[verdict] += 1
        seen.append(f"{bitten.spec.architecture} {bitten.spec.optimizer}: {verdict}, {words}")
        if number + 1 == repeats:
            break
    row: dict[str, Any] = {
        "fault": trial.fault,
        "rule": trial.rule,
        "fix": trial.fix,
        "repeats": sum(counts.values()),
    }
    row |= {name.replace(" ", "_"): counts[name] for name in COUNTS}
    return row | {"versions": versions("loop"), "does": trial.does, "seen": " | ".join(seen)}


def _best(trial: FixTrial, bitten: Bitten) -> tuple[str, str]:
    """Verdict on the first step of the ladder that cures, or the best of all."""
    best = "no effect", ""
    test = load_all()[trial.fault].outcome
    for step, change in enumerate(trial.changes):
        fixed = _run_with(change(bitten.spec, bitten.case.run), trial.hooks)
        verdict, words = verdict_of(test, bitten.case, fixed)
        if len(trial.changes) > 1:
            words = f"step {step + 1} of {len(trial.changes)}, {words}"
        if not best[1] or COUNTS.index(verdict) < COUNTS.index(best[0]):
            best = verdict, words
        if verdict == "cured":
            break
    return best


def verify_fixes(
    out: Path, seed: int, repeats: int = 3, *, only: str = "", keep: bool = False
) -> list[dict[str, Any]]:
    """Make every trial that is not made yet, then the table.

    Args:
        out: Directory of results, one file a trial.
        seed: Seed of every choice.
        repeats: Configurations a trial.
        only: Make the trials of this fault alone.
        keep: Also write the table beside this module.
    """
    loop.set_up()
    folder = out / "fixes"
    folder.mkdir(parents=True, exist_ok=True)
    cases: dict[str, Cases] = {}
    rows: list[dict[str, Any]] = []
    for trial in FIX_TRIALS:
        result = folder / f"{trial.key}.json"
        if not result.exists():
            if only not in {"", trial.fault}:
                continue
            if trial.fault not in cases:
                cases = {trial.fault: Cases(trial.fault, seed)}
            row = try_fix(trial, cases[trial.fault], repeats)
            partial = result.with_suffix(".part")
            partial.write_text(json.dumps(row), encoding="utf-8")
            partial.replace(result)
        rows.append(json.loads(result.read_text(encoding="utf-8")))
        print(_line(rows[-1]), flush=True)
    _write(out / "fixes.csv", COLUMNS, rows)
    if keep:
        _write(KEPT_TABLE, KEPT_COLUMNS, rows)
    return rows


def _line(row: dict[str, Any]) -> str:
    counts = ", ".join(f"{row[name.replace(' ', '_')]} {name}" for name in COUNTS)
    return f"{row['fault']:25s} {row['rule']:32s} {row['fix']:16s} {row['repeats']} runs: {counts}"


def _write(path: Path, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
