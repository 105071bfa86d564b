"""Small fleets for the tests: failed and healthy runs of a few lines, and runs that harm whoever reads them."""

import json
import os
from pathlib import Path

ROWS = "".join(
    f"{{'loss': {3 - step / 20:.4f}, 'grad_norm': {1 - step / 100:.4f}, 'learning_rate': 0.0001, 'epoch': {step / 10:.2f}}}\n"
    for step in range(1, 31)
)
OOM = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.10 GiB "
    "of which 1.00 GiB is free. Including non-PyTorch memory, this process has 78.00 GiB memory in use.\n"
)
TRACEBACK = 'Traceback (most recent call last):\n  File "/app/train.py", line 7, in <module>\n    main()\n'
CONFIG = {
    "train_batch_size": 256,
    "gradient_clipping": 1.0,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 2, "overlap_comm": True},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95], "weight_decay": 0.1}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 100}},
    "gradient_accumulation_steps": 2,
}


def write_run(folder, text, config=CONFIG):
    """A run directory with a log and a DeepSpeed configuration."""
    folder.mkdir(parents=True)
    (folder / "train.log").write_text(text, encoding="utf-8")
    if config is not None:
        (folder / "ds_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    return folder


def write_fleet(root, count=12):
    """Failed, unexplained and healthy runs in turn, of two users."""
    kinds = (
        ROWS + TRACEBACK + OOM,
        ROWS + "{'train_runtime': 12.0, 'train_loss': 1.5, 'epoch': 3.0}\n",
        ROWS + TRACEBACK + "ValueError: shard {n} of the corpus is empty\n",
    )
    for number in range(count):
        user = ("alice", "bob")[number % 2]
        text = kinds[number % len(kinds)].replace("{n}", str(100 + number))
        write_run(root / "users" / user / f"run{number:03d}", text)
    return root


def content(place):
    """All results of a triage, byte by byte; which parts there are stands in the manifest."""
    files = [
        *Path(place).glob("*/*.parquet"),
        *(Path(place) / name for name in ("summary.json", "restart.jsonl")),
    ]
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in files}


def harmful(root, name, what, once=""):
    """A run of the fleet that harms the process that reads it, or only the first one if ``once`` names a file."""
    run = write_run(root / "users" / "carol" / name, ROWS)
    (run / "HARM").write_text(f"{what} {once}", encoding="utf-8")
    return run


def arm(monkeypatch, folder):
    """Let every Python that starts from now on do the harm that a run asks for, before it reads the run."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_CUSTOMISATION, encoding="utf-8")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    )


_CUSTOMISATION = """
import os, signal, time
from pathlib import Path
from analyzer.ingest import discover

def harm(path):
    asked = Path(path) / "HARM"
    if not asked.is_file():
        return
    what, _, once = asked.read_text().partition(" ")
    if once:
        if Path(once).exists():
            return
        Path(once).touch()
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "kill-parent":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1)
    if what == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "exit":
        os._exit(3)
    if what == "hang":
        time.sleep(600)
    if what == "sleep":
        time.sleep(0.3)
    if what == "print":
        print("0 done {}", flush=True)
        os.write(1, b"noise on standard output")
    if what == "eat":
        kept = []
        while True:
            kept.append(bytearray(32 * 1024**2))
            for at in range(0, len(kept[-1]), 4096):
                kept[-1][at] = 1
    if what == "bug":
        raise ZeroDivisionError("a detector divided by nothing")

real = discover.load_run

def load_run(path, extra=()):
    harm(path)
    return real(path, extra)

discover.load_run = load_run
"""
