"""Python text as syntax trees, also where it is a piece of a notebook or was cut out of a page: what parses is kept."""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections.abc import Iterator

from analyzer.lazy_regex import LazyRegex

MAX_BLOCKS = 4000
"""Statements at the left edge that are parsed one by one; the longest training scripts have some hundred."""

_GOES_ON = LazyRegex(r"[ \t)\]}#]|else\b|elif\b|except\b|finally\b|$")
"""A line that cannot begin a statement at the left edge."""


def statements(text: str) -> Iterator[ast.stmt]:
    r"""The statements of a script, in order and with their lines.

    A text that is no Python as a whole (a fragment, a cell with "!pip install", print without brackets) is taken
    apart at the left edge, and pieces that do not parse are left out.

    >>> [type(node).__name__ for node in statements("!pip install x\nlr = 0.1\nlayers.Dense(3),\n])\nfit(x)")]
    ['Assign', 'Expr', 'Expr']
    """
    text = textwrap.dedent(text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(8))
    whole = _parsed(text)
    if whole is not None:
        yield from whole
        return
    for start, block in _blocks(text):
        found = _parsed(textwrap.dedent(block))
        if found is None:  # its beginning was cut off: without the brackets that close what stood before
            found = _parsed(textwrap.dedent(_opened(block)))
        for node in found or ():
            yield ast.increment_lineno(node, start)


_CLOSES = LazyRegex(r"[ \t)\]},:]*(?:#.*)?")


def _opened(block: str) -> str:
    """A block without the last lines that only close brackets or comment."""
    lines = block.split("\n")
    while lines and _CLOSES.fullmatch(lines[-1]):
        lines.pop()
    return "\n".join(lines)


def _parsed(text: str) -> list[ast.stmt] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in strings that are not ours
            return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """0-based first line and text of each piece that begins at the left edge."""
    held: list[str] = []
    begun = count = 0
    for number, line in enumerate(text.split("\n")):
        if held and not _GOES_ON.match(line):
            yield begun, "\n".join(held)
            count += 1
            if count >= MAX_BLOCKS:
                return
            held = []
        if not held:
            begun = number
        held.append(line)
    if held:
        yield begun, "\n".join(held)


def in_order(nodes: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node below the statements in the order of the text, without recursion."""
    pending: list[ast.AST] = list(reversed(nodes))
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(list(ast.iter_child_nodes(node))))
