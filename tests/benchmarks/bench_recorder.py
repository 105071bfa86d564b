"""What recording costs: time of a training step with the recorder over the time without, in one process.

    python tests/benchmarks/bench_recorder.py [--quick]

Needs torch. Rows: a tiny decoder in fp32 and in fp16 autocast, and a larger one; columns: hooks with extremes only
(the default, meant to be left on), the same without gradients, every statistic, every 10th step, and the dispatch
pass of ``analyzer replay run``. Ratios are medians of CPU time over
interleaved steps, so that a busy machine does not move them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from analyzer.replay import record
from analyzer.replay.operators import OperatorWatch


class Block(torch.nn.Module):
    """A pre-norm decoder layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.act, self.down = (
            torch.nn.Linear(width, 4 * width),
            torch.nn.GELU(),
            torch.nn.Linear(4 * width, width),
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Attention and feed-forward, each with its residual."""
        batch, length, width = hidden.shape
        parts = self.qkv(self.norm_1(hidden)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return hidden + self.down(self.act(self.up(self.norm_2(hidden))))


class Decoder(torch.nn.Module):
    """A small language model."""

    def __init__(self, layers: int, width: int, vocabulary: int = 512) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, width)
        self.blocks = torch.nn.ModuleList(Block(width, max(1, width // 64)) for _ in range(layers))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, vocabulary)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """The loss of predicting each next token."""
        hidden = self.embed(ids)
        for block in self.blocks:
            hidden = block(hidden)
        logits = self.head(self.norm(hidden)).float()
        return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def timed(step: Callable[[], None], context: Callable[[], Any]) -> float:
    """CPU seconds of one step inside a context; entering and leaving it are not counted for hooks that stay on."""
    with context():
        step()  # the first step inside pays for what is made once
        begin = time.process_time()
        step()
        return time.process_time() - begin


def ratios(
    layers: int, width: int, length: int, dtype: torch.dtype | None, rounds: int
) -> tuple[float, dict[str, float]]:
    """Milliseconds of a plain step, and each way's time over it."""
    torch.manual_seed(0)
    model = Decoder(layers, width)
    ids = torch.randint(0, 512, (4, length))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype) if dtype is not None else nullcontext():
            loss = model(ids)
        loss.backward()
        optimizer.step()

    with tempfile.TemporaryDirectory() as place:
        path = f"{place}/replay.jsonl"
        ways: dict[str, Callable[[], Any]] = {
            "plain": nullcontext,
            "absmax": lambda: record(model, path),
            "forward": lambda: record(model, path, backward=False),
            "full": lambda: record(model, path, full_steps=(0, 9), write_on_exit=False),
            "every 10": lambda: record(model, path, every=10, first_step=1),
            "dispatch": lambda: OperatorWatch(model),
        }
        step()
        found: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, context in ways.items():
                found[name].append(timed(step, context))
    plain = statistics.median(found["plain"])
    return plain * 1e3, {name: statistics.median(times) / plain for name, times in found.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 21
    torch.set_num_threads(1)
    print(
        f"torch {torch.__version__}, one thread, CPU; step with the recorder over a plain step (median of {rounds})"
    )
    print(f"{'model':<34}{'step ms':>9}" + "".join(f"{name:>10}" for name in WAYS))
    for name, layers, width, length, dtype in MODELS:
        plain, found = ratios(layers, width, length, dtype, rounds if width < 256 else max(3, rounds // 3))
        print(f"{name:<34}{plain:>9.1f}" + "".join(f"{found[way]:>9.2f}x" for way in WAYS), flush=True)


WAYS = ("absmax", "forward", "full", "every 10", "dispatch")
MODELS = (
    ("4 layers x 64, fp32", 4, 64, 64, None),
    ("4 layers x 64, fp16 autocast", 4, 64, 64, torch.float16),
    ("4 layers x 256, fp32", 4, 256, 128, None),
    ("8 layers x 512, fp32", 8, 512, 128, None),
)

if __name__ == "__main__":
    main()
