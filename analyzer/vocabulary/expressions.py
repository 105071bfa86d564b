"""Keep between runs what `re` makes of regular expressions: a small diagnosis needs 300, a sixth of its time.

`re` works in two steps: an expression becomes a list of numbers, in Python, and that an object, in C, which checks the list.
The first step takes nearly all of the time, so its lists are kept, for one build of the interpreter. Where an interpreter
works otherwise, or a list is refused, the expression is compiled as ever.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from analyzer import lazy_regex
from analyzer.vocabulary import cache

if TYPE_CHECKING:
    from collections.abc import Iterator

WORTH_WRITING = 16
"""New expressions: a run that needs a few more than those before it leaves the file alone."""

MOST_KEPT = 5_000
"""More than all files of analyzer hold."""


@contextmanager
def kept_expressions() -> Iterator[None]:
    """Compile lazy expressions from what earlier runs kept, and keep what they did not."""
    key = cache.key_of([], sys.version, "expressions")
    names, lists = cache.read_with_texts("expressions", key)
    kept = dict(zip(names or (), lists, strict=False))
    made: dict[str, str] = {}

    def compiled(pattern: str) -> re.Pattern[str]:
        try:
            if pattern in kept:
                return _built(pattern, json.loads(kept[pattern]))
            made[pattern] = json.dumps(parts := _parts(pattern))
            return _built(pattern, parts)
        except Exception:  # noqa: BLE001  (of what is private to `re` nothing is sure; a wrong expression raises below)
            return re.compile(pattern)

    lazy_regex.compile_with(compiled)
    try:
        yield
    finally:
        lazy_regex.compile_with(re.compile)
        if len(made) >= WORTH_WRITING and len(kept) < MOST_KEPT:
            texts = [text.decode() for text in kept.values()]
            cache.write("expressions", key, [*kept, *made], [*texts, *made.values()])


def _parts(pattern: str) -> list[Any]:
    """What the object of an expression is made of, but for the expression: flags, numbers, count of groups, their names."""
    compiler = import_module("re._compiler")
    tree = import_module("re._parser").parse(pattern)
    names: dict[str, int] = tree.state.groupdict
    by_number = [
        None,
        *({at: name for name, at in names.items()}.get(n) for n in range(1, tree.state.groups)),
    ]
    numbers = [int(number) for number in compiler._code(tree, 0)]  # noqa: SLF001
    return [tree.state.flags, numbers, tree.state.groups - 1, names, by_number]


def _built(pattern: str, parts: list[Any]) -> re.Pattern[str]:
    *start, by_number = parts
    built: re.Pattern[str] = import_module("_sre").compile(pattern, *start, tuple(by_number))
    return built
