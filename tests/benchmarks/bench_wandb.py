"""Race the ``.wandb`` ingestor against the last Python reader that wandb shipped.

wandb removed its own reader (``DataStore``) after 0.29. To race it, install an old wandb, with the older
protobuf that it needs, into a directory of its own and name that directory::

    pip install --target old-wandb wandb==0.19.11
    python tests/benchmarks/bench_wandb.py --peer-path old-wandb

Without ``--log`` the installed wandb writes a file first: 100 000 rows of 10 metrics, half a minute, 94 MB.
Each reader runs in a process of its own, in turn; CPU time without imports, the least of all rounds. Both must
give the same numbers, or the script fails. The ingestor's time includes the finished metric table.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).parents[2]

PRODUCER = """
import math, random, sys, wandb
rows = int(sys.argv[1])
run = wandb.init(project="bench", settings=wandb.Settings(mode="offline", silent=True, x_disable_stats=True, console="off"))
noise = random.Random(0).random
for i in range(rows):
    run.log({
        "train/loss": math.nan if i == rows // 2 else 2 + 8 * math.exp(-i / 2e4) + 0.1 * noise(), "train/grad_norm": 1 + noise(),
        "train/learning_rate": 3e-4 * (1 - i / rows), "train/epoch": i / 1000, "train/global_step": i,
        "perf/tokens_per_second": 4e4 + 1e3 * noise(), "perf/step_time": 0.35 + 0.02 * noise(), "perf/mem_gb": 61.25,
        "optim/loss_scale": 65536.0, "data/wait_s": noise(),
    })
run.finish()
"""


def produce(directory, rows):
    """A file as the installed wandb writes it."""
    environment = os.environ | {"WANDB_DIR": str(directory), "WANDB_ERROR_REPORTING": "false"}
    subprocess.run([sys.executable, "-c", PRODUCER, str(rows)], check=True, env=environment, cwd=directory)
    return next(Path(directory).glob("wandb/offline-run-*/run-*.wandb"))


def read_ours(path):
    """Columns by name through the ingestor, and the seconds of CPU time that they took."""
    sys.path.insert(0, str(REPOSITORY))
    from analyzer.ingest.base import OpenSource, SourceWriter
    from analyzer.ingest.builder import RunBuilder
    from analyzer.ingest.formats.wandb.wandb_log import WandbLog
    from analyzer.ingest.walk import make_candidate

    start = time.process_time()
    builder = RunBuilder(str(path))
    candidate = make_candidate(path, path.name)
    index = builder.add_source(
        path.name, format_name="wandb", ingestor="wandb", size_bytes=candidate.size_bytes, sha256_head=""
    )
    WandbLog().read(OpenSource(candidate, index), SourceWriter(builder, index))
    table = builder.finish().metrics
    seconds = time.process_time() - start
    return {name: table.value[table.raw == code] for code, name in enumerate(table.raw_names)}, seconds


def read_peer(path, peer_path):
    """The same with wandb's DataStore, its protocol buffers and ``json``."""
    sys.path.insert(0, str(peer_path))
    import wandb

    wandb._assert_is_internal_process = True
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    start = time.process_time()
    store = DataStore()
    store.open_for_scan(str(path))
    columns = {}
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record.FromString(data)
        if record.WhichOneof("record_type") == "history":
            for item in record.history.item:
                name = item.key or ".".join(item.nested_key)
                columns.setdefault(name, []).append(json.loads(item.value_json))
    arrays = {name: np.array(values, np.float64) for name, values in columns.items() if name[0] != "_"}
    return arrays, time.process_time() - start


def report(columns, seconds):
    """What a reader's process prints."""
    digest = hashlib.sha256()
    for name in sorted(columns):
        digest.update(name.encode() + columns[name].tobytes())
    values = sum(len(column) for column in columns.values())
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"seconds": seconds, "peak_mib": peak_mib, "values": values, "digest": digest.hexdigest()})
    )


def measure(reader, arguments):
    command = [sys.executable, __file__, "--log", str(arguments.log), "--reader", reader]
    if arguments.peer_path:
        command += ["--peer-path", str(arguments.peer_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, help="an existing .wandb file")
    parser.add_argument("--rows", type=int, default=100_000, help="rows to write if no file is given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-path", type=Path, help="where wandb 0.19.11 is installed")
    parser.add_argument("--reader", choices=["ours", "peer"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.reader:
        report(
            *(
                read_ours(arguments.log)
                if arguments.reader == "ours"
                else read_peer(arguments.log, arguments.peer_path)
            )
        )
        return
    with tempfile.TemporaryDirectory() as directory:
        arguments.log = arguments.log or produce(directory, arguments.rows)
        readers = ["ours", "peer"] if arguments.peer_path else ["ours"]
        rounds = [{reader: measure(reader, arguments) for reader in readers} for _ in range(arguments.rounds)]
        size_mb = arguments.log.stat().st_size / 1e6
    best = {
        reader: min((one[reader] for one in rounds), key=lambda found: found["seconds"]) for reader in readers
    }
    for reader, found in best.items():
        print(
            f"{reader}: {found['seconds']:.2f} s CPU, {found['values']} values of {size_mb:.0f} MB, "
            f"peak {found['peak_mib']:.0f} MiB"
        )
    if arguments.peer_path:
        if best["ours"]["digest"] != best["peer"]["digest"]:
            sys.exit("the readers disagree")
        print(f"ratio: {best['peer']['seconds'] / best['ours']['seconds']:.1f}, equal values")


if __name__ == "__main__":
    main()
