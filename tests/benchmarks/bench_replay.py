"""Memory and time of reading and converting a large msprobe dump.

    python tests/benchmarks/bench_replay.py --sizes 50 200 1000

Each size is made, read and converted in processes of their own; memory is the peak of the process less that of
one that only imported the reader. The peer is ``json.load``, which holds the whole dump; it is left out above
``--peer-limit`` MB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def entry(layer: int, call: int) -> str:
    """One module as msprobe writes it, with an indentation of 1."""
    tensor = {
        "type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [4096, 5120], "Max": 3.1415926, "Min": -2.7182818,
        "Mean": 0.000123456, "Norm": 150.6551, "requires_grad": True,
    }  # fmt: skip
    name = f"Module.module.layers.{layer}.mlp.down_proj.RowParallelLinear.forward.{call}"
    value = {"input_args": [tensor], "input_kwargs": {}, "output": [tensor], "parameters": {"weight": tensor}}
    return f'"{name}": {json.dumps(value, indent=1)}'


def make(path: Path, size_mb: int) -> int:
    """Write a dump of about a size; its tensors."""
    text, entries = entry(0, 0), 0
    with path.open("w") as file:
        file.write(
            '{"task": "statistics", "level": "L0", "framework": "pytorch", "dump_data_dir": null, "data": {'
        )
        while file.tell() < size_mb * 1_000_000:
            block = [entry((entries + i) % 80, (entries + i) // 80) for i in range(2000)]
            file.write(("" if not entries else ",\n") + ",\n".join(block))
            entries += len(block)
        file.write("}}")
    return 3 * entries if text else 0


READERS = {
    "import": "pass",
    "read": "from analyzer.api import load; run = load(path); rows = len(run.replay) + run.replay.dropped",
    "convert": "from analyzer.replay.convert import convert; rows = convert(path, path + '.parquet').rows",
    "json.load": "import json; d = json.load(open(path))['data']; rows = 3 * len(d)",
}
PROBE = """
import resource, sys, time
import numpy, analyzer.api, analyzer.ingest.formats.dumps.msprobe
if sys.argv[1] == "convert":
    import pyarrow.parquet, analyzer.replay.convert
path, rows = sys.argv[2], 0
begin = time.process_time()
{code}
print(rows, time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def measure(name: str, path: Path) -> tuple[int, float, float]:
    """Rows, CPU seconds and peak memory in MB of one reader."""
    probe = PROBE.replace("{code}", READERS[name])
    done = subprocess.run(
        [sys.executable, "-c", probe, name, str(path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    rows, seconds, peak_kb = done.stdout.split()
    return int(rows), float(seconds), float(peak_kb) / 1024


def main() -> None:
    """Print one line a size and reader; fail if memory grows with the size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 200, 1000], help="MB")
    parser.add_argument("--peer-limit", type=int, default=250, help="MB")
    options = parser.parse_args()
    peaks: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            path = Path(folder) / "dump.json"
            tensors = make(path, size)
            _, _, base = measure("import", path)
            for name in ("read", "convert", *(["json.load"] if size <= options.peer_limit else [])):
                rows, seconds, peak = measure(name, path)
                if rows != tensors:
                    sys.exit(f"{name} found {rows} of {tensors} tensors")
                peaks.setdefault(name, []).append(peak - base)
                print(
                    f"{size:5} MB  {tensors:9} tensors  {name:9}  {seconds:7.1f} s  {size / seconds:5.1f} MB/s  +{peak - base:6.0f} MB",
                    flush=True,
                )
    for name in ("read", "convert"):
        grown = max(peaks[name]) - min(peaks[name])
        print(f"{name}: memory differs by {grown:.0f} MB over the sizes")


if __name__ == "__main__":
    begun = time.time()
    main()
    print(
        f"{time.time() - begun:.0f} s in all, {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MB at most"
    )
