"""Evaluate a condition over facts with Kleene's three values.

``None`` is unknown: a missing fact, a NaN, a comparison of different types, a division by zero.
``unknown and False`` is False, ``unknown or True`` is True, everything else with unknown stays unknown.
Consequence, checked by a property test: adding facts never flips a verdict that was already definite.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from analyzer.expr.parse import Condition

Verdict = bool | None
Value = bool | int | float | str | None

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_CALLS: dict[str, Callable[[list[Any]], Any]] = {"abs": lambda args: abs(args[0]), "min": min, "max": max}


def evaluate(condition: Condition, facts: Mapping[str, Value]) -> Verdict:
    """Verdict of a condition: True, False or None for unknown."""
    return _truth(_value(condition.tree, facts))


def decided_by(condition: Condition, facts: Mapping[str, Value]) -> tuple[str, ...]:
    """The known facts to which a condition owes its verdict, in order of first mention.

    Of an ``or`` that holds those are the parts that hold, of an ``and`` that fails the parts that fail.
    """
    found = set(_deciding(condition.tree, facts))
    return tuple(name for name in condition.names if name in found and name in facts)


def _deciding(node: ast.expr, facts: Mapping[str, Value]) -> Iterator[str]:
    if isinstance(node, ast.UnaryOp):
        yield from _deciding(node.operand, facts)
    elif isinstance(node, ast.BoolOp):
        verdict = _bool_op(node, facts)
        for child in node.values:
            if verdict is None or _truth(_value(child, facts)) is verdict:
                yield from _deciding(child, facts)
    else:
        yield from _mentioned(node)


def _mentioned(node: ast.expr) -> Iterator[str]:
    """The facts in a comparison; ``ast.walk`` takes five times as long, for hundreds of them in each answer."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Compare):
        yield from _mentioned(node.left)
        for part in node.comparators:
            yield from _mentioned(part)
    elif not isinstance(node, ast.Constant | ast.List):  # a list holds literals only
        yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _truth(value: Value) -> Verdict:
    """A bare name used as a condition: only a boolean has a truth value."""
    return value if isinstance(value, bool) else None


def _clean(value: Any) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str) else None


def _value(node: ast.expr, facts: Mapping[str, Value]) -> Value:
    if isinstance(node, ast.Constant):
        return _clean(node.value)
    if isinstance(node, ast.Name):
        return _clean(facts.get(node.id))
    if isinstance(node, ast.BoolOp):
        return _bool_op(node, facts)
    if isinstance(node, ast.UnaryOp):
        return _unary(node, facts)
    if isinstance(node, ast.Compare):
        return _compare(node, facts)
    if isinstance(node, ast.BinOp):
        return _arithmetic(_ARITHMETIC[type(node.op)], _value(node.left, facts), _value(node.right, facts))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _call(node.func.id, [_value(arg, facts) for arg in node.args])
    return None


def _bool_op(node: ast.BoolOp, facts: Mapping[str, Value]) -> Verdict:
    deciding = isinstance(node.op, ast.Or)
    unknown = False
    for child in node.values:
        verdict = _truth(_value(child, facts))
        if verdict is deciding:
            return deciding
        unknown = unknown or verdict is None
    return None if unknown else not deciding


def _unary(node: ast.UnaryOp, facts: Mapping[str, Value]) -> Value:
    value = _value(node.operand, facts)
    if isinstance(node.op, ast.Not):
        verdict = _truth(value)
        return None if verdict is None else not verdict
    if not _is_number(value):
        return None
    return -value if isinstance(node.op, ast.USub) else value  # type: ignore[operator]


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _comparable(left: Value, right: Value) -> bool:
    if left is None or right is None:
        return False
    return (_is_number(left) and _is_number(right)) or type(left) is type(right)


def _compare(node: ast.Compare, facts: Mapping[str, Value]) -> Verdict:
    """A chain is the conjunction of its links, so one false link decides it."""
    left = _value(node.left, facts)
    unknown = False
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right: Value = None
        if isinstance(op, ast.In | ast.NotIn):
            verdict = _membership(left, right_node, negated=isinstance(op, ast.NotIn))
        else:
            right = _value(right_node, facts)
            verdict = _COMPARE[type(op)](left, right) if _comparable(left, right) else None
        if verdict is False:
            return False
        unknown = unknown or verdict is None
        left = right
    return None if unknown else True


def _membership(value: Value, node: ast.expr, *, negated: bool) -> Verdict:
    if value is None or not isinstance(node, ast.List):
        return None
    options = [_value(element, {}) for element in node.elts]
    found = any(_comparable(value, option) and value == option for option in options)
    return found is not negated


def _arithmetic(function: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    if not (_is_number(left) and _is_number(right)):
        return None
    try:
        return _clean(function(left, right))
    except (ZeroDivisionError, OverflowError):
        return None


def _call(name: str, args: list[Value]) -> Value:
    if not args or not all(_is_number(arg) for arg in args):
        return None
    return _clean(_CALLS[name](args))


def value_of(expression: Condition, facts: Mapping[str, Value]) -> Value:
    """Value of an arithmetic expression over facts, None if it cannot be known."""
    return _value(expression.tree, facts)
