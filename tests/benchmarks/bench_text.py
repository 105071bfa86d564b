"""Race the reader of console logs against ripgrep on the same file with the same patterns.

    python tests/benchmarks/bench_text.py --size 1000000000 --rg /usr/bin/rg

The file is made here: a merged DeepSpeed log of 16 ranks with progress bars, rows glued to them, iteration lines,
NCCL's chatter, overflows, and failures at its end. ``failures`` are all rows of the pattern table that ripgrep's
engine can read (no look-around or back-reference, no condition on the rest of the line, no letters beyond ASCII); both sides must report the same lines.
``everything`` is the whole ingestion: metrics, provenance, events, finished tables. CPU time of repeated, interleaved
runs; peak memory of a child process, also on a file four times as large.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from analyzer.ingest.discover import load_run
from analyzer.ingest.text.events.patterns import all_patterns
from analyzer.ingest.text.log_reader import FAST_FROM_BYTES
from analyzer.ingest.text.scan import LiteralScanner, fast_prefilter
from analyzer.ingest.text.text_layer import BLOCK_BYTES, read_blocks, record_end, record_start

RANKS = 16
_NOT_ALIKE = re.compile(r"[^\x00-\x7f]|\(\?[=!<](?!\w+>)|\(\?P=|\\[AZ1-9]")
"""What of an expression ripgrep's engine does not know or, without Unicode, refuses."""


def stamp(second, milli):
    """A logger's date and time."""
    return f"2026-10-{1 + second // 86400 % 28:02d} {second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d},{milli:03d}"


def chatter(chance, step):
    """A line that means nothing."""
    rank = chance.randrange(RANKS)
    at = stamp(step, chance.randrange(1000))
    kind = chance.randrange(10)
    if kind < 3:
        return (
            f"[{at}] [INFO] [utils.py:782:see_memory_usage] Rank {rank} MA {61 + chance.random():.2f} GB"
            f"         Max_MA {72 + chance.random():.2f} GB         CA 74.10 GB         Max_CA 75 GB \n"
        )
    if kind < 6:
        return (
            f"node-{rank // 8}:{4000 + rank}:{5000 + rank} [{rank % 8}] NCCL INFO AllReduce: opCount {step:x} sendbuff"
            f" 0x7f{chance.randrange(1 << 36):x} recvbuff 0x7f{chance.randrange(1 << 36):x} count {chance.randrange(1 << 24)}"
            f" datatype 9 op 0 root 0 comm 0x55{chance.randrange(1 << 32):x} [nranks={RANKS}]\n"
        )
    return (
        f"10/{1 + step // 86400 % 28:02d}/2026 10:22:33 - INFO - trainer.data - rank {rank} shard"
        f" {chance.randrange(4096):05d}-of-04096.tar samples={chance.randrange(100000)} tokens={chance.randrange(10**9)}"
        f" cache_hit={chance.random():.4f} url=s3://bucket/corpus/part-{chance.randrange(99999):05d}.jsonl.zst\n"
    )


