"""Find many literal strings in a block of bytes at once, in a time that does not grow with their number.

A literal of seven bytes or more holds, wherever it stands, at least one 4-byte word that begins at a
multiple of four. So it is enough to look at every *aligned* word of the block: NumPy hashes all of them
into a small table (about 1 ms per MB), and the few words that belong to a literal are compared in full.
Shorter literals are searched one by one with ``bytes.find``.

This is the engine that is always there. ``fast_prefilter`` gives a faster one for large logs, if google-re2 is
installed (``scan_re2``). Both report the same hits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Protocol

import numpy as np

WORD_BYTES = 4
MIN_HASHED_BYTES = 2 * WORD_BYTES - 1

_HASH_BITS = 16  # a table of 64 KiB stays in the first-level cache; 2 % of random words pass it
_MULTIPLIER = np.uint32(0x9E3779B1)  # Knuth's multiplicative hash: 2**32 over the golden ratio
_SHIFT = np.uint32(32 - _HASH_BITS)

ONE_BY_ONE_BYTES = 1 << 15
"""Bytes whose words are looked up one by one in the time that it takes to fill the table with 4,000 literals."""

_RUN = re.compile(rb"(.)\1{3}", re.DOTALL)

SAMPLE_BYTES = 1 << 18
"""Bytes of a log that show which words are frequent in it."""


class Prefilter(Protocol):
    """Finds a fixed set of literals."""

    @property
    def literals(self) -> tuple[bytes, ...]:
        """What is searched for."""

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """All occurrences as (position, index of the literal), overlapping ones too, sorted."""


@lru_cache(maxsize=16)
def fast_prefilter(literals: tuple[bytes, ...]) -> Prefilter | None:
    """The engine of google-re2; None if its package is not installed, or does not work here."""
    try:
        made: Prefilter = import_module("analyzer.ingest.text.scan_re2").Re2Prefilter(literals)
    except Exception:  # noqa: BLE001  (no package, no such CPU, a limit of its own)
        return None
    return made


class LiteralScanner:
    """Finds every occurrence of a fixed set of literals with NumPy alone.

    Args:
        literals: Distinct byte strings without line separators.
        sample: Some bytes of the log. If given, literals are looked up by words that are rare in it, which
            saves most of the time on a large log and is not worth its own time on a small one.
    """

    def __init__(self, literals: Sequence[bytes], sample: bytes = b"") -> None:
        self.literals = tuple(literals)
        self._counts = _word_counts(sample[:SAMPLE_BYTES])
        self._short: list[tuple[int, bytes]] = []
        self._places: dict[int, list[tuple[int, int]]] = {}
        for index, literal in enumerate(self.literals):
            if _can_be_hashed(literal):
                self._register(index, literal)
            else:
                self._short.append((index, literal))
        self._words = np.array(sorted(self._places), dtype=np.uint32)
        self._table = np.zeros(1 << _HASH_BITS, dtype=np.bool_)
        self._table[(self._words * _MULTIPLIER) >> _SHIFT] = True

    def _register(self, index: int, literal: bytes) -> None:
        """For each alignment of the literal, note its word that is rarest in the sample, or its first."""
        for residue in range(WORD_BYTES):
            chosen, least = (0, 0), (True, 1 << 62)
            for offset in _offsets(literal, residue):
                word = int.from_bytes(literal[offset : offset + WORD_BYTES], "little")
                cost = (_is_one_byte(word), self._counts.get(word, 0))
                if cost < least:
                    least, chosen = cost, (word, offset)
                if least == (False, 0):
                    break
            self._places.setdefault(chosen[0], []).append((chosen[1], index))

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """See ``Prefilter.find``."""
        return sorted([*self._find_hashed(data), *find_each(data, self._short)])

    def _find_hashed(self, data: bytes) -> list[tuple[int, int]]:
        count = len(data) // WORD_BYTES
        if not count or not self._words.size:
            return []
        words = np.frombuffer(data, dtype="<u4", count=count)
        candidates = np.flatnonzero(self._table[(words * _MULTIPLIER) >> _SHIFT])
        values = words[candidates]
        slots = np.searchsorted(self._words, values)
        slots[slots == self._words.size] = 0
        exact = self._words[slots] == values
        found: list[tuple[int, int]] = []
        places, literals = self._places, self.literals
        for block_index, word in zip(candidates[exact].tolist(), values[exact].tolist(), strict=True):
            for offset, index in places[word]:
                position = block_index * WORD_BYTES - offset
                if position >= 0 and data.startswith(literals[index], position):
                    found.append((position, index))
        return found


class PatientScanner:
    """A ``LiteralScanner`` that is made when it is worth its time: in what is small, literals are searched whose first word it holds."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self.literals = tuple(literals)
        self._width = min((WORD_BYTES, *map(len, self.literals)))
        self._bytes_left = ONE_BY_ONE_BYTES
        self._scanner: LiteralScanner | None = None

    @cached_property
    def _starts(self) -> dict[bytes, list[tuple[int, bytes]]]:
        """Literals by the bytes that they begin with."""
        starts: dict[bytes, list[tuple[int, bytes]]] = {}
        for index, literal in enumerate(self.literals):
            starts.setdefault(literal[: self._width], []).append((index, literal))
        return starts

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """See ``Prefilter.find``."""
        self._bytes_left -= len(data)
        if self._scanner is None and self._bytes_left >= 0:
            starts = self._starts
            words = {data[at : at + self._width] for at in range(len(data))}
            return sorted(hit for word in starts.keys() & words for hit in find_each(data, starts[word]))
        self._scanner = self._scanner or LiteralScanner(self.literals)
        return self._scanner.find(data)


def find_each(data: bytes, literals: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, int]]:
    """All occurrences of some literals, one by one; see ``Prefilter.find``."""
    for index, literal in literals:
        position = data.find(literal)
        while position >= 0:
            yield position, index
            position = data.find(literal, position + 1)


def _offsets(literal: bytes, residue: int) -> range:
    """Where the aligned words of a literal begin if it stands at some alignment."""
    return range(residue, len(literal) - WORD_BYTES + 1, WORD_BYTES)


def _is_one_byte(word: int) -> bool:
    """Whether a word is one byte four times, as in indentation and rules of dashes: some files hold nothing else."""
    return word == (word & 0xFF) * 0x01010101


def _can_be_hashed(literal: bytes) -> bool:
    """Whether a literal holds, however it is aligned, a word that is more than one byte four times."""
    if len(literal) < MIN_HASHED_BYTES or not _RUN.search(literal):
        return len(literal) >= MIN_HASHED_BYTES
    return all(
        any(len(set(literal[o : o + WORD_BYTES])) > 1 for o in _offsets(literal, residue))
        for residue in range(WORD_BYTES)
    )


def _word_counts(sample: bytes) -> dict[int, int]:
    """How often each aligned word occurs; words that occur once are left out."""
    words = np.frombuffer(sample, dtype="<u4", count=len(sample) // WORD_BYTES)
    values, counts = np.unique(words, return_counts=True)
    often = counts > 1
    return dict(zip(values[often].tolist(), counts[often].tolist(), strict=True))
