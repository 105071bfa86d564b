"""Parse a condition into a checked syntax tree.

Allowed are constants, dotted fact names, ``and or not``, comparisons (chained too), ``in [literals]``,
``+ - * /`` and ``abs min max``. Nothing else: no subscripts, attribute walks, calls or comprehensions.
A dotted name is a key of a flat dictionary, so ``config.x.__class__`` is merely an unknown fact.
Who makes a condition may say what further names stand for (named conditions, see ``rules/gates.py``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from analyzer.errors import RuleSyntaxError

MAX_CHARACTERS = 600
MAX_NODES = 120
MAX_SPELLED, MAX_DEPTH = 4_000, 200
"""Parts of a condition when what it names stands in its place: gates that name gates grow without end otherwise. A list
of all events has some 500."""

FUNCTIONS = frozenset({"abs", "min", "max"})
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)

Named = Callable[[ast.expr, str], ast.expr | None]
"""What a part of a condition at a place stands for; None for a part that stands for itself."""


@dataclass(frozen=True)
class Condition:
    """A condition, parsed and checked when it is first used.

    Attributes:
        text: As the author wrote it.
        where: ``path:line:column`` for the error message.
        named: Knows the named conditions that it may mention.
        checked: That it is in the language was found out before.
    """

    text: str
    where: str = field(default="", compare=False)
    named: Named | None = field(default=None, compare=False, repr=False)
    checked: bool = field(default=False, compare=False, repr=False)

    @cached_property
    def tree(self) -> ast.expr:
        """The checked syntax tree, a fact as one name; raises ``RuleSyntaxError`` if the text is not in the language."""
        spelled = _Spelled(self.named, self.where)
        tree: ast.expr = spelled.visit(_parse(self.text, self.where))
        if not self.checked:
            if spelled.found or not _is_small(self.text):
                _refuse_large(tree, self.text, self.where)
            _check(tree, self.text, self.where, {})
        return tree

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every fact that the condition mentions, in order of first use."""
        found: dict[str, None] = {}
        _check(self.tree, self.text, self.where, found)
        return tuple(found)


def dotted_name(node: ast.expr) -> str | None:
    """``a.b.c`` for a chain of attributes on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def is_literal(node: ast.expr) -> bool:
    """A constant, or a negative number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str)


def compile_condition(text: str, where: str = "", named: Named | None = None) -> Condition:
    """A condition that is known to be in the language.

    Args:
        text: The condition, at most 600 characters and 120 syntax nodes.
        where: ``path:line:column`` for the error message.
        named: Knows the named conditions that it may mention.

    Raises:
        RuleSyntaxError: The text is not in the language; the message names the first offending part.
    """
    condition = Condition(text.strip(), where, named)
    assert condition.names is not None  # parse and check now
    return condition


def _parse(text: str, where: str) -> ast.expr:
    if len(text) > MAX_CHARACTERS:
        raise RuleSyntaxError(f"condition has {len(text)} characters; at most {MAX_CHARACTERS}", where)
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuleSyntaxError(f"cannot parse condition {text!r}: {error}", where) from error
    # a name of n parts is n nodes, hence the factor
    if not _is_small(text) and sum(1 for _ in ast.walk(tree)) > MAX_NODES * 2:
        raise RuleSyntaxError(f"condition {text!r} is too complex; move it into a detector", where)
    return tree


def _is_small(text: str) -> bool:
    """Whether a text is so short that it cannot have too many parts: each character makes at most two nodes."""
    return len(text) <= MAX_NODES


def _refuse_large(tree: ast.expr, text: str, where: str) -> None:
    """Count the parts one by one: gates share theirs, so that few of them can stand for billions."""
    count, rest = 0, [(tree, 0)]
    while rest:
        node, depth = rest.pop()
        count += 1
        if count > MAX_SPELLED or depth > MAX_DEPTH:
            raise RuleSyntaxError(f"condition {text!r} stands for too much; name fewer gates", where)
        rest += [(child, depth + 1) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


class _Spelled(ast.NodeTransformer):
    """Puts in the place of each named part what it stands for, and one name in that of a dotted one.

    Attributes:
        found: Whether anything named was there.
    """

    def __init__(self, named: Named | None, where: str) -> None:
        self._named, self._where = named, where
        self.found = False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant | ast.Name) or not isinstance(node, ast.expr):
            return node
        found = self._named(node, self._where) if self._named is not None else None
        if found is not None:
            self.found = True
            return found
        if isinstance(node, ast.Attribute):
            name = dotted_name(node)
            return node if name is None else ast.Name(name)
        # nearly all parts are of these kinds; looking through the fields of any kind costs more
        if isinstance(node, ast.BoolOp):
            node.values = [self.visit(value) for value in node.values]
        elif isinstance(node, ast.Compare):
            node.left = self.visit(node.left)
            node.comparators = [self.visit(value) for value in node.comparators]
        else:
            return self.generic_visit(node)
        return node


def _check(node: ast.expr, text: str, where: str, names: dict[str, None]) -> None:
    if isinstance(node, ast.Name):
        names[node.id] = None
        return
    children = _children(node)
    if children is None:
        _refuse(node, text, where)
    for child in children or ():
        _check(child, text, where, names)


def _children(node: ast.expr) -> list[ast.expr] | None:
    """Sub-expressions of an allowed node, None for a node outside the language."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return []
        case ast.BoolOp(values=values):
            return list(values)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd(), operand=operand):
            return [operand]
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _ARITHMETIC):
            return [left, right]
        case ast.Compare():
            return _compare_children(node)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and args:
            return None if any(isinstance(arg, ast.Starred) for arg in args) else list(args)
        case _:
            return None


def _compare_children(node: ast.Compare) -> list[ast.expr] | None:
    children = [node.left]
    for operator, right in zip(node.ops, node.comparators, strict=True):
        if not isinstance(operator, _COMPARISONS):
            return None
        if isinstance(operator, ast.In | ast.NotIn):
            if not isinstance(right, ast.List) or not all(is_literal(element) for element in right.elts):
                return None
        else:
            children.append(right)
    return children


def _refuse(node: ast.expr, text: str, where: str) -> None:
    part = ast.get_source_segment(text.strip(), node) or type(node).__name__
    raise RuleSyntaxError(f"{part!r} is not allowed in a condition ({text.strip()!r})", where)