def progress(chance, step, total):
    """What a step prints: its bar, and now and then rows of three programs."""
    done = step * 10 // total
    clock = f"{step // 3600}:{step // 60 % 60:02d}:{step % 60:02d}"
    text = f"\r{step * 100 // total:3d}%|{'█' * done}{' ' * (10 - done)}| {step}/{total} [{clock}<9:54:38,  1.06s/it]"
    text += "\n" if step % 3 == 0 else ""
    loss = 2 + 8 * math.exp(-step / 2e4) + 0.05 * chance.random()
    at = stamp(step, chance.randrange(1000))
    if step % 2 == 0:
        text += (
            f"{{'loss': {loss:.4f}, 'grad_norm': {1 + chance.random():.6f},"
            f" 'learning_rate': {3e-4 * (1 - step / total):.6e}, 'epoch': {step / 1000:.2f}}}\n"
        )
    if step % 5 == 0:
        text += (
            f"[{at}] [INFO] [logging.py:107:log_dist] [Rank 0] step={step}, skipped={step // 997}, lr=[3.000000e-04],"
            f" mom=[(0.9, 0.95)]\n[{at}] [INFO] [timer.py:264:stop] epoch=0/micro_step={step * 4}/global_step={step},"
            f" RunningAvgSamplesPerSec={40 + chance.random():.6f}, CurrSamplesPerSec={40 + chance.random():.6f},"
            " MemAllocated=61.20GB, MaxMemAllocated=72.00GB\n"
        )
    if step % 7 == 0:
        text += (
            f" [{at[:-4]}] iteration {step:8d}/{total:8d} | consumed samples: {step * 256:12d} | elapsed time per"
            f" iteration (ms): {1200 + 100 * chance.random():.1f} | learning rate: 3.000000E-04 | global batch size:   256 |"
            f" lm loss: {loss:.6E} | loss scale: 65536.0 | grad norm: {1 + chance.random():.3f} | number of skipped"
            " iterations:   0 | number of nan iterations:   0 |\n(min, max) time across ranks (ms):\n"
            f"    forward-backward ...............................: ({1000 + chance.random():.2f}, 1100.20)\n"
            f"    optimizer ......................................: ({80 + chance.random():.2f}, 90.10)\n"
        )
    if step % 997 == 0:
        text += (
            f"[{at}] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step."
            " Attempted loss scale: 65536, reducing to 32768\n"
        )
    if step % 2000 == 0:
        text += f"Saving model checkpoint to /ckpt/run/checkpoint-{step}\n"
    return text


def failures(step):
    """The end: a watchdog on every rank, tracebacks, one rank out of memory."""
    lines = []
    for rank in range(RANKS):
        lines += [
            (
                f"[rank{rank}]:[E1018 10:22:33.123456 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation"
                f" timeout: WorkNCCL(SeqNum={step * 7}, OpType=ALLREDUCE, NumelIn=268435456, NumelOut=268435456,"
                " Timeout(ms)=600000) ran for 600123 milliseconds before timing out."
            ),
            f"[rank{rank}]: Traceback (most recent call last):",
            f'[rank{rank}]:   File "/srv/run/train.py", line 812, in <module>',
            f"[rank{rank}]:     main()",
            f"[rank{rank}]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank {rank}."
            if rank != 3
            else "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total"
            " capacity of 79.11 GiB of which 1.12 GiB is free.",
        ]
    lines.append("slurmstepd: error: *** STEP 123456.0 ON node-0 CANCELLED AT 2026-10-18T10:22:50 ***")
    return "\n".join(lines) + "\n"


