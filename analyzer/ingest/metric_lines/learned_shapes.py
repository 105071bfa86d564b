"""Expressions for whole rows, made from the first row of each kind that a log shows.

Trainers print the same names in the same order, row after row; which ones differs by version and settings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Shape = tuple[Callable[..., re.Match[bytes] | None], tuple[str, ...]]

NUMBER = rb"-?\d{1,15}(?:\.\d{0,18})?(?:[eE][-+]\d{1,3})?|nan|-?inf"
"""A number whose value Python's ``float`` gives as the readers of single lines do."""

PLAIN_BAR = (
    rb"[ \t]{0,64}\d{1,3}%\|[^|\r\n{]{0,380}\| {1,3}\d{1,12}/\d{1,12} \[[\d:<,.? ]{0,80}(?:s/it|it/s)?\]"
)
"""A progress bar without title and values, to which something may be glued that was printed past it."""

MAX_SHAPES = 8
"""Kinds of rows that are learned from one log; trainers have two or three."""

MAX_UNKNOWN = 1_000
"""Rows that fit no shape after which no further one is learned: such a log is read line by line."""


class LazyBytesRegex:
    """Like ``LazyRegex``, for bytes: compiled when it is first used, which most logs are too small for.

    Args:
        pattern: The expression.
    """

    match: Callable[..., re.Match[bytes] | None]
    fullmatch: Callable[..., re.Match[bytes] | None]
    findall: Callable[..., list[Any]]

    def __init__(self, pattern: bytes) -> None:
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        if name not in {"match", "fullmatch", "findall"}:
            raise AttributeError(name)
        compiled = re.compile(self.pattern)
        self.match, self.fullmatch, self.findall = compiled.match, compiled.fullmatch, compiled.findall
        return self.__dict__[name]


class LearnedShapes:
    """The kinds of rows met so far.

    Args:
        learn: Names of a row and the expression for all rows of its kind, or None if it is none of the form.
    """

    def __init__(self, learn: Callable[[bytes], tuple[tuple[str, ...], bytes] | None]) -> None:
        self._learn = learn
        self._shapes: list[Shape] = []
        self._unknown = 0

    def match(self, data: bytes, start: int, end: int) -> tuple[re.Match[bytes], tuple[str, ...]] | None:
        """The match of a row from its first to its last byte, and the names of its numbers."""
        for fullmatch, names in self._shapes:
            match = fullmatch(data, start, end)
            if match is not None:
                return match, names
        if len(self._shapes) >= MAX_SHAPES or self._unknown >= MAX_UNKNOWN:
            return None
        self._unknown += 1
        learned = self._learn(data[start:end])
        if learned is None:
            return None
        fullmatch = re.compile(learned[1]).fullmatch
        self._shapes.append((fullmatch, learned[0]))
        match = fullmatch(data, start, end)
        return None if match is None else (match, learned[0])
