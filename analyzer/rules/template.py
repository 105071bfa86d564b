"""Fill facts into a rule's sentence. Plain names only: no attributes, no indexing, no format codes.

``{fact}`` reads "an unknown value" if the fact is unknown, ``{fact|other words}`` reads the other words.
A part in square brackets is left out if it mentions a fact that is unknown: ``the disk is full[ on {host}]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from analyzer.model.tables import Scalar
from analyzer.model.wording import format_scalar

_HOLE = re.compile(r"\{([a-z0-9_.]+)(?:\|([^{}|]*))?\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


UNKNOWN = "an unknown value"


def holes(text: str) -> tuple[str, ...]:
    """Names of the facts that a template mentions."""
    return tuple(match[1] for match in _HOLE.finditer(text))


def fill(text: str, facts: Mapping[str, Scalar]) -> str:
    """The sentence with its facts.

    >>> fill("stopped {run.when|at some step} with {run.code}[ on {run.host}]", {"run.code": 3})
    'stopped at some step with 3'
    """

    def word(match: re.Match[str]) -> str:
        if match[1] in facts:
            return format_scalar(facts[match[1]])
        return UNKNOWN if match[2] is None else match[2]

    def part(match: re.Match[str]) -> str:
        needed = [hole[1] for hole in _HOLE.finditer(match[1]) if hole[2] is None]
        if not needed:
            return match[0]  # brackets of the sentence itself
        return match[1] if all(name in facts for name in needed) else ""

    return _HOLE.sub(word, _OPTIONAL.sub(part, text))
