"""What a message is made of, for the reader of unknown messages: hashed words, pairs of words and runs of characters.

Numbers, paths and addresses are masked, so that two runs of one fault look alike. Training and diagnosing use the same
function, so that a weight always means the same piece of text.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from itertools import pairwise

from analyzer.lazy_regex import LazyRegex

RUN = 5
"""Characters of a run: shorter ones are common to all messages, longer ones break with the first changed letter."""

LINE_CHARACTERS = 400
"""Of a line; what names a fault stands near its beginning."""

_MASKS: tuple[tuple[LazyRegex, str], ...] = (
    (LazyRegex(r"0x[0-9a-fA-F]{1,16}"), " "),
    (LazyRegex(r"(?:[A-Za-z]:)?(?:[\\/][\w.@+-]{1,200}){1,40}[\\/]"), " "),
    (LazyRegex(r"\d{1,400}"), " "),
    (LazyRegex(r"([a-z])(?=[A-Z])"), r"\1 "),
)
_WORD = LazyRegex(r"[a-z_]{1,60}")
_OTHER_WORD = LazyRegex(r"[^\W\d_a-zA-Z]{2,40}")


def masked(line: str) -> str:
    """A line without what differs from run to run, its words apart by one space.

    >>> masked("RuntimeError: /opt/a/b.py:12 rank 3 lost 0x7f")
    'runtime error b py rank lost'
    """
    text = line[:LINE_CHARACTERS]
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return " ".join(_WORD.findall(text.lower()) + _OTHER_WORD.findall(text))


def pieces(lines: Iterable[str]) -> set[int]:
    """Hashes of the pieces of some lines: 32 bits, so that hardly two of them are alike."""
    found: set[str] = set()
    for line in lines:
        text = masked(line)
        words = text.split(" ")
        found.update(f"w {word}" for word in words)
        found.update(f"b {first} {second}" for first, second in pairwise(words))
        found.update(text[at : at + RUN] for at in range(len(text) - RUN + 1))
    return {zlib.crc32(piece.encode()) for piece in found}
