"""Race the TensorBoard ingestor against tensorboard's EventAccumulator on the same files.

    python tests/benchmarks/bench_tensorboard.py --scalars 1000000

Three forms of file: ``v1`` (simple_value, what torch writes), ``v2`` (tensors with metadata, what TensorFlow 2
writes) and ``histograms`` (v1 with a histogram every third step). Both readers run in this process, in turn;
CPU time, the least of all rounds. Both must give the same columns, or the script fails. Sampling and purging of
EventAccumulator are switched off; the ingestor's time includes the finished metric table.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import google_crc32c
import numpy as np

from analyzer.ingest.base import OpenSource, SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.formats.tensorboard.tensorboard import TensorBoard
from analyzer.ingest.walk import make_candidate

TRAIN = [
    *(f"train/{name}" for name in ("loss", "grad_norm", "learning_rate", "epoch", "loss_scale")),
    *(
        f"perf/{name}"
        for name in ("tokens_per_second", "step_time_s", "tflops", "mem_allocated_gb", "mem_reserved_gb")
    ),
    *(f"optim/{name}" for name in ("param_norm", "update_ratio", "beta2_ema")),
    *("data/wait_s", "data/seq_len_mean", "Train/Loss/Raw"),
]
EVAL = ["eval/loss", "eval/perplexity", "eval/accuracy", "eval/runtime"]
FORMS = ("v1", "v2", "histograms")


def frame(payload):
    """One TFRecord."""
    header = struct.pack("<Q", len(payload))
    return header + _checksum(header) + payload + _checksum(payload)


def _checksum(data):
    value = google_crc32c.value(data)
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def write_file(path, form, scalars):
    """An event file as a trainer would leave it: 16 tags a step, 4 more every hundredth, now and then a NaN."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import HistogramProto

    generator = np.random.default_rng(0)
    event = Event()
    value = event.summary.value.add()
    if form == "v2":
        value.metadata.plugin_data.plugin_name = "scalars"
        value.metadata.data_class = 1
        value.tensor.dtype = 1
    written = step = 0
    time_s = 1_760_000_000.123456
    with path.open("wb") as stream:
        stream.write(frame(Event(wall_time=time_s, file_version="brain.Event:2").SerializeToString()))
        while written < scalars:
            step += 1
            time_s += 0.35 + 0.02 * generator.random()
            tags = TRAIN if step % 100 else TRAIN + EVAL
            numbers = generator.normal(2 + 8 * math.exp(-step / 20000), 0.05, len(tags))
            for tag, number in zip(tags[: scalars - written], numbers.tolist(), strict=False):
                time_s += 1e-5
                event.wall_time, event.step, value.tag = time_s, step, tag
                logged = math.nan if written % 1009 == 0 else number
                if form == "v2":
                    value.tensor.float_val[:] = [logged]
                else:
                    value.simple_value = logged
                stream.write(frame(event.SerializeToString()))
                written += 1
            if form == "histograms" and step % 3 == 0:
                weights = generator.normal(0, 0.02, 4096)
                counts, limits = np.histogram(weights, bins=128)
                histogram = HistogramProto(
                    num=4096, bucket_limit=limits[1:].tolist(), bucket=counts.astype(float).tolist()
                )
                other = Event(wall_time=time_s, step=step)
                other.summary.value.add(tag=f"gradients/layer.{step % 12}", histo=histogram)
                stream.write(frame(other.SerializeToString()))


def read_ours(path):
    """Tag to (step, time, value) by the ingestor."""
    candidate = make_candidate(path, path.name)
    builder = RunBuilder(str(path))
    index = builder.add_source(
        path.name,
        format_name="tensorboard",
        ingestor="tensorboard",
        size_bytes=candidate.size_bytes,
        sha256_head="",
    )
    TensorBoard().read(OpenSource(candidate, index), SourceWriter(builder, index))
    run = builder.finish()
    assert not run.gaps, run.gaps
    return run


