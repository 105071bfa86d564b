"""Cost of a triage of many small runs, as ratios to the serial diagnosis of the same runs in the same call.

    python tests/benchmarks/bench_triage.py --runs 2000 --workers 2

The runs are made here: a console log of 60 to 110 kB with a failure at its end, an event file of 2,000 scalars, a
configuration. Measured, each in a process of its own, interleaved and repeated:

    bare      read and diagnose one run after the other; nothing else
    serial    the whole triage in one process (--workers 0): plan, records, journal, Parquet, summary
    pool      the whole triage with worker processes

Reported: CPU of the pool over CPU of serial, wall over wall, CPU that the triage adds to the bare diagnosis per run,
and the peak memory of each process at a quarter of the runs and at all of them. CPU time is user and system time of
the process and its children; wall time means something on idle cores only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

LINES = 900
STEPS = 400
FAILURES = (
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.10 GiB",
    "ValueError: shard 00{n} of the corpus is empty",
    "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
)


def log_text(seed):
    """A console log: rows of a trainer, chatter, a traceback."""
    chance = random.Random(seed)
    lines = [f"[rank0] config: lr=1e-4 batch_size=256 fp16=True seed={seed}"]
    for number in range(LINES + 80 * seed):
        stamp = (
            f"2026-10-{1 + seed % 27:02d} {number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d},000"
        )
        if number % 3:
            lines.append(
                f"{stamp} [INFO] node-{seed % 5}: data.loader: shard {chance.randrange(4096):05d} cache_hit={chance.random():.4f}"
            )
        else:
            loss = 2.5 - number / 1000 + chance.random() / 10
            lines.append(
                f"{{'loss': {loss:.4f}, 'grad_norm': {chance.random():.4f}, 'learning_rate': 0.0001, 'epoch': {number / 900:.3f}}}"
            )
    failure = FAILURES[seed % len(FAILURES)].format(n=seed)
    lines += [
        "Traceback (most recent call last):",
        '  File "/app/train.py", line 77, in <module>',
        "    main()",
        failure,
    ]
    return "\n".join(lines) + "\n"


def make_runs(folder, count):
    """``count`` run directories; the files of eight kinds are copied."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    kinds = []
    for kind in range(8):
        made = folder / f".kind{kind}"
        writer = EventFileWriter(str(made))
        for step in range(STEPS):
            for tag in ("train/loss", "train/grad_norm", "train/lr", "eval/loss", "perf/tokens"):
                event = Event(wall_time=1.79e9 + step, step=step)
                event.summary.value.add(tag=tag, simple_value=2.5 - step / 1000)
                writer.add_event(event)
        writer.close()
        kinds.append((log_text(kind), next(made.iterdir()).read_bytes()))
        shutil.rmtree(made)
    for number in range(count):
        log, events = kinds[number % 8]
        run = folder / f"user{number % 7}" / f"run{number:06d}"
        (run / "tb").mkdir(parents=True)
        (run / "train.log").write_text(log, encoding="utf-8")
        (run / "tb" / "events.out.tfevents.1790000000.node.1.0").write_bytes(events)
        config = {"train_batch_size": 256, "fp16": {"enabled": True}, "run": number}
        (run / "ds_config.json").write_text(json.dumps(config), encoding="utf-8")


