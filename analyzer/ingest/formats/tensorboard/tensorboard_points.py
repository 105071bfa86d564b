"""Collects the scalars of one event file by tag and hands them over in large blocks, in record order."""

from __future__ import annotations

from array import array

import numpy as np

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.formats.tensorboard.tensorboard_templates import Points
from analyzer.ingest.names import canonical_metric

FLUSH_POINTS = 1 << 18
"""Points held before they are handed over: 8 MB of columns. Fewer would make many small blocks of a file
with thousands of tags, more would double the peak for nothing."""

MAX_TAGS = 50_000
"""Different tags read from one file; each costs about 1 kB beside its points."""

_TRAINING_NAMES = frozenset({"loss", "accuracy", "perplexity"})
_SAMPLE_PREFIX = "Train/Samples/"
_HF_RUNTIME = "train/train_runtime"
_OTHER_AXES = (" vs samples", " vs tokens")


class PointCollector:
    """Points waiting to be written. ``finish`` writes the last.

    Args:
        out: Where they go.
        held_out: The file holds results on held-out data under the names of the training's.
    """

    def __init__(self, out: SourceWriter, *, held_out: bool = False) -> None:
        self._out = out
        self._held_out = held_out
        self._parts: dict[str, list[Points]] = {}
        self._singles: dict[str, tuple[array[int], array[int], array[float], array[float]]] = {}
        self._waiting = 0
        self._tags: set[str] = set()
        self._left_out = 0

    def add(self, points: Points) -> None:
        """Add points of one tag."""
        if not self._admit(points.tag, points.values.size):
            return
        self._parts.setdefault(points.tag, []).append(points)
        self._waiting += points.values.size

    def add_one(self, tag: str, number: int, step: int, time_s: float, value: float) -> None:
        """Add one point."""
        if not self._admit(tag, 1):
            return
        columns = self._singles.get(tag)
        if columns is None:
            columns = self._singles[tag] = array("q"), array("q"), array("d"), array("d")
        columns[0].append(number)
        columns[1].append(step)
        columns[2].append(time_s)
        columns[3].append(value)
        self._waiting += 1

    def _admit(self, tag: str, count: int) -> bool:
        if tag in self._tags:
            return True
        if len(self._tags) < MAX_TAGS:
            self._tags.add(tag)
            return True
        if not self._left_out:
            self._out.gap(f"only the first {MAX_TAGS} different tags are read")
        self._left_out += count
        return False

    def end_window(self) -> None:
        """Say that all records up to here were added: only then can points be written in record order."""
        if self._waiting >= FLUSH_POINTS:
            self._write()

    def finish(self) -> None:
        """Write everything that waits, and what the tags tell about the run."""
        self._write()
        if any(tag.startswith(_SAMPLE_PREFIX) for tag in self._tags):
            self._out.framework("deepspeed")

    def _note_end(self, points: Points) -> None:
        """HF Trainer logs its runtime once, after the last step."""
        for number, step, time_s, value in zip(
            points.numbers.tolist(),
            points.steps.tolist(),
            points.times_s.tolist(),
            points.values.tolist(),
            strict=True,
        ):
            self._out.event(
                "training_completed",
                f"{points.tag}: {value:.6g}",
                role="info",
                line=number,
                step=step,
                time_s=time_s,
                fields={"train_runtime_s": value},
            )

    def _write(self) -> None:
        for tag, columns in self._singles.items():
            numbers, steps, times_s, values = columns
            points = Points(
                tag,
                np.frombuffer(numbers, np.int64),
                np.frombuffer(steps, np.int64),
                np.frombuffer(times_s, np.float64),
                np.frombuffer(values, np.float64),
            )
            self._parts.setdefault(tag, []).append(points)
        for tag, parts in self._parts.items():
            self._write_tag(tag, parts)
        self._parts.clear()
        self._singles.clear()
        self._waiting = 0

    def _write_tag(self, tag: str, parts: list[Points]) -> None:
        if tag == _HF_RUNTIME:
            for part in parts:
                self._note_end(part)
        numbers = np.concatenate([part.numbers for part in parts])
        steps = np.concatenate([part.steps for part in parts])
        times_s = np.concatenate([part.times_s for part in parts])
        values = np.concatenate([part.values for part in parts])
        if np.any(numbers[1:] < numbers[:-1]):  # records of several lengths
            order = np.argsort(numbers, kind="stable")
            numbers, steps, times_s, values = numbers[order], steps[order], times_s[order], values[order]
        self._out.metrics(
            _held_out_name(tag) if self._held_out else tag,
            # Megatron logs each curve three times; the axis of two of them is not the step.
            steps=None if tag.endswith(_OTHER_AXES) else steps,
            values=values,
            lines=numbers,
            times_s=times_s,
            step_unit="samples" if tag.startswith(_SAMPLE_PREFIX) else "step",
        )


def _held_out_name(tag: str) -> str:
    """Name of a result on held-out data that was logged under the name of the training's."""
    plain = tag.lower().removeprefix("epoch_")
    return f"val/{plain}" if canonical_metric(plain) in _TRAINING_NAMES else tag
