"""Make process runs: prepare, launch, hurt, judge, publish.

`python -m samples.lab.process.make DIR [--only NAME ...] [--seeds 0 1]` writes DIR/runs/<run_id>/ and
DIR/process.csv. A run that is already in the table is not made again.
"""

from __future__ import annotations

import argparse
import csv
import random
import socket
import subprocess
import sys
import threading
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from samples.make import common

from . import processes
from .data import RANKS, SETTINGS, prepare, write_settings
from .plan import Plan, ProcessFault, Result, history_of
from .table import PROCESS_FAULTS

SCRIPTS = Path(__file__).with_name("scripts")
KEEP = (
    "train.log",
    "train_config.yaml",
    "metrics.csv",
    "output/**/trainer_state.json",
    "output/**/events.out.tfevents.*",
    "logs/*/attempt_0/*/std*.log",
    "logs/*/attempt_0/*/error.json",
)
COLUMNS = (
    "run_id", "path", "kind", "fault", "label", "bit", "observable", "course", "severity", "onset_step", "twin", "writer",
    "architecture", "optimizer", "schedule", "precision", "batch_size", "steps", "log_every", "seed", "exit_code",
    "outcome", "versions", "seconds",
)  # fmt: skip
TIME_LIMIT_S = 120
TABLE = "process.csv"


def twin_id(fault: ProcessFault, seed: int) -> str:
    """run_id of the healthy run that this fault shares with others of the same script and settings."""
    return f"process-twin-{fault.variant}-s{seed}"


def run_id(fault: ProcessFault, seed: int) -> str:
    """run_id of a faulty run."""
    return f"process-{fault.name.replace('_', '-')}-s{seed}"


def _free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _generator(*words: object) -> random.Random:
    """A generator seeded by what it is for."""
    return random.Random(zlib.crc32(" ".join(map(str, words)).encode()))


def plan_run(fault: ProcessFault, seed: int, run_dir: Path, *, healthy: bool) -> Plan:
    """Data, settings and launch of one run; the twin's choices are the same up to the fault."""
    base = _generator(fault.script, seed)
    settings = SETTINGS[fault.script](base) | dict(fault.args)
    ranks = base.choice(RANKS)
    prepare(run_dir, fault.script, settings, ranks, seed)
    plan = Plan(run_dir, settings, _generator(fault.variant, seed), "python train.py")
    if fault.script == "ranks":
        options = base.choice(("", "--log-dir=logs --tee=3 ", "--log-dir=logs --redirects=3 "))
        plan.command = f"torchrun --nproc-per-node={ranks} --master-port={_free_port()} {options}train.py"
        plan.environment["GLOO_SOCKET_IFNAME"] = "lo"
    if fault.setup is not None:
        fault.setup(plan)
    if not healthy:
        plan.rng = _generator(fault.name, seed)
        fault.plant(plan)
    return plan


def _launch(plan: Plan, script: str) -> common.RunResult:
    """Run the job, and strike it where the plan says so."""
    target = SCRIPTS / f"{script}.py"
    if plan.earlier is not None:
        write_settings(plan.run_dir, plan.earlier)
        common.run_training(target, plan.run_dir, log="earlier.log", timeout=TIME_LIMIT_S)
        if plan.between is not None:
            plan.between(plan.run_dir)
    write_settings(plan.run_dir, plan.settings)
    lines = [*plan.shell, plan.command]
    (plan.run_dir / "run.sh").write_text("\n".join(lines) + "\n", encoding="utf-8")
    over = threading.Event()
    striker = None
    if plan.hit is not None:
        striker = threading.Thread(
            target=processes.watch, args=(plan.hit, plan.run_dir, over.is_set), daemon=True
        )
        striker.start()
    try:
        with plan.held or nullcontext():
            return common.run_training(
                target,
                plan.run_dir,
                launcher=[*plan.wrapper, "bash", "run.sh"],
                env=plan.environment,
                expect_rc=None,
                timeout=TIME_LIMIT_S,
            )
    finally:
        over.set()
        if striker is not None:
            striker.join()
        processes.end_all(plan.run_dir)


def _publish(run_dir: Path, out_dir: Path) -> None:
    """Keep what is text or small, under a neutral host and path."""
    kept = [pattern for pattern in KEEP if any(path.is_file() for path in run_dir.glob(pattern))]
    common.publish(run_dir, out_dir, kept)


def judge(fault: ProcessFault, result: Result, *, healthy: bool) -> tuple[bool, str]:
    """Whether the fault bit, and what was seen.

    Raises:
        RuntimeError: The run ended badly in a way that the outcome test does not know: it has no true label.
    """
    bit, seen = fault.outcome(result)
    if healthy and (bit or not result.completed):
        raise RuntimeError(
            f"the healthy twin of {fault.name} did not end well: {seen}\n{result.text[-1500:]}"
        )
    if not bit and not result.completed:
        raise RuntimeError(f"{fault.name} ended in a way of its own: {seen}\n{result.text[-1500:]}")
    return bit, seen


def _versions(script: str) -> str:
    """Versions of the libraries that took part."""
    packages = ["torch"] if script in ("loop", "ranks") else ["torch", "transformers"]
    return common._versions(packages)  # noqa: SLF001 - one list of versions for all makers


