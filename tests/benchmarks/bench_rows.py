"""What a row costs that is read by what was learned from the rows before it, beside the same row read on its own.

    python tests/benchmarks/bench_rows.py --rows 40000

Logs of some kinds are made here. Both readings run in turn on the same bytes, in CPU time, so that their ratio holds on a
busy machine too; ``floats`` is the cost of turning the row's numbers into floats alone, which nothing can undercut.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from unittest import mock

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.text.log_reader import LogReader
from analyzer.ingest.text.rows.learned import learned_blocks
from analyzer.ingest.text.text_layer import BLOCK_BYTES, read_blocks

NUMBER = re.compile(rb"\d+(?:\.\d+)?(?:e-\d+)?")
FORMS = {
    "torchtitan": "[rank0]:[titan] 2026-01-01 {clock},125 - root - INFO - step: {at:6d}  loss: {a:8.4f}  grad_norm: {b:7.4f}  memory: 40.50GiB(50.00%)  tps: {big:,}  tflops: 12.50  mfu: 4.00%",
    "mmengine": "2026/01/01 {clock} - mmengine - INFO - Epoch(train)  [{epoch}][{batch:4d}/1000]  lr: {c:.3e}  time: {b:.4f}  data_time: 0.0100  memory: 7973  loss: {a:.4f}",
    "home-made": "iter {at} | loss {a:.4f} | gnorm {b:.3f} | lr {c:.2e} | {big} tok/s",
    "HF 4": "{{'loss': {a:.4f}, 'grad_norm': {b:.6f}, 'learning_rate': {c:.6e}, 'epoch': {part:.2f}}}",
    "HF 5": "{{'loss': '{a:.4g}', 'grad_norm': '{b:.4g}', 'learning_rate': '{c:.4g}', 'epoch': '{part:.4g}'}}",
    "HF with bar": " {percent}%|#         | {at}/40000 [{clock}<{clock},  1.05it/s]\r{{'loss': {a:.4f}, 'grad_norm': {b:.6f}, 'learning_rate': {c:.6e}, 'epoch': {part:.2f}}}",
    "Megatron": " [2026-01-01 {clock}] iteration {at:8d}/   40000 | consumed samples: {samples:12d} | elapsed time per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): 412.5 | learning rate: {c:.6E} | global batch size:   256 | lm loss: {a:.6E} | loss scale: 1.0 | grad norm: {b:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |",
    "JSON": '{{"step": {at}, "loss": {a:.6f}, "lr": {c:.2e}, "grad_norm": {b:.4f}}}',
}  # fmt: skip


def log_of(form, rows):
    chance = random.Random(1)
    return "".join(
        form.format(
            at=at,
            epoch=at // 1000 + 1,
            batch=at % 1000 + 1,
            clock=f"{at // 3600 % 24:02d}:{at // 60 % 60:02d}:{at % 60:02d}",
            a=8 - 4 * at / rows + chance.random(),
            b=chance.random() + 0.1,
            c=1e-3 * (1 - at / (rows + 1)),
            big=chance.randrange(10_000, 20_000),
            part=3 * at / rows,
            percent=100 * at // rows,
            samples=256 * at,
            ms=1000 + 100 * chance.random(),
        )
        + "\n"
        for at in range(1, rows)
    ).encode()


def cpu_s(call, *arguments):
    begin = time.process_time()
    call(*arguments)
    return time.process_time() - begin


def read(data):
    builder = RunBuilder("run")
    builder.add_source("train.log", format_name="text-log", ingestor="text-log", size_bytes=0, sha256_head="")
    chunks = [data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES)]
    LogReader(SourceWriter(builder, 0)).read(read_blocks(chunks, lambda _: None))


def read_one_by_one(data):
    with mock.patch.object(learned_blocks.LearnedBlocks, "watch"):
        read(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for name, form in FORMS.items():
        data = log_of(form, options.rows)
        read(data[:20_000])
        learned, single, floats = (
            min(cpu_s(call, data) for _ in range(options.rounds))
            for call in (read, read_one_by_one, lambda text: list(map(float, NUMBER.findall(text))))
        )
        print(
            f"{name}: {single / learned:.1f} times as fast as one by one, {learned / floats:.1f} times the floats alone"
            f" ({1e6 * learned / options.rows:.1f} us per row here)"
        )


if __name__ == "__main__":
    main()
