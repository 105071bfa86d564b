"""A regular expression that is compiled when it is first used, or taken as an earlier run compiled it.

The parsers hold some hundred expressions, and one log needs a few of them: compiling all of them at import would cost more than
reading a small run, and compiling those that it needs takes an eighth of it. So what Python compiled may be kept between runs
(``vocabulary/compiled.py``): ``KEPT`` holds it, ``ANEW`` what this process had to compile.
"""

from __future__ import annotations

import re
from array import array
from binascii import a2b_base64
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_METHODS = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub")

KEPT: dict[str, Sequence[Any]] = {}
"""Expression → flags, number of groups, their names, and its code as base64."""

ANEW: dict[str, re.Pattern[str]] = {}


def compiled(expression: str) -> re.Pattern[str]:
    """The expression as ``re.compile`` makes it; one of a fixed text, for what is compiled anew is remembered."""
    parts = KEPT.get(expression)
    if parts is not None:
        try:
            return built(expression, *parts)
        except Exception:  # noqa: BLE001  (no stable interface of Python: whatever it dislikes, ``re`` compiles again)
            KEPT.clear()
    made = ANEW[expression] = re.compile(expression)
    return made


def built(expression: str, flags: int, groups: int, names: Mapping[str, int], code: bytes) -> re.Pattern[str]:
    """A pattern of what was kept; Python checks the code before it is used."""
    name_of = {index: name for name, index in names.items()}
    return import_module("_sre").compile(  # type: ignore[no-any-return]
        expression, flags, array("I", a2b_base64(code)).tolist(), groups, dict(names),
        tuple(name_of.get(index) for index in range(groups + 1)),
    )  # fmt: skip


class LazyRegex:
    """Like a compiled pattern of text, with the methods that parsers use."""

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
        pattern = compiled(self.pattern)
        for method in _METHODS:
            setattr(self, method, getattr(pattern, method))
        return self.__dict__[name]