def columns_of(run):
    """The columns of a run by the tag as logged."""
    table = run.metrics
    columns = {}
    for code, tag in enumerate(table.raw_names):
        rows = np.flatnonzero(table.raw == code)
        columns[tag] = table.step[rows], table.time_s[rows], table.value[rows]
    return columns


def read_peer(path):
    """EventAccumulator with every scalar kept."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    keep = {"scalars": 0, "tensors": 0, "histograms": 1, "compressedHistograms": 1, "images": 1, "audio": 1}
    accumulator = EventAccumulator(str(path), size_guidance=keep, purge_orphaned_data=False)
    accumulator.Reload()
    return accumulator


def peer_columns(accumulator):
    """The same columns from EventAccumulator."""
    from tensorboard.util import tensor_util

    columns = {}
    for tag in accumulator.Tags()["scalars"]:
        events = accumulator.Scalars(tag)
        columns[tag] = [event.value for event in events], events
    for tag in accumulator.Tags()["tensors"]:
        events = accumulator.Tensors(tag)
        columns[tag] = [float(tensor_util.make_ndarray(event.tensor_proto)) for event in events], events
    return {
        tag: (
            np.array([event.step for event in events]),
            np.array([event.wall_time for event in events]),
            np.array(values),
        )
        for tag, (values, events) in columns.items()
    }


def same(ours, peers):
    """Whether both hold the same tags with equal columns, NaN for NaN."""
    return ours.keys() == peers.keys() and all(
        np.array_equal(mine, other, equal_nan=True)
        for tag in ours
        for mine, other in zip(ours[tag], peers[tag], strict=True)
    )


def cpu_s(reader, path):
    """CPU seconds of one reading, and what it gave."""
    start = time.process_time()
    result = reader(path)
    return time.process_time() - start, result


def peak_bytes(path):
    """Peak memory of a process that reads the file, beyond one that read a file of a single point."""
    result = subprocess.run(
        [sys.executable, __file__, "--measure", str(path)], capture_output=True, text=True, check=True
    )
    return int(json.loads(result.stdout)["peak_bytes"])


def measure(path):
    """Print the growth of this process's peak memory while it reads a file."""
    with tempfile.TemporaryDirectory() as directory:
        small = Path(directory, "events.out.tfevents.1.host.1.0")
        write_file(small, "v1", 1)
        read_ours(small)
    before = peak_rss_bytes()
    run = read_ours(path)
    print(json.dumps({"points": len(run.metrics), "peak_bytes": peak_rss_bytes() - before}))


def peak_rss_bytes():
    """Peak resident memory of this process; on Linux from /proc, for getrusage counts the parent's too."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main():
    """Run all forms and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scalars", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    with tempfile.TemporaryDirectory() as directory:
        for form in arguments.forms:
            path = Path(directory, f"events.out.tfevents.1760000000.{form}.1.0")
            write_file(path, form, arguments.scalars)
            race(path, form, arguments)
            path.unlink()


def race(path, form, arguments):
    """Read one file with both, in turn, and compare."""
    mine, peers = [], []
    for _ in range(arguments.rounds):
        for _ in range(3):  # short: three tries for one of the peer's
            seconds, run = cpu_s(read_ours, path)
            mine.append(seconds)
        ours = columns_of(run)
        del run
        seconds, accumulator = cpu_s(read_peer, path)
        peers.append(seconds)
        if not same(ours, peer_columns(accumulator)):
            sys.exit(f"{form}: the columns differ from EventAccumulator's")
        del accumulator
    size = path.stat().st_size
    best, peer = min(mine), min(peers)
    print(
        f"{form:10} {arguments.scalars} scalars, {size / 1e6:.0f} MB: {best:.3f} s CPU"
        f" ({arguments.scalars / best / 1e6:.1f} M/s, {size / best / 1e6:.0f} MB/s);"
        f" EventAccumulator {peer:.2f} s; ratio {peer / best:.1f};"
        f" peak memory {peak_bytes(path) / arguments.scalars:.0f} B/scalar; columns equal",
        flush=True,
    )


if __name__ == "__main__":
    main()
