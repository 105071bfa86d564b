"""Race the reader of timing traces against the parser of Holistic Trace Analysis (HTA).

    pip install HolisticTraceAnalysis      # the peer; without it only our figures are printed
    python tests/benchmarks/bench_kineto.py --sizes 50 150 500

Traces are synthetic, in PyTorch's line layout: operators, launch calls, flows, kernels of two streams, NCCL kernels
with their metadata, copies, marks of steps. Each reader runs in a process of its own, in turn; CPU time without
imports, the least of all rounds. Both must find the same events and the same time of kernels, or the script fails.
Memory is the peak of the process, beside that of a process that only imported the reader.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

EVENT = """  {
    "ph": "X", "cat": "%s", "name": "%s", "pid": %s, "tid": %s,
    "ts": %.3f, "dur": %.3f,
    "args": {
      %s
    }
  },
"""
FLOW = """  {
    "ph": "%s", "id": %d, "pid": %s, "tid": %s, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g"%s
  },
"""
LAST = """  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": %.3f
  }
  ],
  "traceName": "t.json"
}
"""
OPERATORS = (
    ("aten::linear", "aten::addmm", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize2x1x1_cublas", 180.0),
    ("aten::layer_norm", "aten::native_layer_norm", "void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)", 12.0),
    ("aten::gelu", "aten::gelu", "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>(int)", 9.0),
    ("aten::add", "aten::add", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16> >(int)", 7.0),
)  # fmt: skip
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ARGS_OPERATOR = '"External id": %d,"Record function id": 0, "Concrete Inputs": ["", "", ""], "Input type": ["c10::BFloat16", "c10::BFloat16", ""], "Input Strides": [[5120, 1], [1, 5120], []], "Input Dims": [[8192, 5120], [5120, 5120], []], "Ev Idx": %d'
ARGS_LAUNCH = '"External id": %d, "cbid": 211, "correlation": %d'
ARGS_KERNEL = '"External id": %d, "queued": 0, "device": 0, "context": 1, "stream": %d, "correlation": %d, "registers per thread": 168, "shared memory": 213248, "blocks per SM": 0.969697, "warps per SM": 11.636364, "grid": [128, 1, 1], "block": [384, 1, 1], "est. achieved occupancy %%": 19'
ARGS_NCCL = ', "Collective name": "allreduce", "In msg nelems": 67108864, "Out msg nelems": 67108864, "Group size": 16, "dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, ..., 15]"'


class Producer:
    """Writes one trace of about the given size; deterministic."""

    def __init__(self, path):
        self.stream = path.open("w", encoding="utf-8", buffering=1 << 20)
        self.written = 0
        self.calls = 0
        self.noise = random.Random(0).random

    def write(self, text):
        self.stream.write(text)
        self.written += len(text)

    def event(self, category, name, process, thread, start, duration, args):
        self.write(EVENT % (category, name, process, thread, start, duration, args))

    def kernel(self, name, stream, start, duration, launch, more=""):
        self.calls += 1
        number = self.calls
        self.event(
            "cuda_runtime",
            "cudaLaunchKernel",
            4242,
            4242,
            launch,
            4 + 3 * self.noise(),
            ARGS_LAUNCH % (number, number),
        )
        self.write(FLOW % ("s", number, 4242, 4242, launch, ""))
        self.event("kernel", name, 0, stream, start, duration, ARGS_KERNEL % (number, stream, number) + more)
        self.write(FLOW % ("f", number, 0, stream, start, ', "bp": "e"'))

    def produce(self, size_bytes):
        self.write(
            '{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {\n      "id": 0, "name": "NVIDIA H100 80GB HBM3"\n    }\n  ],\n'
        )
        self.write(
            '  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 16},\n  "traceEvents": [\n'
        )
        host = device = 4_000_000_000.0
        number = 0
        while self.written < size_bytes:
            begin = host
            for layer in range(60):
                for outer, inner, kernel, duration in OPERATORS:
                    length = duration * (0.9 + 0.2 * self.noise())
                    for depth, name in enumerate((outer, inner)):
                        index = 2 * self.calls + depth
                        self.event(
                            "cpu_op",
                            name,
                            4242,
                            4242,
                            host + depth,
                            24 - 2 * depth,
                            ARGS_OPERATOR % (self.calls + 1, index),
                        )
                    device = max(device, host + 8)
                    self.kernel(kernel, 7, device, length, host + 6)
                    device += length + 1.2
                    host += 25
                if layer % 4 == 0:
                    self.kernel(NCCL, 20, device, 300 + 60 * self.noise(), host, ARGS_NCCL)
            host = max(host, device)
            self.event(
                "user_annotation",
                f"ProfilerStep#{number}",
                4242,
                4242,
                begin,
                host - begin,
                '"External id": 0',
            )
            number += 1
        self.write(LAST % host)
        self.stream.close()


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read_ours(path):
    """Events with a duration, time of kernels in us, seconds, and memory before and at the peak."""
    sys.path.insert(0, str(REPOSITORY))
    from analyzer.ingest.base import OpenSource
    from analyzer.ingest.formats.timing.kineto import CHUNK_BYTES
    from analyzer.ingest.formats.timing.kineto_stream import read_columns
    from analyzer.ingest.formats.timing.trace_summary import summarise
    from analyzer.ingest.walk import make_candidate

    before = peak_mb()
    start = time.process_time()
    source = OpenSource(make_candidate(path, path.name), 0)
    columns, _ = read_columns(source.chunks(CHUNK_BYTES), 1 << 62, 1 << 62)
    seconds = time.process_time() - start
    peak = peak_mb()
    kernels = columns.of("kernel")
    start = time.process_time()
    summarise(columns, 0, None, complete=True)
    return {
        "events": len(columns), "kernel_us": columns.duration_ns[kernels].sum().item() / 1000, "seconds": seconds,
        "summary_seconds": time.process_time() - start, "before_mb": before, "peak_mb": peak,
    }  # fmt: skip


def read_peer(path):
    """The same with HTA's parser."""
    import logging
    import warnings

    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    from hta.common.trace_parser import parse_trace_dataframe
    from hta.configs.parser_config import ParserConfig

    before = peak_mb()
    start = time.process_time()
    found = parse_trace_dataframe(
        str(path),
        ParserConfig.get_default_cfg() if hasattr(ParserConfig, "get_default_cfg") else ParserConfig([]),
    )
    seconds = time.process_time() - start
    frame, symbols = found[1], found[2]
    is_kernel = (
        frame["cat"].map(lambda code: symbols.get_sym_table()[code] if isinstance(code, int) else code)
        == "kernel"
    )
    return {
        "events": len(frame), "kernel_us": float(frame["dur"][is_kernel].sum()), "seconds": seconds, "before_mb": before,
        "peak_mb": peak_mb(),
    }  # fmt: skip


