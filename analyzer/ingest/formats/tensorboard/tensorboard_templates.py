"""Read many alike TensorBoard events at once.

Most records of an event file differ only in the bytes of time, step and value::

    09 <time: 8> 10 <step: 2> 2a 12 0a 10 0a 09 t r a i n / l o s s 15 <value: 4>

One record of each kind is decoded; where the varying bytes stand is its *form*, what the fixed bytes say its
*template*. All records of one length are then compared with their template as 8-byte words, and the varying
bytes become columns. Nothing is taken on trust: every fixed byte is compared and every checksum verified
(see ``tfrecord``). What fits no form is left to ``tensorboard_event``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import google_crc32c
import numpy as np

from analyzer.ingest.encodings.protobuf_wire import WireError
from analyzer.ingest.formats.tensorboard.tensorboard_event import Event, EventDecoder, stored_dtype, values_of
from analyzer.ingest.formats.tensorboard.tfrecord import (
    HEADER_BYTES,
    NO_CHECKSUM,
    byte_table,
    mask_checksums,
    payload_is_intact,
)
from analyzer.model.arrays import Integers, Mask, Values
from analyzer.record import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]

MIN_ROWS = 16
"""Records of one length from which columns cost less than decoding them one by one."""

MAX_PAYLOAD_BYTES = 4096
"""Longest payload that is compared by words; longer ones are histograms, images and texts."""

_MAX_FORMS = 8
"""Forms of one length: step sizes of 1 to 4 bytes, with and without metadata. More are decoded one by one."""

_MAX_TEMPLATES = 50_000
"""Templates kept (about 300 bytes each); a file with more different tags than that is not a training log."""

_BUCKET_SHIFT = 48
"""The upper 16 bits of a hash choose the bucket: few collisions, and NumPy sorts 16-bit keys by radix."""

_PROBES = 4
"""Records looked at for a new form before the rest of a length is decoded one by one."""


class Points(NamedTuple):
    """Points of one tag, in record order."""

    tag: str  # tag as logged
    numbers: Integers  # int64, shape (n,): record numbers
    steps: Integers  # int64, shape (n,)
    times_s: Values  # float64, shape (n,): unix seconds
    values: Values  # float64, shape (n,)


class _Template(NamedTuple):
    """Tags of the scalars, and the checksum of the payload with its varying bytes set to zero."""

    tags: tuple[str, ...]
    zeroed_checksum: int


class _Form:
    """Where the varying bytes of a payload stand, and the fixed bits in front of the first tag."""

    __slots__ = ("head", "identity", "length", "step_places", "time_start", "values", "varying", "words")

    def __init__(self, event: Event, payload: bytes) -> None:
        self.length = len(payload)
        self.time_start = event.time_start
        self.step_places = range(event.step_start, event.step_start + event.step_bytes)
        self.values = [(scalar.start, scalar.stored) for scalar in event.scalars]
        self.varying = [*range(self.time_start, self.time_start + 8), *self.step_places]
        for start, stored in self.values:
            self.varying += range(start, start + stored_dtype(stored).itemsize)
        mask = bytearray(b"\xff" * self.length)
        for place in self.varying:
            mask[place] = 0x80 if place in self.step_places else 0  # the bit that tells a varint's size
        self.words = [(index, bits) for index, bits in enumerate(_as_words(mask)) if bits]
        head_end = min(scalar.tag_start for scalar in event.scalars)
        head = bytes(byte & bits for byte, bits in zip(payload[:head_end], mask, strict=False))
        expected = _as_words(head)
        self.head = [(i, bits, expected[i]) for i, bits in enumerate(_as_words(mask[:head_end])) if bits]
        self.identity = (self.length, self.time_start, self.step_places, tuple(self.values), head)

    def zeroed_checksum(self, payload: bytes) -> int:
        """Plain checksum of a payload with its varying bytes set to zero."""
        zeroed = bytearray(payload)
        for place in self.varying:
            zeroed[place] = 0
        checksum: int = google_crc32c.value(bytes(zeroed))
        return checksum


def _as_words(data: bytes | bytearray) -> Words:
    return np.frombuffer(bytes(data) + bytes(-len(data) % 8), np.dtype("<u8"))


class _Rows:
    """Payload and checksum of records of one length, as a matrix of bytes.

    Attributes:
        cells: uint8, shape (n, 8 * n_words); what follows the checksum is not looked at.
        numbers: int64, shape (n,): record numbers.
    """

    __slots__ = ("cells", "length", "numbers")

    def __init__(self, cells: npt.NDArray[np.uint8], numbers: Integers, length: int) -> None:
        self.cells = cells
        self.numbers = numbers
        self.length = length

    @classmethod
    def cut(cls, buffer: bytes, offsets: Integers, numbers: Integers, length: int) -> _Rows:
        width = (length + 4 + 7) // 8 * 8
        windows: npt.NDArray[Any] = np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer, 0, (1,))
        cells = windows[offsets + HEADER_BYTES].view(np.uint8).reshape(offsets.size, width)
        return cls(cells, numbers, length)

    def take(self, rows: Integers) -> _Rows:
        return _Rows(self.cells[rows], self.numbers[rows], self.length)

    def column(self, place: int, dtype: str | np.dtype[Any]) -> npt.NDArray[Any]:
        """The element at ``place`` of every payload, shape (n,), not copied."""
        kind = np.dtype(dtype)
        column: npt.NDArray[Any] = self.cells[:, place : place + kind.itemsize].view(kind)[:, 0]
        return column

    def payload(self, row: int) -> bytes | None:
        """Payload of a row if its checksum fits."""
        record = bytes(HEADER_BYTES) + self.cells[row, : self.length + 4].tobytes()
        return record[HEADER_BYTES:-4] if payload_is_intact(record, 0, self.length) else None


class TemplateReader:
    """Reads records of one file by the templates learnt from it."""

    def __init__(self, decoder: EventDecoder) -> None:
        self._decoder = decoder
        self._forms: dict[int, list[_Form]] = {}
        self._templates: dict[tuple[int, int, bytes], _Template | None] = {}
        self._first_of_bucket = np.zeros(1 << 16, np.int64)

    def read(
        self, buffer: bytes, offsets: Integers, numbers: Integers, length: int
    ) -> tuple[list[Points], Integers, Integers]:
        """Read records of one payload length.

        Args:
            buffer: Window, padded.
            offsets: int64, shape (n,): where the headers begin.
            numbers: int64, shape (n,): record numbers.
            length: Payload bytes of each.

        Returns:
            The points; the rows that fit no template; the rows whose checksum does not fit.
        """
        rows = _Rows.cut(buffer, offsets, numbers, length)
        points: list[Points] = []
        damaged: list[Integers] = []
        left = np.arange(offsets.size)
        forms = self._forms.setdefault(length, [])
        tried = 0
        while left.size and (tried < len(forms) or self._learn_form(rows, left, forms)):
            left, bad = self._read_form(rows, left, tried, points)
            damaged.append(bad)
            tried += 1
        return points, left, np.concatenate(damaged) if damaged else left[:0]

    def _learn_form(self, rows: _Rows, left: Integers, forms: list[_Form]) -> bool:
        """Add the form of one of the rows left; False if none of those looked at has a new one."""
        if len(forms) >= _MAX_FORMS:
            return False
        for row in left[:_PROBES].tolist():
            form = self._decode(rows, row)[0]
            if form is not None and all(form.identity != known.identity for known in forms):
                forms.append(form)
                return True
        return False

    def _decode(self, rows: _Rows, row: int) -> tuple[_Form | None, _Template | None]:
        """Form and template of a row; None if it is damaged or holds more than scalars of fixed size."""
        payload = rows.payload(row)
        if payload is None:
            return None, None
        try:
            event = self._decoder.decode(payload)
        except WireError:
            return None, None
        if not event.only_fixed_scalars:
            return None, None
        form = _Form(event, payload)
        return form, _Template(tuple(scalar.tag for scalar in event.scalars), form.zeroed_checksum(payload))

    def _read_form(
        self, all_rows: _Rows, left: Integers, form_index: int, points: list[Points]
    ) -> tuple[Integers, Integers]:
        """Read the rows of one form; give back those of another and those that are damaged."""
        form = self._forms[all_rows.length][form_index]
        rows = all_rows if left.size == all_rows.numbers.size else all_rows.take(left)
        alike = np.ones(left.size, np.bool_)
        for index, bits, expected in form.head:
            alike &= (rows.column(8 * index, "<u8") & bits) == expected
        other = left[:0]
        if not alike.all():
            other, left = left[~alike], left[alike]
            rows = rows.take(np.flatnonzero(alike))
        if not left.size:
            return other, left
        words = [rows.column(8 * index, "<u8") & bits for index, bits in form.words]
        order, cuts, same = self._group(words)
        firsts = order[cuts[:-1]]
        fixed = np.stack([word[firsts] for word in words], axis=1)
        templates = [
            self._template(rows, form_index, row, key.tobytes())
            for row, key in zip(firsts.tolist(), fixed, strict=True)
        ]
        known = np.array([template is not None for template in templates])
        if not (known.all() and same.all()):
            fits = np.repeat(known, np.diff(cuts)) & same[order]
            other = np.sort(np.concatenate((other, left[order[~fits]])))
            cuts = np.concatenate(([0], np.cumsum(np.add.reduceat(fits.astype(np.int64), cuts[:-1]))))
            order = order[fits]
        found, damaged = _emit(rows, order, form, templates, cuts)
        points.extend(found)
        return other, left[damaged]

    def _group(self, words: list[Words]) -> tuple[Integers, Integers, Mask]:
        """Group rows with equal words.

        Returns:
            Rows sorted by group and, within a group, as before; where in them each group begins, and their
            number; and for each row whether it really equals the first of its group. Two kinds of rows whose
            hashes collide share a group, and only the first kind equals.
        """
        key = words[0].copy()
        for word in words[1:]:
            key *= np.uint64(0x9E3779B97F4A7C15)  # odd, with spread bits: Fibonacci hashing
            key ^= word
        key *= np.uint64(0x9E3779B97F4A7C15)
        bucket = (key >> np.uint64(_BUCKET_SHIFT)).astype(np.uint16)
        rows = np.arange(bucket.size)
        self._first_of_bucket[bucket[::-1]] = rows[::-1]
        first = self._first_of_bucket[bucket]
        same = np.ones(bucket.size, np.bool_)
        for word in words:
            same &= word == word[first]
        order = np.argsort(bucket, kind="stable")
        ordered = bucket[order]
        cuts = np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, [bucket.size]))
        return order, cuts, same

    def _template(self, rows: _Rows, form_index: int, row: int, fixed: bytes) -> _Template | None:
        """Template of a row of a form; None if the row is damaged or of another form after all."""
        key = rows.length, form_index, fixed
        if key in self._templates:
            return self._templates[key]
        form, template = self._decode(rows, row)
        if form is None or form.identity != self._forms[rows.length][form_index].identity:
            return None
        if len(self._templates) < _MAX_TEMPLATES:
            self._templates[key] = template
        return template


def _emit(
    rows: _Rows, order: Integers, form: _Form, templates: list[_Template | None], cuts: Integers
) -> tuple[list[Points], Integers]:
    """Points of rows sorted by template, and the rows whose checksum does not fit."""
    intact = _checksums_fit(rows, order, form, templates, cuts)
    numbers, steps = rows.numbers[order], _steps(rows, form)[order]
    times_s = rows.column(form.time_start, "<f8")[order]
    columns = [
        values_of(rows.column(start, stored_dtype(stored))[order], stored) for start, stored in form.values
    ]
    all_intact = bool(intact.all())
    points = []
    for template, start, stop in zip(templates, cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        if template is None or start == stop:
            continue
        part = slice(start, stop) if all_intact else start + np.flatnonzero(intact[start:stop])
        for tag, values in zip(template.tags, columns, strict=True):
            points.append(Points(tag, numbers[part], steps[part], times_s[part], values[part]))
    return points, order[~intact]


def _steps(rows: _Rows, form: _Form) -> Integers:
    """Steps, int64, shape (n,); a negative one is a varint of ten bytes that wraps around."""
    steps = np.zeros(rows.numbers.size, np.uint64)
    for index, place in enumerate(form.step_places):
        low_bits = (rows.cells[:, place] & np.uint8(0x7F)).astype(np.uint64)
        steps |= low_bits << np.uint64(7 * index)
    return steps.view(np.int64)


def _checksums_fit(
    rows: _Rows, order: Integers, form: _Form, templates: list[_Template | None], cuts: Integers
) -> Mask:
    """Whether each row fits its checksum, in the given order."""
    varying = np.zeros(rows.numbers.size, np.uint32)
    for place in form.varying:
        # mode="wrap" leaves out a bounds check that a byte cannot fail
        varying ^= byte_table(form.length - 1 - place).take(rows.cells[:, place], mode="wrap")
    zeroed = [0 if template is None else template.zeroed_checksum for template in templates]
    checksums = np.repeat(np.array(zeroed, np.uint32), np.diff(cuts)) ^ varying[order]
    stored = rows.column(form.length, "<u4")[order]
    fits: Mask = (mask_checksums(checksums) == stored) | (stored == np.uint32(NO_CHECKSUM))
    return fits
