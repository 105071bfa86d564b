"""CPU time and peak memory of a whole diagnosis of a large honest log, and of a large run of many formats.

    python tests/benchmarks/bench_whole.py [--log 2000000000] [--mixed 500000000] [--keep DIR]

The log is that of ``bench_text.py``. The mixed run holds the logs of eight ranks (four tenths of the bytes), two timing
traces (two tenths), metrics as JSON lines, as a table and as TensorBoard's events. Each diagnosis is a process of its own;
what is printed are its CPU seconds, its peak memory, its status and each gap that tells of a budget.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_kineto import Producer
from bench_tensorboard import write_file
from bench_text import write_log

RANKS = 8
EVENT_BYTES = 75
"""Of a scalar in an event file."""


def losses(chance):
    """Step, loss, gradient norm and rate without end."""
    step = 0
    while True:
        step += 1
        yield step, 2 + 8 * math.exp(-step / 2e4) + 0.05 * chance.random(), 1 + chance.random(), 3e-4


def write_rows(path, size, form):
    """A file of rows."""
    written, chance = 0, random.Random(3)
    with path.open("w", encoding="utf-8") as stream:
        if path.suffix == ".csv":
            stream.write("step,loss,grad_norm,lr\n")
        for values in losses(chance):
            written += stream.write(form % values)
            if written >= size:
                return


def write_mixed(folder, size):
    """A run of about ``size`` bytes."""
    folder.mkdir()
    for rank in range(RANKS):
        write_log(folder / f"rank_{rank}.log", size * 4 // 10 // RANKS + 4096 * rank)
    for rank in range(2):
        Producer(folder / f"rank{rank}.pt.trace.json").produce(size // 10)
    (folder / "tb").mkdir()
    write_file(folder / "tb" / "events.out.tfevents.1700000000.node.1.0", "v1", size // 10 // EVENT_BYTES)
    write_rows(
        folder / "metrics.jsonl",
        size * 15 // 100,
        '{"step": %d, "loss": %.5f, "grad_norm": %.5f, "lr": %.2e}\n',
    )
    write_rows(folder / "metrics.csv", size * 15 // 100, "%d,%.5f,%.5f,%.2e\n")


def measured(path):
    """CPU seconds, peak memory in MB, and the answer."""
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as answer:
        command = [sys.executable, "-m", "analyzer", "diagnose", str(path), "-f", "json", "--offline"]
        process = subprocess.Popen(command, stdout=answer, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        answer.seek(0)
        told = json.load(answer)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, told


def size_of(path):
    """Bytes of a file or of all files of a folder."""
    return (
        sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
        if path.is_dir()
        else path.stat().st_size
    )


def main():
    """Make both, diagnose both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=int, default=2_000_000_000)
    parser.add_argument("--mixed", type=int, default=500_000_000)
    parser.add_argument("--keep", type=Path, help="a folder whose files are used again if they are there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        for path, size, write in (
            (folder / "train.log", given.log, write_log),
            (folder / "mixed", given.mixed, write_mixed),
        ):
            if not size:
                continue
            if not path.exists():
                write(path, size)
            cpu_s, peak_mb, told = measured(path)
            megabytes = size_of(path) / 1e6
            print(
                f"{path.name:10} {megabytes:.0f} MB: {cpu_s:.1f} s CPU ({megabytes / cpu_s:.0f} MB/s), peak memory"
                f" {peak_mb:.0f} MB, {told['status']}",
                flush=True,
            )
            for gap in told["gaps"]:
                print(f"  gap: {gap['path']}: {gap['reason']}", flush=True)


if __name__ == "__main__":
    main()
