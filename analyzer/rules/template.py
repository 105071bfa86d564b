"""Fill facts into a rule's sentence. Plain names only: no attributes, no indexing, no format codes.

``{fact}`` reads "an unknown value" if the fact is unknown, ``{fact|other words}`` reads the other words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from analyzer.model.tables import Scalar
from analyzer.model.wording import format_scalar

_HOLE = re.compile(r"\{([a-z0-9_.]+)(?:\|([^{}|]*))?\}")


def holes(text: str) -> tuple[str, ...]:
    """Names of the facts that a template mentions."""
    return tuple(match[1] for match in _HOLE.finditer(text))


def fill(text: str, facts: Mapping[str, Scalar]) -> str:
    """The sentence with its facts.

    >>> fill("stopped {run.when|at some step} with {run.code}", {"run.code": 3})
    'stopped at some step with 3'
    """

    def word(match: re.Match[str]) -> str:
        if match[1] in facts:
            return format_scalar(facts[match[1]])
        return "an unknown value" if match[2] is None else match[2]

    return _HOLE.sub(word, text)
