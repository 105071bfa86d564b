"""What a failure or status line is, and how one line is matched against one pattern.

The patterns themselves are data, ``*/*.yaml`` beside this module, one file per family of lines; ``vocabulary.events`` reads
them and says how they are written.
A pattern says what the line *is*; what it means is for the rules to say. The literals are what the fast scan looks
for; the regex then reads the one line that holds a literal, unanchored, because several writers may share a line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache

from analyzer.lazy_regex import LazyRegex, compiled
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
from analyzer.vocabulary.events import NUMBER, SIZE, pattern_rows
from analyzer.vocabulary.packs import remembered

_UNIT_BYTES = {"bytes": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


__all__ = ["NUMBER", "SIZE", "Pattern", "all_patterns", "gib", "match_pattern"]


class Pattern(NamedTuple):
    """One kind of line."""

    kind: str  # name of the event
    role: str  # one of ``vocabulary.events.ROLES``: what part such a line plays when a run goes wrong
    literals: tuple[str, ...]  # texts of which at least one stands in every such line; case matters
    regex: str  # searched in the line; its named groups become fields
    # name of a group to its type where it is no text, see ``vocabulary.events.FIELD_TYPES``
    fields: Mapping[str, str] = {}
    more: tuple[str, ...] = ()  # further regexes whose groups are added if they match
    unless: str = ""  # if this is found in the line, the line is something else
    # name of a group to a table; the field is the table's text for what the group holds
    words: Mapping[str, Mapping[str, str]] = {}
    # only the first line with the same fields counts: a table of GPUs, not a thousand events
    once: bool = False


def gib(text: str) -> float:
    """A size such as "200.00 MiB" in GiB.

    >>> gib("200.00 MiB"), gib("4 GiB"), gib("0")
    (0.1953125, 4.0, 0.0)
    """
    number, unit = re.findall(r"([\d.]+) ?([A-Za-z]{0,20})", text)[0]
    return float(number) * _UNIT_BYTES.get(unit, _UNIT_BYTES.get(unit[:1], 1)) / 1024**3


def _typed(kind: str, text: str) -> Scalar | None:
    """A group's text as its declared type; None if it does not fit (an integer of a thousand digits)."""
    if kind == "int":
        digits = text.replace(",", "")
        return int(digits) if len(digits) <= 18 else None  # what fits an int64
    if kind == "float":
        value = float(text)
        return value if math.isfinite(value) else None
    if kind == "gib":
        return gib(text)
    return text.strip().lower() if kind == "lower" else text.strip()


_compiled = lru_cache(maxsize=1024)(compiled)
"""Patterns are compiled when a literal of theirs is first seen: most runs need a handful of 200."""


_WARNS = LazyRegex(r":\d{1,6}: \w{0,60}Warning: ")
"""How Python prints a warning, with file and line: the same words raised as an error end a run, these are only said.
Lines that are symptoms may well be warnings."""


def match_pattern(pattern: Pattern, text: str) -> dict[str, Scalar] | None:
    """The fields of a line, or None if the line is not of the pattern's kind."""
    match = _compiled(pattern.regex).search(text)
    if match is None or (pattern.unless and _compiled(pattern.unless).search(text)):
        return None
    if "Warning: " in text and pattern.role == "root_candidate" and _WARNS.search(text, 0, match.start()):
        return None
    groups = match.groupdict()
    for regex in pattern.more:
        extra = _compiled(regex).search(text)
        if extra is not None:
            groups = {
                **extra.groupdict(),
                **{name: value for name, value in groups.items() if value is not None},
            }
    found: dict[str, Scalar] = {}
    for name, text_of in pattern.words.items():
        groups[name] = text_of.get(groups.get(name) or "")
    for name, value in groups.items():
        typed = None if value is None else _typed(pattern.fields.get(name, "str"), value)
        if typed is not None and typed != "":
            found[name] = typed
    return found


@remembered
def all_patterns() -> tuple[Pattern, ...]:
    """Every pattern of every family."""
    return tuple(
        Pattern(kind, role, tuple(literals), regex, fields, tuple(more), unless, words, once)
        for kind, role, literals, regex, fields, more, unless, words, once in pattern_rows()
    )
