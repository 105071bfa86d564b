r"""Members of a large JSON object one by one, in constant memory.

The standard parser needs the whole text; this walks over the top level and over one object in it, and hands each
member to the parser when it is complete. A file that ends in the middle gives all members before the cut.

>>> found = list(members([b'{"task": "x", "data": {"a": {"n": 1},', b' "b": 2}}'], "data"))
>>> [(member.key, member.value, member.inside) for member in found]
[('task', 'x', False), ('a', {'n': 1}, True), ('b', 2, True)]
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from analyzer.record import NamedTuple

MAX_MEMBER_CHARACTERS = 16 << 20
"""A member describes one module or operator: kilobytes. Beyond this the text is damaged."""

_SPACE = " \t\r\n"
_LONGEST_NUMBER = 400
_TAIL = 16  # characters: a literal such as "-Infinity" may be cut in the middle
_LOOKAHEAD = 3  # characters that tell whether a number goes on: "1.5" and "1.5e+" are both read as 1.5


class JsonStreamError(Exception):
    """Inside ingest only: the text is no JSON from some point on; the message says where and why."""


class Member(NamedTuple):
    """One member of an object: where its key stands (1-based line), and whether in the inner object."""

    key: str
    value: Any
    inside: bool
    line: int


def _whole_number(text: str) -> int | float:
    """A number without a point; of thousands of digits only the sign and that it is beyond all range."""
    if len(text) <= _LONGEST_NUMBER:
        return int(text)
    return -math.inf if text.startswith("-") else math.inf


class _Window:
    """The part of the text that is in memory."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._json = json.JSONDecoder(parse_int=_whole_number)
        self.text = ""
        self.at = 0
        self.passed = 0  # characters that are no longer in memory
        self.ended = False
        self._line = 1
        self._counted = 0  # up to here newlines are in _line

    @property
    def line(self) -> int:
        """1-based number of the line that is being read."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def more(self) -> bool:
        """Append about as much as is there already; False if the text has ended."""
        if self.ended:
            return False
        _ = self.line
        self._counted = 0
        self.text, self.passed, self.at = self.text[self.at :], self.passed + self.at, 0
        parts, wanted = [self.text], max(len(self.text), 1)
        while wanted > 0:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.ended = True
                parts.append(self._decoder.decode(b"", final=True))
                break
            parts.append(self._decoder.decode(chunk))
            wanted -= len(parts[-1])
        self.text = "".join(parts)
        return True

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self, *allowed: str) -> str:
        """Take one character of those allowed."""
        found = self.peek()
        if found not in allowed:
            what = (
                f"{found!r} where {' or '.join(allowed)} belongs" if found else "the text ends in the middle"
            )
            raise JsonStreamError(f"{what}, after {self.passed + self.at} characters")
        self.at += 1
        return found

    def value(self) -> Any:
        """Take one complete value."""
        self.peek()
        while True:
            try:
                found, end = self._json.raw_decode(self.text, self.at)
            except RecursionError:
                raise JsonStreamError(
                    f"nested too deeply, after {self.passed + self.at} characters"
                ) from None
            except json.JSONDecodeError as error:
                cut = error.pos >= len(self.text) - _TAIL or error.msg.startswith("Unterminated")
                self._want_more(error.msg if not cut or self.ended else "")
                continue
            if end > len(self.text) - _LOOKAHEAD and not self.ended:
                self._want_more("")
                continue
            self.at = end
            return found

    def _want_more(self, problem: str) -> None:
        place = f"after {self.passed + self.at} characters"
        if problem:
            raise JsonStreamError(
                f"{problem}, {place}" if not self.ended else f"the text ends in the middle, {place}"
            )
        if len(self.text) - self.at > MAX_MEMBER_CHARACTERS:
            raise JsonStreamError(f"one member has more than {MAX_MEMBER_CHARACTERS} characters, {place}")
        self.more()


def members(chunks: Iterable[bytes], inner: str) -> Iterator[Member]:
    """Members of the top-level object, and one by one those of the object under the key ``inner``.

    Args:
        chunks: UTF-8 bytes of the file, as they come.
        inner: Key of the object that is too large to be held.

    Yields:
        Members in the order of the file.

    Raises:
        JsonStreamError: What follows is no JSON, or the text ends in the middle.
    """
    window = _Window(chunks)
    if window.peek() == "\ufeff":
        window.at += 1
    for key, line in _keys(window):
        if key != inner or window.peek() != "{":
            yield Member(key, window.value(), inside=False, line=line)
            continue
        for name, place in _keys(window):
            yield Member(name, window.value(), inside=True, line=place)


def _keys(window: _Window) -> Iterator[tuple[str, int]]:
    """Keys of the object that begins here, each with its line; the caller takes each value."""
    window.take("{")
    if window.peek() == "}":
        window.take("}")
        return
    while True:
        window.peek()
        line = window.line
        key = window.value()
        if not isinstance(key, str):
            raise JsonStreamError(f"a key is no text, after {window.passed + window.at} characters")
        window.take(":")
        yield key, line
        if window.take(",", "}") == "}":
            return
