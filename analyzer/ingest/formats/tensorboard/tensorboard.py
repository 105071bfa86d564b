"""TensorBoard event files: every scalar of every record, nothing sampled, purged or silently dropped.

A record is a TFRecord frame around an ``Event`` message (see ``tfrecord`` and ``tensorboard_event``)::

    18 00 00 00 00 00 00 00 a3 7f 4b 22   length 24 and its checksum
    09 … 1a 0d "brain.Event:2"            time, file version
    xx xx xx xx                           checksum

Each file is a launch of its own unless the names of two say otherwise. A record whose checksum does not fit
is dropped and reported, and reading goes on behind it.
"""

from __future__ import annotations

import math
from array import array

import numpy as np

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.encodings.protobuf_wire import WireError
from analyzer.ingest.formats.tensorboard.tensorboard_config import (
    ConfigTexts,
    is_held_out,
    launch_label,
    parse_name,
)
from analyzer.ingest.formats.tensorboard.tensorboard_event import Event, EventDecoder
from analyzer.ingest.formats.tensorboard.tensorboard_templates import (
    MAX_PAYLOAD_BYTES,
    MIN_ROWS,
    Points,
    TemplateReader,
)
from analyzer.ingest.formats.tensorboard.tfrecord import (
    FRAME_BYTES,
    HEADER_BYTES,
    Loss,
    RecordScanner,
    Window,
    header_length,
    payload_is_intact,
)
from analyzer.ingest.names import canonical_metric
from analyzer.model.arrays import Integers

_VERSION = b"brain.Event:"
_SESSION_KINDS = {1: "session_start", 2: "session_stop", 3: "session_checkpoint"}


