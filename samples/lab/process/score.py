"""Compare the diagnosis of every process run with its label: python -m samples.lab.process.score DIR.

DIR holds process.csv (or manifest.csv) and the runs it names. A hit is a first finding that names the label or
one of its accepted alternatives; on a healthy run it is a status other than failed.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .table import PROCESS_FAULTS


@dataclass(frozen=True)
class Answer:
    """What analyzer said about one run.

    Attributes:
        status: Of the run: failed, completed, ...
        cause: First finding's cause, "-" without one.
        probability: Its share, 0 without a finding.
        runner_up: Second finding's cause.
    """

    status: str
    cause: str
    probability: float
    runner_up: str


def read_answer(diagnosis: dict[str, Any]) -> Answer:
    """Status and first causes of a diagnosis in JSON."""
    found = [(str(f["cause"]["id"]), float(f["probability"])) for f in diagnosis["findings"]]
    found += [("-", 0.0)] * 2
    return Answer(diagnosis["status"], *found[0], found[1][0])


def verdict(label: str, fault: str, answer: Answer) -> str:
    """exact, accepted (an alternative), silent or MISS."""
    if label == "healthy":
        return "exact" if answer.status != "failed" else "MISS"
    if answer.cause == label:
        return "exact"
    if answer.cause in PROCESS_FAULTS[fault].alternatives:
        return "accepted"
    return "silent" if answer.cause == "-" else "MISS"


def _diagnose(run: Path) -> dict[str, Any]:
    """The diagnosis of one run."""
    command = [sys.executable, "-m", "analyzer", "diagnose", str(run), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"analyzer ended with {done.returncode}: {done.stderr[-500:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> None:
    """Print one line a run and the totals; exit code 1 if a diagnosis is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    table = next(path for path in (directory / "process.csv", directory / "manifest.csv") if path.exists())
    with table.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "process"]
    counts: dict[str, int] = {}
    print(f"{'run':48} {'label':36} {'exit':>4} {'s':>5}  {'first cause':36} {'p':>5}  verdict")
    for row in rows:
        answer = read_answer(_diagnose(directory / row["path"]))
        judged = verdict(row["label"], row["fault"], answer)
        counts[judged] = counts.get(judged, 0) + 1
        words = f"{row['run_id'][:48]:48} {row['label']:36} {row['exit_code']:>4} {row['seconds']:>5}"
        print(
            f"{words}  {answer.cause:36} {answer.probability:5.2f}  {judged} ({answer.status}; then {answer.runner_up})",
            flush=True,
        )
    print("; ".join(f"{name} {count}" for name, count in sorted(counts.items())) + f"; of {len(rows)}")
    sys.exit(1 if counts.get("MISS") or counts.get("silent") else 0)


if __name__ == "__main__":
    main()
