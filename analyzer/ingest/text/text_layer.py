r"""Bytes of a log to logical records: encodings, carriage returns, escape sequences, endless lines.

Done once here for all text parsers. Nothing is decoded until somebody asks for a record: a log of a
gigabyte is passed as blocks of bytes that end at a record, and only records with a hit cost Python time.
Not for the meaning of a line: see ``prefixes``, ``patterns`` and ``metric_lines``.

A physical line may hold many records, because progress bars redraw themselves with ``\r``::

    b"  1%| | 1/100\r  2%| | 2/100\r{'loss': 2.5}\n"      # three records, all on line 1
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from analyzer.ingest.source_text import UTF16_MARKS, as_utf8
from analyzer.model.arrays import Bytes, Integers
from analyzer.record import dataclass, field

MAX_RECORD_BYTES = 65_536
"""Longest piece of a line that is looked at as a whole; longer lines are read in pieces of this size."""

BLOCK_BYTES = 1 << 20
"""Size of a block. Large enough that per-block costs vanish, small enough for the second-level cache."""

# CSI, OSC and two-byte escapes, and the orphan "[31m" whose ESC was lost on the way. An orphan "[m" before a
# letter is none: "[missing ranks: 3]", "[main]".
_ESCAPES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\r\n]{0,512}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]"
    rb"|\[\d{1,3}(?:;\d{1,3}){0,4}m|\[m(?![A-Za-z_])"
)
# Programs that colour text also reset it, so these show cheaply whether a block has colours without ESC.
_RESETS = (b"[0m", b"[39m", b"[m")


@dataclass(slots=True)
class Block:
    r"""Whole records of a log."""

    data: bytes  # UTF-8 (or any single-byte) text without escape sequences; records end with ``\n`` or ``\r``
    first_line: int = 1  # 1-based number of the first physical line, if ``numbers`` is None
    # number of each physical line, for logs that are stored as records of another file
    numbers: Sequence[int] | None = None
    # Unix seconds of each physical line, None where unknown; None for plain files
    times_s: Sequence[float | None] | None = None
    _newlines: Integers | None = field(default=None, init=False, repr=False)
    _breaks: Integers | None = field(default=None, init=False, repr=False)

    @property
    def text(self) -> Bytes:
        """uint8, shape (n_bytes,): the data as numbers."""
        return np.frombuffer(self.data, np.uint8)

    @property
    def newlines(self) -> Integers:
        """int64, shape (n_newlines,): positions of the newlines."""
        if self._newlines is None:
            breaks = self.breaks
            self._newlines = breaks[self.text[breaks] == ord("\n")]
        return self._newlines

    @property
    def breaks(self) -> Integers:
        """int64, shape (n_breaks,): positions of the newlines and carriage returns."""
        if self._breaks is None:
            found = np.flatnonzero(self.text <= ord("\r"))  # one pass; the others are tabs
            what = self.text[found]
            self._breaks = found[(what == ord("\n")) | (what == ord("\r"))]
        return self._breaks

    def number(self, index: int) -> int:
        """Line or record number of the ``index``-th physical line of the block."""
        if self.numbers is None:
            return self.first_line + index
        return self.numbers[min(index, len(self.numbers) - 1)]

    def time_s(self, index: int) -> float | None:
        """Time at which the ``index``-th physical line was written, if its container says so."""
        if self.times_s is None:
            return None
        return self.times_s[min(index, len(self.times_s) - 1)]


def strip_escapes(data: bytes) -> bytes:
    r"""Remove terminal escape sequences; unchanged (and not copied) if there are none.

    >>> strip_escapes(b"\x1b[31mstep:  1\x1b[39m  loss:[32m 8.1[0m")
    b'step:  1  loss: 8.1'
    """
    if b"\x1b" in data or _has_resets(data):
        return _ESCAPES.sub(b"", data)
    return data


def _has_resets(data: bytes) -> bool:
    """Whether one of ``_RESETS`` occurs; all end with the same letter, which NumPy finds ten times faster."""
    if len(data) < MAX_RECORD_BYTES:
        return any(reset in data for reset in _RESETS)
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("m"))
    ends = ends[ends >= 3]
    before = text[ends - 1]
    bracket = ord("[")
    zero = (before == ord("0")) & (text[ends - 2] == bracket)
    foreground = (before == ord("9")) & (text[ends - 2] == ord("3")) & (text[ends - 3] == bracket)
    return bool(((before == bracket) | zero | foreground).any()) or any(
        reset in data[:4] for reset in _RESETS
    )


def _by_powershell(chunks: Iterator[bytes]) -> tuple[bool, Iterator[bytes]]:
    """Whether a log holds errors as Windows PowerShell prints them, which marks what it writes, by its first chunk; and all as UTF-8."""
    head = next(chunks, b"")
    text = as_utf8(chain((head,), chunks))
    if not head.startswith((*UTF16_MARKS, codecs.BOM_UTF8)):
        return False, text
    from analyzer.ingest.text.console_width import SIGN  # noqa: PLC0415  (few logs begin with a mark of their encoding)

    first = next(text, b"")
    return SIGN.encode() in first, chain((first,), text)


def _lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    """Number and text of each line; of an endless one its pieces."""
    carry, number = b"", 1
    for chunk in chunks:
        *whole, carry = (carry + chunk).split(b"\n")
        for line in whole:
            yield number, line.decode("utf-8", "replace").removesuffix("\r")
            number += 1
        if len(carry) > MAX_RECORD_BYTES:
            yield number, carry.decode("utf-8", "replace")
            carry = b""
    if carry:
        yield number, carry.decode("utf-8", "replace")


def read_blocks(chunks: Iterable[bytes], on_long_line: Callable[[int], None]) -> Iterator[Block]:
    """Cut a byte stream into blocks of whole records, in constant memory.

    Args:
        chunks: The file, as it comes.
        on_long_line: Called once, with the line number, when a record is too long to be kept whole.

    Yields:
        Blocks in file order. A record longer than ``MAX_RECORD_BYTES`` may be spread over blocks.
    """
    is_printed, text = _by_powershell(iter(chunks))
    if is_printed:
        from analyzer.ingest.text.console_width import unwrapped  # noqa: PLC0415  (it is loaded by now)

        yield from line_blocks((number, line, None) for number, line in unwrapped(_lines(text)))
        return
    carry = before = b""
    held: Block | None = None  # the last one so far: only the end of the log tells whether it is
    line = 1
    told = False
    for chunk in text:
        data = carry + chunk if carry else chunk
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not cut and len(data) > MAX_RECORD_BYTES:
            cut = len(data)
            if not told:
                on_long_line(line)
                told = True
        carry = data[cut:]
        if cut:
            if held is not None:
                yield held
            held = Block(strip_escapes(data[:cut]), line)
            before = held.data[-BEFORE_BYTES:]
            line += held.newlines.size  # an escape sequence holds none
    if held is not None:
        yield held if carry else Block(_without_lost_digits(held.data), held.first_line)
    if carry:
        yield Block(without_torn_number(strip_escapes(carry), before), line)


def line_blocks(lines: Iterable[tuple[int, str, float | None]]) -> Iterator[Block]:
    """Blocks of lines that were stored one by one, as a tracker keeps its console.

    Args:
        lines: Line or record number, text, and unix seconds or None.
    """
    parts: list[str] = []
    numbers: list[int] = []
    times: list[float | None] = []
    size = 0
    for number, text, time_s in lines:
        body = text.removesuffix("\n")
        count = body.count("\n") + 1
        parts.append(body)
        numbers.extend([number] * count)
        times.extend([time_s] * count)
        size += len(body) + 1
        if size >= BLOCK_BYTES:
            yield _line_block(parts, numbers, times)
            parts, numbers, times, size = [], [], [], 0
    if parts:
        yield _line_block(parts, numbers, times)


def _line_block(parts: list[str], numbers: list[int], times: list[float | None]) -> Block:
    data = ("\n".join(parts) + "\n").encode("utf-8", "replace")
    return Block(strip_escapes(data), numbers=numbers, times_s=times)


def record_end(data: bytes, start: int) -> int:
    """Position of the separator that ends the record at ``start``, or where its first piece ends."""
    limit = min(len(data), start + MAX_RECORD_BYTES)
    newline = data.find(b"\n", start, limit)
    end = limit if newline < 0 else newline
    carriage_return = data.find(b"\r", start, end)
    return end if carriage_return < 0 else carriage_return


def record_start(data: bytes, position: int, floor: int) -> int:
    """Start of the record (or of its piece) that holds ``position``; never before ``floor``."""
    low = max(floor, position - MAX_RECORD_BYTES + 1)
    newline = data.rfind(b"\n", low, position)
    start = low if newline < 0 else newline + 1
    carriage_return = data.rfind(b"\r", start, position)
    return start if carriage_return < 0 else carriage_return + 1


_NUMBER = re.compile(rb"[-+]?\d[\d.]{0,40}(?:[eE][-+]?\d{0,4})?")
_AT_END = re.compile(rb"(?<![\w.])[-+]?\d[\d.]{0,40}(?:[eE][-+]?\d{0,4})?$")
_BREAKS = re.compile(rb"[\r\n]{1,64}")

LONGEST = 4_096
"""Bytes of a record that is looked at; a row of metrics has some hundred."""

BEFORE_BYTES = 32_768
"""Bytes before it in which a record of the same wording is looked for: a hundred rows, or some among much else."""


LONG_DIGITS = 8
"""Digits behind the point that no program chooses to print: they are all that the number has, and one without a point has lost them."""


def _without_lost_digits(data: bytes) -> bytes:
    r"""The end of a log that was copied, without a number at its end that lost its point and all behind it; who copies adds a line break.

    >>> _without_lost_digits(b"step 10 loss 0.3141592653589\nstep 20 loss 0\n")
    b'step 10 loss 0.3141592653589\nstep 20 loss \n'
    >>> _without_lost_digits(b"step 10 loss 0.3142\nstep 20 loss 0\n")
    b'step 10 loss 0.3142\nstep 20 loss 0\n'
    >>> _without_lost_digits(b"step 10 loss=0.3142, lr=0.1\nstep 20 loss=0.\n")
    b'step 10 loss=0.3142, lr=0.1\nstep 20 loss=\n'
    """
    text = data.rstrip(b"\r\n")
    if not text.removesuffix(b".")[-1:].isdigit():
        return data
    at = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
    kept = without_torn_number(text[at:], text[max(at - BEFORE_BYTES, 0) : at], LONG_DIGITS)
    return text[:at] + kept + data[len(text) :]


def without_torn_number(last: bytes, before: bytes, digits: int = 0) -> bytes:
    r"""The last record of a log that ends without a line break, without a number at its end that may be a piece.

    Args:
        last: The record.
        before: What stands before it.
        digits: Digits behind the point above of which one without a point was cut, where no other sign of a cut is one; 0 where any is.

    >>> without_torn_number(b"step 30 loss 2.4", b"step 10 loss 3.1417\nstep 20 loss 2.7182\n")
    b'step 30 loss '
    >>> without_torn_number(b"step 30 loss 2.4135", b"step 10 loss 3.1417\nstep 20 loss 2.7182\n")
    b'step 30 loss 2.4135'
    >>> without_torn_number(b"exit code: 1", b"step 10 loss 3.1417\n")
    b'exit code: 1'
    """
    torn = _AT_END.search(last) if len(last) <= LONGEST else None
    if torn is None:
        return last
    wording = _NUMBER.sub(b"#", last[: torn.start()]) + b"#"
    place = len(_NUMBER.findall(last[: torn.start()]))
    for record in reversed(_BREAKS.split(before[-BEFORE_BYTES:])):
        numbers = list(_NUMBER.finditer(record[:LONGEST]))
        if len(numbers) <= place or not _NUMBER.sub(b"#", record[:LONGEST]).startswith(wording):
            continue  # of another wording; also one that holds the sign of a number itself
        whole = numbers[place]
        is_whole = whole.end() == len(record) and _is_as_long(torn.group(), whole.group())
        if digits:
            behind = whole.group().partition(b".")[2]
            is_whole = whole.end() < len(record) or b"." in torn.group() or len(behind) < digits
            is_cut = torn.group().endswith(b".") and torn.group().count(b".") == 1
            is_whole = not behind if is_cut else is_whole
        return last if is_whole else last[: torn.start()]
    return last


ROWS_LIKE_IT = 2
"""Longer records that begin with the same wording: one may do so by chance."""


def is_piece(last: bytes, before: bytes) -> bool:
    r"""Whether the last record of a log that ends without a line break is the beginning of one like those above.

    Args:
        last: The record, without a torn number at its end.
        before: What stands before it.

    >>> rows = b"step 10 loss 3.1417\nstep 20 loss 2.7182\n"
    >>> is_piece(b"step 30 lo", rows), is_piece(b"step 30 loss ", rows), is_piece(b"step 30 loss 2.4135", rows)
    (True, True, False)
    >>> is_piece(b"bye", rows), is_piece(b"0.93", b"1 0.5 0.3\n2 0.4 0.3\n")  # a last word, a bare result
    (False, False)
    """
    if len(last) > LONGEST:
        return False
    wording = _NUMBER.sub(b"#", last.rstrip(b"\r\n"))
    if wording.count(b"#") < 2 and not re.search(rb"[A-Za-z]", wording):
        return False
    records = [
        _NUMBER.sub(b"#", record[:LONGEST]) for record in _BREAKS.split(before[-BEFORE_BYTES:]) if record
    ]
    longer = sum(record.startswith(wording) and len(record) > len(wording) for record in records)
    return longer >= ROWS_LIKE_IT and wording not in records


def _is_as_long(number: bytes, other: bytes) -> bool:
    """Whether a number has as many digits as one that is whole: behind the point, else before it, and in the exponent."""
    (digits, exponent), (others, power) = (re.split(rb"[eE]", each + b"e")[:2] for each in (number, other))
    (front, point, back), (front_of_other, point_of_other, back_of_other) = (
        each.partition(b".") for each in (digits, others)
    )
    if len(exponent) < len(power) or point != point_of_other:
        return False
    return len(back) >= len(back_of_other) if point else len(front) >= len(front_of_other)