def write_log(path, size):
    """A log of about ``size`` bytes."""
    chance = random.Random(7)
    total = max(1000, size // 700)
    written = step = 0
    with path.open("w", encoding="utf-8", newline="") as stream:
        while written < size:
            step += 1
            text = progress(chance, step, total) + "".join(chatter(chance, step) for _ in range(3))
            stream.write(text)
            written += len(text)
        stream.write(failures(step))


def chunks(path):
    """Blocks of a file."""
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            yield block


def common_patterns():
    """Rows whose expression both engines read alike."""
    return [row for row in all_patterns() if not row.unless and not _NOT_ALIKE.search(row.regex)]


def matching_lines(path, rows):
    """Records that one of the rows matches: literals first, then Python's ``re``."""
    wanted = {}
    for row in rows:
        for literal in row.literals:
            wanted.setdefault(literal.encode(), []).append(re.compile(row.regex))
    literals = tuple(wanted)
    prefilter = fast_prefilter(literals) or LiteralScanner(literals)
    regexes = list(wanted.values())
    count = 0
    for block in read_blocks(chunks(path), lambda _: None):
        data, last = block.data, -1
        for position, index in prefilter.find(data):
            if position < last:
                continue
            start = record_start(data, position, 0)
            end = record_end(data, start)
            text = data[start:end].decode("utf-8", "replace")
            if any(regex.search(text) for regex in regexes[index]):
                count += 1
                last = end
    return count


def rg_lines(rg, path, rows):
    """ripgrep's count of matching lines and its CPU seconds; its lines are ours where no bar is redrawn in them."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        for row in rows:  # names of groups must not repeat in what ripgrep makes of all lines
            listed.write(re.sub(r"\(\?P<\w+>", "(?:", row.regex).replace('\\"', '"') + "\n")
        listed.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run(
            [rg, "-c", "--no-unicode", "-j1", "--regex-size-limit=1G", "--dfa-size-limit=1G", "-f", listed.name, str(path)],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return int(result.stdout), spent


def cpu_s(call, *arguments):
    """CPU seconds and result of a call."""
    started_s = time.process_time()
    result = call(*arguments)
    return time.process_time() - started_s, result


def peak_rss_bytes():
    """Peak resident memory of this process; on Linux from /proc, for getrusage counts the parent's too."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(path):
    """In a child: ingest and tell time and memory."""
    seconds, loaded = cpu_s(load_run, path)
    run = loaded.run
    print(
        json.dumps(
            {"s": seconds, "rss": peak_rss_bytes(), "points": len(run.metrics), "events": len(run.events)}
        )
    )


def ingested(path):
    """What ``measure`` says in a child of its own."""
    command = [sys.executable, __file__, "--measure", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def race_failures(path, rg, rounds):
    """The failure patterns, in turn with ripgrep."""
    rows = common_patterns()
    megabytes = path.stat().st_size / 1e6
    ours, theirs = [], []
    for _ in range(rounds):
        seconds, lines = cpu_s(matching_lines, path, rows)
        ours.append(seconds)
        if rg:
            count, seconds = rg_lines(rg, path, rows)
            theirs.append(seconds)
            print(f"  lines: {lines} here, {count} by ripgrep", flush=True)
    text = f"failures    {len(rows)} of {len(all_patterns())} rows, {megabytes:.0f} MB: min {min(ours):.2f} s, median {sorted(ours)[len(ours) // 2]:.2f} s CPU ({megabytes / min(ours):.0f} MB/s)"
    if theirs:
        text += f"; ripgrep min {min(theirs):.2f} s; ratio {min(theirs) / min(ours):.2f} (median {sorted(theirs)[len(theirs) // 2] / sorted(ours)[len(ours) // 2]:.2f})"
    print(text, flush=True)


def main():
    """Make the file, race, measure memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rg", help="path of ripgrep; without it there is no race")
    parser.add_argument("--times", type=int, default=4, help="size of the second file, in first files")
    parser.add_argument("--file", type=Path, help="an existing log instead of a made one")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    assert arguments.size > 2 * max(FAST_FROM_BYTES, BLOCK_BYTES), "too small for the fast engine"
    with tempfile.TemporaryDirectory() as directory:
        path = arguments.file or Path(directory, "train.log")
        if not arguments.file:
            write_log(path, arguments.size)
        race_failures(path, arguments.rg, arguments.rounds)
        megabytes = path.stat().st_size / 1e6
        runs = [ingested(path) for _ in range(arguments.rounds)]
        best = min(run["s"] for run in runs)
        print(
            f"everything  {megabytes:.0f} MB: min {best:.2f} s CPU ({megabytes / best:.0f} MB/s), peak memory"
            f" {max(run['rss'] for run in runs) / 1e6:.0f} MB, {runs[0]['points']} points, {runs[0]['events']} events",
            flush=True,
        )
        if arguments.times > 1:
            large = Path(directory, "large.log")
            with large.open("wb") as stream:
                for _ in range(arguments.times):
                    for block in chunks(path):
                        stream.write(block)
            run = ingested(large)
            size = large.stat().st_size / 1e6
            print(
                f"everything  {size:.0f} MB: {run['s']:.2f} s CPU ({size / run['s']:.0f} MB/s), peak memory"
                f" {run['rss'] / 1e6:.0f} MB, {run['points']} points"
            )


if __name__ == "__main__":
    main()
