"""Triage under fire: killed workers and supervisors, full disks, two at once, damaged results. Nothing lost, nothing double.

    python tests/robustness/fire.py [--runs 2000] [--every 2] [--tiny 100000] [NAME…]     one JSON line per scene

Each scene compares what stands in OUT with an undisturbed triage of the same runs: ``lost`` and ``double`` count runs,
``other`` those whose row differs, ``failed`` those that the triage reports by name as not diagnosed. ``said`` is the
last line on standard error.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "triage")]

from fleets import _CUSTOMISATION, write_fleet, write_run  # noqa: E402  (beside the tests of triage)

from analyzer.triage.places import open_place  # noqa: E402
from analyzer.triage.store import Dataset  # noqa: E402

SCENES = {}
CLOCK = """
import random, time
_real, _dice = time.time, random.Random(0)
time.time = lambda: _real() + _dice.choice((-86400.0, 0.0, 86400.0, 3e8))
"""
ANSWER_AT_ONCE = """
from analyzer import pipeline
from analyzer.ingest import discover

def once(real):
    kept = []
    def answer(*given, **named):
        kept or kept.append(real(*given, **named))
        return kept[0]
    return answer

discover.load_run, pipeline.diagnose_loaded = once(discover.load_run), once(pipeline.diagnose_loaded)
"""


def scene(function):
    """Register a scene under the name of its function."""
    SCENES[function.__name__] = function
    return function


class Stage:
    """A fleet, its undisturbed results, and a folder for each scene.

    Args:
        folder: Where everything lies.
        runs: Number of runs.
        every_s: Seconds between two kills.
    """

    def __init__(self, folder, runs, every_s):
        self.folder, self.every_s = folder, every_s
        self.dice = random.Random(runs)
        self.fleet = write_fleet(folder / "fleet", runs)
        self.children = {}
        began = time.monotonic()
        self.triage("calm").wait()
        self.calm_s = time.monotonic() - began
        self.expected = self.rows("calm")

    def arms(self, name, text):
        """A folder whose code every Python runs that starts with it on its path."""
        folder = self.folder / f"arms-{name}"
        folder.mkdir(exist_ok=True)
        (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
        return {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}

    def triage(self, out, *options, fleet=None, env=None, before=None):
        """A triage under way."""
        words = [
            str(fleet or self.fleet),
            "--out",
            str(self.folder / out),
            "--workers",
            "2",
            "--no-baselines",
            "--report",
            "none",
        ]
        words += [*options, "-o", str(self.folder / f"{Path(out).name}.txt")]
        errors = (self.folder / f"{Path(out).name}.err").open("ab")
        return subprocess.Popen(
            [sys.executable, "-m", "analyzer", "triage", *words],
            stderr=errors, env={"PYTHONPATH": str(ROOT), **os.environ, **(env or {})}, preexec_fn=before,  # noqa: PLW1509  (no thread has begun)
            start_new_session=True,
        )  # fmt: skip

    def said(self, out):
        """The last line on standard error."""
        lines = (
            (self.folder / f"{Path(out).name}.err").read_text(encoding="utf-8", errors="replace").split("\n")
        )
        lines = [line.rpartition("\r")[2].strip() for line in lines]
        lines = [line for line in lines if line]
        assert not any("Traceback" in line or "internal error" in line for line in lines), "\n".join(
            lines[-40:]
        )
        return lines[-1] if lines else ""

    def rows(self, out):
        """Key of each run and its row."""
        found = list(Dataset(open_place(str(self.folder / out))).runs())
        return [
            (row["key"], {k: v for k, v in row.items() if k not in {"baseline", "baseline_key"}})
            for row in found
        ]

    def compare(self, out, expected=None):
        """What became of each run."""
        now, before = self.rows(out), dict(expected or self.expected)
        counts = Counter(key for key, _ in now)
        told = [row for _, row in now if row["outcome"] == "failed"]
        return {
            "runs": len(now),
            "lost": len(set(before) - set(counts)),
            "double": sum(count - 1 for count in counts.values()),
            "other": sum(row["outcome"] != "failed" and row != before.get(key) for key, row in now),
            "failed": len(told),
            "reasons": dict(Counter(row["problem"][:100] for row in told).most_common(3)),
            "rubbish": sorted(path.name for path in (self.folder / out).rglob(".*"))[:3],
            "said": self.said(out),
        }


def workers_of(process):
    """Process ids of the workers of a triage."""
    try:
        text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8")
    except OSError:
        return []
    return [int(pid) for pid in text.split()]


def end(pid, how=signal.SIGKILL):
    """Send a signal to a process that may be gone; whether it was there."""
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return False
    return True


def kill_workers(stage, process, stop=lambda: False):
    """Kill a random worker again and again until the triage ends; how many were killed."""
    killed = 0
    while process.poll() is None and not stop():
        time.sleep(stage.every_s)
        pids = workers_of(process)
        if pids and process.poll() is None:
            killed += end(stage.dice.choice(pids))
    return killed


@scene
def workers_killed(stage):
    """A random worker is killed every few seconds; then --resume tries what two kills met."""
    process = stage.triage("workers")
    killed = kill_workers(stage, process)
    first = stage.compare("workers") if process.returncode in {0, 5} else stage.said("workers")
    again = stage.triage("workers", "--resume").wait()
    return {
        "exit": [process.returncode, again],
        "killed": killed,
        "before_resume": first,
        **stage.compare("workers"),
    }


@scene
def supervisor_killed(stage):
    """Workers are killed all the time and the supervisor at random moments, until one --resume comes to its end."""
    kills = killed = 0
    while True:
        process = stage.triage("supervisor", "--resume")
        deadline = time.monotonic() + stage.dice.uniform(0.3, 0.25 * stage.calm_s + 1.5)
        killed += kill_workers(stage, process, lambda end=deadline: time.monotonic() > end)
        if process.poll() is not None or kills >= 25:
            process.wait()
            break
        end(process.pid)
        process.wait()
        kills += 1
    last = stage.triage("supervisor", "--resume").wait()
    return {"exit": last, "supervisors": kills, "workers": killed, **stage.compare("supervisor")}


@scene
def interrupted(stage):
    """Ctrl-C at a random moment, from the first millisecond to the writing of the results, then --resume."""
    ends = Counter()
    for number in range(20):
        process = stage.triage("interrupted", "--resume")
        time.sleep(stage.dice.uniform(0.02, 1.2 * stage.calm_s if number % 2 else 1.5))
        if process.poll() is None:
            end(process.pid, signal.SIGINT if number % 3 else signal.SIGTERM)
        try:
            ends[process.wait(timeout=60)] += 1
        except subprocess.TimeoutExpired:
            ends["did not end"] += 1
            process.kill()
        lines = (stage.folder / "interrupted.err").read_text(encoding="utf-8").strip().rpartition("\n")[2]
        ends[f"said: {lines.rpartition(chr(13))[2][:60]}"] += 1
        (stage.folder / "interrupted.err").unlink()
    again = stage.triage("interrupted", "--resume").wait()
    return {"ends": {str(k): v for k, v in ends.items()}, "exit": again, **stage.compare("interrupted")}


@scene
def two_at_once(stage):
    """Two triages into one place, again and again."""
    ends, lines = Counter(), Counter()
    for _ in range(3):
        pair = [stage.triage("two", "--resume") for _ in range(2)]
        for process in pair:
            ends[process.wait()] += 1
        lines[stage.said("two")[:120]] += 1
    return {"exits": {str(k): v for k, v in ends.items()}, "lines": dict(lines), **stage.compare("two")}


@scene
def full_disk(stage):
    """The disk of OUT is full at several sizes; with room again, --resume goes on."""
    ends, lines = [], []
    mounted = stage.folder / "full"
    mounted.mkdir()
    is_mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mounted)], check=False, capture_output=True
    ).returncode
    try:
        for size in ("64k", "256k", "1m", "2m"):
            if is_mounted:
                subprocess.run(["mount", "-o", f"remount,size={size}", str(mounted)], check=True)
                process = stage.triage("full/out", "--resume")
            else:
                import resource

                amount = {"64k": 1 << 10, "256k": 1 << 13, "1m": 1 << 15, "2m": 1 << 16}[size]
                process = stage.triage(
                    "full/out",
                    "--resume",
                    before=lambda n=amount: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)),
                )
            ends.append(process.wait())
            lines.append(stage.said("full/out"))
        if is_mounted:
            subprocess.run(["mount", "-o", "remount,size=1g", str(mounted)], check=True)
        last = stage.triage("full/out", "--resume").wait()
        return {"tmpfs": is_mounted, "exits": [*ends, last], "lines": lines, **stage.compare("full/out")}
    finally:
        if is_mounted:
            subprocess.run(["umount", str(mounted)], check=False)


@scene
def harmful_runs(stage):
    """A pipe, a memory eater, a hanging run, a segmentation fault among the others; all others are as before."""
    root = stage.folder / "harmful"
    write_fleet(root, 60)
    for what in ("eat", "hang", "segfault", "kill", "exit", "bug", "print"):
        run = write_run(root / "users" / "carol" / what, "step 1 loss 2.0\n")
        (run / "HARM").write_text(f"{what} ", encoding="utf-8")
    pipe = write_run(root / "users" / "carol" / "pipe", "step 1 loss 2.0\n")
    os.mkfifo(pipe / "rank1.log")
    (pipe / "zero.log").symlink_to("/dev/zero")
    process = stage.triage(
        "harm", "--timeout", "5s", "--mem", "512MiB", fleet=root, env=stage.arms("harm", _CUSTOMISATION)
    )
    code = process.wait()
    found = {
        row["location"].rpartition("/")[2]: row["problem"]
        for _, row in stage.rows("harm")
        if row["outcome"] == "failed"
    }
    return {
        "exit": code,
        "runs": len(stage.rows("harm")),
        "of": 68,
        "failed": found,
        "said": stage.said("harm"),
    }


@scene
def clocks_jump(stage):
    """The clock of the machine jumps by days and years, forwards and back."""
    code = stage.triage("clock", env=stage.arms("clock", CLOCK)).wait()
    return {"exit": code, **stage.compare("clock")}


@scene
def damaged_parts(stage):
    """Each part of the results with a wrong bit, cut, gone or a pipe, a journal of rubbish, then --resume."""
    found = {}
    for way in ("bit", "cut", "gone", "manifest", "journal", "half"):
        shutil.copytree(stage.folder / "calm", stage.folder / way)
        parts = sorted((stage.folder / way).glob("*/*.parquet"))
        part = stage.dice.choice(parts)
        data = bytearray(part.read_bytes())
        if way == "bit":
            data[len(data) // 3] ^= 16
            part.write_bytes(data)
        elif way == "cut":
            part.write_bytes(data[: len(data) // 2])
        elif way == "gone":
            part.unlink()
        elif way == "manifest":
            (stage.folder / way / "manifest.json").write_text(
                '{"schema": "analyzer.triage/1"}', encoding="utf-8"
            )
        elif way == "half":
            (part.parent / f".{part.name}.1.half").write_bytes(data[:100])
        else:
            (stage.folder / way / "journal").mkdir()
            (stage.folder / way / "journal" / "000001.jsonl").write_bytes(os.urandom(9999))
        code = stage.triage(way, "--resume").wait()
        said = stage.said(way)
        if way == "manifest" and code:
            (stage.folder / way / "manifest.json").unlink()
            code = [code, stage.triage(way, "--resume").wait()]
        found[way] = {"exit": code, **stage.compare(way), "said": said}
    return found


@scene
def shards(stage):
    """Three shards; one missing, damaged, unfinished, overlapping; then all of them."""
    found = {}
    for part in (1, 2, 3):
        stage.triage("shards", "--shard", f"{part}/3").wait()

    def merge(way):
        words = [
            "merge",
            str(stage.folder / way),
            "--workers",
            "2",
            "--no-baselines",
            "-o",
            str(stage.folder / f"{way}.txt"),
        ]
        done = subprocess.run(
            [sys.executable, "-m", "analyzer", "triage", *words],
            check=False,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(ROOT), **os.environ},
        )
        (stage.folder / f"{way}.err").write_text(done.stderr, encoding="utf-8")
        return {"exit": done.returncode, **stage.compare(way)}

    for way in ("missing", "corrupt", "unfinished", "overlap", "all"):
        shutil.copytree(stage.folder / "shards", stage.folder / f"merge-{way}")
        shard = stage.folder / f"merge-{way}" / "shards" / "00002-of-00003"
        if way == "missing":
            shutil.rmtree(shard)
        elif way == "corrupt":
            part = next((shard / "runs").glob("*.parquet"))
            part.write_bytes(part.read_bytes()[:-50])
        elif way == "unfinished":
            (shard / "manifest.json").unlink()
        elif way == "overlap":
            other = shard.parent / "00001-of-00003"
            for table in ("runs", "findings"):
                shutil.copytree(other / table, shard / table, dirs_exist_ok=True)
            ours, theirs = (
                json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
                for folder in (shard, other)
            )
            both = [
                name.removesuffix(".parquet")
                for part in (*ours["parts"], *theirs["parts"])
                for name in (part["runs"],)
            ]
            ours["parts"] = (
                sorted([*ours["parts"], *theirs["parts"]], key=lambda part: part["runs"]) if both else []
            )
            (shard / "manifest.json").write_text(json.dumps(ours), encoding="utf-8")
        found[way] = merge(f"merge-{way}")
    return found


@scene
def dask(stage):
    """A cluster of which workers are killed, then the scheduler; then --resume without it."""
    env = {"PYTHONPATH": str(ROOT), **os.environ}
    place = "tcp://127.0.0.1:18786"
    start = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "18786", "--no-dashboard"]
    scheduler = subprocess.Popen(start, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(6)
    words = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        place,
        "--nworkers",
        "2",
        "--nthreads",
        "1",
        "--no-dashboard",
    ]
    nanny = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    killed = 0
    try:
        process = stage.triage("dask", "--engine", f"dask:{place}")
        ended = threading.Timer(max(10.0, stage.calm_s), lambda: end(scheduler.pid))
        ended.start()
        while process.poll() is None:
            time.sleep(stage.every_s)
            pids = workers_of(nanny)
            if pids and ended.is_alive() and process.poll() is None:
                killed += end(stage.dice.choice(pids))
        ended.cancel()
    finally:
        for one in (nanny, scheduler):
            one.kill()
            one.wait()
    said = stage.said("dask")
    again = stage.triage("dask", "--resume").wait()
    return {"exit": [process.returncode, again], "killed": killed, "line": said, **stage.compare("dask")}


def tiny(stage, count):
    """Very many tiny runs, a quarter of them and all: memory of the supervisor and time. Workers give one answer to all."""
    found = []
    for part in (count // 4, count):
        root = stage.folder / f"tiny{part}"
        for number in range(part):
            log = root / f"{number // 1000:03d}" / f"slurm-{number}.out"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text("step 1 loss 3.0\nstep 2 loss nan\n", encoding="utf-8")
        began = time.monotonic()
        process = stage.triage(f"tiny-out{part}", fleet=root, env=stage.arms("tiny", ANSWER_AT_ONCE))
        _, status, usage = os.wait4(process.pid, 0)
        found.append(
            {"runs": part, "exit": os.waitstatus_to_exitcode(status), "rss_mb": usage.ru_maxrss // 1024, "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
             "wall_s": round(time.monotonic() - began), "rows": Dataset(open_place(str(stage.folder / f"tiny-out{part}"))).manifest["runs"]}
        )  # fmt: skip
        shutil.rmtree(root)
    return {"supervisor": found}


def main():
    """Play the scenes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenes", nargs="*", help=", ".join(SCENES))
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--tiny", type=int, default=0)
    given = parser.parse_args()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background jobs would inherit that it is ignored
    folder = Path(tempfile.mkdtemp(prefix="fire-"))
    try:
        stage = Stage(folder, given.runs, given.every)
        sys.stdout.write(json.dumps({"calm": len(stage.expected), "wall_s": round(stage.calm_s, 1)}) + "\n")
        scenes = {name: SCENES[name] for name in given.scenes or SCENES}
        if given.tiny:
            scenes = {"tiny": lambda stage: tiny(stage, given.tiny)}
        for name, play in scenes.items():
            began = time.monotonic()
            found = play(stage)
            sys.stdout.write(
                json.dumps({name: found, "wall_s": round(time.monotonic() - began)}, indent=1) + "\n"
            )
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
