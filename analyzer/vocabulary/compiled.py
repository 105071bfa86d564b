"""Regular expressions as Python compiled them, kept between runs: compiling takes an eighth of a small diagnosis.

What ``re`` makes of an expression is a list of numbers that only the same interpreter understands, and making a pattern of
it is no documented interface. So the file is keyed by the interpreter, and an expression is kept only if the pattern made
of its numbers equals the one that ``re.compile`` made; all others are compiled in each run.
"""

from __future__ import annotations

import re
import sys
from array import array
from binascii import b2a_base64
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from analyzer.lazy_regex import ANEW, KEPT, built
from analyzer.vocabulary import cache

WORTH_WRITING = 20
"""Expressions compiled in one run: fewer cost less than writing the file."""

MOST = 1_000
"""Expressions that are kept, a third of a megabyte for the 300 of one run; beyond that a run begins anew with its own."""


@contextmanager
def kept_expressions() -> Iterator[None]:
    """Use what earlier runs compiled; at the end keep what this one did."""
    key = cache.key_of(
        [], "compiled: a line each", sys.version, str(getattr(import_module("_sre"), "MAGIC", ""))
    )
    known, codes = cache.read_with_texts("compiled", key)
    KEPT.update({text: (*parts, code) for (text, *parts), code in zip(known or (), codes, strict=True)})
    yield
    if len(ANEW) >= WORTH_WRITING:
        anew = {text: parts for text, pattern in ANEW.items() if (parts := parts_of(pattern))}
        all_of_them = {**(KEPT if len(KEPT) + len(anew) <= MOST else {}), **anew}
        told = [(text, *parts[:-1]) for text, parts in all_of_them.items()]
        cache.write("compiled", key, told, [parts[-1].decode() for parts in all_of_them.values()])
        ANEW.clear()


def parts_of(pattern: re.Pattern[str]) -> tuple[Any, ...] | None:
    """What ``built`` needs to make an equal pattern; None if this Python cannot tell it."""
    try:
        tree = import_module("re._parser").parse(pattern.pattern)
        numbers = import_module("re._compiler")._code(tree, 0)  # noqa: SLF001
        code = b2a_base64(array("I", numbers), newline=False)
        parts = (pattern.flags, pattern.groups, dict(pattern.groupindex), code)
        again = built(pattern.pattern, *parts)
    except Exception:  # noqa: BLE001  (no stable interface: what it does not give is not kept)
        return None
    return parts if again == pattern and again.groupindex == pattern.groupindex else None
