"""Fill facts into a rule's sentence. Plain names only: no attributes, no indexing, no format codes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from analyzer.model.tables import Scalar
from analyzer.model.wording import format_scalar

_HOLE = re.compile(r"\{([a-z0-9_.]+)\}")


def holes(text: str) -> tuple[str, ...]:
    """Names of the facts that a template mentions."""
    return tuple(_HOLE.findall(text))


def fill(text: str, facts: Mapping[str, Scalar]) -> str:
    """The sentence with its facts; an unknown fact reads as "an unknown value"."""
    return _HOLE.sub(lambda m: format_scalar(facts[m[1]]) if m[1] in facts else "an unknown value", text)
