"""Parse a condition into a checked syntax tree, and evaluate it over facts.

Allowed are constants, dotted fact names, ``and or not``, comparisons (chained too), ``in [literals]``,
``+ - * /`` and ``abs min max``. Nothing else: no subscripts, attribute walks, calls or comprehensions.
A dotted name is a key of a flat dictionary, so ``config.x.__class__`` is merely an unknown fact.
Who makes a condition may say what further names stand for (named conditions, see ``rules/gates.py``).

A checked condition is a tree of lists: a fact is its name, a constant ``["=", value]``, anything else a word and its parts, such as
``["or", …]``, ``["neg", part]``, ``["max", …]`` or ``["compare", ["<", "in"], left, right, ["=", [1, 2]]]``. So it can be kept as JSON.

Evaluation knows Kleene's three values. ``None`` is unknown: a missing fact, a NaN, a comparison of different types, a division by
zero. ``unknown and False`` is False, ``unknown or True`` is True, everything else with unknown stays unknown. Consequence, checked by
a property test: adding facts never flips a verdict that was already definite.
"""

from __future__ import annotations

import ast
import json
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
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


_WHOLE = (int, str)  # a boolean is an integer; a tuple is looked through in half the time of a union

Verdict = bool | None
Value = bool | int | float | str | None

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
_CALLS: Mapping[str, Callable[[list[Any]], Any]] = {
    "abs": lambda args: abs(args[0]), "min": min, "max": max, "neg": lambda args: -args[0], "pos": lambda args: args[0],
}  # fmt: skip


def evaluate(condition: Condition, facts: Mapping[str, Value]) -> Verdict:
    """Verdict of a condition: True, False or None for unknown."""
    return _truth(_value(condition.tree, facts))


def decided_by(condition: Condition, facts: Mapping[str, Value]) -> tuple[str, ...]:
    """The known facts to which a condition owes its verdict, in order of first mention.

    Of an ``or`` that holds those are the parts that hold, of an ``and`` that fails the parts that fail.
    """
    known = [name for name in condition.names if name in facts]
    if not known:
        return ()
    found = set(_deciding(condition.tree, facts))
    return tuple(name for name in known if name in found)


def _deciding(tree: Tree, facts: Mapping[str, Value]) -> Iterator[str]:
    kind = tree[0]
    if kind in {"and", "or"}:
        verdict = _value(tree, facts)
        for part in tree[1:]:
            if verdict is None or _truth(_value(part, facts)) is verdict:
                yield from _deciding(part, facts)
    elif kind in {"not", "neg", "pos"}:
        yield from _deciding(tree[1], facts)
    else:
        yield from mentioned(tree)


def _truth(value: Value) -> Verdict:
    """A bare name used as a condition: only a boolean has a truth value."""
    return value if isinstance(value, bool) else None


def _clean(value: Any) -> Value:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, _WHOLE) else None


def _value(tree: Tree, facts: Mapping[str, Value]) -> Value:
    if isinstance(tree, str):
        return _clean(facts.get(tree))
    kind = tree[0]
    if kind == "compare":
        return _compare(tree, facts)
    if kind in {"and", "or"}:
        return _joined(tree[1:], facts, deciding=kind == "or")
    if kind == "=":
        return _clean(tree[1])
    values = [_value(part, facts) for part in tree[1:]]
    if kind == "not":
        verdict = _truth(values[0])
        return None if verdict is None else not verdict
    if not all(is_number(value) for value in values):
        return None
    return _clean(_CALLS[kind](values)) if kind in _CALLS else _arithmetic(_ARITHMETIC[kind], *values)


def _joined(parts: list[Tree], facts: Mapping[str, Value], *, deciding: bool) -> Verdict:
    """An ``or``, which one true part decides, or an ``and``, which a false one does."""
    other, unknown = not deciding, False
    for part in parts:
        # a list of all events has hundreds of bare names; what is no boolean is unknown
        verdict = facts.get(part) if isinstance(part, str) else _value(part, facts)
        if verdict is deciding:
            return deciding
        unknown = unknown or verdict is not other
    return None if unknown else other


def is_number(value: Value) -> bool:
    """Whether a fact is a number; a yes or no is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _comparable(left: Value, right: Value) -> bool:
    if left is None or right is None:
        return False
    return type(left) is type(right) or (is_number(left) and is_number(right))


def _compare(tree: list[Any], facts: Mapping[str, Value]) -> Verdict:
    """A chain is the conjunction of its links, so one false link decides it."""
    _, words, first, *others = tree
    left = _value(first, facts)
    unknown = False
    for word, other in zip(words, others, strict=True):
        right: Value = None
        if word in _COMPARE:
            right = _value(other, facts)
            verdict = _COMPARE[word](left, right) if _comparable(left, right) else None
        else:
            verdict = None if left is None else _is_one_of(left, other[1]) is (word == "in")
        if verdict is False:
            return False
        unknown = unknown or verdict is None
        left = right
    return None if unknown else True


def _is_one_of(value: Value, options: list[Any]) -> bool:
    return any(_comparable(value, _clean(option)) and value == option for option in options)


def _arithmetic(function: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    try:
        return _clean(function(left, right))
    except (ZeroDivisionError, OverflowError):
        return None


def value_of(expression: Condition, facts: Mapping[str, Value]) -> Value:
    """Value of an arithmetic expression over facts, None if it cannot be known."""
    return _value(expression.tree, facts)