class TensorBoard:
    """Reads event files of every writer: torch, tensorboardX, TensorFlow 1 and 2, DeepSpeed, Megatron."""

    def sniff(self, candidate: Candidate) -> Match:
        """The first record is framed and holds a file version, or the file is called after the format."""
        head = candidate.head
        named = "tfevents" in candidate.name.rpartition("/")[2]
        length = header_length(head, 0) if len(head) >= FRAME_BYTES else None
        if length is not None and (named or _VERSION in head[HEADER_BYTES : HEADER_BYTES + min(length, 64)]):
            return Match.SURE
        # A damaged or cut first record. Text of that name, such as a Git LFS pointer, has no zero byte.
        return Match.LIKELY if named and b"\0" in head[:4096] else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Read all records; what cannot be read becomes a gap with its record number."""
        _File(source, out).read()


class _File:
    """One event file while it is read."""

    def __init__(self, source: OpenSource, out: SourceWriter) -> None:
        self._source = source
        self._out = out
        self._decoder = EventDecoder()
        self._templates = TemplateReader(self._decoder)
        self._points = PointCollector(out, held_out=is_held_out(source.candidate))
        self._config = ConfigTexts(out)
        self._unreadable: dict[str, tuple[int, int]] = {}
        self._last_time_s = -math.inf
        self._first_time_s = math.nan
        self._records = 0  # intact ones
        self._values = 0
        self._damaged = False

    def read(self) -> None:
        for window in RecordScanner(self._source).windows():
            self._read_window(window)
            self._points.end_window()
            for loss in window.losses:
                self._note_loss(loss)
        self._points.finish()
        self._config.finish()
        self._note_launch()
        for tag, (count, record) in self._unreadable.items():
            reason = f"{count} values of {tag!r} are of a type that is not understood"
            self._out.gap(reason, line=record, rows_lost=count)
        self._note_emptiness()

    def _note_emptiness(self) -> None:
        is_profile_mark = "profile-empty" in self._source.name  # TensorFlow makes one beside every profile
        if not self._records:
            self._out.gap("no intact record in the whole file")
        elif not (self._values or self._damaged or is_profile_mark):
            held = "the opening record alone" if self._records == 1 else f"{self._records} records"
            self._out.gap(f"no scalar in {held}: the run died or was closed before its first log", line=1)

    def _read_window(self, window: Window) -> None:
        self._records += window.offsets.size
        one_by_one: list[Integers] = []
        for rows, length in _by_length(window.lengths):
            if rows.size < MIN_ROWS or length > MAX_PAYLOAD_BYTES:
                one_by_one.append(rows)
                continue
            points, left, damaged = self._templates.read(
                window.buffer, window.offsets[rows], window.numbers[rows], length
            )
            for part in points:
                self._points.add(part)
                self._values += part.values.size
                self._see_time(float(np.fmax.reduce(part.times_s, initial=-math.inf)))
            one_by_one.append(rows[left])
            for number in window.numbers[rows[damaged]].tolist():
                self._note_damaged(number, length)
        if one_by_one:
            self._read_one_by_one(window, np.sort(np.concatenate(one_by_one)))

    def _read_one_by_one(self, window: Window, rows: Integers) -> None:
        columns = (
            window.offsets[rows].tolist(),
            window.lengths[rows].tolist(),
            window.numbers[rows].tolist(),
        )
        for offset, length, number in zip(*columns, strict=True):
            if not payload_is_intact(window.buffer, offset, length):
                self._note_damaged(number, length)
                continue
            start = offset + HEADER_BYTES
            try:
                event = self._decoder.decode(window.buffer[start : start + length])
            except WireError as error:
                self._out.gap(f"record {number} is intact but no event: {error}", line=number, rows_lost=1)
                continue
            self._take(event, number)

    def _take(self, event: Event, number: int) -> None:
        if number == 1:
            self._first_time_s = event.time_s
        self._see_time(event.time_s)
        self._values += len(event.scalars) + event.other_values
        for scalar in event.scalars:
            self._points.add_one(scalar.tag, number, event.step, event.time_s, scalar.value)
        for tag, text in event.texts:
            self._config.add_text(tag, text, number)
        for content in event.hparams:
            self._config.add_hparams(content, number)
        for tag in event.unreadable_tags:
            count, first = self._unreadable.get(tag, (0, number))
            if count or len(self._unreadable) < 100:
                self._unreadable[tag] = count + 1, first
        if event.session is not None:
            self._note_session(event, number)

    def _note_session(self, event: Event, number: int) -> None:
        """TensorFlow marks start, end and checkpoints; torch marks the step to which a restart goes back."""
        kind = _SESSION_KINDS.get(event.session or 0)
        if kind is None:
            return
        text = f"session log: {kind.removeprefix('session_')} at step {event.step}"
        time_s = event.time_s if math.isfinite(event.time_s) else None
        self._out.event(kind, text, role="info", line=number, step=event.step, time_s=time_s)

    def _see_time(self, time_s: float) -> None:
        if self._last_time_s < time_s < math.inf:
            self._last_time_s = time_s

    def _note_damaged(self, number: int, length: int) -> None:
        self._records -= 1
        self._damaged = True
        self._out.gap(
            f"record {number} is damaged: its checksum does not fit ({length + FRAME_BYTES} bytes)",
            line=number,
            rows_lost=1,
        )

    def _note_loss(self, loss: Loss) -> None:
        self._damaged = True
        self._out.gap(
            f"record {loss.record}: {loss.size_bytes} bytes from byte {loss.offset} on are lost: {loss.reason}",
            line=loss.record,
        )

    def _note_launch(self) -> None:
        self._see_time(self._config.session_end_s or math.nan)
        writer = parse_name(self._source.name)
        start_s = self._first_time_s if math.isfinite(self._first_time_s) else None
        end_s = self._last_time_s if math.isfinite(self._last_time_s) else None
        if writer is None:
            # Names of another making (SageMaker writes one file per step) say nothing of launches.
            self._out.attempt("event files without a launch in their name", start_s=start_s, end_s=end_s)
            return
        start_s = writer.time_s if start_s is None else start_s
        self._out.attempt(launch_label(self._source.candidate, writer), start_s=start_s, end_s=end_s)
        self._out.layout(host=writer.host)


def _by_length(lengths: Integers) -> list[tuple[Integers, int]]:
    """Rows of each payload length, in file order."""
    if not lengths.size:
        return []
    # NumPy sorts 16-bit keys by radix; a longer payload is read one by one in any case.
    keys = np.minimum(lengths, MAX_PAYLOAD_BYTES + 1).astype(np.uint16)
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    return [(rows, int(keys[rows[0]])) for rows in np.split(order, cuts)]


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
