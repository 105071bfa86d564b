"""Fill facts into a rule's sentence. Plain names only: no attributes, no indexing, no format codes.

``{fact}`` reads "an unknown value" if the fact is unknown, ``{fact|other words}`` reads the other words, and
``{fact%}`` writes a share of one in percent.
A part in square brackets is left out if it mentions a fact that is unknown: ``the disk is full[ on {host}]``, and if what it says
stands before it already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar
from analyzer.model.wording import format_scalar, percent

_HOLE = LazyRegex(r"\{([a-z0-9_.]+)(%)?(?:\|([^{}|]*))?\}")
_OPTIONAL = LazyRegex(r"\[([^\[\]]*)\]")


UNKNOWN = "an unknown value"

SAID_ALREADY = 16
"""Characters from which a part that stands in the sentence before it says nothing more; a shorter one may be there by chance."""


def holes(text: str) -> tuple[str, ...]:
    """Names of the facts that a template mentions."""
    return tuple(match[1] for match in _HOLE.finditer(text))


def fill(text: str, facts: Mapping[str, Scalar]) -> str:
    """The sentence with its facts.

    >>> fill("stopped {run.when|at some step} with {run.code}[ on {run.host}], {run.lost%} lost", {"run.code": 3, "run.lost": 0.2})
    'stopped at some step with 3, 20% lost'
    >>> fill("refused[: {a.message}][ ({a.reason})]", {"a.message": "mode fastt is none of slow and fast", "a.reason": "mode fastt is none of"})
    'refused: mode fastt is none of slow and fast'
    """

    def word(match: re.Match[str]) -> str:
        value = facts.get(match[1])
        if value is None:
            return UNKNOWN if match[3] is None else match[3]
        return percent(float(value)) if match[2] and isinstance(value, int | float) else format_scalar(value)

    def part(match: re.Match[str]) -> str:
        needed = [hole[1] for hole in _HOLE.finditer(match[1]) if hole[3] is None]
        if not needed:
            return match[0]  # brackets of the sentence itself
        return match[1] if all(name in facts for name in needed) else ""

    said, end = "", 0
    for match in _OPTIONAL.finditer(text):
        said += _HOLE.sub(word, text[end : match.start()])
        told, end = _HOLE.sub(word, part(match)), match.end()
        core = told.strip(" :()")
        said += "" if len(core) >= SAID_ALREADY and core in said else told
    return said + _HOLE.sub(word, text[end:])