READERS = {"ours": read_ours, "hta": read_peer}


def in_own_process(reader, path):
    command = [sys.executable, __file__, "--reader", reader, "--trace", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout.splitlines()[-1])


def race(path, readers, rounds, peer_limit_mb):
    """The best of each reader, by name."""
    best = {}
    size_mb = path.stat().st_size / 1e6
    for turn in range(rounds):
        for reader in readers:
            if reader == "hta" and size_mb > peer_limit_mb and turn:
                continue  # half a minute a round
            found = in_own_process(reader, path)
            if reader not in best or found["seconds"] < best[reader]["seconds"]:
                best[reader] = found
    return best


def report(path, best):
    """Print one size; stop if the readers disagree."""
    size_mb = path.stat().st_size / 1e6
    for reader, found in best.items():
        per_event = (found["peak_mb"] - found["before_mb"]) * 1048576 / found["events"]
        print(
            f"{path.name:12} {size_mb:6.0f} MB {reader:5} {found['seconds']:7.2f} s {found['events'] / found['seconds'] / 1e3:6.0f} k events/s "
            f"{found['events']:9d} events, peak {found['peak_mb']:5.0f} MB ({found['before_mb']:.0f} before; +{per_event:.0f} B/event)"
        )
    if "hta" in best:
        ours, peer = best["ours"], best["hta"]
        if (
            ours["events"] != peer["events"]
            or abs(ours["kernel_us"] - peer["kernel_us"]) > 1e-6 * ours["kernel_us"] + 0.5 * ours["events"]
        ):
            sys.exit(f"the readers disagree: {ours} {peer}")
        print(f"{'':12} {peer['seconds'] / ours['seconds']:.1f} times as fast as HTA's parser")
    ours = best["ours"]
    if ours["peak_mb"] > 200 + 60 * ours["events"] / 1048576:
        sys.exit(f"memory: {ours['peak_mb']:.0f} MB is more than 200 MB + 60 B an event")


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--sizes", type=int, nargs="+", default=[50, 150, 500], help="MB")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--peer-limit", type=int, default=100, help="MB above which the peer runs once")
    arguments.add_argument("--gzip", action="store_true", help="also read the largest trace gzipped")
    arguments.add_argument("--trace", type=Path, help="a trace of your own instead")
    arguments.add_argument("--reader", choices=READERS, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.reader:
        print(json.dumps(READERS[given.reader](given.trace)))
        return
    readers = ["ours", "hta"] if importlib.util.find_spec("hta") else ["ours"]
    with tempfile.TemporaryDirectory() as directory:
        paths = [given.trace] if given.trace else []
        for size in [] if given.trace else given.sizes:
            paths.append(Path(directory) / f"{size}.json")
            Producer(paths[-1]).produce(size * 1_000_000)
        for path in paths:
            report(path, race(path, readers, given.rounds, given.peer_limit))
        if given.gzip:
            packed = Path(directory) / "packed.json.gz"
            with paths[-1].open("rb") as plain, gzip.open(packed, "wb", 1) as archive:
                shutil.copyfileobj(plain, archive)
            report(packed, race(packed, ["ours"], given.rounds, given.peer_limit))


if __name__ == "__main__":
    main()
