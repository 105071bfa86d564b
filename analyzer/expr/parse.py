"""Parse a condition into a checked syntax tree.

Allowed are constants, dotted fact names, ``and or not``, comparisons (chained too), ``in [literals]``,
``+ - * /`` and ``abs min max``. Nothing else: no subscripts, attribute walks, calls or comprehensions.
A dotted name is a key of a flat dictionary, so ``config.x.__class__`` is merely an unknown fact.
Who makes a condition may say what further names stand for (named conditions, see ``rules/gates.py``).

A checked condition is a tree of lists: a fact is its name, a constant ``["=", value]``, anything else a word and its parts, such as
``["or", …]``, ``["neg", part]``, ``["max", …]`` or ``["compare", ["<", "in"], left, right, ["=", [1, 2]]]``. So it can be kept as JSON.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from analyzer.errors import RuleSyntaxError
from analyzer.record import dataclass, field

MAX_CHARACTERS = 600
MAX_NODES = 120
MAX_SPELLED, MAX_DEPTH = 4_000, 200
"""Parts of a condition when what it names stands in its place: gates that name gates grow without end otherwise. A list
of all events has some 500."""

FUNCTIONS = frozenset({"abs", "min", "max"})
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_OPERATORS: dict[type[ast.AST], str] = {
    ast.And: "and", ast.Or: "or", ast.Not: "not", ast.USub: "neg", ast.UAdd: "pos", ast.Add: "+", ast.Sub: "-", ast.Mult: "*",
    ast.Div: "/",
}  # fmt: skip
_STANDS_FOR = "named"
"""Key of a part that stands for another condition, in a form."""

FORM = "lists/1"
"""What a form looks like: whoever keeps some asks for it."""

Tree = str | list[Any]
Named = Callable[[str, str], Tree | None]
"""What a part of a condition, as text, at a place stands for; None for a part that stands for itself."""


@dataclass(frozen=True)
class Condition:
    """A condition, parsed and checked when it is first used."""

    text: str  # as the author wrote it
    where: str = field(default="", compare=False)  # ``path:line:column`` for the error message
    # knows the named conditions that it may mention
    named: Named | None = field(default=None, compare=False, repr=False)
    # its ``form``, if it was found out before; else empty
    known_form: str = field(default="", compare=False, repr=False)

    @cached_property
    def form(self) -> str:
        """The tree as JSON, each named condition by its name."""
        return self.known_form or _form_of(self.text, self.where, self.named)

    @cached_property
    def tree(self) -> Tree:
        """The checked tree; raises ``RuleSyntaxError`` if the text is not in the language."""
        if f'{{"{_STANDS_FOR}"' not in self.form:
            tree: Tree = json.loads(self.form)
            return tree
        assert self.named is not None
        tree = json.loads(self.form, object_hook=lambda part: self.named(part[_STANDS_FOR], self.where))  # type: ignore[misc]
        if not self.known_form:
            _refuse_large(tree, self.text, self.where)
        return tree

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every fact that the condition mentions, in order of first use."""
        return tuple(dict.fromkeys(mentioned(self.tree)))


def parts_of(tree: list[Any]) -> Sequence[Tree]:
    """The parts of a tree that are trees."""
    if tree[0] == "=":
        return ()
    return tree[2:] if tree[0] == "compare" else tree[1:]


def mentioned(tree: Tree) -> list[str]:
    """The facts in a tree, in order."""
    found: list[str] = []
    rest = [tree]
    while rest:
        part = rest.pop()
        if isinstance(part, str):
            found.append(part)
        else:
            rest += reversed(parts_of(part))
    return found


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
    assert condition.tree is not None  # parse and check now
    return condition


def _form_of(text: str, where: str, named: Named | None) -> str:
    if len(text) > MAX_CHARACTERS:
        raise RuleSyntaxError(f"condition has {len(text)} characters; at most {MAX_CHARACTERS}", where)
    try:
        tree = ast.parse(text, mode="eval").body
        # a name of n parts is n nodes, hence the factor
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES * 2:
            raise RuleSyntaxError(f"condition {text!r} is too complex; move it into a detector", where)
        return json.dumps(_Spelling(text, where, named).form(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuleSyntaxError(f"cannot parse condition {text!r}: {error}", where) from error


def _refuse_large(tree: Tree, text: str, where: str) -> None:
    """Count the parts one by one: gates share theirs, so that few of them can stand for billions."""
    count, rest = 0, [(tree, 0)]
    while rest:
        part, depth = rest.pop()
        count += 1
        if count > MAX_SPELLED or depth > MAX_DEPTH:
            raise RuleSyntaxError(f"condition {text!r} stands for too much; name fewer gates", where)
        if not isinstance(part, str):
            rest += [(child, depth + 1) for child in parts_of(part)]


class _Spelling:
    """Makes the form of a condition of Python's syntax tree, and refuses what is not in the language."""

    def __init__(self, text: str, where: str, named: Named | None) -> None:
        self._text, self._where, self._named = text, where, named

    def form(self, node: ast.expr) -> Any:
        """The form of a part."""
        name = dotted_name(node)
        if name is not None:
            return {_STANDS_FOR: name} if self._stands_for_another(name) else name
        match node:
            case ast.Constant():
                return ["=", self._literal(node)]
            case ast.BoolOp(op=operator, values=parts):
                return self._of(node, operator, *parts)
            case ast.UnaryOp(op=operator, operand=part):
                return self._of(node, operator, part)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._of(node, operator, left, right)
            case ast.Compare():
                return self._comparison(node)
            case ast.Call(func=ast.Name(id=word), args=args, keywords=[]) if word in FUNCTIONS and args:
                return [word, *map(self.form, args)]
            case ast.Call() if self._stands_for_another(text := ast.unparse(node)):
                return {_STANDS_FOR: text}
        return self._refuse(node)

    def _stands_for_another(self, text: str) -> bool:
        return self._named is not None and self._named(text, self._where) is not None

    def _of(self, node: ast.expr, operator: ast.AST, *parts: ast.expr) -> Any:
        word = _OPERATORS.get(type(operator))
        return self._refuse(node) if word is None else [word, *map(self.form, parts)]

    def _comparison(self, node: ast.Compare) -> Any:
        words = [_COMPARISONS.get(type(operator)) for operator in node.ops]
        if None in words:
            self._refuse(node)
        parts = [self.form(node.left)]
        for word, right in zip(words, node.comparators, strict=True):
            if word not in {"in", "not in"}:
                parts.append(self.form(right))
            elif isinstance(right, ast.List):
                parts.append(["=", [self._literal(element) for element in right.elts]])
            else:
                self._refuse(node)
        return ["compare", words, *parts]

    def _literal(self, node: ast.expr) -> Any:
        """The value of a constant, or of a negative number."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
        return self._refuse(node)

    def _refuse(self, node: ast.expr) -> Any:
        part = ast.get_source_segment(self._text, node) or type(node).__name__
        raise RuleSyntaxError(f"{part!r} is not allowed in a condition ({self._text!r})", self._where)
