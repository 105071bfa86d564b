"""Whether the last epoch that a log counts was trained to its end, judged by the epochs before it.

``Epoch 3/3`` stands above the rows of an epoch in one trainer and below them in another, and the counter alone says no
more than that the epoch began. What follows it is held against what followed the counter of the epoch before: the
lines with which that one closed, or its length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from analyzer.ingest.text.text_layer import Block
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

EPOCH = LazyRegex(
    r"(?i)(?<![A-Za-z])(?:epochs?|époque|epoche|época|эпоха|エポック|에포크|轮次)\b[\"'\])]{0,2}[ \t]{0,4}[:=#\[(-]{0,3}[ \t]{0,8}"
    r"(\d{1,7})[ \t]{0,4}(?:/|of|out of)[ \t]{0,4}(\d{1,7})"
)
"""A counter of epochs with its end."""

LINE_BYTES = 600
"""Part of a line that is looked at, as in ``log_end``."""

BEFORE_BYTES = 2_000
"""Bytes above a counter that hold the lines with which the epoch before it closed."""

CLOSING_LINES = 4
"""Lines above a counter that may be closing words; the rows above them are told apart because they come again."""

MISSES = 200
"""Lines that speak of an epoch in other words (``'epoch': 1.2``) after which the search of a block is given up."""

SAME_LENGTH, SHORT = 0.9, 0.5
"""Parts of the length of the epoch before it that a whole epoch has, and that none has: the first one is longer by what
is said once, such as warnings and compilations."""

_TELLS = LazyRegex(
    r"(?i)\b(?:\w{0,20}[_ /-])?(?:loss|acc(?:uracy)?|ppl|perplexity|score|f1|auc|map|mse|mae|rmse|dice|iou|bleu|wer|psnr|reward|err(?:or)?)\b"
)
"""A quantity in the counter's own line."""

_OF_THE_END = LazyRegex(
    r"(?i)\b(?:eval\w{0,10}|valid\w{0,8}|val|test(?:ing)?|finish\w{0,4}|complet\w{0,4}|done|end(?:ed)?|summary|took|results?)\b"
)
"""The counter's line speaks of what comes behind the training of an epoch."""

_HELD_OUT = LazyRegex(
    r"(?i)\b(?:eval\w{0,10}|valid\w{0,8}|val|test\w{0,4}|dev|sav(?:ed?|ing)|checkpoint\w{0,3}|best)\b|\b(?:val|eval|test|dev)_"
)
"""What is printed once behind an epoch, where no epoch before it shows how one closes."""

_NUMBER = LazyRegex(r"(?i)[-+]?\d[\d.,:e+%-]*|\b(?:nan|inf)\b")
_BARE = LazyRegex(r"(?i)(?:^|[\s\]])epoch\b[\s:#\[(]{0,6}\d{1,6}\W{0,12}$")
"""A heading of an epoch that holds nothing else, but for what stands before the rows of a logger."""
_WORDS = (b"poch", b"POCH")
_SHOWN = re.compile(rb"[^\r\n]+")
_OF_SO_MANY = re.compile(rb"[/fF][ \t]{0,4}[\d\x80-\xff]")
"""The second number of a counter, in digits of any script, and what ends before it: a look that spares the closer one."""


class _Begin(NamedTuple):
    """Where a number of the counter stands first."""

    number: int
    epochs: int
    at: int
    """Bytes of the log above it."""
    line: str
    above: tuple[str, ...]
    """The lines above it, the nearest last."""


def shape(line: str) -> str:
    """A line without its numbers: rows of one wording have one shape.

    >>> shape("step 12 loss 0.5131") == shape("step 9 loss 1.2e-3")
    True
    """
    return _NUMBER.sub("#", line.strip())


