"""Build runs in memory as ingestors would, for tests of detectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from analyzer.detect import run_detectors
from analyzer.facts.build import Facts, build_facts
from analyzer.ingest.base import SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.model.refs import SourceRef
from analyzer.model.run import Run, TensorRows

NAN = float("nan")
INF = float("inf")


class RunMaker:
    """Wraps a ``RunBuilder``: one call a file, one call a table of metrics."""

    def __init__(self, *frameworks: str) -> None:
        self.builder = RunBuilder("run")
        for name in frameworks:
            self.builder.frameworks.add(name)

    def file(self, path: str = "train.log", ingestor: str = "text-log") -> SourceWriter:
        known = {source.path: source.index for source in self.builder.sources}
        if path in known:
            return SourceWriter(self.builder, known[path])
        index = self.builder.add_source(
            path, format_name=ingestor, ingestor=ingestor, size_bytes=100, sha256_head=path.encode().hex()
        )
        return SourceWriter(self.builder, index)

    def log(
        self,
        columns: Mapping[str, Sequence[float]],
        *,
        path: str = "train.log",
        ingestor: str = "text-log",
        first: int = 1,
        every: int = 1,
        steps: Sequence[int] | bool | None = True,
        lines: Sequence[int] | None = None,
        window: int | None = None,
    ) -> RunMaker:
        """Rows of one file: each column is a metric, each row a step."""
        out = self.file(path, ingestor)
        for name, values in columns.items():
            count = len(values)
            if steps is True:
                row_steps: Any = [first + every * i for i in range(count)]
            else:
                row_steps = list(steps) if steps else None
            row_lines = list(lines) if lines is not None else [10 * (i + 1) for i in range(count)]
            out.metrics(name, steps=row_steps, values=np.asarray(values, dtype=float), lines=row_lines)
        if window is not None:
            out.loss_window(window)
        return self

    def event(
        self,
        kind: str,
        *,
        line: int | None = 1,
        role: str = "symptom",
        text: str = "",
        step: int | None = None,
        path: str = "train.log",
        time_s: float | None = None,
        rank: int | None = None,
        **fields: Any,
    ) -> RunMaker:
        names = {name.rstrip("_"): value for name, value in fields.items()}
        out = self.file(path)
        out.event(kind, text or kind, role=role, line=line, step=step, time_s=time_s, rank=rank, fields=names)
        return self

    def overflows(
        self, scales: Sequence[float], *, first_line: int = 15, every: int = 10, hysteresis: bool = True
    ) -> RunMaker:
        """DeepSpeed's messages for a ladder of scales; the first is repeated under hysteresis."""
        line = first_line
        if hysteresis:
            self.event("loss_scale_overflow", line=line, attempted=float(scales[0]), hysteresis=2)
            line += every
        for before, after in pairwise(scales):
            self.event("loss_scale_overflow", line=line, attempted=float(before), reducing_to=float(after))
            line += every
        return self

    def config(
        self, framework: str = "hf-trainer", *, path: str = "config.yaml", layer: str = "file", **keys: Any
    ) -> RunMaker:
        """Keys with ``__`` for a dot."""
        out = self.file(path, "config-yaml")
        for number, (key, value) in enumerate(keys.items(), start=1):
            out.config(key.replace("__", "."), value, framework=framework, layer=layer, line=number)
        return self

    def attempt(
        self, path: str, start_s: float, *, exit_code: int | None = None, ingestor: str = "text-log"
    ) -> RunMaker:
        self.file(path, ingestor).attempt(path, start_s=start_s, exit_code=exit_code)
        return self

    def embedding(
        self,
        special: Mapping[int, float],
        *,
        median: float = 0.5,
        names: Mapping[int, str] | None = None,
        nonfinite: int = 0,
        dtype: str = "float16",
        name: str = "model.embed_tokens.weight",
    ) -> RunMaker:
        out = self.file("model.safetensors", "safetensors")
        out.tensor(
            TensorRows(
                name=name,
                dtype=dtype,
                shape=(512, 64),
                nonfinite=nonfinite,
                ref=SourceRef(out.source),
                row_rms=dict(special),
                median_row_rms=median,
                row_names=dict(names or {row: f"<|special_{row}|>" for row in special}),
            )
        )
        return self

    def run(self) -> Run:
        return self.builder.finish()

    def facts(self, baseline: Run | None = None) -> Facts:
        return build_facts(run_detectors(self.run(), baseline))

    def plain(self, baseline: Run | None = None) -> dict[str, Any]:
        return dict(self.facts(baseline).plain)


def falling(
    count: int, start: float = 3.0, end: float = 1.5, scatter: float = 0.03, seed: int = 0
) -> list[float]:
    """A loss that learns: exponential descent with multiplicative noise."""
    share = np.linspace(0.0, 1.0, count)
    clean = end + (start - end) * np.exp(-4.0 * share)
    return [float(v) for v in clean * (1.0 + scatter * np.random.default_rng(seed).standard_normal(count))]


def norms(count: int, level: float = 1.0, seed: int = 1) -> list[float]:
    """Ordinary gradient norms."""
    return [float(v) for v in level * np.exp(0.2 * np.random.default_rng(seed).standard_normal(count))]
