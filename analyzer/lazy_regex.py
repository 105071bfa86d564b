"""A regular expression that is compiled when it is first used.

The parsers hold some hundred expressions, and one log needs a dozen of them: compiling all of them at
import would cost more than reading a small run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_METHODS = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub")


class LazyRegex:
    """Like a compiled pattern of text, with the methods that parsers use.

    Args:
        pattern: The expression.
    """

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    findall: Callable[..., list[Any]]
    finditer: Callable[..., Iterator[re.Match[str]]]
    fullmatch: Callable[..., re.Match[str] | None]
    split: Callable[[str], list[str]]
    sub: Callable[..., str]

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        # Called only for what is not yet in the instance: from the second use on, calls cost nothing extra.
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return self.__dict__[name]
