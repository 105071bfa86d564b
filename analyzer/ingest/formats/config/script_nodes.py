"""Small questions to nodes of a syntax tree, and what was found by asking them."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from analyzer.model.config import ConfigScalar

LARGEST_INTEGER = 1 << 64
"""A literal beyond 64 bits is no setting: it would be refused or overflow wherever it is compared."""


@dataclass
class Part:
    """A plain statement of the script: a value and its line."""

    value: ConfigScalar
    line: int


@dataclass
class ScriptParts:
    """Everything found, under the keys with which it is recorded; a key with two different values says nothing."""

    found: dict[str, list[Part]] = field(default_factory=dict)

    def add(self, key: str, value: ConfigScalar, node: ast.AST) -> None:
        """Note one value where it stands."""
        if value is not None:
            self.found.setdefault(key, []).append(Part(value, getattr(node, "lineno", 1)))

    def agreed(self) -> Iterator[tuple[str, Part]]:
        """Keys all of whose values are alike, with the first place."""
        for key, parts in self.found.items():
            if len({(type(part.value), part.value) for part in parts}) == 1:
                yield key, parts[0]


def called(node: ast.AST | None) -> str:
    """Last name of what is called, "" for anything else.

    >>> called(ast.parse("nn.functional.softmax(x)").body[0].value)
    'softmax'
    """
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def last_name(node: ast.AST) -> str:
    """``d`` of ``a.b.d`` and of ``d``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """The value of the first keyword of one of the names."""
    return next((word.value for word in call.keywords if word.arg in names), None)


def literal(node: ast.AST | None) -> ConfigScalar:
    """A finite number, a word or a truth value; None for anything else."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, (bool, str)):
        return value if sign > 0 else None
    if isinstance(value, int):
        return sign * value if value <= LARGEST_INTEGER else None
    return sign * value if isinstance(value, float) and math.isfinite(value) else None
