"""Files of regular expressions: each name with its alternatives, one a line.

An alternative may hold what another name stands for, as ``(?&name)``. A first one of ``(?i)`` or ``(?s)`` holds for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from analyzer.errors import RuleSyntaxError
from analyzer.lazy_regex import LazyRegex
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_expression, check_section

_NAMED = LazyRegex(r"\(\?&([a-z_]{1,40})\)")
_FLAGS = frozenset({"(?i)", "(?s)"})


def read_expressions(file: MarkedFile) -> dict[str, str]:
    """Check a loaded file: each name with its whole expression; a name is declared above those that hold it.

    Raises:
        RuleSyntaxError: It is not as described; with line and column.
    """
    if not isinstance(file.data, dict):
        raise RuleSyntaxError("a file of expressions is a mapping of names", file.where())
    fields = {"file": dict.fromkeys(file.data, ("list", True))}
    found: dict[str, str] = {}
    for name, alternatives in check_section(file, fields, "file", file.data, ()).items():
        texts = [str(text) for text in alternatives]
        flags = texts.pop(0) if texts and texts[0] in _FLAGS else ""

        def stand_for(match: re.Match[str], name: str = name) -> str:
            if match[1] not in found:
                raise RuleSyntaxError(f"no expression above is called {match[1]!r}", file.where(name))
            return f"(?:{found[match[1]]})"

        found[name] = check_expression(file, flags + _NAMED.sub(stand_for, "|".join(texts)), name)
    return found


@lru_cache(maxsize=8)
def expressions(path: Path) -> Mapping[str, LazyRegex]:
    """The expressions of a file, each compiled when it is first used."""
    found: Mapping[str, str] = cache.checked_file("expressions", path, read_expressions)
    return {name: LazyRegex(expression) for name, expression in found.items()}