def measured(mode, folder, out, workers):
    """What one process of its own cost."""
    command = [
        sys.executable,
        __file__,
        "--inner",
        mode,
        "--folder",
        str(folder),
        "--out",
        str(out),
        "--workers",
        str(workers),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


class MemoryWatch(threading.Thread):
    """Largest resident size of this process's children, sampled."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak = 0
        self.over = False

    def run(self):
        me = os.getpid()
        while not self.over:
            try:
                children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
                for child in children:
                    pages = int(Path(f"/proc/{child}/statm").read_text().split()[1])
                    self.peak = max(self.peak, pages * os.sysconf("SC_PAGE_SIZE"))
            except OSError:
                pass
            time.sleep(0.1)


def inner(mode, folder, out, workers):
    """One measurement, in a process of its own."""
    started = time.perf_counter()
    watch = MemoryWatch()
    watch.start()
    if mode == "bare":
        import analyzer

        for run in sorted(folder.glob("user*/run*")):
            analyzer.diagnose(run)
    else:
        from analyzer.triage.campaign import Campaign, run_campaign
        from analyzer.triage.pages import render_fleet
        from analyzer.triage.places import open_place
        from analyzer.triage.plan import make_plan
        from analyzer.triage.specs import Options
        from analyzer.triage.store import Dataset

        place = open_place(str(out))
        plan = make_plan([str(folder)])
        campaign = Campaign(place, Options(), workers=0 if mode == "serial" else workers)
        result = run_campaign(campaign, plan, lambda *_: None)
        assert result.done == len(plan.runs) > 0
        render_fleet(result.summary, Dataset(place).records, "html")
    watch.over = True
    wall_s = time.perf_counter() - started
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = sum(use.ru_utime + use.ru_stime for use in both)
    own_mb = both[0].ru_maxrss / (1024 if sys.platform.startswith("linux") else 1024**2)
    print(json.dumps({"cpu_s": cpu_s, "wall_s": wall_s, "own_mb": own_mb, "worker_mb": watch.peak / 1024**2}))


def main():
    """Make the runs, measure, print."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--runs", type=int, default=2000)
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--inner", choices=["bare", "serial", "pool"])
    arguments.add_argument("--folder", type=Path)
    arguments.add_argument("--out", type=Path)
    given = arguments.parse_args()
    if given.inner:
        inner(given.inner, given.folder, given.out, given.workers)
        return
    with tempfile.TemporaryDirectory() as made:
        small, whole = Path(made) / "small", Path(made) / "whole"
        make_runs(small, given.runs // 4)
        make_runs(whole, given.runs)
        best = {}
        for number in range(given.rounds):
            for mode in ("bare", "serial", "pool"):
                now = measured(mode, whole, Path(made) / f"out-{mode}-{number}", given.workers)
                old = best.get(mode, now)
                best[mode] = {key: min(old[key], now[key]) for key in now}
        quarter = measured("pool", small, Path(made) / "out-small", given.workers)
        files = list((Path(made) / "out-pool-0").rglob("*.parquet"))
        size = sum(path.stat().st_size for path in files)
    bare, serial, pool = best["bare"], best["serial"], best["pool"]
    print(json.dumps({"runs": given.runs, "workers": given.workers, **best}, indent=1))
    print(f"pool CPU / serial CPU           {pool['cpu_s'] / serial['cpu_s']:.2f}  (goal <= 1.35)")
    print(
        f"pool wall / serial wall         {pool['wall_s'] / serial['wall_s']:.2f}  (goal <= 0.75 on idle cores)"
    )
    print(f"CPU a run, bare                 {1e3 * bare['cpu_s'] / given.runs:.2f} ms")
    print(
        f"CPU a run added by triage       {1e3 * (serial['cpu_s'] - bare['cpu_s']) / given.runs:.2f} ms serial, {1e3 * (pool['cpu_s'] - bare['cpu_s']) / given.runs:.2f} ms pool  (goal <= 5)"
    )
    print(
        f"worker peak                     {quarter['worker_mb']:.0f} MB at {given.runs // 4} runs, {pool['worker_mb']:.0f} MB at {given.runs}  (goal <= 150, flat)"
    )
    print(
        f"supervisor peak                 {quarter['own_mb']:.0f} MB at {given.runs // 4} runs, {pool['own_mb']:.0f} MB at {given.runs}"
    )
    print(f"Parquet                         {size / given.runs:.0f} bytes per run in {len(files)} files")


if __name__ == "__main__":
    main()
