"""Walk JSON text member by member, keeping line numbers and everything before a damaged place.

``json.loads`` gives neither: one missing brace at the end of a large file loses all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from analyzer.lazy_regex import LazyRegex

_BLANK = LazyRegex(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_Item = TypeVar("_Item")


class JsonTextError(Exception):
    """The text stops being JSON."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class JsonReader:
    r"""A cursor over JSON text.

    ``members`` and ``elements`` stop at each value; the caller then takes it with ``value``, walks into it
    with ``members`` or ``elements``, or leaves it and it is skipped. Bare ``NaN`` and ``Infinity`` are read.

    >>> reader = JsonReader('{"a": [1,\n {"b": NaN}], "c": "x"}')
    >>> [(key, reader.key_line) for key in reader.members()]
    [('a', 1), ('c', 2)]
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.key_line = 1
        self._counted_to = 0
        self._line = 1

    def line(self, position: int | None = None) -> int:
        """1-based line of a position, by default of the cursor."""
        position = self.position if position is None else position
        if position >= self._counted_to:
            self._line += self.text.count("\n", self._counted_to, position)
        else:
            self._line -= self.text.count("\n", position, self._counted_to)
        self._counted_to = position
        return self._line

    def peek(self) -> str:
        """The next character that is not blank, empty at the end."""
        match = _BLANK.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.text[self.position : self.position + 1]

    def value(self) -> Any:
        """Decode the value at the cursor and step behind it.

        Raises:
            JsonTextError: The text is not JSON from here, is nested too deeply, or ends in a number that may be cut.
        """
        self.peek()
        try:
            decoded, self.position = _DECODER.raw_decode(self.text, self.position)
        except json.JSONDecodeError as error:
            raise JsonTextError(error.msg, self.line(error.pos)) from error
        except RecursionError as error:
            raise JsonTextError("nested too deeply", self.line()) from error
        except ValueError as error:  # an integer of thousands of digits
            raise JsonTextError(str(error), self.line()) from error
        if (
            self.position == len(self.text)
            and isinstance(decoded, int | float)
            and not isinstance(decoded, bool)
        ):
            raise JsonTextError("the text ends within a number", self.line())
        return decoded

    def members(self) -> Iterator[str]:
        """Keys of the object at the cursor; ``key_line`` is the line of the key just given.

        Raises:
            JsonTextError: The text is not JSON from here.
        """
        self._expect("{")
        if self._take("}"):
            return
        while True:
            if self.peek() != '"':
                raise JsonTextError("expected a key in double quotes", self.line())
            self.key_line = self.line()
            key = self.value()
            self._expect(":")
            self.peek()
            yield from self._visit(key)
            if not self._take(","):
                self._expect("}")
                return

    def elements(self) -> Iterator[int]:
        """Line of each element of the array at the cursor.

        Raises:
            JsonTextError: The text is not JSON from here.
        """
        self._expect("[")
        if self._take("]"):
            return
        while True:
            self.peek()
            yield from self._visit(self.line())
            if not self._take(","):
                self._expect("]")
                return

    def _visit(self, item: _Item) -> Iterator[_Item]:
        start = self.position
        yield item
        if self.position == start:
            self.value()

    def _take(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self.position += 1
        return True

    def _expect(self, character: str) -> None:
        if not self._take(character):
            found = self.peek()
            raise JsonTextError(
                f"expected {character!r}, found {found!r}" if found else "the text ends here", self.line()
            )
