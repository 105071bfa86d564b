"""Make a corpus: groups in worker processes, one manifest, resumable."""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from samples.make.common import child_env

from .planning import Group, Wanted, plan
from .runner import group_file, judge_again

COLUMNS = (
    "run_id", "path", "kind", "fault", "label", "bit", "observable", "course", "severity", "onset_step", "twin", "writer",
    "architecture", "optimizer", "schedule", "precision", "batch_size", "steps", "log_every", "seed", "exit_code",
    "outcome", "versions", "seconds",
)  # fmt: skip

GROUPS_PER_WORKER = 8
"""Groups that one process runs before it is replaced: imports are paid once, memory does not pile up."""

GROUP_TIMEOUT_S = 300.0


def make_metric_runs(out: Path, wanted: Wanted, jobs: int) -> None:
    """All metric runs of a corpus that are not there yet.

    Args:
        out: Directory of the corpus.
        wanted: What it is to hold.
        jobs: Worker processes at once.
    """
    groups = plan(wanted)
    (out / "groups").mkdir(parents=True, exist_ok=True)
    waiting = [n for n, group in enumerate(groups) if not group_file(group, out).exists()]
    batches = _batches(groups, waiting)
    running: dict[subprocess.Popen[bytes], tuple[list[int], float]] = {}
    while batches or running:
        while batches and len(running) < jobs:
            batch = batches.pop(0)
            running[_start(out, wanted, batch, groups[batch[0]].twin.engine)] = batch, time.monotonic()
        time.sleep(0.5)
        for process, (batch, started) in list(running.items()):
            late = time.monotonic() - started > GROUP_TIMEOUT_S * len(batch)
            if late:
                process.kill()
            if process.poll() is not None or late:
                del running[process]
                _report_lost(out, [groups[n] for n in batch], process.returncode)
        _progress(len(groups), sum(group_file(group, out).exists() for group in groups))
    print(flush=True)


def _batches(groups: list[Group], waiting: list[int]) -> list[list[int]]:
    """Numbers of groups of one engine each, the slowest engines first."""
    by_engine: dict[str, list[int]] = {}
    for number in waiting:
        by_engine.setdefault(groups[number].twin.engine, []).append(number)
    return [
        numbers[first : first + GROUPS_PER_WORKER]
        for engine in sorted(by_engine, key=lambda name: name == "loop")
        for numbers in (by_engine[engine],)
        for first in range(0, len(numbers), GROUPS_PER_WORKER)
    ]


def _start(out: Path, wanted: Wanted, batch: list[int], engine: str) -> subprocess.Popen[bytes]:
    environment = child_env({"PYTHONDONTWRITEBYTECODE": "1"})
    if engine == "deepspeed-0.14":
        environment["PYTHONPATH"] = f"{out.resolve() / 'deepspeed-0.14'}:{environment['PYTHONPATH']}"
        environment["TORCH_EXTENSIONS_DIR"] += "-0.14"
    command = [
        sys.executable,
        "-m",
        "samples.lab.corpus",
        str(out),
        json.dumps(asdict(wanted)),
        *map(str, batch),
    ]
    with (out / "workers.log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def _report_lost(out: Path, groups: list[Group], code: int | None) -> None:
    lost = [group.twin.run_id for group in groups if not group_file(group, out).exists()]
    if lost:
        print(
            f"\nnot made (worker ended with {code}, see workers.log; run again to retry): {', '.join(lost)}",
            flush=True,
        )


def _progress(total: int, done: int) -> None:
    print(f"\r{done} of {total} configurations", end="", flush=True)


def _work(arguments: list[str]) -> None:
    """Entry of a worker: make the groups whose numbers are given."""
    from .loop import set_up
    from .runner import run_group

    set_up()
    values = json.loads(arguments[1])
    out, wanted = Path(arguments[0]), Wanted(**{name: _frozen(value) for name, value in values.items()})
    groups = plan(wanted)
    for number in map(int, arguments[2:]):
        rows = run_group(groups[number], out)
        partial = group_file(groups[number], out).with_suffix(".part")
        partial.write_text(json.dumps(rows), encoding="utf-8")
        partial.replace(group_file(groups[number], out))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def judge_metric_runs(out: Path, wanted: Wanted) -> None:
    """Judge anew what was made, after a change of the outcome tests."""
    for group in plan(wanted):
        if group_file(group, out).exists():
            rows = judge_again(group, out)
            group_file(group, out).write_text(json.dumps(rows), encoding="utf-8")


def write_manifest(out: Path) -> Counter[str]:
    """`manifest.csv` of everything that is there; number of runs by label."""
    rows: list[dict[str, Any]] = []
    for path in sorted((out / "groups").glob("*.json")):
        rows += json.loads(path.read_text(encoding="utf-8"))
    process_table = out / "process.csv"
    if process_table.exists():
        with process_table.open(newline="", encoding="utf-8") as file:
            rows += list(csv.DictReader(file))
    with (out / "manifest.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({key: _plain(value) for key, value in row.items()} for row in rows)
    return Counter(row["label"] or "twin not healthy" for row in rows)


def _plain(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=_work.__doc__)
    parser.add_argument("arguments", nargs="+")
    _work(parser.parse_args().arguments)
