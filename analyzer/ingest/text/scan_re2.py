"""Literals by google-re2: a set tells which of them a piece of a block holds, ``bytes.find`` then tells where."""

from __future__ import annotations

import re2  # type: ignore[import-untyped,import-not-found,unused-ignore]

PIECE_BYTES = 1 << 16
"""A block is asked in pieces of this size, so that a rare literal costs one piece and not the block."""

MAX_MEMORY_BYTES = 64 << 20
"""For the automaton of some thousand literals; it is built as far as a log needs it."""


class Re2Prefilter:
    """See ``analyzer.ingest.text.scan.Prefilter``."""

    def __init__(self, literals: tuple[bytes, ...]) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1  # bytes as they are
        options.literal = True
        options.max_mem = MAX_MEMORY_BYTES
        self.literals = literals
        self._longest = max(map(len, literals), default=1)
        self._set = re2.Set.SearchSet(options)
        for literal in literals:
            self._set.Add(literal)
        self._set.Compile()

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """See ``Prefilter.find``."""
        if not self.literals:
            return []
        found: list[tuple[int, int]] = []
        for start in range(0, len(data), PIECE_BYTES):
            # What begins in a piece may end in the next one.
            piece = data[start : start + PIECE_BYTES + self._longest - 1]
            for index in self._set.Match(piece) or ():
                literal = self.literals[index]
                end = min(len(data), start + PIECE_BYTES + len(literal) - 1)
                position = data.find(literal, start, end)
                while position >= 0:
                    found.append((position, index))
                    position = data.find(literal, position + 1, end)
        found.sort()
        return found