def _described(settings: dict[str, Any], script: str) -> dict[str, Any]:
    """The manifest's columns on model and optimisation."""
    training = settings.get("training", {})
    size = training.get(
        "per_device_train_batch_size", settings.get("batch_size", settings.get("batch_size_per_rank"))
    )
    writer = {"loop": "console+csv", "ranks": "console"}.get(script, "hf-trainer")
    steps = training.get("max_steps") or settings["epochs"] * (1536 if script == "loop" else 1280) // size
    kind = {"finetune": "llama", "tabular": "mlp", "ranks": "mlp"}.get(script, settings.get("model"))
    dtype = settings.get("torch_dtype", settings.get("weights_dtype", "float32"))
    return {
        "writer": writer + ("+tensorboard" if training.get("report_to") == "tensorboard" else ""),
        "architecture": kind,
        "optimizer": str(settings.get("optimizer", "AdamW")).lower(),
        "schedule": training.get("lr_scheduler_type", "constant"),
        "precision": "amp-fp16" if settings.get("amp") else dtype,
        "batch_size": size,
        "steps": steps,
        "log_every": training.get("logging_steps", settings.get("log_every")),
    }


def make_process_run(name: str, seed: int, out_dir: Path, *, healthy: bool = False) -> dict[str, Any]:
    """Make one run and keep its files in `out_dir`.

    Args:
        name: Key of PROCESS_FAULTS.
        seed: Chooses settings, onset and severity; the twin of the same seed shares the settings.
        out_dir: Folder for the files that the run left, made afresh.
        healthy: Make the twin instead.

    Returns:
        The row of the manifest (COLUMNS).

    Raises:
        RuntimeError: The run ended in a way that gives it no true label.
    """
    fault = PROCESS_FAULTS[name]
    own_id = twin_id(fault, seed) if healthy else run_id(fault, seed)
    run_dir = common.new_run_dir(own_id)
    plan = plan_run(fault, seed, run_dir, healthy=healthy)
    ended = _launch(plan, fault.script)
    code = ended.rc if ended.rc >= 0 else 128 - ended.rc
    files = frozenset(str(path.relative_to(run_dir)) for path in run_dir.rglob("*") if path.is_file())
    text = "\n".join(
        [ended.text(), *(p.read_text(errors="replace") for p in run_dir.glob("logs/*/*/*/std*.log"))]
    )
    result = Result(code, text, files, history_of(run_dir))
    bit, seen = judge(fault, result, healthy=healthy)
    _publish(run_dir, out_dir)
    row: dict[str, Any] = {
        "run_id": own_id,
        "path": str(out_dir),
        "kind": "process",
        "fault": "none" if healthy else name,
        "label": fault.label if bit else "healthy",
        "bit": str(bit).lower(),
        "observable": "" if healthy else "true",
        "course": "",
        "severity": 0 if healthy else plan.severity,
        "onset_step": "" if healthy else plan.onset_step,
        "twin": "" if healthy else twin_id(fault, seed),
        "seed": seed,
        "exit_code": code,
        "outcome": (seen if healthy else f"{plan.planted}: {seen}").replace(str(run_dir), "/home/user/run"),
        "versions": _versions(fault.script),
        "seconds": round(ended.seconds, 1),
    } | _described(plan.settings, fault.script)
    return {column: row[column] for column in COLUMNS}


def _rows(table: Path) -> list[dict[str, Any]]:
    """The rows made so far."""
    if not table.exists():
        return []
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def make_process_runs(
    directory: Path, seeds: list[int], only: list[str] | None = None, *, twins: bool = True
) -> int:
    """Make the runs that are not in the table yet.

    Args:
        directory: Of the corpus.
        seeds: One run of each fault a seed.
        only: Names of faults; all if None.
        twins: Make the healthy twins too.

    Returns:
        Number of runs that could not be made; each is named with its reason.
    """
    table = directory / TABLE
    table.parent.mkdir(parents=True, exist_ok=True)
    rows, failed = _rows(table), 0
    for seed in seeds:
        for name in only or list(PROCESS_FAULTS):
            fault = PROCESS_FAULTS[name]
            for healthy, own_id in ((True, twin_id(fault, seed)), (False, run_id(fault, seed))):
                if any(row["run_id"] == own_id for row in rows) or (healthy and not twins):
                    continue
                try:
                    row = make_process_run(name, seed, directory / "runs" / own_id, healthy=healthy)
                except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                    failed += 1
                    print(f"{own_id}: NOT MADE: {error}", flush=True)
                    continue
                rows.append(row | {"path": f"runs/{own_id}"})
                print(f"{own_id}: {row['label']} ({row['seconds']} s): {row['outcome']}", flush=True)
                with table.open("w", encoding="utf-8", newline="") as file:
                    writer = csv.DictWriter(file, COLUMNS)
                    writer.writeheader()
                    writer.writerows(rows)
    return failed


def main() -> None:
    """Make the runs that are not in the table yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", choices=sorted(PROCESS_FAULTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--no-twins", action="store_true")
    options = parser.parse_args()
    lost = make_process_runs(options.directory, options.seeds, options.only, twins=not options.no_twins)
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