class EpochCourse:
    """Where the last two epochs of a log begin."""

    def __init__(self) -> None:
        self._size = 0
        self._above = b""
        self._begins: list[_Begin] = []
        self._later = False  # whether the last but one was not the first

    def note(self, block: Block) -> None:
        """Look for the first counter of each epoch in the next block of the log."""
        data = block.data
        if words := [word for word in _WORDS if word in data]:
            for at, line, number, epochs in self._new_numbers(data, words):
                self._begin(number, epochs, at, line, data)
        self._above = (
            (self._above + data)[-BEFORE_BYTES:] if len(data) < BEFORE_BYTES else data[-BEFORE_BYTES:]
        )
        self._size += len(data)

    def _new_numbers(self, data: bytes, words: Sequence[bytes]) -> list[tuple[int, str, int, int]]:
        """First line of each number that the block adds, from the last one back to what is known."""
        known = self._begins[-1] if self._begins else None
        found: list[tuple[int, str, int, int]] = []
        end, misses = len(data), 0
        while misses < MISSES and (at := max(data.rfind(word, 0, end) for word in words)) >= 0:
            newline = data.rfind(b"\n", 0, at)
            end = begin = max(newline, data.rfind(b"\r", newline + 1, at)) + 1
            shown = _SHOWN.match(data, begin, begin + LINE_BYTES)
            line = shown[0].decode("utf-8", "replace") if shown and _OF_SO_MANY.search(shown[0]) else ""
            match = EPOCH.search(line)
            if match is None or int(match[1]) > int(match[2]):
                misses += 1
                continue
            number, epochs = int(match[1]), int(match[2])
            if known is not None and (number, epochs) == (known.number, known.epochs):
                break
            if found and found[-1][2] == number:
                found.pop()  # an earlier line of the same epoch
            found.append((begin, line, number, epochs))
        return found[::-1]

    def _begin(self, number: int, epochs: int, at: int, line: str, data: bytes) -> None:
        above = (
            (self._above + data[:at])[-BEFORE_BYTES:] if at < BEFORE_BYTES else data[at - BEFORE_BYTES : at]
        )
        texts = [text for text in re.split(r"[\r\n]+", above.decode("utf-8", "replace")) if text.strip()]
        begin = _Begin(number, epochs, self._size + at, line, tuple(texts[-CLOSING_LINES:]))
        last = self._begins[-1] if self._begins else None
        follows = last is not None and last.epochs == epochs and last.number + 1 == number
        self._later = follows and len(self._begins) > 1
        self._begins = [self._begins[-1], begin] if follows else [begin]

    @property
    def line(self) -> str:
        """The first line of the last epoch; empty if no counter was seen."""
        return self._begins[-1].line if self._begins else ""

    def is_done(self, tail: Sequence[str]) -> bool | None:
        """Whether the last epoch was trained to its end; None if nothing tells it."""
        if not self._begins:
            return None
        last = self._begins[-1]
        before = self._begins[-2] if len(self._begins) > 1 else None
        at = next((i for i, line in enumerate(tail) if line[:LINE_BYTES] == last.line), None)
        behind = tail if at is None else tail[at + 1 :]
        if at is not None and (by_words := _by_own_words(last, tail[:at], behind)) is not None:
            return by_words
        if before is None:
            return True if _closed_by_score(behind) else None
        if _closed_alike(last, behind):
            return True
        part = (self._size - last.at) / (last.at - before.at)
        if part >= SAME_LENGTH:
            return True
        sure = part < SHORT or self._later or _closed_otherwise(last, behind)
        return False if sure else None


def is_heading(line: str) -> bool:
    """Whether a line counts an epoch and says no more."""
    return _BARE.search(line) is not None


def is_only_begun(head: Sequence[str], tail: Sequence[str]) -> bool:
    """Whether a log that ends with the heading of an epoch stops there: those before it have lines of their epoch below them.

    >>> rows = [line for epoch in range(5) for line in (f"epoch: {epoch}", f"loss {1 / (epoch + 1):.2f}")]
    >>> is_only_begun(rows, [*rows, "epoch: 5"]), is_only_begun(rows[1:], rows[1:-1])
    (True, False)
    """
    last = shape(tail[-1])
    headings = [at for at, line in enumerate(tail) if shape(line) == last][-3:]
    if len(headings) < 3 or min(second - first for first, second in pairwise(headings)) < 2:
        return False
    below = shape(tail[headings[-2] + 1])
    shapes = [
        shape(line) for line in head
    ]  # a counter that closes an epoch has such lines above its first one
    return last in shapes and below not in shapes[: shapes.index(last)]


def _counter(line: str) -> int | None:
    match = EPOCH.search(line)
    return None if match is None else int(match[1])


def _by_own_words(last: _Begin, above: Sequence[str], behind: Sequence[str]) -> bool | None:
    """What the counter's own line says: that it stands at the end of the epoch's training; None if it may be a heading."""
    if _OF_THE_END.search(last.line):
        return True if _TELLS.search(last.line) or any(re.search(r"\d", line) for line in behind) else None
    if not _TELLS.search(last.line):
        return None
    repeated = sum(_counter(line) == last.number for line in behind)
    repeated_above = sum(_counter(line) == last.number - 1 for line in above)
    if max(repeated, repeated_above - 1) >= 2:
        return None  # every row holds the counter
    rows = {shape(line) for line in last.above if _counter(line) is None}
    return None if any(shape(line) in rows for line in behind) else True


def _closed_alike(last: _Begin, behind: Sequence[str]) -> bool:
    """Whether the log ends with a line that also closed the epoch before, and that is none of its rows."""
    shapes = [shape(line) for line in behind]
    closing = {text for line in last.above if shapes.count(text := shape(line)) == 1}
    at = max((i for i, text in enumerate(shapes) if text in closing), default=-1)
    rows = {text for text in shapes if shapes.count(text) > 2}
    return at >= 0 and not any(text in rows for text in shapes[at:])


def _closed_otherwise(last: _Begin, behind: Sequence[str]) -> bool:
    """Whether the epoch before closed with a line that is none of the rows, and that did not come again."""
    shapes = [shape(line) for line in behind]
    return any(shape(line) not in shapes for line in last.above[-1:])


def _closed_by_score(behind: Sequence[str]) -> bool:
    """Whether a score on held-out data or a saved model stands behind the last row."""
    shapes = [shape(line) for line in behind]
    rows = {text for text in shapes if shapes.count(text) > 2}
    at = max((i for i, text in enumerate(shapes) if text in rows), default=-1)
    return any(_HELD_OUT.search(line) for line in behind[at + 1 :])
