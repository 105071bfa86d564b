"""Follow Slurm's accounting and have every job that did not go well diagnosed by ``analyzer serve``.

    analyzer serve /home /scratch &
    python sacct_monitor.py --every 60

One line a job on standard output; the page of a job is at the address in the line. Reads nothing but what ``sacct`` prints,
runs as any user who may see the jobs, and starts where it left off (``--state FILE``).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ENDED_BADLY = "FAILED,TIMEOUT,OUT_OF_MEMORY,NODE_FAIL,BOOT_FAIL,DEADLINE,PREEMPTED"
FIELDS = "JobIDRaw,JobName,User,State,WorkDir"
PATIENCE_S = 120.0
"""Seconds that a diagnosis may take before the monitor goes on without it."""


def ended_jobs(since: str) -> list[dict[str, str]]:
    """Jobs that ended badly since a moment, as ``sacct`` tells them."""
    command = ["sacct", "-a", "-n", "-P", "-X", "-S", since, "-E", "now", "-s", ENDED_BADLY, "-o", FIELDS]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [dict(zip(FIELDS.split(","), row.split("|"), strict=False)) for row in rows]


def log_of(job: dict[str, str]) -> Path | None:
    """The job's log: where the controller still says it is, else under its usual name. Never that of another job."""
    told = subprocess.run(
        ["scontrol", "show", "job", job["JobIDRaw"]], capture_output=True, text=True, check=False
    )
    named = re.search(r"^ *StdOut=(.+)$", told.stdout, re.MULTILINE)
    log = Path(named[1] if named else f"{job['WorkDir']}/slurm-{job['JobIDRaw']}.out")
    return log if log.is_file() else None


def ask(address: str, data: dict[str, str] | None = None) -> dict[str, Any]:
    """One request to the service; its answer."""
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


def verdict(answer: dict[str, Any]) -> str:
    """Status, and the first cause with its probability."""
    first = next(iter(answer["findings"]), None)
    return answer["status"] + (f": {first['cause']['id']} {first['probability']:.0%}" if first else "")


def diagnosed(service: str, path: Path | None) -> str:
    """Verdict and address of the page, or why there is none."""
    if path is None:
        return "not diagnosed (its log is not where the scheduler says)"
    try:
        number = ask(f"{service}/diagnoses", {"path": str(path)})["id"]
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            job = ask(f"{service}/diagnoses/{number}")
            if job["state"] == "failed":
                return f"not diagnosed ({job['problem']})"
            if job["state"] == "done":
                page = f"{service}/diagnoses/{number}?format="
                return f"{verdict(ask(page + 'json'))}  {page}html"
            time.sleep(0.5)
    except (urllib.error.URLError, OSError, ValueError, KeyError) as error:
        return f"not diagnosed ({error})"
    return "not diagnosed in time"


def main() -> None:
    """Look again and again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--service", default="http://127.0.0.1:8787")
    parser.add_argument("--every", type=float, default=60.0, help="seconds; 0 looks once")
    parser.add_argument("--state", type=Path, default=Path("sacct-monitor.json"))
    options = parser.parse_args()
    known = (
        json.loads(options.state.read_text())
        if options.state.is_file()
        else {"since": "now-1days", "jobs": []}
    )
    while True:
        looked = time.strftime(
            "%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - 600)
        )  # accounting comes late
        for job in ended_jobs(known["since"]):
            if job["JobIDRaw"] not in known["jobs"]:
                known["jobs"] = [*known["jobs"], job["JobIDRaw"]][-10_000:]
                print(
                    job["JobIDRaw"],
                    job["User"],
                    job["State"],
                    diagnosed(options.service, log_of(job)),
                    flush=True,
                )
        known["since"] = looked
        options.state.write_text(json.dumps(known))
        if not options.every:
            return
        time.sleep(options.every)


if __name__ == "__main__":
    main()
